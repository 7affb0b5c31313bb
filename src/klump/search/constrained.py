"""Local search under constraints."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from klump.search.descent import LocalSearch
from klump.search.kernels.tables import Choice, Problem
from klump.search.method import Labels
from klump.search.objective import Objective
from klump.search.repair import Repair


def make_search(
    problem: Problem,
    labels: Labels,
    n_groups: int,
    objective: Objective,
    order: NDArray[np.int64],
    repair: Repair | None,
) -> LocalSearch:
    """Local search from labels, which satisfy the constraints if there are any."""
    if repair is None:
        return LocalSearch(problem, labels, n_groups, objective, order)
    return ConstrainedSearch(problem, labels, n_groups, objective, order, repair)


class ConstrainedSearch(LocalSearch):
    """Algorithm 1 with units instead of states, which move to groups that may hold them; ``order`` is one of units."""

    def __init__(
        self,
        problem: Problem,
        labels: Labels,
        n_groups: int,
        objective: Objective,
        order: NDArray[np.int64],
        repair: Repair,
    ) -> None:
        super().__init__(problem, labels, n_groups, objective, order)
        constraints = repair.constraints
        self.unit, self.units = constraints.unit, constraints.kernel_units
        self.choice = Choice(np.full(n_groups, -1, dtype=np.int32), np.zeros(n_groups, dtype=np.bool_))

    def sweep(self, order: NDArray[np.int64], tolerance: float, *, allow_empty: bool) -> tuple[int, float]:
        """One pass over units; no group is emptied."""
        from klump.search.kernels.units import sweep_units

        weights = self.objective.weights
        return sweep_units(
            self.problem, self.table, self.work, weights, self.units, self.choice, order, tolerance
        )

    def _waits(self) -> NDArray[np.bool_]:
        """Whether each unit has a state that waits."""
        return np.bincount(self.unit, weights=self.table.waiting) > 0

    def _exchange_singletons(self) -> tuple[int, float]:
        """Exchange nothing: repairs after perturbations do."""
        return 0, 0.0
