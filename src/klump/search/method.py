"""The one seam of the search: what a method is given and what it gives back."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from klump import information
from klump.chain import MarkovChain
from klump.parallel import run_all
from klump.parallel.cluster import Held
from klump.search.kernels.tables import Problem
from klump.search.objective import Objective
from klump.search.problem import make_problem

Labels = NDArray[np.int32]
Progress = Callable[[int, int, float], None]

# Costs that differ by less than this are equal: the same partition reached by another way differs in rounding.
EQUAL = 1e-12


@dataclass(frozen=True)
class Task:
    """A chain, a number of groups and an objective, with everything that steers a search.

    All values are validated before a task is made.
    """

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
    progress: Progress | None = field(default=None, compare=False)
    held: Held = field(default_factory=Held, compare=False, repr=False)

    @cached_property
    def problem(self) -> Problem:
        """The chain as the kernels see it."""
        return make_problem(self.chain)

    @cached_property
    def objective(self) -> Objective:
        """The cost to minimise."""
        return Objective(self.beta, self.gamma)

    @cached_property
    def _sum_f_mu(self) -> float:
        return float(np.sum(information.xlog2x(self.chain.stationary_distribution)))

    def offset(self, objective: Objective) -> float:
        """Constant that the kernels leave out of the cost: beta I(X1;X2) + gamma H(X2|X1) - weights.into sum f(mu)."""
        constant = objective.beta * self.chain.redundancy_rate - objective.weights.into * self._sum_f_mu
        if objective.gamma > 0.0:
            constant += objective.gamma * self.chain.entropy_rate
        return constant

    def rng(self, *key: int) -> np.random.Generator:
        """Random numbers that depend on the seed and the key alone, not on who asks first."""
        return np.random.default_rng([self.seed, *key])

    def run_all(self, function: Callable[..., Any], calls: Iterable[tuple[Any, ...]]) -> Iterator[Any]:
        """Run independent calls and yield their results in order, on as many workers as the task says."""
        return run_all(function, calls, self.n_jobs, self.held)

    def report(self, done: int, total: int, best: float) -> None:
        """Tell whoever watches how far the search is."""
        if self.progress is not None:
            self.progress(done, total, best)


@dataclass(frozen=True, eq=False)
class Record:
    """What a method saw on its way: named columns of numbers, so that it can be saved."""

    kind: str
    columns: dict[str, NDArray[Any]]

    def __post_init__(self) -> None:
        for column in self.columns.values():
            column.flags.writeable = False


@dataclass(frozen=True, eq=False)
class Found:
    """A map and its cost; ``trace`` is the cost after each sweep of the last descent.

    A truly stochastic map has ``weights`` (n x k), and ``labels`` are then its most probable groups. ``record`` is
    what the method saw on its way, for methods whose way is worth keeping.
    """

    labels: Labels
    cost: float
    trace: tuple[float, ...] = ()
    interrupted: bool = False
    weights: sparse.csr_array | None = None
    record: Record | None = None


# What a method is in the registry: a function that finds a map for a task.
Search = Callable[[Task], Found]


class Interruptible(Protocol):
    """A search that always knows its best answer so far."""

    best: Found | None

    def run(self) -> None:
        """Search to the end."""
        ...


def best_until_interrupted(search: Interruptible) -> Found:
    """Run a search; Ctrl-C ends it with the best so far, once there is one."""
    interrupted = False
    try:
        search.run()
    except KeyboardInterrupt:
        if search.best is None:
            raise
        interrupted = True
    assert search.best is not None
    return replace(search.best, interrupted=interrupted)


def better(a: Found | None, b: Found) -> Found:
    """Keep the cheaper one; the first among equals."""
    return b if a is None or b.cost < a.cost - EQUAL else a
