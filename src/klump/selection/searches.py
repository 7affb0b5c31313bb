"""The searches of a selection: cells, restarts, resampled and shuffled chains."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from klump import signals
from klump.aggregation import score
from klump.aggregation.many import run_on_one_worker
from klump.arguments import Progress
from klump.chain import MarkovChain
from klump.checkpoints import storable
from klump.resampling.draws import Draws, GivenChains
from klump.search.method import Found, Labels, Task
from klump.selection.shuffling import shuffle

Cell = tuple[int, float]

# Spawn keys of random numbers, different from those of the searches with the same seed.
_RESTART_KEY = 307
_SHUFFLE_KEY = 311


@dataclass
class Runner:
    """Runs searches in parallel, reports progress, and ends after a signal or the deadline."""

    task: Task
    """Chain and options of all searches; number of groups and beta are those of each cell."""
    method: str
    total: int
    """Steps that progress reports plan for."""
    report: Progress | None
    done: int = field(default=0, init=False)

    def run(self, function: Callable[..., Any], calls: Iterable[tuple[Any, ...]]) -> Iterator[Any]:
        """Yield the results in order; each is one step."""
        for result in self.task.run_all(function, calls):
            yield result
            self.advance()

    def advance(self) -> None:
        """Report one more step, and check signals and the deadline."""
        self.done += 1
        if self.report is not None:
            self.report(self.done, self.total, math.nan)
        if self.done < self.total:
            self.check()

    def check(self) -> None:
        """Raise KeyboardInterrupt after a signal or the deadline."""
        signals.check()
        if self.task.deadline is not None:
            self.task.deadline.check()


@storable
@dataclass(frozen=True, eq=False)
class ShuffledSearch:
    """Search of a shuffled chain."""

    gain: float
    """Decrease of the cost by the step."""
    found: Found

    @property
    def interrupted(self) -> bool:
        """Whether the search was interrupted."""
        return self.found.interrupted


def search_cell(task: Task, cell: Cell, method: str) -> Found:
    """Aggregate the chain to one cell's number of groups, at its beta; a checkpoint has it as one unit."""
    return run_on_one_worker(replace(task, n_groups=cell[0], beta=cell[1], journal=None), method)


def search_again(task: Task, cell: Cell, method: str, number: int) -> Found:
    """Search a cell with another seed."""
    seed = int(np.random.default_rng([task.seed, _RESTART_KEY, number]).integers(2**32))
    return search_cell(replace(task, seed=seed), cell, method)


def search_resample(
    task_and_draws: tuple[Task, Draws | GivenChains], cell: Cell, method: str, number: int
) -> Found:
    """Search a cell of a chain that is drawn from the posterior, given the counts."""
    task, draws = task_and_draws
    return search_cell(replace(task, chain=draws.chain(number)), cell, method)


def search_shuffled(task: Task, cell: Cell, method: str, labels: Labels, number: int) -> ShuffledSearch:
    """Search a cell of a chain that is shuffled within ``labels``.

    The cost before the step is that of ``labels`` themselves, which may be above the least one: the decrease is then
    too large, and the test of the chain's own step too strict.
    """
    rng = np.random.default_rng([task.seed, _SHUFFLE_KEY, cell[0], number])
    shuffled: MarkovChain = shuffle(task.chain, labels, rng)
    found = search_cell(replace(task, chain=shuffled), cell, method)
    return ShuffledSearch(score(shuffled, labels).at(cell[1], task.gamma) - found.cost, found)
