"""Sparse GTH elimination in minimum-degree order, up to a work limit.

Free of subtractions like :mod:`klump.chain.elimination`, and fast where chains mix slowest: paths, rings, trees and
grids have elimination orders with little fill-in. Where every order has much fill-in, the reduction stops early.
"""

from __future__ import annotations

import heapq
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from klump.chain.elimination import MAX_RATIO, Floats
from klump.compilation import kernel

# Fill-in bound (in-degree * out-degree) above which a state is left to the dense solver, once that can take the rest.
_MAX_FILL = 10_000
# Pool entries per live entry; the row pool is compacted when it is this full.
_POOL_SLACK = 3
# Most live entries per initial transition; a chain that grows more has no elimination order with little fill-in.
_MAX_GROWTH = 2

# Indices into ``_Graph.cursor``: three write cursors, ...
_ROW_POOL = 0
_COLUMN_POOL = 1
_RECORD = 2
# ... and the length of the row pool at which it is compacted.
_COMPACT_AT = 3


class _Graph(NamedTuple):
    """The chain censored to the active (not yet eliminated) states: rows in a pool, columns as linked lists.

    A row that exceeds its capacity moves to the end of the pool. Rows hold active targets only; columns may hold
    eliminated sources, which are skipped on traversal.
    """

    target: NDArray[np.int32]  # row pool: target state of each transition
    weight: Floats  # row pool: weight of each transition
    start: NDArray[np.int64]  # per state: offset of its row in the pool
    length: NDArray[np.int64]  # per state: entries of its row, that is, its out-degree
    capacity: NDArray[np.int64]  # per state: entries reserved for its row
    source: NDArray[np.int32]  # column pool: source state of each transition
    next_entry: NDArray[np.int64]  # column pool: next entry of the same column, -1 at the end
    head: NDArray[np.int64]  # per state: first entry of its column, -1 if empty
    n_in: NDArray[np.int64]  # per state: in-degree, from active states
    active: NDArray[np.bool_]
    position: NDArray[np.int64]  # per state: its index in the row of the pivot state, -1 if absent
    cursor: NDArray[np.int64]  # see _ROW_POOL to _COMPACT_AT


class _Rows(NamedTuple):
    """Rows of the eliminated states, at their elimination."""

    ends: NDArray[np.int64]  # per eliminated state: end of its row
    target: NDArray[np.int32]
    weight: Floats
    wanted: bool


class Reduction(NamedTuple):
    """The censored chain on the remaining states, and the record for back substitution."""

    remaining: NDArray[np.int64]
    weights: Floats  # dense, among the remaining states; empty if there are too many
    order: NDArray[np.int64]  # eliminated states, first to last
    ends: NDArray[np.int64]  # per eliminated state: end of its entries in the record
    pivot: Floats  # per eliminated state: its exit rate to the states then active
    source: NDArray[np.int32]  # record: source of each transition into an eliminated state
    weight: Floats  # record: its weight
    row_ends: NDArray[np.int64]  # per eliminated state: end of its row in the record of rows
    row_target: NDArray[np.int32]  # record of rows: target of each transition out of an eliminated state
    row_weight: Floats  # record of rows: its weight


def reduce_chain(
    jumps: Any, max_remaining: int, max_work: int, *, n_kept: int = 0, with_rows: bool = False
) -> Reduction:
    """Eliminate states of a sparse chain without self-transitions until ``max_remaining`` or ``max_work`` is reached.

    ``jumps`` is a ``csr_array`` without stored zeros; work is the number of row entries visited. The last ``n_kept``
    states are not eliminated, and may have empty rows. The record of rows, which :func:`carry_back` needs, is empty
    unless ``with_rows``.
    """
    n, nnz = jumps.shape[0], jumps.nnz
    size = _POOL_SLACK * max(_MAX_GROWTH * nnz, max_remaining**2)
    length = np.diff(jumps.indptr).astype(np.int64)
    graph = _Graph(
        target=np.empty(size, np.int32),
        weight=np.empty(size),
        start=jumps.indptr[:-1].astype(np.int64),
        length=length,
        capacity=length.copy(),
        source=np.empty(size, np.int32),
        next_entry=np.empty(size, np.int64),
        head=np.full(n, -1),
        n_in=np.zeros(n, np.int64),
        active=np.ones(n, bool),
        position=np.full(n, -1),
        cursor=np.array([nnz, 0, 0, _POOL_SLACK * nnz]),
    )
    graph.target[:nnz] = jumps.indices
    graph.weight[:nnz] = jumps.data
    rows = _Rows(
        np.zeros(n, np.int64), np.empty(size * with_rows, np.int32), np.empty(size * with_rows), with_rows
    )
    done, order, ends, pivot, source, weight = _reduce(graph, rows, max_remaining, max_work, n_kept)
    remaining = np.flatnonzero(graph.active)
    weights = _to_dense(graph, remaining) if len(remaining) <= max_remaining else np.zeros((0, 0))
    end, row_end = graph.cursor[_RECORD], rows.ends[done - 1] if done else 0
    return Reduction(
        remaining,
        weights,
        order[:done],
        ends[:done],
        pivot[:done],
        source[:end],
        weight[:end],
        rows.ends[:done],
        rows.target[:row_end],
        rows.weight[:row_end],
    )


