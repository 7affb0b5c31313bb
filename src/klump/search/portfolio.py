"""``"auto"``: many different starts, local search from each, then iterated local search from the best.

Every budget is a count, never a clock: the same seed gives the same answer on any machine.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from klump.search.agglomerative import agglomerative, agglomerative_relaxed
from klump.search.annealing import annealing
from klump.search.descent import descend, fill_empty_groups
from klump.search.deterministic_annealing import deterministic_annealing
from klump.search.exhaustive import exhaustive, n_partitions
from klump.search.kernels.tables import Problem
from klump.search.method import EQUAL, Found, Labels, Search, Task, better, report_result, run_interruptible
from klump.search.multilevel import multilevel
from klump.search.objective import Objective
from klump.search.sequential import sequential
from klump.search.spectral import spectral, spectral_sign
from klump.search.starts import Embeddings, powers, spectral_embeddings
from klump.search.strategies import StartContext, run_start

# Keys of random generators: local search from the components' results, embeddings, perturbations.
_KEY_COMPONENTS = 3
_KEY_EMBEDDING = 4
_KEY_PERTURBATION = 5
# Limits by size. All values are empirical: cost reached against time spent.
# Logarithms per sweep above which multilevel search is the only method.
_MAX_SWEEP = 40_000_000
# Elite pool: distinct local optima per round that iterated local search starts from.
_N_ELITE = 3
# Partitions up to which all are enumerated, in 0.1 s; 12 states in 3 groups have 86,526.
_MAX_ENUMERATED = 100_000
# Progress steps per component method.
_STEPS_PER_COMPONENT = 10
# States up to which all starts of the budget are run, at most 60, whether or not their answers agree.
_TINY = 12
# Starts per round.
_STARTS_PER_ROUND = 12
# Starts that must reach the best cost before the search stops, where 1 - 2 beta + gamma <= 0.
_CONFIRMATIONS = 4
# Successive rounds without improvement after which the search stops.
_MAX_STALLED_ROUNDS = 5
# States above which multilevel search runs first and replaces the rounds of starts.
_MULTILEVEL_STATES = 300
# Transitions times groups up to which deterministic annealing is a component method.
_MAX_ANNEALED_SIZE = 2_500_000
# States below which the budget grows: sweeps take microseconds there, and local optima are as many.
_SMALL = 200
# Entries of A that are bounded in the time of one logarithm, on dense chains.
_DENSE_BOUNDS = 8
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
# Share of large perturbations: merge two groups and split one. The others relabel states.
_MERGING_SHARE = 0.3
# Least sweeps of a local search worth starting.
_MIN_SWEEPS = 10


@dataclass(frozen=True)
class Effort:
    """Limits of ``"auto"``; all of them are counts, so that the same seed gives the same answer on any machine."""

    budget: float
    """Logarithms of all starts and perturbations together, component methods excluded."""
    large_budget: float
    """The same after multilevel search."""
    sweeps: float
    """Sweeps of all perturbations together after multilevel search, at most."""
    component_states: int
    """States up to which every method is a component."""
    merged_states: int
    """States up to which the agglomerative methods are components; their time grows as the cube."""
    restart_cost: float
    """Logarithms per sweep up to which the methods with restarts and the spectral ones are components."""


EFFORTS = {
    "quick": Effort(
        budget=4_000_000,
        large_budget=0,
        sweeps=0,
        component_states=0,
        merged_states=0,
        restart_cost=0,
    ),
    "balanced": Effort(
        budget=40_000_000,
        large_budget=500_000_000,
        sweeps=600,
        component_states=300,
        merged_states=300,
        restart_cost=0,
    ),
    "thorough": Effort(
        budget=1_200_000_000,
        large_budget=20_000_000_000,
        sweeps=10_000,
        component_states=300,
        merged_states=1_200,
        restart_cost=_MAX_SWEEP,
    ),
}


@dataclass(frozen=True)
class Plan:
    """Limits of one search."""

    sweeps: float  # of starts and perturbations together
    rounds: int
    starts: int  # per round
    failures: int  # successive perturbations without improvement that end an iterated local search
    confirmations: int  # starts that must reach the best cost before the search stops


def sweep_cost(task: Task) -> float:
    """Estimated logarithms per sweep."""
    n, k = task.chain.n_states, task.n_groups
    transitions = task.chain.n_transitions
    weights = task.objective.weights
    into = 0 if weights.into == 0.0 else transitions * k
    if not task.chain.is_sparse:
        into //= _DENSE_BOUNDS
    between = 0 if weights.flow == 0.0 else 3 * n * min(k, max(1, transitions // n)) * k
    return into + between + transitions


def make_plan(task: Task) -> Plan:
    """Limits from the budget in sweeps, ``(1 + _SMALL / n) budget / sweep_cost(task)``.

    After multilevel search there is room for more of them per logarithm, but for no more than ``effort.sweeps``.
    """
    n, effort = task.chain.n_states, EFFORTS[task.effort]
    if n > _MULTILEVEL_STATES:
        sweeps = min(effort.sweeps, effort.large_budget / sweep_cost(task))
        return Plan(sweeps, rounds=0, starts=0, failures=_MAX_FAILURES, confirmations=0)
    sweeps = (1.0 + _SMALL / n) * effort.budget / sweep_cost(task)
    failures = int(np.clip(sweeps / 30, 3, _MAX_FAILURES))
    starts = int(np.clip(sweeps / 10, 6, 60))
    if n > _TINY:
        starts *= int(np.clip(sweeps / 300, 1, 2))
    rounds = max(1, starts // _STARTS_PER_ROUND)
    return Plan(
        sweeps=sweeps,
        rounds=rounds,
        starts=starts // rounds,
        failures=failures,
        confirmations=_required_confirmations(task.objective) if n > _TINY else starts,
    )


def _required_confirmations(objective: Objective) -> int:
    """``_CONFIRMATIONS`` at beta >= 1/2, up to twice as many below, where many starts share one poor local optimum."""
    return _CONFIRMATIONS + round(_CONFIRMATIONS * min(1.0, max(0.0, objective.weights.into)))


def portfolio(task: Task) -> Found:
    """Choose the search by size: exhaustive, the portfolio, or multilevel search alone."""
    n, k = task.chain.n_states, task.n_groups
    if k in (1, n):
        return _only_partition(task)
    if sweep_cost(task) > _MAX_SWEEP:
        return multilevel(task)
    if n_partitions(n, k, _MAX_ENUMERATED) < _MAX_ENUMERATED:
        return exhaustive(task)
    return search(task)


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
    affordable = {
        multilevel: n > _MULTILEVEL_STATES,
        sequential: restarts,
        annealing: restarts or can_anneal or n <= _MULTILEVEL_STATES,
        spectral: restarts,
        agglomerative: n <= effort.merged_states,
        agglomerative_relaxed: n <= effort.merged_states,
        deterministic_annealing: restarts and task.chain.n_transitions * task.n_groups <= _MAX_ANNEALED_SIZE,
        spectral_sign: restarts,
    }
    return tuple(method for method, runs in affordable.items() if runs)


class _PortfolioRun:
    """State of one run: the incumbent, the elite pool, the sweeps left and the progress steps."""

    def __init__(self, task: Task) -> None:
        self.task = task
        self.plan = make_plan(task)
        self.sweeps_left = self.plan.sweeps
        self.best: Found | None = None
        self.elite: dict[bytes, Found] = {}  # distinct local optima by canonical key
        self.start_costs: list[float] = []
        self.done = 0
        self.components = component_methods(task)
        steps_per_round = self.plan.starts + _N_ELITE
        self.total = (_STEPS_PER_COMPONENT + 1) * len(self.components)
        self.total += max(1, self.plan.rounds) * steps_per_round

    def run(self) -> None:
        """Component methods, local search from their results, then starts and iterated local search."""
        task = self.task
        for number, method in enumerate(self.components):
            report = partial(self._report_component, number * _STEPS_PER_COMPONENT)
            found = method(replace(task, progress=report))
            self.done = (number + 1) * _STEPS_PER_COMPONENT - 1
            # The record of one component does not describe the portfolio's result.
            self._update([replace(found, record=None)])
            found.raise_if_interrupted()
        context = _context(task, with_embeddings=self.plan.rounds > 0)
        given = [] if task.initial is None else [task.initial]
        rng = task.rng(_KEY_COMPONENTS, 0)
        for labels in [*(found.labels for found in list(self.elite.values())), *given]:
            self._update([context.local_search(labels, rng)])
        if self.plan.rounds > 0:
            self._run_rounds(context)
        elif self.sweeps_left >= _MIN_SWEEPS:
            self._perturb_elite(context)
        task.report(self.total, self.total, self._best_cost())

    def _run_rounds(self, context: StartContext) -> None:
        """Rounds until enough starts agree, or no round improves, or the budget is spent."""
        stalled_rounds = 0
        for round_number in range(self.plan.rounds):
            before, first = self._best_cost(), round_number * self.plan.starts
            starts = ((context, first + i) for i in range(self.plan.starts))
            self.start_costs += self._update(self.task.run_all(run_start, starts))
            self._iterate_local_search(context, round_number)
            stalled_rounds = 0 if self._best_cost() < before - EQUAL else stalled_rounds + 1
            if self._is_confirmed() or stalled_rounds >= _MAX_STALLED_ROUNDS or self.sweeps_left <= 0:
                break

    def _iterate_local_search(self, context: StartContext, round_number: int) -> None:
        """Iterated local search from the cheapest optima, whose results become the next pool."""
        cheapest = sorted(self.elite.values(), key=lambda found: found.cost)[:_N_ELITE]
        self.elite = {}
        limits = self._max_failures(round_number), max(_MIN_SWEEPS, self.sweeps_left / _N_ELITE)
        searches = (
            (context, found, round_number * _N_ELITE + i, *limits) for i, found in enumerate(cheapest)
        )
        self._update(self.task.run_all(iterate_local_search, searches))

    def _perturb_elite(self, context: StartContext) -> None:
        """Iterated local search from a few different optima; if that helps, again from the best."""
        if self.sweeps_left >= _SWEEPS_FOR_STARTS:
            starts = ((context, number) for number in range(_N_DIVERSE))
            self._update(self.task.run_all(run_start, starts))
        cheapest = sorted(self.elite.values(), key=lambda found: found.cost)[:_N_DIVERSE]
        before = self._best_cost()
        self._perturb_each(context, cheapest, _FIRST_SHARE * self.sweeps_left, first_run=0)
        if self.best is not None and self.best.cost < before - EQUAL:
            self._perturb_each(context, [self.best] * _N_RUNS, self.sweeps_left, first_run=_N_DIVERSE)

    def _perturb_each(
        self, context: StartContext, optima: list[Found], sweeps: float, first_run: int
    ) -> None:
        limits = self.plan.failures, sweeps / len(optima), _MAX_RETURNS
        searches = ((context, found, first_run + i, *limits) for i, found in enumerate(optima))
        self._update(self.task.run_all(iterate_local_search, searches))

    def _max_failures(self, round_number: int) -> int:
        """Failures that end an iterated local search: ``plan.failures``, or a fifth of it in the first round.

        The first round's best local optimum is mostly the optimum, except for objectives that trap poor starts.
        """
        in_full = round_number > 0 or self.task.objective.traps_poor_starts
        return self.plan.failures if in_full else max(3, self.plan.failures // 5)

    def _is_confirmed(self) -> bool:
        """Whether enough starts reached the best cost, which iterated local search then did not improve."""
        same = sum(cost <= self._best_cost() + EQUAL for cost in self.start_costs)
        return same >= self.plan.confirmations

    def _best_cost(self) -> float:
        return np.inf if self.best is None else self.best.cost

    def _update(self, results: Iterable[Found]) -> list[float]:
        """Update incumbent, elite pool and progress; the costs of the results."""
        costs = []
        for found in results:
            self.best = better(self.best, found)
            self.elite.setdefault(_canonical_key(found.labels), found)
            self.sweeps_left -= found.sweeps
            self.done += 1
            self.task.report(min(self.done, self.total), self.total, self.best.cost)
            costs.append(found.cost)
        return costs

    def _report_component(self, before: int, done: int, total: int, cost: float) -> None:
        """Scale a component method's progress to ``_STEPS_PER_COMPONENT`` steps."""
        cost = cost if self.best is None else min(cost, self.best.cost)
        self.task.report(before + max(1, _STEPS_PER_COMPONENT * done // total), self.total, cost)


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
    )


def _canonical_key(labels: Labels) -> bytes:
    """Labels renumbered by first occurrence, as bytes: equal for equal partitions."""
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[inverse].astype(np.int32).tobytes()


def iterate_local_search(
    context: StartContext,
    found: Found,
    number: int,
    max_failures: int,
    max_sweeps: float,
    max_returns: float = np.inf,
) -> Found:
    """Perturb the incumbent and run local search, until ``max_failures`` perturbations in a row do not improve it.

    Also ends after ``max_returns`` large perturbations from which local search returns to the incumbent's cost.
    """
    rng = np.random.default_rng([context.seed, _KEY_PERTURBATION, number])
    failures, returns, sweeps = 0, 0, 0.0
    while failures < max_failures and returns < max_returns and sweeps < max_sweeps:
        merges = context.n_groups > 1 and rng.random() < _MERGING_SHARE
        perturbed = _merge_and_split(found, context, rng) if merges else _relabel(found, context, rng)
        other = context.local_search(fill_empty_groups(perturbed, context.n_groups), rng)
        sweeps += other.sweeps
        if other.cost < found.cost - EQUAL:
            found, failures, returns = other, 0, 0
        else:
            failures += 1
            returns += merges and other.cost <= found.cost + EQUAL
    return replace(found, sweeps=sweeps)


def _merge_and_split(found: Found, context: StartContext, rng: np.random.Generator) -> Labels:
    """Merge two groups and split another, or the merged one, at random."""
    labels, k = found.labels.copy(), context.n_groups
    a, b = rng.choice(k, 2, replace=False)
    labels[labels == a] = b
    members = np.flatnonzero(labels == rng.choice(np.delete(np.arange(k), a)))
    labels[members[rng.random(members.size) < 0.5]] = a
    return labels


def _relabel(found: Found, context: StartContext, rng: np.random.Generator) -> Labels:
    """Relabel 2 to 30 % of the states at random."""
    labels = found.labels.copy()
    chosen = rng.random(labels.size) < rng.uniform(0.02, 0.3)
    chosen[rng.integers(labels.size)] = True
    labels[chosen] = rng.integers(0, context.n_groups, int(chosen.sum()))
    return labels
