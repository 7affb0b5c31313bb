"""B: exact changes of sum f(B) when a state leaves or joins a group, and moves.

The links of the state with the groups are collected in ``work``: ``work.mass[OUT, z]`` is its mass to group z,
``work.mass[IN, z]`` that from group z, without its loop.
"""

from __future__ import annotations

from numba import njit

from klump.search.kernels.logarithm import SMALLEST, f, fast_log2
from klump.search.kernels.options import INLINED
from klump.search.kernels.tables import IN, OUT, Floats, Flow, Work


@njit(**INLINED)
def set_entry(b: Flow, y: int, z: int, mass: float) -> None:
    """Write ``B[y, z]`` in each of its places."""
    k = b.counts.shape[0]
    log = fast_log2(max(mass, SMALLEST))
    b.mass[z, y], b.log[z, y] = mass, log
    b.mass[k + y, z], b.log[k + y, z] = mass, log
    if y == z:
        b.mass[2 * k, y], b.log[2 * k, y] = mass, log
        b.most[2 * k] = max(b.most[2 * k], mass)
    else:
        b.most[z] = max(b.most[z], mass)
        b.most[k + y] = max(b.most[k + y], mass)


@njit(**INLINED)
def finish_b(b: Flow) -> float:
    """Fill every place of B from the masses in rows k to 2 k - 1; returns sum f(B)."""
    k = b.counts.shape[0]
    b.most[:] = 0.0
    total = 0.0
    for y in range(k):
        for z in range(k):
            set_entry(b, y, z, b.mass[k + y, z])
            total += b.mass[k + y, z] * b.log[k + y, z]
    return total


@njit(**INLINED)
def _sum_f(t: Floats, size: int) -> float:
    total = 0.0
    for j in range(size):
        total += f(t[j])
    return total


@njit(**INLINED)
def _without_links(b: Flow, way: int, home: int, z: int, work: Work) -> float:
    """Mass between ``home`` and z without the links of a member of ``home``; 0 if no other transition is left."""
    count = b.counts[home, z] if way == OUT else b.counts[z, home]
    if count == work.counts[way, z]:
        return 0.0
    return b.mass[way * b.counts.shape[0] + z, home] - work.mass[way, z]


@njit(**INLINED)
def leave_b(b: Flow, home: int, loop: float, work: Work) -> float:
    """Change of sum f(B) when the state leaves group ``home`` and joins none."""
    k, argument, size, before = b.counts.shape[0], work.buffer[0], 0, 0.0
    for way in range(2):
        for q in range(work.n_linked[way]):
            z = work.groups[way, q]
            if z != home:
                row = way * k + z
                before += b.mass[row, home] * b.log[row, home]
                argument[size] = _without_links(b, way, home, z, work)
                size += 1
    before += b.mass[2 * k, home] * b.log[2 * k, home]
    count = work.counts[OUT, home] + work.counts[IN, home] + (loop > 0.0)
    within = work.mass[OUT, home] + work.mass[IN, home] + loop
    argument[size] = b.mass[2 * k, home] - within if b.counts[home, home] > count else 0.0
    return _sum_f(argument, size + 1) - before


@njit(**INLINED)
def join_b(b: Flow, home: int, y: int, loop: float, work: Work) -> float:
    """Change of sum f(B) when the state, which has left group ``home``, joins group y."""
    k, argument, size, before = b.counts.shape[0], work.buffer[0], 0, 0.0
    for way in range(2):
        for q in range(work.n_linked[way]):
            z = work.groups[way, q]
            row = way * k + z
            if z == home:
                # The links of the state with y are no longer part of the mass between y and ``home``.
                rest = _without_links(b, 1 - way, home, y, work)
                before += f(rest)
                argument[size] = rest + work.mass[way, z]
                size += 1
            elif z != y:
                before += b.mass[row, y] * b.log[row, y]
                argument[size] = b.mass[row, y] + work.mass[way, z]
                size += 1
    before += b.mass[2 * k, y] * b.log[2 * k, y]
    argument[size] = b.mass[2 * k, y] + work.mass[OUT, y] + work.mass[IN, y] + loop
    return _sum_f(argument, size + 1) - before


@njit(**INLINED)
def move_b(b: Flow, home: int, y: int, loop: float, work: Work) -> None:
    """Take the state out of group ``home`` and put it into group y."""
    k = b.counts.shape[0]
    for group in (home, y):
        sign = 1 if group == y else -1
        for way in range(2):
            for q in range(work.n_linked[way]):
                z = work.groups[way, q]
                one, other = (group, z) if way == OUT else (z, group)
                b.counts[one, other] += sign * work.counts[way, z]
                b.mass[k + one, other] += sign * work.mass[way, z]
        b.counts[group, group] += sign * (loop > 0.0)
        b.mass[k + group, group] += sign * loop
    # Entries between ``home`` and y changed twice; all masses are final now.
    for group in (home, y):
        for way in range(2):
            for q in range(work.n_linked[way]):
                z = work.groups[way, q]
                one, other = (group, z) if way == OUT else (z, group)
                _clean_entry(b, one, other)
        _clean_entry(b, group, group)


@njit(**INLINED)
def _clean_entry(b: Flow, y: int, z: int) -> None:
    """Bring all places of ``B[y, z]`` up to date; rounding may have left less than nothing."""
    mass = b.mass[b.counts.shape[0] + y, z]
    set_entry(b, y, z, max(mass, 0.0) if b.counts[y, z] > 0 else 0.0)


@njit(**INLINED)
def clear_links(work: Work) -> None:
    """Set the links to zero for the next state."""
    for way in range(2):
        for q in range(work.n_linked[way]):
            z = work.groups[way, q]
            work.mass[way, z] = 0.0
            work.counts[way, z] = 0
        work.n_linked[way] = 0


@njit(**INLINED)
def add_link(work: Work, way: int, z: int, mass: float) -> None:
    """Add one transition to the links with group z."""
    # The write cursor moves on only if the group is new.
    work.groups[way, work.n_linked[way]] = z
    work.n_linked[way] += work.counts[way, z] == 0
    work.mass[way, z] += mass
    work.counts[way, z] += 1
