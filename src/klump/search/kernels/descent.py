"""Algorithm 1: move one state at a time to the group that lowers the cost most.

Notation as in the paper. ``J`` is the joint law of two successive states, ``A[i, y]`` the mass that goes
from state ``i`` to group ``y``, ``B[y, z]`` the mass between groups, ``nu`` the mass of the groups and
``f(t) = t log2 t``. Up to a constant the cost is::

    weights.into sum f(A)  -  weights.flow sum f(B)  +  sum f(nu),
    weights.into = 1 - 2 beta + gamma,  weights.flow = 1 - beta,

so that a term of weight zero (without gamma A at beta = 1/2, B at beta = 1) is skipped. ``A`` is kept in one
of two layouts: ``Dense`` (one contiguous row a group) or ``Lists`` (the groups that a state leads to and
nothing else: groups absent from a list all change alike, so they cost no logarithm). A sparse search whose
A has weight zero keeps no A: a table without lists is smaller, and a move in it touches B alone. Transitions are
counted beside their mass, so that what is empty is exactly zero.
"""

from __future__ import annotations

import numpy as np

from klump.compilation import inlined, kernel
from klump.search.kernels.tables import (
    COUNTS,
    GROUPS,
    INVERSE,
    LOG,
    MASS,
    Dense,
    Floats,
    Flow,
    Ints,
    Lists,
    Place,
    Problem,
    Rough,
    Shorts,
    Table,
    Weights,
    Work,
)
from klump.search.kernels.vectors import add_block, add_rows, find_in_block, gain_of_ratios, prefetch

# Nothing is allocated here, so nothing needs counting; reference counts would take most of a sweep's time.
_part = inlined(allocates=False)
_kernel = kernel(allocates=False)

LOG2_E, _LOG2_3 = 1.4426950408889634, 1.584962500721156
_C1, _C3, _C5, _C7, _C9 = (2.0 * LOG2_E / odd for odd in (1, 3, 5, 7, 9))
_C11, _C13, _C15, _C17, _C19 = (2.0 * LOG2_E / odd for odd in (11, 13, 15, 17, 19))
_SMALLEST = 2.2250738585072014e-308
_ONE_BIT, _BIAS = 2.0**-52, 1023.0
# Above this a bound is as good as infinite.
_LARGEST = 1e300
_SQRT_HALF_BITS = 0x3FE6A09E667F3BCD
_ALL_BUT_SIGN, _PLACES = 0x7FFFFFFFFFFFFFFF, 0xFFFF
# What to do with a state: move it to its best group unless that empties its own, or even so, or only to the other
# group of its pair; see what moving it to one group would change; move it in any case.
# (NumPy integers, because numba compiles a function anew for each plain constant that it is called with.)
SETTLE, MAY_EMPTY, IN_PAIRS, LOOK, FORCE = (np.int64(rule) for rule in range(5))
_NOWHERE = np.int64(-1)
# Marks of the queue
WAITS, ROW_CHANGED = np.uint8(1), np.uint8(2)
# What may be lost with half of the digits: at once, for numbers near 0, by logarithms, and by gains in lists.
_HALF_DIGITS, _SMALLEST_FLOAT, _ROUNDING, _ROUGHLY = 2.0**-22, 2.0**-120, 2.0**-18, 2.0**-17
# One state is not little beside a group of so few: a bound of what it changes there would be too loose to be of use.
_FEW_MEMBERS = 8
# With how much care groups are bounded: all those that a state has nothing to do with at once, or one by one, or with
# logarithms. The first is tried with many groups, and many for each link; the next if so many then had to be priced.
_AT_ONCE, _ONE_BY_ONE, _CLOSELY = (np.int64(care) for care in range(3))
_MANY_GROUPS, _AS_MANY, _FEW_PRICES, _MANY_PRICES = 128, 32, 2, 9
# How many transitions in advance a label is asked for.
_AHEAD = 32


@_part
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


@_part
def _least_log2(t: float) -> float:
    """Bound the logarithm of a positive normal number from below, by at most 0.0861: its bits are nearly it."""
    return np.float64(np.float64(t).view(np.int64)) * _ONE_BIT - _BIAS


@_part
def f(t: float) -> float:
    """``t log2 t``, exactly 0 at 0 (and below: rounding may leave a negative speck)."""
    return max(t, 0.0) * fast_log2(max(t, _SMALLEST))


@_kernel
def f_array(t: Floats, out: Floats) -> None:
    """``f`` of each entry: the yardstick of the benchmarks, and what the tests check."""
    for i in range(t.size):
        out[i] = f(t[i])


@_part
def _least(values: Floats) -> tuple[float, np.int64]:
    """Find the least value, nearly, and where it is: as integers, which order floats alike up to their sign.

    Their last digits make room for the place, so that both are found at once and in a loop that vectorises.
    """
    least = np.int64(_ALL_BUT_SIGN)
    for y in range(values.size):
        bits = np.float64(values[y]).view(np.int64)
        ordered = bits ^ ((bits >> np.int64(63)) & np.int64(_ALL_BUT_SIGN))
        least = min(least, (ordered & np.int64(~_PLACES)) | np.int64(y))
    at, ordered = least & np.int64(_PLACES), least & np.int64(~_PLACES)
    return np.int64(ordered ^ ((ordered >> np.int64(63)) & np.int64(_ALL_BUT_SIGN))).view(np.float64), at


@_part
def _rounded_up(log: float) -> np.float32:
    """Half the digits of a logarithm of a mass (which is no larger than 1), and no less than it."""
    return np.float32(log * (1.0 - _HALF_DIGITS) + _SMALLEST_FLOAT)


@_part
def _set_flow(flow: Flow, y: int, z: int, mass: float, log: float) -> None:
    k = flow.counts.shape[0]
    rough = _rounded_up(log)
    flow.mass[z, y], flow.log[z, y], flow.rough[z, y] = mass, log, rough
    flow.mass[k + y, z], flow.log[k + y, z], flow.rough[k + y, z] = mass, log, rough
    if y == z:
        flow.mass[2 * k, y], flow.log[2 * k, y], flow.rough[2 * k, y] = mass, log, rough
        flow.most[2 * k] = max(flow.most[2 * k], mass)
    else:
        flow.most[z] = max(flow.most[z], mass)
        flow.most[k + y] = max(flow.most[k + y], mass)


