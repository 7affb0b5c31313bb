"""The picture of a comparison: what every method costs, and the two costs that it is made of."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from klump.chain.wording import counted, format_number, format_seconds
from klump.comparison.table import sections
from klump.plots.figure import FAILED, GRID, KLUMP, OUTSIDE, TEXT, cost_symbol, new_figure, tidy
from klump.plots.labels import write, write_beside_dots
from klump.search.method import EQUAL

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from klump.comparison import Comparison, Row

_ROW_HEIGHT = 0.3
_FEWEST_ROWS = 8
_SMALL = 8.0
_EQUAL: Any = {"color": TEXT, "linewidth": 0.9, "linestyle": (0, (4, 3)), "zorder": 1}
# From this share of all there is to lose, the picture says where that is.
_NEARLY = 0.8
# The plane shows at least these shares of all there is to lose and of the largest cost.
_LEAST_SHARES = 0.05, 0.25


def comparison(compared: Comparison) -> Figure:
    """Draw the cost of every method, and beside it the two costs that it is made of.

    Rows are those of the table, in the same sections. Full dots have as many groups as were asked for, hollow ones
    another number; diamonds are soft maps.
    """
    lines = _lines(compared)
    found = [row for row in lines if not isinstance(row, str) and row.error is None]
    fewest = _FEWEST_ROWS if found else 0
    figure = new_figure(12.0, (1.9 if found else 0.7) + _ROW_HEIGHT * max(len(lines), fewest))
    groups, n = counted(compared.n_states, "group"), compared.original.n_states
    title = rf"{groups} of {n:,} state{'s' * (n > 1)} at $\beta$ = {compared.beta:g}"
    figure.suptitle(title, color=TEXT, fontsize=12)
    if not found:
        axes = figure.subplots()
        _draw_names(axes, lines)
        axes.set(xticks=[], xlim=(0.0, 1.0))
        axes.spines[:].set_visible(False)  # there are no costs
        figure.draw_without_rendering()
        _write_reasons(axes, lines)
        return figure
    left, right = figure.subplots(1, 2, width_ratios=(1.3, 1.0))
    _draw_names(left, lines)
    left.set_ylim(max(len(lines), fewest) - 0.4, -0.6)
    _draw_costs(left, compared, lines)
    points = _draw_plane(right, compared, found)
    figure.legend(handles=_legend(compared, found), loc="outside lower center", ncols=6, frameon=False)
    # What follows depends on how much room there is.
    figure.draw_without_rendering()
    _write_reasons(left, lines)
    numbers = [str(number) for number in range(1, len(found) + 1)]
    write_beside_dots(right, points, numbers, [_colour(row) for row in found])
    return figure


def _lines(compared: Comparison) -> list[Row | str]:
    """Rows and the headings above them, from top to bottom."""
    found: list[Row | str] = []
    for heading, rows in sections(compared).items():
        found += [heading] * bool(heading and rows)
        found += rows
    return found


def _draw_names(axes: Axes, lines: Sequence[Row | str]) -> None:
    """Number the rows as in the plane; set headings apart."""
    number, names = 0, []
    for line in lines:
        if isinstance(line, str):
            names.append(line)
        elif line.error is not None:
            names.append(f"{line.name}  –")
        else:
            number += 1
            names.append(f"{line.name}  {number}")
    axes.set_yticks(range(len(lines)), names)
    for label, line in zip(axes.get_yticklabels(), lines, strict=True):
        if isinstance(line, str):
            label.set(color=FAILED, style="italic")
        else:
            label.set_color(_colour(line))
    axes.set_ylim(len(lines) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0, pad=8)
    tidy(axes)


def _draw_costs(axes: Axes, compared: Comparison, lines: Sequence[Row | str]) -> None:
    """Draw a line for each row that has a cost."""
    at_the_edge: Any = {"transform": axes.get_yaxis_transform(), "ha": "right", "va": "center"}
    costs = []
    for place, row in enumerate(lines):
        if isinstance(row, str) or row.error is not None:
            continue
        cost = _cost(row)
        costs.append(cost)
        axes.plot([0.0, cost], [place, place], color=_colour(row), linewidth=1.2, alpha=0.35, zorder=1)
        axes.plot([cost], [place], **_dot(row), clip_on=False, zorder=3)
        number = "" if row.as_asked else f"   {counted(row.n_states or 0, 'group')}"
        write(axes, (cost, place), format_number(cost) + number)
        axes.text(
            1.0, place, f"{format_seconds(row.seconds)} s", color=FAILED, fontsize=_SMALL, **at_the_edge
        )
    # Room for the numbers beside the dots; rounding is no cost. Only soft maps with gamma cost less than 0.
    axes.set_xlim(min(0.0, *costs), 1.5 * max(costs) if max(costs) > EQUAL else 1.0)
    axes.set_xlabel(f"cost {cost_symbol(compared.beta, compared.gamma)} (bits)")
    axes.grid(axis="x", color=GRID, linewidth=0.6)


def _write_reasons(axes: Axes, lines: Sequence[Row | str]) -> None:
    """Say why a method failed, in two lines that are as long as there is room."""
    figure = axes.get_figure(root=True)
    assert figure is not None
    width = int(axes.bbox.width * 72.0 / figure.dpi / (0.52 * _SMALL))
    for place, row in enumerate(lines):
        if isinstance(row, str) or row.error is None:
            continue
        words = textwrap.wrap(row.error, width, max_lines=2, placeholder=" ...", break_on_hyphens=False)
        # It must not take the room that it was measured by.
        write(axes, (0.0, place), "\n".join(words), (4, 0), colour=FAILED, size=_SMALL, in_layout=False)


def _draw_plane(axes: Axes, compared: Comparison, found: Sequence[Row]) -> NDArray[np.float64]:
    """Draw lumpability against predictability, with the line of all maps that cost as much as the best one."""
    costs = [row.aggregation.costs for row in found if row.aggregation is not None]
    points = np.array([(cost.lumpability, cost.predictability) for cost in costs])
    # The cheapest on top.
    for row, point in zip(found[::-1], points[::-1], strict=True):
        axes.plot(*point, **_dot(row), zorder=3)
    everything = costs[0].redundancy_rate
    low, high = _extent(points, everything)
    axes.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]))
    if low[1] < everything < high[1]:
        axes.axhline(everything, color=FAILED, linewidth=0.9, zorder=1)
        # Outside, where no dot and no number can be.
        words: Any = {
            "xycoords": axes.get_yaxis_transform(),
            "va": "center",
            "color": FAILED,
            "fontsize": _SMALL,
        }
        axes.annotate("nothing\nis kept", (1.0, everything), (4, 0), textcoords="offset points", **words)
    if compared.best is not None and compared.gamma == 0.0:
        _draw_equal_cost(axes, _cost(compared.best), compared.beta, (low[0], high[0]))
    axes.set_xlabel(r"lumpability $C_L$ (bits)")
    axes.set_ylabel(r"predictability $C_P$ (bits)")
    axes.locator_params(nbins=7)
    axes.grid(color=GRID, linewidth=0.6)
    tidy(axes)
    return points


def _extent(
    points: NDArray[np.float64], everything: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Corners of the part of the plane that is shown; where all costs are the same there is still some of it."""
    low, high = points.min(axis=0), points.max(axis=0)
    if high[1] > _NEARLY * everything:
        high[1] = max(high[1], everything)
    of_all, of_largest = _LEAST_SHARES
    least = np.maximum(of_all * everything, of_largest * high)
    least[least < EQUAL] = 1.0
    missing = np.maximum(least - (high - low), 0.0)
    low, high = np.maximum(low - missing / 2.0, 0.0), high + missing / 2.0
    reach = high - low
    return np.maximum(low - 0.08 * reach, -0.04 * reach), high + 0.12 * reach


def _draw_equal_cost(axes: Axes, cost: float, beta: float, ends: tuple[float, float]) -> None:
    """Draw the line (1 - 2 beta) C_L + beta C_P = cost."""
    if beta == 0.0:
        axes.axvline(cost, **_EQUAL)
        return
    x = np.array(ends)
    axes.plot(x, (cost - (1.0 - 2.0 * beta) * x) / beta, **_EQUAL)


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
    ]
    handles = [handle for handle, present in shown if present]
    if compared.best is not None:
        handles.append(line([], [], label=f"as cheap as {compared.best.name}", **_EQUAL))
    return handles


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
