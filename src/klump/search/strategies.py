"""The portfolio's starts: named strategies, the order in which they are tried, and the local search after each.

A strategy is a rule for the initial labels and a list of objectives. Local search runs for each objective, warm-
started from the one before; the last objective is the target::

    strategy          initial labels                                                      objectives
    SPECTRAL          weighted k-means in a spectral embedding, the next one at each use  target
    ROWS              k-means of the rows of P W by Kullback-Leibler divergence           target
    ROWS_VIA_HALF     the same                                                            beta = 1/2, target
    RANDOM            uniform                                                             target
    RANDOM_VIA_HALF   the same                                                            beta = 1/2, target
    POWER             local optimum of a power of P, the next one at each use             target
    POWER_VIA_HALF    the same                                                            beta = 1/2, target
    ANNEALED          uniform                                                             beta = 1, ..., target
    SINGLETONS        k - 1 single states split off one large group                       target

Every second start is SPECTRAL. The others follow this order, again and again::

    informative powers  traps poor starts  order
    no                  no                 ROWS  RANDOM           ROWS           ANNEALED
    yes                 no                 ROWS  POWER            POWER          ANNEALED
    no                  yes                ROWS  RANDOM_VIA_HALF  ROWS_VIA_HALF  ANNEALED
    yes                 yes                ROWS  POWER_VIA_HALF   ROWS_VIA_HALF  ANNEALED

Powers of P are informative if the chain mixes slowly (``starts.powers``). An objective traps poor starts if
1 - 2 beta + gamma > 0; then SINGLETONS replaces the first ROWS. If there is no embedding, each of the others runs
twice, with different random numbers, instead of alternating with SPECTRAL.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, islice, repeat
from typing import NamedTuple

import numpy as np
from scipy import sparse

from klump.chain.validation import Matrix
from klump.search.annealing import schedule
from klump.search.constrained import make_search
from klump.search.descent import descend, random_labels, split_off_singletons
from klump.search.kernels.tables import DenseProblem, Problem
from klump.search.method import Found, Labels
from klump.search.objective import MIDDLE, Objective
from klump.search.problem import make_dense_problem
from klump.search.repair import Repair
from klump.search.starts import Embeddings, cluster_rows

# Sweeps that the allocation and the first sums of a local search cost.
_SWEEPS_PER_TABLE = 1
# Keys of the random generator of a start, between the seed and the number of the start.
_KEYS = (3, 2)


@dataclass(frozen=True)
class StartContext:
    """The data that starts and iterated local search read; picklable, so that each may be a remote task."""

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
    repair: Repair | None = None
    """Makes labels satisfy the constraints, if there are any."""

    @cached_property
    def dense_problem(self) -> DenseProblem:
        """The chain with all pairs of states, for tabu search."""
        if isinstance(self.problem, DenseProblem):
            return self.problem
        mu = self.problem.mu
        joint = mu[:, None] * sparse.csr_array(self.transition_matrix).toarray()
        return make_dense_problem(joint, mu)

    def local_search(
        self, labels: Labels, rng: np.random.Generator, objectives: list[Objective] | None = None
    ) -> Found:
        """Local search in random order for each objective; by default for the target alone."""
        sweeps, trace = 0.0, [np.inf]
        if self.repair is not None:
            labels = self.repair(labels)
        order = rng.permutation(self.problem.mu.size if self.repair is None else self.repair.n_units)
        for objective in objectives or [self.objective]:
            search = make_search(self.problem, labels, self.n_groups, objective, order, self.repair)
            trace = search.descend(self.max_sweeps, exchange=True, queue=True)
            labels, sweeps = search.table.labels, sweeps + search.sweeps + _SWEEPS_PER_TABLE
        costs = tuple(cost + self.offset for cost in trace)
        return Found(labels, costs[-1], costs, sweeps=sweeps)


class Strategy(NamedTuple):
    """A rule for initial labels, and the objectives of the local search from them."""

    labels: Callable[[StartContext, int, np.random.Generator], Labels]
    """Labels from the context, the number of earlier uses of the strategy and a random generator."""
    objectives: Callable[[StartContext], list[Objective]]


class Order(NamedTuple):
    """Strategies of the first cycle, and of every later one."""

    first: tuple[Strategy, ...]
    later: tuple[Strategy, ...]


def run_start(context: StartContext, number: int) -> Found:
    """Run start ``number`` = 0, 1, ... of the schedule."""
    rng = np.random.default_rng([context.seed, *_KEYS, number])
    strategy, uses = next(islice(starts(context), number, None))
    labels = strategy.labels(context, uses, rng)
    return context.local_search(labels, rng, strategy.objectives(context))


def starts(context: StartContext) -> Iterator[tuple[Strategy, int]]:
    """Endless schedule: each start's strategy, and the number of earlier uses of it."""
    order = ORDERS[bool(context.powers), context.objective.traps_poor_starts]
    uses: Counter[Strategy] = Counter()
    for other in chain(order.first, chain.from_iterable(repeat(order.later))):
        second = SPECTRAL if context.embeddings.coordinates else other
        yield other, uses[other]
        yield second, uses[second]
        uses.update({other, second})


