"""Evidence of a selection: cost curves and gains, with the recommended number of groups."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from klump.chain.wording import format_count, format_number
from klump.plots.arguments import check_result
from klump.plots.figure import FAILED, TEXT, cost_symbol, panel
from klump.plots.lines import draw_lines
from klump.plots.text import add_legend
from klump.selection import Selection

if TYPE_CHECKING:
    from os import PathLike

    from matplotlib.axes import Axes

    from klump.selection import SelectionRow


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
    check_result("choice", choice, Selection, "pass what klump.select(...) returns")
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
    check_result("choice", choice, Selection, "pass what klump.select(...) returns")
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
    curves: list[tuple[str, Any, Any]] = []
    for beta in dict.fromkeys(row.beta for row in rows):
        points = sorted((row.n_states, getattr(row, attribute)) for row in rows if row.beta == beta)
        groups, values = zip(*points, strict=True)
        curves.append((rf"$\beta$ = {beta:g}", groups, values))
    lines = draw_lines(axes, curves)
    if len(curves) > 1:
        add_legend(axes, lines, [name for name, *_ in curves], as_is=False, loc="best", fontsize=8.5)
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
