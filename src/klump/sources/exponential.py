"""Matrix exponential P(t) = exp(t G) of a generator, free of subtractions.

With q the largest exit rate, G + q I has no negative entry, and exp(t G) = exp(-q t) exp(t (G + q I)). The factor
exp(-q t) is common to all entries, so rows are normalised instead. Scaling and squaring: ``step`` = t / 2^s (G + q I)
with q t / 2^s <= 1/64, P(t / 2^s) by the Taylor series, then s squarings.

Without subtractions there is no cancellation: small entries keep their relative accuracy, and none is negative.

Sparse products have fill-in. After each product the smallest entries of each row are dropped: at level l of s at most
mass ``MAX_DROPPED`` / (s + 1) / 2^(s - l) per row, as every later squaring doubles the error. Each row of P(t) is
within ``MAX_DROPPED`` of the exact one in total variation.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

Matrix: TypeAlias = NDArray[np.float64] | sparse.csr_array

# Largest q t / 2^s, dimensionless: smaller needs more squarings, larger more Taylor terms.
MAX_STEP = 1 / 64
# Terms of the Taylor series. The first one left out, (1/64)^11 / 11!, is 3.4e-28.
_TERMS = 10
# Largest total variation per row between the sparse result and the exact one.
MAX_DROPPED = 1e-12
# Most entries of a sparse result, 5,000^2: 300 MB, and up to 2 GB during the computation (measured).
MAX_ENTRIES = 25_000_000
# Density nnz / n^2 above which dense products are faster.
_DENSE_FROM = 0.1
# Scalar multiplications per row block of a sparse product: bounds its temporary memory to about 200 MB.
_BLOCK_PRODUCTS = 10_000_000
# Relative change per entry below which squaring has converged: some 50 rounding units.
_CONVERGED = 1e-14


class TooManyEntriesError(Exception):
    """A sparse product has more than ``MAX_ENTRIES`` entries."""


def exponential(step: Matrix, squarings: int) -> Matrix:
    """Row-stochastic multiple of exp(``step``), squared ``squarings`` times.

    Parameters
    ----------
    step
        Non-negative square matrix whose rows all have the same sum, at most ``MAX_STEP``.
    squarings
        The number s of squarings.

    Returns
    -------
    ndarray or csr_array
        Row-stochastic matrix, sparse if ``step`` is.

    Raises
    ------
    TooManyEntriesError
        If a sparse matrix would have more than ``MAX_ENTRIES`` entries.

    Examples
    --------
    >>> exponential(np.array([[0.0, 0.01], [0.01, 0.0]]), 0).round(6)
    array([[0.990099, 0.009901],
           [0.009901, 0.990099]])
    """
    per_level = MAX_DROPPED / (squarings + 1)
    first = math.ldexp(per_level, -squarings) / _TERMS
    term = step
    total: Matrix = _add(_identity(step), step)
    for j in range(2, _TERMS + 1):
        term = _product(term, step, step, first) / j
        total = _add(total, term)
    matrix = _normalize(total)
    for level in range(1, squarings + 1):
        before = matrix
        matrix = _normalize(_product(before, before, step, math.ldexp(per_level, level - squarings)))
        if _is_converged(before, matrix):
            break
    return _to_csr(matrix) if isinstance(step, sparse.csr_array) else matrix


def _identity(like: Matrix) -> Matrix:
    n = like.shape[0]
    return sparse.csr_array(sparse.eye_array(n)) if isinstance(like, sparse.csr_array) else np.eye(n)


def _to_dense(matrix: Matrix) -> NDArray[np.float64]:
    return np.asarray(matrix.toarray() if isinstance(matrix, sparse.csr_array) else matrix)


def _to_csr(matrix: Matrix) -> sparse.csr_array:
    found = sparse.csr_array(matrix)
    found.eliminate_zeros()
    found.sort_indices()
    return found


def _add(a: Matrix, b: Matrix) -> Matrix:
    if isinstance(a, sparse.csr_array) and isinstance(b, sparse.csr_array):
        return sparse.csr_array(a + b)
    return _to_dense(a) + _to_dense(b)


def _normalize(matrix: Matrix) -> Matrix:
    """Divide each row by its sum, in place."""
    sums = np.asarray(matrix.sum(axis=1)).ravel()
    if isinstance(matrix, sparse.csr_array):
        matrix.data /= np.repeat(sums, np.diff(matrix.indptr))
    else:
        matrix /= sums[:, None]
    return matrix


def _is_converged(before: Matrix, after: Matrix) -> bool:
    """Whether |after - before| <= _CONVERGED after, entry by entry.

    A test relative to the largest entry would be wrong: probabilities of rare transitions between nearly closed blocks
    still double with each squaring after every block has converged.
    """
    changed = abs(after - before) > _CONVERGED * after
    return not (changed.nnz if sparse.issparse(changed) else changed.any())


def _product(a: Matrix, b: Matrix, step: Matrix, dropped: float) -> Matrix:
    """Product a b; sparse products drop at most mass ``dropped`` per row, but never an entry of ``step``."""
    if isinstance(a, sparse.csr_array) and isinstance(b, sparse.csr_array):
        n = a.shape[0]
        if n**2 > MAX_ENTRIES or max(a.nnz, b.nnz) <= _DENSE_FROM * n**2:
            return _sparse_product(a, b, step, dropped)
    return _to_dense(a) @ _to_dense(b)


def _sparse_product(
    a: sparse.csr_array, b: sparse.csr_array, step: Matrix, dropped: float
) -> sparse.csr_array:
    """Product by row blocks, so that the dropped entries of one block only are in memory."""
    work = np.concatenate([[0], np.cumsum(np.diff(b.indptr)[a.indices])])[a.indptr]
    bounds = np.searchsorted(work, np.arange(_BLOCK_PRODUCTS, work[-1], _BLOCK_PRODUCTS)).tolist()
    blocks: list[sparse.csr_array] = []
    n_entries = 0
    for begin, end in pairwise(sorted({0, *bounds, a.shape[0]})):
        blocks.append(_drop(sparse.csr_array(a[begin:end] @ b), step[begin:end], dropped))
        n_entries += blocks[-1].nnz
        if n_entries > MAX_ENTRIES:
            raise TooManyEntriesError
    return sparse.csr_array(sparse.vstack(blocks, format="csr"))


def _drop(rows: sparse.csr_array, step: sparse.csr_array, dropped: float) -> sparse.csr_array:
    """Drop, in place, entries below ``dropped`` / (entries in the row), unless ``step`` has an entry there.

    Without that exception a chain with rare transitions could become reducible.
    """
    lengths = np.diff(rows.indptr)
    kept = rows.data >= np.repeat(dropped / np.maximum(lengths, 1), lengths)
    if kept.all():
        return rows
    positions = sparse.csr_array(
        (np.arange(rows.nnz, dtype=np.int64) + 1, rows.indices, rows.indptr), rows.shape
    )
    kept[sparse.csr_array(positions.multiply(step > 0.0)).data - 1] = True
    rows.data[~kept] = 0.0
    rows.eliminate_zeros()
    return rows
