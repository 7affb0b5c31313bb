"""Aggregations over a grid of numbers of groups and betas, searched in parallel."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from klump import signals
from klump.aggregation.aggregation import Aggregation
from klump.aggregation.expectation import announce_search
from klump.aggregation.identities import identify, with_identities
from klump.aggregation.layout import grid_lines
from klump.aggregation.many import check_method_with_number, run_on_one_worker
from klump.aggregation.options import Options
from klump.aggregation.question import build_answer
from klump.arguments import DEFAULT_SEED, Progress, check_beta, check_betas, check_groups, check_progress
from klump.chain import ChainLike, MarkovChain, as_chain
from klump.chain.wording import format_count
from klump.checkpoints import Checkpoint
from klump.errors import UNSET, InvalidArgumentError
from klump.search.checkpointing import checkpointed
from klump.search.deadline import limit_of
from klump.search.method import Found, Task
from klump.search.registry import DEFAULT_EFFORT

if TYPE_CHECKING:
    from os import PathLike

    from matplotlib.figure import Figure

Cell = tuple[int, float]

# Default numbers of groups.
_DEFAULT_N_STATES = range(2, 11)
# Two betas closer than this are equal: decimal fractions differ by rounding.
_BETA_TOLERANCE = 1e-9


@dataclass(frozen=True, eq=False, repr=False)
class AggregationGrid:
    """An aggregation for each number of groups and each beta, as :func:`klump.grid` found them.

    ``grid[4, 0.5]`` is one of them; iterating visits all, by number of groups and then in the order of the betas.

    Examples
    --------
    >>> import klump
    >>> P = [[0.5, 0.4, 0.1, 0.0], [0.4, 0.5, 0.0, 0.1], [0.1, 0.0, 0.4, 0.5], [0.0, 0.1, 0.5, 0.4]]
    >>> found = klump.grid(P, n_states=[2, 3], betas=[0.5, 1])
    >>> found[2, 0.5].groups
    [(0, 1), (2, 3)]
    >>> found.costs.shape, found.kept.shape
    ((2, 2), (2, 2))
    >>> print(found)
    4 states, auto, seed 0; costs in bits
    groups  beta      cost   kept   epsilon
         2   0.5  0.054016  83.1%  0.000000
         2     1  0.108032  83.1%  0.000000
         3   0.5  0.052008  83.7%  0.050000
         3     1  0.054016  83.7%  0.050000
    """

    n_states: tuple[int, ...]
    """The numbers of groups, in the order given."""
    betas: tuple[float, ...]
    """The betas, in the order given."""
    aggregations: tuple[Aggregation, ...] = field(repr=False)
    """The aggregations, by number of groups and then beta; after an interruption only the first of them."""
    interrupted_after: float | None = None
    """The time limit in seconds, if that stopped the search; None if Ctrl-C did, or nothing."""

    def __post_init__(self) -> None:
        """Match groups of different answers, so that a group has one colour in all of them."""
        if any(answer.group_identities is None for answer in self.aggregations):
            identities = identify(self._found)
            found = tuple(
                with_identities(answer, identities[answer.n_states, answer.beta])
                for answer in self.aggregations
            )
            object.__setattr__(self, "aggregations", found)
            del self.__dict__["_found"]

    @property
    def original(self) -> MarkovChain:
        """The chain that was aggregated."""
        return self.aggregations[0].original

    @property
    def gamma(self) -> float:
        """The weight of generated information in the costs."""
        return self.aggregations[0].gamma

    @cached_property
    def costs(self) -> NDArray[np.float64]:
        """Cost of each aggregation at its own beta, in bits: one row per number of groups; NaN if not run."""
        return self._table(lambda answer: answer.cost)

    @cached_property
    def kept(self) -> NDArray[np.float64]:
        """Share I(Y1;Y2) / I(X1;X2) that each aggregation keeps, in the order of :attr:`costs`."""
        return self._table(lambda answer: answer.kept)

    @property
    def not_run(self) -> tuple[Cell, ...]:
        """Cells, (number of groups, beta), that Ctrl-C or the time limit prevented."""
        return tuple(cell for cell in _cells(self.n_states, self.betas) if cell not in self._found)

    @property
    def interrupted(self) -> bool:
        """Whether Ctrl-C or the time limit stopped the search."""
        return bool(self.not_run) or any(answer.interrupted for answer in self)

    @cached_property
    def _found(self) -> dict[Cell, Aggregation]:
        return {(answer.n_states, answer.beta): answer for answer in self}

    def _table(self, value: Callable[[Aggregation], float]) -> NDArray[np.float64]:
        cells = _cells(self.n_states, self.betas)
        values = [value(self._found[cell]) if cell in self._found else np.nan for cell in cells]
        table = np.array(values).reshape(len(self.n_states), len(self.betas))
        table.flags.writeable = False
        return table

    def to_dict(self) -> dict[str, Any]:
        """Convert everything but the chain to types that JSON has; cells that were not run are left out.

        ``n_states`` is the old name of ``n_groups``, kept for one version.
        """
        return {
            "n_groups": list(self.n_states),
            "n_states": list(self.n_states),
            "betas": list(self.betas),
            "gamma": self.gamma,
            "method": self.aggregations[0].method,
            "effort": self.aggregations[0].effort,
            "seed": self.aggregations[0].random_state,
            "cells": [_cell_to_dict(answer) for answer in self],
            "not_run": [list(cell) for cell in self.not_run],
            "interrupted": self.interrupted,
            "interrupted_after": self.interrupted_after,
        }

    def report(self, path: str | PathLike[str], title: str | None = None) -> None:
        """Write an interactive report of all cells, with controls for the number of groups and beta; needs Bokeh.

        It is one HTML file that needs no network. Parameters are those of :meth:`klump.Aggregation.report`.
        """
        from klump.report import write_report

        write_report(self, path, title=title)

    def save(self, path: str | PathLike[str]) -> None:
        """Save to a file that :func:`klump.load` reads."""
        from klump.aggregation.storage import save

        save(self, path)

    def plot(self, path: str | PathLike[str] | None = None) -> Figure:
        """Draw the cost and the kept share against the number of groups, one line per beta; needs matplotlib.

        Parameters
        ----------
        path
            File to save the figure to; its suffix (.png, .svg, .pdf) sets the format.

        Returns
        -------
        matplotlib.figure.Figure
        """
        from klump import plots

        return plots.grid(self, path)

    def __getitem__(self, cell: tuple[int, float]) -> Aggregation:
        if not isinstance(cell, tuple) or len(cell) != 2:
            raise InvalidArgumentError(
                f"{cell!r} is not a cell of a grid",
                remedy=f"ask for grid[n_states, beta], like grid[{self.n_states[0]}, {self.betas[0]:g}]",
            )
        n_states, wanted = cell[0], check_beta(cell[1])
        beta = next((beta for beta in self.betas if abs(beta - wanted) < _BETA_TOLERANCE), None)
        if beta is None or n_states not in self.n_states:
            raise InvalidArgumentError(
                f"n_states={n_states!r}, beta={wanted:g} is not on this grid",
                remedy=f"it has n_states {', '.join(map(str, self.n_states))} and beta "
                f"{', '.join(f'{beta:g}' for beta in self.betas)}",
            )
        if (n_states, beta) not in self._found:
            raise InvalidArgumentError(
                f"n_states={n_states}, beta={beta:g} was not run before "
                + ("Ctrl-C" if self.interrupted_after is None else "the end of the time limit"),
                remedy="run the grid again, or aggregate",
            )
        return self._found[n_states, beta]

    def __iter__(self) -> Iterator[Aggregation]:
        return iter(self.aggregations)

    def __len__(self) -> int:
        return len(self.aggregations)

    def __repr__(self) -> str:
        groups = _format_values(self.n_states)
        betas = _format_values(self.betas)
        stopped = ", interrupted" * self.interrupted
        return (
            f"AggregationGrid({self.original.n_states:,} states, n_states={groups}, betas={betas}{stopped})"
        )

    def _repr_html_(self) -> str:
        """HTML for notebooks."""
        from klump import notebooks

        return notebooks.grid_html(self)

    def __str__(self) -> str:
        return "\n".join(grid_lines(self))


def grid(
    chain: ChainLike,
    n_states: Iterable[int] | None = None,
    betas: Iterable[float] = (0.5,),
    method: str = "auto",
    n_init: int = 20,
    random_state: Any = DEFAULT_SEED,
    n_jobs: int | None = None,
    *,
    seed: Any = UNSET,
    gamma: float = 0.0,
    step: float = 0.1,
    max_sweeps: int = 100,
    effort: str = DEFAULT_EFFORT,
    time_limit: float | None = None,
    progress: Progress | None = None,
    checkpoint: Checkpoint | None = None,
    resume: bool = False,
) -> AggregationGrid:
    """Aggregate a chain to several numbers of groups, at several betas.

    Each cell of the grid is the answer of :func:`klump.aggregate` with the same options: no cell starts from
    another. (:func:`klump.beta_path` anneals along beta instead, :func:`klump.aggregation_tree` merges
    from each number of groups to the next.)

    Parameters
    ----------
    chain
        A MarkovChain, a transition matrix (dense or sparse), or an object with one.
    n_states
        The numbers of groups; 2 to 10 if left out, at most the number of states.
    betas
        The values of beta.
    method, n_init, random_state, seed, gamma, step, max_sweeps, effort
        As in :func:`klump.aggregate`, for every cell.
    time_limit
        Seconds for all cells together. The cell that is being searched then gets the best answer so far, and the
        others are not run; a cell on a worker process is completed.
    n_jobs
        Cells that are searched in parallel, as in joblib: threads unless ``joblib.parallel_config`` selects another
        backend. Each cell takes one worker. The answer does not depend on it.
    progress
        Called with ``(done, total, best_cost)``: the number of finished and of planned cells, and NaN, as the costs of
        different cells are not comparable.
    checkpoint, resume
        As in :func:`klump.aggregate`: a file in which finished cells, and finished parts of others, are stored.

    Returns
    -------
    AggregationGrid
        On Ctrl-C or after the time limit the finished cells, marked ``interrupted``.

    Examples
    --------
    >>> P = [[0.5, 0.4, 0.1, 0.0], [0.4, 0.5, 0.0, 0.1], [0.1, 0.0, 0.4, 0.5], [0.0, 0.1, 0.5, 0.4]]
    >>> grid(P)
    AggregationGrid(4 states, n_states=2..4, betas=0.5)
    >>> [round(answer.cost, 3) for answer in grid(P)]
    [0.054, 0.052, 0.0]
    """
    chain = as_chain(chain)
    check_method_with_number(method)
    wanted = tuple(dict.fromkeys(check_betas(betas)))
    numbers = _check_group_counts(n_states, chain.n_states)
    report = check_progress(progress)
    options = Options(
        n_init,
        random_state,
        n_jobs,
        step=step,
        max_sweeps=max_sweeps,
        gamma=gamma,
        seed=seed,
        effort=effort,
        time_limit=time_limit,
    )
    task = options.task(chain, numbers[0], wanted[0], method)
    # Properties that every cell needs are computed once, and pickled with the chain.
    _ = chain.stationary_distribution, chain.redundancy_rate
    cells = _cells(numbers, wanted)
    question: dict[str, Any] = {"method": method, "n_states": numbers, "beta": wanted}
    with checkpointed(task, checkpoint, resume=resume, function="grid", **question) as stored:
        what = format_count(len(cells), "cell")
        announce_search((_cell_task(stored, cell) for cell in cells), method, what, workers=n_jobs)
        found, limit = _run_cells(stored, cells, method, report)
    # After an interruption the results are those of the first cells.
    answers = tuple(
        build_answer(_cell_task(task, cell), result, method)
        for cell, result in zip(cells, found, strict=False)
    )
    return AggregationGrid(numbers, wanted, answers, limit)


def _cell_task(task: Task, cell: Cell) -> Task:
    n_groups, beta = cell
    journal = None if task.journal is None else task.journal.scope(f"{n_groups} groups, beta {beta!r}")
    return replace(task, n_groups=n_groups, beta=beta, journal=journal)


def _run_cell(task: Task, cell: Cell, method: str) -> Found:
    return run_on_one_worker(_cell_task(task, cell), method)


def _run_cells(
    task: Task, cells: list[Cell], method: str, report: Progress | None
) -> tuple[list[Found], float | None]:
    """Search the cells; return the finished ones after an interruption, unless there are none, and its time limit."""
    found: list[Found] = []
    # The task is the argument that the calls share: it is sent to a cluster once.
    calls = [(task, cell, method) for cell in cells]
    try:
        for result in task.run_all(_run_cell, calls):
            found.append(result)
            if report is not None:
                report(len(found), len(cells), math.nan)
            # The method was interrupted and returned its best map so far: the other cells do not run.
            result.raise_if_interrupted()
            if len(found) < len(cells):
                signals.check()
                if task.deadline is not None:
                    task.deadline.check()
    except KeyboardInterrupt as reason:
        if not found:
            raise
        return found, limit_of(reason)
    return found, None


def _cells(n_states: Iterable[int], betas: Iterable[float]) -> list[Cell]:
    values = tuple(betas)
    return [(number, beta) for number in n_states for beta in values]


def _check_group_counts(n_states: Any, most: int) -> tuple[int, ...]:
    """Return the distinct numbers of groups."""
    if n_states is None:
        return tuple(number for number in _DEFAULT_N_STATES if number <= most) or (1,)
    if isinstance(n_states, str) or not isinstance(n_states, Iterable):
        raise InvalidArgumentError(
            "must be several whole numbers, like range(2, 11)", argument="n_states", value=n_states
        )
    numbers = tuple(dict.fromkeys(check_groups(number, most, "states of the chain") for number in n_states))
    if not numbers:
        raise InvalidArgumentError(
            "is empty", argument="n_states", remedy="give at least one number of groups"
        )
    return numbers


def _cell_to_dict(answer: Aggregation) -> dict[str, Any]:
    return {
        "n_groups": answer.n_states,
        "n_states": answer.n_states,
        "beta": answer.beta,
        **answer.costs.to_dict(answer.beta, answer.gamma),
        "epsilon": _epsilon(answer),
        "labels": answer.labels.tolist(),
        "names": list(answer.names),
        "mapping": answer.mapping.tolist() if answer.map.labels is None else None,
        "notes": list(answer.notes),
        "interrupted": answer.interrupted,
    }


def _epsilon(answer: Aggregation) -> float | None:
    """Largest total variation between a state's and its group's next-group distribution; None for a soft map."""
    return None if answer.map.labels is None else answer.bisimulation.epsilon


def _format_values(values: tuple[Any, ...]) -> str:
    """Format numbers; consecutive integers as a range."""
    first, last = values[0], values[-1]
    if len(values) > 2 and values == tuple(range(int(first), int(last) + 1)):
        return f"{first}..{last}"
    return ", ".join(f"{value:g}" for value in values)
