"""``"stochastic"``: the cheapest map, in which a state may be split between groups.

At beta = 1 no stochastic map is cheaper than the best deterministic one, and that is returned. At smaller betas it may
pay to split a state between the group that suits its successors and the group that suits its predecessors; mostly few
states are split. At beta = 0 the optimum is trivial: if the group is drawn independently of the state, the groups form
a memoryless Markov chain and the cost is 0. As beta falls to 0 the answer approaches it; its notes say so.

Projected gradient descent runs from ``n_init`` starts, fewer on large chains. The answer is never costlier than that of
``"auto"``, and it is the deterministic map itself unless a stochastic one is cheaper by more than rounding. With
``(1 - s) W + s / k`` a smoothed map W of k groups, the starts are, in this order::

    0, 1, 2      the best deterministic map, smoothed with s = 0.02, 0.1, 0.3
    3, 6, 9 ...  0.7 times the best deterministic map plus 0.3 times a uniformly random stochastic map
    4, 7, 10...  a uniformly random stochastic map, warm-started at beta = 1/2 if the objective traps poor starts
    5, 8, 11...  a deterministic local optimum from random labels, smoothed with s = 0.1
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, cycle, islice

import numpy as np

from klump.search.descent import descend, random_labels
from klump.search.kernels.tables import Problem
from klump.search.method import EQUAL, Found, Labels, Task, better, run_interruptible
from klump.search.objective import MIDDLE
from klump.search.soft import Floats, SoftProblem, as_sparse, projected_gradient_descent, simplify

_KEY = 6
# Gradient steps per start.
_STEPS = 100
# Best starts that are continued, and the gradient steps of each, at most.
_N_CONTINUED = 2
_CONTINUED_STEPS = 400
# Costs, in bits, within which two unfinished descents count as heading for the same local optimum.
_SAME = 1e-7
# Smoothing s of the best deterministic map in the first starts, and of other deterministic local optima.
_SMOOTHING = (0.02, 0.1, 0.3)
_LOCAL_OPTIMUM_SMOOTHING = 0.1
# Weight of the random map in a perturbation of the best deterministic map.
_PERTURBATION = 0.3
# Smoothing after a warm start at beta = 1/2, so that no entry is 0, where the gradient is infinite.
_WARM_START_SMOOTHING = 0.02
# Transitions times groups times gradient steps of all starts together.
_BUDGET = 400_000_000
# Starts that are run whatever the budget.
_MIN_STARTS = 4


def stochastic(task: Task) -> Found:
    """Search among all maps, deterministic or stochastic."""
    return run_interruptible(_SoftRun(task))


@dataclass(frozen=True, eq=False)
class SoftContext:
    """The data that a start reads; picklable, so that a start may be a remote task."""

    problem: Problem
    soft: SoftProblem
    hard: Labels
    n_groups: int
    max_sweeps: int
    offset: float
    seed: int

    def descend(self, weights: Floats, steps: int = _STEPS) -> Found:
        """Projected gradient descent, simplify the map, and descend again if that lowered the cost."""
        point, trace = projected_gradient_descent(self.soft, weights, steps)
        simple = simplify(self.soft, point)
        if simple.cost < point.cost - EQUAL:
            point, trace = projected_gradient_descent(self.soft, simple.weights, steps)
            simple = simplify(self.soft, point)
        costs = np.maximum(trace, simple.cost) + self.offset
        costs[-1] = simple.cost + self.offset
        labels = np.argmax(simple.weights, axis=1).astype(np.int32)
        return Found(labels, float(costs[-1]), tuple(costs.tolist()), weights=as_sparse(simple.weights))


class _SoftRun:
    """State of one run: the incumbent and the progress steps."""

    def __init__(self, task: Task) -> None:
        self.task = task
        self.best: Found | None = None
        steps = _BUDGET // (task.chain.n_transitions * task.n_groups)
        self.n_starts = min(task.n_init, max(_MIN_STARTS, steps // _STEPS))
        self.continued_steps = int(np.clip(steps // _N_CONTINUED, _STEPS, _CONTINUED_STEPS))
        self.done, self.total = 0, 0

    def run(self) -> None:
        """The best deterministic map, then stochastic starts unless none can be cheaper."""
        # The portfolio imports its component methods, of which this may become one.
        from klump.search.portfolio import portfolio

        task = self.task
        deterministic = replace(task, allow_empty=False, progress=self._report_portfolio)
        self.best = hard = deterministic.run_nested("portfolio", portfolio)
        hard.raise_if_interrupted()
        self.total = self.done + self.n_starts + _N_CONTINUED
        context = _context(task, hard.labels)
        # At beta = 1 without gamma no stochastic map is cheaper; without gamma no cost is below 0.
        soft_may_win = task.beta < 1.0 or task.gamma > 0.0
        if soft_may_win:
            self._update(context.descend(_smooth(hard.labels, task.n_groups, 1.0)))
        if soft_may_win and (self.best.cost > EQUAL or task.gamma > 0.0):
            starts = ((context, number) for number in range(self.n_starts))
            found = [self._update(each) for each in task.run_all(run_start, starts)]
            continuations = ((context, each, self.continued_steps) for each in _distinct_best(found))
            for each in task.run_all(continue_start, continuations):
                self._update(each)
        task.report(self.total, self.total, self.best.cost)

    def _update(self, found: Found) -> Found:
        """Update incumbent and progress."""
        self.best = better(self.best, found)
        self.done += 1
        self.task.report(min(self.done, self.total), self.total, self.best.cost)
        return found

    def _report_portfolio(self, done: int, total: int, cost: float) -> None:
        """Report the portfolio's steps as the first steps of this search."""
        self.done = done
        self.task.report(done, total + self.n_starts + _N_CONTINUED, cost)


