"""Powers of transition matrices: P^t by repeated squaring."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from klump.chain.validation import Matrix
from klump.errors import InvalidArgumentError

# Largest chain whose powers may become dense, in states: 200 MB per matrix.
MAX_DENSE_STATES = 5_000
# Most transitions of a power of a larger chain: 240 MB at 12 bytes per transition.
MAX_TRANSITIONS = 20_000_000
# Density nnz / n^2 above which dense products are faster.
_DENSE_FROM = 0.1
# Scalar multiplications per row block of a sparse product; bounds the fill-in between two checks of its size.
_BLOCK_PRODUCTS = 20_000_000
# Smallest mass whose correction factor mu / (mu P) is accurate: smaller ones are close to float64 underflow.
_MIN_MASS = 1e-290


def power(matrix: Matrix, mu: NDArray[np.float64], exponent: int) -> Matrix:
    """Power of a transition matrix with stationary distribution ``mu``, by repeated squaring."""
    found: Matrix | None = None
    for bit in range(exponent.bit_length()):
        if bit > 0:
            matrix = product(matrix, matrix, mu)
        if exponent >> bit & 1:
            found = matrix if found is None else product(found, matrix, mu)
    assert found is not None
    return found


def product(a: Matrix, b: Matrix, mu: NDArray[np.float64]) -> Matrix:
    """Product of two transition matrices with stationary distribution ``mu``, rescaled so that ``mu`` is preserved.

    Without rescaling, the rounding error would double with every squaring.
    """
    n = mu.size
    if n <= MAX_DENSE_STATES and max(_density(a), _density(b)) > _DENSE_FROM:
        found: Matrix = _to_dense(a) @ _to_dense(b)
    elif isinstance(a, sparse.csr_array) and isinstance(b, sparse.csr_array):
        found = _sparse_product(a, b)
    else:
        found = np.asarray(a @ b)
    return _restore_stationary(found, mu)


def _density(matrix: Matrix) -> float:
    return matrix.nnz / matrix.shape[0] ** 2 if isinstance(matrix, sparse.csr_array) else 1.0


def _to_dense(matrix: Matrix) -> NDArray[np.float64]:
    return np.asarray(matrix.toarray() if isinstance(matrix, sparse.csr_array) else matrix)


def _sparse_product(a: sparse.csr_array, b: sparse.csr_array) -> sparse.csr_array:
    """Product by row blocks, so that excessive fill-in is detected before it exhausts memory."""
    n = a.shape[0]
    work = np.concatenate([[0], np.cumsum(a.astype(bool).astype(np.int64) @ np.diff(b.indptr))])
    bounds = [0, *np.searchsorted(work, np.arange(_BLOCK_PRODUCTS, work[-1], _BLOCK_PRODUCTS)).tolist(), n]
    blocks: list[sparse.csr_array] = []
    for begin, end in pairwise(bounds):
        blocks.append(sparse.csr_array(a[begin:end] @ b))
        n_transitions = sum(block.nnz for block in blocks)
        if n > MAX_DENSE_STATES and n_transitions > MAX_TRANSITIONS:
            raise InvalidArgumentError(
                f"is too large: a power has more than {MAX_TRANSITIONS:,} transitions between {n:,} states",
                argument="steps",
                remedy=f"take fewer steps, or a chain of at most {MAX_DENSE_STATES:,} states",
            )
    return sparse.csr_array(sparse.vstack(blocks, format="csr"))


def _restore_stationary(matrix: Matrix, mu: NDArray[np.float64]) -> Matrix:
    """Scale columns by mu / (mu P), then rows to sum 1, in place: one step of iterative proportional fitting."""
    next_mu = mu @ matrix
    heavy = (next_mu > _MIN_MASS) & (mu > _MIN_MASS)
    factor = np.divide(mu, next_mu, out=np.ones_like(mu), where=heavy)
    if isinstance(matrix, sparse.csr_array):
        matrix.eliminate_zeros()
        matrix.data *= factor[matrix.indices]
        matrix.data /= np.repeat(np.asarray(matrix.sum(axis=1)), np.diff(matrix.indptr))
    else:
        matrix *= factor
        matrix /= matrix.sum(axis=1, keepdims=True)
    return matrix
