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
from klump.search.method import EQUAL, Found, Labels, Search, Task, better, run_interruptible
from klump.search.multilevel import explore, multilevel
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
# Logarithms per sweep up to which rounds of starts are run, on dense chains ...
_MAX_SWEEP_DENSE = 20_000_000
# ... and on sparse ones, where multilevel search mostly finds a lower cost in a tenth of the time.
_MAX_SWEEP_SPARSE = 3_000_000
# Logarithms per sweep up to which component methods are run; beyond, multilevel search alone.
_MAX_SWEEP_COMPONENTS = 40_000_000
# Logarithms of all starts and perturbations together, component methods excluded.
_BUDGET = 1_200_000_000
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
# States above which multilevel search is a component method: it finds optima there that single starts miss.
_MULTILEVEL_STATES = 300
# States up to which the agglomerative methods are component methods; their time grows as the cube.
_MAX_MERGED_STATES = 1_200
# Transitions times groups up to which deterministic annealing is a component method.
_MAX_ANNEALED_SIZE = 2_500_000


@dataclass(frozen=True)
class Effort:
    """Limits of the portfolio."""

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
    between = 0 if weights.flow == 0.0 else 3 * n * min(k, max(1, transitions // n)) * k
    return into + between + transitions


def effort(task: Task) -> Effort:
    """Limits from the budget in sweeps, ``_BUDGET / sweep_cost(task)``."""
    sweeps = _BUDGET / sweep_cost(task)
    if not _is_affordable(task):
        return Effort(rounds=0, starts=0, failures=0, confirmations=0)
    starts = int(np.clip(sweeps / 30, 6, 60))
    if task.chain.n_states > _TINY:
        starts *= int(np.clip(sweeps / 3000, 1, 2))
    rounds = max(1, starts // _STARTS_PER_ROUND)
    return Effort(
        rounds=rounds,
        starts=starts // rounds,
        failures=int(np.clip(sweeps / 100, 3, 40)),
        confirmations=_required_confirmations(task.objective) if task.chain.n_states > _TINY else starts,
    )


def _required_confirmations(objective: Objective) -> int:
    """``_CONFIRMATIONS`` at beta >= 1/2, up to twice as many below, where many starts share one poor local optimum."""
    return _CONFIRMATIONS + round(_CONFIRMATIONS * min(1.0, max(0.0, objective.weights.into)))


def portfolio(task: Task) -> Found:
    """Choose the search by size: exhaustive, the portfolio, or multilevel search alone."""
    n, k = task.chain.n_states, task.n_groups
    if k in (1, n):
        return _only_partition(task)
    if sweep_cost(task) > _MAX_SWEEP_COMPONENTS:
        return multilevel(task)
    if n_partitions(n, k, _MAX_ENUMERATED) < _MAX_ENUMERATED:
        return exhaustive(task)
    if task.chain.is_sparse and not _is_affordable(task):
        found, is_stable = explore(task)
        # Stability is tested at beta = 1/2 and says nothing about objectives that trap poor starts.
        return found if is_stable and not task.objective.traps_poor_starts else search(task, found)
    return search(task)


def _is_affordable(task: Task) -> bool:
    return sweep_cost(task) <= (_MAX_SWEEP_SPARSE if task.chain.is_sparse else _MAX_SWEEP_DENSE)


def search(task: Task, multilevel_result: Found | None = None) -> Found:
    """Run the portfolio at any size; Ctrl-C returns the incumbent.

    With ``multilevel_result`` that is the first incumbent, and multilevel search is not run again.
    """
    return run_interruptible(_PortfolioRun(task, multilevel_result))


def _only_partition(task: Task) -> Found:
    """The partition into one group, or into single states."""
    labels = np.arange(task.chain.n_states, dtype=np.int32) % task.n_groups
    found, traces = descend(task.problem, labels, task.n_groups, [task.objective], np.arange(0), max_sweeps=1)
    trace = tuple((traces[0] + task.offset(task.objective)).tolist())
    task.report(1, 1, trace[-1])
    return Found(found[0], trace[-1], trace)


def component_methods(task: Task) -> tuple[Search, ...]:
    """Methods whose results the portfolio includes, so that its cost is at most theirs."""
    n = task.chain.n_states
    affordable = {
        sequential: True,
        annealing: True,
        spectral: True,
        agglomerative: n <= _MAX_MERGED_STATES,
        agglomerative_relaxed: n <= _MAX_MERGED_STATES,
        deterministic_annealing: task.chain.n_transitions * task.n_groups <= _MAX_ANNEALED_SIZE,
        multilevel: n > _MULTILEVEL_STATES,
        spectral_sign: True,
    }
    return tuple(method for method, runs in affordable.items() if runs)


class _PortfolioRun:
    """State of one run: the incumbent, the elite pool and the progress steps."""

    def __init__(self, task: Task, multilevel_result: Found | None) -> None:
        self.task = task
        self.effort = effort(task)
        self.best: Found | None = multilevel_result
        self.elite: dict[bytes, Found] = {}  # distinct local optima by canonical key
        self.start_costs: list[float] = []
        self.done = 0
        self.components = tuple(
            method
            for method in component_methods(task)
            if multilevel_result is None or method is not multilevel
        )
        steps_per_round = self.effort.starts + _N_ELITE
        self.total = (_STEPS_PER_COMPONENT + 1) * len(self.components) + self.effort.rounds * steps_per_round

    def run(self) -> None:
        """Component methods, local search from their results, then rounds of starts and iterated local search."""
        task = self.task
        for number, method in enumerate(self.components):
            report = partial(self._report_component, number * _STEPS_PER_COMPONENT)
            found = method(replace(task, progress=report))
            self.done = (number + 1) * _STEPS_PER_COMPONENT - 1
            # The record of one component does not describe the portfolio's result.
            self._update([replace(found, record=None)])
            if found.interrupted:
                raise KeyboardInterrupt
        context = _context(task, with_embeddings=self.effort.rounds > 0)
        given = [] if task.initial is None else [task.initial]
        rng = task.rng(_KEY_COMPONENTS, 0)
        for labels in [*(found.labels for found in list(self.elite.values())), *given]:
            self._update([context.local_search(labels, rng)])
        stalled_rounds = 0
        for round_number in range(self.effort.rounds):
            before = self._best_cost()
            self._run_round(context, round_number)
            stalled_rounds = 0 if self._best_cost() < before - EQUAL else stalled_rounds + 1
            if self._is_confirmed() or stalled_rounds >= _MAX_STALLED_ROUNDS:
                break
        task.report(self.total, self.total, self._best_cost())

    def _run_round(self, context: StartContext, round_number: int) -> None:
        """A batch of starts, then iterated local search from the elite, which becomes the next round's pool."""
        first = round_number * self.effort.starts
        starts = ((context, first + i) for i in range(self.effort.starts))
        self.start_costs += self._update(self.task.run_all(run_start, starts))
        cheapest = sorted(self.elite.values(), key=lambda found: found.cost)[:_N_ELITE]
        self.elite = {}
        searches = (
            (context, found, round_number * _N_ELITE + i, self._max_failures(round_number))
            for i, found in enumerate(cheapest)
        )
        self._update(self.task.run_all(iterate_local_search, searches))

    def _max_failures(self, round_number: int) -> int:
        """Failures that end an iterated local search: ``effort.failures``, or a fifth of it in the first round.

        The first round's best local optimum is mostly the optimum, except for objectives that trap poor starts.
        """
        in_full = round_number > 0 or self.task.objective.traps_poor_starts
        return self.effort.failures if in_full else max(3, self.effort.failures // 5)

    def _is_confirmed(self) -> bool:
        """Whether enough starts reached the best cost, which iterated local search then did not improve."""
        same = sum(cost <= self._best_cost() + EQUAL for cost in self.start_costs)
        return same >= self.effort.confirmations

    def _best_cost(self) -> float:
        return np.inf if self.best is None else self.best.cost

    def _update(self, results: Iterable[Found]) -> list[float]:
        """Update incumbent, elite pool and progress; the costs of the results."""
        costs = []
        for found in results:
            self.best = better(self.best, found)
            self.elite.setdefault(_canonical_key(found.labels), found)
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


def iterate_local_search(context: StartContext, found: Found, number: int, max_failures: int) -> Found:
    """Perturb the incumbent and run local search, until ``max_failures`` perturbations in a row do not improve it."""
    rng = np.random.default_rng([context.seed, _KEY_PERTURBATION, number])
    failures = 0
    while failures < max_failures:
        other = context.local_search(_perturb(found.labels, context.n_groups, rng), rng)
        if other.cost < found.cost - EQUAL:
            found, failures = other, 0
        else:
            failures += 1
    return found


def _perturb(labels: Labels, n_groups: int, rng: np.random.Generator) -> Labels:
    """With probability 0.3 merge two groups and split one at random, else relabel 2 to 30 % of the states."""
    labels = labels.copy()
    if n_groups > 1 and rng.random() < 0.3:
        a, b = rng.choice(n_groups, 2, replace=False)
        labels[labels == a] = b
        members = np.flatnonzero(labels == rng.choice(np.delete(np.arange(n_groups), a)))
        labels[members[rng.random(members.size) < 0.5]] = a
    else:
        chosen = rng.random(labels.size) < rng.uniform(0.02, 0.3)
        chosen[rng.integers(labels.size)] = True
        labels[chosen] = rng.integers(0, n_groups, int(chosen.sum()))
    return fill_empty_groups(labels, n_groups)
