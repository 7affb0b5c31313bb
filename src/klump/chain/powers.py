"""Powers of transition matrices: the chain seen at every so many steps."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from klump.chain.validation import Matrix
from klump.errors import InvalidArgumentError

# A sparse matrix fills up: beyond so many states it must stay below so many transitions, and up to so many states it
# goes on as a dense one once this share of it is filled.
STATES, TRANSITIONS, _FILLED = 5_000, 20_000_000, 0.1
# Products are made in pieces of about so many multiplications.
_PIECE = 20_000_000
# Lighter states have no digits left to correct.
_LIGHT = 1e-290


def power(matrix: Matrix, mu: NDArray[np.float64], exponent: int) -> Matrix:
    """Power of a transition matrix with stationary law ``mu``, by repeated squaring."""
    found: Matrix | None = None
    for bit in range(exponent.bit_length()):
        if bit > 0:
            matrix = product(matrix, matrix, mu)
        if exponent >> bit & 1:
            found = matrix if found is None else product(found, matrix, mu)
    assert found is not None
    return found


def product(a: Matrix, b: Matrix, mu: NDArray[np.float64]) -> Matrix:
    """Product of two transition matrices with the same stationary law, which is corrected to have it too.

    Without that, rounding would double with every squaring.
    """
    n = mu.size
    if n <= STATES and max(_share(a), _share(b)) > _FILLED:
        found: Matrix = _dense(a) @ _dense(b)
    elif isinstance(a, sparse.csr_array) and isinstance(b, sparse.csr_array):
        found = _sparse_product(a, b)
    else:
        found = np.asarray(a @ b)
    return _with_law(found, mu)


def _share(matrix: Matrix) -> float:
    return matrix.nnz / matrix.shape[0] ** 2 if isinstance(matrix, sparse.csr_array) else 1.0


def _dense(matrix: Matrix) -> NDArray[np.float64]:
    return np.asarray(matrix.toarray() if isinstance(matrix, sparse.csr_array) else matrix)


def _sparse_product(a: sparse.csr_array, b: sparse.csr_array) -> sparse.csr_array:
    """Product in pieces, so that what gets too large is noticed in time."""
    n = a.shape[0]
    effort = np.concatenate([[0], np.cumsum(a.astype(bool).astype(np.int64) @ np.diff(b.indptr))])
    bounds = [0, *np.searchsorted(effort, np.arange(_PIECE, effort[-1], _PIECE)).tolist(), n]
    pieces: list[sparse.csr_array] = []
    for begin, end in pairwise(bounds):
        pieces.append(sparse.csr_array(a[begin:end] @ b))
        filled = sum(piece.nnz for piece in pieces)
        if n > STATES and filled > TRANSITIONS:
            raise InvalidArgumentError(
                f"they link more than {TRANSITIONS:,} pairs of the {n:,} states; take fewer, "
                f"or at most {STATES:,} states"
            )
    return sparse.csr_array(sparse.vstack(pieces, format="csr"))


def _with_law(matrix: Matrix, mu: NDArray[np.float64]) -> Matrix:
    """Correct a matrix, in place, by factors that differ from 1 only by rounding: columns first, then rows."""
    reached = mu @ matrix
    heavy = (reached > _LIGHT) & (mu > _LIGHT)
    factor = np.divide(mu, reached, out=np.ones_like(mu), where=heavy)
    if isinstance(matrix, sparse.csr_array):
        matrix.eliminate_zeros()
        matrix.data *= factor[matrix.indices]
        matrix.data /= np.repeat(np.asarray(matrix.sum(axis=1)), np.diff(matrix.indptr))
    else:
        matrix *= factor
        matrix /= matrix.sum(axis=1, keepdims=True)
    return matrix
