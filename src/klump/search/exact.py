"""``"exact"``: the coarsest partition, finer than a given one, whose groups are exactly lumpable.

Ordinary lumpability: all states of a group lead to each group with the same probability. Since every row sums to
1, the partition into one group is lumpable whatever the chain; only with an initial partition, of states that must
stay apart, is there something to find. Probabilities within the tolerance of each other count as equal. Nothing here
needs a stationary distribution, so that absorbing chains can be lumped too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from klump.chain.validation import Matrix
from klump.search.descent import scored
from klump.search.kernels.blocks import BLOCKS, Partition, Scratch, Transitions
from klump.search.method import Found, Labels, Task

# A chain's rows may be 1e-12 off 1, and long sums are rounded: smaller differences say nothing, whatever is asked for.
_LEAST_TOLERANCE = 1e-11


def exact(task: Task) -> Found:
    """Refine the initial partition, or that into one group, until it is lumpable."""
    chain = task.chain
    initial = np.zeros(chain.n_states, dtype=np.int32) if task.initial is None else task.initial
    labels = refine(chain.transition_matrix, initial, task.tolerance).labels
    if not chain.is_irreducible:  # no stationary distribution, hence no cost
        return Found(labels, np.nan)
    found = scored(task, labels)
    task.report(1, 1, found.cost)
    return found


@dataclass(frozen=True, eq=False)
class Refined:
    """A lumpable partition, and the work it took."""

    labels: Labels
    """The group of each state; groups are numbered in the order of their first states."""
    visits: int
    """How many transitions the splitters looked at."""
    rounds: int
    """How often all groups were checked; 1 if the first check found nothing to correct."""


def refine(matrix: Matrix, initial: Labels, tolerance: float) -> Refined:
    """Coarsest lumpable partition that is finer than the initial one."""
    from klump.search.kernels import refinement as kernels

    tolerance = max(tolerance, _LEAST_TOLERANCE)
    transitions = _transitions(matrix)
    partition = _partition(initial)
    work = _work(len(initial))
    visits, rounds = 0, 0
    while True:
        visits += kernels.refine(transitions, partition, work, tolerance)
        # The weight into the largest part of a block was never looked at: it follows from the others, but their
        # tolerances add up. What has come out too wide is split by that very weight.
        target, spread = _spreads(transitions, partition)
        rounds += 1
        if not (spread > tolerance).any():
            return Refined(_by_first_state(partition.block), visits, rounds)
        kernels.separate(transitions, partition, work, tolerance, partition.block.copy(), target, spread)


def is_lumpable(matrix: Matrix, labels: Labels, tolerance: float) -> bool:
    """Whether the states of a group differ by no more in their probability of leading to any group."""
    _, spread = _spreads(_transitions(matrix), _partition(labels))
    return bool(spread.max() <= max(tolerance, _LEAST_TOLERANCE))


def _transitions(matrix: Matrix) -> Transitions:
    # Dense chains take the same way, so that they get the same sums. A copy: kernels are compiled for writable arrays.
    rows = sparse.csr_array(matrix, copy=True)
    return Transitions(*_compressed(sparse.csc_array(rows)), *_compressed(rows))


def _compressed(matrix: Any) -> tuple[NDArray[np.int64], Labels, NDArray[np.float64]]:
    return matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32, copy=False), matrix.data


def _partition(labels: Labels) -> Partition:
    """Put the states into blocks; all blocks but the largest wait to be splitters, as rows sum to 1."""
    n = len(labels)
    block = _by_first_state(labels)
    elements = np.argsort(block, kind="stable").astype(np.int32)
    place = np.empty(n, dtype=np.int32)
    place[elements] = np.arange(n)
    size = np.bincount(block)
    k = len(size)
    first, end, marked, queue = np.zeros((4, n), dtype=np.int32)
    end[:k] = np.cumsum(size)
    first[:k] = end[:k] - size
    queue[: k - 1] = np.delete(np.arange(k), np.argmax(size))
    return Partition(elements, place, block, first, end, marked, queue, np.array([k, k - 1], dtype=np.int64))


def _work(n: int) -> Scratch:
    states, blocks = np.zeros((2, n), dtype=np.int32)
    return Scratch(np.zeros(n), states, blocks, np.zeros(n + 1, dtype=np.int32))


def _spreads(transitions: Transitions, partition: Partition) -> tuple[Labels, NDArray[np.float64]]:
    from klump.search.kernels.refinement import find_spreads

    k = int(partition.counts[BLOCKS])
    target, spread = np.zeros(k, dtype=np.int32), np.zeros(k)
    find_spreads(transitions, partition, target, spread)
    return target, spread


def _by_first_state(labels: Labels) -> Labels:
    """Number groups in the order of their first states."""
    _, first, numbers = np.unique(labels, return_index=True, return_inverse=True)
    order = np.empty(len(first), dtype=np.int32)
    order[np.argsort(first)] = np.arange(len(first))
    return order[numbers.ravel()]
