"""Dendrogram of an aggregation tree."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from klump.aggregation import AggregationTree
from klump.errors import InvalidArgumentError
from klump.plots.arguments import check_path, check_result
from klump.plots.figure import FAILED, TEXT, cost_symbol, finish, new_figure, own_style, panel, tidy
from klump.plots.text import cut_all, cut_name, plain
from klump.search.method import EQUAL
from klump.views import colour_of

if TYPE_CHECKING:
    from os import PathLike

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Leaves of the truncated dendrogram; of a tree with more only the last merges are drawn.
_MAX_LEAVES = 100
# Width of names of states, in columns.
_NAME_WIDTH = 20
# Height of the figure, in inches.
_HEIGHT = 4.8


def dendrogram(
    tree: AggregationTree,
    n_states: int | None = None,
    path: str | PathLike[str] | None = None,
    *,
    ax: Axes | None = None,
) -> Axes:
    """Draw the tree of merges, heights in bits; of a large tree only the last merges.

    Parameters
    ----------
    tree
        Tree to draw.
    n_states
        Number of groups of the cut that is coloured. Colours repeat after twelve groups, never side by side. At most
        100.
    path
        File to save the figure to; its suffix (.png, .svg, .pdf) sets the format.
    ax
        Axes to draw on; new ones if left out.

    Examples
    --------
    >>> import klump
    >>> P = [[0.5, 0.4, 0.1, 0.0], [0.4, 0.5, 0.0, 0.1], [0.1, 0.0, 0.4, 0.5], [0.0, 0.1, 0.5, 0.4]]
    >>> klump.plots.dendrogram(klump.aggregation_tree(P), n_states=2).get_ylabel()
    'added to the cost $C_{0.5}$ (bits)'
    """
    from scipy.cluster import hierarchy

    check_result("tree", tree, AggregationTree, "pass what klump.aggregation_tree(...) returns")
    if tree.n_leaves == 1:
        raise InvalidArgumentError(
            "has one leaf, so there are no merges to draw",
            argument="tree",
            remedy="draw the tree of a chain with several states",
        )
    linkage, sizes = tree.linkage, tree.sizes
    groups = _groups(tree, n_states)
    short = cut_all(tree.original.states, _NAME_WIDTH, cut_name)
    drawn = hierarchy.dendrogram(
        linkage,
        p=_MAX_LEAVES,
        truncate_mode="lastp" if tree.n_leaves > _MAX_LEAVES else None,
        # The node of each branch instead of its colour; the colours are looked up below.
        link_color_func=str,
        leaf_label_func=lambda leaf: _leaf_name(tree, sizes, short, leaf),
        no_plot=True,
    )
    names, colours = drawn["ivl"], _colours(groups, drawn["leaves"])
    with panel(ax, path, _width(tree), _HEIGHT) as axes:
        axes.set_title(_title(tree, n_states, len(names)), color=TEXT, fontsize=10)
        _draw_branches(axes, tree, drawn, colours)
        _draw_cut(axes, linkage[:, 2], n_states)
        _draw_names(axes, names, [colours[leaf] for leaf in drawn["leaves"]])
        _set_axes(axes, tree, linkage[:, 2], len(names))
    return axes


@own_style()
def draw_figure(
    tree: AggregationTree, n_states: int | None = None, path: str | PathLike[str] | None = None
) -> Figure:
    """Draw the tree in a figure that the caller owns: what ``tree.plot(path)`` returns."""
    check_path(path)
    figure = new_figure(_width(tree), _HEIGHT)
    dendrogram(tree, n_states, ax=figure.subplots())
    return finish(figure, path)


def _width(tree: AggregationTree) -> float:
    """Width of a figure in which the names of the leaves do not overlap, in inches."""
    return max(6.4, 0.17 * min(tree.n_leaves, _MAX_LEAVES))


def _set_axes(axes: Axes, tree: AggregationTree, heights: NDArray[np.float64], n_drawn: int) -> None:
    """Set labels and limits of the axes."""
    cost = "I(X1;X2) - I(X2;Y1)" if tree.is_relaxed else f"the cost {cost_symbol(tree.beta, tree.gamma)}"
    axes.set_ylabel(f"added to {cost} (bits)")
    if n_drawn < tree.original.n_states:
        axes.set_xlabel("in brackets: number of states")
    # The axis starts just below the drawn merges: those that are not drawn may make up most of the height.
    hidden, highest = tree.n_leaves - _MAX_LEAVES, heights[-1]
    floor = 0.97 * heights[hidden - 1] if hidden > 0 else 0.0
    # A positive range also if all merges cost 0.
    top = highest + 0.05 * (highest - floor) if highest > floor + EQUAL else floor + 1.0
    axes.set(xlim=(0.0, 10.0 * n_drawn), ylim=(floor, top))
    tidy(axes)


def _groups(tree: AggregationTree, n_states: int | None) -> NDArray[np.int64]:
    """Group of each node of the tree; -1 for nodes above the cut.

    Heights cannot tell: a merge that lowers the cost (an inversion) is drawn at the height of the previous merge.
    """
    n = tree.n_leaves
    groups = np.full(2 * n - 1, -1)
    if n_states is None:
        return groups
    labels = tree.cut(n_states).labels
    if n_states > _MAX_LEAVES:
        raise InvalidArgumentError(
            f"is too large: of a tree with {n:,} leaves only the last {_MAX_LEAVES} groups are drawn",
            argument="n_states",
            value=n_states,
            remedy=f"pass at most {_MAX_LEAVES}",
        )
    groups[tree.leaves] = labels
    for step, pair in enumerate(tree.merges[: n - n_states]):
        groups[n + step] = groups[pair[0]]
    return groups


def _colours(groups: NDArray[np.int64], leaves: list[int]) -> list[str]:
    """Colour of each node: from left to right, so that adjacent groups differ."""
    order = dict.fromkeys(int(groups[leaf]) for leaf in leaves if groups[leaf] >= 0)
    colours = {group: colour_of(place) for place, group in enumerate(order)}
    return [colours.get(int(group), TEXT) for group in groups]


def _title(tree: AggregationTree, n_states: int | None, n_drawn: int) -> str:
    n, leaves = tree.original.n_states, tree.n_leaves
    found = f"{n:,} states" if leaves == n else f"{n:,} states, {leaves:,} initial groups"
    if n_states is not None:
        found += f", {n_states} groups in colour" if n_states > 1 else ", one group"
    found += ", relaxed merging" if tree.is_relaxed else rf", $\beta$ = {tree.beta:g}"
    if n_drawn < leaves:
        found += f"\nonly the last {n_drawn - 1:,} of {leaves - 1:,} merges are drawn"
    if (tree.merge_costs[leaves - n_drawn :] < -EQUAL).any():
        found += "\nmerges that lower the cost are drawn at the height of the previous merge"
    return found


def _leaf_name(tree: AggregationTree, sizes: NDArray[np.int64], short: list[str], leaf: int) -> str:
    """Name a state; count the members of a group."""
    if sizes[leaf] > 1:
        return f"({sizes[leaf]})"
    return short[int(np.flatnonzero(tree.leaves == leaf)[0])]


def _draw_branches(axes: Axes, tree: AggregationTree, drawn: dict[str, Any], colours: list[str]) -> None:
    """Draw each merge as a bar on two legs; a leg has the colour of its child node."""
    style: Any = {"linewidth": 1.2, "solid_capstyle": "projecting"}
    for x, y, node in zip(drawn["icoord"], drawn["dcoord"], map(int, drawn["color_list"]), strict=True):
        left, right = tree.merges[node - tree.n_leaves]
        for child, leg in ((left, slice(0, 2)), (right, slice(2, 4))):
            axes.plot(x[leg], y[leg], color=colours[child], zorder=2.2, **style)
        # Of overlapping bars at one height, those within a group are on top.
        axes.plot(x[1:3], y[1:3], color=colours[node], zorder=2.0 if colours[node] == TEXT else 2.1, **style)


def _draw_cut(axes: Axes, heights: NDArray[np.float64], n_states: int | None) -> None:
    """Draw a line between the merge that leaves ``n_states`` groups and the next one, if their heights differ."""
    if n_states is None or n_states == 1:
        return
    after = len(heights) + 1 - n_states
    below, above = heights[after - 1] if after else 0.0, heights[after]
    if above > below:
        axes.axhline((below + above) / 2.0, color=FAILED, linewidth=0.9, linestyle=(0, (4, 3)))


def _draw_names(axes: Axes, names: list[str], colours: list[str]) -> None:
    upright = len(names) <= 40 and max(map(len, names)) <= 3
    axes.set_xticks(
        5.0 + 10.0 * np.arange(len(names)), names, rotation=0 if upright else 90, fontsize=8, **plain()
    )
    for label, colour in zip(axes.get_xticklabels(), colours, strict=True):
        label.set_color(colour)
    axes.tick_params(axis="x", length=0)
