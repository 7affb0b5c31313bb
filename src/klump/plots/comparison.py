"""The picture of a comparison: what every method costs, and the two costs that it is made of."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from klump.comparison.table import bits, duration
from klump.plots.figure import FAILED, GRID, KLUMP, OUTSIDE, TEXT, new_figure, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from klump.comparison import Comparison, Row

_ROW_HEIGHT = 0.32
_LONGEST_ERROR = 66
_EQUAL: Any = {"color": TEXT, "linewidth": 0.9, "linestyle": (0, (4, 3)), "zorder": 1}
# Shares of what a plane shows within which labels would overlap.
_NEAR = np.array([0.08, 0.05])
# From this share of all there is to lose, the picture says where that is.
_NEARLY = 0.8


def comparison(compared: Comparison) -> Figure:
    """Draw the cost of every method, and beside it the two costs that it is made of.

    Full dots have as many groups as were asked for, hollow ones another number; diamonds are soft maps.
    """
    found = [row for row in compared if row.error is None]
    figure = new_figure(12.0, 1.9 + _ROW_HEIGHT * max(len(compared), 8))
    k, n = compared.n_states, compared.original.n_states
    figure.suptitle(
        rf"{k} group{'s' * (k > 1)} of {n:,} states at $\beta$ = {compared.beta:g}", color=TEXT, fontsize=12
    )
    if not found:
        _draw_costs(figure.subplots(), compared, found)
        return figure
    left, right = figure.subplots(1, 2, width_ratios=(1.3, 1.0))
    _draw_costs(left, compared, found)
    _draw_plane(right, compared, found)
    figure.legend(handles=_legend(compared, found), loc="outside lower center", ncols=6, frameon=False)
    return figure


def _draw_costs(axes: Axes, compared: Comparison, found: Sequence[Row]) -> None:
    """Draw a line for each row, as in the table: cheapest at the top, failures at the bottom."""
    failed = compared.failures
    for place, row in enumerate(found):
        cost = _cost(row)
        axes.plot([0.0, cost], [place, place], color=_colour(row), linewidth=1.2, alpha=0.35, zorder=1)
        axes.plot([cost], [place], **_dot(row), clip_on=False, zorder=3)
        _write(axes, (cost, place), bits(cost) + ("" if row.as_asked else f"   {row.n_states} groups"))
        at_the_edge: Any = {"transform": axes.get_yaxis_transform(), "ha": "right", "va": "center"}
        axes.text(1.0, place, f"{duration(row.seconds)} s", color=FAILED, fontsize=8, **at_the_edge)
    for place, row in enumerate(failed, start=len(found)):
        words = textwrap.shorten(str(row.error), _LONGEST_ERROR, placeholder=" ...")
        _write(axes, (0.0, place), words if words.startswith("refused") else f"failed: {words}", FAILED)
    names = [f"{row.name}  {place}" for place, row in enumerate(found, start=1)]
    axes.set_yticks(range(len(compared)), [*names, *(f"{row.name}  –" for row in failed)])
    for label, row in zip(axes.get_yticklabels(), (*found, *failed), strict=True):
        label.set_color(_colour(row))
    axes.set_ylim(max(len(compared), 8) - 0.4, -0.6)
    # Room for the numbers beside the dots.
    axes.set_xlim(0.0, 1.5 * max([_cost(row) for row in found], default=0.0) or 1.0)
    axes.set_xlabel(rf"cost $C_{{{compared.beta:g}}}$ (bits)")
    axes.tick_params(axis="y", length=0, pad=8)
    axes.grid(axis="x", color=GRID, linewidth=0.6)
    tidy(axes)


def _draw_plane(axes: Axes, compared: Comparison, found: Sequence[Row]) -> None:
    """Draw lumpability against predictability, with the line of all maps that cost as much as the best one."""
    costs = [row.aggregation.costs for row in found if row.aggregation is not None]
    points = np.array([(cost.lumpability, cost.predictability) for cost in costs])
    # The cheapest on top.
    for row, point in zip(found[::-1], points[::-1], strict=True):
        axes.plot(*point, **_dot(row), zorder=3)
    everything = costs[0].redundancy_rate
    low, high = points.min(axis=0), points.max(axis=0)
    if high[1] > _NEARLY * everything:
        high[1] = max(high[1], everything)
        axes.axhline(everything, color=FAILED, linewidth=0.9, zorder=1)
        place = (1.0, everything)
        words: Any = {"xycoords": axes.get_yaxis_transform(), "textcoords": "offset points", "ha": "right"}
        axes.annotate("nothing is kept", place, (0, 4), color=FAILED, fontsize=8, **words)
    # Where all costs are the same there is still a point to see.
    reach = np.maximum(high - low, np.maximum(0.05 * high, 1e-6))
    low, high = np.maximum(low - 0.08 * reach, -0.04 * reach), high + 0.12 * reach
    axes.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]))
    if compared.best is not None:
        _draw_equal_cost(axes, _cost(compared.best), compared.beta, (low[0], high[0]))
    for point, members in _together(points, reach):
        _write(axes, point, ", ".join(str(place + 1) for place in members), offset=(7, 8))
    axes.set_xlabel(r"lumpability $C_L$ (bits)")
    axes.set_ylabel(r"predictability $C_P$ (bits)")
    axes.grid(color=GRID, linewidth=0.6)
    tidy(axes)


def _draw_equal_cost(axes: Axes, cost: float, beta: float, ends: tuple[float, float]) -> None:
    """Draw the line (1 - 2 beta) C_L + beta C_P = cost."""
    if beta == 0.0:
        axes.axvline(cost, **_EQUAL)
        return
    x = np.array(ends)
    axes.plot(x, (cost - (1.0 - 2.0 * beta) * x) / beta, **_EQUAL)


def _together(
    points: NDArray[np.float64], reach: NDArray[np.float64]
) -> list[tuple[NDArray[np.float64], list[int]]]:
    """Points whose labels would lie on top of each other share one, beside the point farthest to the right."""
    groups: list[list[int]] = []
    for place, point in enumerate(points):
        near = (
            group for group in groups if (np.abs(points[group] - point) < _NEAR * reach).all(axis=1).any()
        )
        group = next(near, None)
        if group is None:
            groups.append([place])
        else:
            group.append(place)
    return [(points[max(group, key=lambda place: points[place, 0])], group) for group in groups]


def _write(
    axes: Axes, point: Any, words: str, colour: str = TEXT, offset: tuple[float, float] = (9, 0)
) -> None:
    """Write beside a dot, and legibly on top of lines."""
    halo = import_module("matplotlib.patheffects").withStroke(linewidth=2.5, foreground="white")
    style: Any = {"textcoords": "offset points", "va": "center", "fontsize": 8.5, "zorder": 4}
    axes.annotate(words, point, offset, color=colour, path_effects=[halo], **style)


def _legend(compared: Comparison, found: Sequence[Row]) -> list[Any]:
    line = import_module("matplotlib.lines").Line2D
    dot: Any = {"linestyle": "", "marker": "o", "markersize": 7}
    shown = [
        (line([], [], color=KLUMP, label="klump", **dot), any(row.kind == "klump" for row in found)),
        (
            line([], [], color=OUTSIDE, label="other tools", **dot),
            any(row.kind == "outside" for row in found),
        ),
        (
            line([], [], color=TEXT, markerfacecolor="white", label="another number of groups", **dot),
            any(not row.as_asked for row in found),
        ),
        (
            line([], [], color=TEXT, linestyle="", marker="D", markersize=6, label="soft map"),
            any(row.soft for row in found),
        ),
        (line([], [], label="as cheap as the best", **_EQUAL), compared.best is not None),
    ]
    return [handle for handle, present in shown if present]


def _dot(row: Row) -> dict[str, Any]:
    colour = _colour(row)
    return {
        "marker": "D" if row.soft else "o",
        "markersize": 6 if row.soft else 7,
        "color": colour,
        "markerfacecolor": colour if row.as_asked else "white",
        "markeredgecolor": colour,
        "markeredgewidth": 1.4,
    }


def _colour(row: Row) -> str:
    if row.error is not None:
        return FAILED
    return KLUMP if row.kind == "klump" else OUTSIDE


def _cost(row: Row) -> float:
    assert row.cost is not None
    return row.cost
