"""Greedy merging: always the two groups whose merger costs least, until few are left.

With ``g(x, y) = f(x + y) - f(x) - f(y)``, the price of merging groups a and b is::

    weight_into sum_i g(A[i, a], A[i, b])  +  weight_flow (change of sum f(B))  +  g(nu[a], nu[b])

A merger elsewhere changes the price of a pair, but only through B, and there never by more than
``2 / ln 2`` times the change of ``sum sqrt(B[a, z] B[b, z])`` (for that function less g is concave and homogeneous,
like g itself). So every pair has a lower bound, first computed in single precision, less what rounding may have done,
then kept up without a logarithm. A pair is priced exactly when its bound is the lowest of all; what is then still the
lowest is merged.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from klump.compilation import inlined, kernel
from klump.search.kernels.descent import LOG2_E, f
from klump.search.kernels.tables import Floats, Ints

Singles = NDArray[np.float32]

_ALL_BUT_SIGN = np.int32(0x7FFFFFFF)
_STEEPEST = 2.8853900817779268  # 2 / ln 2

# The logarithm in single precision: as fast_log2, with the exponent turned to a float by adding it to a large one.
_C1, _C3, _C5, _C7 = (np.float32(2.0 * LOG2_E / odd) for odd in (1, 3, 5, 7))
_SQRT_HALF_BITS = np.int32(0x3F3504F3)
_LARGE_BITS, _LARGE = np.int32(0x4B400000), np.float32(12582912.0)
_ZERO, _ONE, _SMALLEST = np.float32(0.0), np.float32(1.0), np.float32(1.1754944e-38)
_BITS, _SIGN = np.int32(23), np.int32(31)
# Terms that are added in single precision before the sum goes on in double.
_TERMS = 64
# Roundings of a term and of a sum of so many, in units of the last place, generously; then those of a bound and of a
# change of it; and more than what single precision loses in all among numbers too small for it.
_ROUNDING, _UNIT, _MORE, _UNDERFLOW = 48 * 2.0**-23, np.float32(2.0**-23), np.float32(1.0 + 2.0**-20), 1e-30
_UP = np.float32(np.inf)
# Rows that are compared with another one while it is in the cache.
TILE = 4
# How much quicker an entry is priced among all than found along a link.
_FEW = 3
# Pairs that are priced one by one, the most promising first, before all others are looked through.
_FIRST_LOOKS = 8


class Groups(NamedTuple):
    """Groups that are being merged: those alive come first, in no order. All arrays are used up."""

    into: Floats  # (m, n) A transposed, one row a group; (m, 0) if it has no weight
    flow: Floats  # (m, m) B; (0, 0) if it has no weight
    back: Floats  # (m, m) B transposed
    rough_into: Singles  # the same in single precision
    rough_flow: Singles
    rough_back: Singles
    nu: Floats  # (m,)
    bound: Singles  # (m, m) at most the price of each pair a < b
    least: Singles  # (m,) at most the least bound of each row
    sums: Floats  # (3, m) sums of f over the rows of into, flow and back
    work: Singles  # (6, m) scratch space
    shared: Floats  # (m,) scratch space
    name: Ints  # (m,) what each group is called
    alive: Ints  # (1,) how many there are


@inlined(allocates=False)
def _sum_f(row: Floats, size: int) -> float:
    total = 0.0
    for z in range(size):
        total += f(row[z])
    return total


@inlined(allocates=False)
def _sum_f_of_both(one: Floats, other: Floats, size: int) -> float:
    total = 0.0
    for z in range(size):
        total += f(one[z] + other[z])
    return total


@inlined(allocates=False)
def _rough_f(t: Any) -> Any:
    t = max(t, _SMALLEST)
    bits = np.float32(t).view(np.int32)
    exponent = np.int32(np.int32(bits - _SQRT_HALF_BITS) >> _BITS)
    mantissa = np.int32(bits - np.int32(exponent << _BITS)).view(np.float32)
    z = np.float32((mantissa - _ONE) / (mantissa + _ONE))
    s = np.float32(z * z)
    p = np.float32(np.float32(np.float32(_C7 * s + _C5) * s + _C3) * s + _C1)
    whole = np.float32(np.int32(exponent + _LARGE_BITS).view(np.float32) - _LARGE)
    return np.float32(t * np.float32(whole + z * p))


@inlined(allocates=False)
def _rough_sum(one: Singles, other: Singles, size: int) -> float:
    """Sum f(one + other) in single precision."""
    total = 0.0
    for begin in range(0, size, _TERMS):
        end = min(begin + _TERMS, size)
        # As slices, here and below, because an index that might be negative keeps a loop from vectorising.
        x, y = one[begin:end], other[begin:end]
        part: Any = _ZERO
        for z in range(x.size):
            part += _rough_f(x[z] + y[z])
        total += part
    return total


@kernel(allocates=False)
def begin(groups: Groups) -> None:
    """Fill the sums."""
    k = groups.alive[0]
    for a in range(k):
        groups.sums[0, a] = _sum_f(groups.into[a], groups.into.shape[1])
        if groups.flow.size:
            groups.sums[1, a] = _sum_f(groups.flow[a], k)
            groups.sums[2, a] = _sum_f(groups.back[a], k)


@kernel(allocates=False)
def bound_rows(
    groups: Groups,  # in/out
    weight_into: float,  # in
    weight_flow: float,  # in
    single_states: bool,  # in: then A is B, and half as dear to look at
    first: int,  # in: a multiple of TILE
    end: int,  # in
) -> None:
    """Bound the prices of the pairs of some groups with all that follow."""
    k = groups.alive[0]
    for tile in range(first, end, TILE):
        few = True
        for a in range(tile, min(tile + TILE, k)):
            few = few and _has_few_links(groups, a)
        if few:
            for a in range(tile, min(tile + TILE, k)):
                _price_by_links(groups, weight_into, weight_flow, a, a + 1)
        else:
            for b in range(tile + 1, k):
                for a in range(tile, min(tile + TILE, b)):
                    groups.bound[a, b] = _rough_price(groups, weight_into, weight_flow, a, b, single_states)
    for a in range(first, end):
        _refresh_least(groups, a)


@inlined(allocates=False)
def _has_few_links(groups: Groups, a: int) -> bool:
    """Whether a group has so few links that looking for the others' along them is quicker than pricing all pairs."""
    links = 0
    for i in range(groups.into.shape[1]):
        links += groups.into[a, i] > 0.0
    if groups.flow.size:
        for z in range(groups.alive[0]):
            links += groups.flow[a, z] > 0.0
            links += groups.back[a, z] > 0.0
    return links * _FEW < 2 * groups.alive[0]


