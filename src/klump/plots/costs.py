"""Costs along a beta path."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from klump.aggregation import AggregationPath
from klump.plots.arguments import check_result
from klump.plots.figure import KLUMP, OUTSIDE, cost_symbol, panel, tidy
from klump.plots.text import legend_above
from klump.search.method import EQUAL

if TYPE_CHECKING:
    from os import PathLike

    from matplotlib.axes import Axes

# Colour of the curve of C_L.
_LUMPABILITY = "#1f7a3d"
# Line style: widths and marker sizes in points.
_LINE: Any = {"linewidth": 1.5, "markersize": 4.5, "clip_on": False, "zorder": 3}


def costs(
    answers: AggregationPath, path: str | PathLike[str] | None = None, *, ax: Axes | None = None
) -> Axes:
    """Draw the cost, lumpability and predictability of a beta path against beta.

    The kept share is 1 - C_P / I(X1;X2): the axis on the right reads it off the curve of C_P.

    Parameters
    ----------
    answers
        The beta path.
    path
        File to save the figure to; its suffix (.png, .svg, .pdf) sets the format.
    ax
        Axes to draw on; new ones if left out.

    Examples
    --------
    >>> import klump
    >>> P = [[0.5, 0.4, 0.1, 0.0], [0.4, 0.5, 0.0, 0.1], [0.1, 0.0, 0.4, 0.5], [0.0, 0.1, 0.5, 0.4]]
    >>> ax = klump.plots.costs(klump.beta_path(P, 2, betas=[1, 0.5, 0]))
    >>> ax.lines[0].get_xdata()
    array([1. , 0.5, 0. ])
    """
    check_result("answers", answers, AggregationPath, "pass what klump.beta_path(...) returns")
    gamma = answers[0].gamma
    lumpability = [answer.costs.lumpability for answer in answers]
    predictability = [answer.costs.predictability for answer in answers]
    curves: list[tuple[str, Any, str, str, Any]] = [
        (f"cost {cost_symbol(None, gamma)}", answers.costs, KLUMP, "o", "-"),
        ("lumpability $C_L$", lumpability, _LUMPABILITY, "s", (0, (4, 2))),
        ("predictability $C_P$", predictability, OUTSIDE, "^", (0, (1, 1.2))),
    ]
    with panel(ax, path, 6.4, 4.2) as axes:
        lines = [
            axes.plot(answers.betas, values, color=colour, marker=marker, linestyle=style, **_LINE)[0]
            for _, values, colour, marker, style in curves
        ]
        values = np.array([line.get_ydata() for line in lines])
        low, top = min(0.0, float(values.min())), float(values.max())
        axes.set_ylim(1.08 * low, 1.08 * top if top > EQUAL else 1.0)
        first, last = float(answers.betas.min()), float(answers.betas.max())
        # A margin also for a path of one beta.
        margin = max(0.02, 0.03 * (last - first))
        axes.set_xlim(first - margin, last + margin)
        axes.set_xlabel(r"$\beta$")
        axes.set_ylabel("bits")
        tidy(axes, grid="both")
        legend_above(axes, lines, [name for name, *_ in curves], as_is=False)
        _add_kept_axis(axes, answers[0].costs.redundancy_rate)
    return axes


def _add_kept_axis(axes: Axes, redundancy: float) -> None:
    """Add an axis on the right that reads the kept share off the curve of C_P."""
    if redundancy < EQUAL:
        return

    def to_share(cost: Any) -> Any:
        return 100.0 * (1.0 - cost / redundancy)

    def to_cost(share: Any) -> Any:
        return redundancy * (1.0 - share / 100.0)

    kept = axes.secondary_yaxis("right", functions=(to_share, to_cost))
    kept.set_ylabel("kept (%), read at $C_P$", color=OUTSIDE)
    kept.tick_params(colors=OUTSIDE)
    kept.spines["right"].set_visible(False)
