"""``"annealing"``: Algorithm 2 of the paper. Algorithm 1 at beta = 1, then at smaller and smaller betas.

The best of ``n_init`` restarts at beta = 1 is annealed, as in the paper's experiments.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from klump.search.descent import descend
from klump.search.method import Found, Task
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
    """One annealing run; what it found at each of the betas (which must decrease)."""
    first = best_descent(task, 1.0, _KEY)
    steps = schedule(betas, task.step)
    found, traces = descend(
        task.problem,
        first.labels,
        task.n_groups,
        steps,
        np.arange(task.chain.n_states),
        max_sweeps=task.max_sweeps,
        allow_empty=task.allow_empty,
    )
    wanted = set(betas)
    path = []
    for beta, labels, trace in zip(steps, found, traces, strict=True):
        if beta in wanted:
            cost = tuple((trace + task.offset(beta)).tolist())
            path.append(Found(labels, cost[-1], cost, first.interrupted))
    return path
