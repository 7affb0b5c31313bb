"""Memory layout of the kernels: the joint distribution by rows and columns, search tables, scratch space."""

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

# Entries of the argument buffer of f, at least: 16 kB of float64, half of a first-level cache.
_BUFFER = 2048
# Bytes per cache line.
_CACHE_LINE = 64
# Blocks of list entries at most: block numbers are int32.
_MAX_BLOCKS = 2**31
# Share of non-zero entries below which a dense chain is searched in the sparse layout. Empirical.
_DENSE_SHARE = 0.25
# Buckets of columns at most, when a file is transposed: write cursors that are active together.
_MAX_BUCKETS = 4096


def make_problem(chain: MarkovChain, order: NDArray[np.int64] | None = None) -> Problem:
    """Joint distribution by rows and by columns.

    The states of a sparse chain are renumbered by ``order``, for locality of memory accesses. If the transitions are
    memory-mapped, all arrays of their size are too.
    """
    n, mu = chain.n_states, chain.stationary_distribution
    joint, transposed = np.zeros((0, 0)), np.zeros((0, 0))
    if not chain.is_sparse and np.count_nonzero(chain.joint) >= _DENSE_SHARE * n * n:
        joint = np.asarray(chain.joint)
        transposed = np.ascontiguousarray(joint.T)
        inflow, loops = joint.sum(axis=0), np.diagonal(joint).copy()
        by_row = by_column = _allocate(np.zeros(n + 1, dtype=np.int64), None)
    else:
        by_row = _by_row(chain, order)
        by_column, inflow, loops = _by_column(by_row)
        mu = mu if order is None else mu[order]
    return _read_only(
        Problem(
            rows=joint,
            columns=transposed,
            indptr=by_column.indptr,
            indices=by_column.indices,
            mass=by_column.mass,
            out_indptr=by_row.indptr,
            out_indices=by_row.indices,
            out_mass=by_row.mass,
            inflow=inflow,
            loops=loops,
            mu=mu,
        )
    )


class _Compressed(NamedTuple):
    """A matrix in compressed sparse row, or column, format."""

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    mass: NDArray[np.float64]


def _by_row(chain: MarkovChain, order: NDArray[np.int64] | None) -> _Compressed:
    """Non-zero entries of the joint distribution in CSR format."""
    if order is not None:
        # From P directly: chain.joint would be a second array of the same size, in the wrong order.
        matrix = sparse.csr_array(chain.transition_matrix)
        return _permute(matrix, chain.stationary_distribution, order)
    joint = sparse.csr_array(chain.joint)
    if joint.indices.dtype != np.int32 or not joint.data.all():
        return _permute(joint, np.ones(chain.n_states), np.arange(chain.n_states))
    return _read_only(_Compressed(joint.indptr.astype(np.int64), joint.indices, joint.data))


def _permute(matrix: sparse.csr_array, weight: NDArray[np.float64], order: NDArray[np.int64]) -> _Compressed:
    """diag(weight) M with rows and columns permuted by ``order``, without zeros.

    Rows are read sequentially; there is one write cursor per ascending run of ``order``.
    """
    from klump.search.kernels import layout

    weight = weight.view()
    _read_only((weight,))
    place = np.empty(order.size, dtype=np.int32)
    place[order] = np.arange(order.size)
    begins, ends = matrix.indptr.astype(np.int64), np.zeros(order.size + 1, dtype=np.int64)
    layout.count_in_rows(begins, matrix.data, weight, place, ends[1:])
    np.cumsum(ends, out=ends)
    result = _allocate(ends, folder_of(matrix))
    layout.put_rows(begins, matrix.indices, matrix.data, weight, place, *result)
    return _read_only(result)


