"""States that reach a set with positive probability, or with probability 1."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse import csgraph

from klump.chain.rows import Matrix

Indices = NDArray[np.intp]
Mask = NDArray[np.bool_]


def reaching(matrix: Matrix, target: Indices, avoid: Indices | None = None) -> Mask:
    """Whether each state reaches the set ``target`` with positive probability without visiting ``avoid`` before.

    States of ``target`` and of ``avoid`` are True and False.

    >>> reaching(np.array([[0.5, 0.5, 0], [0, 1.0, 0], [0.5, 0, 0.5]]), np.array([1])).tolist()
    [True, True, True]
    """
    n = matrix.shape[0]
    graph = sparse.csr_array(matrix)
    if avoid is not None and len(avoid):
        open_rows = np.ones(n)
        open_rows[avoid] = 0.0
        graph = sparse.csr_array(sparse.diags_array(open_rows) @ graph)
        graph.eliminate_zeros()
    # Breadth-first search against the transitions, from a further state that leads to the set.
    start = sparse.csr_array((np.ones(len(target)), (np.zeros(len(target), int), target)), shape=(1, n))
    backward = sparse.csr_array(
        sparse.block_array([[graph.T, sparse.csr_array((n, 1))], [start, sparse.csr_array((1, 1))]])
    )
    order = csgraph.breadth_first_order(backward, n, return_predecessors=False)
    found = np.zeros(n + 1, dtype=bool)
    found[order] = True
    return found[:n]


def surely_reaching(matrix: Matrix, target: Indices) -> Mask:
    """Whether each state reaches the set ``target`` with probability 1.

    A state does not if it may get, outside of the set, to a state that cannot reach it.

    >>> surely_reaching(np.array([[0.5, 0.25, 0.25], [0, 1.0, 0], [0, 0, 1.0]]), np.array([1])).tolist()
    [False, True, False]
    """
    lost = np.flatnonzero(~reaching(matrix, target))
    if not lost.size:
        return np.ones(matrix.shape[0], dtype=bool)
    return ~reaching(matrix, lost, avoid=target)