@_part
def _set_nu(table: Table, y: int, mass: float) -> None:
    table.nu[MASS, y] = mass
    table.nu[LOG, y] = fast_log2(max(mass, _SMALLEST))
    table.nu[INVERSE, y] = 1.0 / max(mass, _SMALLEST)
    table.lightest[0] = min(table.lightest[0], mass)


@_part
def _blocks(lists: Lists, i: Place) -> tuple[np.uint64, np.uint64]:
    """The blocks of the list of state i: the first, and the one behind the last."""
    first = np.uint64(lists.bounds[i, 0])
    return first, first + np.uint64((lists.bounds[i, 1] + 3) >> 2)


@_part
def _find(lists: Lists, i: Place, y: Place, z: Place) -> tuple[np.int64, np.int64]:
    """Places of two groups among all entries; -1 for one that is not in the list of state i."""
    at_y, at_z = np.int64(-1), np.int64(-1)
    first, end = _blocks(lists, i)
    # Neither stops the search: where that happens cannot be foretold, and a processor that is wrong loses more.
    for b in range(first, end):
        e = find_in_block(lists.marks, b, np.int32(y))
        at_y = 4 * np.int64(b) + e if e < 4 else at_y
        e = find_in_block(lists.marks, b, np.int32(z))
        at_z = 4 * np.int64(b) + e if e < 4 else at_z
    return at_y, at_z


@_part
def _put(lists: Lists, place: int, group: int, count: int, mass: float) -> None:
    b, e = place >> 2, place & 3
    lists.marks[b, GROUPS + e] = group
    lists.marks[b, COUNTS + e] = count
    lists.mass[b, e] = mass


@_part
def _add(lists: Lists, place: int, count: int, mass: float) -> None:
    b, e = place >> 2, place & 3
    lists.marks[b, COUNTS + e] += count
    # Rounding may leave a negative speck.
    lists.mass[b, e] = max(lists.mass[b, e] + mass, 0.0)


@_part
def _append(lists: Lists, i: int, y: int, mass: float) -> None:
    _put(lists, 4 * np.int64(lists.bounds[i, 0]) + lists.bounds[i, 1], y, 1, mass)
    lists.bounds[i, 1] += 1


@_part
def _swap_in_list(lists: Lists, i: int, old: int, new: int, y: int, mass: float, k: int) -> None:
    """Let one transition of state i lead to group y instead of its own, which have these places in the list."""
    if lists.marks[old >> 2, COUNTS + (old & 3)] > 1:
        _add(lists, old, -1, -mass)
        if new >= 0:
            _add(lists, new, 1, mass)
        else:
            _append(lists, i, y, mass)
    elif new < 0:
        _put(lists, old, y, 1, mass)
    else:
        _add(lists, new, 1, mass)
        # The last entry takes the place of the one that is gone.
        lists.bounds[i, 1] -= 1
        last = 4 * np.int64(lists.bounds[i, 0]) + lists.bounds[i, 1]
        b, e = last >> 2, last & 3
        _put(lists, old, lists.marks[b, GROUPS + e], lists.marks[b, COUNTS + e], lists.mass[b, e])
        _put(lists, last, k + e, 0, 0.0)


@_part
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
        _refresh_dense(dense, y)
        for i in range(n):
            total += dense.into[y, i] * dense.into_log[y, i]
    return total


@_part
def _refresh_dense(dense: Dense, y: int) -> None:
    """Bring what follows from the masses of a group up to date."""
    into, log, inverse, empty = dense.into[y], dense.into_log[y], dense.into_inverse[y], 0
    for i in range(into.size):
        mass = max(into[i], _SMALLEST)
        log[i] = fast_log2(mass)
        inverse[i] = 1.0 / mass
        empty += into[i] < _SMALLEST
    dense.empty[y] = empty


@_part
def _build_lists(problem: Problem, table: Table) -> float:
    """Fill A in the sparse layout; return sum f(A)."""
    n, k, labels, lists = table.labels.size, table.size.size, table.labels, table.lists
    last = problem.out_indices.size - 1
    for b in range(lists.mass.shape[0]):
        for e in range(4):
            _put(lists, 4 * b + e, k + e, 0, 0.0)
    for i in range(n):
        lists.bounds[i, 1] = 0
        for p in range(problem.out_indptr[i], problem.out_indptr[i + 1]):
            prefetch(labels, np.uint64(problem.out_indices[min(p + _AHEAD, last)]))
            y = np.int64(labels[problem.out_indices[p]])
            place = _find(lists, i, y, y)[0]
            if place < 0:
                _append(lists, i, y, problem.out_mass[p])
            else:
                _add(lists, place, 1, problem.out_mass[p])
    total = 0.0
    for b in range(lists.mass.shape[0]):
        for e in range(4):
            total += f(lists.mass[b, e])
    return total


@_part
def _has_no_lists(problem: Problem, table: Table) -> bool:
    return problem.columns.size == 0 and table.lists.bounds.shape[0] == 0


@_kernel
def build(problem: Problem, table: Table) -> tuple[float, float, float]:
    """Fill the table from its labels; return sum f(A) (0 where A is not kept), sum f(B) and sum f(nu)."""
    n, k = table.labels.size, table.size.size
    labels, dense, lists, flow = table.labels, table.dense, table.lists, table.flow
    table.size[:] = 0
    table.nu[:] = 0.0
    for x in range(n):
        table.size[labels[x]] += 1
        table.nu[MASS, labels[x]] += problem.mu[x]
    flow.counts[:] = 0
    flow.mass[:] = 0.0
    if problem.columns.size > 0:
        into_total = _build_dense(problem, table)
        for z in range(k):
            for i in range(n):
                flow.mass[k + labels[i], z] += dense.into[z, i]
                flow.counts[labels[i], z] += dense.into_count[z, i]
    elif _has_no_lists(problem, table):
        into_total, last = 0.0, problem.out_indices.size - 1
        for i in range(n):
            for p in range(problem.out_indptr[i], problem.out_indptr[i + 1]):
                prefetch(labels, np.uint64(problem.out_indices[min(p + _AHEAD, last)]))
                to = np.int64(labels[problem.out_indices[p]])
                flow.mass[k + labels[i], to] += problem.out_mass[p]
                flow.counts[labels[i], to] += 1
    else:
        into_total = _build_lists(problem, table)
        for i in range(n):
            for e in range(lists.bounds[i, 1]):
                b, place = lists.bounds[i, 0] + (e >> 2), e & 3
                y = lists.marks[b, GROUPS + place]
                flow.mass[k + labels[i], y] += lists.mass[b, place]
                flow.counts[labels[i], y] += lists.marks[b, COUNTS + place]
    flow.most[:] = 0.0
    table.lightest[0] = np.inf
    flow_total, nu_total = 0.0, 0.0
    for y in range(k):
        _set_nu(table, y, table.nu[MASS, y])
        nu_total += f(table.nu[MASS, y])
        for z in range(k):
            mass = flow.mass[k + y, z]
            _set_flow(flow, y, z, mass, fast_log2(max(mass, _SMALLEST)))
            flow_total += f(mass)
    return into_total, flow_total, nu_total