@inlined(allocates=False)
def _price_by_links(groups: Groups, weight_into: float, weight_flow: float, a: int, begin: int) -> None:
    """Bound the price of a with every group from ``begin`` on: only where both have links is there anything to add."""
    k, nu, sums, shared = groups.alive[0], groups.nu, groups.sums, groups.shared
    for c in range(begin, k):
        shared[c] = 0.0
    for i in range(groups.into.shape[1]):
        if groups.into[a, i] > 0.0:
            for c in range(begin, k):
                if groups.into[c, i] > 0.0:
                    shared[c] += weight_into * _joined(groups.into[a, i], groups.into[c, i])
    if groups.flow.size:
        for z in range(k):
            if groups.flow[a, z] > 0.0:
                for c in range(begin, k):
                    if groups.back[z, c] > 0.0:
                        shared[c] += weight_flow * _joined(groups.flow[a, z], groups.back[z, c])
            if groups.back[a, z] > 0.0:
                for c in range(begin, k):
                    if groups.flow[z, c] > 0.0:
                        shared[c] += weight_flow * _joined(groups.back[a, z], groups.flow[z, c])
    for c in range(begin, k):
        if c != a:
            price = _joined(nu[a], nu[c]) + shared[c]
            if groups.flow.size:
                alone = sums[1, a] + sums[1, c] + sums[2, a] + sums[2, c]
                price += weight_flow * (alone + _beside(groups, a, c))
            _set_bound(groups, min(a, c), max(a, c), _below(price))


