"""Algorithm 1: move one state at a time to the group that lowers the cost most.

Notation as in the paper. ``J`` is the joint law of two successive states, ``A[i, y]`` the mass that goes from
state ``i`` to group ``y``, ``B[y, z]`` the mass between groups, ``nu`` the mass of the groups and
``f(t) = t log2 t``. Up to a constant the cost is::

    (1 - 2 beta) sum f(A)  -  (1 - beta) sum f(B)  +  sum f(nu)

so that a term of weight zero (A at beta = 1/2, B at beta = 1) need not be looked at. ``A`` is kept in one of
two layouts: ``Dense`` (one contiguous row a group) or ``Lists`` (the groups that a state leads to, and nothing
else; groups absent from a list all have the same gain, so they cost no logarithm). Transitions are counted
beside their mass, so that what is empty is exactly zero.

Everything that is inlined into these kernels stands in this file: numba's cache watches no other.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from klump.search.kernels.tables import Floats, Flow, Ints, Lists, Problem, Table, Work

# NaN and infinity keep their meaning; only the order of sums and the use of fused operations are free.
FAST = {"reassoc", "contract", "nsz"}

LOG2_E = 1.4426950408889634
_C1, _C3, _C5, _C7, _C9 = (2.0 * LOG2_E / odd for odd in (1, 3, 5, 7, 9))
_C11, _C13, _C15, _C17, _C19 = (2.0 * LOG2_E / odd for odd in (11, 13, 15, 17, 19))
_SMALLEST = 2.2250738585072014e-308
_SQRT_HALF_BITS = 0x3FE6A09E667F3BCD
# Below this relative change f(b + r) - f(b) is a short power series in r / b: no logarithm, full accuracy.
_SERIES_LIMIT = 1.0 / 32.0
_BUFFER = 2048


@njit(error_model="numpy", fastmath=FAST)
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


@njit(error_model="numpy", fastmath=FAST)
def f(t: float) -> float:
    """``t log2 t``, exactly 0 at 0 (and below: rounding may leave a negative speck)."""
    return max(t, 0.0) * fast_log2(max(t, _SMALLEST))


@njit(error_model="numpy", fastmath=FAST)
def f_array(t: Floats, out: Floats) -> None:
    """``f`` of each entry: the yardstick of the benchmarks, and what the tests check."""
    for i in range(t.size):
        out[i] = f(t[i])


@njit(error_model="numpy", fastmath=FAST)
def _series(u: float) -> float:
    """``((1 + u) ln(1 + u)) / u`` for small u: then ``f(b + r) - f(b) = r (log2 b + log2(e) series(r / b))``."""
    p = u * (1.0 / 72.0) - 1.0 / 56.0
    p = p * u + 1.0 / 42.0
    p = p * u - 1.0 / 30.0
    p = p * u + 1.0 / 20.0
    p = p * u - 1.0 / 12.0
    p = p * u + 1.0 / 6.0
    p = p * -u + 0.5
    return p * u + 1.0


@njit(error_model="numpy", fastmath=FAST)
def _add_changes(r: float, mass: Floats, log: Floats, inv: Floats, inv_max: float, out: Floats) -> None:
    """Add ``f(b + r) - f(b)`` for each entry b of a row to ``out``."""
    if r * inv_max < _SERIES_LIMIT:
        for y in range(out.size):
            out[y] += r * (log[y] + LOG2_E * _series(r * inv[y]))
    else:
        for y in range(out.size):
            out[y] += f(mass[y] + r) - mass[y] * log[y]


@njit(error_model="numpy", fastmath=FAST)
def _set_flow(flow: Flow, y: int, z: int, mass: float) -> None:
    log = fast_log2(max(mass, _SMALLEST))
    inv = 1.0 / mass
    flow.mass[y, z] = mass
    flow.mass_t[z, y] = mass
    flow.log[y, z] = log
    flow.log_t[z, y] = log
    flow.inv[y, z] = inv
    flow.inv_t[z, y] = inv
    if inv > flow.inv_max[y]:
        flow.inv_max[y] = inv
    if inv > flow.inv_max_t[z]:
        flow.inv_max_t[z] = inv


@njit(error_model="numpy", fastmath=FAST)
def _shift_flow(flow: Flow, y: int, z: int, mass: float, count: int) -> None:
    left = flow.count[y, z] + count
    flow.count[y, z] = left
    _set_flow(flow, y, z, max(flow.mass[y, z] + mass, 0.0) if left > 0 else 0.0)


@njit(error_model="numpy", fastmath=FAST)
def _set_nu(table: Table, y: int, mass: float) -> None:
    table.nu[y] = mass
    table.nu_log[y] = fast_log2(max(mass, _SMALLEST))
    table.nu_inv[y] = 1.0 / mass


@njit(error_model="numpy", fastmath=FAST)
def _find(lists: Lists, i: int, y: int) -> int:
    """Position of group y in the list of state i, or the end of the list."""
    p = lists.start[i]
    end = p + lists.length[i]
    while p < end and lists.group[p] != y:
        p += 1
    return p


@njit(error_model="numpy", fastmath=FAST)
def _shift_list(lists: Lists, i: int, y: int, mass: float, count: int) -> None:
    p = _find(lists, i, y)
    end = lists.start[i] + lists.length[i]
    if p == end:
        lists.group[p] = y
        lists.count[p] = 0
        lists.mass[p] = 0.0
        lists.length[i] += 1
    lists.count[p] += count
    if lists.count[p] > 0:
        lists.mass[p] = max(lists.mass[p] + mass, 0.0)
        lists.f[p] = f(lists.mass[p])
    else:
        lists.length[i] -= 1
        last = end - 1
        lists.group[p] = lists.group[last]
        lists.count[p] = lists.count[last]
        lists.mass[p] = lists.mass[last]
        lists.f[p] = lists.f[last]


@njit(error_model="numpy", fastmath=FAST)
def make_work(k: int) -> Work:
    """Scratch space for k groups."""
    return Work(
        np.zeros(k),
        np.zeros(k),
        np.zeros(k),
        np.zeros(k),
        np.zeros(k, np.int64),
        np.zeros(k),
        np.zeros(k, np.int64),
        np.zeros(k, np.int32),
        np.zeros(k, np.int32),
        np.zeros((2, k)),
        np.zeros(_BUFFER),
        np.zeros(_BUFFER),
        np.zeros(_BUFFER, np.int32),
    )


@njit(error_model="numpy", fastmath=FAST, cache=True, nogil=True)
def build(problem: Problem, table: Table) -> tuple[float, float, float]:
    """Fill the table from its labels; return sum f(A), sum f(B) and sum f(nu)."""
    n, k = table.labels.size, table.size.size
    labels, dense, lists, flow = table.labels, table.dense, table.lists, table.flow
    table.size[:] = 0
    nu = np.zeros(k)
    for x in range(n):
        table.size[labels[x]] += 1
        nu[labels[x]] += problem.mu[x]
    flow_mass = np.zeros((k, k))
    flow.count[:] = 0
    into_total = 0.0
    if problem.columns.size > 0:
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
        for y in range(k):
            for i in range(n):
                dense.into_f[y, i] = f(dense.into[y, i])
                into_total += dense.into_f[y, i]
        for i in range(n):
            for z in range(k):
                flow_mass[labels[i], z] += dense.into[z, i]
                flow.count[labels[i], z] += dense.into_count[z, i]
    else:
        lists.length[:] = 0
        for x in range(n):
            y = labels[x]
            for p in range(problem.indptr[x], problem.indptr[x + 1]):
                i = problem.indices[p]
                q = _find(lists, i, y)
                if q == lists.start[i] + lists.length[i]:
                    lists.group[q] = y
                    lists.count[q] = 0
                    lists.mass[q] = 0.0
                    lists.length[i] += 1
                lists.count[q] += 1
                lists.mass[q] += problem.mass[p]
        for i in range(n):
            for q in range(lists.start[i], lists.start[i] + lists.length[i]):
                lists.f[q] = f(lists.mass[q])
                into_total += lists.f[q]
                flow_mass[labels[i], lists.group[q]] += lists.mass[q]
                flow.count[labels[i], lists.group[q]] += lists.count[q]
    flow.inv_max[:] = 0.0
    flow.inv_max_t[:] = 0.0
    flow_total = 0.0
    nu_total = 0.0
    for y in range(k):
        _set_nu(table, y, nu[y])
        nu_total += f(nu[y])
        for z in range(k):
            _set_flow(flow, y, z, flow_mass[y, z])
            flow_total += f(flow_mass[y, z])
    return into_total, flow_total, nu_total


@njit(error_model="numpy", fastmath=FAST)
def _collect_flow(problem: Problem, table: Table, x: int, work: Work) -> tuple[int, int]:
    """Masses between the state and the groups, the state itself left out; how many groups either way."""
    k = table.size.size
    home = table.labels[x]
    loop = problem.loops[x]
    work.out_mass[:] = 0.0
    work.out_count[:] = 0
    work.in_mass[:] = 0.0
    work.in_count[:] = 0
    if problem.columns.size > 0:
        for z in range(k):
            work.out_mass[z] = table.dense.into[z, x]
            work.out_count[z] = table.dense.into_count[z, x]
            work.in_mass[z] = table.dense.out_of[z, x]
            work.in_count[z] = table.dense.out_of_count[z, x]
        if loop > 0.0:
            work.in_mass[home] -= loop
            work.in_count[home] -= 1
    else:
        lists = table.lists
        for q in range(lists.start[x], lists.start[x] + lists.length[x]):
            work.out_mass[lists.group[q]] = lists.mass[q]
            work.out_count[lists.group[q]] = lists.count[q]
        for p in range(problem.indptr[x], problem.indptr[x + 1]):
            i = problem.indices[p]
            if i != x:
                work.in_mass[table.labels[i]] += problem.mass[p]
                work.in_count[table.labels[i]] += 1
    if loop > 0.0:
        work.out_mass[home] -= loop
        work.out_count[home] -= 1
    n_out, n_in = 0, 0
    for z in range(k):
        if work.out_count[z] > 0:
            work.out_groups[n_out] = z
            n_out += 1
        else:
            work.out_mass[z] = 0.0
        if work.in_count[z] > 0:
            work.in_groups[n_in] = z
            n_in += 1
        else:
            work.in_mass[z] = 0.0
    return n_out, n_in


@njit(error_model="numpy", fastmath=FAST)
def _join_flow(
    problem: Problem, table: Table, x: int, y: int, sign: int, work: Work, n_out: int, n_in: int
) -> None:
    """Put the state into group y of B (sign 1) or take it out (sign -1)."""
    flow = table.flow
    for q in range(n_out):
        z = work.out_groups[q]
        _shift_flow(flow, y, z, sign * work.out_mass[z], sign * work.out_count[z])
    for q in range(n_in):
        z = work.in_groups[q]
        _shift_flow(flow, z, y, sign * work.in_mass[z], sign * work.in_count[z])
    if problem.loops[x] > 0.0:
        _shift_flow(flow, y, y, sign * problem.loops[x], sign)


@njit(error_model="numpy", fastmath=FAST)
def _leave_flow(table: Table, home: int, loop: float, work: Work) -> float:
    """Take the state out of its own group's row and column of B (into ``work.rest``); change of sum f(B).

    Adds to ``work.flow`` what joining each other group then changes in that row and column.
    """
    flow, change = table.flow, work.flow
    row, column = work.rest[0], work.rest[1]
    for y in range(change.size):
        out_left = flow.count[home, y] > work.out_count[y]
        in_left = flow.count[y, home] > work.in_count[y]
        row[y] = max(flow.mass[home, y] - work.out_mass[y], 0.0) if out_left else 0.0
        column[y] = max(flow.mass_t[home, y] - work.in_mass[y], 0.0) if in_left else 0.0
    alone = work.out_count[home] + work.in_count[home] + (loop > 0.0) == flow.count[home, home]
    centre = 0.0 if alone else max(row[home] - work.in_mass[home] - loop, 0.0)
    row[home] = 0.0
    column[home] = 0.0
    out_home, in_home = work.out_mass[home], work.in_mass[home]
    total = 0.0
    for y in range(change.size):
        f_row, f_column = f(row[y]), f(column[y])
        before = flow.mass[home, y] * flow.log[home, y] + flow.mass_t[home, y] * flow.log_t[home, y]
        total += f_row + f_column - before
        change[y] += f(column[y] + out_home) - f_column + f(row[y] + in_home) - f_row
    return total + f(centre) + flow.mass[home, home] * flow.log[home, home]


@njit(error_model="numpy", fastmath=FAST)
def _flow_changes(problem: Problem, table: Table, x: int, work: Work) -> None:
    """Change of sum f(B) if the state moved to each group; 0 for its own."""
    flow, change = table.flow, work.flow
    home, loop = table.labels[x], problem.loops[x]
    n_out, n_in = _collect_flow(problem, table, x, work)
    change[:] = 0.0
    leaving = _leave_flow(table, home, loop, work)
    for q in range(n_out):
        z = work.out_groups[q]
        if z != home:
            _add_changes(
                work.out_mass[z], flow.mass_t[z], flow.log_t[z], flow.inv_t[z], flow.inv_max_t[z], change
            )
    for q in range(n_in):
        z = work.in_groups[q]
        if z != home:
            _add_changes(work.in_mass[z], flow.mass[z], flow.log[z], flow.inv[z], flow.inv_max[z], change)
    # On the diagonal both changes and the loop meet in one entry.
    for y in range(change.size):
        if (work.out_mass[y] > 0.0 and work.in_mass[y] > 0.0) or loop > 0.0:
            b, out, into = flow.mass[y, y], work.out_mass[y], work.in_mass[y]
            change[y] += f(b + out + into + loop) - f(b + out) - f(b + into) + f(b)
    for y in range(change.size):
        change[y] += leaving
    change[home] = 0.0


@njit(error_model="numpy", fastmath=FAST)
def _flush(work: Work, filled: int) -> None:
    for m in range(filled):
        work.buffer[m] = f(work.buffer[m]) - work.buffer_f[m]
    for m in range(filled):
        work.into[work.buffer_group[m]] += work.buffer[m]


@njit(error_model="numpy", fastmath=FAST)
def _into_changes(problem: Problem, table: Table, x: int, mate: int, work: Work) -> None:
    """Change of sum f(A) for each group that the state could join; for its own, of leaving it.

    In the sparse layout a constant, the same for all other groups, is left out of them and of ``home``'s entry
    put in with the opposite sign. With ``mate >= 0`` only that group and its own are looked at.
    """
    home, change = table.labels[x], work.into
    change[:] = 0.0
    if problem.columns.size > 0:
        column = problem.columns[x]
        for y in range(change.size):
            row, row_f = table.dense.into[y], table.dense.into_f[y]
            sign = -1.0 if y == home else 1.0
            total = 0.0
            for i in range(column.size):
                total += f(row[i] + sign * column[i]) - row_f[i]
            change[y] = total
        return
    lists = table.lists
    filled = 0
    constant = 0.0
    for p in range(problem.indptr[x], problem.indptr[x + 1]):
        i, mass, mass_f = problem.indices[p], problem.mass[p], problem.mass_f[p]
        constant += mass_f
        begin, end = lists.start[i], lists.start[i] + lists.length[i]
        q = begin
        while q < end:
            stop = min(end, q + _BUFFER - filled)
            while q < stop:
                y = lists.group[q]
                if y == home:
                    work.buffer[filled] = lists.mass[q] - mass if lists.count[q] > 1 else 0.0
                    work.buffer_f[filled] = lists.f[q]
                    work.buffer_group[filled] = y
                    filled += 1
                elif mate < 0 or y == mate:
                    work.buffer[filled] = lists.mass[q] + mass
                    work.buffer_f[filled] = lists.f[q] + mass_f
                    work.buffer_group[filled] = y
                    filled += 1
                q += 1
            if filled == _BUFFER:
                _flush(work, filled)
                filled = 0
    _flush(work, filled)
    change[home] += constant


@njit(error_model="numpy", fastmath=FAST)
def _evaluate(problem: Problem, table: Table, beta: float, x: int, mate: int, work: Work) -> None:
    """Fill ``work.gain`` with the change of the cost if state x moved to each group; its own gets 0."""
    home, mu, gain = table.labels[x], problem.mu[x], work.gain
    left = table.nu[home] - mu if table.size[home] > 1 else 0.0
    gain[:] = 0.0
    # nu: joining y adds f(nu + mu) - f(nu); for the own group count it from what is left without the state.
    for y in range(gain.size):
        u = mu * table.nu_inv[y]
        if u < _SERIES_LIMIT:
            gain[y] = mu * (table.nu_log[y] + LOG2_E * _series(u))
        else:
            gain[y] = f(table.nu[y] + mu) - f(table.nu[y])
    gain[home] = f(table.nu[home]) - f(left)
    if beta != 0.5:
        _into_changes(problem, table, x, mate, work)
        weight = 1.0 - 2.0 * beta
        for y in range(gain.size):
            gain[y] += weight * work.into[y]
        gain[home] -= 2.0 * weight * work.into[home]
    if beta != 1.0:
        _flow_changes(problem, table, x, work)
        for y in range(gain.size):
            gain[y] -= (1.0 - beta) * work.flow[y]
    stay = gain[home]
    for y in range(gain.size):
        gain[y] -= stay


@njit(error_model="numpy", fastmath=FAST)
def _move(problem: Problem, table: Table, beta: float, x: int, y: int, work: Work) -> None:
    """Carry state x over to group y in every sum."""
    home, mu = table.labels[x], problem.mu[x]
    if beta != 1.0:
        n_out, n_in = _collect_flow(problem, table, x, work)
        _join_flow(problem, table, x, home, -1, work, n_out, n_in)
        _join_flow(problem, table, x, y, 1, work, n_out, n_in)
    table.size[home] -= 1
    table.size[y] += 1
    _set_nu(table, home, max(table.nu[home] - mu, 0.0) if table.size[home] > 0 else 0.0)
    _set_nu(table, y, table.nu[y] + mu)
    table.labels[x] = y
    if problem.columns.size > 0:
        dense = table.dense
        for i in range(problem.mu.size):
            mass, back = problem.columns[x, i], problem.rows[x, i]
            count, back_count = np.int32(mass > 0.0), np.int32(back > 0.0)
            dense.into_count[home, i] -= count
            dense.into_count[y, i] += count
            dense.into[home, i] = (
                max(dense.into[home, i] - mass, 0.0) if dense.into_count[home, i] > 0 else 0.0
            )
            dense.into[y, i] += mass
            dense.out_of_count[home, i] -= back_count
            dense.out_of_count[y, i] += back_count
            dense.out_of[home, i] = (
                max(dense.out_of[home, i] - back, 0.0) if dense.out_of_count[home, i] > 0 else 0.0
            )
            dense.out_of[y, i] += back
        if beta != 0.5:
            for i in range(problem.mu.size):
                dense.into_f[home, i] = f(dense.into[home, i])
                dense.into_f[y, i] = f(dense.into[y, i])
    else:
        for p in range(problem.indptr[x], problem.indptr[x + 1]):
            _shift_list(table.lists, problem.indices[p], home, -problem.mass[p], -1)
            _shift_list(table.lists, problem.indices[p], y, problem.mass[p], 1)


@njit(error_model="numpy", fastmath=FAST)
def _best_group(gain: Floats, home: int) -> int:
    """The cheapest other group; the lowest number among equals. ``home`` itself if there is no other."""
    best = home
    for y in range(gain.size):
        if y != home and (best == home or gain[y] < gain[best]):
            best = y
    return best


@njit(error_model="numpy", fastmath=FAST, cache=True, nogil=True)
def sweep(
    problem: Problem,  # in
    table: Table,  # in, out
    beta: float,
    order: Ints,  # in: the states to visit
    tolerance: float,  # a move must lower the cost by more than this
    allow_empty: bool,
    in_pairs: bool,  # a state of group y may only choose between y and y ^ 1
) -> tuple[int, float]:
    """One pass of Algorithm 1; returns the number of moves and the change of the cost."""
    work = make_work(table.size.size)
    moves, change = 0, 0.0
    for x in order:
        home = table.labels[x]
        if table.size[home] == 1 and not allow_empty:
            continue
        if in_pairs:
            best = home ^ 1
            _evaluate(problem, table, beta, x, best, work)
        else:
            _evaluate(problem, table, beta, x, -1, work)
            best = _best_group(work.gain, home)
        if best != home and work.gain[best] < -tolerance:
            change += work.gain[best]
            _move(problem, table, beta, x, best, work)
            moves += 1
    return moves, change


@njit(error_model="numpy", fastmath=FAST, cache=True, nogil=True)
def exchange_singletons(problem: Problem, table: Table, beta: float, tolerance: float) -> tuple[int, float]:
    """For each group of one, put its state elsewhere and the best other state in its place, if that pays."""
    k = table.size.size
    work = make_work(k)
    moves, change = 0, 0.0
    for y in range(k):
        if table.size[y] != 1:
            continue
        old = 0
        while table.labels[old] != y:
            old += 1
        _evaluate(problem, table, beta, old, -1, work)
        refuge = _best_group(work.gain, y)
        price = work.gain[refuge]
        if refuge == y:
            continue
        _move(problem, table, beta, old, refuge, work)
        new, best = -1, -price - tolerance
        for x in range(table.labels.size):
            if x != old and table.size[table.labels[x]] > 1:
                _evaluate(problem, table, beta, x, -1, work)
                if work.gain[y] < best:
                    new, best = x, work.gain[y]
        if new >= 0:
            _move(problem, table, beta, new, y, work)
            change += price + best
            moves += 1
        else:
            _move(problem, table, beta, old, y, work)
    return moves, change


@njit(error_model="numpy", fastmath=FAST, cache=True, nogil=True)
def descend(
    problem: Problem,  # in
    table: Table,  # in: labels; out: everything
    beta: float,
    order: Ints,  # in
    max_sweeps: int,
    tolerance: float,
    allow_empty: bool,
    exchange: bool,  # also exchange the members of groups of one
    trace: Floats,  # out: (max_sweeps + 1,) cost, up to a constant, before and after each sweep
) -> int:
    """Sweep until nothing moves; every sum is rebuilt after each sweep, so that rounding cannot pile up."""
    into, flow, nu = build(problem, table)
    trace[0] = (1.0 - 2.0 * beta) * into - (1.0 - beta) * flow + nu
    done = 0
    while done < max_sweeps:
        moves = sweep(problem, table, beta, order, tolerance, allow_empty, False)[0]
        if moves == 0 and exchange:
            moves = exchange_singletons(problem, table, beta, tolerance)[0]
        if moves > 0:
            into, flow, nu = build(problem, table)
        done += 1
        trace[done] = (1.0 - 2.0 * beta) * into - (1.0 - beta) * flow + nu
        if moves == 0:
            break
    return done
