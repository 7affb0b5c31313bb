"""Elimination of the states of a sparse chain, cheapest first, as long as that is affordable.

Exact like :mod:`klump.chain.elimination`, and quick where chains mix slowest: paths, rings, trees and grids
have an order of elimination that creates few new transitions. Where every order creates many, the reduction
stops by itself.
"""

# mypy: disallow-untyped-decorators=False

from __future__ import annotations

import heapq
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from klump.chain.elimination import FASTMATH, HUGE, Floats

_CHEAP = (
    10_000  # below this many new transitions a state is eliminated here, above it is left to a dense solver
)
_SLACK = 3  # rows are tidied up when this much of the pool per live entry is used
_MOST_GROWTH = 2  # a chain that grows by more while its states dwindle has no cheap order


class _Graph(NamedTuple):
    """The chain of the states that remain: rows in a pool with gaps, columns as linked lists.

    A row that outgrows its place moves to the end of the pool. A row never names a state that is gone; a
    column may, which is sorted out when it is read.
    """

    target: NDArray[np.int32]  # pool of rows: where each transition leads, ...
    weight: Floats  # ... and how likely
    start: NDArray[np.int64]
    length: NDArray[np.int64]
    room: NDArray[np.int64]
    source: NDArray[np.int32]  # pool of columns: who leads here, ...
    following: NDArray[np.int64]  # ... and the place of the next such entry, -1 at the end
    head: NDArray[np.int64]
    n_in: NDArray[np.int64]  # transitions into each state from those that remain
    remains: NDArray[np.bool_]
    place: NDArray[np.int64]  # where the row that is being passed on holds a state, -1 if it does not
    used: NDArray[np.int64]  # entries used of the pool of rows, of columns, of the record; when to tidy up


class Reduction(NamedTuple):
    """What is left after elimination, and what it takes to undo it."""

    remaining: NDArray[np.int64]
    weights: Floats  # dense, among the states that remain; empty if they are too many
    order: NDArray[np.int64]  # eliminated states, first to last, ...
    ends: NDArray[np.int64]  # ... where each one's entries in the record end, ...
    pivot: Floats  # ... and its weight of leaving for those that remained
    source: NDArray[np.int32]
    weight: Floats


def reduced(jumps: Any, most_remaining: int, most_work: int) -> Reduction:
    """Eliminate states of a sparse chain without self-transitions until few remain or the work is spent.

    ``jumps`` is a ``csr_array`` without stored zeros; work is counted in entries of rows that are touched.
    """
    n, nnz = jumps.shape[0], jumps.nnz
    size = _SLACK * max(_MOST_GROWTH * nnz, most_remaining**2)
    length = np.diff(jumps.indptr).astype(np.int64)
    graph = _Graph(
        target=np.empty(size, np.int32),
        weight=np.empty(size),
        start=jumps.indptr[:-1].astype(np.int64),
        length=length,
        room=length.copy(),
        source=np.empty(size, np.int32),
        following=np.empty(size, np.int64),
        head=np.full(n, -1),
        n_in=np.zeros(n, np.int64),
        remains=np.ones(n, bool),
        place=np.full(n, -1),
        used=np.array([nnz, 0, 0, _SLACK * nnz]),
    )
    graph.target[:nnz] = jumps.indices
    graph.weight[:nnz] = jumps.data
    done, order, ends, pivot, source, weight = _reduce(graph, most_remaining, most_work)
    remaining = np.flatnonzero(graph.remains)
    weights = _dense(graph, remaining) if len(remaining) <= most_remaining else np.zeros((0, 0))
    end = graph.used[2]
    return Reduction(remaining, weights, order[:done], ends[:done], pivot[:done], source[:end], weight[:end])


@njit(cache=True, nogil=True)
def _link(graph: _Graph, i: int, j: int) -> None:
    """List ``i`` among those that lead to ``j``."""
    entry = graph.used[1]
    graph.source[entry] = i
    graph.following[entry] = graph.head[j]
    graph.head[j] = entry
    graph.used[1] += 1
    graph.n_in[j] += 1


@njit(cache=True, nogil=True)
def _reduce(
    graph: _Graph,  # inout
    most_remaining: int,
    most_work: int,
) -> tuple[int, NDArray[np.int64], NDArray[np.int64], Floats, NDArray[np.int32], Floats]:
    n = len(graph.head)
    for i in range(n):
        for e in range(graph.start[i], graph.start[i] + graph.length[i]):
            _link(graph, i, graph.target[e])
    source, weight = np.empty(len(graph.source), np.int32), np.empty(len(graph.source))
    order, ends, pivot = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n)
    queue = [(graph.n_in[k] * graph.length[k], k) for k in range(n)]
    heapq.heapify(queue)
    done, work = 0, 0
    while done < n - 1:
        cost, k = heapq.heappop(queue)
        if not graph.remains[k] or cost != graph.n_in[k] * graph.length[k]:
            continue  # an entry that a newer one has replaced
        if cost > _CHEAP and n - done <= most_remaining:
            break
        need = _entries_without(graph, k)
        work += need
        # States to come will hardly be cheaper than this one.
        to_come = 2 * cost * max(0, n - done - most_remaining)
        if work + to_come > most_work or not _has_room(graph, need):
            break
        pivot[done] = _eliminate(graph, k, source, weight, queue)
        order[done] = k
        ends[done] = graph.used[2]
        done += 1
    return done, order, ends, pivot, source, weight


