"""From a chain to the arrays that the kernels search on."""

from __future__ import annotations

import math
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from klump.chain import MarkovChain, rows
from klump.chain.rows import folder_of
from klump.errors import InvalidArgumentError
from klump.search.kernels.tables import WIDE, Dense, Flow, Lists, Problem, Table, Work

_BUFFER = 2048
_CACHE_LINE = 64
# What 32 bits can number.
_MOST_BLOCKS = 2**31
# A dense chain with fewer non-zero entries than this share is searched in the sparse layout.
_DENSE_SHARE = 0.25
# Into so many buckets columns are divided, or into fewer and as large ones as blocks of transitions are elsewhere.
_MOST_BUCKETS = 4096


def make_problem(chain: MarkovChain, order: NDArray[np.int64] | None = None) -> Problem:
    """Lay the joint law out by rows and by columns.

    The states of a sparse chain are taken in the ``order`` that is given: whoever is looked at together had better
    lie together. If its transitions are in files, so is everything that is as large as they are.
    """
    n, mu = chain.n_states, chain.stationary_distribution
    joint, transposed = np.zeros((0, 0)), np.zeros((0, 0))
    if not chain.is_sparse and np.count_nonzero(chain.joint) >= _DENSE_SHARE * n * n:
        joint = np.asarray(chain.joint)
        transposed = np.ascontiguousarray(joint.T)
        inflow, loops = joint.sum(axis=0), np.diagonal(joint).copy()
        by_row = by_column = _room(np.zeros(n + 1, dtype=np.int64), None)
    else:
        by_row = _by_row(chain, order)
        by_column, inflow, loops = _by_column(by_row)
        mu = mu if order is None else mu[order]
    return _read_only(Problem(joint, transposed, *by_column, *by_row, inflow, loops, mu))


class _Sparse(NamedTuple):
    """The entries of a matrix row by row, or column by column."""

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    mass: NDArray[np.float64]


def _by_row(chain: MarkovChain, order: NDArray[np.int64] | None) -> _Sparse:
    """The entries of the joint law other than 0, row by row."""
    if order is not None:
        # Straight from P: the joint law in the order of the chain would be as large, and nobody would need it.
        matrix = sparse.csr_array(chain.transition_matrix)
        return _rearranged(matrix, chain.stationary_distribution, order)
    joint = sparse.csr_array(chain.joint)
    if joint.indices.dtype != np.int32 or not joint.data.all():
        return _rearranged(joint, np.ones(chain.n_states), np.arange(chain.n_states))
    return _read_only(_Sparse(joint.indptr.astype(np.int64), joint.indices, joint.data))


def _rearranged(matrix: sparse.csr_array, weight: NDArray[np.float64], order: NDArray[np.int64]) -> _Sparse:
    """Multiply each row by its weight, leave out what is 0, and take the states in the order given.

    Rows are read one after the other, and each put in its place, of which there are as many that move on as there
    are runs in the order.
    """
    from klump.search.kernels import layout

    weight = weight.view()
    _read_only((weight,))
    place = np.empty(order.size, dtype=np.int32)
    place[order] = np.arange(order.size)
    begins, ends = matrix.indptr.astype(np.int64), np.zeros(order.size + 1, dtype=np.int64)
    layout.count_in_rows(begins, matrix.data, weight, place, ends[1:])
    np.cumsum(ends, out=ends)
    result = _room(ends, folder_of(matrix))
    layout.put_rows(begins, matrix.indices, matrix.data, weight, place, *result)
    return _read_only(result)


