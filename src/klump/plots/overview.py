"""Pictures of several panels: an overview of an answer, a path or a selection, and of dynamics."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any

from klump.aggregation import Aggregation, AggregationGrid, AggregationPath
from klump.chain.wording import format_count, format_percent
from klump.errors import InvalidArgumentError
from klump.plots.arguments import check_path, check_result
from klump.plots.chapman_kolmogorov import chapman_kolmogorov
from klump.plots.costs import costs
from klump.plots.figure import TEXT, finish, new_figure, own_style
from klump.plots.flow import flow
from klump.plots.graph import graph
from klump.plots.grid import grid
from klump.plots.matrix import matrix
from klump.plots.memberships import memberships
from klump.plots.plane import plane
from klump.plots.selection import gains, selection
from klump.plots.timescales import draw_timescales
from klump.selection import Selection
from klump.views import group_colours

if TYPE_CHECKING:
    from os import PathLike

    import numpy as np
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from klump.dynamics import ChapmanKolmogorov

# Results with an overview.
_RESULTS = (Aggregation, AggregationPath, AggregationGrid, Selection)
# Largest number of groups whose graph is legible.
_MAX_GRAPH = 60


@own_style()
def overview(
    found: Aggregation | AggregationPath | AggregationGrid | Selection,
    path: str | PathLike[str] | None = None,
) -> Figure:
    r"""Draw what there is to see of a result in one figure.

    Of an answer: the ordered transition matrix beside the graph of the groups, and the memberships of a soft map. Of a
    beta path: costs, the plane of lumpability and predictability, and the membership flow. Of a grid: costs and kept
    share. Of a selection: costs and gains.

    Parameters
    ----------
    found
        The result.
    path
        File to save the figure to; its suffix (.png, .svg, .pdf) sets the format.

    Examples
    --------
    >>> import klump
    >>> answer = klump.Aggregation.from_labels([[0.5, 0.4, 0.1], [0.4, 0.5, 0.1], [0.1, 0.1, 0.8]], [0, 0, 1])
    >>> klump.plots.overview(answer).get_suptitle()
    '3 states in 2 groups, $\\beta$ = 0.5: 98.6 % of $I(X_1;X_2)$ is kept'
    """
    check_result("found", found, _RESULTS, "pass an answer, a beta path, a grid or a selection")
    check_path(path)
    if isinstance(found, AggregationGrid):
        return grid(found, path)
    if isinstance(found, AggregationPath):
        figure = _path_overview(found)
    elif isinstance(found, Selection):
        figure = _selection_overview(found)
    else:
        figure = _answer_overview(found)
    return finish(figure, path)


def save_picture(found: Any, path: str | PathLike[str]) -> None:
    """Save the overview of a result, or its only picture."""
    check_path(path)
    if isinstance(found, _RESULTS):
        overview(found, path)
    elif hasattr(found, "plot"):
        found.plot(path)
    else:
        raise InvalidArgumentError(
            "has no picture", argument="found", value=found, remedy="pass a result of klump, like an answer"
        )


def _count_states(answer: Aggregation) -> str:
    n = answer.original.n_states
    return f"{n:,} state{'s' * (n != 1)}"


def _title(answer: Aggregation) -> str:
    title = f"{_count_states(answer)} in {format_count(answer.n_states, 'group')}"
    # Costs of a chain that is not irreducible are not defined.
    if answer.original.is_irreducible:
        gamma = rf", $\gamma$ = {answer.gamma:g}" if answer.gamma > 0.0 else ""
        title += rf", $\beta$ = {answer.beta:g}{gamma}: {format_percent(answer.kept)} of $I(X_1;X_2)$ is kept"
    return title + " (interrupted)" * answer.interrupted


def _answer_overview(answer: Aggregation) -> Figure:
    soft, graphic = answer.map.labels is None, answer.n_states <= _MAX_GRAPH
    figure = new_figure(13.0 if graphic else 7.4, 10.0 if soft else 6.4)
    figure.suptitle(_title(answer), color=TEXT, fontsize=12)
    colours = group_colours([answer])[0]
    places: list[Any] = [["matrix", "graph"]] if graphic else [["matrix"]]
    ratios = [6.4]
    if soft:
        places.append(["memberships"] * len(places[0]))
        ratios.append(3.2)
    axes = figure.subplot_mosaic(places, height_ratios=ratios)
    if graphic:
        graph(answer, ax=axes["graph"], colours=colours)
    if soft:
        memberships(answer, ax=axes["memberships"], colours=colours)
    # The last: sizes of its names need the final layout.
    matrix(answer, ax=axes["matrix"], colours=colours)
    return figure


def _path_overview(answers: AggregationPath) -> Figure:
    figure = new_figure(13.0, 9.0)
    numbers = sorted({answer.n_states for answer in answers})
    groups = f"{numbers[0]} to " * (len(numbers) > 1) + format_count(numbers[-1], "group")
    title = f"{_count_states(answers[0])} in {groups}" + " (interrupted)" * answers.interrupted
    figure.suptitle(title, color=TEXT, fontsize=12)
    axes = figure.subplot_mosaic([["costs", "plane"], ["flow", "flow"]])
    costs(answers, ax=axes["costs"])
    flow(answers, ax=axes["flow"])
    # The last: its labels need the final layout.
    plane(answers, ax=axes["plane"])
    return figure


def _selection_overview(choice: Selection) -> Figure:
    figure = new_figure(12.0, 5.2)
    left, right = figure.subplots(1, 2)
    selection(choice, ax=left)
    gains(choice, ax=right)
    right.set_title("")
    reason = choice.reason if choice.reason else "no clear answer"
    figure.suptitle(textwrap.fill(reason, 130, break_on_hyphens=False), color=TEXT, fontsize=9.5)
    left.set_title("")
    return figure


@own_style()
def dynamics(
    times: dict[str, NDArray[np.float64]],
    test: ChapmanKolmogorov | None = None,
    answer: Aggregation | None = None,
    path: str | PathLike[str] | None = None,
) -> Figure:
    """Draw timescales by chain (``original``, ``aggregated``, ``long_time``) and a Chapman-Kolmogorov test.

    Parameters
    ----------
    times
        Timescales, slowest first, of each chain.
    test
        The test, if there is one.
    answer
        The answer that was tested, which has the names of the groups.
    path
        File to save the figure to; its suffix (.png, .svg, .pdf) sets the format.
    """
    if test is None:
        figure = new_figure(6.4, 4.2)
        draw_timescales(times, ax=figure.subplots())
        return finish(figure, path)
    figure = new_figure(13.0, 4.6)
    left, right = figure.subplots(1, 2)
    draw_timescales(times, ax=left)
    named: Any = {} if answer is None else {"names": answer.names, "colours": group_colours([answer])[0]}
    chapman_kolmogorov(test, ax=right, **named)
    return finish(figure, path)