@kernel(fastmath=False)
def _link(graph: _Graph, i: int, j: int) -> None:
    """Prepend ``i`` to column ``j``."""
    entry = graph.cursor[_COLUMN_POOL]
    graph.source[entry] = i
    graph.next_entry[entry] = graph.head[j]
    graph.head[j] = entry
    graph.cursor[_COLUMN_POOL] += 1
    graph.n_in[j] += 1


@kernel(fastmath=False)
def _reduce(
    graph: _Graph,  # in, out
    rows: _Rows,  # out
    max_remaining: int,  # in: states
    max_work: int,  # in: row entries visited
    n_kept: int,  # in: states at the end that are not eliminated
) -> tuple[int, NDArray[np.int64], NDArray[np.int64], Floats, NDArray[np.int32], Floats]:
    """Eliminate states by increasing fill-in bound, with lazy updates of the priority queue."""
    n = len(graph.head)
    for i in range(n):
        for e in range(graph.start[i], graph.start[i] + graph.length[i]):
            _link(graph, i, graph.target[e])
    source, weight = np.empty(len(graph.source), np.int32), np.empty(len(graph.source))
    order, ends, pivot = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n)
    queue = [(graph.n_in[k] * graph.length[k], k) for k in range(n)]
    heapq.heapify(queue)
    done, work, row_end = 0, 0, 0
    while done < n - max(1, n_kept):
        cost, k = heapq.heappop(queue)
        if k >= n - n_kept or not graph.active[k] or cost != graph.n_in[k] * graph.length[k]:
            continue  # outdated priority
        if cost > _MAX_FILL and n - done <= max_remaining:
            break
        need = _bound_entries(graph, k)
        work += need
        # Fill-in grows along the order, so the current cost estimates that of the states ahead from below.
        ahead = 2 * cost * max(0, n - done - max_remaining)
        if work + ahead > max_work or not _reserve(graph, need):
            break
        if rows.wanted:
            begin, length = graph.start[k], graph.length[k]
            if row_end + length > len(rows.target):
                break
            for e in range(length):
                rows.target[row_end + e] = graph.target[begin + e]
                rows.weight[row_end + e] = graph.weight[begin + e]
            row_end += length
        rows.ends[done] = row_end
        pivot[done] = _eliminate(graph, k, source, weight, queue)
        order[done] = k
        ends[done] = graph.cursor[_RECORD]
        done += 1
    return done, order, ends, pivot, source, weight


@kernel(fastmath=False)
def _bound_entries(graph: _Graph, k: int) -> int:
    """Upper bound on the total length of the rows of the predecessors of ``k`` after its elimination."""
    total = 0
    entry = graph.head[k]
    while entry >= 0:
        if graph.active[graph.source[entry]]:
            total += graph.length[graph.source[entry]] + graph.length[k]
        entry = graph.next_entry[entry]
    return total


@kernel(fastmath=False)
def _reserve(graph: _Graph, need: int) -> bool:
    """Ensure space for ``need`` more entries, compacting the row pool if necessary; False if there is none."""
    if graph.cursor[_ROW_POOL] + 2 * need > graph.cursor[_COMPACT_AT]:
        target, weight = np.empty(graph.cursor[_ROW_POOL], np.int32), np.empty(graph.cursor[_ROW_POOL])
        end = 0
        for i in range(len(graph.head)):
            if graph.active[i]:
                begin = graph.start[i]
                graph.start[i] = end
                graph.capacity[i] = graph.length[i]
                for e in range(begin, begin + graph.length[i]):
                    target[end] = graph.target[e]
                    weight[end] = graph.weight[e]
                    end += 1
        for e in range(end):
            graph.target[e] = target[e]
            graph.weight[e] = weight[e]
        graph.cursor[_ROW_POOL] = end
        # Compacting early keeps the pool in cache, and most of its pages unallocated.
        graph.cursor[_COMPACT_AT] = _POOL_SLACK * (end + need)
    columns, record = graph.cursor[_COLUMN_POOL] + need, graph.cursor[_RECORD] + need
    return max(graph.cursor[_COMPACT_AT], columns, record) <= len(graph.source)


