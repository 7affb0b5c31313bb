"""Memberships as stacked bars: shares of a soft map, or of bootstrap samples."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from klump.aggregation import Aggregation
from klump.plots.arguments import check_colours, check_result
from klump.plots.figure import TEXT, panel, tidy
from klump.plots.text import add_legend, count_repeats, cut_all, cut_name, name_ticks
from klump.views import group_colours

if TYPE_CHECKING:
    from os import PathLike

    from matplotlib.axes import Axes

Floats = NDArray[np.float64]

# Largest number of states with names.
_MAX_NAMED = 80
# Largest number of bars: of more states the mean of neighbours is drawn.
_MAX_BARS = 1_200
# Largest number of groups in the legend: the heaviest.
_MAX_LEGEND = 16
# Hatches of groups that share a colour.
_HATCHES = ("", "////", "....", "xxxx", "||||", "----", "oooo", "++++")
# Width of names of states, in columns.
_STATE_WIDTH = 14


def memberships(
    answer: Aggregation,
    path: str | PathLike[str] | None = None,
    *,
    ax: Axes | None = None,
    colours: Sequence[str] | None = None,
) -> Axes:
    """Draw the share of each state in each group as a stacked bar, states ordered by their most probable group.

    Within a group, the surest states come first. Every bar of a partition has one colour. Groups with the same colour
    have different hatches.

    Parameters
    ----------
    answer
        The answer.
    path
        File to save the figure to; its suffix (.png, .svg, .pdf) sets the format.
    ax
        Axes to draw on; new ones if left out.
    colours
        Colour of each group.

    Examples
    --------
    >>> import klump
    >>> P = [[0.5, 0.4, 0.1], [0.4, 0.5, 0.1], [0.1, 0.1, 0.8]]
    >>> soft = klump.Aggregation.from_labels(P, [[0.8, 0.2], [0.9, 0.1], [0.3, 0.7]])
    >>> ax = klump.plots.memberships(soft)
    >>> [label.get_text() for label in ax.get_xticklabels()]
    ['1', '0', '2']
    """
    check_result("answer", answer, Aggregation, "pass what klump.aggregate(...) returns")
    return draw_shares(answer, answer.mapping, "membership", path, ax=ax, colours=colours)


def draw_shares(
    answer: Aggregation,
    shares: Floats,
    label: str,
    path: str | PathLike[str] | None = None,
    *,
    ax: Axes | None = None,
    colours: Sequence[str] | None = None,
) -> Axes:
    """Draw shares, states x groups, in the order of the answer's groups."""
    colours = check_colours(group_colours([answer])[0] if colours is None else colours, answer.n_states)
    n, k = shares.shape
    fills = _fills(colours)
    own = shares[np.arange(n), answer.labels]
    order = np.lexsort((np.arange(n), -own, answer.labels))
    edges, heights = _bars(shares[order])
    with panel(ax, path, float(np.clip(2.6 + 0.14 * n, 6.4, 13.0)), 3.8) as axes:
        # The own group of a state is at the bottom of its bar: each block of states starts with its group.
        for own_group, first, last in _blocks(answer.labels[order], edges):
            _draw_block(axes, edges[first : last + 1], heights[first:last], own_group, fills)
        if n <= _MAX_NAMED:
            axes.vlines(np.arange(1, n), 0.0, 1.0, color="white", linewidth=0.8, zorder=3)
            states = [answer.original.states[state] for state in order.tolist()]
            size = 8.0 if n <= 48 else 6.5
            named = [colours[group] for group in answer.labels[order]]
            name_ticks(
                axes, np.arange(n) + 0.5, cut_all(states, _STATE_WIDTH, cut_name), colours=named, size=size
            )
        else:
            axes.set_xticks([])
        axes.set_xlabel(f"{n:,} state{'s' * (n != 1)}, ordered by group", color=TEXT)
        axes.set(xlim=(0, n), ylim=(0.0, 1.0))
        axes.set_ylabel(label)
        tidy(axes)
        patch = import_module("matplotlib.patches").Patch
        cut = cut_all(answer.names, 18)
        heaviest = np.sort(np.argsort(-shares.sum(axis=0), kind="stable")[:_MAX_LEGEND]).tolist()
        place: Any = {"loc": "upper left", "bbox_to_anchor": (1.0, 1.0), "fontsize": 8.5, "handlelength": 1.0}
        title = "group" if k <= _MAX_LEGEND else f"{_MAX_LEGEND} of {k} groups"
        add_legend(
            axes,
            [patch(**fills[group]) for group in heaviest],
            [cut[group] for group in heaviest],
            title=title,
            title_fontsize=8.5,
            alignment="left",
            **place,
        )
    return axes


def _fills(colours: Sequence[str]) -> list[dict[str, Any]]:
    """Properties of the areas of each group: its colour, and white hatches if it shares that colour."""
    plain: Any = {"linewidth": 0.0, "edgecolor": "white"}
    hatches = [_HATCHES[number % len(_HATCHES)] for number in count_repeats(colours)]
    return [
        {"facecolor": colour, **plain, **({"hatch": hatch} if hatch else {})}
        for colour, hatch in zip(colours, hatches, strict=True)
    ]


def _bars(shares: Floats) -> tuple[NDArray[np.intp], Floats]:
    """Edges and heights of bars; of many states, means over neighbours."""
    n = len(shares)
    if n <= _MAX_BARS:
        return np.arange(n + 1), shares
    edges = np.linspace(0, n, _MAX_BARS + 1).astype(np.intp)
    return edges, np.add.reduceat(shares, edges[:-1], axis=0) / np.diff(edges)[:, None]


def _blocks(labels: NDArray[Any], edges: NDArray[np.intp]) -> list[tuple[int, int, int]]:
    """Consecutive bars whose states have the same group: the group, the first bar, and the one after the last."""
    groups = labels[edges[:-1]]
    starts = np.flatnonzero(np.concatenate(([True], groups[1:] != groups[:-1])))
    ends = np.concatenate((starts[1:], [len(groups)]))
    return list(zip(groups[starts].tolist(), starts.tolist(), ends.tolist(), strict=True))


def _draw_block(axes: Axes, edges: Any, heights: Floats, own: int, fills: Sequence[dict[str, Any]]) -> None:
    """Draw the bars of one group's states: that group at the bottom, the others above it."""
    bottom = np.zeros(len(heights))
    for group in [own, *(group for group in range(heights.shape[1]) if group != own)]:
        top = bottom + heights[:, group]
        if (heights[:, group] > 0.0).any():
            upper, lower = (np.append(side, side[-1]) for side in (top, bottom))
            style: Any = {"step": "post", "zorder": 2, **fills[group]}
            axes.fill_between(edges, lower, upper, gid=f"group {group}", **style)
        bottom = top
