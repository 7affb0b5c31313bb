"""Picture of a comparison: the cost of every method, and its components C_L and C_P."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from klump.chain.wording import format_count, format_number, format_seconds
from klump.comparison import Comparison
from klump.comparison.table import sections
from klump.plots.arguments import check_path, check_result
from klump.plots.figure import FAILED, KLUMP, OUTSIDE, TEXT, cost_symbol, finish, new_figure, own_style, tidy
from klump.plots.labels import write, write_beside_dots
from klump.plots.plane import ISOCOST, draw_isocost, draw_plane
from klump.search.method import EQUAL

if TYPE_CHECKING:
    from os import PathLike

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from klump.comparison import Row

# Height of a row, in inches.
_ROW_HEIGHT = 0.3
# Rows for which the left panel has room at least, so that the right panel is not too flat.
_MIN_ROWS = 8
# Font size of durations and error messages, in points.
_SMALL = 8.0
# Mean width of a character, as a multiple of the font size.
_CHARACTER_WIDTH = 0.52


@own_style()
def comparison(compared: Comparison, path: str | PathLike[str] | None = None) -> Figure:
    """Draw the cost of every method, and beside it the plane of its components C_L and C_P.

    Rows and sections are those of the table. Filled dots have the requested number of groups, hollow dots another
    number; diamonds are soft maps.

    Parameters
    ----------
    compared
        The comparison.
    path
        File to save the figure to; its suffix (.png, .svg, .pdf) sets the format.

    Examples
    --------
    >>> import klump
    >>> P = [[0.5, 0.4, 0.1, 0.0], [0.4, 0.5, 0.0, 0.1], [0.1, 0.0, 0.4, 0.5], [0.0, 0.1, 0.5, 0.4]]
    >>> compared = klump.compare(P, 2, methods=["auto", "sequential"], outside=False)
    >>> len(klump.plots.comparison(compared).axes)
    2
    """
    check_result("compared", compared, Comparison, "pass what klump.compare(...) returns")
    check_path(path)
    lines = _lines(compared)
    found = [row for row in lines if not isinstance(row, str) and row.error is None]
    fewest = _MIN_ROWS if found else 0
    figure = new_figure(12.0, (1.9 if found else 0.7) + _ROW_HEIGHT * max(len(lines), fewest))
    groups, n = format_count(compared.n_states, "group"), compared.original.n_states
    title = rf"{groups} of {n:,} state{'s' * (n > 1)} at $\beta$ = {compared.beta:g}"
    figure.suptitle(title, color=TEXT, fontsize=12)
    if not found:
        axes = figure.subplots()
        _draw_names(axes, lines)
        axes.set(xticks=[], xlim=(0.0, 1.0))
        axes.spines[:].set_visible(False)  # there are no costs
        figure.draw_without_rendering()
        _write_reasons(axes, lines)
        return finish(figure, path)
    left, right = figure.subplots(1, 2, width_ratios=(1.3, 1.0))
    _draw_names(left, lines)
    left.set_ylim(max(len(lines), fewest) - 0.4, -0.6)
    _draw_costs(left, compared, lines)
    points = _draw_plane(right, compared, found)
    figure.legend(handles=_legend(compared, found), loc="outside lower center", ncols=6, frameon=False)
    # Label placement needs the final size of the axes.
    figure.draw_without_rendering()
    _write_reasons(left, lines)
    numbers = [str(number) for number in range(1, len(found) + 1)]
    write_beside_dots(right, points, numbers, [_colour(row) for row in found])
    return finish(figure, path)


def _lines(compared: Comparison) -> list[Row | str]:
    """Rows and section headings, from top to bottom."""
    found: list[Row | str] = []
    for heading, rows in sections(compared).items():
        found += [heading] * bool(heading and rows)
        found += rows
    return found


def _draw_names(axes: Axes, lines: Sequence[Row | str]) -> None:
    """Label the rows by name and by their number in the plane; headings in italics."""
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
    """Draw a horizontal line per row that has a cost."""
    at_the_right: Any = {"transform": axes.get_yaxis_transform(), "ha": "right", "va": "center"}
    costs = []
    for place, row in enumerate(lines):
        if isinstance(row, str) or row.error is not None:
            continue
        cost = _cost(row)
        costs.append(cost)
        axes.plot([0.0, cost], [place, place], color=_colour(row), linewidth=1.2, alpha=0.35, zorder=1)
        axes.plot([cost], [place], **_dot(row), clip_on=False, zorder=3)
        number = "" if row.as_asked else f"   {format_count(row.n_states or 0, 'group')}"
        write(axes, (cost, place), format_number(cost) + number)
        axes.text(
            1.0, place, f"{format_seconds(row.seconds)} s", color=FAILED, fontsize=_SMALL, **at_the_right
        )
    # The factor leaves room for the numbers beside the dots. Costs up to EQUAL are rounding errors. Only soft maps
    # with gamma > 0 cost less than 0.
    axes.set_xlim(min(0.0, *costs), 1.5 * max(costs) if max(costs) > EQUAL else 1.0)
    axes.set_xlabel(f"cost {cost_symbol(compared.beta, compared.gamma)} (bits)")
    tidy(axes, grid="x")


def _write_reasons(axes: Axes, lines: Sequence[Row | str]) -> None:
    """Write why a method failed, in at most two lines as wide as the axes."""
    width = int(axes.bbox.width * 72.0 / axes.figure.dpi / (_CHARACTER_WIDTH * _SMALL))
    for place, row in enumerate(lines):
        if isinstance(row, str) or row.error is None:
            continue
        words = textwrap.wrap(row.error, width, max_lines=2, placeholder=" ...", break_on_hyphens=False)
        # Outside the layout: the text was wrapped to the width that the layout gave the axes.
        write(axes, (0.0, place), "\n".join(words), (4, 0), colour=FAILED, size=_SMALL, in_layout=False)


def _draw_plane(axes: Axes, compared: Comparison, found: Sequence[Row]) -> NDArray[np.float64]:
    """Draw predictability against lumpability, with the isocost line of the best map; return the points."""
    costs = [row.aggregation.costs for row in found if row.aggregation is not None]
    points = np.array([(cost.lumpability, cost.predictability) for cost in costs])
    # Reversed: the cheapest dot is drawn last, on top.
    for row, point in zip(found[::-1], points[::-1], strict=True):
        axes.plot(*point, **_dot(row), zorder=3)
    ends = draw_plane(axes, points, costs[0].redundancy_rate)
    if compared.best is not None and compared.gamma == 0.0:
        draw_isocost(axes, _cost(compared.best), compared.beta, ends)
    return points


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
        handles.append(line([], [], label=f"as cheap as {compared.best.name}", **ISOCOST))
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
