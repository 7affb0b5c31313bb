"""``"sequential"``: Algorithm 1 of the paper, restarted from random maps, under the target objective.

States are visited in order of their number. A state moves only if that lowers the cost by more than rounding, to the
cheapest group; the tie-break is the lowest group number. An initial map replaces the random ones.
"""

from __future__ import annotations

import numpy as np

from klump.search.descent import descend, random_labels
from klump.search.kernels.tables import Problem
from klump.search.method import Found, Labels, Task, better, run_interruptible
from klump.search.objective import Objective

_KEY = 1


def sequential(task: Task) -> Found:
    """Best of ``n_init`` restarts; one run if an initial map is given."""
    return best_descent(task, task.objective, _KEY)


def best_descent(task: Task, objective: Objective, key: int, later_steps: int = 0) -> Found:
    """Restart Algorithm 1 under ``objective`` and return the best result; ``later_steps`` are those of the caller."""
    return run_interruptible(_Restarts(task, objective, key, later_steps))


def n_restarts(task: Task) -> int:
    """Number of restarts: one from an initial map, else ``n_init``."""
    return 1 if task.initial is not None else task.n_init


class _Restarts:
    """State of the restarts: the incumbent."""

    def __init__(self, task: Task, objective: Objective, key: int, later_steps: int) -> None:
        self.task, self.objective, self.key = task, objective, key
        self.n_starts = n_restarts(task)
        self.total = self.n_starts + later_steps
        self.best: Found | None = None

    def run(self) -> None:
        task, objective = self.task, self.objective
        fixed = (task.n_groups, objective, task.max_sweeps, task.allow_empty, task.offset(objective))
        calls = (
            (task.problem, _initial_labels(task, self.key, number), *fixed) for number in range(self.n_starts)
        )
        for done, found in enumerate(task.run_all(_run_descent, calls), start=1):
            self.best = better(self.best, found)
            task.report(done, self.total, self.best.cost if objective == task.objective else np.inf)


def _initial_labels(task: Task, key: int, number: int) -> Labels:
    if task.initial is not None:
        return task.initial
    rng = task.rng(key, number)
    return random_labels(task.chain.n_states, task.n_groups, rng, allow_empty=task.allow_empty)


def _run_descent(
    problem: Problem,
    labels: Labels,
    n_groups: int,
    objective: Objective,
    max_sweeps: int,
    allow_empty: bool,
    offset: float,
) -> Found:
    order = np.arange(problem.mu.size)
    found, traces = descend(
        problem, labels, n_groups, [objective], order, max_sweeps=max_sweeps, allow_empty=allow_empty
    )
    trace = tuple((traces[0] + offset).tolist())
    return Found(found[0], trace[-1], trace)
