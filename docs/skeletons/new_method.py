"""``"heaviest"``: a search method to copy, which works and is not good.

The k - 1 states with the largest stationary probability get a group each, all others share the last one; then each
start moves random states as long as that lowers the cost.

To make it yours, copy this file to ``src/klump/search/<your_method>.py``, fill in what the comments ask for, and add
one entry to ``METHODS`` in ``src/klump/search/registry.py``::

    Method("heaviest", _lazy("heaviest", "heaviest"), "heaviest states alone, then random moves"),

with the traits that differ from the defaults (``Method`` lists them). Then add a row to the table in docs/methods.md,
and the name to the docstring of ``klump.aggregate``: ``tests/search/test_methods.py`` fails until both are there. It
checks the rest of what every method promises.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from klump.search.descent import cost_of
from klump.search.method import Found, Labels, Task, better, run_interruptible

# First entry of every seed that this method draws from. Take a number that no other method in klump.search has, so
# that methods that run with the same seed draw different numbers.
_KEY = 1_000
# Moves that a start tries. A budget is a count, never a clock: the same seed must give the same answer on any machine.
_MOVES = 200


def heaviest(task: Task) -> Found:
    """Find a map for a task whose values have all been validated: the one function that the registry names."""
    # Ctrl-C during run() returns the best so far. A method that takes no time can return a Found at once instead.
    return run_interruptible(_Starts(task))


class _Starts:
    def __init__(self, task: Task) -> None:
        self.task = task
        self.best: Found | None = None

    def run(self) -> None:
        task = self.task
        starts = 1 if task.initial is not None else task.n_init
        # Independent calls go through run_all: threads, processes or a Dask cluster, as the user has set. The function
        # must be one of a module, not a lambda, and its first argument what all calls share; a process cannot be sent
        # the user's progress function.
        shared = replace(task, progress=None)
        calls = ((shared, number) for number in range(starts))
        for done, found in enumerate(task.run_all(_start, calls), start=1):
            self.best = better(self.best, found)  # the cheaper one, the first if they cost the same
            task.report(done, starts, self.best.cost)


def _start(task: Task, number: int) -> Found:
    # The seed depends on the start, not on which worker runs it: the answer is the same on every engine.
    rng = task.rng(_KEY, number)
    labels = _initial_labels(task)
    cost = cost_of(task, labels)  # C_beta + gamma C_G in bits, by the task's objective
    trace = [cost]
    for _ in range(_MOVES):  # YOUR SEARCH HERE
        candidate = labels.copy()
        candidate[rng.integers(task.chain.n_states)] = rng.integers(task.n_groups)
        # Exactly n_groups groups, none empty, is a promise of every method.
        if np.bincount(candidate, minlength=task.n_groups).min() == 0:
            continue
        candidate_cost = cost_of(task, candidate)
        if candidate_cost < cost:
            labels, cost = candidate, candidate_cost
            trace.append(cost)
    # cost must be that of the labels to 1e-10, and the trace must never increase.
    return Found(labels, cost, tuple(trace))


def _initial_labels(task: Task) -> Labels:
    if task.initial is not None:  # the user's `initial=`: n_groups groups, none of them empty
        return task.initial
    # What a chain knows: transition_matrix and joint (dense, or SciPy sparse if is_sparse), stationary_distribution.
    order = np.argsort(-task.chain.stationary_distribution, kind="stable")
    labels = np.full(task.chain.n_states, task.n_groups - 1, dtype=np.int32)
    labels[order[: task.n_groups - 1]] = np.arange(task.n_groups - 1)
    return labels
