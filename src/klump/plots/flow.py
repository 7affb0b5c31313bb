"""Membership flow between the groups of successive answers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from klump.aggregation import Aggregation, AggregationGrid, AggregationPath
from klump.aggregation.identities import check_one_chain
from klump.arguments import check_beta
from klump.errors import InvalidArgumentError
from klump.plots.arguments import check_result
from klump.plots.figure import axes_size, panel
from klump.plots.labels import leader, spread
from klump.plots.text import MAX_NAMED, count_unnamed, cut_all, plain
from klump.views import colour_of
from klump.views import flow as flow_view
from klump.views.flow import Bar, Flow

if TYPE_CHECKING:
    from os import PathLike

    from matplotlib.axes import Axes


# Font size of names, in points.
_SIZE = 8.5
# Two betas closer than this are equal: decimal fractions differ by rounding.
_BETA_TOLERANCE = 1e-9
# Distance of names from the bars, in points.
_LEADER_LENGTH = 16.0
# Height of a line of text, as a multiple of the font size.
_LINE_HEIGHT = 1.2


def flow(
    answers: Iterable[Aggregation] | AggregationGrid,
    path: str | PathLike[str] | None = None,
    *,
    ax: Axes | None = None,
    beta: float | None = None,
) -> Axes:
    """Draw which mass neighbouring answers share: a bar per group and answer, a ribbon per pair of groups.

    Heights are stationary masses; a state of a soft map shares its mass between its groups. The groups of a beta path
    keep their numbers, and with them their colours; those of other answers are matched with those of the answer before
    by the mass that they share.

    Parameters
    ----------
    answers
        A beta path, a grid, or a list of answers of one chain.
    path
        File to save the figure to; its suffix (.png, .svg, .pdf) sets the format.
    ax
        Axes to draw on; new ones if left out.
    beta
        Beta of the answers of a grid with several betas.

    Examples
    --------
    >>> import klump
    >>> P = [[0.5, 0.4, 0.1], [0.4, 0.5, 0.1], [0.1, 0.1, 0.8]]
    >>> answers = [klump.Aggregation.from_labels(P, labels) for labels in ([0, 0, 1], [0, 1, 2])]
    >>> ax = klump.plots.flow(answers)
    >>> [label.get_text() for label in ax.get_xticklabels()]
    ['2', '3']
    """
    steps = _choose(answers, beta)
    # Groups of a beta path with the same number belong together.
    numbered = isinstance(answers, AggregationPath)
    view = flow_view(steps, [range(answer.n_states) for answer in steps] if numbered else None)
    with panel(ax, path, float(np.clip(2.6 + 0.75 * len(steps), 5.0, 14.0)), 4.4) as axes:
        _draw(axes, view)
        low, high = min(bar.bottom for bar in view.bars), max(bar.top for bar in view.bars)
        # A single answer is no wider than the bars of several.
        margin = 2 * view.half_width if len(steps) > 1 else 0.5
        axes.set(xlim=(-margin, len(steps) - 1 + margin))
        axes.set_ylim(low - 0.01, high + 0.01)
        axes.set_yticks([])
        axes.spines[:].set_visible(False)
        _name_answers(axes, steps, numbered=numbered)
        for number, side in {0: "right", len(steps) - 1: "left"}.items():
            _name_bars(axes, [bar for bar in view.bars if bar.answer == number], steps[number], side, view)
    return axes


def _choose(answers: Any, beta: float | None) -> list[Aggregation]:
    """Answers to draw, in order; those of a grid at one beta, by number of groups."""
    remedy = "pass a beta path, a grid, or a list of answers"
    if not isinstance(answers, Iterable):
        check_result("answers", answers, (AggregationPath, AggregationGrid, list), remedy)
    steps: list[Aggregation] = list(answers)
    if isinstance(answers, AggregationPath):
        # Betas ascend to the right, as in other pictures.
        steps.reverse()
    if not steps:
        raise InvalidArgumentError("is empty", argument="answers", remedy="pass at least one answer")
    if isinstance(answers, AggregationGrid):
        return _choose_from_grid(answers, beta)
    for answer in steps:
        check_result("answers", answer, Aggregation, remedy)
    if beta is not None:
        raise InvalidArgumentError("is for grids only", argument="beta", value=beta, remedy="leave it out")
    check_one_chain(steps)
    return steps


def _choose_from_grid(grid: AggregationGrid, beta: float | None) -> list[Aggregation]:
    if beta is None and len(grid.betas) > 1:
        raise InvalidArgumentError(
            f"has {len(grid.betas)} betas",
            argument="answers",
            remedy=f"pass one, like beta={grid.betas[0]:g}",
        )
    wanted = grid.betas[0] if beta is None else check_beta(beta)
    missing = {number for number, other in grid.not_run if abs(other - wanted) < _BETA_TOLERANCE}
    found = [grid[number, wanted] for number in sorted(grid.n_states) if number not in missing]
    if not found:
        raise InvalidArgumentError(
            "was not run before the interruption", argument="beta", value=beta, remedy="run the grid again"
        )
    return found


def _draw(axes: Axes, view: Flow) -> None:
    patches = import_module("matplotlib.patches")
    for ribbon in view.ribbons:
        style: Any = {"facecolor": colour_of(ribbon.identity), "alpha": 0.32, "linewidth": 0.0, "zorder": 1}
        axes.add_patch(patches.Polygon(ribbon.outline, closed=True, gid="ribbon", **style))
    for bar in view.bars:
        corner = (bar.answer - view.half_width, bar.bottom)
        size = (2.0 * view.half_width, bar.top - bar.bottom)
        # An edge keeps a group of tiny mass visible.
        colour = colour_of(bar.identity)
        axes.add_patch(
            patches.Rectangle(
                corner, *size, facecolor=colour, edgecolor=colour, linewidth=0.5, gid="bar", zorder=2
            )
        )


def _name_answers(axes: Axes, steps: Sequence[Aggregation], *, numbered: bool) -> None:
    """Write what differs between the answers: beta, the number of groups, or both."""
    betas = [f"{answer.beta:g}" for answer in steps]
    numbers = [str(answer.n_states) for answer in steps]
    by_beta = numbered or (len(set(betas)) > 1 and len(set(numbers)) == 1)
    if not by_beta and len(set(betas)) > 1:
        axes.set_xticks(range(len(steps)), [f"{k}\n{beta}" for k, beta in zip(numbers, betas, strict=True)])
        axes.set_xlabel("groups, $\\beta$")
    else:
        axes.set_xticks(range(len(steps)), betas if by_beta else numbers)
        axes.set_xlabel(r"$\beta$" if by_beta else "groups")
    unnamed = count_unnamed(max(steps[0].n_states, steps[-1].n_states))
    axes.set_xlabel(axes.get_xlabel() + unnamed)
    axes.tick_params(axis="x", length=0)


def _name_bars(axes: Axes, bars: Sequence[Bar], answer: Aggregation, side: str, view: Flow) -> None:
    """Write the names of groups beside the first or the last bars, moved apart where they would overlap."""
    if answer.n_states == 1 and side == "left":
        return
    height = float(axes_size(axes)[1])
    low, high = axes.get_ylim()
    unit = (high - low) / height
    # The heaviest groups: names of more would not be legible.
    heaviest = sorted(bars, key=lambda bar: bar.bottom - bar.top)[:MAX_NAMED]
    size = min(_SIZE, 0.9 * height / len(heaviest) / _LINE_HEIGHT)
    ordered = sorted(heaviest, key=lambda bar: bar.bottom)
    centres = np.array([(bar.bottom + bar.top) / 2.0 for bar in ordered])
    half = _LINE_HEIGHT * size * unit / 2.0
    places = spread(centres, 2.0 * half, (low + half, high - half))
    away = -1.0 if side == "right" else 1.0
    names = cut_all(answer.names, 18)
    for bar, centre, place in zip(ordered, centres, places, strict=True):
        moved = abs(place - centre) > 0.25 * size * unit
        colour = colour_of(bar.identity)
        edge = bar.answer + away * view.half_width
        # The offset is in points, so that the leader has room whatever the width of the axes.
        axes.annotate(
            names[bar.group],
            (edge, centre),
            (away * _LEADER_LENGTH, (place - centre) / unit),
            textcoords="offset points",
            ha=side,
            va="center",
            color=colour,
            fontsize=size,
            annotation_clip=False,
            arrowprops=leader(colour, side) if moved else None,
            gid="group name",
            **plain(),
        )
