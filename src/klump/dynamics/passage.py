"""Mean first-passage times, without subtractions."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from klump.chain.block_elimination import factorise_killed
from klump.chain.rows import Matrix
from klump.dynamics.killed import DenseFactors, solve_killed
from klump.dynamics.reachability import surely_reaching

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]


def hitting_times(matrix: Matrix, target: Indices) -> Floats:
    """Expected number of steps from each state until the chain is in the set ``target``; 0 in the set itself.

    Infinite where the set is not reached with probability 1.

    >>> hitting_times(np.array([[0.9, 0.1, 0.0], [0.5, 0.0, 0.5], [0.0, 0.1, 0.9]]), np.array([0]))
    array([ 0., 12., 22.])
    """
    n = matrix.shape[0]
    times = np.full(n, np.inf)
    times[target] = 0.0
    sure = surely_reaching(matrix, target)
    sure[target] = False
    free = np.flatnonzero(sure)
    weights, exit_rate = killed_chain(matrix, free, target)
    times[free] = solve_killed(weights, exit_rate, np.ones((len(free), 1)))[:, 0]
    return times


def killed_chain(matrix: Matrix, free: Indices, target: Indices) -> tuple[Matrix, Floats]:
    """Transitions among the states ``free``, and the probability per step of a transition to ``target``."""
    rows = matrix[free]
    into = np.zeros(matrix.shape[0])
    into[target] = 1.0
    within = rows[:, free]
    return sparse.csr_array(within) if sparse.issparse(within) else within, np.asarray(rows @ into)


def first_passage_matrix(matrix: Matrix) -> Floats:
    """Mean first-passage times between all states, in O(n^3) and without subtractions; 0 on the diagonal.

    Halve the states: the times to the targets of one half are those of the chain censored to that half, in which a
    visit to the other half takes as long as it takes on average. Their recursion has the cost of a few matrix products.

    >>> first_passage_matrix(np.array([[0.9, 0.1, 0.0], [0.5, 0.0, 0.5], [0.0, 0.1, 0.9]]))
    array([[ 0., 10., 22.], [12.,  0., 12.], [22., 10.,  0.]])
    """
    n = matrix.shape[0]
    dense = matrix.toarray() if isinstance(matrix, sparse.csr_array) else np.array(matrix)
    np.fill_diagonal(dense, 0.0)
    with np.errstate(all="ignore"):
        return _passage(dense, np.ones(n))


def _passage(weights: Floats, times: Floats) -> Floats:
    """First-passage times of a semi-Markov chain that pays ``times[i]`` per unit of rate in state i."""
    n = len(weights)
    if n == 1:
        return np.zeros((1, 1))
    if n == 2:
        return np.array([[0.0, times[0] / weights[0, 1]], [times[1] / weights[1, 0], 0.0]])
    found = np.empty((n, n))
    half = n // 2
    first, second = slice(0, half), slice(half, n)
    for kept, left in ((first, second), (second, first)):
        back = weights[left, kept]
        factors = DenseFactors(factorise_killed(weights[left, left].copy(), back.sum(axis=1)))
        solved = factors.solve(np.column_stack([back, times[left]]))
        arrival, duration = solved[:, :-1], solved[:, -1]
        out = weights[kept, left]
        censored = weights[kept, kept] + out @ arrival
        np.fill_diagonal(censored, 0.0)
        found[kept, kept] = _passage(censored, times[kept] + out @ duration)
        found[left, kept] = duration[:, None] + arrival @ found[kept, kept]
    return found


def group_inverse_times(matrix: Floats, nu: Floats) -> Floats:
    """First-passage times (Z[j, j] - Z[i, j]) / nu[j] with Z = (I - Q + 1 nu^T)^-1, also if entries are negative."""
    z = np.linalg.inv(np.eye(len(nu)) - matrix + nu)
    return np.asarray((z.diagonal() - z) / nu)
