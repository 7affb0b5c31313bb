"""``"sequential"``: Algorithm 1 of the paper from random maps (or a given one), at the target beta.

States are visited in their own order. A state moves only if that lowers the cost by more than rounding, to
the cheapest group, the one with the lowest number among equals; so a tie never moves a state.
"""

from __future__ import annotations

import numpy as np

from klump.search.descent import cost_of, descend, random_labels
from klump.search.kernels.tables import Problem
from klump.search.method import Found, Labels, Task, best_until_interrupted, better, run_all

_KEY = 1


def sequential(task: Task) -> Found:
    """Best of ``n_init`` descents at the target beta; of one if an initial map is given."""
    return best_descent(task, task.beta, _KEY)


def best_descent(task: Task, beta: float, key: int) -> Found:
    """Restart Algorithm 1 at some beta and keep the best."""
    return best_until_interrupted(_Restarts(task, beta, key))


class _Restarts:
    def __init__(self, task: Task, beta: float, key: int) -> None:
        self.task, self.beta, self.key = task, beta, key
        self.best: Found | None = None

    def run(self) -> None:
        task, beta = self.task, self.beta
        starts = 1 if task.initial is not None else task.n_init
        fixed = (task.n_groups, beta, task.max_sweeps, task.allow_empty, task.offset(beta))
        calls = ((task.problem, _start(task, self.key, number), *fixed) for number in range(starts))
        for done, found in enumerate(run_all(task, _descent, calls), start=1):
            self.best = better(self.best, found)
            task.report(done, starts, _cost_at_target(task, self.best, beta))


def _cost_at_target(task: Task, found: Found, beta: float) -> float:
    """Who watches wants the cost at the task's own beta."""
    if task.progress is None or beta == task.beta:
        return found.cost
    return cost_of(task, found.labels)


def _start(task: Task, key: int, number: int) -> Labels:
    if task.initial is not None:
        return task.initial
    rng = task.rng(key, number)
    return random_labels(task.chain.n_states, task.n_groups, rng, allow_empty=task.allow_empty)


def _descent(
    problem: Problem,
    labels: Labels,
    n_groups: int,
    beta: float,
    max_sweeps: int,
    allow_empty: bool,
    offset: float,
) -> Found:
    order = np.arange(problem.mu.size)
    found, traces = descend(
        problem, labels, n_groups, [beta], order, max_sweeps=max_sweeps, allow_empty=allow_empty
    )
    trace = tuple((traces[0] + offset).tolist())
    return Found(found[0], trace[-1], trace)
