"""The evidence of a selection: runs the searches, and builds the rows of the table."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from klump.aggregation import Aggregation, score
from klump.aggregation.agreement import adjusted_rand_index
from klump.aggregation.question import build_answer
from klump.chain import MarkovChain
from klump.resampling.draws import Draws, GivenChains
from klump.search.method import Found, Labels
from klump.selection.held_out import HeldOut
from klump.selection.rule import ChanceTest
from klump.selection.searches import (
    Cell,
    Runner,
    search_again,
    search_cell,
    search_resample,
    search_shuffled,
)
from klump.selection.spectrum import eigenvalue_moduli
from klump.selection.steps import Step, compute_steps
from klump.selection.table import SelectionRow

# Larger numbers of groups that are searched beyond those asked for: two later steps for the largest one.
N_LARGER = 2


@dataclass(frozen=True)
class Plan:
    """What a selection is to compute."""

    numbers: tuple[int, ...]
    """The numbers of groups asked for, in ascending order."""
    larger: tuple[int, ...]
    """Numbers beyond, whose steps the last ones asked for are compared with."""
    betas: tuple[float, ...]
    n_restarts: int
    n_shuffles: int
    n_resamples: int
    draws: Draws | GivenChains | None = None
    """Resampled chains, if counts are known."""
    held_out: HeldOut | None = None

    @property
    def cells(self) -> list[Cell]:
        """The cells of the table, by beta and then by number of groups."""
        return [(number, beta) for beta in self.betas for number in self.numbers]

    @property
    def searched(self) -> list[Cell]:
        """The cells of the table and those beyond; first the table's, so that an interruption leaves those."""
        return [*self.cells, *((number, beta) for beta in self.betas for number in self.larger)]

    @property
    def n_steps(self) -> int:
        """Steps of progress: the searches, and all chance tests as the last one."""
        return len(self.searched) + len(self.cells) * (self.n_restarts + self.n_resamples) + 1


@dataclass(eq=False)
class Evidence:
    """What has been computed so far; an interruption leaves it incomplete."""

    plan: Plan
    runner: Runner
    answers: dict[Cell, Aggregation] = field(default_factory=dict)
    restarts: dict[Cell, list[float]] = field(default_factory=lambda: defaultdict(list))
    """Adjusted Rand indices of restarts with the answer of the cell."""
    resamples: dict[Cell, list[float]] = field(default_factory=lambda: defaultdict(list))
    """The same of resamples."""
    spectrum: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))

    @property
    def chain(self) -> MarkovChain:
        """The chain."""
        return self.runner.task.chain

    def collect(self) -> None:
        """Run all searches but those of the chance tests."""
        plan, runner = self.plan, self.runner
        task, method = runner.task, runner.method
        calls: list[Any] = [(task, cell, method) for cell in plan.searched]
        for (_, cell, _), found in self._run(search_cell, calls):
            self.answers[cell] = build_answer(replace(task, n_groups=cell[0], beta=cell[1]), found, method)
            found.raise_if_interrupted()
        self.spectrum = eigenvalue_moduli(self.chain, plan.numbers[-1] + 1, task.seed)
        runner.check()
        calls = [(task, cell, method, r) for cell in plan.cells for r in range(plan.n_restarts)]
        self._compare(search_again, calls, self.restarts)
        if plan.draws is not None:
            samples = range(plan.n_resamples)
            shared = (task, plan.draws)
            calls = [(shared, cell, method, number) for cell in plan.cells for number in samples]
            self._compare(search_resample, calls, self.resamples)

    def _run(
        self, function: Callable[..., Any], calls: list[tuple[Any, ...]]
    ) -> Iterator[tuple[tuple[Any, ...], Any]]:
        return zip(calls, self.runner.run(function, calls), strict=True)

    def _compare(
        self, function: Callable[..., Found], calls: list[tuple[Any, ...]], into: dict[Cell, list[float]]
    ) -> None:
        """Search, and keep the adjusted Rand index with the answer of each call's cell."""
        for call, found in self._run(function, calls):
            found.raise_if_interrupted()
            into[call[1]].append(adjusted_rand_index(self.answers[call[1]].labels, found.labels))

    def test_step(self, step: Step) -> ChanceTest:
        """Compare the gain of a step with that on shuffled chains, which keep the groups before the step."""
        runner, cell = self.runner, (step.n_states, step.beta)
        before = self._labels_before(step)
        gains = []
        calls = [(runner.task, cell, runner.method, before, r) for r in range(self.plan.n_shuffles)]
        for shuffled in runner.task.run_all(search_shuffled, calls):
            shuffled.found.raise_if_interrupted()
            runner.check()
            gains.append(shuffled.gain / (step.n_states - step.previous))
        return ChanceTest(step.gain, tuple(gains))

    def _labels_before(self, step: Step) -> Labels:
        if step.previous == 1:
            return np.zeros(self.chain.n_states, dtype=np.int32)
        return self.answers[step.previous, step.beta].labels

    def steps(self) -> list[Step]:
        """All steps whose costs are known, by beta and then by number of groups."""
        found: list[Step] = []
        single = score(self.chain, np.zeros(self.chain.n_states, dtype=np.int32))
        for beta in self.plan.betas:
            known = [
                number for number in (*self.plan.numbers, *self.plan.larger) if (number, beta) in self.answers
            ]
            costs = {number: self.answers[number, beta].cost for number in known}
            if known:
                found += compute_steps(beta, known, costs, single.at(beta, self.runner.task.gamma))
        return found

    def rows(self, steps: Iterable[Step]) -> dict[Cell, SelectionRow]:
        """The rows of the table, for the cells that have an answer."""
        by_cell = {(step.n_states, step.beta): step for step in steps}
        return {
            cell: self._row(self.answers[cell], by_cell[cell])
            for cell in self.plan.cells
            if cell in self.answers
        }

    def _row(self, answer: Aggregation, step: Step) -> SelectionRow:
        cell, costs, held_out = (step.n_states, step.beta), answer.costs, self.plan.held_out
        gaps = -np.diff(self.spectrum)[step.n_states - 1 : step.n_states]
        return SelectionRow(
            step.n_states,
            step.beta,
            answer.cost,
            costs.lumpability,
            costs.predictability,
            costs.bottleneck,
            step.gain,
            float(step.bend) if np.isfinite(step.bend) else None,
            answer.kept,
            answer.bisimulation.mean,
            answer.bisimulation.epsilon,
            _mean(self.restarts.get(cell)),
            _mean(self.resamples.get(cell)),
            None if held_out is None else held_out.bits_per_step(answer),
            float(gaps[0]) if gaps.size and np.isfinite(gaps[0]) else None,
            answer.interrupted,
        )


def _mean(values: list[float] | None) -> float | None:
    return float(np.mean(values)) if values else None
