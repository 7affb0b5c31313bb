"""Algorithm 1: move one state at a time to the group that lowers the cost most.

Notation as in the paper. ``J`` is the joint law of two successive states, ``A[i, y]`` the mass that goes
from state ``i`` to group ``y``, ``B[y, z]`` the mass between groups, ``nu`` the mass of the groups and
``f(t) = t log2 t``. Up to a constant the cost is::

    (1 - 2 beta) sum f(A)  -  (1 - beta) sum f(B)  +  sum f(nu)

so that a term of weight zero (A at beta = 1/2, B at beta = 1) need not be looked at. ``A`` is kept in one
of two layouts: ``Dense`` (one contiguous row a group) or ``Lists`` (the groups that a state leads to and
nothing else: groups absent from a list all change alike, so they cost no logarithm). Transitions are
counted beside their mass, so that what is empty is exactly zero.

Everything that is compiled into these kernels stands in this file: numba's cache watches no other.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from klump.search.kernels import options
from klump.search.kernels.prefetch import prefetch
from klump.search.kernels.tables import INVERSE, LOG, MASS, Floats, Flow, Ints, Lists, Problem, Table, Work

# Nothing is allocated here, so nothing needs counting; reference counts would take most of a sweep's time.
PART: dict[str, Any] = {"error_model": "numpy", "fastmath": options.FAST, "_nrt": False, "forceinline": True}
KERNEL: dict[str, Any] = {**options.KERNEL, "_nrt": False}

LOG2_E = 1.4426950408889634
_C1, _C3, _C5, _C7, _C9 = (2.0 * LOG2_E / odd for odd in (1, 3, 5, 7, 9))
_C11, _C13, _C15, _C17, _C19 = (2.0 * LOG2_E / odd for odd in (11, 13, 15, 17, 19))
_SMALLEST = 2.2250738585072014e-308
_SQRT_HALF_BITS = 0x3FE6A09E667F3BCD
# What to do with a state: move it to its best group unless that empties its own, or even so, or only to the other
# group of its pair; see what moving it to one group would change; move it in any case.
# (NumPy integers, because numba compiles a function anew for each plain constant that it is called with.)
SETTLE, MAY_EMPTY, IN_PAIRS, LOOK, FORCE = (np.int64(rule) for rule in range(5))
_NOWHERE = np.int64(-1)
# Below these relative changes f(b + r) - f(b) is a power series in r / b: no logarithm, and no cancellation.
_SHORT_SERIES, _LONG_SERIES, _ATANH_SERIES = 1.0 / 256.0, 1.0 / 32.0, 1.0 / 4.0


@njit(**PART)
def fast_log2(t: float) -> float:
    """Logarithm of a positive normal number, without branches so that loops over it vectorise."""
    bits = np.float64(t).view(np.int64)
    exponent = (bits - np.int64(_SQRT_HALF_BITS)) >> np.int64(52)
    mantissa = np.int64(bits - (exponent << np.int64(52))).view(np.float64)
    z = (mantissa - 1.0) / (mantissa + 1.0)
    s = z * z
    p = _C19 * s + _C17
    p = p * s + _C15
    p = p * s + _C13
    p = p * s + _C11
    p = p * s + _C9
    p = p * s + _C7
    p = p * s + _C5
    p = p * s + _C3
    return np.float64(exponent) + z * (_C1 + s * p)


@njit(**PART)
def f(t: float) -> float:
    """``t log2 t``, exactly 0 at 0 (and below: rounding may leave a negative speck)."""
    return max(t, 0.0) * fast_log2(max(t, _SMALLEST))


@njit(**KERNEL)
def f_array(t: Floats, out: Floats) -> None:
    """``f`` of each entry: the yardstick of the benchmarks, and what the tests check."""
    for i in range(t.size):
        out[i] = f(t[i])


@njit(**PART)
def long_series(u: float) -> float:
    """``((1 + u) ln(1 + u)) / u`` for small u; ``f(b + r) - f(b) = r (log2 b + log2(e) series(r / b))``."""
    p = u * (1.0 / 72.0) - 1.0 / 56.0
    p = p * u + 1.0 / 42.0
    p = p * u - 1.0 / 30.0
    p = p * u + 1.0 / 20.0
    p = p * u - 1.0 / 12.0
    p = p * u + 1.0 / 6.0
    p = p * -u + 0.5
    return p * u + 1.0


@njit(**PART)
def short_series(u: float) -> float:
    """The same for very small u."""
    p = u * (1.0 / 20.0) - 1.0 / 12.0
    p = p * u + 1.0 / 6.0
    p = p * -u + 0.5
    return p * u + 1.0


@njit(**PART)
def log2_ratio(w: float) -> float:
    """``log2((1 + w) / (1 - w))`` for w up to 1/9: with ``w = r / (2 b + r)`` it is ``log2((b + r) / b)``."""
    s = w * w
    p = _C15 * s + _C13
    p = p * s + _C11
    p = p * s + _C9
    p = p * s + _C7
    p = p * s + _C5
    p = p * s + _C3
    return w * (_C1 + s * p)


@njit(**PART)
def _add_changes(planes: Floats, z: int, r: float, most: float, out: Floats) -> None:
    """Add ``f(b + r) - f(b)`` for each entry b of a row of B to ``out``; ``most`` bounds its inverses."""
    u, k = r * most, planes.shape[2]
    if u < _SHORT_SERIES:
        for y in range(k):
            out[y] += r * (planes[z, LOG, y] + LOG2_E * short_series(r * planes[z, INVERSE, y]))
    elif u < _LONG_SERIES:
        for y in range(k):
            out[y] += r * (planes[z, LOG, y] + LOG2_E * long_series(r * planes[z, INVERSE, y]))
    elif u < _ATANH_SERIES:
        for y in range(k):
            b = planes[z, MASS, y]
            out[y] += r * planes[z, LOG, y] + (b + r) * log2_ratio(r / (2.0 * b + r))
    else:
        for y in range(k):
            out[y] += f(planes[z, MASS, y] + r) - planes[z, MASS, y] * planes[z, LOG, y]


@njit(**PART)
def _set_flow(flow: Flow, y: int, z: int, mass: float) -> None:
    log = fast_log2(max(mass, _SMALLEST))
    inverse = 1.0 / mass if mass > 0.0 else np.inf
    flow.rows[y, MASS, z] = mass
    flow.rows[y, LOG, z] = log
    flow.rows[y, INVERSE, z] = inverse
    flow.columns[z, MASS, y] = mass
    flow.columns[z, LOG, y] = log
    flow.columns[z, INVERSE, y] = inverse
    if inverse > flow.rows_inverse[y]:
        flow.rows_inverse[y] = inverse
    if inverse > flow.columns_inverse[z]:
        flow.columns_inverse[z] = inverse
    if y != z and mass > flow.rows_most[y]:
        flow.rows_most[y] = mass
    if y != z and mass > flow.columns_most[z]:
        flow.columns_most[z] = mass


@njit(**PART)
def _shift_flow(flow: Flow, y: int, z: int, mass: float, count: int) -> None:
    left = flow.counts[y, z] + count
    flow.counts[y, z] = left
    _set_flow(flow, y, z, max(flow.rows[y, MASS, z] + mass, 0.0) if left > 0 else 0.0)


@njit(**PART)
def _set_nu(table: Table, y: int, mass: float) -> None:
    inverse = 1.0 / mass if mass > 0.0 else np.inf
    table.nu[MASS, y] = mass
    table.nu[LOG, y] = fast_log2(max(mass, _SMALLEST))
    table.nu[INVERSE, y] = inverse
    if inverse > table.nu_inverse[0]:
        table.nu_inverse[0] = inverse


@njit(**PART)
def _find(lists: Lists, i: int, y: int) -> tuple[int, int]:
    """Block and place of group y in the list of state i; if it is not there, of a new empty entry for it."""
    first, length = lists.bounds[i, 0], lists.bounds[i, 1]
    for e in range(length):
        if lists.group[first + (e >> 2), e & 3] == y:
            return first + (e >> 2), e & 3
    block, place = first + (length >> 2), length & 3
    lists.group[block, place] = y
    lists.bounds[i, 1] = length + 1
    return block, place


@njit(**PART)
def _free(lists: Lists, block: int, place: int, k: int) -> None:
    lists.group[block, place] = k
    lists.counts[block, place] = 0
    lists.value[block, 0, place] = 0.0
    lists.value[block, 1, place] = 0.0


@njit(**PART)
def _swap_in_list(lists: Lists, i: int, home: int, y: int, mass: float, mass_f: float, k: int) -> None:
    """One transition of state i now leads to group y instead of home."""
    first, length = lists.bounds[i, 0], lists.bounds[i, 1]
    old, new = -1, -1
    for e in range(length):
        group = lists.group[first + (e >> 2), e & 3]
        if group == home:
            old = e
        elif group == y:
            new = e
    b, e = first + (old >> 2), old & 3
    lists.counts[b, e] -= 1
    emptied = lists.counts[b, e] == 0
    if not emptied:
        lists.value[b, 0, e] = max(lists.value[b, 0, e] - mass, 0.0)
        lists.value[b, 1, e] = f(lists.value[b, 0, e])
    if new >= 0:
        b, e = first + (new >> 2), new & 3
        lists.counts[b, e] += 1
        lists.value[b, 0, e] += mass
        lists.value[b, 1, e] = f(lists.value[b, 0, e])
        if emptied:
            _take_out(lists, first, old, length - 1, k)
            lists.bounds[i, 1] = length - 1
        return
    place = old if emptied else length
    b, e = first + (place >> 2), place & 3
    lists.group[b, e] = y
    lists.counts[b, e] = 1
    lists.value[b, 0, e] = mass
    lists.value[b, 1, e] = mass_f
    if not emptied:
        lists.bounds[i, 1] = length + 1


@njit(**PART)
def _take_out(lists: Lists, first: int, gone: int, last: int, k: int) -> None:
    """Put the last entry of a list in the place of one that is gone."""
    b, e, last_b, last_e = first + (gone >> 2), gone & 3, first + (last >> 2), last & 3
    lists.group[b, e] = lists.group[last_b, last_e]
    lists.counts[b, e] = lists.counts[last_b, last_e]
    for part in range(2):
        lists.value[b, part, e] = lists.value[last_b, part, last_e]
    _free(lists, last_b, last_e, k)


@njit(**PART)
def _build_dense(problem: Problem, table: Table) -> float:
    """Fill A in the dense layout; return sum f(A)."""
    n, k, labels, dense = table.labels.size, table.size.size, table.labels, table.dense
    dense.into[:] = 0.0
    dense.into_count[:] = 0
    dense.out_of[:] = 0.0
    dense.out_of_count[:] = 0
    for x in range(n):
        y = labels[x]
        for i in range(n):
            dense.into[y, i] += problem.columns[x, i]
            dense.into_count[y, i] += problem.columns[x, i] > 0.0
            dense.out_of[y, i] += problem.rows[x, i]
            dense.out_of_count[y, i] += problem.rows[x, i] > 0.0
    total = 0.0
    for y in range(k):
        for i in range(n):
            dense.into_f[y, i] = f(dense.into[y, i])
            total += dense.into_f[y, i]
    return total


@njit(**PART)
def _build_lists(problem: Problem, table: Table) -> float:
    """Fill A in the sparse layout; return sum f(A)."""
    n, k, labels, lists = table.labels.size, table.size.size, table.labels, table.lists
    for b in range(lists.group.shape[0]):
        for e in range(4):
            _free(lists, b, e, k)
    for i in range(n):
        lists.bounds[i, 1] = 0
        for p in range(problem.out_indptr[i], problem.out_indptr[i + 1]):
            b, e = _find(lists, i, np.int64(labels[problem.out_indices[p]]))
            lists.counts[b, e] += 1
            lists.value[b, 0, e] += problem.out_mass[p]
    total = 0.0
    for b in range(lists.group.shape[0]):
        for e in range(4):
            lists.value[b, 1, e] = f(lists.value[b, 0, e])
            total += lists.value[b, 1, e]
    return total


@njit(**KERNEL)
def build(problem: Problem, table: Table) -> tuple[float, float, float]:
    """Fill the table from its labels; return sum f(A), sum f(B) and sum f(nu)."""
    n, k = table.labels.size, table.size.size
    labels, dense, lists, flow = table.labels, table.dense, table.lists, table.flow
    table.size[:] = 0
    table.nu[:] = 0.0
    for x in range(n):
        table.size[labels[x]] += 1
        table.nu[MASS, labels[x]] += problem.mu[x]
    flow.counts[:] = 0
    flow.rows[:] = 0.0
    if problem.columns.size > 0:
        into_total = _build_dense(problem, table)
        for z in range(k):
            for i in range(n):
                flow.rows[labels[i], MASS, z] += dense.into[z, i]
                flow.counts[labels[i], z] += dense.into_count[z, i]
    else:
        into_total = _build_lists(problem, table)
        for i in range(n):
            for e in range(lists.bounds[i, 1]):
                b, place = lists.bounds[i, 0] + (e >> 2), e & 3
                flow.rows[labels[i], MASS, lists.group[b, place]] += lists.value[b, 0, place]
                flow.counts[labels[i], lists.group[b, place]] += lists.counts[b, place]
    flow.rows_inverse[:] = 0.0
    flow.columns_inverse[:] = 0.0
    flow.rows_most[:] = 0.0
    flow.columns_most[:] = 0.0
    table.nu_inverse[:] = 0.0
    flow_total, nu_total = 0.0, 0.0
    for y in range(k):
        _set_nu(table, y, table.nu[MASS, y])
        nu_total += f(table.nu[MASS, y])
        for z in range(k):
            _set_flow(flow, y, z, flow.rows[y, MASS, z])
            flow_total += f(flow.rows[y, MASS, z])
    return into_total, flow_total, nu_total


@njit(**PART)
def _collect_flow(problem: Problem, table: Table, x: int, work: Work) -> tuple[int, int]:
    """Masses from the state to the groups and back, itself left out; the number of groups either way."""
    home, loop = np.int64(table.labels[x]), problem.loops[x]
    mass, count, groups = work.mass, work.counts, work.groups
    n_out, n_in = 0, 0
    if problem.columns.size > 0:
        dense = table.dense
        for z in range(table.size.size):
            mass[0, z], count[0, z] = dense.into[z, x], dense.into_count[z, x]
            mass[1, z], count[1, z] = dense.out_of[z, x], dense.out_of_count[z, x]
            groups[0, n_out] = z
            n_out += count[0, z] > 0
            groups[1, n_in] = z
            n_in += count[1, z] > 0
        if loop > 0.0:
            mass[1, home] -= loop
            count[1, home] -= 1
    else:
        lists = table.lists
        for e in range(lists.bounds[x, 1]):
            b, place = lists.bounds[x, 0] + (e >> 2), e & 3
            z = lists.group[b, place]
            mass[0, z], count[0, z] = lists.value[b, 0, place], lists.counts[b, place]
            groups[0, n_out] = z
            n_out += 1
        for p in range(problem.indptr[x], problem.indptr[x + 1]):
            i = problem.indices[p]
            if i != x:
                z = table.labels[i]
                if count[1, z] == 0:
                    groups[1, n_in] = z
                    n_in += 1
                mass[1, z] += problem.mass[p, 0]
                count[1, z] += 1
    if loop > 0.0:
        mass[0, home] -= loop
        count[0, home] -= 1
    for way in range(2):
        if count[way, home] == 0:
            mass[way, home] = 0.0
    return n_out, n_in


@njit(**PART)
def _forget_flow(work: Work, n_out: int, n_in: int) -> None:
    for way in range(2):
        for q in range(n_in if way else n_out):
            work.mass[way, work.groups[way, q]] = 0.0
            work.counts[way, work.groups[way, q]] = 0


@njit(**PART)
def _join_flow(flow: Flow, y: int, loop: float, sign: int, work: Work, n_out: int, n_in: int) -> None:
    """Put the collected state into group y of B (sign 1) or take it out (sign -1)."""
    for q in range(n_out):
        z = np.int64(work.groups[0, q])
        _shift_flow(flow, y, z, sign * work.mass[0, z], sign * work.counts[0, z])
    for q in range(n_in):
        z = np.int64(work.groups[1, q])
        _shift_flow(flow, z, y, sign * work.mass[1, z], sign * work.counts[1, z])
    if loop > 0.0:
        _shift_flow(flow, y, y, sign * loop, sign)


@njit(**PART)
def _meet(flow: Flow, home: int, loop: float, work: Work, n_out: int, n_in: int) -> float:
    """Mend the entries of B where more than one thing happens; return the change when the state leaves.

    ``work.change`` counted every entry as if it only gained what the state brings. But entries between the
    own and the new group also lose what the state takes away, and on the diagonal both ways and the loop
    meet. The arguments of f are collected first, so that the logarithms vectorise.
    """
    mass, count, change, argument = work.mass, work.counts, work.change, work.buffer[0]
    m = 0
    for way in range(2):
        planes = flow.columns if way else flow.rows
        back = mass[1 - way, home]
        for q in range(n_in if way else n_out):
            y = np.int64(work.groups[way, q])
            b = planes[home, MASS, y]
            all_there_is = (flow.counts[y, home] if way else flow.counts[home, y]) == count[way, y]
            rest = 0.0 if all_there_is else b - mass[way, y]
            argument[m], argument[m + 1], argument[m + 2] = rest, rest + back, b + back
            m += 3
    diagonal = change.size - 1 if loop > 0.0 else n_out
    for q in range(diagonal):
        y = np.int64(q if loop > 0.0 else work.groups[0, q])
        b, out, into = flow.rows[y, MASS, y], mass[0, y], mass[1, y]
        argument[m], argument[m + 1], argument[m + 2] = b + out + into + loop, b + out, b + into
        m += 3
    for j in range(m):
        argument[j] = f(argument[j])
    m = 0
    leaving = 0.0
    for way in range(2):
        planes = flow.columns if way else flow.rows
        for q in range(n_in if way else n_out):
            y = np.int64(work.groups[way, q])
            if y != home:
                loss = argument[m] - planes[home, MASS, y] * planes[home, LOG, y]
                leaving += loss
                change[y] += argument[m + 1] - argument[m + 2] - loss
            m += 3
    for q in range(diagonal):
        y = np.int64(q if loop > 0.0 else work.groups[0, q])
        both = argument[m] - argument[m + 1] - argument[m + 2]
        change[y] += both + flow.rows[y, MASS, y] * flow.rows[y, LOG, y]
        m += 3
    b = flow.rows[home, MASS, home]
    alone = count[0, home] + count[1, home] + (loop > 0.0) == flow.counts[home, home]
    return leaving + f(0.0 if alone else b - mass[0, home] - mass[1, home] - loop) - f(b)


@njit(**PART)
def _flush(work: Work, filled: int) -> None:
    for m in range(filled):
        work.buffer[0, m] = f(work.buffer[0, m]) - work.buffer[1, m]
    for m in range(filled):
        work.change[np.uint64(work.buffer_group[m])] += work.buffer[0, m]


@njit(**PART)
def _gain_everywhere(flow: Flow, work: Work, n_out: int, n_in: int) -> None:
    """Change of sum f(B) by what the state brings, for every group."""
    for q in range(n_out):
        z = np.int64(work.groups[0, q])
        if work.mass[0, z] > 0.0:
            _add_changes(flow.columns, z, work.mass[0, z], flow.columns_inverse[z], work.change)
    for q in range(n_in):
        z = np.int64(work.groups[1, q])
        if work.mass[1, z] > 0.0:
            _add_changes(flow.rows, z, work.mass[1, z], flow.rows_inverse[z], work.change)


@njit(**PART)
def _gain_where_linked(flow: Flow, work: Work, n_out: int, n_in: int) -> None:
    """Do the same exactly for the groups that the state leads to or comes from; for the others, bound it.

    ``f(b + r) - f(b)`` grows with b, so the largest entry of a row bounds the whole row. The diagonal belongs to
    linked groups.
    """
    most = 0.0
    for way in range(2):
        planes = flow.rows if way else flow.columns
        largest = flow.rows_most if way else flow.columns_most
        for q in range(n_in if way else n_out):
            z = np.int64(work.groups[way, q])
            r = work.mass[way, z]
            most += f(largest[z] + r) - f(largest[z])
    work.change[:] = most
    filled = 0
    for side in range(2):
        for s in range(n_in if side else n_out):
            y = np.int64(work.groups[side, s])
            if side == 1 and work.counts[0, y] > 0:
                continue
            work.change[y] = 0.0
            for way in range(2):
                planes = flow.rows if way else flow.columns
                for q in range(n_in if way else n_out):
                    z = np.int64(work.groups[way, q])
                    b = planes[z, MASS, y]
                    work.buffer[0, filled] = b + work.mass[way, z]
                    work.buffer[1, filled] = b * planes[z, LOG, y]
                    work.buffer_group[filled] = y
                    filled += 1
                    if filled == work.buffer_group.size:
                        _flush(work, filled)
                        filled = 0
    _flush(work, filled)


@njit(**PART)
def _flow_changes(problem: Problem, table: Table, x: int, exact: bool, work: Work) -> bool:
    """Change of sum f(B) if the state moved to each group, 0 for its own; whether all of it is exact.

    What is not exact is bounded from above, which makes the group look better than it is.
    """
    home, loop, change = np.int64(table.labels[x]), problem.loops[x], work.change
    n_out, n_in = _collect_flow(problem, table, x, work)
    everywhere = exact or 6 * (n_out + n_in) > change.size
    change[:] = 0.0
    if everywhere:
        _gain_everywhere(table.flow, work, n_out, n_in)
    else:
        _gain_where_linked(table.flow, work, n_out, n_in)
    leaving = _meet(table.flow, home, loop, work, n_out, n_in)
    for y in range(change.size):
        change[y] += leaving
    change[home] = 0.0
    _forget_flow(work, n_out, n_in)
    return everywhere


@njit(**PART)
def _into_dense(problem: Problem, table: Table, x: int, work: Work) -> None:
    """Change of sum f(A) for each group that the state could join; for its own, of leaving it."""
    home, into, into_f = np.int64(table.labels[x]), table.dense.into, table.dense.into_f
    for y in range(work.gain.size):
        sign = -1.0 if y == home else 1.0
        total = 0.0
        for i in range(problem.mu.size):
            total += f(into[y, i] + sign * problem.columns[x, i]) - into_f[y, i]
        work.change[y] = total


@njit(**PART)
def _into_lists(problem: Problem, table: Table, x: int, work: Work) -> None:
    """Do the same in the sparse layout, up to a constant: minus it for the others, plus it for the own group."""
    home, lists, buffer, group = table.labels[x], table.lists, work.buffer, work.buffer_group
    work.change[:] = 0.0
    filled, constant = np.uint64(0), 0.0
    for p in range(problem.indptr[x], problem.indptr[x + 1]):
        # Unsigned, because signed subscripts are tested for wrapping around, which keeps this from vectorising.
        i, mass, mass_f = np.uint64(problem.indices[p]), problem.mass[p, 0], problem.mass[p, 1]
        constant += mass_f
        first = np.uint64(lists.bounds[i, 0])
        for b in range(first, first + np.uint64((lists.bounds[i, 1] + 3) >> 2)):
            for e in range(np.uint64(4)):
                own = lists.group[b, e] == home
                buffer[0, filled + e] = lists.value[b, 0, e] + (-mass if own else mass)
                buffer[1, filled + e] = lists.value[b, 1, e] + (0.0 if own else mass_f)
                group[filled + e] = lists.group[b, e]
            filled += np.uint64(4)
            if filled == np.uint64(group.size):
                _flush(work, filled)
                filled = np.uint64(0)
    _flush(work, filled)
    work.change[home] += constant


@njit(**PART)
def _into_pair(problem: Problem, table: Table, x: int, mate: int, work: Work) -> None:
    """Do the same for the own group and one other alone."""
    home, lists = table.labels[x], table.lists
    change_home, change_mate = 0.0, 0.0
    for p in range(problem.indptr[x], problem.indptr[x + 1]):
        i, mass, mass_f = problem.indices[p], problem.mass[p, 0], problem.mass[p, 1]
        change_home += mass_f
        for e in range(lists.bounds[i, 1]):
            b, place = lists.bounds[i, 0] + (e >> 2), e & 3
            y = lists.group[b, place]
            if y == home:
                rest = lists.value[b, 0, place] - mass if lists.counts[b, place] > 1 else 0.0
                change_home += f(rest) - lists.value[b, 1, place]
            elif y == mate:
                change_mate += f(lists.value[b, 0, place] + mass) - lists.value[b, 1, place] - mass_f
    work.change[home] = change_home
    work.change[mate] = change_mate


@njit(**PART)
def _evaluate(
    problem: Problem, table: Table, beta: float, x: int, mate: int, exact: bool, work: Work
) -> bool:
    """Fill ``work.gain`` with the change of the cost if state x moved to each group; its own gets 0.

    Returns whether that is exact; if not (and ``exact`` did not ask for it), some gains are only bounded from
    below, which is enough to see that nothing pays.
    """
    home, mu, gain, nu = np.int64(table.labels[x]), problem.mu[x], work.gain, table.nu
    if mu * table.nu_inverse[0] < _SHORT_SERIES:
        for y in range(gain.size):
            gain[y] = mu * (nu[LOG, y] + LOG2_E * short_series(mu * nu[INVERSE, y]))
    elif mu * table.nu_inverse[0] < _LONG_SERIES:
        for y in range(gain.size):
            gain[y] = mu * (nu[LOG, y] + LOG2_E * long_series(mu * nu[INVERSE, y]))
    else:
        for y in range(gain.size):
            gain[y] = f(nu[MASS, y] + mu) - nu[MASS, y] * nu[LOG, y]
    gain[home] = f(nu[MASS, home]) - (f(nu[MASS, home] - mu) if table.size[home] > 1 else 0.0)
    if beta != 0.5:
        if problem.columns.size > 0:
            _into_dense(problem, table, x, work)
        elif mate < 0:
            _into_lists(problem, table, x, work)
        else:
            _into_pair(problem, table, x, mate, work)
        weight = 1.0 - 2.0 * beta
        for y in range(gain.size):
            gain[y] += weight * work.change[y]
        gain[home] -= 2.0 * weight * work.change[home]
    is_exact = True
    if beta != 1.0:
        is_exact = _flow_changes(problem, table, x, exact, work)
        for y in range(gain.size):
            gain[y] -= (1.0 - beta) * work.change[y]
    stay = gain[home]
    for y in range(gain.size):
        gain[y] -= stay
    return is_exact


@njit(**PART)
def _move_dense(problem: Problem, table: Table, beta: float, x: int, home: int, y: int) -> None:
    dense = table.dense
    for i in range(problem.mu.size):
        mass, back = problem.columns[x, i], problem.rows[x, i]
        count, back_count = np.int32(mass > 0.0), np.int32(back > 0.0)
        dense.into_count[home, i] -= count
        dense.into_count[y, i] += count
        left = max(dense.into[home, i] - mass, 0.0)
        dense.into[home, i] = left if dense.into_count[home, i] > 0 else 0.0
        dense.into[y, i] += mass
        dense.out_of_count[home, i] -= back_count
        dense.out_of_count[y, i] += back_count
        left = max(dense.out_of[home, i] - back, 0.0)
        dense.out_of[home, i] = left if dense.out_of_count[home, i] > 0 else 0.0
        dense.out_of[y, i] += back
    if beta != 0.5:
        for i in range(problem.mu.size):
            dense.into_f[home, i] = f(dense.into[home, i])
            dense.into_f[y, i] = f(dense.into[y, i])


@njit(**PART)
def _move(problem: Problem, table: Table, beta: float, x: int, y: int, work: Work) -> None:
    """Carry state x over to group y in every sum."""
    home, mu, nu = np.int64(table.labels[x]), problem.mu[x], table.nu
    if beta != 1.0:
        n_out, n_in = _collect_flow(problem, table, x, work)
        _join_flow(table.flow, home, problem.loops[x], -1, work, n_out, n_in)
        _join_flow(table.flow, y, problem.loops[x], 1, work, n_out, n_in)
        _forget_flow(work, n_out, n_in)
    table.size[home] -= 1
    table.size[y] += 1
    _set_nu(table, home, max(nu[MASS, home] - mu, 0.0) if table.size[home] > 0 else 0.0)
    _set_nu(table, y, nu[MASS, y] + mu)
    table.labels[x] = y
    if problem.columns.size > 0:
        _move_dense(problem, table, beta, x, home, y)
    else:
        for p in range(problem.indptr[x], problem.indptr[x + 1]):
            i, mass, mass_f = np.int64(problem.indices[p]), problem.mass[p, 0], problem.mass[p, 1]
            _swap_in_list(table.lists, i, home, y, mass, mass_f, table.size.size)


@njit(**PART)
def _prefetch(problem: Problem, table: Table, order: Ints, j: int) -> None:
    """Ask for the lists that the next state needs, and for where those of the one after it begin."""
    lists, last = table.lists, order.size - 1
    if problem.columns.size == 0:
        x = order[min(j + 2, last)]
        for p in range(problem.indptr[x], problem.indptr[x + 1]):
            prefetch(lists.bounds, np.uint64(problem.indices[p]))
        x = order[min(j + 1, last)]
        for p in range(problem.indptr[x], problem.indptr[x + 1]):
            first = np.uint64(lists.bounds[np.uint64(problem.indices[p]), 0])
            prefetch(lists.value, first)
            prefetch(lists.group, first)


@njit(**PART)
def _best_group(gain: Floats, home: int) -> int:
    """Find the cheapest other group, the lowest number among equals; ``home`` if there is no other."""
    # Even and odd ones apart, so that one comparison need not wait for the other.
    even, odd = home, home
    least_even, least_odd = np.inf, np.inf
    for y in range(0, gain.size - 1, 2):
        if gain[y] < least_even and y != home:
            even, least_even = y, gain[y]
        if gain[y + 1] < least_odd and y + 1 != home:
            odd, least_odd = y + 1, gain[y + 1]
    last = gain.size - 1
    if last & 1 == 0 and gain[last] < least_even and last != home:
        even, least_even = last, gain[last]
    if least_even == least_odd:
        return min(even, odd)
    return even if least_even < least_odd else odd


@njit(**KERNEL)
def visit(
    problem: Problem,  # in
    table: Table,  # in, out
    work: Work,
    beta: float,
    order: Ints,  # in: the states to visit
    rule: int,
    target: int,  # for some rules: a group
    tolerance: float,  # a move must lower the cost by more than this
) -> tuple[int, int, float]:
    """Look at states one by one and do with them what the rule says.

    Returns the number of moves, the state that is cheapest to move to the target (for ``LOOK``), and the change of
    the cost (for ``LOOK``, what that move would change). All that moves states goes through here, so that the
    large functions above are compiled into one place.
    """
    moves, chosen, change = 0, -1, np.inf if rule == LOOK else 0.0
    for j in range(order.size):
        x = order[j]
        home = np.int64(table.labels[x])
        if (table.size[home] == 1 and rule not in (MAY_EMPTY, FORCE)) or (rule == LOOK and home == target):
            continue
        _prefetch(problem, table, order, j)
        mate = home ^ 1 if rule == IN_PAIRS else _NOWHERE
        exact = rule not in (SETTLE, MAY_EMPTY)
        while True:
            is_exact = _evaluate(problem, table, beta, x, mate, exact, work)
            best = mate if rule == IN_PAIRS else target if target >= 0 else _best_group(work.gain, home)
            if is_exact or work.gain[best] >= -tolerance:
                break
            exact = True
        if rule == LOOK:
            if work.gain[target] < change:
                chosen, change = x, work.gain[target]
        elif best != home and (rule == FORCE or work.gain[best] < -tolerance):
            change += work.gain[best]
            _move(problem, table, beta, x, best, work)
            moves += 1
    return moves, chosen, change


@njit(**KERNEL)
def sweep(
    problem: Problem,
    table: Table,
    work: Work,
    beta: float,
    order: Ints,
    tolerance: float,
    allow_empty: bool,
    in_pairs: bool,  # a state of group y may only choose between y and y ^ 1
) -> tuple[int, float]:
    """One pass of Algorithm 1; returns the number of moves and the change of the cost."""
    rule = IN_PAIRS if in_pairs else MAY_EMPTY if allow_empty else SETTLE
    moves, _, change = visit(problem, table, work, beta, order, rule, _NOWHERE, tolerance)
    return moves, change


@njit(**KERNEL)
def exchange_singletons(
    problem: Problem, table: Table, work: Work, beta: float, tolerance: float
) -> tuple[int, float]:
    """For each group of one, put its state elsewhere and the best other state in its place, if that pays."""
    moves, change = 0, 0.0
    for y in range(table.size.size):
        if table.size[y] != 1 or table.size.size == 1:
            continue
        one, everyone = table.one, table.everyone
        one[0] = 0
        while table.labels[one[0]] != y:
            one[0] += 1
        old = one[0]
        price = visit(problem, table, work, beta, one, FORCE, _NOWHERE, tolerance)[2]
        new, gain = visit(problem, table, work, beta, everyone, LOOK, y, tolerance)[1:]
        pays = new >= 0 and price + gain < -tolerance and new != old
        one[0] = new if pays else old
        visit(problem, table, work, beta, one, FORCE, y, tolerance)
        if pays:
            change += price + gain
            moves += 1
    return moves, change


@njit(**KERNEL)
def split_off(problem: Problem, table: Table, work: Work, beta: float) -> None:
    """From all states in group 0: fill each other group with the state that is cheapest to take out."""
    for y in range(1, table.size.size):
        table.one[0] = visit(problem, table, work, beta, table.everyone, LOOK, y, 0.0)[1]
        visit(problem, table, work, beta, table.one, FORCE, y, 0.0)


@njit(**KERNEL)
def descend(
    problem: Problem,  # in
    table: Table,  # in: labels; out: everything
    work: Work,
    beta: float,
    order: Ints,  # in
    tolerance: float,
    allow_empty: bool,
    exchange: bool,  # also exchange the members of groups of one
    trace: Floats,  # out: (limit + 1,) cost, up to a constant, before and after each sweep
) -> int:
    """Sweep until nothing moves or the trace is full; returns the number of sweeps.

    Every sum is rebuilt after as many moves as there are states, and in the end, so that rounding cannot
    pile up.
    """
    into, flow, nu = build(problem, table)
    cost = (1.0 - 2.0 * beta) * into - (1.0 - beta) * flow + nu
    trace[0] = cost
    done, stale = 0, 0
    while done < trace.size - 1:
        moves, change = sweep(problem, table, work, beta, order, tolerance, allow_empty, False)
        if moves == 0 and exchange:
            moves, change = exchange_singletons(problem, table, work, beta, tolerance)
        done += 1
        stale += moves
        cost += change
        if stale >= table.labels.size or (stale > 0 and (moves == 0 or done == trace.size - 1)):
            into, flow, nu = build(problem, table)
            cost = (1.0 - 2.0 * beta) * into - (1.0 - beta) * flow + nu
            stale = 0
        trace[done] = cost
        if moves == 0:
            break
    return done
