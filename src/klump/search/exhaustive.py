"""Exhaustive search over all partitions, the global optimum: ``"auto"`` where partitions are few enough."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from klump.compilation import need
from klump.search.constraints import no_pairs
from klump.search.descent import cost_by_definition
from klump.search.method import EQUAL, Found, Task, report_result


def exhaustive(task: Task) -> Found:
    """Enumerate all partitions into exactly ``n_groups`` groups: the cheapest that satisfies the constraints.

    Ties go to the first.
    """
    from klump.search.kernels.enumeration import cheapest_partition

    n, k = task.chain.n_states, task.n_groups
    with need("few states"):
        joint: Any = task.chain.joint
        joint = np.array(joint.toarray() if sparse.issparse(joint) else joint)
        labels, most, best = (np.zeros(n, dtype=np.int64) for _ in range(3))
        mu = task.chain.stationary_distribution.copy()
        pairs = no_pairs() if task.constraints is None else task.constraints.pairs
        work = np.zeros((n + k + 1, k))
        cheapest_partition(joint, mu, task.objective.weights, pairs, EQUAL, labels, most, work, best)
    # Not by the tables of a search, whose kernels take seconds to compile.
    cost = cost_by_definition(task.chain, best.astype(np.int32), task.objective)
    return report_result(task, Found(best.astype(np.int32), cost, (cost,)))


def n_partitions(n_states: int, n_groups: int, most: int) -> int:
    """Number of partitions, a Stirling number of the second kind, or ``most`` if that is smaller.

    >>> n_partitions(9, 3, 10_000), n_partitions(100, 3, 10_000)
    (3025, 10000)
    """
    row = [1] + [0] * n_groups
    for _ in range(n_states):
        row = [0] + [min(most, group * row[group] + row[group - 1]) for group in range(1, n_groups + 1)]
    return row[n_groups]