@_part
def _collect_flow(problem: Problem, table: Table, x: int, work: Work) -> tuple[int, int]:
    """Masses from the state to the groups and back, itself left out; the number of groups either way."""
    home, loop = np.int64(table.labels[x]), problem.loops[x]
    mass, count, groups = work.mass, work.counts, work.groups
    n_out, n_in = 0, 0
    if problem.columns.size > 0:
        dense = table.dense
        for y in range(table.size.size):
            mass[0, y], count[0, y] = dense.into[y, x], dense.into_count[y, x]
            mass[1, y], count[1, y] = dense.out_of[y, x], dense.out_of_count[y, x]
            groups[0, n_out] = y
            n_out += count[0, y] > 0
            groups[1, n_in] = y
            n_in += count[1, y] > 0
        if loop > 0.0:
            mass[1, home] -= loop
            count[1, home] -= 1
    else:
        lists = table.lists
        if _has_no_lists(problem, table):
            loop = 0.0
            for p in range(problem.out_indptr[x], problem.out_indptr[x + 1]):
                i = problem.out_indices[p]
                if i != x:
                    z = np.uint64(table.labels[i])
                    groups[0, n_out] = z
                    n_out += count[0, z] == 0
                    mass[0, z] += problem.out_mass[p]
                    count[0, z] += 1
        else:
            for e in range(lists.bounds[x, 1]):
                b, place = lists.bounds[x, 0] + (e >> 2), e & 3
                z = np.uint64(lists.marks[b, GROUPS + place])
                mass[0, z], count[0, z] = lists.mass[b, place], lists.marks[b, COUNTS + place]
                groups[0, n_out] = z
                n_out += 1
        for p in range(problem.indptr[x], problem.indptr[x + 1]):
            i = problem.indices[p]
            if i != x:
                z = np.uint64(table.labels[i])
                groups[1, n_in] = z
                n_in += count[1, z] == 0
                mass[1, z] += problem.mass[p]
                count[1, z] += 1
    if loop > 0.0:
        mass[0, home] -= loop
        count[0, home] -= 1
    for way in range(2):
        if count[way, home] == 0:
            mass[way, home] = 0.0
    return n_out, n_in


@_part
def _forget_flow(work: Work, n_out: int, n_in: int) -> None:
    for way in range(2):
        for q in range(n_in if way else n_out):
            z = np.uint64(work.groups[way, q])
            work.mass[way, z] = 0.0
            work.counts[way, z] = 0


@_part
def _leave_flow(flow: Flow, home: Place, loop: float, work: Work, n_out: int, n_in: int) -> float:
    """Change of sum f(B) when the collected state leaves its group and goes nowhere."""
    argument, m, total = work.buffer[0], 0, 0.0
    home, k, diagonal = np.uint64(home), np.uint64(flow.counts.shape[0]), 2 * flow.counts.shape[0]
    for way in range(2):
        row = home if way else k + home
        for q in range(n_in if way else n_out):
            z = np.uint64(work.groups[way, q])
            if z != home:
                b = flow.mass[row, z]
                all_there_is = (flow.counts[z, home] if way else flow.counts[home, z]) == work.counts[way, z]
                argument[m] = 0.0 if all_there_is else b - work.mass[way, z]
                m += 1
                total -= b * flow.log[row, z]
    b, out, into = flow.mass[diagonal, home], work.mass[0, home], work.mass[1, home]
    alone = work.counts[0, home] + work.counts[1, home] + (loop > 0.0) == flow.counts[home, home]
    argument[m] = 0.0 if alone else b - out - into - loop
    total -= b * flow.log[diagonal, home]
    for j in range(m + 1):
        total += f(argument[j])
    return total


@_part
def _bound_leaving(flow: Flow, home: Place, loop: float, work: Work, n_out: int, n_in: int) -> float:
    """Bound the same from above without a logarithm.

    With ``u = r / b`` the change ``f(b - r) - f(b)`` is at most ``-r (log2 b + log2(e) (1 - u / 2 - u^2 / 2))``.
    """
    total, diagonal = 0.0, 2 * flow.counts.shape[0]
    home, k = np.uint64(home), np.uint64(flow.counts.shape[0])
    for way in range(2):
        row = home if way else k + home
        for q in range(n_in if way else n_out):
            z = np.uint64(work.groups[way, q])
            if z != home:
                total -= _least_loss(flow.mass[row, z], flow.log[row, z], work.mass[way, z])
    r = work.mass[0, home] + work.mass[1, home] + loop
    return total - (_least_loss(flow.mass[diagonal, home], flow.log[diagonal, home], r) if r > 0.0 else 0.0)


@_part
def _least_loss(b: float, log: float, r: float) -> float:
    # Rounding may have left less than is taken away, or nothing.
    u = min(r / max(b, _SMALLEST), 1.0)
    return r * (log + LOG2_E * (1.0 - 0.5 * u - 0.5 * u * u))


