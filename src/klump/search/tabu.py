"""Tabu search on small chains, between the local optima of which descent cannot move."""

from __future__ import annotations

import numpy as np

from klump.search.kernels.tables import DenseProblem
from klump.search.kernels.tabu import TabuTable
from klump.search.method import Labels
from klump.search.objective import Objective

# Tenure: steps for which a move must not be undone. Uniform between _LEAST_TENURE and twice as many. Empirical: half
# of it returns to the same optima, twice of it walks past better ones.
_LEAST_TENURE = 10
# States per step of the least tenure, at least: on fewer states most moves would be tabu.
_STATES_PER_TENURE = 4


def tabu_search(
    problem: DenseProblem,
    labels: Labels,
    n_groups: int,
    objective: Objective,
    n_steps: int,
    rng: np.random.Generator,
) -> Labels:
    """Cheapest partition on the way of ``n_steps`` moves; the given one if none is cheaper."""
    from klump.search.kernels.tabu import tabu_search as search

    least = max(1, min(_LEAST_TENURE, labels.size // _STATES_PER_TENURE))
    table = _make_table(problem, labels, n_groups)
    search(problem, table, objective.weights, rng.integers(least, 2 * least + 1, n_steps))
    return table.best


def _make_table(problem: DenseProblem, labels: Labels, n_groups: int) -> TabuTable:
    n, k = labels.size, n_groups
    members = np.zeros((k, n))
    members[labels, np.arange(n)] = 1.0
    into = members @ problem.columns
    return TabuTable(
        labels=labels.astype(np.int32),
        best=labels.astype(np.int32),
        size=np.bincount(labels, minlength=k),
        nu=members @ problem.mu,
        into=into,
        back=members @ problem.rows,
        flow=np.ascontiguousarray(members @ into.T),
        elsewhere=1.0 - members,
        gain=np.zeros((k, n)),
        pairs=np.zeros((k, k, n)),
        leave=np.zeros(n),
        price=np.zeros((k, n)),
        tabu_until=np.zeros((k, n), dtype=np.int64),
        home_into=np.zeros(n),
        home_back=np.zeros(n),
        forth=np.zeros(n),
        reverse=np.zeros(n),
    )