def _random(context: StartContext, _: int, rng: np.random.Generator) -> Labels:
    return random_labels(context.problem.mu.size, context.n_groups, rng, allow_empty=False)


def _spectral(context: StartContext, uses: int, rng: np.random.Generator) -> Labels:
    embeddings = context.embeddings
    return embeddings.cluster(uses % len(embeddings.coordinates), context.n_groups, rng)


def _rows(context: StartContext, _: int, rng: np.random.Generator) -> Labels:
    matrix = context.transition_matrix
    return cluster_rows(lambda W: np.asarray(matrix @ W), context.problem.mu, context.n_groups, rng)


def _power(context: StartContext, uses: int, rng: np.random.Generator) -> Labels:
    """Local optimum of a power of P from random labels, the largest exponent first."""
    labels = _random(context, uses, rng)
    problem = context.powers[-1 - uses % len(context.powers)]
    found, _ = descend(
        problem,
        labels,
        context.n_groups,
        [MIDDLE if context.objective.traps_poor_starts else context.objective],
        rng.permutation(problem.mu.size),
        max_sweeps=context.max_sweeps,
    )
    return found[-1]


def _singletons(context: StartContext, _: int, __: np.random.Generator) -> Labels:
    return split_off_singletons(context.problem, context.n_groups, context.objective)


def _target(context: StartContext) -> list[Objective]:
    return [context.objective]


def _half_then_target(context: StartContext) -> list[Objective]:
    """Warm start at beta = 1/2, where poor starts are not trapped and sweeps are cheap."""
    return [MIDDLE, context.objective]


def _annealing(context: StartContext) -> list[Objective]:
    target = context.objective
    return [replace(target, beta=beta) for beta in schedule([target.beta], context.step)]


SPECTRAL = Strategy(_spectral, _target)
ROWS = Strategy(_rows, _target)
ROWS_VIA_HALF = Strategy(_rows, _half_then_target)
RANDOM = Strategy(_random, _target)
RANDOM_VIA_HALF = Strategy(_random, _half_then_target)
POWER = Strategy(_power, _target)
POWER_VIA_HALF = Strategy(_power, _half_then_target)
ANNEALED = Strategy(_random, _annealing)
SINGLETONS = Strategy(_singletons, _target)

# Key: whether powers of P are informative, and whether the objective traps poor starts.
ORDERS = {
    (False, False): Order(
        first=(ROWS, RANDOM, ROWS, ANNEALED),
        later=(ROWS, RANDOM, ROWS, ANNEALED),
    ),
    (True, False): Order(
        first=(ROWS, POWER, POWER, ANNEALED),
        later=(ROWS, POWER, POWER, ANNEALED),
    ),
    (False, True): Order(
        first=(SINGLETONS, RANDOM_VIA_HALF, ROWS_VIA_HALF, ANNEALED),
        later=(ROWS, RANDOM_VIA_HALF, ROWS_VIA_HALF, ANNEALED),
    ),
    (True, True): Order(
        first=(SINGLETONS, POWER_VIA_HALF, ROWS_VIA_HALF, ANNEALED),
        later=(ROWS, POWER_VIA_HALF, ROWS_VIA_HALF, ANNEALED),
    ),
}