@_part
def _join_flow(flow: Flow, home: Place, y: Place, loop: float, work: Work, n_out: int, n_in: int) -> float:
    """Change of sum f(B) when the collected state, which has left its group, joins group y."""
    argument, m, total, diagonal = work.buffer[0], 0, 0.0, 2 * flow.counts.shape[0]
    home, y, k = np.uint64(home), np.uint64(y), np.uint64(flow.counts.shape[0])
    for way in range(2):
        for q in range(n_in if way else n_out):
            z = np.uint64(work.groups[way, q])
            if z != home and z != y:
                row = k + z if way else z
                b = flow.mass[row, y]
                argument[m] = b + work.mass[way, z]
                m += 1
                total -= b * flow.log[row, y]
        # Between the own and the new group: what is left without the state, and what it brings.
        back = work.mass[1 - way, home]
        if back > 0.0:
            all_there_is = (flow.counts[y, home] if way else flow.counts[home, y]) == work.counts[way, y]
            rest = 0.0 if all_there_is else flow.mass[home if way else k + home, y] - work.mass[way, y]
            argument[m] = rest + back
            m += 1
            total -= f(rest)
    argument[m] = flow.mass[diagonal, y] + work.mass[0, y] + work.mass[1, y] + loop
    total -= flow.mass[diagonal, y] * flow.log[diagonal, y]
    for j in range(m + 1):
        total += f(argument[j])
    return total


@_part
def _flush(work: Work, filled: int, out: Floats) -> None:
    for m in range(filled):
        work.buffer[0, m] = f(work.buffer[0, m]) - work.buffer[1, m]
    for m in range(filled):
        out[np.uint64(work.buffer_group[m])] += work.buffer[0, m]


@_part
def _bound_everywhere(flow: Flow, loop: float, exact: bool, work: Work, n_out: int, n_in: int) -> None:
    """Bound what sum f(B) gains, from above, for every group that the collected state could join.

    ``f(b + r) - f(b)`` is ``r log2 r`` and r times a function of ``log2 b - log2 r``: so it takes the logarithms that
    are there, unless the bound is to be exact.
    """
    change, row, weight, width = work.change, work.row, work.weight, work.change.size
    k, m = flow.counts.shape[0], 0
    for way in range(2):
        for q in range(n_in if way else n_out):
            z = np.uint64(work.groups[way, q])
            row[m], weight[m] = way * k + np.int64(z), work.mass[way, z]
            m += 1
    # The diagonal is one more row, and the loop one more link.
    row[m], weight[m] = 2 * k, loop
    m += 1
    if exact:
        change[:] = 0.0
        for j in range(m):
            mass, log, r = flow.mass[row[j]], flow.log[row[j]], weight[j]
            if r > 0.0:
                for y in range(width):
                    change[y] += f(mass[y] + r) - mass[y] * log[y]
        return
    rest, total, rough_weight, rough_log = 0.0, 0.0, work.rough_weight, work.rough_log
    for j in range(m):
        total += weight[j]
    scale = 1.0 / max(total, _SMALLEST)
    for j in range(m):
        r = weight[j]
        log = fast_log2(max(r, _SMALLEST))
        rest += r * (log + _ROUNDING * (8.0 - log))
        rough_log[j] = log
        rough_weight[j] = r * scale
    # Each addition may round.
    rough, most = work.rough[0], total * (1.0 + _ROUNDING + m * _HALF_DIGITS)
    add_rows(flow.rough, row, rough_weight, rough_log, m, rough)
    for y in range(width):
        change[y] = rest + most * np.float64(rough[y])


@_part
def _most_change(flow: Flow, loop: float, work: Work, n_out: int, n_in: int) -> float:
    """Bound what sum f(B) gains for all groups that the collected state has no link with at once.

    ``f(b + r) - f(b)`` grows with b, so the largest entry of a row bounds the whole row.
    """
    k = flow.counts.shape[0]
    most = f(flow.most[2 * k] + loop) - f(flow.most[2 * k])
    for way in range(2):
        for q in range(n_in if way else n_out):
            z = np.int64(work.groups[way, q])
            most += f(flow.most[way * k + z] + work.mass[way, z]) - f(flow.most[way * k + z])
    return most


@_part
def _bound_where_linked(flow: Flow, loop: float, work: Work, n_out: int, n_in: int) -> None:
    """Do the same one by one for the groups that the state leads to or comes from."""
    k, filled = flow.counts.shape[0], 0
    for side in range(2):
        for s in range(n_in if side else n_out):
            y = np.int64(work.groups[side, s])
            if side == 1 and work.counts[0, y] > 0:
                continue
            work.change[y] = f(flow.mass[2 * k, y] + loop) - flow.mass[2 * k, y] * flow.log[2 * k, y]
            for way in range(2):
                for q in range(n_in if way else n_out):
                    z = np.int64(work.groups[way, q])
                    b = flow.mass[way * k + z, y]
                    work.buffer[0, filled] = b + work.mass[way, z]
                    work.buffer[1, filled] = b * flow.log[way * k + z, y]
                    work.buffer_group[filled] = y
                    filled += 1
                    if filled == work.buffer_group.size:
                        _flush(work, filled, work.change)
                        filled = 0
    _flush(work, filled, work.change)


@_part
def _bound_flow(flow: Flow, home: int, loop: float, care: int, work: Work, n_out: int, n_in: int) -> None:
    """Bound what sum f(B) gains when the collected state, which has left its group, joins each group."""
    exact = care == _CLOSELY
    if care != _AT_ONCE:
        _bound_everywhere(flow, loop, exact, work, n_out, n_in)
    else:
        work.change[:] = _most_change(flow, loop, work, n_out, n_in)
        _bound_where_linked(flow, loop, work, n_out, n_in)
    _bound_meetings(flow, home, loop, exact, work, n_out, n_in)


@_part
def _bound_meetings(
    flow: Flow, home: Place, loop: float, exact: bool, work: Work, n_out: int, n_in: int
) -> None:
    """Correct bounds where the state changes an entry of B twice.

    Entries between the own and the new group gain less than others, because they have also lost something, and those
    on the diagonal gain more, because both ways and the loop meet there: by the curvature of f, which is
    ``log2(e) / b``, and by no more than if it were empty.
    """
    home, k, diagonal = np.uint64(home), np.uint64(flow.counts.shape[0]), 2 * flow.counts.shape[0]
    to_home, from_home = work.mass[0, home], work.mass[1, home]
    for side in range(2):
        for q in range(n_in if side else n_out):
            y = np.uint64(work.groups[side, q])
            out, into = work.mass[0, y], work.mass[1, y]
            if side == 1 and work.counts[0, y] > 0:
                continue
            meet = loop * (out + into) + out * into
            if meet > 0.0:
                most = _LOG2_3 * (out + into + loop)
                work.change[y] += min(LOG2_E * meet / max(flow.mass[diagonal, y], _SMALLEST), most)
            if exact and from_home > 0.0:
                work.change[y] -= LOG2_E * out * from_home / (flow.mass[k + home, y] + from_home)
            if exact and to_home > 0.0:
                work.change[y] -= LOG2_E * into * to_home / (flow.mass[home, y] + to_home)