@inlined(allocates=False)
def _joined(x: float, y: float) -> float:
    return f(x + y) - f(x) - f(y)


@inlined(allocates=False)
def _below(price: float) -> Any:
    """Round down to single precision."""
    return np.float32(price - 2.0 * _UNIT * abs(price) - _UNDERFLOW)


@inlined(allocates=False)
def _order(value: Any) -> Any:
    """Turn a float into an integer of the same order, and back: because the least of integers vectorises."""
    bits = np.float32(value).view(np.int32)
    return np.int32(bits ^ np.int32(np.int32(bits >> _SIGN) & _ALL_BUT_SIGN))


@inlined(allocates=False)
def _refresh_least(groups: Groups, a: int) -> None:
    """Find the least bound of a row."""
    least = _order(_UP)
    row = groups.bound[a, a + 1 : groups.alive[0]]
    for b in range(row.size):
        least = min(least, _order(row[b]))
    groups.least[a] = np.int32(_order(np.int32(least).view(np.float32))).view(np.float32)


@inlined(allocates=False)
def _price(groups: Groups, weight_into: float, weight_flow: float, a: int, b: int) -> float:
    """Price a pair exactly."""
    k, n = groups.alive[0], groups.into.shape[1]
    price = _joined(groups.nu[a], groups.nu[b])
    if n:
        into = _sum_f_of_both(groups.into[a], groups.into[b], n)
        price += weight_into * (into - groups.sums[0, a] - groups.sums[0, b])
    if groups.flow.size:
        both = _sum_f_of_both(groups.flow[a], groups.flow[b], k)
        both += _sum_f_of_both(groups.back[a], groups.back[b], k)
        price += weight_flow * (both + _beside(groups, a, b))
    return price


@inlined(allocates=False)
def _rough_price(
    groups: Groups, weight_into: float, weight_flow: float, a: int, b: int, into_is_back: bool
) -> float:
    """At most the price of a pair, and not much less, in single precision."""
    k, n = groups.alive[0], groups.into.shape[1]
    mass = groups.nu[a] + groups.nu[b]
    price = _joined(groups.nu[a], groups.nu[b])
    slack, back = 0.0, 0.0
    if groups.flow.size:
        back = _rough_sum(groups.rough_back[a], groups.rough_back[b], k)
        both = _rough_sum(groups.rough_flow[a], groups.rough_flow[b], k) + back
        price += weight_flow * (both + _beside(groups, a, b))
        slack -= weight_flow * (2.0 * mass - both)
    if n:
        into = back if into_is_back else _rough_sum(groups.rough_into[a], groups.rough_into[b], n)
        price += weight_into * (into - groups.sums[0, a] - groups.sums[0, b])
        slack += abs(weight_into) * (mass - into)
    return _below(price - _ROUNDING * slack)


@inlined(allocates=False)
def _beside(groups: Groups, a: int, b: int) -> float:
    """Find what is missing of the change of sum f(B), given sum f of both rows and both columns as they add up.

    These are counted twice where the two groups meet themselves, and there four entries become one.
    """
    flow, sums = groups.flow, groups.sums
    change = -sums[1, a] - sums[1, b] - sums[2, a] - sums[2, b]
    change += f(flow[a, a]) + f(flow[a, b]) + f(flow[b, a]) + f(flow[b, b])
    change += f((flow[a, a] + flow[b, a]) + (flow[a, b] + flow[b, b]))
    change -= f(flow[a, a] + flow[b, a]) + f(flow[a, b] + flow[b, b])
    return change - f(flow[a, a] + flow[a, b]) - f(flow[b, a] + flow[b, b])


