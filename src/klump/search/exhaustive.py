"""All partitions of a few states: what ``"auto"`` looks at where there are not many, for the optimum is among them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse

from klump.search.descent import scored
from klump.search.method import EQUAL, Found, Task


def exhaustive(task: Task) -> Found:
    """Price every partition into exactly ``n_groups`` groups, and take the first of the cheapest."""
    from klump.search.kernels.enumeration import cheapest

    n, k = task.chain.n_states, task.n_groups
    joint: Any = task.chain.joint
    joint = np.array(joint.toarray() if sparse.issparse(joint) else joint)
    labels, most, best = (np.zeros(n, dtype=np.int64) for _ in range(3))
    mu = task.chain.stationary_distribution.copy()
    cheapest(joint, mu, task.objective.weights, EQUAL, labels, most, np.zeros((n + k + 1, k)), best)
    found = scored(task, best.astype(np.int32))
    try:
        task.report(1, 1, found.cost)
    except KeyboardInterrupt:  # who was asked to stop gets what there is
        return replace(found, interrupted=True)
    return found


def n_partitions(n_states: int, n_groups: int, most: int) -> int:
    """Count the partitions of states into groups (a Stirling number), or say ``most`` if there are more.

    >>> n_partitions(9, 3, 10_000), n_partitions(100, 3, 10_000)
    (3025, 10000)
    """
    row = [1] + [0] * n_groups
    for _ in range(n_states):
        row = [0] + [min(most, group * row[group] + row[group - 1]) for group in range(1, n_groups + 1)]
    return row[n_groups]
