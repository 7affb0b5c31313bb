"""Evidence of a selection: cost curves and gains, with the recommended number of groups."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from klump.chain.wording import format_count, format_number
from klump.plots.figure import FAILED, TEXT, cost_symbol, panel, tidy
from klump.plots.text import add_legend
from klump.search.method import EQUAL
from klump.views import colour_of

if TYPE_CHECKING:
    from os import PathLike

    from matplotlib.axes import Axes

    from klump.selection import Selection, SelectionRow

# Line style: widths and marker sizes in points.
_LINE: Any = {"linewidth": 1.4, "markersize": 4.5, "clip_on": False, "zorder": 3}
# Markers of the betas.
_MARKERS = "os^Dv<>P"


def selection(choice: Selection, path: str | PathLike[str] | None = None, *, ax: Axes | None = None) -> Axes:
    r"""Draw the cost against the number of groups, a line per beta, with the recommended answer and its gain.

    Broken lines show the step to the recommended number of groups: its gain, in bits per added group.

    Parameters
    ----------
    choice
        The selection.
    path
        File to save the figure to; its suffix (.png, .svg, .pdf) sets the format.
    ax
        Axes to draw on; new ones if left out.

    Examples
    --------
    >>> import klump
    >>> from klump.sources.random_chains import block_chain
    >>> chain, planted = block_chain((8, 10, 12), alpha=0.9, eps=0.2)
    >>> choice = klump.select(chain, n_states=range(2, 6), betas=[0.5])
    >>> print(klump.plots.selection(choice).get_title())
    recommended: 3 groups at $\beta$ = 0.5
    the step to them gains 0.1572 bits per group, 22.1 times any later one
    """
    with panel(ax, path, 6.4, 4.2) as axes:
        _draw_lines(axes, choice, "cost")
        axes.set_ylabel(f"cost {cost_symbol(None, choice.gamma)} (bits)")
        row = _recommended(choice)
        if row is not None:
            _draw_step(axes, choice, row)
    return axes


def gains(choice: Selection, path: str | PathLike[str] | None = None, *, ax: Axes | None = None) -> Axes:
    """Draw the decrease of the cost per added group against the number of groups, a line per beta.

    Parameters
    ----------
    choice
        The selection.
    path
        File to save the figure to; its suffix (.png, .svg, .pdf) sets the format.
    ax
        Axes to draw on; new ones if left out.

    Examples
    --------
    >>> import klump
    >>> from klump.sources.random_chains import block_chain
    >>> chain, planted = block_chain((8, 10, 12), alpha=0.9, eps=0.2)
    >>> choice = klump.select(chain, n_states=range(2, 6), betas=[0.5])
    >>> len(klump.plots.gains(choice).lines[0].get_ydata())
    4
    """
    with panel(ax, path, 6.4, 4.2) as axes:
        _draw_lines(axes, choice, "gain")
        axes.set_ylabel("gain (bits per added group)")
        row = _recommended(choice)
        if row is not None:
            axes.plot([row.n_states], [row.gain], **_RING)
    return axes


# Ring around the recommended answer: sizes in points.
_RING: Any = {
    "marker": "o",
    "markersize": 11,
    "markerfacecolor": "none",
    "markeredgewidth": 1.4,
    "color": TEXT,
    "linestyle": "",
    "clip_on": False,
    "zorder": 4,
    "gid": "recommended",
}


def _draw_lines(axes: Axes, choice: Selection, attribute: str) -> None:
    """Draw a line per beta, the axes and the title."""
    rows = list(choice.table)
    betas = list(dict.fromkeys(row.beta for row in rows))
    lines = []
    for number, beta in enumerate(betas):
        points = sorted((row.n_states, getattr(row, attribute)) for row in rows if row.beta == beta)
        groups, values = zip(*points, strict=True)
        style: Any = {"color": colour_of(number), "marker": _MARKERS[number % len(_MARKERS)], **_LINE}
        lines += axes.plot(groups, values, **style)
    drawn = np.concatenate([line.get_ydata() for line in lines])
    low, top = min(0.0, float(np.min(drawn))), float(np.max(drawn))
    axes.set_ylim(1.08 * low, 1.08 * top if top > EQUAL else 1.0)
    numbers = [row.n_states for row in rows]
    axes.set_xlim(min(numbers) - 0.5, max(numbers) + 0.5)
    axes.xaxis.set_major_locator(import_module("matplotlib.ticker").MaxNLocator(integer=True))
    axes.set_xlabel("groups")
    tidy(axes, grid="both")
    if len(betas) > 1:
        names = [rf"$\beta$ = {beta:g}" for beta in betas]
        add_legend(axes, lines, names, as_is=False, loc="best", fontsize=8.5)
    axes.set_title(_title(choice), color=TEXT, fontsize=10)


def _title(choice: Selection) -> str:
    row = _recommended(choice)
    if row is None:
        return "no clear answer" + " (interrupted)" * choice.interrupted
    title = rf"recommended: {format_count(row.n_states, 'group')} at $\beta$ = {row.beta:g}"
    title += f"\nthe step to them gains {format_number(row.gain)} bits per group"
    return title if row.bend is None else f"{title}, {row.bend:.1f} times any later one"


def _recommended(choice: Selection) -> SelectionRow | None:
    wanted = choice.n_states, choice.beta
    return next((row for row in choice.table if (row.n_states, row.beta) == wanted), None)


def _draw_step(axes: Axes, choice: Selection, row: SelectionRow) -> None:
    """Draw a ring around the recommended answer, and the step from the next smaller number of groups."""
    axes.plot([row.n_states], [row.cost], **_RING)
    smaller = [
        other.n_states for other in choice.table if other.beta == row.beta and other.n_states < row.n_states
    ]
    previous = max(smaller, default=1)
    before = row.cost + row.gain * (row.n_states - previous)
    line: Any = {"color": FAILED, "linewidth": 1.0, "linestyle": (0, (2, 2)), "zorder": 2, "gid": "step"}
    # A step from one group may start above the axes, which show the numbers of groups that were asked for.
    top = min(before, axes.get_ylim()[1])
    axes.plot([previous, row.n_states], [before, before], clip_on=True, **line)
    axes.plot([row.n_states, row.n_states], [row.cost, top], **line)
