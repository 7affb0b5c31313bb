"""The symmetric matrix with the eigenvalues of a reversible chain, also where stationary masses underflow to 0."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse import csgraph

from klump.chain.rows import Matrix

Floats = NDArray[np.float64]

# Largest difference of log(P[i, j] / P[j, i]) from the difference of the log masses, per step from the first state.
_MAX_DIFFERENCE = 1e-10


def underflows(mu: Floats) -> bool:
    """Whether a mass is below the normal numbers of float64, and so has no relative accuracy."""
    return bool(mu.min() < np.finfo(np.float64).tiny)


def symmetric_form(matrix: Matrix) -> Matrix:
    """diag(mu)^1/2 A diag(mu)^-1/2 of a matrix A with mu[i] A[i, j] = mu[j] A[j, i], without mu.

    Its entries are sqrt(A[i, j] A[j, i]) with the sign of both; 0 where rounding gives them different signs.

    >>> symmetric_form(np.array([[0.5, 0.5], [0.02, 0.98]]))
    array([[0.5 , 0.1 ], [0.1 , 0.98]])
    """
    if isinstance(matrix, sparse.csr_array):
        root = matrix.sqrt()
        return sparse.csr_array(root.multiply(root.T))
    # The roots are multiplied, as a product of the entries may underflow.
    root, sign = np.sqrt(np.abs(matrix)), np.sign(matrix)
    return np.asarray(np.where(sign == sign.T, sign * root * root.T, 0.0))


def has_symmetric_form(matrix: Matrix, mu: Floats) -> bool:
    """Whether a chain that satisfies detailed balance does so too where masses underflow.

    There both flows between two states are 0, whatever the transitions are: logarithms of the masses tell.

    >>> P = np.array([[0.5, 0.5, 0], [0, 0.5, 0.5], [0.5, 0, 0.5]])
    >>> has_symmetric_form(P, np.array([1.0, 0.0, 0.0])), has_symmetric_form((P + P.T) / 2, np.array([1.0, 0.0, 0.0]))
    (False, True)
    """
    if not underflows(mu):
        return True
    forward = sparse.csr_array(matrix, copy=True)
    forward.eliminate_zeros()
    forward.sort_indices()
    backward = sparse.csr_array(forward.T)
    backward.sort_indices()
    if not (
        np.array_equal(forward.indptr, backward.indptr) and np.array_equal(forward.indices, backward.indices)
    ):
        return False
    steps = np.log(forward.data) - np.log(backward.data)
    row = np.repeat(np.arange(len(mu)), np.diff(forward.indptr))
    position = sparse.csr_array((np.arange(1, len(row) + 1), forward.indices, forward.indptr), forward.shape)
    order, before = csgraph.breadth_first_order(position, int(np.argmax(mu)))
    edges = np.asarray(position[before[order[1:]], order[1:]]).ravel() - 1
    log_mass = np.zeros(len(mu))
    for state, edge in zip(order[1:].tolist(), edges.tolist(), strict=True):
        log_mass[state] = log_mass[before[state]] + steps[edge]
    difference = np.abs(log_mass[row] + steps - log_mass[forward.indices])
    return bool(difference.max() <= _MAX_DIFFERENCE * len(mu))