def _distinct_best(found: list[Found]) -> list[Found]:
    """The ``_N_CONTINUED`` cheapest results of distinct cost."""
    chosen: list[Found] = []
    for each in sorted(found, key=lambda each: each.cost):
        if len(chosen) < _N_CONTINUED and (not chosen or each.cost > chosen[-1].cost + _SAME):
            chosen.append(each)
    return chosen


def _context(task: Task, hard: Labels) -> SoftContext:
    return SoftContext(
        problem=task.problem,
        soft=SoftProblem(task.chain.joint, task.chain.stationary_distribution, task.objective),
        hard=hard,
        n_groups=task.n_groups,
        max_sweeps=task.max_sweeps,
        offset=task.offset(task.objective),
        seed=task.seed,
    )


def run_start(context: SoftContext, number: int) -> Found:
    """Run start ``number`` = 0, 1, ... of the schedule."""
    rng = np.random.default_rng([context.seed, _KEY, number])
    initial_map = next(islice(_schedule(), number, None))
    return context.descend(initial_map(context, rng))


def continue_start(context: SoftContext, found: Found, steps: int) -> Found:
    """Continue the descent of a start."""
    assert found.weights is not None
    return context.descend(found.weights.toarray(), steps)


def _schedule() -> Iterator[Callable[[SoftContext, np.random.Generator], Floats]]:
    """Endless order of the strategies for the initial map."""
    first = (partial(_smooth_best, share=share) for share in _SMOOTHING)
    return chain(first, cycle((_perturb_best, _random_map, _smooth_local_optimum)))


def _smooth_best(context: SoftContext, _: np.random.Generator, *, share: float) -> Floats:
    return _smooth(context.hard, context.n_groups, share)


def _perturb_best(context: SoftContext, rng: np.random.Generator) -> Floats:
    k = context.n_groups
    noise = rng.dirichlet(np.ones(k), size=context.hard.size)
    return (1.0 - _PERTURBATION) * _smooth(context.hard, k, 0.0) + _PERTURBATION * noise


def _random_map(context: SoftContext, rng: np.random.Generator) -> Floats:
    k, soft = context.n_groups, context.soft
    weights = rng.dirichlet(np.ones(k), size=context.hard.size)
    if not soft.objective.traps_poor_starts:
        return weights
    # Nearly all random maps would descend to the trivial optimum.
    point, _ = projected_gradient_descent(replace(soft, objective=MIDDLE), weights, _STEPS)
    return (1.0 - _WARM_START_SMOOTHING) * point.weights + _WARM_START_SMOOTHING / k


def _smooth_local_optimum(context: SoftContext, rng: np.random.Generator) -> Floats:
    n, k, objective = context.hard.size, context.n_groups, context.soft.objective
    labels = random_labels(n, k, rng, allow_empty=False)
    objectives = [MIDDLE, objective] if objective.traps_poor_starts else [objective]
    found, _ = descend(
        context.problem, labels, k, objectives, rng.permutation(n), max_sweeps=context.max_sweeps
    )
    return _smooth(found[-1], k, _LOCAL_OPTIMUM_SMOOTHING)


def _smooth(labels: Labels, n_groups: int, share: float) -> Floats:
    """``(1 - share) W + share / k`` of the deterministic map W with these labels."""
    weights = np.full((labels.size, n_groups), share / n_groups)
    weights[np.arange(labels.size), labels] += 1.0 - share
    return weights
