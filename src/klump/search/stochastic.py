"""``"stochastic"``: the cheapest map of all, in which a state may be split between groups.

At beta = 1 no stochastic map is cheaper than the best deterministic one, and that is returned. At smaller betas a state
that one group should have for where it leads and another for where it comes from may be better split between the
two; mostly few states are. At beta = 0 the cheapest map of all is useless: if the group is drawn anew whatever the
state, the groups form a Markov chain (without memory) and the cost is 0. The nearer beta is to 0, the more the
answer is like that; its notes say so.

The search descends from the best deterministic map, made softer by degrees, from that map disturbed, from random maps
settled at beta = 1/2 first and from deterministic local optima, in turn. A start is a count, never a clock: ``n_init``
in all, fewer on large chains. The answer is never costlier than that of ``"auto"``, and it is the deterministic map
itself if nothing is cheaper by more than rounding.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from klump.search.descent import descend, random_labels
from klump.search.kernels.tables import Problem
from klump.search.method import EQUAL, Found, Labels, Task, best_until_interrupted, better
from klump.search.objective import MIDDLE
from klump.search.soft import Floats, SoftProblem, as_sparse, descend_softly, tidied

_KEY = 6
# Steps of each start, and of those that are followed to the end.
_STEPS, _MORE_STEPS, _FOLLOWED = 100, 400, 2
# Starts whose costs differ by less are on their way to the same map.
_SAME = 1e-7
# How much of every state is shared out evenly in the starts from the best deterministic map.
_SOFTENED = (0.02, 0.1, 0.3)
_DISTURBED, _SETTLED = 0.3, 0.02
# Products of a transition and a group that all starts together may take, and the starts that are made in any case.
_BUDGET, _FEWEST = 400_000_000, 4


def stochastic(task: Task) -> Found:
    """Search among all maps, deterministic or not."""
    return best_until_interrupted(_Search(task))


@dataclass(frozen=True, eq=False)
class Ingredients:
    """What a start needs, and nothing else: it may be sent to another process."""

    problem: Problem
    soft: SoftProblem
    hard: Labels
    n_groups: int
    max_sweeps: int
    offset: float
    seed: int

    def settle(self, weights: Floats, steps: int = _STEPS) -> Found:
        """Descend as far as the steps go and leave it tidy; go on if that opened a way down."""
        point, trace = descend_softly(self.soft, weights, steps)
        neat = tidied(self.soft, point)
        if neat.cost < point.cost - EQUAL:
            point, trace = descend_softly(self.soft, neat.weights, steps)
            neat = tidied(self.soft, point)
        costs = np.maximum(trace, neat.cost) + self.offset
        costs[-1] = neat.cost + self.offset
        labels = np.argmax(neat.weights, axis=1).astype(np.int32)
        return Found(labels, float(costs[-1]), tuple(costs.tolist()), weights=as_sparse(neat.weights))


class _Search:
    """The best so far, and the count of steps."""

    def __init__(self, task: Task) -> None:
        self.task = task
        self.best: Found | None = None
        steps = _BUDGET // (task.chain.n_transitions * task.n_groups)
        self.starts = min(task.n_init, max(_FEWEST, steps // _STEPS))
        self.more_steps = int(np.clip(steps // _FOLLOWED, _STEPS, _MORE_STEPS))
        self.done, self.total = 0, 0

    def run(self) -> None:
        """The best deterministic map first; then softer ones, as long as there is anything to gain."""
        # The portfolio knows the methods that it includes, and may come to know this one.
        from klump.search.portfolio import portfolio

        task = self.task
        self.best = hard = portfolio(replace(task, allow_empty=False, progress=self._tick))
        if hard.interrupted:
            raise KeyboardInterrupt
        self.total = self.done + self.starts + _FOLLOWED
        ingredients = _ingredients(task, hard.labels)
        # At beta = 1 without gamma no stochastic map is cheaper; without gamma no cost is below 0.
        soft_may_win = task.beta < 1.0 or task.gamma > 0.0
        if soft_may_win:
            self._take(ingredients.settle(_softened(hard.labels, task.n_groups, 1.0)))
        if soft_may_win and (self.best.cost > EQUAL or task.gamma > 0.0):
            calls = ((ingredients, number) for number in range(self.starts))
            found = [self._take(each) for each in task.run_all(start, calls)]
            further = ((ingredients, each, self.more_steps) for each in _cheapest(found))
            for each in task.run_all(follow, further):
                self._take(each)
        task.report(self.total, self.total, self.best.cost)

    def _take(self, found: Found) -> Found:
        self.best = better(self.best, found)
        self.done += 1
        self.task.report(min(self.done, self.total), self.total, self.best.cost)
        return found

    def _tick(self, done: int, total: int, cost: float) -> None:
        """Count the steps of the search for the deterministic map as the first ones."""
        self.done = done
        self.task.report(done, total + self.starts + _FOLLOWED, cost)


def _cheapest(found: list[Found]) -> list[Found]:
    """The best few that differ in cost."""
    chosen: list[Found] = []
    for each in sorted(found, key=lambda each: each.cost):
        if len(chosen) < _FOLLOWED and (not chosen or each.cost > chosen[-1].cost + _SAME):
            chosen.append(each)
    return chosen


def follow(ingredients: Ingredients, found: Found, steps: int) -> Found:
    """Go on from where a start ended."""
    assert found.weights is not None
    return ingredients.settle(found.weights.toarray(), steps)


def _ingredients(task: Task, hard: Labels) -> Ingredients:
    chain = task.chain
    soft = SoftProblem(chain.joint, chain.stationary_distribution, task.objective)
    return Ingredients(
        task.problem, soft, hard, task.n_groups, task.max_sweeps, task.offset(task.objective), task.seed
    )


def start(ingredients: Ingredients, number: int) -> Found:
    """Start number so-and-so."""
    k = ingredients.n_groups
    if number < len(_SOFTENED):
        return ingredients.settle(_softened(ingredients.hard, k, _SOFTENED[number]))
    rng = np.random.default_rng([ingredients.seed, _KEY, number])
    n = ingredients.hard.size
    kind = number % 3
    if kind == 0:
        blurred = rng.dirichlet(np.ones(k), size=n)
        sharp = _softened(ingredients.hard, k, 0.0)
        return ingredients.settle((1.0 - _DISTURBED) * sharp + _DISTURBED * blurred)
    soft = ingredients.soft
    if kind == 1:
        weights = rng.dirichlet(np.ones(k), size=n)
        if soft.objective.traps_poor_starts:  # nearly all maps lead to the trivial one
            settled, _ = descend_softly(replace(soft, objective=MIDDLE), weights, _STEPS)
            weights = (1.0 - _SETTLED) * settled.weights + _SETTLED / k
        return ingredients.settle(weights)
    labels = random_labels(n, k, rng, allow_empty=False)
    way = [MIDDLE, soft.objective] if soft.objective.traps_poor_starts else [soft.objective]
    found, _ = descend(
        ingredients.problem, labels, k, way, rng.permutation(n), max_sweeps=ingredients.max_sweeps
    )
    return ingredients.settle(_softened(found[-1], k, _SOFTENED[1]))


def _softened(labels: Labels, n_groups: int, share: float) -> Floats:
    """A deterministic map of which a share is spread evenly over all groups."""
    weights = np.full((labels.size, n_groups), share / n_groups)
    weights[np.arange(labels.size), labels] += 1.0 - share
    return weights
