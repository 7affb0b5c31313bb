"""The interface of every method: ``Task`` in, ``Found`` out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from klump import information
from klump.arguments import Progress
from klump.chain import MarkovChain
from klump.checkpoints import Once, Scope, always, storable
from klump.parallel import run_all
from klump.parallel.cluster import FutureCache
from klump.search.constraints import Constraints
from klump.search.deadline import (
    Deadline,
    TimeLimitReached,
    check_deadline,
    interruption,
    limit_of,
    search_in_progress,
)
from klump.search.kernels.tables import Problem
from klump.search.objective import Objective
from klump.search.problem import make_problem

Labels = NDArray[np.int32]

# Tolerance, in bits, within which two costs are equal: far above the rounding error of one partition's cost (about
# 1e-15, depending on the order of summation), far below any difference between partitions that matters.
EQUAL = 1e-12


@dataclass(frozen=True)
class Task:
    """A chain, a number of groups, an objective, and the parameters of the search, all of them validated."""

    chain: MarkovChain
    n_groups: int
    beta: float
    n_init: int = 20
    seed: int = 0
    n_jobs: int | None = None
    initial: Labels | None = None
    max_sweeps: int = 100
    step: float = 0.1
    allow_empty: bool = False
    tolerance: float = 1e-10
    gamma: float = 0.0
    effort: str = "balanced"
    constraints: Constraints | None = None
    progress: Progress | None = field(default=None, compare=False)
    deadline: Deadline | None = field(default=None, compare=False, repr=False)
    futures: FutureCache = field(default_factory=FutureCache, compare=False, repr=False)
    journal: Scope | None = field(default=None, compare=False, repr=False)

    @cached_property
    def problem(self) -> Problem:
        """The chain in the memory layout of the kernels."""
        return make_problem(self.chain)

    @cached_property
    def objective(self) -> Objective:
        """The cost to minimise."""
        return Objective(self.beta, self.gamma)

    @cached_property
    def _sum_f_mu(self) -> float:
        return float(np.sum(information.xlog2x(self.chain.stationary_distribution)))

    def offset(self, objective: Objective) -> float:
        """Constant of the cost that kernels omit: beta I(X1;X2) + gamma H(X2|X1) - weights.into sum f(mu)."""
        constant = objective.beta * self.chain.redundancy_rate - objective.weights.into * self._sum_f_mu
        if objective.gamma > 0.0:
            constant += objective.gamma * self.chain.entropy_rate
        return constant

    def rng(self, *key: int) -> np.random.Generator:
        """Independent generator per key: it depends on the seed and the key, not on the order of the calls."""
        return np.random.default_rng([self.seed, *key])

    def run_all(self, function: Callable[..., Any], calls: Iterable[tuple[Any, ...]]) -> Iterator[Any]:
        """Run independent calls on ``n_jobs`` workers and yield their results in order."""
        if self.journal is None:
            return run_all(function, calls, self.n_jobs, self.futures)
        return self.journal.run_all(
            function, calls, lambda function, calls: run_all(function, calls, self.n_jobs, self.futures)
        )

    @property
    def once(self) -> Once:
        """Run a unit of work, or return its result from the checkpoint: see :meth:`klump.checkpoints.Scope.once`."""
        return always if self.journal is None else self.journal.once

    def run_nested(self, name: str, search: Search) -> Found:
        """Run a search that has units of its own, as one unit: once it is complete, its own ones are not needed.

        One that is stored is reported as a single step.
        """
        if self.journal is None:
            return search(self)
        nested = replace(self, journal=self.journal.scope(name))
        is_stored = True

        def run() -> Found:
            nonlocal is_stored
            is_stored = False
            return search(nested)

        found = self.once(name, run)
        return report_result(self, found) if is_stored else found

    def report(self, done: int, total: int, best: float) -> None:
        """Call the progress callback, if there is one; ``best`` is infinite while no result is known.

        Raises TimeLimitReached after the deadline.
        """
        if self.progress is not None:
            self.progress(done, total, best)
        check_deadline()


@storable
@dataclass(frozen=True, eq=False)
class Record:
    """Intermediate results of a method (merges, splits) as named columns, a format that files can store."""

    kind: str
    columns: dict[str, NDArray[Any]]

    def __post_init__(self) -> None:
        for column in self.columns.values():
            column.flags.writeable = False


@storable
@dataclass(frozen=True, eq=False)
class Found:
    """A map and its cost; ``trace`` is the cost after each sweep of the last descent.

    ``sweeps`` counts those of a local search, ``steps`` those of tabu search, where a budget is kept. A stochastic map
    has ``weights`` (n x k); ``labels`` are then the most probable group of each state. Methods that build a hierarchy
    return it as ``record``. ``interrupted_after`` is the time limit in seconds, if that and not Ctrl-C interrupted the
    search.
    """

    labels: Labels
    cost: float
    trace: tuple[float, ...] = ()
    interrupted: bool = False
    weights: sparse.csr_array | None = None
    record: Record | None = None
    sweeps: float = 0.0
    steps: int = 0
    interrupted_after: float | None = None

    def interrupt(self, reason: KeyboardInterrupt) -> Found:
        """Mark the result as the incumbent of a search that Ctrl-C or the time limit interrupted."""
        return replace(self, interrupted=True, interrupted_after=limit_of(reason))

    def raise_if_interrupted(self) -> None:
        """Interrupt the search around this one too, for the same reason."""
        if self.interrupted:
            raise interruption(self.interrupted_after)


# Type of the function that runs a method.
Search = Callable[[Task], Found]


class Interruptible(Protocol):
    """A search that keeps its best result so far, the incumbent, in ``best``."""

    best: Found | None

    def run(self) -> None:
        """Search until done, updating ``best``."""
        ...


def run_interruptible(search: Interruptible) -> Found:
    """Run a search and return its incumbent; Ctrl-C ends the search early, or propagates without an incumbent.

    The deadline does too, but propagates only if a search around this one has an incumbent.
    """
    try:
        with search_in_progress(lambda: search.best is not None):
            search.run()
    except KeyboardInterrupt as reason:
        if search.best is None:
            raise
        return search.best.interrupt(reason)
    assert search.best is not None
    return replace(search.best, interrupted=False, interrupted_after=None)


def report_result(task: Task, found: Found, total: int = 1) -> Found:
    """Report the last of ``total`` steps, unless the search was interrupted; Ctrl-C then marks the result.

    A deadline that passes now does not: the result is complete.
    """
    if found.interrupted:
        return found
    try:
        task.report(total, total, found.cost)
    except TimeLimitReached:
        return found
    except KeyboardInterrupt as reason:
        return found.interrupt(reason)
    return found


def better(a: Found | None, b: Found) -> Found:
    """The cheaper of two results; a tie goes to the first."""
    return b if a is None or b.cost < a.cost - EQUAL else a