@_part
def _bound_links(
    problem: Problem, table: Table, weights: Weights, x: int, work: Work, n_out: int, n_in: int
) -> float:
    """Bound the price of joining each group that state x is linked with; return one bound for all other groups.

    For A of weight zero.

    Nothing here takes time that grows with the number of groups.
    """
    home, mu, flow, loop = np.int64(table.labels[x]), problem.mu[x], table.flow, problem.loops[x]
    log, inverse, mu_f = table.nu[LOG], table.nu[INVERSE], mu * _least_log2(mu)
    most = _most_change(flow, loop, work, n_out, n_in)
    _bound_where_linked(flow, loop, work, n_out, n_in)
    _bound_meetings(flow, home, loop, False, work, n_out, n_in)
    for side in range(2):
        for q in range(n_in if side else n_out):
            y = np.int64(work.groups[side, q])
            work.gain[y] = _least_rise(log[y], inverse[y], mu, mu_f) - weights.flow * work.change[y]
    work.gain[home] = np.inf
    return f(table.lightest[0] + mu) - f(table.lightest[0]) - weights.flow * most


@_part
def _least_rise(log: float, inverse: float, mu: float, mu_f: float) -> float:
    """Bound what sum f(nu) gains when a state joins a group, from the logarithm and the inverse of its mass."""
    # What bounds the rise grows with u up to there, and so does the rise; which is at least that of an empty group.
    u = min(mu * inverse, 1.0)
    return max(mu * (log + LOG2_E * (1.0 + 0.5 * u - u * u * (1.0 / 6.0))), mu_f)


@_part
def _least_linked(work: Work, n_out: int, n_in: int) -> tuple[float, np.int64]:
    """Find the least bound among the groups that the state is linked with; among equals the lowest number."""
    least, at = np.inf, _NOWHERE
    for side in range(2):
        for q in range(n_in if side else n_out):
            y = np.int64(work.groups[side, q])
            if work.gain[y] < least or (work.gain[y] == least and y < at):
                least, at = work.gain[y], y
    return least, at


@_part
def _move_flow(flow: Flow, home: Place, y: Place, loop: float, work: Work, n_out: int, n_in: int) -> None:
    """Take the collected state out of its group in B and put it into group y."""
    mass, log, m = work.buffer[0], work.buffer[1], 0
    home, y, k = np.uint64(home), np.uint64(y), np.uint64(flow.counts.shape[0])
    for group in (home, y):
        sign = 1 if group == y else -1
        for way in range(2):
            for q in range(n_in if way else n_out):
                z = np.uint64(work.groups[way, q])
                a, b = (z, group) if way else (group, z)
                flow.counts[a, b] += sign * work.counts[way, z]
                flow.mass[k + a, b] += sign * work.mass[way, z]
        if loop > 0.0:
            flow.counts[group, group] += sign
            flow.mass[k + group, group] += sign * loop
    # Some entries meet here twice, but all are final by now.
    for group in (home, y):
        for way in range(2):
            for q in range(n_in if way else n_out):
                z = np.uint64(work.groups[way, q])
                a, b = (z, group) if way else (group, z)
                mass[m] = max(flow.mass[k + a, b], 0.0) if flow.counts[a, b] > 0 else 0.0
                m += 1
        mass[m] = max(flow.mass[k + group, group], 0.0) if flow.counts[group, group] > 0 else 0.0
        m += 1
    for j in range(m):
        log[j] = fast_log2(max(mass[j], _SMALLEST))
    m = 0
    for group in (home, y):
        for way in range(2):
            row, column = (group, k) if way else (k + group, np.uint64(0))
            most = flow.most[row]
            for q in range(n_in if way else n_out):
                z = np.uint64(work.groups[way, q])
                rough = _rounded_up(log[m])
                flow.mass[row, z], flow.log[row, z], flow.rough[row, z] = mass[m], log[m], rough
                flow.mass[column + z, group], flow.log[column + z, group] = mass[m], log[m]
                flow.rough[column + z, group] = rough
                # What a state leaves only falls.
                if group == y and z != y:
                    most = max(most, mass[m])
                    flow.most[column + z] = max(flow.most[column + z], mass[m])
                m += 1
            flow.most[row] = most
        _set_flow(flow, group, group, mass[m], log[m])
        m += 1


@_part
def _into_group(problem: Problem, table: Table, x: int, y: int) -> float:
    """Change of sum f(A) in the dense layout when the state joins group y; if that is its own, when it leaves it."""
    into, log, column = table.dense.into[y], table.dense.into_log[y], problem.columns[x]
    sign = -1.0 if y == table.labels[x] else 1.0
    total = 0.0
    for i in range(column.size):
        total += f(into[i] + sign * column[i]) - into[i] * log[i]
    return total


@_part
def _into_dense(problem: Problem, table: Table, x: int, from_below: bool, work: Work) -> None:
    """Bound the same for every group, from below or from above, without a logarithm.

    With ``u = r / a`` the change ``f(a + r) - f(a)`` lies between ``r (log2 a + log2(e) (1 + u / 2 - u^2 / 6))`` and
    the same without the last term, and ``f(a - r) - f(a)`` between ``-r (log2 a + log2(e) (1 - u / 2))`` and that
    plus ``r log2(e) u^2 / 2``.
    """
    home, column, dense = np.int64(table.labels[x]), problem.columns[x], table.dense
    brought = 0.0
    for i in range(column.size):
        brought += column[i]
    for y in range(table.size.size):
        log, inverse = dense.into_log[y], dense.into_inverse[y]
        if y != home and (table.size[y] < _FEW_MEMBERS or dense.empty[y] > 0):
            work.into[y] = _into_group(problem, table, x, y)
            continue
        first, second, third = 0.0, 0.0, 0.0
        # Rounding may have left less in the own group than the state brought.
        most = 1.0 if y == home else np.inf
        for i in range(column.size):
            r = column[i]
            u = min(r * inverse[i], most)
            first += r * log[i]
            second += r * u
            third += r * u * u
        if y == home:
            rest = 0.5 * second - brought + (0.0 if from_below else 0.5 * third)
            work.into[y] = LOG2_E * rest - first
        else:
            # No better than nothing where the state is large beside the group.
            rest = 0.5 * second - (third / 6.0 if from_below else 0.0)
            work.into[y] = first + LOG2_E * (brought + (rest if rest > 0.0 else 0.0))


