"""The picture of a tree of mergers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from klump.errors import InvalidArgumentError
from klump.plots.figure import FAILED, TEXT, new_figure, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from klump.aggregation import AggregationTree

# Of a tree with more leaves only the last mergers are drawn.
_MOST_LEAVES = 100


def dendrogram(tree: AggregationTree, n_states: int | None = None) -> Figure:
    """Draw a tree of mergers, heights in bits; of a large tree only the last mergers.

    Parameters
    ----------
    tree
        What to draw.
    n_states
        Colour the groups of this cut.
    """
    from scipy.cluster import hierarchy

    if tree.n_leaves == 1:
        raise InvalidArgumentError("the tree has one leaf, so there are no mergers to draw")
    linkage = tree.linkage
    cut = 0.0 if n_states is None else _height_of(tree, linkage[:, 2], n_states)
    drawn = hierarchy.dendrogram(
        linkage,
        p=_MOST_LEAVES,
        truncate_mode="lastp" if tree.n_leaves > _MOST_LEAVES else None,
        color_threshold=cut,
        above_threshold_color=TEXT,
        leaf_label_func=lambda leaf: _leaf_name(tree, linkage, leaf),
        no_plot=True,
    )
    names = drawn["ivl"]
    figure = new_figure(max(6.4, 0.17 * len(names)), 4.8)
    axes = figure.subplots()
    _draw_branches(axes, drawn, cut)
    upright = len(names) <= 40 and max(map(len, names)) <= 3
    axes.set_xticks(
        5.0 + 10.0 * np.arange(len(names)), names, rotation=0 if upright else 90, fontsize=8, color=TEXT
    )
    axes.tick_params(axis="x", length=0)
    cost = "I(X1;X2) - I(X2;Y1)" if tree.is_relaxed else rf"the cost at $\beta$ = {tree.beta:g}"
    axes.set_ylabel(f"added to {cost} (bits)")
    # What the mergers that are not drawn cost would fill most of the picture.
    hidden = tree.n_leaves - _MOST_LEAVES
    floor = 0.97 * linkage[hidden - 1, 2] if hidden > 0 else 0.0
    axes.set(xlim=(0.0, 10.0 * len(names)), ylim=(floor, linkage[-1, 2] + 0.05 * (linkage[-1, 2] - floor)))
    tidy(axes)
    return figure


def _height_of(tree: AggregationTree, heights: NDArray[np.float64], n_states: int) -> float:
    """Height between the merger that leaves so many groups and the next one."""
    done = tree.n_leaves - tree.cut(n_states).n_states
    before = heights[done - 1] if done else 0.0
    after = heights[done] if done < len(heights) else 1.05 * before
    return float((before + after) / 2.0)


def _leaf_name(tree: AggregationTree, linkage: NDArray[np.float64], leaf: int) -> str:
    """Name a state; count the members of a group."""
    if leaf >= tree.n_leaves:
        return f"({int(linkage[leaf - tree.n_leaves, 3])})"
    members = np.flatnonzero(tree.leaves == leaf)
    name = str(tree.original.states[members[0]]) if members.size == 1 else f"({members.size})"
    return name if name.strip() and name.isprintable() else repr(name)


def _draw_branches(axes: Axes, drawn: dict[str, Any], cut: float) -> None:
    for x, y, colour in zip(drawn["icoord"], drawn["dcoord"], drawn["color_list"], strict=True):
        axes.plot(x, y, color=colour, linewidth=1.2)
    if cut > 0.0:
        axes.axhline(cut, color=FAILED, linewidth=0.9, linestyle=(0, (4, 3)))
