"""``"agglomerative"``: merge the two groups whose merger costs least, from single states to one group.

``"agglomerative"`` merges by the true cost of the target objective (at beta = 1/2 this is Vidyasagar's aggregation).
``"agglomerative-relaxed"`` is the method of Geiger et al.: it merges by the bound I(X1;X2) - I(X2;Y1) of the cost of
lumpability, which is the agglomerative information bottleneck with the roles of X1 and X2 exchanged; its answer is
scored by the target objective like any other.

The whole way from all groups to one is recorded: see :class:`klump.AggregationTree`. Greedy merging needs a number for
each pair of groups, so a large chain must be given to it in groups (``initial``).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from klump.chain import MarkovChain
from klump.errors import InvalidArgumentError, Setting
from klump.search.descent import cost_of, scored
from klump.search.kernels.tables import Weights
from klump.search.method import Found, Labels, Record, Task
from klump.search.objective import Objective

Floats = NDArray[np.float64]

# Memory that may be used, in bytes.
_ROOM = 2_500_000_000
# Mergers between two reports of progress, and pairs that are bounded at a time: in between Ctrl-C is heard.
_CHUNK, _PAIRS = 50, 100_000


def agglomerative(task: Task) -> Found:
    """Merge greedily by the cost of the task's objective."""
    return _merged(task, relaxed=False)


def agglomerative_relaxed(task: Task) -> Found:
    """Merge greedily by I(X1;X2) - I(X2;Y1)."""
    return _merged(task, relaxed=True)


def _merged(task: Task, *, relaxed: bool) -> Found:
    record = merge_tree(task, relaxed=relaxed)
    return scored(task, labels_after(record, task.n_groups), record)


def labels_after(record: Record, n_groups: int) -> Labels:
    """Groups of the states when so many groups were left."""
    leaf, first, second = (record.columns[name] for name in ("leaf", "first", "second"))
    return groups_after(np.stack([first, second], axis=1), len(first) + 1 - n_groups)[leaf]


def groups_after(pairs: NDArray[np.int64], steps: int) -> Labels:
    """Number of the group that each leaf was in after so many of the mergers that make one group of all."""
    count = len(pairs) + 1
    group = np.arange(count + steps)
    for step in range(steps - 1, -1, -1):
        group[pairs[step]] = group[count + step]
    _, numbers = np.unique(group[:count], return_inverse=True)
    return numbers.astype(np.int32)


def merge_tree(task: Task, *, relaxed: bool) -> Record:
    """Merge states, or the groups of the initial map, down to one; write down every merger and what it cost."""
    leaf = np.arange(task.chain.n_states, dtype=np.int32) if task.initial is None else task.initial
    weights = Objective(1.0).weights if relaxed else task.objective.weights
    count = int(leaf.max()) + 1
    _check_room(task.chain, count, weights)
    joint = task.chain.joint.T if relaxed else task.chain.joint
    merging = Merging(joint, task.chain.stationary_distribution, leaf, weights)
    cost = cost_of(task, leaf)
    for left in range(count - _CHUNK, -_CHUNK, -_CHUNK):
        merging.run(max(left, 1))
        done = count - max(left, 1)
        # The relaxed cost is not what who watches waits for; the true one is known when all is done.
        task.report(done, max(count - 1, 1), cost if relaxed else cost + float(merging.prices[:done].sum()))
    return Record(
        "relaxed merges" if relaxed else "merges",
        {
            "leaf": np.array(leaf),
            "first": merging.pairs[:, 0].copy(),
            "second": merging.pairs[:, 1].copy(),
            "cost": merging.prices,
        },
    )


def _check_room(chain: MarkovChain, count: int, weights: Weights) -> None:
    by_pair = 4 if weights.flow == 0.0 else 4 + 2 * (8 + 4)
    by_state = 0 if weights.into == 0.0 else 8 + 4
    needed = count * (count * by_pair + chain.n_states * by_state)
    if needed > _ROOM:
        raise InvalidArgumentError(
            f"merging {count:,} groups one by one would take {needed / 1e9:.1f} GB",
            remedy=(
                "pass ",
                Setting("initial"),
                " with at most a few thousand groups, as another method finds them",
            ),
        )


class Merging:
    """Groups that are merged step by step; ``pairs`` and ``prices`` tell of the steps done."""

    def __init__(self, joint: Any, mu: Floats, leaf: Labels, weights: Weights) -> None:
        from klump.search.kernels.merging import Groups

        count = int(leaf.max()) + 1
        self.weight_into, self.weight_flow = weights.into, -weights.flow
        self.pairs = np.zeros((count - 1, 2), dtype=np.int64)
        self.prices = np.zeros(count - 1)
        self.priced = 0
        to_groups = _by_group(joint, leaf, count)
        into = np.zeros((count, 0)) if weights.into == 0.0 else _dense(to_groups.T)
        back = np.zeros((0, 0)) if weights.flow == 0.0 else _dense(_by_group(to_groups.T, leaf, count))
        flow = back.T.copy()
        self.groups = Groups(
            into,
            flow,
            back,
            into.astype(np.float32),
            flow.astype(np.float32),
            back.astype(np.float32),
            np.asarray(np.bincount(leaf, weights=mu, minlength=count), dtype=np.float64),
            np.zeros((count, count), dtype=np.float32),
            np.zeros(count, dtype=np.float32),
            np.zeros((3, count)),
            np.zeros((6, count), dtype=np.float32),
            np.zeros(count),
            np.arange(count),
            np.array([count]),
        )
        self._bound(single_states=count == len(leaf) and weights.flow > 0.0)

    def _bound(self, *, single_states: bool) -> None:
        """Bound all prices, so many at a time that Ctrl-C is heard."""
        from klump.search.kernels.merging import TILE, begin, bound_rows

        begin(self.groups)
        count = len(self.groups.nu)
        rows = TILE * max(1, _PAIRS // (TILE * count))
        for first in range(0, count, rows):
            end = min(first + rows, count)
            bound_rows(self.groups, self.weight_into, self.weight_flow, single_states, first, end)

    def run(self, until: int) -> None:
        """Merge until so many groups are left."""
        from klump.search.kernels.merging import merge

        self.priced += merge(self.groups, self.weight_into, self.weight_flow, until, self.pairs, self.prices)


def _by_group(matrix: Any, leaf: Labels, count: int) -> Any:
    """Add up the columns of each group."""
    n = len(leaf)
    if count == n:
        return matrix[:, np.argsort(leaf)]
    return matrix @ sparse.csr_array((np.ones(n), leaf, np.arange(n + 1)), shape=(n, count))


def _dense(matrix: Any) -> Floats:
    """Rows one after the other, and nobody else's: they will be used up."""
    return np.array(matrix.toarray() if sparse.issparse(matrix) else matrix, dtype=np.float64, order="C")
