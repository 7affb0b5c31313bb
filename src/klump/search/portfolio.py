"""``"auto"``: many different starts, the same local search from each, then iterated local search on the best.

Every budget is a count, never a clock: the same seed gives the same answer on any machine.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from klump.chain.validation import Matrix
from klump.search.agglomerative import agglomerative, agglomerative_relaxed
from klump.search.annealing import annealing, schedule
from klump.search.descent import descend, random_labels, without_empty_groups
from klump.search.deterministic_annealing import deterministic_annealing
from klump.search.exhaustive import exhaustive, n_partitions
from klump.search.kernels.tables import Problem
from klump.search.method import EQUAL, Found, Labels, Search, Task, best_until_interrupted, better
from klump.search.multilevel import explored, multilevel
from klump.search.objective import MIDDLE, Objective
from klump.search.problem import make_table, make_work
from klump.search.sequential import sequential
from klump.search.spectral import spectral, spectral_sign
from klump.search.starts import Embeddings, by_rows, powers, spectral_embeddings

_KEY_START, _KEY_EMBEDDING, _KEY_IMPROVE = 3, 4, 5
# Sweeps that cost more logarithms than this leave no room for dozens of starts, or for restarted methods either. On
# sparse chains the multilevel search mostly finds more than such starts, in a tenth of the time.
_AFFORDABLE, _AFFORDABLE_SPARSE, _RESTARTABLE = 20_000_000, 3_000_000, 40_000_000
# Logarithms that the whole search may take, apart from the methods that it must include.
_BUDGET = 1_200_000_000
_N_ELITE = 3
# So few partitions are priced one by one, in a tenth of a second: 12 states in 3 groups have 86,526.
_ENUMERABLE = 100_000
# Steps that an included method counts for when progress is reported.
_STEPS = 10
# So few states have so few partitions that a few starts see all that matter.
_TINY = 12
# Starts of a round; how many of all starts must lead to the best answer before it is believed; after how many
# rounds that found nothing better the search gives up.
_ROUND, _CONFIRMATIONS, _PATIENCE = 12, 4, 5
# From here on the multilevel search finds what starts one by one miss.
_LARGE = 300
# Up to so many states merging them one by one is affordable (it grows with the third power), and up to so many
# transitions times groups deterministic annealing is.
_MERGEABLE, _COOLABLE = 1_200, 2_500_000


@dataclass(frozen=True)
class Effort:
    """How much the portfolio tries."""

    rounds: int
    starts: int  # of each round
    failures: int  # in a row, until an improvement gives up
    confirmations: int  # starts that lead to the best answer, until it is believed


@dataclass(frozen=True)
class Ingredients:
    """What a start or an improvement needs, and nothing else: it may be sent to another process."""

    problem: Problem
    transition_matrix: Matrix
    embeddings: Embeddings
    powers: tuple[Problem, ...]
    n_groups: int
    objective: Objective
    step: float
    max_sweeps: int
    offset: float
    seed: int

    def settle(
        self, labels: Labels, rng: np.random.Generator, objectives: list[Objective] | None = None
    ) -> Found:
        """Local search in random order, for the objectives given (last the target)."""
        found, traces = descend(
            self.problem,
            labels,
            self.n_groups,
            objectives or [self.objective],
            rng.permutation(self.problem.mu.size),
            max_sweeps=self.max_sweeps,
            exchange=True,
        )
        trace = tuple((traces[-1] + self.offset).tolist())
        return Found(found[-1], trace[-1], trace)


def sweep_cost(task: Task) -> float:
    """Estimate the logarithms of one sweep."""
    n, k = task.chain.n_states, task.n_groups
    transitions = task.chain.n_transitions
    weights = task.objective.weights
    into = 0 if weights.into == 0.0 else transitions * k
    between = 0 if weights.flow == 0.0 else 3 * n * min(k, max(1, transitions // n)) * k
    return into + between + transitions


def effort(task: Task) -> Effort:
    """Divide the budget by what a sweep costs."""
    share = _BUDGET / sweep_cost(task)
    if not _is_affordable(task):
        return Effort(rounds=0, starts=0, failures=0, confirmations=0)
    starts = int(np.clip(share / 30, 6, 60))
    if task.chain.n_states > _TINY:
        starts *= int(np.clip(share / 3000, 1, 2))
    rounds = max(1, starts // _ROUND)
    return Effort(
        rounds=rounds,
        starts=starts // rounds,
        failures=int(np.clip(share / 100, 3, 40)),
        confirmations=_confirmations(task.objective) if task.chain.n_states > _TINY else starts,
    )


def _confirmations(objective: Objective) -> int:
    """How many starts must lead to the best answer: below beta = 1/2 more, because many lead to the same wrong one."""
    return _CONFIRMATIONS + round(_CONFIRMATIONS * min(1.0, max(0.0, objective.weights.into)))


def portfolio(task: Task) -> Found:
    """Search as well as the size allows."""
    n, k = task.chain.n_states, task.n_groups
    if k in (1, n):
        return _only_answer(task)
    if sweep_cost(task) > _RESTARTABLE:
        return multilevel(task)
    if n_partitions(n, k, _ENUMERABLE) < _ENUMERABLE:
        return exhaustive(task)
    if task.chain.is_sparse and not _is_affordable(task):
        found, is_sure = explored(task)
        # What is plain at beta = 1/2 and above need not be so below.
        return found if is_sure and not task.objective.traps_poor_starts else search(task, found)
    return search(task)


def _is_affordable(task: Task) -> bool:
    return sweep_cost(task) <= (_AFFORDABLE_SPARSE if task.chain.is_sparse else _AFFORDABLE)


def search(task: Task, known: Found | None = None) -> Found:
    """Run the portfolio itself, whatever the size, unless the multilevel search has been run already.

    Ctrl-C keeps the best so far.
    """
    return best_until_interrupted(_Search(task, known))


def _only_answer(task: Task) -> Found:
    labels = np.arange(task.chain.n_states, dtype=np.int32) % task.n_groups
    found, traces = descend(task.problem, labels, task.n_groups, [task.objective], np.arange(0), max_sweeps=1)
    trace = tuple((traces[0] + task.offset(task.objective)).tolist())
    task.report(1, 1, trace[-1])
    return Found(found[0], trace[-1], trace)


def included(task: Task) -> tuple[Search, ...]:
    """List the methods that are run for what they find, so that the portfolio is never costlier than they."""
    n = task.chain.n_states
    affordable = {
        sequential: True,
        annealing: True,
        spectral: True,
        agglomerative: n <= _MERGEABLE,
        agglomerative_relaxed: n <= _MERGEABLE,
        deterministic_annealing: task.chain.n_transitions * task.n_groups <= _COOLABLE,
        multilevel: n > _LARGE,
        spectral_sign: True,
    }
    return tuple(method for method, runs in affordable.items() if runs)


class _Search:
    """One run of the portfolio: the best so far, the elite, and the count of steps."""

    def __init__(self, task: Task, known: Found | None) -> None:
        self.task = task
        self.effort = effort(task)
        self.best: Found | None = known
        self.elite: dict[bytes, Found] = {}
        self.reached: list[float] = []
        self.done = 0
        self.included = tuple(
            method for method in included(task) if known is None or method is not multilevel
        )
        self.total = (_STEPS + 1) * len(self.included) + self.effort.rounds * (self.effort.starts + _N_ELITE)

    def run(self) -> None:
        """Included methods, then rounds of starts and of improving the best of them."""
        task = self.task
        for number, method in enumerate(self.included):
            found = method(replace(task, progress=partial(self._report_included, number * _STEPS)))
            self.done = (number + 1) * _STEPS - 1
            # What it recorded on its way is not how this search came to its answer.
            self._take([replace(found, record=None)])
            if found.interrupted:
                raise KeyboardInterrupt
        ingredients = _ingredients(task, with_embeddings=self.effort.rounds > 0)
        given = [] if task.initial is None else [task.initial]
        rng = task.rng(_KEY_START, 0)
        for labels in [*(found.labels for found in list(self.elite.values())), *given]:
            self._take([ingredients.settle(labels, rng)])
        in_vain = 0
        for round_number in range(self.effort.rounds):
            before = self._best_cost()
            first = round_number * self.effort.starts
            calls = ((ingredients, first + i) for i in range(self.effort.starts))
            self.reached += self._take(task.run_all(start, calls))
            chosen = sorted(self.elite.values(), key=lambda found: found.cost)[:_N_ELITE]
            self.elite = {}
            improving = (
                (ingredients, found, round_number * _N_ELITE + i, self._failures(round_number))
                for i, found in enumerate(chosen)
            )
            self._take(task.run_all(improve, improving))
            in_vain = 0 if self._best_cost() < before - EQUAL else in_vain + 1
            if self._is_confirmed() or in_vain >= _PATIENCE:
                break
        task.report(self.total, self.total, self._best_cost())

    def _failures(self, round_number: int) -> int:
        """Patience with one of the elite: little at first, for what many starts lead to mostly is the best there is.

        Below beta = 1/2 that is less sure: there they are improved in earnest at once.
        """
        in_earnest = round_number > 0 or self.task.objective.traps_poor_starts
        return self.effort.failures if in_earnest else max(3, self.effort.failures // 5)

    def _is_confirmed(self) -> bool:
        """Whether enough independent starts led to the best answer, and improving it came to nothing."""
        same = sum(cost <= self._best_cost() + EQUAL for cost in self.reached)
        return same >= self.effort.confirmations

    def _best_cost(self) -> float:
        return np.inf if self.best is None else self.best.cost

    def _take(self, results: Iterable[Found]) -> list[float]:
        costs = []
        for found in results:
            self.best = better(self.best, found)
            self.elite.setdefault(_partition(found.labels), found)
            self.done += 1
            self.task.report(min(self.done, self.total), self.total, self.best.cost)
            costs.append(found.cost)
        return costs

    def _report_included(self, before: int, done: int, total: int, cost: float) -> None:
        """Scale the steps of an included method to the share that it has of all."""
        cost = cost if self.best is None else min(cost, self.best.cost)
        self.task.report(before + max(1, _STEPS * done // total), self.total, cost)


def _ingredients(task: Task, *, with_embeddings: bool) -> Ingredients:
    embeddings = Embeddings(task.chain.stationary_distribution, ())
    slow: tuple[Problem, ...] = ()
    if with_embeddings:
        embeddings = spectral_embeddings(task.chain, task.n_groups, task.rng(_KEY_EMBEDDING))
        slow = powers(task.chain)
    return Ingredients(
        task.problem,
        task.chain.transition_matrix,
        embeddings,
        slow,
        task.n_groups,
        task.objective,
        task.step,
        task.max_sweeps,
        task.offset(task.objective),
        task.seed,
    )


def _partition(labels: Labels) -> bytes:
    """Equal for equal partitions, whatever their groups are called."""
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[inverse].astype(np.int32).tobytes()


def start(ingredients: Ingredients, number: int) -> Found:
    """Start number so-and-so of the portfolio: spectral ones alternate with all others."""
    rng = np.random.default_rng([ingredients.seed, _KEY_START, 2, number])
    n, k, objective = ingredients.problem.mu.size, ingredients.n_groups, ingredients.objective
    turn, spectral = divmod(number, 2)
    if spectral and ingredients.embeddings.coordinates:
        which = turn % len(ingredients.embeddings.coordinates)
        return ingredients.settle(ingredients.embeddings.cluster(which, k, rng), rng)
    if turn == 0 and objective.traps_poor_starts:
        return ingredients.settle(_split_off(ingredients), rng)
    if turn % 4 == 3:
        labels = random_labels(n, k, rng, allow_empty=False)
        betas = schedule([objective.beta], ingredients.step)
        return ingredients.settle(labels, rng, [replace(objective, beta=beta) for beta in betas])
    # Below 1/2 poor starts are trapped, and sweeps at 1/2 are cheap: there first.
    way = [MIDDLE, objective] if objective.traps_poor_starts and turn % 4 else None
    # What is nearly lumpable shows in the rows of P W, what is slow in its powers.
    if ingredients.powers and (turn % 4 == 1 or (turn % 4 == 2 and not objective.traps_poor_starts)):
        which = turn // 4 if objective.traps_poor_starts else turn // 2
        labels = _settled_at_a_power(ingredients, random_labels(n, k, rng, allow_empty=False), which, rng)
        return ingredients.settle(labels, rng, way)
    if turn % 4 == 1:
        return ingredients.settle(random_labels(n, k, rng, allow_empty=False), rng, way)
    matrix = ingredients.transition_matrix
    labels = by_rows(lambda W: np.asarray(matrix @ W), ingredients.problem.mu, k, rng)
    return ingredients.settle(labels, rng, way)


def _settled_at_a_power(
    ingredients: Ingredients, labels: Labels, number: int, rng: np.random.Generator
) -> Labels:
    """Local search on many steps at once, the slowest first; never below beta = 1/2, as for other poor starts."""
    problem = ingredients.powers[-1 - number % len(ingredients.powers)]
    found, _ = descend(
        problem,
        labels,
        ingredients.n_groups,
        [MIDDLE if ingredients.objective.traps_poor_starts else ingredients.objective],
        rng.permutation(problem.mu.size),
        max_sweeps=ingredients.max_sweeps,
    )
    return found[-1]


def _split_off(ingredients: Ingredients) -> Labels:
    """Single states split off one large group: what is cheapest when little need be kept."""
    from klump.search.kernels import descent as kernels

    k = ingredients.n_groups
    table = make_table(ingredients.problem, np.zeros(ingredients.problem.mu.size), k)
    kernels.build(ingredients.problem, table)
    kernels.split_off(ingredients.problem, table, make_work(k), ingredients.objective.weights)
    return table.labels


def improve(ingredients: Ingredients, found: Found, number: int, failures: int) -> Found:
    """Iterated local search: disturb, settle, keep if better; stop after so many failures in a row."""
    rng = np.random.default_rng([ingredients.seed, _KEY_IMPROVE, number])
    failed = 0
    while failed < failures:
        disturbed = _disturbed(found.labels, ingredients.n_groups, rng)
        other = ingredients.settle(disturbed, rng)
        if other.cost < found.cost - EQUAL:
            found, failed = other, 0
        else:
            failed += 1
    return found


def _disturbed(labels: Labels, n_groups: int, rng: np.random.Generator) -> Labels:
    """Merge two groups and split one, or relabel some states."""
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
    return without_empty_groups(labels, n_groups)
