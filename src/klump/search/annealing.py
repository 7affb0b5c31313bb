"""``"annealing"``: Algorithm 2 of the paper. Algorithm 1 at beta = 1, then at smaller and smaller betas.

The best of ``n_init`` restarts at beta = 1 is annealed, as in the paper's experiments.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from klump.search.deadline import search_in_progress
from klump.search.descent import descend
from klump.search.method import Found, Task, report_result
from klump.search.objective import Objective
from klump.search.sequential import best_descent, n_restarts

_KEY = 2
# Difference below which two betas of a schedule are equal: rounding error of 1 - step * i, with room to spare.
_SAME = 1e-9


def annealing(task: Task) -> Found:
    """Anneal from beta = 1 to the target."""
    return annealing_path(task, [task.beta])[-1]


def schedule(betas: Sequence[float], step: float) -> list[float]:
    """Decreasing union of ``betas`` and 1, 1 - step, 1 - 2 step, ... down to ``min(betas)``."""
    targets = sorted(set(betas), reverse=True)
    grid = 1.0 - step * np.arange(int(np.ceil((1.0 - targets[-1]) / step - _SAME)) + 1)
    steps = [g for g in grid if g > targets[-1] + _SAME and min(abs(g - b) for b in targets) > _SAME]
    return sorted([*targets, *steps], reverse=True)


def annealing_path(task: Task, betas: Sequence[float]) -> list[Found]:
    """Results of one annealing run at each of ``betas``, which must decrease.

    Algorithm 1 runs once per beta of the schedule: at beta = 1 with restarts, then warm-started from the beta before.
    """
    first, *later = (Objective(beta, task.gamma) for beta in schedule(betas, task.step))
    # Progress steps: the restarts at beta = 1, and one for all other betas.
    path = [best_descent(task, first, _KEY, later_steps=1)]
    # After the deadline the other betas are annealed all the same, unless a search around this one has an incumbent.
    with search_in_progress(lambda: False):
        for objective in later:
            # Annealed from an interrupted restart, a result is not stored either: it has the same mark.
            step = partial(_anneal, task, path[-1], objective)
            path.append(task.once("anneal", step, given=(path[-1].labels, objective)))
    path[-1] = report_result(task, path[-1], n_restarts(task) + 1)
    targets = set(betas)
    return [found for found, step in zip(path, [first, *later], strict=True) if step.beta in targets]


def _anneal(task: Task, before: Found, objective: Objective) -> Found:
    """Algorithm 1 from the result at the beta before."""
    (labels,), (trace,) = descend(
        task.problem,
        before.labels,
        task.n_groups,
        [objective],
        np.arange(task.chain.n_states),
        max_sweeps=task.max_sweeps,
        allow_empty=task.allow_empty,
    )
    costs = tuple((trace + task.offset(objective)).tolist())
    return replace(before, labels=labels, cost=costs[-1], trace=costs)
