"""Absorption probabilities and committors, without subtractions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from klump.chain.rows import Matrix
from klump.dynamics.killed import solve_killed
from klump.dynamics.passage import Indices, killed_chain
from klump.dynamics.reachability import reaching

Floats = NDArray[np.float64]


def absorption(matrix: Matrix, targets: Sequence[Indices]) -> Floats:
    """Probability, per state and target set, that the chain gets to this set before any other; n x m.

    Rows sum to 1 where the chain gets to one of the sets with probability 1.

    >>> absorption(np.array([[0.5, 0.3, 0.2], [0, 1.0, 0], [0, 0, 1.0]]), [np.array([1]), np.array([2])])
    array([[0.6, 0.4], [1. , 0. ], [0. , 1. ]])
    """
    n, m = matrix.shape[0], len(targets)
    found = np.zeros((n, m))
    union = np.concatenate(targets)
    for column, members in enumerate(targets):
        found[members, column] = 1.0
    free_mask = reaching(matrix, union)
    free_mask[union] = False
    free = np.flatnonzero(free_mask)
    lost = np.ones(n)
    lost[free] = lost[union] = 0.0
    weights, exit_rate = killed_chain(matrix, free, union)
    # Steps to states that never reach a set end the chain as well, and pay nothing.
    exit_rate = exit_rate + np.asarray(matrix[free] @ lost)
    found[free] = solve_killed(weights, exit_rate, np.asarray(matrix[free] @ found))
    return np.minimum(found, 1.0)


def committor(matrix: Matrix, source: Indices, target: Indices) -> Floats:
    """Probability per state that the chain gets to ``target`` before ``source``.

    >>> committor(np.array([[0.9, 0.1, 0.0], [0.5, 0.0, 0.5], [0.0, 0.1, 0.9]]), np.array([0]), np.array([2]))
    array([0. , 0.5, 1. ])
    """
    return np.ascontiguousarray(absorption(matrix, [source, target])[:, 1])


def reverse(matrix: Matrix, mu: Floats) -> Matrix:
    """Time-reversed chain, with P*[i, j] = mu[j] P[j, i] / mu[i]."""
    if isinstance(matrix, sparse.csr_array):
        return sparse.csr_array(sparse.diags_array(1.0 / mu) @ (matrix.T @ sparse.diags_array(mu)))
    return np.asarray(matrix.T * mu / mu[:, None])