@_part
def _into_lists(problem: Problem, table: Table, x: int, from_below: bool, work: Work) -> None:
    """Bound the change of sum f(A) in the sparse layout for each group that the state could join or, its own, leave.

    Up to a constant: minus it for the others, plus it for the own group. ``f(a + r) - f(a) - f(r)`` is r
    times a function of ``a / r``: half the digits are enough.
    """
    home, lists, group, into, rough = table.labels[x], table.lists, work.buffer_group, work.into, work.rough
    ratio, share, filled = work.ratio, work.share, np.uint64(0)
    rough[:] = 0.0
    first_p, end_p, total = problem.indptr[x], problem.indptr[x + 1], problem.inflow[x]
    scale = 1.0 / max(total, _SMALLEST)
    for p in range(first_p, end_p):
        mass = problem.mass[p]
        first, end = _blocks(lists, np.uint64(problem.indices[p]))
        inverse, part = 1.0 / max(mass, _SMALLEST), np.float32(mass * scale)
        for b in range(first, end):
            add_block(lists.mass, lists.marks, b, home, mass, inverse, part, ratio, share, group, filled)
            filled += np.uint64(4)
            if filled == np.uint64(group.size):
                _add_gains(ratio, share, group, filled, rough)
                filled = np.uint64(0)
    _add_gains(ratio, share, group, filled, rough)
    off = _ROUGHLY + (end_p - first_p) * _HALF_DIGITS
    less, more = total * (1.0 - off), total * (1.0 + off)
    own = np.float64(rough[0, home]) + np.float64(rough[1, home])
    for y in range(into.size):
        into[y] = (less if from_below else more) * (np.float64(rough[0, y]) + np.float64(rough[1, y]))
    into[home] = -(more if from_below else less) * own


@_part
def _add_gains(ratio: Rough, share: Rough, group: Shorts, filled: int, total: Rough) -> None:
    gain_of_ratios(ratio, filled)
    # In two sums, because each addition waits for the last one to the same group.
    for m in range(np.uint64(0), filled, np.uint64(2)):
        n = m + np.uint64(1)
        total[0, np.uint64(group[m])] += share[m] * ratio[m]
        total[1, np.uint64(group[n])] += share[n] * ratio[n]


@_part
def _into_list_exactly(problem: Problem, table: Table, x: int, y: int, work: Work) -> tuple[float, float]:
    """Change of sum f(A) in the sparse layout when the state leaves its own group, and when it joins group y.

    Up to the same constant. Where the groups are in the lists is kept for ``_move_lists``.
    """
    home, lists, buffer, places = np.int64(table.labels[x]), table.lists, work.buffer, work.places
    mass, own, other, room = buffer[0], buffer[1], buffer[2], buffer.shape[1]
    leave, join, begin, end = 0.0, 0.0, problem.indptr[x], problem.indptr[x + 1]
    for start in range(begin, end, room):
        for p in range(start, min(start + room, end)):
            j = p - start
            old, new = _find(lists, np.uint64(problem.indices[p]), home, y)
            places[0, j], places[1, j] = old, new
            alone = lists.marks[old >> 2, COUNTS + (old & 3)] == 1
            # Where the transition is the only one, nothing is left, not even a speck.
            mass[j], own[j] = problem.mass[p], problem.mass[p] if alone else lists.mass[old >> 2, old & 3]
            other[j] = lists.mass[new >> 2, new & 3] if new >= 0 else 0.0
        for j in range(min(room, end - start)):
            r = f(mass[j])
            leave += f(own[j] - mass[j]) - f(own[j]) + r
            join += f(other[j] + mass[j]) - f(other[j]) - r
    return leave, join


@_part
def _leave(
    problem: Problem, table: Table, weights: Weights, x: int, only: int, work: Work
) -> tuple[float, int, int]:
    """Change of the cost when state x leaves its group and goes nowhere; the numbers of groups it is linked with.

    Prepares what the price of joining another group is made of, for every group or only for one. If for every
    group, the change is bounded from below, and so are these prices.
    """
    home, mu = np.int64(table.labels[x]), problem.mu[x]
    n_out, n_in = 0, 0
    if only < 0:
        u = min(mu * table.nu[INVERSE, home], 1.0)
        price = -mu * (table.nu[LOG, home] + LOG2_E * (1.0 - 0.5 * u))
    else:
        price = _leave_nu(problem, table, x)
    if weights.into != 0.0:
        if problem.columns.size > 0:
            if only < 0:
                _into_dense(problem, table, x, weights.into > 0.0, work)
            else:
                work.into[home] = _into_group(problem, table, x, home)
        elif only < 0:
            _into_lists(problem, table, x, weights.into > 0.0, work)
        else:
            _prepare(problem, table, x, only, work)
        price += weights.into * work.into[home]
    if weights.flow != 0.0:
        n_out, n_in = _collect_flow(problem, table, x, work)
        if only < 0:
            gone = _bound_leaving(table.flow, home, problem.loops[x], work, n_out, n_in)
        else:
            gone = _leave_flow(table.flow, home, problem.loops[x], work, n_out, n_in)
        price -= weights.flow * gone
    return price, n_out, n_in


@_part
def _leave_nu(problem: Problem, table: Table, x: int) -> float:
    """Change of sum f(nu) when state x leaves its group."""
    mass = table.nu[MASS, table.labels[x]]
    return (f(mass - problem.mu[x]) if table.size[table.labels[x]] > 1 else 0.0) - f(mass)


@_part
def _leave_exactly(
    problem: Problem, table: Table, weights: Weights, x: int, y: int, work: Work, n_out: int, n_in: int
) -> float:
    """Change of the cost when state x leaves its group, of which ``_leave`` gave a bound.

    Prepares the price of joining group y.
    """
    home, price = np.int64(table.labels[x]), _leave_nu(problem, table, x)
    if weights.into != 0.0:
        if problem.columns.size > 0:
            work.into[home] = _into_group(problem, table, x, home)
        _prepare(problem, table, x, y, work)
        price += weights.into * work.into[home]
    if weights.flow != 0.0:
        price -= weights.flow * _leave_flow(table.flow, home, problem.loops[x], work, n_out, n_in)
    return price


