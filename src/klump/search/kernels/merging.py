"""Greedy merging: the two groups whose merger costs least, until k are left.

With ``g(x, y) = f(x + y) - f(x) - f(y)``, the price of merging groups a and b is::

    weight_into sum_i g(A[i, a], A[i, b])  +  weight_flow (change of sum f(B))  +  g(nu[a], nu[b])

with the signs of the cost: ``weight_into = weights.into`` and ``weight_flow = -weights.flow <= 0``.

A merger of other groups changes the price of a pair only through B, by at most ``2 / ln 2`` times the change of
``sum sqrt(B[a, z] B[b, z])``: that function minus g is concave and homogeneous, like g itself. So every pair keeps a
lower bound, computed in float32 minus its rounding error, and lowered after each merger without a logarithm. A pair is
priced exactly when its bound is below the best price found so far.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from klump.compilation import called, inlined, kernel
from klump.search.kernels.logarithm import f, rough_f, sum_f
from klump.search.kernels.tables import Floats, Groups, Singles

# 2 / ln 2: see above.
_STEEPEST = 2.8853900817779268
_ZERO = np.float32(0.0)
_INFINITY = np.float32(np.inf)
# Mask of all bits of a float32 but the sign.
_WITHOUT_SIGN = np.int32(0x7FFFFFFF)
# Position of the sign bit of a float32.
_SIGN = np.int32(31)
# Terms per partial sum in float32; partial sums are added in float64.
_TERMS = 64
# Relative rounding error of a sum of _TERMS values of rough_f: 48 units in the last place of a float32.
_ROUNDING = 48 * 2.0**-23
# Unit in the last place of a float32, relative.
_UNIT = np.float32(2.0**-23)
# Factor by which the change of a bound is enlarged, to cover its rounding error.
_MORE = np.float32(1.0 + 2.0**-20)
# Upper bound of the error by masses that underflow float32.
_UNDERFLOW = 1e-30
# Rows per tile: pairs of a tile's rows with one other row are bounded while that row is in the cache.
TILE = 4
# Time per entry along a link, in times per entry of a dense row. Empirical.
_LINK_COST = 3
# Pairs priced one by one, the lowest bound first, before all others are scanned.
_FIRST_PRICES = 8


@inlined
def _sum_f_merged(one: Floats, other: Floats, size: int) -> float:
    """``sum f(one + other)``."""
    total = 0.0
    for z in range(size):
        total += f(one[z] + other[z])
    return total


@inlined
def _rough_sum(one: Singles, other: Singles, size: int) -> float:
    """``sum f(one + other)`` in float32."""
    total = 0.0
    for begin in range(0, size, _TERMS):
        end = min(begin + _TERMS, size)
        # Slices: an index that might be negative keeps a loop from vectorising.
        x, y = one[begin:end], other[begin:end]
        part: Any = _ZERO
        for z in range(x.size):
            part += rough_f(x[z] + y[z])
        total += part
    return total


@kernel(allocates=False)
def sum_rows(
    groups: Groups,  # in, out
) -> None:
    """Fill ``groups.sums``."""
    k = groups.alive[0]
    for a in range(k):
        groups.sums[0, a] = sum_f(groups.into[a], groups.into.shape[1])
        if groups.flow.size:
            groups.sums[1, a] = sum_f(groups.flow[a], k)
            groups.sums[2, a] = sum_f(groups.back[a], k)


@kernel(allocates=False)
def bound_rows(
    groups: Groups,  # in, out
    weight_into: float,  # in
    weight_flow: float,  # in
    single_states: bool,  # in: groups of one state each, for which A is B
    first: int,  # in: a multiple of TILE
    end: int,  # in
) -> None:
    """Bound the prices of the pairs of groups first to end - 1 with all that follow."""
    k = groups.alive[0]
    for tile in range(first, end, TILE):
        by_links = True
        for a in range(tile, min(tile + TILE, k)):
            by_links = by_links and _has_few_links(groups, a)
        if by_links:
            for a in range(tile, min(tile + TILE, k)):
                _price_by_links(groups, weight_into, weight_flow, a, a + 1)
        else:
            for b in range(tile + 1, k):
                for a in range(tile, min(tile + TILE, b)):
                    groups.bound[a, b] = _rough_price(groups, weight_into, weight_flow, a, b, single_states)
    for a in range(first, end):
        _refresh_least(groups, a)


@called
def _has_few_links(groups: Groups, a: int) -> bool:
    """Whether visiting the links of a group is quicker than pricing all its pairs."""
    links = 0
    for i in range(groups.into.shape[1]):
        links += groups.into[a, i] > 0.0
    if groups.flow.size:
        for z in range(groups.alive[0]):
            links += groups.flow[a, z] > 0.0
            links += groups.back[a, z] > 0.0
    return links * _LINK_COST < 2 * groups.alive[0]


@called
def _price_by_links(groups: Groups, weight_into: float, weight_flow: float, a: int, begin: int) -> None:
    """Bound the prices of a with the groups from ``begin`` on; ``g(x, y) = 0`` unless x and y are positive."""
    k, nu, sums, shared = groups.alive[0], groups.nu, groups.sums, groups.shared
    for c in range(begin, k):
        shared[c] = 0.0
    for i in range(groups.into.shape[1]):
        if groups.into[a, i] > 0.0:
            for c in range(begin, k):
                if groups.into[c, i] > 0.0:
                    shared[c] += weight_into * _g(groups.into[a, i], groups.into[c, i])
    if groups.flow.size:
        for z in range(k):
            if groups.flow[a, z] > 0.0:
                for c in range(begin, k):
                    if groups.back[z, c] > 0.0:
                        shared[c] += weight_flow * _g(groups.flow[a, z], groups.back[z, c])
            if groups.back[a, z] > 0.0:
                for c in range(begin, k):
                    if groups.flow[z, c] > 0.0:
                        shared[c] += weight_flow * _g(groups.back[a, z], groups.flow[z, c])
    for c in range(begin, k):
        if c != a:
            price = _g(nu[a], nu[c]) + shared[c]
            if groups.flow.size:
                alone = sums[1, a] + sums[1, c] + sums[2, a] + sums[2, c]
                price += weight_flow * (alone + _overlap_terms(groups, a, c))
            _set_bound(groups, min(a, c), max(a, c), _round_down(price))


@inlined
def _g(x: float, y: float) -> float:
    """``f(x + y) - f(x) - f(y)``."""
    return f(x + y) - f(x) - f(y)


@inlined
def _round_down(price: float) -> Any:
    """Round down to float32."""
    return np.float32(price - 2.0 * _UNIT * abs(price) - _UNDERFLOW)


@inlined
def _sort_key(value: Any) -> Any:
    """Map float32 to int32 monotonically: the minimum of integers vectorises."""
    bits = np.float32(value).view(np.int32)
    return np.int32(bits ^ np.int32(np.int32(bits >> _SIGN) & _WITHOUT_SIGN))


@inlined
def _from_sort_key(order: Any) -> Any:
    """Inverse of ``_sort_key``; on bits that function is its own inverse."""
    return np.int32(_sort_key(np.int32(order).view(np.float32))).view(np.float32)


@called
def _refresh_least(groups: Groups, a: int) -> None:
    """Recompute ``groups.least[a]``."""
    least = _sort_key(_INFINITY)
    row = groups.bound[a, a + 1 : groups.alive[0]]
    for b in range(row.size):
        least = min(least, _sort_key(row[b]))
    groups.least[a] = _from_sort_key(least)


@called
def price_pair(groups: Groups, weight_into: float, weight_flow: float, a: int, b: int) -> float:
    """Exact price of a pair."""
    k, n = groups.alive[0], groups.into.shape[1]
    price = _g(groups.nu[a], groups.nu[b])
    if n:
        into = _sum_f_merged(groups.into[a], groups.into[b], n)
        price += weight_into * (into - groups.sums[0, a] - groups.sums[0, b])
    if groups.flow.size:
        both = _sum_f_merged(groups.flow[a], groups.flow[b], k)
        both += _sum_f_merged(groups.back[a], groups.back[b], k)
        price += weight_flow * (both + _overlap_terms(groups, a, b))
    return price


@called
def _rough_price(
    groups: Groups, weight_into: float, weight_flow: float, a: int, b: int, single_states: bool
) -> float:
    """Lower bound of the price of a pair, tight up to float32 rounding."""
    k, n = groups.alive[0], groups.into.shape[1]
    mass = groups.nu[a] + groups.nu[b]
    price = _g(groups.nu[a], groups.nu[b])
    slack, back = 0.0, 0.0
    if groups.flow.size:
        back = _rough_sum(groups.rough_back[a], groups.rough_back[b], k)
        both = _rough_sum(groups.rough_flow[a], groups.rough_flow[b], k) + back
        price += weight_flow * (both + _overlap_terms(groups, a, b))
        slack -= weight_flow * (2.0 * mass - both)
    if n:
        into = back if single_states else _rough_sum(groups.rough_into[a], groups.rough_into[b], n)
        price += weight_into * (into - groups.sums[0, a] - groups.sums[0, b])
        slack += abs(weight_into) * (mass - into)
    return _round_down(price - _ROUNDING * slack)


@inlined
def _overlap_terms(groups: Groups, a: int, b: int) -> float:
    """Change of sum f(B) minus sum f of the two merged rows and columns.

    Rows and columns overlap in the four entries between the two groups, which become one.
    """
    flow, sums = groups.flow, groups.sums
    change = -sums[1, a] - sums[1, b] - sums[2, a] - sums[2, b]
    change += f(flow[a, a]) + f(flow[a, b]) + f(flow[b, a]) + f(flow[b, b])
    change += f((flow[a, a] + flow[b, a]) + (flow[a, b] + flow[b, b]))
    change -= f(flow[a, a] + flow[b, a]) + f(flow[a, b] + flow[b, b])
    return change - f(flow[a, a] + flow[a, b]) - f(flow[b, a] + flow[b, b])


@kernel(allocates=False)
def cheapest_pair(
    groups: Groups,  # in, out: bounds
    weight_into: float,  # in
    weight_flow: float,  # in
) -> tuple[int, int, float, int]:
    """Find the pair a < b with the lowest price; returns it, its price and the number of exact prices computed."""
    bound, k = groups.bound, groups.alive[0]
    best, at_a, at_b = np.inf, 0, 1
    exact = 0
    # A low price early excludes most pairs.
    for _ in range(_FIRST_PRICES):
        a, b = _lowest_pair(groups)
        if bound[a, b] >= best or (a == at_a and b == at_b and exact):
            break
        price = price_pair(groups, weight_into, weight_flow, a, b)
        exact += 1
        bound[a, b] = _round_down(price)
        _refresh_least(groups, a)
        if price < best:
            best, at_a, at_b = price, a, b
    for a in range(k - 1):
        if groups.least[a] >= best:
            continue
        for b in range(a + 1, k):
            if bound[a, b] < best and not (a == at_a and b == at_b):
                price = _rough_price(groups, weight_into, weight_flow, a, b, np.bool_(False))
                bound[a, b] = max(bound[a, b], price)
                if bound[a, b] < best:
                    price = price_pair(groups, weight_into, weight_flow, a, b)
                    exact += 1
                    bound[a, b] = _round_down(price)
                    if price < best:
                        best, at_a, at_b = price, a, b
        _refresh_least(groups, a)
    return at_a, at_b, best, exact


@inlined
def _lowest_pair(groups: Groups) -> tuple[int, int]:
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


@kernel(allocates=False)
def merge_pair(
    groups: Groups,  # in, out
    weight_into: float,  # in
    weight_flow: float,  # in
    a: int,  # in: becomes the merged group
    b: int,  # in: > a; the last group takes its place
) -> None:
    """Merge groups a and b and update all bounds."""
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
    groups.sums[0, a] = sum_f(into[a], into.shape[1])
    for c in range(last):
        if c != b:
            _set_bound(groups, min(b, c), max(b, c), bound[c, last])
    groups.alive[0] = last
    if _has_few_links(groups, a):
        _price_by_links(groups, weight_into, weight_flow, a, np.int64(0))
        return
    for c in range(last):
        if c != a:
            first, second = min(a, c), max(a, c)
            price = _rough_price(groups, weight_into, weight_flow, first, second, np.bool_(False))
            _set_bound(groups, first, second, price)


@inlined
def _set_bound(groups: Groups, a: int, b: int, bound: Any) -> None:
    groups.bound[a, b] = bound
    groups.least[a] = min(groups.least[a], bound)


@called
def _loosen(groups: Groups, weight_flow: float, a: int, b: int) -> None:
    """Lower the bound of every pair c, d by the largest change of its price through B when a and b merge.

    With ``S(x) = sqrt(B[c, x] B[d, x])``, that is ``-weight_flow (2 / ln 2) (S(a + b) - S(a) - S(b))``, where column
    a + b is the sum of columns a and b; and the same for rows.
    """
    k, work = groups.alive[0], groups.work
    root = np.sqrt(-weight_flow * _STEEPEST)
    # Square roots of columns a and b of B, then of rows a and b.
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
        least = _sort_key(_INFINITY)
        for d in range(row.size):
            change = np.float32(both_out * out[d] + both_in * into[d]) * _MORE
            change -= np.float32(a_out * out_a[d] + b_out * out_b[d])
            change -= np.float32(a_in * into_a[d] + b_in * into_b[d])
            lower = np.float32(row[d] - np.float32(max(change, _ZERO) + _UNIT * abs(row[d])))
            row[d] = lower
            least = min(least, _sort_key(lower))
        groups.least[c] = _from_sort_key(least)


@called
def _join_flow(groups: Groups, a: int, b: int) -> None:
    """Add row and column b of B to row and column a, and overwrite them by the last ones."""
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
    sums[1, a], sums[2, a] = sum_f(flow[a], last), sum_f(back[a], last)
