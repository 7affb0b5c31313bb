"""``"sequential"``: Algorithm 1 of the paper, restarted from random maps, under the target objective.

States are visited in order of their number. A state moves only if that lowers the cost by more than rounding, to the
cheapest group; the tie-break is the lowest group number. An initial map replaces the random ones.
"""

from __future__ import annotations

import numpy as np

from klump.search.descent import cost_of, descend, random_labels
from klump.search.kernels.tables import Problem
from klump.search.method import Found, Labels, Task, better, run_interruptible
from klump.search.objective import Objective

_KEY = 1


def sequential(task: Task) -> Found:
    """Best of ``n_init`` restarts; one run if an initial map is given."""
    return best_descent(task, task.objective, _KEY)


def best_descent(task: Task, objective: Objective, key: int) -> Found:
    """Restart Algorithm 1 under ``objective`` and return the best result."""
    return run_interruptible(_Restarts(task, objective, key))


class _Restarts:
    """State of the restarts: the incumbent."""

    def __init__(self, task: Task, objective: Objective, key: int) -> None:
        self.task, self.objective, self.key = task, objective, key
        self.best: Found | None = None

    def run(self) -> None:
        task, objective = self.task, self.objective
        n_starts = 1 if task.initial is not None else task.n_init
        fixed = (task.n_groups, objective, task.max_sweeps, task.allow_empty, task.offset(objective))
        calls = (
            (task.problem, _initial_labels(task, self.key, number), *fixed) for number in range(n_starts)
        )
        for done, found in enumerate(task.run_all(_run_descent, calls), start=1):
            self.best = better(self.best, found)
            task.report(done, n_starts, _target_cost(task, self.best, objective))


def _target_cost(task: Task, found: Found, objective: Objective) -> float:
    """Cost under the task's own objective, for the progress report."""
    if task.progress is None or objective == task.objective:
        return found.cost
    return cost_of(task, found.labels)


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