@kernel(allocates=False)
def merge(
    groups: Groups,  # in/out
    weight_into: float,  # in
    weight_flow: float,  # in
    until: int,  # in: how many groups shall be left
    pairs: Ints,  # out: (m - 1, 2) names of the groups merged; the new one is called m, m + 1, ...
    prices: Floats,  # out: (m - 1,)
) -> int:
    """Merge until few groups are left; returns how many pairs were priced exactly."""
    priced = 0
    while groups.alive[0] > until:
        a, b, price, exact = _cheapest(groups, weight_into, weight_flow)
        priced += exact
        done = groups.nu.size - groups.alive[0]
        first, second = min(groups.name[a], groups.name[b]), max(groups.name[a], groups.name[b])
        pairs[done, 0], pairs[done, 1], prices[done] = first, second, price
        _merge_pair(groups, weight_into, weight_flow, a, b)
        groups.name[a] = groups.nu.size + done
    return priced


@inlined(allocates=False)
def _cheapest(groups: Groups, weight_into: float, weight_flow: float) -> tuple[int, int, float, int]:
    """Find the pair with the lowest price, and that; also how many pairs were priced exactly."""
    bound, k = groups.bound, groups.alive[0]
    best, at_a, at_b = np.inf, 0, 1
    exact = 0
    # A good price to begin with saves looking at many pairs.
    for _ in range(_FIRST_LOOKS):
        a, b = _lowest(groups)
        if bound[a, b] >= best or (a == at_a and b == at_b and exact):
            break
        price = _price(groups, weight_into, weight_flow, a, b)
        exact += 1
        bound[a, b] = _below(price)
        _refresh_least(groups, a)
        if price < best:
            best, at_a, at_b = price, a, b
    for a in range(k - 1):
        if groups.least[a] >= best:
            continue
        for b in range(a + 1, k):
            if bound[a, b] < best and not (a == at_a and b == at_b):
                bound[a, b] = max(bound[a, b], _rough_price(groups, weight_into, weight_flow, a, b, False))
                if bound[a, b] < best:
                    price = _price(groups, weight_into, weight_flow, a, b)
                    exact += 1
                    bound[a, b] = _below(price)
                    if price < best:
                        best, at_a, at_b = price, a, b
        _refresh_least(groups, a)
    return at_a, at_b, best, exact


@inlined(allocates=False)
def _lowest(groups: Groups) -> tuple[int, int]:
    """Find the pair with the lowest bound."""
    a = 0
    for row in range(1, groups.alive[0] - 1):
        if groups.least[row] < groups.least[a]:
            a = row
    b = a + 1
    for other in range(a + 2, groups.alive[0]):
        if groups.bound[a, other] < groups.bound[a, b]:
            b = other
    return a, b


@inlined(allocates=False)
def _merge_pair(groups: Groups, weight_into: float, weight_flow: float, a: int, b: int) -> None:
    """Make one group of a < b, at the place of a, and put the last one at the place of b."""
    last, bound, into = groups.alive[0] - 1, groups.bound, groups.into
    if groups.flow.size:
        _loosen(groups, weight_flow, a, b)
        _join_flow(groups, a, b)
    for i in range(into.shape[1]):
        into[a, i] += into[b, i]
        into[b, i] = into[last, i]
        groups.rough_into[a, i], groups.rough_into[b, i] = into[a, i], into[b, i]
    groups.nu[a] += groups.nu[b]
    groups.nu[b], groups.name[b] = groups.nu[last], groups.name[last]
    for part in range(3):
        groups.sums[part, b] = groups.sums[part, last]
    groups.sums[0, a] = _sum_f(into[a], into.shape[1])
    for c in range(last):
        if c != b:
            _set_bound(groups, min(b, c), max(b, c), bound[c, last])
    groups.alive[0] = last
    if _has_few_links(groups, a):
        _price_by_links(groups, weight_into, weight_flow, a, 0)
        return
    for c in range(last):
        if c != a:
            first, second = min(a, c), max(a, c)
            price = _rough_price(groups, weight_into, weight_flow, first, second, False)
            _set_bound(groups, first, second, price)


