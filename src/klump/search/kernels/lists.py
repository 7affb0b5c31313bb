"""A in the sparse layouts: ``ListsA``, the non-zero entries of each row, and ``NoA``, where the weight of A is zero.

If group y is absent from the list of state i, ``A[i, y] = 0`` and a transition i -> x of mass r changes f(A[i, y]) by
f(r) when x joins y: a constant that needs no logarithm.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from klump.compilation import inlined
from klump.search.kernels.flow import add_link, remove_loop
from klump.search.kernels.layouts import (
    bound_a,
    bounds_b_exactly,
    build_a,
    build_b,
    collect_links,
    enqueue_neighbours,
    join_a,
    leave_a,
    move_a,
    prefetch_next,
)
from klump.search.kernels.logarithm import ROUGH_GAIN_ERROR, SMALLEST, f, rough_gain
from klump.search.kernels.prefetch import prefetch
from klump.search.kernels.queue import enqueue
from klump.search.kernels.tables import (
    IN,
    LANE_BITS,
    LANES,
    OUT,
    Flow,
    Ints,
    Labels,
    ListsA,
    NoA,
    SparseProblem,
    Waiting,
    Weights,
    Work,
)

# Largest error of a stationary distribution that the user gives (``MarkovChain``): bound of abs(mu P - mu).
_MU_ERROR = 1e-8
# Upper limit of A[i, y] / r in float32: its products stay finite.
_LARGEST = 2.0**60
# Twice the relative rounding error of a float32 operation.
_ROUNDING = 2.0**-23
# Float32 operations per term of a bound besides rough_gain: ratio, share, product, sum of the two accumulators.
_OPERATIONS = 4
# Prefetch distance, in transitions.
_DISTANCE = 32
# Prefetch distance of labels, in visits.
_LABELS_AHEAD = 4
# Prefetch distance of the bounds of lists, in visits.
_BOUNDS_AHEAD = 2
# Prefetch distance of the entries of lists, in visits: their addresses are in the bounds.
_ENTRIES_AHEAD = 1


@inlined
def _n_blocks(a: ListsA, i: int) -> int:
    """Number of blocks that the entries of the list of state i occupy."""
    return (a.bounds[i, 1] + LANES - 1) >> LANE_BITS


@inlined
def _find(a: ListsA, i: int, y: int, z: int) -> tuple[int, int]:
    """Indices of groups y and z of the list of state i among the entries of all lists; -1 if a group is absent."""
    begin, at_y, at_z = a.bounds[i, 0], -1, -1
    # No early exit: its branch would be mispredicted.
    for block in range(begin, begin + _n_blocks(a, i)):
        for lane in range(LANES):
            group = a.blocks[block]["group"][lane]
            at_y = LANES * block + lane if group == y else at_y
            at_z = LANES * block + lane if group == z else at_z
    return at_y, at_z


@inlined
def _read_mass(a: ListsA, place: int) -> float:
    return a.blocks[place >> LANE_BITS]["mass"][place & (LANES - 1)]


@inlined
def _write_entry(a: ListsA, place: int, group: int, count: int, mass: float) -> None:
    block, lane = a.blocks[place >> LANE_BITS], place & (LANES - 1)
    block["group"][lane] = group
    block["count"][lane] = count
    block["mass"][lane] = mass


@inlined
def _add_transition(a: ListsA, i: int, place: int, y: int, mass: float) -> None:
    """Add a transition from state i to group y, whose index is ``place``, or -1 if it is absent from the list."""
    if place < 0:
        _write_entry(a, LANES * a.bounds[i, 0] + a.bounds[i, 1], y, 1, mass)
        a.bounds[i, 1] += 1
    else:
        block, lane = a.blocks[place >> LANE_BITS], place & (LANES - 1)
        block["count"][lane] += 1
        block["mass"][lane] += mass


@inlined
def _redirect(a: ListsA, i: int, home: int, y: int, mass: float, free: int) -> None:
    """Redirect a transition of state i from group ``home`` to group y; free entries have group number ``free``."""
    place, new = _find(a, i, home, y)
    block, lane = a.blocks[place >> LANE_BITS], place & (LANES - 1)
    if block["count"][lane] > 1:
        block["count"][lane] -= 1
        block["mass"][lane] = max(block["mass"][lane] - mass, 0.0)
        _add_transition(a, i, new, y, mass)
    elif new < 0:
        _write_entry(a, place, y, 1, mass)
    else:
        _add_transition(a, i, new, y, mass)
        # The last entry of the list takes the place of the empty one.
        a.bounds[i, 1] -= 1
        last = LANES * a.bounds[i, 0] + a.bounds[i, 1]
        moved, from_lane = a.blocks[last >> LANE_BITS], last & (LANES - 1)
        _write_entry(a, place, moved["group"][from_lane], moved["count"][from_lane], moved["mass"][from_lane])
        _write_entry(a, last, free, 0, 0.0)


@build_a.register(ListsA)
def _build_lists(a: ListsA, problem: SparseProblem, labels: Labels, n_groups: int) -> float:
    for place in range(LANES * a.blocks.size):
        _write_entry(a, place, n_groups, 0, 0.0)
    last, total = problem.out_indices.size - 1, 0.0
    for i in range(labels.size):
        a.bounds[i, 1] = 0
        for p in range(problem.out_indptr[i], problem.out_indptr[i + 1]):
            prefetch(labels, np.uint64(problem.out_indices[min(p + _DISTANCE, last)]))
            y = np.int64(labels[problem.out_indices[p]])
            _add_transition(a, i, _find(a, i, y, y)[0], y, problem.out_mass[p])
    for place in range(LANES * a.blocks.size):
        total += f(_read_mass(a, place))
    return total


@build_b.register(NoA)
@build_b.register(ListsA)
def _build_b(a: ListsA | NoA, problem: SparseProblem, labels: Labels, b: Flow) -> None:
    k, last = b.counts.shape[0], problem.out_indices.size - 1
    for i in range(labels.size):
        for p in range(problem.out_indptr[i], problem.out_indptr[i + 1]):
            prefetch(labels, np.uint64(problem.out_indices[min(p + _DISTANCE, last)]))
            z = labels[problem.out_indices[p]]
            b.mass[k + labels[i], z] += problem.out_mass[p]
            b.counts[labels[i], z] += 1


@collect_links.register(ListsA)
def _collect_links(a: ListsA, problem: SparseProblem, labels: Labels, x: int, work: Work) -> None:
    n_out = a.bounds[x, 1]
    for e in range(n_out):
        block, lane = a.blocks[a.bounds[x, 0] + (e >> LANE_BITS)], e & (LANES - 1)
        z = np.uint32(block["group"][lane])
        work.groups[OUT, e] = z
        work.mass[OUT, z] = block["mass"][lane]
        work.counts[OUT, z] = block["count"][lane]
    work.n_linked[OUT] = n_out
    if problem.loops[x] > 0.0:
        remove_loop(work, OUT, np.uint32(labels[x]), problem.loops[x])
    work.n_linked[IN] = _collect_in_links(problem, labels, x, work)


@collect_links.register(NoA)
def _collect_links_without_a(a: NoA, problem: SparseProblem, labels: Labels, x: int, work: Work) -> None:
    n_out = 0
    for p in range(problem.out_indptr[x], problem.out_indptr[x + 1]):
        i = np.uint32(problem.out_indices[p])
        if i != x:
            n_out = add_link(work, OUT, np.uint32(labels[i]), problem.out_mass[p], n_out)
    work.n_linked[OUT] = n_out
    work.n_linked[IN] = _collect_in_links(problem, labels, x, work)


@inlined
def _collect_in_links(problem: SparseProblem, labels: Labels, x: int, work: Work) -> int:
    n_in = 0
    for p in range(problem.indptr[x], problem.indptr[x + 1]):
        i = np.uint32(problem.indices[p])
        if i != x:
            n_in = add_link(work, IN, np.uint32(labels[i]), problem.mass[p], n_in)
    return n_in


# A transition i -> x of mass r changes sum f(A) by f(r) when x joins a group that is absent from the list of i,
# which is the constant, and by r (f(1 + u) - f(u)) more, u = A[i, y] / r, if group y is there.


@bound_a.register(ListsA)
def _bound_lists(a: ListsA, problem: SparseProblem, x: int, home: int, from_below: bool, work: Work) -> float:
    # In float32: all terms are positive, so the relative error of a sum is that of its terms and its additions.
    begin, end, filled = problem.indptr[x], problem.indptr[x + 1], np.uint64(0)
    # At least the mass of all transitions to x, so that shares are at most 1.
    scale = problem.mu[x] + _MU_ERROR
    inverse = 1.0 / scale
    work.rough[:] = np.float32(0.0)
    for p in range(begin, end):
        i = np.uint32(problem.indices[p])
        if filled + np.uint64(LANES * _n_blocks(a, i)) > np.uint64(work.group.size):
            _add_gains(work, filled)
            filled = np.uint64(0)
        share = np.float32(problem.mass[p] * inverse)
        filled = _append_list(a, i, np.int32(home), problem.mass[p], share, work, filled)
    _add_gains(work, filled)
    error = ROUGH_GAIN_ERROR + (end - begin + _OPERATIONS) * _ROUNDING
    low, high = scale * (1.0 - error), scale * (1.0 + error)
    for y in range(work.gain_a.size):
        work.gain_a[y] = (low if from_below else high) * np.float64(work.rough[0, y] + work.rough[1, y])
    return -(high if from_below else low) * np.float64(work.rough[0, home] + work.rough[1, home])


@inlined(fastmath=False)
def _append_list(a: ListsA, i: int, home: int, r: float, share: Any, work: Work, filled: Any) -> Any:
    """Append ``u = A[i, y] / r``, the share ``r / scale`` and y to the buffers, for each group y in the list of i.

    ``A[i, home]`` is taken without r. Returns the number of entries in the buffers, a multiple of ``LANES``. Without
    fast math, in which LLVM replaces the product with the inverse by a division per entry.
    """
    inverse, begin = 1.0 / max(r, SMALLEST), np.uint64(a.bounds[i, 0])
    for block in range(begin, begin + np.uint64(_n_blocks(a, i))):
        entries = a.blocks[block]
        for lane in range(LANES):
            place, group = filled + np.uint64(lane), entries["group"][np.uint64(lane)]
            left = entries["mass"][np.uint64(lane)] - (r if group == home else 0.0)
            work.ratio[place] = np.float32(min(max(left * inverse, 0.0), _LARGEST))
            work.share[place] = share
            work.group[place] = group
        filled += np.uint64(LANES)
    return filled


@inlined
def _add_gains(work: Work, filled: Any) -> None:
    """Add ``share (f(1 + u) - f(u))`` of each entry of the buffers to the accumulators of its group."""
    for m in range(filled):
        work.share[m] *= rough_gain(work.ratio[m])
    # Two accumulators per group: successive additions to the same one would wait for each other.
    for m in range(np.uint64(0), filled, np.uint64(2)):
        # np.uint64: a range yields plain integers where nothing is compiled, and NumPy 1 makes their sum a float.
        n = np.uint64(m) + np.uint64(1)
        work.rough[0, np.uint32(work.group[m])] += work.share[m]
        work.rough[1, np.uint32(work.group[n])] += work.share[n]


@leave_a.register(ListsA)
def _leave_lists(a: ListsA, problem: SparseProblem, x: int, home: int) -> float:
    total = 0.0
    for p in range(problem.indptr[x], problem.indptr[x + 1]):
        place, r = _find(a, problem.indices[p], home, home)[0], problem.mass[p]
        if a.blocks[place >> LANE_BITS]["count"][place & (LANES - 1)] > 1:
            mass = _read_mass(a, place)
            total += f(mass - r) - f(mass) + f(r)
    return total


@join_a.register(ListsA)
def _join_lists(a: ListsA, problem: SparseProblem, x: int, y: int) -> float:
    total = 0.0
    for p in range(problem.indptr[x], problem.indptr[x + 1]):
        place, r = _find(a, problem.indices[p], y, y)[0], problem.mass[p]
        if place >= 0:
            mass = _read_mass(a, place)
            total += f(mass + r) - f(mass) - f(r)
    return total


@move_a.register(ListsA)
def _move_lists(
    a: ListsA, problem: SparseProblem, x: int, home: int, y: int, weight: float, n_groups: int
) -> None:
    for p in range(problem.indptr[x], problem.indptr[x + 1]):
        _redirect(a, np.uint32(problem.indices[p]), home, y, problem.mass[p], n_groups)


@bounds_b_exactly.register(NoA)
@bounds_b_exactly.register(ListsA)
def _bounds_b_exactly(a: ListsA | NoA) -> bool:
    return False


@enqueue_neighbours.register(NoA)
@enqueue_neighbours.register(ListsA)
def _enqueue_neighbours(a: ListsA | NoA, problem: SparseProblem, x: int, waiting: Waiting) -> None:
    enqueue(problem, x, waiting)


@prefetch_next.register(ListsA)
def _prefetch_lists(
    a: ListsA, problem: SparseProblem, labels: Labels, weights: Weights, order: Ints, j: int
) -> None:
    last = order.size - 1
    x = order[min(j + _BOUNDS_AHEAD, last)]
    for p in range(problem.indptr[x], problem.indptr[x + 1]):
        prefetch(a.bounds, np.uint64(problem.indices[p]))
        if weights.flow != 0.0:
            prefetch(labels, np.uint64(problem.indices[p]))
    x = order[min(j + _ENTRIES_AHEAD, last)]
    _prefetch_list(a, x)
    for p in range(problem.indptr[x], problem.indptr[x + 1]):
        _prefetch_list(a, np.uint32(problem.indices[p]))


@inlined
def _prefetch_list(a: ListsA, i: int) -> None:
    # Most lists have at most three blocks.
    first = np.uint64(a.bounds[i, 0])
    last = first + np.uint64(max(_n_blocks(a, i), 1) - 1)
    prefetch(a.blocks, first)
    prefetch(a.blocks, (first + last) >> np.uint64(1))
    prefetch(a.blocks, last)


# NoA: all changes are 0.


@build_a.register(NoA)
def _build_nothing(a: NoA, problem: SparseProblem, labels: Labels, n_groups: int) -> float:
    return 0.0


@bound_a.register(NoA)
def _bound_nothing(a: NoA, problem: SparseProblem, x: int, home: int, from_below: bool, work: Work) -> float:
    return 0.0


@leave_a.register(NoA)
def _leave_nothing(a: NoA, problem: SparseProblem, x: int, home: int) -> float:
    return 0.0


@join_a.register(NoA)
def _join_nothing(a: NoA, problem: SparseProblem, x: int, y: int) -> float:
    return 0.0


@move_a.register(NoA)
def _move_nothing(
    a: NoA, problem: SparseProblem, x: int, home: int, y: int, weight: float, n_groups: int
) -> None:
    pass


@prefetch_next.register(NoA)
def _prefetch_labels(
    a: NoA, problem: SparseProblem, labels: Labels, weights: Weights, order: Ints, j: int
) -> None:
    x = order[min(j + _LABELS_AHEAD, order.size - 1)]
    for p in range(problem.indptr[x], problem.indptr[x + 1]):
        prefetch(labels, np.uint64(problem.indices[p]))
    for p in range(problem.out_indptr[x], problem.out_indptr[x + 1]):
        prefetch(labels, np.uint64(problem.out_indices[p]))
