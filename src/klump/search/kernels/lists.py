"""A in the sparse layouts: the groups that each state leads to, or no A where its weight is zero.

Groups that are absent from a list all change alike when a state joins them, so they cost no logarithm.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from klump.search.kernels.flow import add_link
from klump.search.kernels.layouts import (
    bound_a,
    bounds_b_exactly,
    build_a,
    build_b,
    collect_a,
    collect_links,
    enqueue_neighbours,
    move_a,
    prefetch_next,
    price_a,
)
from klump.search.kernels.logarithm import f
from klump.search.kernels.options import INLINED
from klump.search.kernels.prefetch import prefetch
from klump.search.kernels.queue import enqueue
from klump.search.kernels.tables import IN, OUT, Flow, Ints, Labels, ListsA, NoA, SparseProblem, Waiting, Work

# Prefetch distance, in transitions.
_DISTANCE = 32
# Prefetch distances, in visits: of labels, of the bounds of lists, of their entries.
_LABELS_AHEAD = 4
_BOUNDS_AHEAD = 2
_ENTRIES_AHEAD = 1


@njit(**INLINED)
def _find(a: ListsA, i: int, y: int) -> int:
    """Place of group y in the list of state i, or its end if the group is absent."""
    e, end = a.begin[i], a.begin[i] + a.length[i]
    while e < end and a.entries[e]["group"] != y:
        e += 1
    return e


@njit(**INLINED)
def _add(a: ListsA, i: int, y: int, mass: float) -> None:
    """Add a transition of state i to group y."""
    e = _find(a, i, y)
    if e == a.begin[i] + a.length[i]:
        a.length[i] += 1
        a.entries[e]["group"] = y
        a.entries[e]["count"] = 1
        a.entries[e]["mass"] = mass
    else:
        a.entries[e]["count"] += 1
        a.entries[e]["mass"] += mass


@njit(**INLINED)
def _remove(a: ListsA, i: int, y: int, mass: float) -> None:
    """Remove a transition of state i to group y; the last entry of the list takes the place of an empty one."""
    e = _find(a, i, y)
    if a.entries[e]["count"] > 1:
        a.entries[e]["count"] -= 1
        a.entries[e]["mass"] = max(a.entries[e]["mass"] - mass, 0.0)
    else:
        a.length[i] -= 1
        last = a.begin[i] + a.length[i]
        a.entries[e]["group"] = a.entries[last]["group"]
        a.entries[e]["count"] = a.entries[last]["count"]
        a.entries[e]["mass"] = a.entries[last]["mass"]


@build_a.register(ListsA)
def _build_lists(a: ListsA, problem: SparseProblem, labels: Labels) -> float:
    last, total = problem.out_indices.size - 1, 0.0
    for i in range(labels.size):
        a.length[i] = 0
        for p in range(problem.out_indptr[i], problem.out_indptr[i + 1]):
            prefetch(labels, np.uint64(problem.out_indices[min(p + _DISTANCE, last)]))
            _add(a, i, labels[problem.out_indices[p]], problem.out_mass[p])
        for e in range(a.begin[i], a.begin[i] + a.length[i]):
            total += f(a.entries[e]["mass"])
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


@collect_links.register(NoA)
@collect_links.register(ListsA)
def _collect_links(a: ListsA | NoA, problem: SparseProblem, labels: Labels, x: int, work: Work) -> None:
    for p in range(problem.out_indptr[x], problem.out_indptr[x + 1]):
        i = problem.out_indices[p]
        if i != x:
            add_link(work, OUT, labels[i], problem.out_mass[p])
    for p in range(problem.indptr[x], problem.indptr[x + 1]):
        i = problem.indices[p]
        if i != x:
            add_link(work, IN, labels[i], problem.mass[p])


@collect_a.register(ListsA)
def _collect_lists(a: ListsA, problem: SparseProblem, labels: Labels, x: int, work: Work) -> None:
    # join_a[y] = sum f(A[i, y] + r) - f(A[i, y]) - f(r) over the transitions i -> x, which have mass r.
    home, filled = labels[x], 0
    work.join_a[:] = 0.0
    for p in range(problem.indptr[x], problem.indptr[x + 1]):
        i, r = problem.indices[p], problem.mass[p]
        r_f = f(r)
        for e in range(a.begin[i], a.begin[i] + a.length[i]):
            entry = a.entries[e]
            mass = entry["mass"]
            if entry["group"] == home:
                mass = mass - r if entry["count"] > 1 else 0.0
            work.buffer[0, filled] = mass
            work.buffer[1, filled] = mass + r
            work.buffer[2, filled] = r_f
            work.buffer_group[filled] = entry["group"]
            filled += 1
            if filled == work.buffer_group.size:
                _add_gains(work, filled)
                filled = 0
    _add_gains(work, filled)
    work.leave_a[0] = -work.join_a[home]


@njit(**INLINED)
def _add_gains(work: Work, filled: int) -> None:
    before, after, alone = work.buffer[0], work.buffer[1], work.buffer[2]
    for m in range(filled):
        after[m] = f(after[m]) - f(before[m]) - alone[m]
    for m in range(filled):
        work.join_a[work.buffer_group[m]] += after[m]


@bound_a.register(ListsA)
def _bound_lists(a: ListsA, problem: SparseProblem, x: int, y: int, from_below: bool, work: Work) -> float:
    return work.join_a[y]


@price_a.register(ListsA)
def _price_lists(a: ListsA, problem: SparseProblem, x: int, y: int, work: Work) -> float:
    return work.join_a[y]


@move_a.register(ListsA)
def _move_lists(a: ListsA, problem: SparseProblem, x: int, home: int, y: int, weight: float) -> None:
    for p in range(problem.indptr[x], problem.indptr[x + 1]):
        # Removed first: a list has room for no more entries than its state has transitions.
        _remove(a, problem.indices[p], home, problem.mass[p])
        _add(a, problem.indices[p], y, problem.mass[p])


@bounds_b_exactly.register(NoA)
@bounds_b_exactly.register(ListsA)
def _bounds_b_exactly(a: ListsA | NoA) -> bool:
    return False


@enqueue_neighbours.register(NoA)
@enqueue_neighbours.register(ListsA)
def _enqueue_neighbours(a: ListsA | NoA, problem: SparseProblem, x: int, waiting: Waiting) -> None:
    enqueue(problem, x, waiting)


@prefetch_next.register(ListsA)
def _prefetch_lists(a: ListsA, problem: SparseProblem, labels: Labels, order: Ints, j: int) -> None:
    _prefetch_labels(problem, labels, order, j)
    last = order.size - 1
    x = order[min(j + _BOUNDS_AHEAD, last)]
    for p in range(problem.indptr[x], problem.indptr[x + 1]):
        prefetch(a.begin, np.uint64(problem.indices[p]))
        prefetch(a.length, np.uint64(problem.indices[p]))
    x = order[min(j + _ENTRIES_AHEAD, last)]
    for p in range(problem.indptr[x], problem.indptr[x + 1]):
        i = problem.indices[p]
        first = np.uint64(a.begin[i])
        prefetch(a.entries, first)
        prefetch(a.entries, first + np.uint64(a.length[i] - 1))


@njit(**INLINED)
def _prefetch_labels(problem: SparseProblem, labels: Labels, order: Ints, j: int) -> None:
    x = order[min(j + _LABELS_AHEAD, order.size - 1)]
    for p in range(problem.indptr[x], problem.indptr[x + 1]):
        prefetch(labels, np.uint64(problem.indices[p]))
    for p in range(problem.out_indptr[x], problem.out_indptr[x + 1]):
        prefetch(labels, np.uint64(problem.out_indices[p]))


# Without A: its weight is zero, and nothing is kept.


@build_a.register(NoA)
def _build_nothing(a: NoA, problem: SparseProblem, labels: Labels) -> float:
    return 0.0


@collect_a.register(NoA)
def _collect_nothing(a: NoA, problem: SparseProblem, labels: Labels, x: int, work: Work) -> None:
    work.leave_a[0] = 0.0


@bound_a.register(NoA)
def _bound_nothing(a: NoA, problem: SparseProblem, x: int, y: int, from_below: bool, work: Work) -> float:
    return 0.0


@price_a.register(NoA)
def _price_nothing(a: NoA, problem: SparseProblem, x: int, y: int, work: Work) -> float:
    return 0.0


@move_a.register(NoA)
def _move_nothing(a: NoA, problem: SparseProblem, x: int, home: int, y: int, weight: float) -> None:
    pass


@prefetch_next.register(NoA)
def _prefetch_labels_alone(a: NoA, problem: SparseProblem, labels: Labels, order: Ints, j: int) -> None:
    _prefetch_labels(problem, labels, order, j)