def _by_column(by_row: _Compressed) -> tuple[_Compressed, NDArray[np.float64], NDArray[np.float64]]:
    """Transpose from CSR to CSC format; also the column sums and the diagonal.

    Memory-mapped entries are distributed to buckets of columns and then sorted per bucket (a bucket sort): a direct
    transpose would touch another page of the file per entry.
    """
    from klump.search.kernels import layout

    n, m, folder = by_row.indptr.size - 1, by_row.mass.size, folder_of(by_row.mass)
    ends, inflow, loops = np.zeros(n + 1, dtype=np.int64), np.zeros(n), np.zeros(n)
    layout.count_columns(by_row.indices, ends[1:])
    np.cumsum(ends, out=ends)
    result = _allocate(ends, folder)
    cursors, size = ends[:-1].copy(), max(rows.MAX_BLOCK_TRANSITIONS, m // _MAX_BUCKETS)
    if folder is None or m <= size:
        layout.transpose(*by_row, cursors, result.indices, result.mass, inflow, loops)
        return result, inflow, loops
    bucket = (ends[:-1] // size).astype(np.int32)
    first = np.searchsorted(bucket, np.arange(bucket[-1] + 2))
    column = rows.empty_array(m, np.int32, folder)
    layout.deal_out(*by_row, bucket, ends[first[:-1]], column, result.indices, result.mass, inflow, loops)
    for begin, end in pairwise(ends[first].tolist()):
        entries = slice(begin, end)
        mixed = column[entries].copy(), result.indices[entries].copy(), result.mass[entries].copy()
        layout.sort_bucket(*mixed, cursors, result.indices, result.mass)
    return result, inflow, loops


def _allocate(indptr: NDArray[np.int64], folder: Path | None) -> _Compressed:
    size = int(indptr[-1])
    indices, mass = (rows.empty_array(size, dtype, folder) for dtype in (np.int32, np.float64))
    return _Compressed(indptr, indices, mass)


_Arrays = TypeVar("_Arrays", bound=tuple[NDArray[Any], ...])


def _read_only(arrays: _Arrays) -> _Arrays:
    """Make arrays read-only: writeability is part of numba's array type, so kernels are compiled once for all."""
    for array in arrays:
        array.flags.writeable = False
    return arrays


def make_table(
    problem: Problem, labels: NDArray[Any], n_groups: int, *, lists: bool = True, queue: bool = False
) -> Table:
    """Allocate the tables of a search from the labels; ``kernels.descent.build`` fills them.

    A sparse search at beta = 1/2 needs no ``lists``; they are memory-mapped if the problem is. With a ``queue``, moves
    mark the neighbours of the moved state.
    """
    n, k = problem.mu.size, n_groups
    dense_shape = (k, n) if problem.columns.size else (0, 0)
    lists = lists or problem.columns.size > 0
    folder = folder_of(problem.out_mass)
    bounds, blocks = np.zeros((n if lists else 0, 2), dtype=np.int32), 0
    if lists and not problem.columns.size:
        room = (np.minimum(np.diff(problem.out_indptr), k) + 3) // 4
        blocks = int(room.sum())
        if blocks >= _MAX_BLOCKS:
            raise InvalidArgumentError(
                f"the chain has too many transitions for {k} groups: tables of them would take "
                f"{blocks * _CACHE_LINE >> 30} GiB; use fewer groups, or beta=0.5, which needs no such tables"
            )
        bounds[1:, 0] = np.cumsum(room[:-1])
    mass = _cache_aligned((blocks, 8), np.float64, folder)
    return Table(
        labels=np.array(labels, dtype=np.int32),
        size=np.zeros(k, dtype=np.int64),
        nu=np.zeros((3, _width(k))),
        lightest=np.zeros(1),
        dense=Dense(
            into=np.zeros(dense_shape),
            into_log=np.zeros(dense_shape),
            into_inverse=np.zeros(dense_shape),
            empty=np.zeros(k, dtype=np.int64),
            into_count=np.zeros(dense_shape, dtype=np.int32),
            out_of=np.zeros(dense_shape),
            out_of_count=np.zeros(dense_shape, dtype=np.int32),
        ),
        lists=Lists(bounds=bounds, mass=mass, marks=mass.view(np.int32)),
        flow=Flow(
            mass=np.zeros((2 * k + 1, _width(k))),
            log=np.zeros((2 * k + 1, _width(k))),
            rough=np.zeros((2 * k + 1, _width(k, WIDE)), dtype=np.float32),
            most=np.zeros(2 * k + 1),
            counts=np.zeros((k, k), dtype=np.int64),
        ),
        one=np.zeros(1, dtype=np.int64),
        everyone=np.arange(n, dtype=np.int64),
        waiting=np.zeros(n if queue else 0, dtype=np.uint8),
    )


def _width(n_groups: int, multiple: int = 8) -> int:
    """Padded length of a row over the groups: k + 4, for the free slots of a block, rounded up to a multiple."""
    return -(-(n_groups + 4) // multiple) * multiple


def _cache_aligned(shape: tuple[int, ...], dtype: Any, folder: Path | None) -> NDArray[Any]:
    """Uninitialised array aligned to cache lines, so that no block straddles two.

    ``np.empty`` requests huge pages for large arrays, which saves TLB misses; ``np.zeros`` does not.
    """
    if folder is not None:
        return rows.empty_array(shape, dtype, folder)
    size = math.prod(shape) * np.dtype(dtype).itemsize
    raw = np.empty(size + _CACHE_LINE, dtype=np.uint8)
    begin = -raw.ctypes.data % _CACHE_LINE
    return raw[begin : begin + size].view(dtype).reshape(shape)


def make_work(n_groups: int) -> Work:
    """Scratch space, not to be shared between threads."""
    k = n_groups
    # A move changes at most 4 k entries of B; a multiple of 16 SIMD lanes.
    size = max(_BUFFER, _width(4 * k, 16))
    return Work(
        gain=np.zeros(_width(k)),
        change=np.zeros(_width(k)),
        rough=np.zeros((2, _width(k, WIDE)), dtype=np.float32),
        into=np.zeros(_width(k)),
        mass=np.zeros((2, k)),
        counts=np.zeros((2, k), dtype=np.int64),
        groups=np.zeros((2, k + 1), dtype=np.uint32),
        buffer=np.zeros((3, size)),
        buffer_group=np.zeros(size, dtype=np.int32),
        places=np.zeros((2, size), dtype=np.int64),
        prepared=np.zeros(1, dtype=np.int64),
        ratio=np.zeros(size, dtype=np.float32),
        share=np.zeros(size, dtype=np.float32),
        row=np.zeros(2 * k + 4, dtype=np.int64),
        weight=np.zeros(2 * k + 4),
        rough_weight=np.zeros(2 * k + 4, dtype=np.float32),
        rough_log=np.zeros(2 * k + 4, dtype=np.float32),
    )