@_part
def _prepare(problem: Problem, table: Table, x: int, y: int, work: Work) -> None:
    """Replace bounds of how sum f(A) changes by what it is."""
    if problem.columns.size > 0:
        work.into[y] = _into_group(problem, table, x, y)
    else:
        home = np.int64(table.labels[x])
        work.into[home], work.into[y] = _into_list_exactly(problem, table, x, y, work)
    work.prepared[0] = y


@_part
def _join(
    problem: Problem, table: Table, weights: Weights, x: int, y: int, work: Work, n_out: int, n_in: int
) -> float:
    """Change of the cost when state x, which has left its group, joins group y."""
    price = f(table.nu[MASS, y] + problem.mu[x]) - table.nu[MASS, y] * table.nu[LOG, y]
    if weights.into != 0.0:
        if work.prepared[0] != y:
            _prepare(problem, table, x, y, work)
        price += weights.into * work.into[y]
    if weights.flow != 0.0:
        home = np.int64(table.labels[x])
        price -= weights.flow * _join_flow(table.flow, home, y, problem.loops[x], work, n_out, n_in)
    return price


@_part
def _bound(
    problem: Problem, table: Table, weights: Weights, x: int, care: int, work: Work, n_out: int, n_in: int
) -> None:
    """Fill ``work.gain`` with lower bounds of the price of joining each group; infinite for the own one."""
    home, mu, gain = np.int64(table.labels[x]), problem.mu[x], work.gain
    log, inverse, into, change = table.nu[LOG], table.nu[INVERSE], work.into, work.change
    mu_f = mu * _least_log2(mu)
    # A term of weight zero is skipped, not multiplied: its array may hold infinities of an earlier objective.
    if weights.flow != 0.0:
        _bound_flow(table.flow, home, problem.loops[x], care, work, n_out, n_in)
        for y in range(gain.size):
            gain[y] = _least_rise(log[y], inverse[y], mu, mu_f) - weights.flow * change[y]
    else:
        for y in range(gain.size):
            gain[y] = _least_rise(log[y], inverse[y], mu, mu_f)
    if weights.into != 0.0:
        for y in range(gain.size):
            gain[y] += weights.into * into[y]
    gain[home] = np.inf
    gain[table.size.size :] = np.inf


@_part
def _move_dense(problem: Problem, table: Table, weights: Weights, x: int, home: int, y: int) -> None:
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
    if weights.into != 0.0:
        _refresh_dense(dense, home)
        _refresh_dense(dense, y)


@_part
def _move_lists(problem: Problem, table: Table, x: int, home: int, y: int, work: Work) -> None:
    begin, end, lists, places = problem.indptr[x], problem.indptr[x + 1], table.lists, work.places
    known = work.prepared[0] == y and end - begin <= places.shape[1]
    for p in range(begin, end):
        i, j = np.uint64(problem.indices[p]), np.uint64(p - begin)
        old, new = (places[0, j], places[1, j]) if known else _find(lists, i, home, y)
        _swap_in_list(lists, i, old, new, y, problem.mass[p], table.size.size)


@_part
def _move(
    problem: Problem, table: Table, weights: Weights, x: int, y: int, work: Work, n_out: int, n_in: int
) -> None:
    """Carry state x over to group y in every sum."""
    home, mu, nu = np.int64(table.labels[x]), problem.mu[x], table.nu
    if weights.flow != 0.0:
        _move_flow(table.flow, home, y, problem.loops[x], work, n_out, n_in)
    table.size[home] -= 1
    table.size[y] += 1
    _set_nu(table, home, max(nu[MASS, home] - mu, 0.0) if table.size[home] > 0 else 0.0)
    _set_nu(table, y, nu[MASS, y] + mu)
    table.labels[x] = y
    if problem.columns.size > 0:
        _move_dense(problem, table, weights, x, home, y)
    elif not _has_no_lists(problem, table):
        _move_lists(problem, table, x, home, y, work)
    if table.waiting.size > 0:
        _call_neighbours(problem, table, x)


@_part
def _call_neighbours(problem: Problem, table: Table, x: int) -> None:
    """Note for whom the move of state x changes more than B: its neighbours; and whose row of A it changes."""
    for p in range(problem.out_indptr[x], problem.out_indptr[x + 1]):
        y = problem.out_indices[p]
        table.waiting[y] = max(table.waiting[y], WAITS)
    for p in range(problem.indptr[x], problem.indptr[x + 1]):
        table.waiting[problem.indices[p]] = ROW_CHANGED


@_kernel
def call_siblings(problem: Problem, table: Table) -> None:
    """Where A counts, let all wait that a state with a changed row leads to: each row once, whatever its moves."""
    for i in range(table.waiting.size):
        if table.waiting[i] == ROW_CHANGED:
            for p in range(problem.out_indptr[i], problem.out_indptr[i + 1]):
                y = problem.out_indices[p]
                table.waiting[y] = max(table.waiting[y], WAITS)


@_part
def _prefetch(problem: Problem, table: Table, weights: Weights, order: Ints, j: int) -> None:
    """Ask for what the next states need: the lists that lead to them, or the labels of their neighbours."""
    lists, last = table.lists, order.size - 1
    if problem.columns.size > 0:
        return
    if lists.bounds.shape[0] == 0:
        x = order[min(j + 4, last)]
        for p in range(problem.indptr[x], problem.indptr[x + 1]):
            prefetch(table.labels, np.uint64(problem.indices[p]))
        for p in range(problem.out_indptr[x], problem.out_indptr[x + 1]):
            prefetch(table.labels, np.uint64(problem.out_indices[p]))
        return
    x = order[min(j + 2, last)]
    for p in range(problem.indptr[x], problem.indptr[x + 1]):
        prefetch(lists.bounds, np.uint64(problem.indices[p]))
        if weights.flow != 0.0:
            prefetch(table.labels, np.uint64(problem.indices[p]))
    x = order[min(j + 1, last)]
    if weights.flow != 0.0:
        first, end = _blocks(lists, x)
        prefetch(lists.mass, first)
        prefetch(lists.mass, end - np.uint64(1))
    for p in range(problem.indptr[x], problem.indptr[x + 1]):
        i = np.uint64(problem.indices[p])
        first, end = _blocks(lists, i)
        # Most lists have at most three blocks.
        last = end - np.uint64(1)
        prefetch(lists.mass, first)
        prefetch(lists.mass, (first + last) >> np.uint64(1))
        prefetch(lists.mass, last)


