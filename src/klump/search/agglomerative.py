"""``"agglomerative"``: greedy merging, from single states to one group.

``"agglomerative"`` merges by the cost of the target objective (at beta = 1/2 this is Vidyasagar's aggregation).
``"agglomerative-relaxed"`` is the method of Geiger et al.: it merges by the upper bound I(X1;X2) - I(X2;Y1) of the cost
of lumpability, which is the agglomerative information bottleneck with the roles of X1 and X2 exchanged; its answer is
scored under the target objective like any other.

The record holds the complete merge tree: see :class:`klump.AggregationTree`. Memory is quadratic in the number of
initial groups, so a large chain needs an ``initial`` map.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from klump.chain import MarkovChain
from klump.errors import InvalidArgumentError, Setting
from klump.search.descent import cost_of, score
from klump.search.kernels.tables import Weights
from klump.search.merging import Merging, NumpyMerging
from klump.search.method import Found, Labels, Record, Task
from klump.search.objective import Objective
from klump.search.problem import SMALL

# Memory limit of the arrays, in bytes: leaves room for the chain on a machine with 4 GB.
_MAX_MEMORY = 2_500_000_000
# Mergers per kernel call; progress is reported, and Ctrl-C handled, between calls.
_MERGERS_PER_CALL = 50


def agglomerative(task: Task) -> Found:
    """Merge greedily by the task's objective."""
    return _merge(task, relaxed=False)


def agglomerative_relaxed(task: Task) -> Found:
    """Merge greedily by I(X1;X2) - I(X2;Y1)."""
    return _merge(task, relaxed=True)


def _merge(task: Task, *, relaxed: bool) -> Found:
    record = merge_tree(task, relaxed=relaxed)
    return score(task, labels_after(record, task.n_groups), record)


def labels_after(record: Record, n_groups: int) -> Labels:
    """Labels of the states at the level of the merge tree with ``n_groups`` groups."""
    leaf, first, second = (record.columns[name] for name in ("leaf", "first", "second"))
    return groups_after(np.stack([first, second], axis=1), len(first) + 1 - n_groups)[leaf]


def groups_after(pairs: NDArray[np.int64], steps: int) -> Labels:
    """Group of each leaf of the merge tree after the first ``steps`` mergers."""
    count = len(pairs) + 1
    group = np.arange(count + steps)
    for step in range(steps - 1, -1, -1):
        group[pairs[step]] = group[count + step]
    _, numbers = np.unique(group[:count], return_inverse=True)
    return numbers.astype(np.int32)


def merge_tree(task: Task, *, relaxed: bool) -> Record:
    """Merge states, or the groups of the initial map, down to one; the record of mergers and their prices."""
    leaf = np.arange(task.chain.n_states, dtype=np.int32) if task.initial is None else task.initial
    weights = Objective(1.0).weights if relaxed else task.objective.weights
    count = int(leaf.max()) + 1
    _check_memory(task.chain, count, weights)
    joint = task.chain.joint.T if relaxed else task.chain.joint
    # On a small chain NumPy takes up to 0.15 s, and the compilation of the kernels ten times as long or longer.
    kind = NumpyMerging if task.chain.n_states <= SMALL else Merging
    merging = kind(joint, task.chain.stationary_distribution, leaf, weights)
    mergers, cost = count - task.n_groups, np.inf
    for remaining in range(count - _MERGERS_PER_CALL, -_MERGERS_PER_CALL, -_MERGERS_PER_CALL):
        merging.run(max(remaining, 1))
        done = count - max(remaining, 1)
        # Before, there are more groups than n_groups: that cost would be too low.
        if task.progress is not None and cost == np.inf and done >= mergers:
            cost = cost_of(task, groups_after(merging.pairs, mergers)[leaf])
        task.report(max(done, 1), max(count - 1, 1), cost)
    return Record(
        "relaxed merges" if relaxed else "merges",
        {
            "leaf": np.array(leaf),
            "first": merging.pairs[:, 0].copy(),
            "second": merging.pairs[:, 1].copy(),
            "cost": merging.prices,
        },
    )


def _check_memory(chain: MarkovChain, count: int, weights: Weights) -> None:
    bytes_per_pair = 4 if weights.flow == 0.0 else 4 + 2 * (8 + 4)
    bytes_per_state = 0 if weights.into == 0.0 else 8 + 4
    needed = count * (count * bytes_per_pair + chain.n_states * bytes_per_state)
    if needed > _MAX_MEMORY:
        raise InvalidArgumentError(
            f"merging {count:,} groups one by one would take {needed / 1e9:.1f} GB",
            remedy=(
                "pass ",
                Setting("initial"),
                " with at most a few thousand groups, as another method finds them",
            ),
        )