@kernel
def _eliminate(
    graph: _Graph,  # in, out
    k: int,
    source: NDArray[np.int32],  # in, out: record of predecessors of eliminated states
    weight: Floats,  # in, out: record of their weights
    queue: list[Any],  # in, out: heap of (fill-in bound, state)
) -> float:
    """Eliminate state ``k`` and return its pivot, the exit rate to the active states."""
    begin, end = graph.start[k], graph.start[k] + graph.length[k]
    target, law = graph.target[begin:end].copy(), graph.weight[begin:end].copy()
    total = law.sum()
    if total > 0.0:
        law /= total
    seen = np.full(len(target), -1, np.int32)
    graph.active[k] = False
    for e in range(len(target)):
        graph.n_in[target[e]] -= 1
        graph.position[target[e]] = e
    entry = graph.head[k]
    while entry >= 0:
        i = graph.source[entry]
        if graph.active[i]:
            source[graph.cursor[_RECORD]] = i
            weight[graph.cursor[_RECORD]] = _censor_row(graph, i, k, target, law, seen)
            graph.cursor[_RECORD] += 1
            heapq.heappush(queue, (graph.n_in[i] * graph.length[i], np.int64(i)))
        entry = graph.next_entry[entry]
    for j in target:
        graph.position[j] = -1
        heapq.heappush(queue, (graph.n_in[j] * graph.length[j], np.int64(j)))
    return float(total)


@kernel
def _censor_row(
    graph: _Graph, i: int, k: int, target: NDArray[np.int32], law: Floats, seen: NDArray[np.int32]
) -> float:
    """Replace the transition from ``i`` to ``k`` by ``a[i, k]`` times the next-state distribution ``law`` of ``k``."""
    begin, end = graph.start[i], graph.start[i] + graph.length[i] - 1
    at = begin
    while graph.target[at] != k:
        at += 1
    through = graph.weight[at]
    graph.target[at], graph.weight[at] = graph.target[end], graph.weight[end]
    n_new = len(target)
    for e in range(begin, end):
        at = graph.position[graph.target[e]]
        if at >= 0:
            graph.weight[e] += through * law[at]
            seen[at] = i
            n_new -= 1
    if graph.position[i] >= 0:  # self-transitions are dropped
        seen[graph.position[i]] = i
        n_new -= 1
    if end - begin + n_new > graph.capacity[i]:
        moved = graph.cursor[_ROW_POOL]
        graph.start[i] = moved
        graph.capacity[i] = end - begin + 2 * n_new
        graph.cursor[_ROW_POOL] += graph.capacity[i]
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


@kernel(fastmath=False)
def _to_dense(graph: _Graph, remaining: NDArray[np.int64]) -> Floats:
    """Weights among the remaining states; overwrites ``graph.position``."""
    weights = np.zeros((len(remaining), len(remaining)))
    for row, i in enumerate(remaining):
        graph.position[i] = row
    for row, i in enumerate(remaining):
        for e in range(graph.start[i], graph.start[i] + graph.length[i]):
            weights[row, graph.position[graph.target[e]]] = graph.weight[e]
    return weights


@kernel
def substitute_back(reduction: Reduction, mass_remaining: Floats) -> Floats:
    """Back substitution: stationary masses of all states from those of the remaining ones."""
    order, ends = reduction.order, reduction.ends
    mass = np.zeros(len(order) + len(mass_remaining))
    for row, i in enumerate(reduction.remaining):
        mass[i] = mass_remaining[row]
    for step in range(len(order) - 1, -1, -1):
        inflow = 0.0
        for e in range(ends[step - 1] if step else 0, ends[step]):
            inflow += mass[reduction.source[e]] * reduction.weight[e]
        pivot = reduction.pivot[step]
        if inflow / MAX_RATIO > pivot:
            for i in range(len(mass)):
                mass[i] *= pivot / inflow
            mass[order[step]] = 1.0
        else:
            mass[order[step]] = inflow / pivot
    return mass


@kernel
def carry_forward(
    reduction: Reduction,  # in
    b: Floats,  # in, out: n x m right-hand sides, which become L^-1 b
) -> None:
    """Forward substitution: b_i += (a_ik / pivot_k) b_k for every transition into an eliminated state k."""
    order, ends = reduction.order, reduction.ends
    for step in range(len(order)):
        pivot = reduction.pivot[step]
        for c in range(b.shape[1]):
            b[order[step], c] /= pivot
        for e in range(ends[step - 1] if step else 0, ends[step]):
            for c in range(b.shape[1]):
                b[reduction.source[e], c] += reduction.weight[e] * b[order[step], c]


@kernel
def carry_back(
    reduction: Reduction,  # in: with the record of rows
    x: Floats,  # in, out: n x m; L^-1 b at eliminated states, the solution at all others
) -> None:
    """Back substitution: x_k += sum_j (a_kj / pivot_k) x_j over the row of every eliminated state k, last to first."""
    order, ends = reduction.order, reduction.row_ends
    for step in range(len(order) - 1, -1, -1):
        for e in range(ends[step - 1] if step else 0, ends[step]):
            share = reduction.row_weight[e] / reduction.pivot[step]
            for c in range(x.shape[1]):
                x[order[step], c] += share * x[reduction.row_target[e], c]