def _by_column(by_row: _Sparse) -> tuple[_Sparse, NDArray[np.float64], NDArray[np.float64]]:
    """The same entries column by column, their sums, and the diagonal.

    In files they are first dealt out to buckets of columns, then sorted in each: one after the other they would go
    to a different page of the disk each.
    """
    from klump.search.kernels import layout

    n, m, folder = by_row.indptr.size - 1, by_row.mass.size, folder_of(by_row.mass)
    ends, inflow, loops = np.zeros(n + 1, dtype=np.int64), np.zeros(n), np.zeros(n)
    layout.count_columns(by_row.indices, ends[1:])
    np.cumsum(ends, out=ends)
    result = _room(ends, folder)
    heads, size = ends[:-1].copy(), max(rows.MAX_BLOCK_TRANSITIONS, m // _MOST_BUCKETS)
    if folder is None or m <= size:
        layout.transpose(*by_row, heads, result.indices, result.mass, inflow, loops)
        return result, inflow, loops
    bucket = (ends[:-1] // size).astype(np.int32)
    first = np.searchsorted(bucket, np.arange(bucket[-1] + 2))
    column = rows.empty_array(m, np.int32, folder)
    layout.deal_out(*by_row, bucket, ends[first[:-1]], column, result.indices, result.mass, inflow, loops)
    for begin, end in pairwise(ends[first].tolist()):
        mixed = (array[begin:end].copy() for array in (column, result.indices, result.mass))
        layout.sort_bucket(*mixed, heads, result.indices, result.mass)
    return result, inflow, loops


def _room(indptr: NDArray[np.int64], folder: Path | None) -> _Sparse:
    size = int(indptr[-1])
    indices, mass = (rows.empty_array(size, dtype, folder) for dtype in (np.int32, np.float64))
    return _Sparse(indptr, indices, mass)


_Arrays = TypeVar("_Arrays", bound=tuple[NDArray[Any], ...])


def _read_only(arrays: _Arrays) -> _Arrays:
    """So that every backend, and every way to the same arrays, compiles the same kernels."""
    for array in arrays:
        array.flags.writeable = False
    return arrays


def make_table(
    problem: Problem, labels: NDArray[Any], n_groups: int, *, lists: bool = True, queue: bool = False
) -> Table:
    """Room for a search that starts from the labels; ``kernels.descent.build`` fills it.

    At beta = 1/2 a sparse search needs no ``lists``; if the problem is in files, they are too. With a ``queue`` it is
    noted who has a neighbour that moved.
    """
    n, k = problem.mu.size, n_groups
    dense_shape = (k, n) if problem.columns.size else (0, 0)
    lists = lists or problem.columns.size > 0
    folder = folder_of(problem.out_mass)
    bounds, blocks = np.zeros((n if lists else 0, 2), dtype=np.int32), 0
    if lists and not problem.columns.size:
        room = (np.minimum(np.diff(problem.out_indptr), k) + 3) // 4
        blocks = int(room.sum())
        if blocks >= _MOST_BLOCKS:
            raise InvalidArgumentError(
                f"the chain has too many transitions for {k} groups, unless beta=0.5: lists of them would take "
                f"{blocks * _CACHE_LINE >> 30} GiB"
            )
        bounds[1:, 0] = np.cumsum(room[:-1])
    mass = _on_cache_lines((blocks, 8), np.float64, folder)
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
        Lists(bounds, mass, mass.view(np.int32)),
        Flow(
            np.zeros((2 * k + 1, _width(k))),
            np.zeros((2 * k + 1, _width(k))),
            np.zeros((2 * k + 1, _width(k, WIDE)), dtype=np.float32),
            np.zeros(2 * k + 1),
            np.zeros((k, k), dtype=np.int64),
        ),
        np.zeros(1, dtype=np.int64),
        np.arange(n, dtype=np.int64),
        np.zeros(n if queue else 0, dtype=np.uint8),
    )


def _width(n_groups: int, multiple: int = 8) -> int:
    """Length of a row over the groups: whole vectors, and room for the free entries of a block behind them."""
    return -(-(n_groups + 4) // multiple) * multiple


def _on_cache_lines(shape: tuple[int, ...], dtype: Any, folder: Path | None) -> NDArray[Any]:
    """An array, not cleared, that begins where a cache line does, so that no block of it lies across two.

    NumPy puts what it does not clear itself on huge pages, which saves more misses.
    """
    if folder is not None:
        return rows.empty_array(shape, dtype, folder)
    size = math.prod(shape) * np.dtype(dtype).itemsize
    raw = np.empty(size + _CACHE_LINE, dtype=np.uint8)
    begin = -raw.ctypes.data % _CACHE_LINE
    return raw[begin : begin + size].view(dtype).reshape(shape)


def make_work(n_groups: int) -> Work:
    """Scratch space for one search at a time."""
    k = n_groups
    # Whole vectors of up to sixteen, and every entry of B that a move touches.
    room = max(_BUFFER, _width(4 * k, 16))
    return Work(
        np.zeros(_width(k)),
        np.zeros(_width(k)),
        np.zeros((2, _width(k, WIDE)), dtype=np.float32),
        np.zeros(_width(k)),
        np.zeros((2, k)),
        np.zeros((2, k), dtype=np.int64),
        np.zeros((2, k + 1), dtype=np.uint32),
        np.zeros((3, room)),
        np.zeros(room, dtype=np.int32),
        np.zeros((2, room), dtype=np.int64),
        np.zeros(1, dtype=np.int64),
        np.zeros(room, dtype=np.float32),
        np.zeros(room, dtype=np.float32),
        np.zeros(2 * k + 4, dtype=np.int64),
        np.zeros(2 * k + 4),
        np.zeros(2 * k + 4, dtype=np.float32),
        np.zeros(2 * k + 4, dtype=np.float32),
    )
