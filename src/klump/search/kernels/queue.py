"""The queue of a sparse search: marks of states whose prices changed otherwise than through B and nu.

When x moves, these are its successors, its predecessors and, where A has a weight, the successors of its predecessors,
because ``A[i, :]`` changed for every predecessor i.
"""

from __future__ import annotations

import numpy as np

from klump.compilation import inlined, kernel
from klump.search.kernels.tables import SparseProblem, Waiting

# Mark of a state that is enqueued.
WAITS = np.uint8(1)
# Mark of a state that is enqueued and whose row of A changed.
ROW_CHANGED = np.uint8(2)


@inlined
def enqueue(problem: SparseProblem, x: int, waiting: Waiting) -> None:
    """Mark the neighbours of state x, which moved: its successors, and its predecessors, whose rows of A changed."""
    for p in range(problem.out_indptr[x], problem.out_indptr[x + 1]):
        j = problem.out_indices[p]
        waiting[j] = max(waiting[j], WAITS)
    for p in range(problem.indptr[x], problem.indptr[x + 1]):
        waiting[problem.indices[p]] = ROW_CHANGED


@kernel(allocates=False)
def enqueue_siblings(
    problem: SparseProblem,  # in
    waiting: Waiting,  # in, out: (n,)
) -> None:
    """Mark the successors of every state whose row of A changed; to be called once per sweep if A has a weight."""
    for i in range(waiting.size):
        if waiting[i] == ROW_CHANGED:
            for p in range(problem.out_indptr[i], problem.out_indptr[i + 1]):
                j = problem.out_indices[p]
                waiting[j] = max(waiting[j], WAITS)
