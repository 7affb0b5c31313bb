"""Picture of a grid: cost and kept share against the number of groups."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from klump.aggregation import AggregationGrid
from klump.chain.wording import format_count
from klump.plots.arguments import check_path, check_result
from klump.plots.figure import TEXT, cost_symbol, finish, new_figure, own_style
from klump.plots.lines import draw_lines

if TYPE_CHECKING:
    from os import PathLike

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray


@own_style()
def grid(found: AggregationGrid, path: str | PathLike[str] | None = None) -> Figure:
    """Draw the cost and the kept share against the number of groups, one line per beta.

    Cells that were not run leave a gap in the line.

    Parameters
    ----------
    found
        The grid.
    path
        File to save the figure to; its suffix (.png, .svg, .pdf) sets the format.

    Examples
    --------
    >>> import klump
    >>> P = [[0.5, 0.4, 0.1, 0.0], [0.4, 0.5, 0.0, 0.1], [0.1, 0.0, 0.4, 0.5], [0.0, 0.1, 0.5, 0.4]]
    >>> figure = klump.plots.grid(klump.grid(P, [2, 3], [0.5, 1.0]))
    >>> [axes.get_xlabel() for axes in figure.axes]
    ['groups', 'groups']
    """
    check_result("found", found, AggregationGrid, "pass what klump.grid(...) returns")
    check_path(path)
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
    return finish(figure, path)


def _draw_lines(
    axes: Axes, found: AggregationGrid, order: NDArray[np.intp], values: NDArray[np.float64]
) -> None:
    groups = np.array(found.n_states)[order]
    names = [rf"$\beta$ = {beta:g}" for beta in found.betas]
    draw_lines(axes, [(name, groups, values[order, number]) for number, name in enumerate(names)])
