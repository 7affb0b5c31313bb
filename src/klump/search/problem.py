"""Memory layout of the kernels: the joint distribution by rows and columns, search tables, scratch space."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from klump.chain import MarkovChain, rows
from klump.chain.rows import folder_of
from klump.search.kernels.tables import (
    BLOCK,
    LANES,
    A,
    DenseA,
    DenseProblem,
    Flow,
    ListsA,
    NoA,
    Problem,
    SparseProblem,
    Table,
    Work,
)

# Entries of the argument buffer of f, at least: 16 kB of float64, half of a first-level cache.
_BUFFER = 2048
# Bytes per cache line.
_CACHE_LINE = 64
# Float32 lanes of the widest SIMD registers (AVX-512).
_LANES = 16
# Share of non-zero entries from which on a chain, given dense or sparse, is searched in the dense layout. Empirical.
_DENSE_SHARE = 0.25
# States of a small chain, at most: its search takes less time than compilation.
SMALL = 128
# Share of non-zero entries from which on a small chain is searched in the dense layout, which compiles faster.
_SMALL_DENSE_SHARE = 0.125
# States up to which a sparse matrix with so many entries is copied to a dense one: 0.8 GB.
_MAX_DENSE_COPY = 10_000
# Buckets of columns at most, when a file is transposed: write cursors that are active together.
_MAX_BUCKETS = 4096


def make_problem(chain: MarkovChain, order: NDArray[np.int64] | None = None) -> Problem:
    """Joint distribution by rows and by columns.

    The states of a sparse chain are renumbered by ``order``, for locality of memory accesses. If the transitions are
    memory-mapped, all arrays of their size are too.
    """
    mu = chain.stationary_distribution
    if not chain.is_sparse and is_dense(chain):
        return make_dense_problem(np.asarray(chain.joint), mu)
    by_row = _by_row(chain, order)
    by_column, loops = _by_column(by_row)
    return _read_only(
        SparseProblem(
            indptr=by_column.indptr,
            indices=by_column.indices,
            mass=by_column.mass,
            out_indptr=by_row.indptr,
            out_indices=by_row.indices,
            out_mass=by_row.mass,
            loops=loops,
            mu=mu if order is None else mu[order],
        )
    )


def make_dense_problem(joint: NDArray[np.float64], mu: NDArray[np.float64]) -> DenseProblem:
    """The dense layout from the joint distribution."""
    columns, loops = np.ascontiguousarray(joint.T), np.diagonal(joint).copy()
    return _read_only(DenseProblem(rows=joint, columns=columns, loops=loops, mu=mu))


def is_dense(chain: MarkovChain) -> bool:
    """Whether a search uses the dense layout: that depends on the transitions, not on the format they are given in."""
    n, matrix = chain.n_states, chain.transition_matrix
    least = (_SMALL_DENSE_SHARE if n <= SMALL else _DENSE_SHARE) * n * n
    if isinstance(matrix, sparse.csr_array):
        return bool(n <= _MAX_DENSE_COPY and folder_of(matrix) is None and matrix.nnz >= least)
    return bool(np.count_nonzero(chain.joint) >= least)


def to_search_format(chain: MarkovChain) -> MarkovChain:
    """The same chain, dense if ``is_dense`` and sparse if not: the search does not depend on the format given."""
    matrix: Any = chain.transition_matrix
    if is_dense(chain) != chain.is_sparse:
        return chain
    converted = matrix.toarray() if chain.is_sparse else sparse.csr_array(matrix)
    return MarkovChain._from_parts(
        converted, chain.stationary_distribution, None, chain.original_index, chain.applied
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
    from klump.search.kernels import transposition

    weight = weight.view()
    _read_only((weight,))
    place = np.empty(order.size, dtype=np.int32)
    place[order] = np.arange(order.size)
    begins, ends = matrix.indptr.astype(np.int64), np.zeros(order.size + 1, dtype=np.int64)
    transposition.count_in_rows(begins, matrix.data, weight, place, ends[1:])
    np.cumsum(ends, out=ends)
    result = _allocate(ends, folder_of(matrix))
    transposition.put_rows(begins, matrix.indices, matrix.data, weight, place, *result)
    return _read_only(result)


def _by_column(by_row: _Compressed) -> tuple[_Compressed, NDArray[np.float64]]:
    """Transpose from CSR to CSC format; also the diagonal.

    Memory-mapped entries are distributed to buckets of columns and then sorted per bucket (a bucket sort): a direct
    transpose would touch another page of the file per entry.
    """
    from klump.search.kernels import transposition

    n, m, folder = by_row.indptr.size - 1, by_row.mass.size, folder_of(by_row.mass)
    ends, loops = np.zeros(n + 1, dtype=np.int64), np.zeros(n)
    transposition.count_columns(by_row.indices, ends[1:])
    np.cumsum(ends, out=ends)
    result = _allocate(ends, folder)
    cursors, size = ends[:-1].copy(), max(rows.MAX_BLOCK_TRANSITIONS, m // _MAX_BUCKETS)
    if folder is None or m <= size:
        transposition.transpose(*by_row, cursors, result.indices, result.mass, loops)
        return result, loops
    bucket = (ends[:-1] // size).astype(np.int32)
    first = np.searchsorted(bucket, np.arange(bucket[-1] + 2))
    column = rows.empty_array(m, np.int32, folder)
    transposition.distribute(*by_row, bucket, ends[first[:-1]], column, result.indices, result.mass, loops)
    for begin, end in pairwise(ends[first].tolist()):
        entries = slice(begin, end)
        mixed = column[entries].copy(), result.indices[entries].copy(), result.mass[entries].copy()
        transposition.sort_bucket(*mixed, cursors, result.indices, result.mass)
    return result, loops


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


def make_table(problem: Problem, labels: NDArray[Any], n_groups: int, *, keep_a: bool = True) -> Table:
    """Allocate the tables of a search from the labels; ``kernels.descent.build`` fills them.

    A sparse search in which A has weight zero need not keep it. Lists are memory-mapped if the problem is.
    """
    n, k, width = problem.mu.size, n_groups, _width(n_groups)
    return Table(
        labels=np.array(labels, dtype=np.int32),
        size=np.zeros(k, dtype=np.int64),
        nu=np.zeros(width),
        nu_f=np.zeros(width),
        nu_log=np.zeros(width),
        inverse_nu=np.zeros(width),
        lightest=np.zeros(1),
        a=_make_a(problem, k, keep_a=keep_a),
        b=Flow(
            mass=np.zeros((2 * k + 1, width)),
            log=np.zeros((2 * k + 1, width)),
            rough_log=np.zeros((2 * k + 1, width), dtype=np.float32),
            most=np.zeros(2 * k + 1),
            counts=np.zeros((k, k), dtype=np.int64),
        ),
        waiting=np.zeros(n, dtype=np.uint8),
    )


def _make_a(problem: Problem, k: int, *, keep_a: bool) -> A:
    n = problem.mu.size
    if isinstance(problem, DenseProblem):
        return DenseA(
            mass=np.zeros((k, n)),
            log=np.zeros((k, n)),
            inverse=np.zeros((k, n)),
            counts=np.zeros((k, n), dtype=np.int32),
            zeros=np.zeros(k, dtype=np.int64),
            back=np.zeros((k, n)),
            back_counts=np.zeros((k, n), dtype=np.int32),
        )
    if not keep_a:
        return NoA(n)
    ends = np.cumsum(-(-np.minimum(np.diff(problem.out_indptr), k) // LANES))
    bounds = np.zeros((n, 2), dtype=np.int64)
    bounds[1:, 0] = ends[:-1]
    return ListsA(bounds=bounds, blocks=_allocate_aligned(int(ends[-1]), BLOCK, folder_of(problem.out_mass)))


def _allocate_aligned(size: int, dtype: np.dtype[Any], folder: Path | None) -> NDArray[Any]:
    """Uninitialised array that begins at a cache line, so that no block straddles two."""
    if folder is not None:
        return rows.empty_array(size, dtype, folder)
    raw = np.empty(size * dtype.itemsize + _CACHE_LINE, dtype=np.uint8)
    begin = -raw.ctypes.data % _CACHE_LINE
    return raw[begin : begin + size * dtype.itemsize].view(dtype)


def _width(n_groups: int) -> int:
    """Padded length of a row over the groups and one more: a multiple of the SIMD lanes."""
    return -(-(n_groups + 1) // _LANES) * _LANES


def make_work(n_groups: int) -> Work:
    """Scratch space, not to be shared between threads."""
    k, width = n_groups, _width(n_groups)
    # A move changes at most 4 k + 2 entries of B; a list has at most k + LANES - 1 entries, free ones included.
    size = max(_BUFFER, 4 * k + 2 + LANES)
    return Work(
        bound=np.zeros(width),
        leave=np.zeros(1),
        gain_a=np.zeros(width),
        gain_b=np.zeros(width),
        rough=np.zeros((2, width), dtype=np.float32),
        mass=np.zeros((2, k)),
        counts=np.zeros((2, k), dtype=np.int64),
        groups=np.zeros((2, k + 1), dtype=np.uint32),
        n_linked=np.zeros(2, dtype=np.int64),
        buffer=np.zeros((2, size)),
        ratio=np.zeros(size, dtype=np.float32),
        share=np.zeros(size, dtype=np.float32),
        group=np.zeros(size, dtype=np.int32),
    )