@inlined(allocates=False)
def _set_bound(groups: Groups, a: int, b: int, bound: Any) -> None:
    groups.bound[a, b] = bound
    groups.least[a] = min(groups.least[a], bound)


@inlined(allocates=False)
def _loosen(groups: Groups, weight_flow: float, a: int, b: int) -> None:
    """Lower all bounds by what merging a and b may change in B."""
    k, work = groups.alive[0], groups.work
    root = np.sqrt(-weight_flow * _STEEPEST)
    # Columns a and b of B as they meet each row, then rows a and b as they meet each column.
    for c in range(k):
        one, other = groups.back[a, c], groups.back[b, c]
        work[0, c], work[1, c], work[2, c] = (
            root * np.sqrt(one + other),
            root * np.sqrt(one),
            root * np.sqrt(other),
        )
        one, other = groups.flow[a, c], groups.flow[b, c]
        work[3, c], work[4, c], work[5, c] = (
            root * np.sqrt(one + other),
            root * np.sqrt(one),
            root * np.sqrt(other),
        )
    for c in range(k):
        both_out, a_out, b_out = work[0, c], work[1, c], work[2, c]
        both_in, a_in, b_in = work[3, c], work[4, c], work[5, c]
        if both_out == _ZERO and both_in == _ZERO:
            continue
        row = groups.bound[c, c + 1 : k]
        out, out_a, out_b = work[0, c + 1 : k], work[1, c + 1 : k], work[2, c + 1 : k]
        into, into_a, into_b = work[3, c + 1 : k], work[4, c + 1 : k], work[5, c + 1 : k]
        least = _order(_UP)
        for d in range(row.size):
            change = np.float32(both_out * out[d] + both_in * into[d]) * _MORE
            change -= np.float32(a_out * out_a[d] + b_out * out_b[d])
            change -= np.float32(a_in * into_a[d] + b_in * into_b[d])
            lower = np.float32(row[d] - np.float32(max(change, _ZERO) + _UNIT * abs(row[d])))
            row[d] = lower
            least = min(least, _order(lower))
        groups.least[c] = np.int32(_order(np.int32(least).view(np.float32))).view(np.float32)


@inlined(allocates=False)
def _join_flow(groups: Groups, a: int, b: int) -> None:
    """Add row and column b of B to a, and put the last ones at their place."""
    flow, back, sums = groups.flow, groups.back, groups.sums
    k, last = groups.alive[0], groups.alive[0] - 1
    for c in range(k):
        sums[1, c] += f(back[a, c] + back[b, c]) - f(back[a, c]) - f(back[b, c])
        sums[2, c] += f(flow[a, c] + flow[b, c]) - f(flow[a, c]) - f(flow[b, c])
    for table, rough in ((flow, groups.rough_flow), (back, groups.rough_back)):
        for c in range(k):
            table[a, c] += table[b, c]
        for c in range(k):
            table[c, a] += table[c, b]
            table[c, b] = table[c, last]
            rough[c, a], rough[c, b] = table[c, a], table[c, b]
        for c in range(k):
            table[b, c] = table[last, c]
            rough[a, c], rough[b, c] = table[a, c], table[b, c]
    sums[1, a], sums[2, a] = _sum_f(flow[a], last), _sum_f(back[a], last)


@kernel(allocates=False)
def priced_pair(groups: Groups, weight_into: float, weight_flow: float, a: int, b: int) -> float:
    """Price one pair exactly: what the bounds are tested against."""
    return _price(groups, weight_into, weight_flow, a, b)
