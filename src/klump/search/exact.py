"""``"exact"``: the coarsest partition, finer than a given one, whose groups are exactly lumpable.

Ordinary lumpability: all states of a group have the same probability of a transition to each group. Since every row
sums to 1, the partition into one group is always lumpable; a nontrivial result needs an initial partition, whose groups
are never merged. Probabilities within the tolerance of each other count as equal. No stationary distribution is needed,
so absorbing chains can be lumped too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from klump.chain.validation import Matrix
from klump.search.descent import cost_by_definition
from klump.search.kernels.blocks import BLOCKS, Partition, Scratch, Transitions
from klump.search.method import Found, Labels, Task, report_result

# Least tolerance, a probability: row sums may differ from 1 by 1e-12, and long sums are rounded.
_LEAST_TOLERANCE = 1e-11


def exact(task: Task) -> Found:
    """Partition refinement from the initial partition, by default the one into a single group."""
    chain = task.chain
    initial = np.zeros(chain.n_states, dtype=np.int32) if task.initial is None else task.initial
    if task.constraints is not None:
        colours = task.constraints.colour[task.constraints.unit]
        initial = _renumber(initial * (np.int64(colours.max()) + 1) + colours)
    labels = refine(chain.transition_matrix, initial, task.tolerance).labels
    if not chain.is_irreducible:  # no stationary distribution, hence no cost
        return report_result(task, Found(labels, np.nan))
    # Not by the tables of a search, whose kernels take seconds to compile.
    cost = cost_by_definition(chain, labels, task.objective)
    return report_result(task, Found(labels, cost, (cost,)))


@dataclass(frozen=True, eq=False)
class LumpablePartition:
    """A lumpable partition, and counts of operations."""

    labels: Labels
    """The group of each state; groups are numbered in the order of their first states."""
    visits: int
    """Transitions visited by splitters."""
    rounds: int
    """Checks of all groups; 1 if the first check found no violation."""


def refine(matrix: Matrix, initial: Labels, tolerance: float) -> LumpablePartition:
    """Coarsest lumpable refinement of the initial partition."""
    from klump.search.kernels import refinement as kernels

    tolerance = max(tolerance, _LEAST_TOLERANCE)
    transitions = _transitions(matrix)
    partition = _partition(initial)
    scratch = _scratch(len(initial))
    visits, rounds = 0, 0
    while True:
        visits += kernels.refine(transitions, partition, scratch, tolerance)
        # The largest part of a split block is never a splitter: the weight into it follows from the other parts, but
        # their tolerances add up. Blocks whose spread exceeds the tolerance are split by that weight.
        target, spread = _spreads(transitions, partition)
        rounds += 1
        if not (spread > tolerance).any():
            return LumpablePartition(_renumber(partition.block), visits, rounds)
        kernels.separate(transitions, partition, scratch, tolerance, partition.block.copy(), target, spread)


def is_lumpable(matrix: Matrix, labels: Labels, tolerance: float) -> bool:
    """Whether, within each group, transition probabilities to each group differ by at most the tolerance."""
    _, spread = _spreads(_transitions(matrix), _partition(labels))
    return bool(spread.max() <= max(tolerance, _LEAST_TOLERANCE))


def _transitions(matrix: Matrix) -> Transitions:
    # Dense chains are converted too: sums are rounded equally. A copy: kernels are compiled for writable arrays.
    rows = sparse.csr_array(matrix, copy=True)
    columns = sparse.csc_array(rows)
    return Transitions(
        indptr=columns.indptr.astype(np.int64),
        indices=columns.indices.astype(np.int32, copy=False),
        data=columns.data,
        out_indptr=rows.indptr.astype(np.int64),
        out_indices=rows.indices.astype(np.int32, copy=False),
        out_data=rows.data,
    )


def _partition(labels: Labels) -> Partition:
    """Blocks of states; all but the largest are queued as splitters, which suffices since rows sum to 1."""
    n = len(labels)
    block = _renumber(labels)
    elements = np.argsort(block, kind="stable").astype(np.int32)
    place = np.empty(n, dtype=np.int32)
    place[elements] = np.arange(n)
    size = np.bincount(block)
    k = len(size)
    first, end, marked, queue = np.zeros((4, n), dtype=np.int32)
    end[:k] = np.cumsum(size)
    first[:k] = end[:k] - size
    queue[: k - 1] = np.delete(np.arange(k), np.argmax(size))
    return Partition(
        elements=elements,
        place=place,
        block=block,
        first=first,
        end=end,
        marked=marked,
        queue=queue,
        counts=np.array([k, k - 1], dtype=np.int64),
    )


def _scratch(n: int) -> Scratch:
    states, blocks = np.zeros((2, n), dtype=np.int32)
    return Scratch(np.zeros(n), states, blocks, np.zeros(n + 1, dtype=np.int32))


def _spreads(transitions: Transitions, partition: Partition) -> tuple[Labels, NDArray[np.float64]]:
    """Per block, the largest spread of its states' probabilities to any one block, and that block."""
    from klump.search.kernels.refinement import find_spreads

    k = int(partition.counts[BLOCKS])
    target, spread = np.zeros(k, dtype=np.int32), np.zeros(k)
    find_spreads(transitions, partition, target, spread)
    return target, spread


def _renumber(labels: NDArray[Any]) -> Labels:
    """Labels with groups numbered in the order of their first states."""
    _, first, numbers = np.unique(labels, return_index=True, return_inverse=True)
    order = np.empty(len(first), dtype=np.int32)
    order[np.argsort(first)] = np.arange(len(first))
    return order[numbers.ravel()]