@_kernel
def visit(
    problem: Problem,  # in
    table: Table,  # in, out
    work: Work,
    weights: Weights,
    order: Ints,  # in: the states to visit
    rule: int,
    target: int,  # for some rules: a group
    tolerance: float,  # a move must lower the cost by more than this
) -> tuple[int, int, float]:
    """Look at states one by one and do with them what the rule says.

    The best group is found without the price of each: the one with the lowest bound is priced, again and again,
    until the cheapest price is below every bound that is left. Among equals the lowest number wins.

    Returns the number of moves, the state that is cheapest to move to the target (for ``LOOK``), and the change of
    the cost (for ``LOOK``, what that move would change). All that moves states goes through here, so that the
    large functions above are compiled into one place.
    """
    moves, chosen, change = 0, -1, np.inf if rule == LOOK else 0.0
    for j in range(order.size):
        x = order[j]
        home = np.int64(table.labels[x])
        if (table.size[home] == 1 and rule not in (MAY_EMPTY, FORCE)) or home == target:
            continue
        _prefetch(problem, table, weights, order, j)
        only = home ^ 1 if rule == IN_PAIRS else target
        work.prepared[0] = _NOWHERE
        leave, n_out, n_in = _leave(problem, table, weights, x, only, work)
        best, least, priced = _NOWHERE, np.inf if rule in (FORCE, LOOK) else -tolerance - leave, 0
        care = _ONE_BY_ONE
        if problem.columns.size > 0 or weights.flow == 0.0:
            # Beside all the states of a dense chain the few groups cost nothing; without B there is nothing to bound.
            care = _CLOSELY
        elif table.size.size >= max(_MANY_GROUPS, _AS_MANY * (n_out + n_in)):
            care = _AT_ONCE
        linked, elsewhere = care == _AT_ONCE and weights.into == 0.0, np.inf
        if only < 0 and linked:
            elsewhere = _bound_links(problem, table, weights, x, work, n_out, n_in)
        elif only < 0:
            _bound(problem, table, weights, x, care, work, n_out, n_in)
        while True:
            y: int | np.int64 = only
            if only < 0:
                bound, y = _least_linked(work, n_out, n_in) if linked else _least(work.gain)
                if not bound <= min(least, _LARGEST) or (bound == least and y > best):
                    if not (linked and elsewhere <= least):
                        break
                    y = _NOWHERE
                if priced == 0:
                    bounded = leave
                    leave = _leave_exactly(problem, table, weights, x, y, work, n_out, n_in)
                    least -= leave - bounded
                    priced = 1
                    continue
                if y < 0:
                    linked, care = False, _ONE_BY_ONE
                    _bound(problem, table, weights, x, care, work, n_out, n_in)
                    continue
            price = _join(problem, table, weights, x, y, work, n_out, n_in)
            if price < least or (price == least and y < best):
                best, least = np.int64(y), price
            if only >= 0:
                break
            work.gain[y] = np.inf
            priced += 1
            enough = _FEW_PRICES if care == _AT_ONCE else _MANY_PRICES
            if priced >= enough and care < _CLOSELY and not linked:
                care += np.int64(1)
                _bound(problem, table, weights, x, care, work, n_out, n_in)
        if rule == LOOK:
            if leave + least < change:
                chosen, change = x, leave + least
        elif best >= 0:
            change += leave + least
            _move(problem, table, weights, x, best, work, n_out, n_in)
            moves += 1
        _forget_flow(work, n_out, n_in)
    return moves, chosen, change


@_kernel
def sweep(
    problem: Problem,
    table: Table,
    work: Work,
    weights: Weights,
    order: Ints,
    tolerance: float,
    allow_empty: bool,
    in_pairs: bool,  # a state of group y may only choose between y and y ^ 1
) -> tuple[int, float]:
    """One pass of Algorithm 1; returns the number of moves and the change of the cost."""
    rule = IN_PAIRS if in_pairs else MAY_EMPTY if allow_empty else SETTLE
    moves, _, change = visit(problem, table, work, weights, order, rule, _NOWHERE, tolerance)
    return moves, change


@_kernel
def exchange_singletons(
    problem: Problem, table: Table, work: Work, weights: Weights, tolerance: float
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
        price = visit(problem, table, work, weights, one, FORCE, _NOWHERE, tolerance)[2]
        new, gain = visit(problem, table, work, weights, everyone, LOOK, y, tolerance)[1:]
        pays = new >= 0 and price + gain < -tolerance and new != old
        one[0] = new if pays else old
        visit(problem, table, work, weights, one, FORCE, y, tolerance)
        if pays:
            change += price + gain
            moves += 1
    return moves, change


@_kernel
def split_off(problem: Problem, table: Table, work: Work, weights: Weights) -> None:
    """From all states in group 0: fill each other group with the state that is cheapest to take out."""
    for y in range(1, table.size.size):
        table.one[0] = visit(problem, table, work, weights, table.everyone, LOOK, y, 0.0)[1]
        visit(problem, table, work, weights, table.one, FORCE, y, 0.0)


@_kernel
def descend(
    problem: Problem,  # in
    table: Table,  # in: labels; out: everything
    work: Work,
    weights: Weights,
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
    cost = weights.into * into - weights.flow * flow + nu
    trace[0] = cost
    done, stale = 0, 0
    while done < trace.size - 1:
        moves, change = sweep(problem, table, work, weights, order, tolerance, allow_empty, False)
        if moves == 0 and exchange:
            moves, change = exchange_singletons(problem, table, work, weights, tolerance)
        done += 1
        stale += moves
        cost += change
        if stale >= table.labels.size or (stale > 0 and (moves == 0 or done == trace.size - 1)):
            into, flow, nu = build(problem, table)
            cost = weights.into * into - weights.flow * flow + nu
            stale = 0
        trace[done] = cost
        if moves == 0:
            break
    return done
