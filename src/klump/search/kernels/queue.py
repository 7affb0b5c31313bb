"""Which states to visit again: those whose prices changed since their last visit by more than B did."""

from __future__ import annotations

import numpy as np

from klump.compilation import inlined, kernel
from klump.search.kernels.tables import SparseProblem, Waiting

# Marks of a state: a neighbour moved; its row of A changed.
WAITS = np.uint8(1)
ROW_CHANGED = np.uint8(2)


@inlined
def enqueue(problem: SparseProblem, x: int, waiting: Waiting) -> None:
    """Mark the successors of state x, which moved, and its predecessors, whose rows of A changed."""
    for p in range(problem.out_indptr[x], problem.out_indptr[x + 1]):
        y = problem.out_indices[p]
        waiting[y] = max(waiting[y], WAITS)
    for p in range(problem.indptr[x], problem.indptr[x + 1]):
        waiting[problem.indices[p]] = ROW_CHANGED


@kernel(allocates=False)
def enqueue_siblings(
    problem: SparseProblem,  # in
    waiting: Waiting,  # in, out: (n,)
) -> None:
    """Where A has a weight, mark the successors of every state whose row of A changed, once per row."""
    for i in range(waiting.size):
        if waiting[i] == ROW_CHANGED:
            for p in range(problem.out_indptr[i], problem.out_indptr[i + 1]):
                y = problem.out_indices[p]
                waiting[y] = max(waiting[y], WAITS)
