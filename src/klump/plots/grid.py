"""Picture of a grid: cost and kept share against the number of groups."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from klump.chain.wording import format_count
from klump.plots.figure import TEXT, cost_symbol, new_figure, tidy
from klump.search.method import EQUAL
from klump.views.colours import PALETTE

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from klump.aggregation import AggregationGrid

# Line style: widths and marker sizes in points.
_LINE: Any = {"linewidth": 1.4, "marker": "o", "markersize": 4.5, "clip_on": False, "zorder": 3}


def grid(found: AggregationGrid) -> Figure:
    """Draw the cost and the kept share against the number of groups, one line per beta.

    Cells that were not run leave a gap in the line.

    Examples
    --------
    >>> import klump
    >>> P = [[0.5, 0.4, 0.1, 0.0], [0.4, 0.5, 0.0, 0.1], [0.1, 0.0, 0.4, 0.5], [0.0, 0.1, 0.5, 0.4]]
    >>> figure = klump.plots.grid(klump.grid(P, [2, 3], [0.5, 1.0]))
    >>> [axes.get_xlabel() for axes in figure.axes]
    ['groups', 'groups']
    """
    figure = new_figure(10.0, 4.0)
    left, right = figure.subplots(1, 2)
    order = np.argsort(found.n_states)
    _draw_lines(left, found, order, found.costs)
    left.set_ylabel(f"cost {cost_symbol(None, found.gamma)} (bits)")
    _draw_lines(right, found, order, 100.0 * found.kept)
    right.set_ylabel("kept (% of $I(X_1;X_2)$)")
    right.set_ylim(0.0, 100.0)
    figure.suptitle(
        f"{format_count(found.original.n_states, 'state')}, {found.aggregations[0].method}"
        + " (interrupted)" * found.interrupted,
        color=TEXT,
        fontsize=12,
    )
    if len(found.betas) > 1:
        handles = left.get_lines()
        figure.legend(handles=handles, loc="outside lower center", ncols=min(6, len(handles)), frameon=False)
    else:
        left.set_ylabel(f"cost {cost_symbol(found.betas[0], found.gamma)} (bits)")
    return figure


def _draw_lines(
    axes: Axes, found: AggregationGrid, order: NDArray[np.intp], values: NDArray[np.float64]
) -> None:
    groups = np.array(found.n_states)[order]
    for number, beta in enumerate(found.betas):
        colour = PALETTE[number % len(PALETTE)]
        axes.plot(groups, values[order, number], color=colour, label=rf"$\beta$ = {beta:g}", **_LINE)
    top = np.nanmax(values)
    axes.set_ylim(0.0, 1.08 * top if top > EQUAL else 1.0)
    axes.xaxis.set_major_locator(import_module("matplotlib.ticker").MaxNLocator(integer=True))
    # A margin on both sides, also for a single number of groups.
    axes.set_xlim(groups[0] - 0.5, groups[-1] + 0.5)
    axes.set_xlabel("groups")
    tidy(axes, grid="both")
