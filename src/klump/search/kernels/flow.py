"""B: exact changes of sum f(B) when a state leaves or joins a group, and the update of B when it moves.

The links of the state with the groups are collected in ``work``: ``work.mass[OUT, z]`` is its mass to group z,
``work.mass[IN, z]`` that from group z, without its loop.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from klump.compilation import inlined
from klump.search.kernels.logarithm import SMALLEST, f, fast_log2, sum_f
from klump.search.kernels.tables import IN, OUT, Flow, Work

# Twice the relative rounding error of a float32 operation.
_ROUNDING = 2.0**-23


@inlined
def round_up(log: float) -> Any:
    """Upper bound in float32 of the logarithm of a mass; a mass is at most 1, so its logarithm is at most 0."""
    return np.float32(log * (1.0 - _ROUNDING))


@inlined
def set_entry(b: Flow, y: int, z: int, mass: float, log: float) -> None:
    """Write ``B[y, z]`` and its logarithm to both rows that hold it, and to the diagonal if y = z."""
    k = b.counts.shape[0]
    rough_log = round_up(log)
    b.mass[z, y], b.log[z, y], b.rough_log[z, y] = mass, log, rough_log
    b.mass[k + y, z], b.log[k + y, z], b.rough_log[k + y, z] = mass, log, rough_log
    if y == z:
        b.mass[2 * k, y], b.log[2 * k, y], b.rough_log[2 * k, y] = mass, log, rough_log
        b.most[2 * k] = max(b.most[2 * k], mass)
    else:
        b.most[z] = max(b.most[z], mass)
        b.most[k + y] = max(b.most[k + y], mass)


@inlined
def finish_b(b: Flow) -> float:
    """Fill all rows of B from the masses in rows k to 2 k - 1; returns sum f(B)."""
    k = b.counts.shape[0]
    b.most[:] = 0.0
    total = 0.0
    for y in range(k):
        for z in range(k):
            mass = b.mass[k + y, z]
            set_entry(b, y, z, mass, fast_log2(max(mass, SMALLEST)))
            total += b.mass[k + y, z] * b.log[k + y, z]
    return total


@inlined
def _remaining_mass(b: Flow, way: int, home: int, z: int, work: Work) -> float:
    """Mass between ``home`` and z after the state has left ``home``; exactly 0 if no transition remains."""
    count = b.counts[home, z] if way == OUT else b.counts[z, home]
    if count == work.counts[way, z]:
        return 0.0
    return b.mass[(1 - way) * b.counts.shape[0] + home, z] - work.mass[way, z]


@inlined
def leave_b(b: Flow, home: int, loop: float, work: Work) -> float:
    """Change of sum f(B) when the state leaves group ``home`` and joins none."""
    k, argument, size, before = b.counts.shape[0], work.buffer[0], 0, 0.0
    for way in range(2):
        # The row of B[home, z] over z for OUT, of B[z, home] for IN.
        row = (1 - way) * k + home
        for q in range(work.n_linked[way]):
            z = np.int64(work.groups[way, q])
            if z != home:
                before += b.mass[row, z] * b.log[row, z]
                argument[size] = _remaining_mass(b, way, home, z, work)
                size += 1
    before += b.mass[2 * k, home] * b.log[2 * k, home]
    count = work.counts[OUT, home] + work.counts[IN, home] + (loop > 0.0)
    within = work.mass[OUT, home] + work.mass[IN, home] + loop
    argument[size] = b.mass[2 * k, home] - within if b.counts[home, home] > count else 0.0
    return sum_f(argument, size + 1) - before


@inlined
def join_b(b: Flow, home: int, y: int, loop: float, work: Work) -> float:
    """Change of sum f(B) when the state, which has left group ``home``, joins group y."""
    k, argument, size, before = b.counts.shape[0], work.buffer[0], 0, 0.0
    for way in range(2):
        for q in range(work.n_linked[way]):
            z = np.int64(work.groups[way, q])
            row = way * k + z
            if z == home:
                # The mass between y and ``home`` no longer includes the links of the state with y.
                rest = _remaining_mass(b, 1 - way, home, y, work)
                before += f(rest)
                argument[size] = rest + work.mass[way, z]
                size += 1
            elif z != y:
                before += b.mass[row, y] * b.log[row, y]
                argument[size] = b.mass[row, y] + work.mass[way, z]
                size += 1
    before += b.mass[2 * k, y] * b.log[2 * k, y]
    argument[size] = b.mass[2 * k, y] + work.mass[OUT, y] + work.mass[IN, y] + loop
    return sum_f(argument, size + 1) - before


@inlined
def move_b(b: Flow, home: int, y: int, loop: float, work: Work) -> None:
    """Take the state out of group ``home`` and put it into group y."""
    k = b.counts.shape[0]
    for group in (home, y):
        sign = 1 if group == y else -1
        for way in range(2):
            for q in range(work.n_linked[way]):
                z = np.int64(work.groups[way, q])
                one, other = (group, z) if way == OUT else (z, group)
                b.counts[one, other] += sign * work.counts[way, z]
                b.mass[k + one, other] += sign * work.mass[way, z]
        b.counts[group, group] += sign * (loop > 0.0)
        b.mass[k + group, group] += sign * loop
    # Entries between ``home`` and y have changed twice, so logarithms are computed now, in one vectorised loop.
    mass, log, size = work.buffer[0], work.buffer[1], 0
    for group in (home, y):
        mass[size] = _clean_mass(b, group, group)
        size += 1
        for way in range(2):
            for q in range(work.n_linked[way]):
                z = np.int64(work.groups[way, q])
                mass[size] = _clean_mass(b, group, z) if way == OUT else _clean_mass(b, z, group)
                size += 1
    for j in range(size):
        log[j] = fast_log2(max(mass[j], SMALLEST))
    size = 0
    for group in (home, y):
        set_entry(b, group, group, mass[size], log[size])
        size += 1
        for way in range(2):
            for q in range(work.n_linked[way]):
                z = np.int64(work.groups[way, q])
                one, other = (group, z) if way == OUT else (z, group)
                set_entry(b, one, other, mass[size], log[size])
                size += 1


@inlined
def _clean_mass(b: Flow, y: int, z: int) -> float:
    """``B[y, z]`` without rounding errors: 0 if it has no transitions, and never negative."""
    return max(b.mass[b.counts.shape[0] + y, z], 0.0) if b.counts[y, z] > 0 else 0.0


@inlined
def clear_links(work: Work) -> None:
    """Set the links to zero for the next state."""
    for way in range(2):
        for q in range(work.n_linked[way]):
            z = np.int64(work.groups[way, q])
            work.mass[way, z] = 0.0
            work.counts[way, z] = 0
        work.n_linked[way] = 0


@inlined
def add_link(work: Work, way: int, z: int, mass: float, n_linked: int) -> int:
    """Add one transition to the links with group z; returns the number of groups with links so far."""
    # Written unconditionally: the write cursor advances only if the group is new.
    work.groups[way, n_linked] = z
    n_linked += work.counts[way, z] == 0
    work.mass[way, z] += mass
    work.counts[way, z] += 1
    return n_linked


@inlined
def remove_loop(work: Work, way: int, home: int, loop: float) -> None:
    """Take the loop of the state out of its links with its own group."""
    work.counts[way, home] -= 1
    work.mass[way, home] = work.mass[way, home] - loop if work.counts[way, home] > 0 else 0.0
