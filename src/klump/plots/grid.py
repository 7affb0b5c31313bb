"""The picture of a grid: what more groups are worth."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from klump.chain.wording import counted
from klump.plots.figure import GRID, PALETTE, TEXT, cost_symbol, new_figure, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from klump.aggregation import AggregationGrid

_DOT: Any = {"linewidth": 1.4, "marker": "o", "markersize": 4.5, "clip_on": False, "zorder": 3}


def grid(found: AggregationGrid) -> Figure:
    """Draw the cost and the kept share against the number of groups, a line for each beta.

    Cells that were not run leave a gap.
    """
    figure = new_figure(10.0, 4.0)
    left, right = figure.subplots(1, 2)
    order = np.argsort(found.n_states)
    _draw(left, found, order, found.costs)
    left.set_ylabel(f"cost {cost_symbol(None, found.gamma)} (bits)")
    _draw(right, found, order, 100.0 * found.kept)
    right.set_ylabel("kept (% of $I(X_1;X_2)$)")
    right.set_ylim(0.0, 100.0)
    figure.suptitle(
        f"{counted(found.original.n_states, 'state')}, {found.aggregations[0].method}"
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


def _draw(axes: Axes, found: AggregationGrid, order: NDArray[np.intp], values: NDArray[np.float64]) -> None:
    groups = np.array(found.n_states)[order]
    for number, beta in enumerate(found.betas):
        colour = PALETTE[number % len(PALETTE)]
        axes.plot(groups, values[order, number], color=colour, label=rf"$\beta$ = {beta:g}", **_DOT)
    top = np.nanmax(values)
    axes.set_ylim(0.0, 1.08 * top if top > 1e-12 else 1.0)
    axes.xaxis.set_major_locator(import_module("matplotlib.ticker").MaxNLocator(integer=True))
    # Room on both sides, even for one number of groups.
    axes.set_xlim(groups[0] - 0.5, groups[-1] + 0.5)
    axes.set_xlabel("groups")
    axes.grid(color=GRID, linewidth=0.6)
    tidy(axes)
