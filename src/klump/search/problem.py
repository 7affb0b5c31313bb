"""From a chain to the arrays that the kernels search on."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from klump import information
from klump.chain import MarkovChain
from klump.search.kernels.tables import Dense, Flow, Lists, Problem, Table, Work

_BUFFER = 2048
_CACHE_LINE = 64
# A dense chain with fewer non-zero entries than this share is searched in the sparse layout.
_DENSE_SHARE = 0.25


def make_problem(chain: MarkovChain, order: NDArray[np.int64] | None = None) -> Problem:
    """Lay the joint law out by columns. Arrays are read-only, so that every backend compiles the same kernels.

    The states of a sparse chain are taken in the ``order`` that is given: whoever is looked at together had better
    lie together.
    """
    n = chain.n_states
    joint, mu = chain.joint, chain.stationary_distribution
    nothing = np.zeros((0, 0))
    if not sparse.issparse(joint) and np.count_nonzero(joint) >= _DENSE_SHARE * n * n:
        rows, columns = joint, np.ascontiguousarray(joint.T)
        by_row, by_column = sparse.csr_array((n, n)), sparse.csc_array((n, n))
        loops = np.diagonal(joint).copy()
    else:
        rows, columns = nothing, nothing.copy()
        by_row = sparse.csr_array(joint)
        if not by_row.data.all():
            by_row = by_row.copy()
            by_row.eliminate_zeros()
        if order is not None:
            by_row, mu = _reordered(by_row, order), mu[order]
        by_column = sparse.csc_array(by_row)
        loops = by_column.diagonal()
    problem = Problem(
        rows,
        columns,
        by_column.indptr.astype(np.int64),
        by_column.indices.astype(np.int32),
        by_column.data,
        information.xlog2x(by_column.data),
        by_row.indptr.astype(np.int64),
        by_row.indices.astype(np.int32, copy=False),
        by_row.data,
        np.asarray(loops, dtype=np.float64),
        mu,
    )
    for array in problem:
        array.flags.writeable = False
    return problem


def _reordered(by_row: sparse.csr_array, order: NDArray[np.int64]) -> sparse.csr_array:
    place = np.empty(order.size, dtype=by_row.indices.dtype)
    place[order] = np.arange(order.size)
    taken = by_row[order]
    return sparse.csr_array((taken.data, place[taken.indices], taken.indptr), shape=taken.shape)


def make_table(
    problem: Problem, labels: NDArray[Any], n_groups: int, *, lists: bool = True, queue: bool = False
) -> Table:
    """Room for a search that starts from the labels; ``kernels.descent.build`` fills it.

    At beta = 1/2 a sparse search needs no ``lists``. With a ``queue`` it is noted who has a neighbour that moved.
    """
    n, k = problem.mu.size, n_groups
    dense_shape = (k, n) if problem.columns.size else (0, 0)
    lists = lists or problem.columns.size > 0
    bounds, blocks = np.zeros((n if lists else 0, 2), dtype=np.int64), 0
    if lists and not problem.columns.size:
        room = (np.minimum(np.diff(problem.out_indptr), k) + 3) // 4
        bounds[1:, 0] = np.cumsum(room[:-1])
        blocks = int(room.sum())
    return Table(
        np.array(labels, dtype=np.int32),
        np.zeros(k, dtype=np.int64),
        np.zeros((3, _width(k))),
        np.zeros(1),
        Dense(
            np.zeros(dense_shape),
            np.zeros(dense_shape),
            np.zeros(dense_shape),
            np.zeros(k, dtype=np.int64),
            np.zeros(dense_shape, dtype=np.int32),
            np.zeros(dense_shape),
            np.zeros(dense_shape, dtype=np.int32),
        ),
        Lists(
            bounds,
            _on_cache_lines((blocks, 4), np.int32),
            _on_cache_lines((blocks, 4), np.int32),
            _on_cache_lines((blocks, 2, 4), np.float64),
        ),
        Flow(
            np.zeros((2 * k + 1, _width(k))),
            np.zeros((2 * k + 1, _width(k))),
            np.zeros(2 * k + 1),
            np.zeros(2 * k + 1),
            np.zeros((k, k), dtype=np.int64),
        ),
        np.zeros(1, dtype=np.int64),
        np.arange(n, dtype=np.int64),
        np.zeros(n if queue else 0, dtype=np.uint8),
    )


def _width(n_groups: int) -> int:
    """Length of a row over the groups: whole vectors, and room for the free entries of a block behind them."""
    return -(-(n_groups + 4) // 8) * 8


def _on_cache_lines(shape: tuple[int, ...], dtype: Any) -> NDArray[Any]:
    """An array, not cleared, that begins where a cache line does, so that no block of it lies across two.

    NumPy puts what it does not clear itself on huge pages, which saves more misses.
    """
    size = math.prod(shape) * np.dtype(dtype).itemsize
    raw = np.empty(size + _CACHE_LINE, dtype=np.uint8)
    begin = -raw.ctypes.data % _CACHE_LINE
    return raw[begin : begin + size].view(dtype).reshape(shape)


def make_work(n_groups: int) -> Work:
    """Scratch space for one search at a time."""
    k = n_groups
    # Whole blocks of four, and every entry of B that a move touches.
    room = max(_BUFFER, 4 * (k + 1))
    return Work(
        np.zeros(_width(k)),
        np.zeros(_width(k)),
        np.zeros(_width(k)),
        np.zeros((2, k)),
        np.zeros((2, k), dtype=np.int64),
        np.zeros((2, k), dtype=np.int32),
        np.zeros((2, room)),
        np.zeros(room, dtype=np.int32),
        np.zeros(room, dtype=np.int64),
        np.zeros(2 * k + 4, dtype=np.int64),
        np.zeros(2 * k + 4),
        np.zeros(2 * k + 4),
    )