@njit(cache=True, nogil=True)
def _entries_without(graph: _Graph, k: int) -> int:
    """How many entries the rows of those that lead to ``k`` can have without it."""
    total = 0
    entry = graph.head[k]
    while entry >= 0:
        if graph.remains[graph.source[entry]]:
            total += graph.length[graph.source[entry]] + graph.length[k]
        entry = graph.following[entry]
    return total


@njit(cache=True, nogil=True)
def _has_room(graph: _Graph, need: int) -> bool:
    """Make room for more entries, by closing the gaps between rows if necessary."""
    if graph.used[0] + 2 * need > graph.used[3]:
        target, weight = np.empty(graph.used[0], np.int32), np.empty(graph.used[0])
        end = 0
        for i in range(len(graph.head)):
            if graph.remains[i]:
                begin = graph.start[i]
                graph.start[i] = end
                graph.room[i] = graph.length[i]
                for e in range(begin, begin + graph.length[i]):
                    target[end] = graph.target[e]
                    weight[end] = graph.weight[e]
                    end += 1
        for e in range(end):
            graph.target[e] = target[e]
            graph.weight[e] = weight[e]
        graph.used[0] = end
        # Tidying up early keeps the pool in cache, and leaves most of what is reserved untouched.
        graph.used[3] = _SLACK * (end + need)
    return max(graph.used[3], graph.used[1] + need, graph.used[2] + need) <= len(graph.source)


@njit(cache=True, nogil=True, error_model="numpy", fastmath=FASTMATH)
def _eliminate(
    graph: _Graph,  # inout
    k: int,
    source: NDArray[np.int32],  # inout: the record: who led to k ...
    weight: Floats,  # inout: ... and with which weight
    queue: list[Any],  # inout: the states by cost
) -> float:
    """Take out one state and return the weight of leaving it for the others."""
    begin, end = graph.start[k], graph.start[k] + graph.length[k]
    target, law = graph.target[begin:end].copy(), graph.weight[begin:end].copy()
    total = law.sum()
    if total > 0.0:
        law /= total
    seen = np.full(len(target), -1, np.int32)
    graph.remains[k] = False
    for e in range(len(target)):
        graph.n_in[target[e]] -= 1
        graph.place[target[e]] = e
    entry = graph.head[k]
    while entry >= 0:
        i = graph.source[entry]
        if graph.remains[i]:
            source[graph.used[2]] = i
            weight[graph.used[2]] = _pass_through(graph, i, k, target, law, seen)
            graph.used[2] += 1
            heapq.heappush(queue, (graph.n_in[i] * graph.length[i], np.int64(i)))
        entry = graph.following[entry]
    for j in target:
        graph.place[j] = -1
        heapq.heappush(queue, (graph.n_in[j] * graph.length[j], np.int64(j)))
    return float(total)


@njit(cache=True, nogil=True, error_model="numpy", fastmath=FASTMATH)
def _pass_through(
    graph: _Graph, i: int, k: int, target: NDArray[np.int32], law: Floats, seen: NDArray[np.int32]
) -> float:
    """Replace the transition from ``i`` to ``k`` by where ``k`` leads."""
    begin, end = graph.start[i], graph.start[i] + graph.length[i] - 1
    at = begin
    while graph.target[at] != k:
        at += 1
    through = graph.weight[at]
    graph.target[at], graph.weight[at] = graph.target[end], graph.weight[end]
    n_new = len(target)
    for e in range(begin, end):
        at = graph.place[graph.target[e]]
        if at >= 0:
            graph.weight[e] += through * law[at]
            seen[at] = i
            n_new -= 1
    if graph.place[i] >= 0:  # a return to i is no transition
        seen[graph.place[i]] = i
        n_new -= 1
    if end - begin + n_new > graph.room[i]:
        moved = graph.used[0]
        graph.start[i] = moved
        graph.room[i] = end - begin + 2 * n_new
        graph.used[0] += graph.room[i]
        for e in range(begin, end):
            graph.target[moved] = graph.target[e]
            graph.weight[moved] = graph.weight[e]
            moved += 1
        end = moved
    for at in range(len(target)):
        if seen[at] != i:
            graph.target[end] = target[at]
            graph.weight[end] = through * law[at]
            end += 1
            _link(graph, i, target[at])
    graph.length[i] = end - graph.start[i]
    return float(through)


@njit(cache=True, nogil=True)
def _dense(graph: _Graph, remaining: NDArray[np.int64]) -> Floats:
    weights = np.zeros((len(remaining), len(remaining)))
    for row, i in enumerate(remaining):
        graph.place[i] = row
    for row, i in enumerate(remaining):
        for e in range(graph.start[i], graph.start[i] + graph.length[i]):
            weights[row, graph.place[graph.target[e]]] = graph.weight[e]
    return weights


@njit(cache=True, nogil=True, error_model="numpy", fastmath=FASTMATH)
def restored(reduction: Reduction, mass_remaining: Floats) -> Floats:
    """Stationary masses of all states from those of the states that remained."""
    order, ends = reduction.order, reduction.ends
    mass = np.zeros(len(order) + len(mass_remaining))
    for row, i in enumerate(reduction.remaining):
        mass[i] = mass_remaining[row]
    for step in range(len(order) - 1, -1, -1):
        inflow = 0.0
        for e in range(ends[step - 1] if step else 0, ends[step]):
            inflow += mass[reduction.source[e]] * reduction.weight[e]
        pivot = reduction.pivot[step]
        if inflow / HUGE > pivot:
            for i in range(len(mass)):
                mass[i] *= pivot / inflow
            mass[order[step]] = 1.0
        else:
            mass[order[step]] = inflow / pivot
    return mass
