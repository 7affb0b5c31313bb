"""``"auto"``: many different starts, local search from each, then memetic or iterated local search from the best.

Every budget is a count, never a clock: the same seed gives the same answer on any machine.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice

import numpy as np

from klump.arguments import Progress
from klump.search.agglomerative import agglomerative, agglomerative_relaxed
from klump.search.annealing import annealing
from klump.search.descent import descend
from klump.search.deterministic_annealing import deterministic_annealing
from klump.search.effort import MAX_SWEEP, sweep_cost
from klump.search.evolution import Population, evolve
from klump.search.exhaustive import exhaustive, n_partitions
from klump.search.kernels.tables import Problem
from klump.search.method import EQUAL, Found, Labels, Search, Task, better, report_result, run_interruptible
from klump.search.multilevel import multilevel
from klump.search.pairing import is_nearly_all_states, merge_pairs
from klump.search.perturbation import iterate_local_search
from klump.search.repair import make_repair
from klump.search.sequential import sequential
from klump.search.spectral import spectral, spectral_sign
from klump.search.starts import Embeddings, powers, spectral_embeddings
from klump.search.strategies import StartContext, run_start

# Keys of random generators: local search from the components' results, embeddings.
_KEY_COMPONENTS = 3
_KEY_EMBEDDING = 4
# Limits by size. All values are empirical: cost reached against time spent.
# Partitions up to which all are enumerated, in 0.1 s; 12 states in 3 groups have 86,526.
_MAX_ENUMERATED = 100_000
# States up to which that many partitions are enumerated; with more states there must be fewer, as each takes n^2 steps.
_ENUMERATED_STATES = 17
# Progress steps per component method.
_STEPS_PER_COMPONENT = 10
# Starts per population, at most.
_STARTS = 12
# Starts of a population that must reach the best cost before the search stops, where 1 - 2 beta + gamma <= 0.
_CONFIRMATIONS = 4
# Children without tabu search per population; starts confirm a best cost that they do not improve.
_PLAIN_CHILDREN = 24
# Steps of tabu search per child, at most.
_MAX_STEPS = 500
# Children with tabu search for which the budget has room, at least.
_MIN_CHILDREN = 40
# Groups squared times states up to which tabu search runs: 32 MB of terms.
_MAX_TABU_TERMS = 4_000_000
# Logarithms per group and state in a step of tabu search.
_TABU_TERMS = 17
# States above which multilevel search runs first and replaces the rounds of starts.
_MULTILEVEL_STATES = 300
# States up to which single states are merged if there is a group for every four of them, or more.
_MAX_MERGED_STATES = 1_200
# Transitions times groups up to which deterministic annealing is a component method.
_MAX_ANNEALED_SIZE = 2_500_000
# States below which the budget grows: sweeps take microseconds there, and local optima are as many.
_SMALL = 200
# Time of a local search under constraints, repair included, in times of one without. Empirical.
_CONSTRAINED_COST = 2
# Typical sweeps per start of annealing, for the decision whether the budget has room for all of them.
_SWEEPS_PER_START = 15
# Successive perturbations without improvement that end an iterated local search, at most.
_MAX_FAILURES = 40
# Starts after multilevel search, and optima from which iterated local search runs then, with this share of the sweeps.
_N_DIVERSE = 4
# Sweeps from which on the budget has room for such starts.
_SWEEPS_FOR_STARTS = 400
_FIRST_SHARE = 0.7
# Runs of iterated local search from the best of them, with the other sweeps.
_N_RUNS = 2
# Large perturbations that return to the same cost, after which such a run ends.
_MAX_RETURNS = 3
# Least sweeps of a local search worth starting.
_MIN_SWEEPS = 10


@dataclass(frozen=True)
class Effort:
    """Limits of ``"auto"``; all of them are counts, so that the same seed gives the same answer on any machine."""

    budget: float
    """Logarithms of all starts together, component methods excluded."""
    tabu_budget: float
    """Logarithms of all tabu searches together."""
    large_budget: float
    """The same after multilevel search."""
    sweeps: float
    """Sweeps of all perturbations together after multilevel search, at most."""
    stalled_children: int
    """Successive children that do not improve their population, after which the next population begins."""
    agreeing: int
    """Populations that must reach the best cost before the search stops."""
    component_states: int
    """States up to which every method is a component."""
    merged_states: int
    """States up to which the agglomerative methods are components; their time grows as the cube."""
    restart_cost: float
    """Logarithms per sweep up to which the methods with restarts and the spectral ones are components."""


EFFORTS = {
    "quick": Effort(
        budget=6_000_000,
        tabu_budget=100_000_000,
        large_budget=0,
        sweeps=0,
        stalled_children=8,
        agreeing=1,
        component_states=0,
        merged_states=0,
        restart_cost=0,
    ),
    "balanced": Effort(
        budget=60_000_000,
        tabu_budget=1_000_000_000,
        large_budget=500_000_000,
        sweeps=600,
        stalled_children=12,
        agreeing=8,
        component_states=300,
        merged_states=300,
        restart_cost=0,
    ),
    "thorough": Effort(
        budget=2_000_000_000,
        tabu_budget=20_000_000_000,
        large_budget=20_000_000_000,
        sweeps=10_000,
        stalled_children=20,
        agreeing=20,
        component_states=300,
        merged_states=1_200,
        restart_cost=MAX_SWEEP,
    ),
}


@dataclass(frozen=True)
class Plan:
    """Limits of one search."""

    sweeps: float  # of starts, children and perturbations together
    steps: float = 0.0  # of all tabu searches together
    starts: int = 0  # per population
    steps_per_child: int = 0
    stalled_children: int = 0  # successive children without improvement that end a population
    agreeing: int = 0  # populations that must reach the best cost before the search stops


def make_plan(task: Task) -> Plan:
    """Limits from the budget in sweeps, ``(1 + _SMALL / n) budget / sweep_cost(task)``.

    After multilevel search there is room for more of them per logarithm, but for no more than ``effort.sweeps``.
    """
    n, effort = task.chain.n_states, EFFORTS[task.effort]
    if n > _MULTILEVEL_STATES:
        sweeps = (
            0.0 if _has_small_groups(task) else min(effort.sweeps, effort.large_budget / sweep_cost(task))
        )
        return Plan(sweeps)
    sweeps = (1.0 + _SMALL / n) * effort.budget / sweep_cost(task)
    if task.constraints is not None:
        sweeps /= _CONSTRAINED_COST
    steps = _tabu_steps(task, effort)
    return Plan(
        sweeps=sweeps,
        steps=steps,
        starts=int(np.clip(sweeps / 10, 6, _STARTS)),
        steps_per_child=int(np.clip(steps / _MIN_CHILDREN, 1, _MAX_STEPS)),
        stalled_children=effort.stalled_children,
        agreeing=effort.agreeing,
    )


def _tabu_steps(task: Task, effort: Effort) -> float:
    """Steps of tabu search within the budget; 0 where its terms would take too much memory, and under constraints."""
    n, k, weights = task.chain.n_states, task.n_groups, task.objective.weights
    if k * k * n > _MAX_TABU_TERMS or task.constraints is not None:
        return 0.0
    into = 0 if weights.into == 0.0 else 2 * n * n
    between = 0 if weights.flow == 0.0 else _TABU_TERMS * n * k
    return effort.tabu_budget / (into + between + n * k)


def portfolio(task: Task) -> Found:
    """Choose the search by size: exhaustive, the portfolio, or multilevel search alone."""
    n, k = task.chain.n_states, task.n_groups
    if k in (1, n):
        return _only_partition(task)
    if sweep_cost(task) > MAX_SWEEP and not _merges_states(task):
        merges_pairs = is_nearly_all_states(task) and task.constraints is None
        return merge_pairs(task) if merges_pairs else multilevel(task)
    if _can_enumerate(n, k):
        return exhaustive(task)
    return search(task)


def _can_enumerate(n: int, k: int) -> bool:
    """Whether all partitions of n states into k groups can be scored, in 0.1 s."""
    count = n_partitions(n, k, _MAX_ENUMERATED)
    return count < _MAX_ENUMERATED and count * n * n <= _MAX_ENUMERATED * _ENUMERATED_STATES**2


def search(task: Task) -> Found:
    """Run the portfolio at any size; Ctrl-C returns the incumbent."""
    return run_interruptible(_PortfolioRun(task))


def _only_partition(task: Task) -> Found:
    """The partition into one group, or into single states."""
    labels = np.arange(task.chain.n_states, dtype=np.int32) % task.n_groups
    found, traces = descend(task.problem, labels, task.n_groups, [task.objective], np.arange(0), max_sweeps=1)
    trace = tuple((traces[0] + task.offset(task.objective)).tolist())
    return report_result(task, Found(found[0], trace[-1], trace))


def component_methods(task: Task) -> tuple[Search, ...]:
    """Methods whose results the portfolio includes, so that its cost is at most theirs."""
    n, effort = task.chain.n_states, EFFORTS[task.effort]
    restarts = n <= effort.component_states or sweep_cost(task) <= effort.restart_cost
    can_anneal = task.n_init * _SWEEPS_PER_START * sweep_cost(task) <= effort.large_budget
    merges = n <= effort.merged_states or _merges_states(task)
    affordable = {
        multilevel: n > _MULTILEVEL_STATES and not (merges and 2 * task.n_groups > n),
        merge_pairs: n > _MULTILEVEL_STATES and is_nearly_all_states(task) and task.constraints is None,
        sequential: restarts,
        annealing: restarts or can_anneal or n <= _MULTILEVEL_STATES,
        spectral: restarts,
        agglomerative: merges,
        agglomerative_relaxed: n <= effort.merged_states,
        deterministic_annealing: restarts and task.chain.n_transitions * task.n_groups <= _MAX_ANNEALED_SIZE,
        spectral_sign: restarts,
    }
    return tuple(method for method, runs in affordable.items() if runs)


def _has_small_groups(task: Task) -> bool:
    """Whether there is a group for every four states, or more: too few to split or to perturb."""
    return 4 * task.n_groups + 4 > task.chain.n_states


def _merges_states(task: Task) -> bool:
    """Whether single states are merged because groups are small."""
    return task.chain.n_states <= _MAX_MERGED_STATES and _has_small_groups(task)


class _PortfolioRun:
    """State of one run: the incumbent, the population, the sweeps left and the progress steps."""

    def __init__(self, task: Task) -> None:
        self.task = task
        self.plan = make_plan(task)
        self.sweeps_left = self.plan.sweeps
        self.steps_left = self.plan.steps
        self.best: Found | None = None
        self.population = Population()
        self.free_starts: list[Labels] = []  # results of components that do not know the constraints
        self.done = 0
        self.components = component_methods(task)
        self.total = (_STEPS_PER_COMPONENT + 1) * len(self.components)
        self.total += self.plan.agreeing * (
            self.plan.starts + _PLAIN_CHILDREN + 2 * self.plan.stalled_children
        )

    def run(self) -> None:
        """Component methods, local search from their results, then starts and children, or perturbations."""
        self._run_components()
        context = _context(self.task, with_embeddings=self.plan.starts > 0 and not self._is_optimal())
        given = [] if self.task.initial is None else [self.task.initial]
        rng = self.task.rng(_KEY_COMPONENTS, 0)
        known = [found.labels for found in self.population.cheapest()]
        for labels in [*given, *self.free_starts, *known]:
            if not self._is_optimal():
                search = partial(context.local_search, labels, rng)
                self._update([self.task.once("local search", search, rng, (labels,))])
        if self.plan.starts > 0:
            self._run_populations(context)
        elif self.sweeps_left >= _MIN_SWEEPS and not self._is_optimal():
            self._perturb_population(context)
        self.task.report(self.total, self.total, self._best_cost())

    def _run_components(self) -> None:
        for number, method in enumerate(self.components):
            if self._is_optimal():
                break
            report = partial(self._report_component, number * _STEPS_PER_COMPONENT)
            is_free = self.task.constraints is not None and method is not multilevel
            task = replace(self.task, progress=_hide_cost(report) if is_free else report)
            task = replace(task, constraints=None) if is_free else task
            found = task.run_nested(method.__name__, method)
            self.done = (number + 1) * _STEPS_PER_COMPONENT - 1
            if is_free:
                self.free_starts.append(found.labels)
            else:
                # The record of one component does not describe the portfolio's result.
                self._update([replace(found, record=None)])
            found.raise_if_interrupted()

    def _run_populations(self, context: StartContext) -> None:
        """One population after another until enough starts or populations agree, or the budget is spent."""
        number, reached = 0, list[float]()
        while not self._is_optimal() and not self._is_spent():
            first = number * self.plan.starts
            starts = ((context, first + i) for i in range(self.plan.starts))
            costs = self._update(self.task.run_all(run_start, starts))
            before = self._best_cost()
            self._update(
                islice(evolve(context, self.population, 2 * number, 0, self.task.once), _PLAIN_CHILDREN)
            )
            if self._best_cost() >= before - EQUAL and self._is_confirmed(costs):
                break
            reached.append(self._evolve(context, 2 * number + 1))
            if sum(cost <= self._best_cost() + EQUAL for cost in reached) >= self.plan.agreeing:
                break
            self.population, number = Population(), number + 1

    def _evolve(self, context: StartContext, number: int) -> float:
        """Improve the population until its children stall; its lowest cost."""
        stalled, best = 0, self.population.cheapest(1)[0].cost
        if self.plan.steps == 0.0:
            return best
        steps = self.plan.steps_per_child
        for child in evolve(context, self.population, number, steps, self.task.once):
            self._update([child])
            stalled = 0 if child.cost < best - EQUAL else stalled + 1
            best = min(best, child.cost)
            if stalled >= self.plan.stalled_children or self._is_optimal() or self._is_spent():
                break
        return best

    def _is_spent(self) -> bool:
        """Whether the budget of steps is spent, or that of sweeps where there are no steps."""
        return self.steps_left <= 0.0 if self.plan.steps > 0.0 else self.sweeps_left <= 0.0

    def _perturb_population(self, context: StartContext) -> None:
        """Iterated local search from a few different optima; if that helps, again from the best."""
        if self.sweeps_left >= _SWEEPS_FOR_STARTS:
            starts = ((context, number) for number in range(_N_DIVERSE))
            self._update(self.task.run_all(run_start, starts))
        before = self._best_cost()
        optima = self.population.cheapest(_N_DIVERSE)
        self._perturb_each(context, optima, _FIRST_SHARE * self.sweeps_left, first_run=0)
        if self.best is not None and self.best.cost < before - EQUAL:
            self._perturb_each(context, [self.best] * _N_RUNS, self.sweeps_left, first_run=_N_DIVERSE)

    def _perturb_each(
        self, context: StartContext, optima: list[Found], sweeps: float, first_run: int
    ) -> None:
        limits = _MAX_FAILURES, sweeps / len(optima), _MAX_RETURNS
        searches = ((context, found, first_run + i, *limits) for i, found in enumerate(optima))
        self._update(self.task.run_all(iterate_local_search, searches))

    def _is_confirmed(self, start_costs: list[float]) -> bool:
        """Whether enough starts reached the best cost; never for objectives that trap many starts in one optimum."""
        same = sum(cost <= self._best_cost() + EQUAL for cost in start_costs)
        return same >= _CONFIRMATIONS and not self.task.objective.traps_poor_starts

    def _is_optimal(self) -> bool:
        """Whether the incumbent costs nothing, up to rounding: no cost is negative."""
        return self._best_cost() <= EQUAL

    def _best_cost(self) -> float:
        return np.inf if self.best is None else self.best.cost

    def _update(self, results: Iterable[Found]) -> list[float]:
        """Update incumbent, population and progress; the costs of the results."""
        costs = []
        for found in results:
            self.best = better(self.best, found)
            self.population.add(found)
            self.sweeps_left -= found.sweeps
            self.steps_left -= found.steps
            self.done += 1
            self.task.report(min(self.done, self.total), self.total, self.best.cost)
            costs.append(found.cost)
        return costs

    def _report_component(self, before: int, done: int, total: int, cost: float) -> None:
        """Scale a component method's progress to ``_STEPS_PER_COMPONENT`` steps."""
        cost = cost if self.best is None else min(cost, self.best.cost)
        self.task.report(before + max(1, _STEPS_PER_COMPONENT * done // total), self.total, cost)


def _hide_cost(report: Progress) -> Progress:
    """Report the progress of a search that does not know the constraints: its cost may be too low."""
    return lambda done, total, cost: report(done, total, np.inf)


def _context(task: Task, *, with_embeddings: bool) -> StartContext:
    embeddings = Embeddings(task.chain.stationary_distribution, ())
    slow: tuple[Problem, ...] = ()
    if with_embeddings:
        embeddings = spectral_embeddings(task.chain, task.n_groups, task.rng(_KEY_EMBEDDING))
        slow = powers(task.chain)
    return StartContext(
        problem=task.problem,
        transition_matrix=task.chain.transition_matrix,
        embeddings=embeddings,
        powers=slow,
        n_groups=task.n_groups,
        objective=task.objective,
        step=task.step,
        max_sweeps=task.max_sweeps,
        offset=task.offset(task.objective),
        seed=task.seed,
        repair=make_repair(task.constraints, task.problem, task.n_groups),
    )
