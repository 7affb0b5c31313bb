"""``"annealing"``: Algorithm 2 of the paper. Algorithm 1 at beta = 1, then at smaller and smaller betas.

The best of ``n_init`` restarts at beta = 1 is annealed, as in the paper's experiments.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from klump.search.descent import descend
from klump.search.method import Found, Task
from klump.search.objective import Objective
from klump.search.sequential import best_descent

_KEY = 2
# Betas closer than this are the same step of a schedule.
_SAME = 1e-9


def annealing(task: Task) -> Found:
    """Anneal from beta = 1 to the target."""
    return annealing_path(task, [task.beta])[-1]


def schedule(betas: Sequence[float], step: float) -> list[float]:
    """List 1, 1 - step, 1 - 2 step, ... down to the smallest beta, with all the betas asked for among them."""
    wanted = sorted(set(betas), reverse=True)
    grid = 1.0 - step * np.arange(int(np.ceil((1.0 - wanted[-1]) / step - _SAME)) + 1)
    steps = [g for g in grid if g > wanted[-1] + _SAME and min(abs(g - b) for b in wanted) > _SAME]
    return sorted([*wanted, *steps], reverse=True)


def annealing_path(task: Task, betas: Sequence[float]) -> list[Found]:
    """One annealing run; what it found at each of the betas (which must decrease).

    Algorithm 1 runs once at each beta of the schedule, the first time at beta = 1 from the start map.
    """
    first, *later = (Objective(beta, task.gamma) for beta in schedule(betas, task.step))
    path = [best_descent(task, first, _KEY)]
    found, traces = descend(
        task.problem,
        path[0].labels,
        task.n_groups,
        later,
        np.arange(task.chain.n_states),
        max_sweeps=task.max_sweeps,
        allow_empty=task.allow_empty,
    )
    for objective, labels, trace in zip(later, found, traces, strict=True):
        costs = tuple((trace + task.offset(objective)).tolist())
        path.append(Found(labels, costs[-1], costs, path[0].interrupted))
    wanted = set(betas)
    return [each for each, step in zip(path, [first, *later], strict=True) if step.beta in wanted]
