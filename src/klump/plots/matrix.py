"""The transition matrix with states ordered by group, and borders between groups."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from klump.aggregation import Aggregation
from klump.arguments import check_count
from klump.plots.arguments import check_colours, check_result
from klump.plots.figure import FAILED, TEXT, axes_size, panel, root_figure
from klump.plots.labels import leader, spread
from klump.plots.text import MAX_NAMED, count_unnamed, cut_all, cut_name, plain
from klump.views import OrderedMatrix, group_colours, ordered_matrix
from klump.views.matrix import DEFAULT_BINS

if TYPE_CHECKING:
    from os import PathLike

    from matplotlib.axes import Axes

# Colours from probability zero to the largest.
_SHADES = ("#ffffff", "#cfe0ec", "#7fb0cf", "#2b7eae", "#0b4a70", "#06263a")
# Probabilities above this quantile of the positive ones have the darkest colour.
_DARKEST_QUANTILE = 0.995
# Strips in the colours of the groups beside the matrix: start and end, as shares of its side.
_STRIP = (0.012, 0.032)
# Font sizes of names, in points.
_GROUP_SIZE = 8.5
_MAX_STATE_SIZE = 8.0
_MIN_STATE_SIZE = 4.0
# Height of a line of text, as a multiple of the font size.
_LINE_HEIGHT = 1.2
# Width of names of states, in columns.
_STATE_WIDTH = 12


def matrix(
    answer: Aggregation,
    path: str | PathLike[str] | None = None,
    *,
    ax: Axes | None = None,
    n_bins: int = DEFAULT_BINS,
    colours: Sequence[str] | None = None,
    colorbar: bool = True,
) -> Axes:
    """Draw the transition matrix with states ordered by group, from row to column, and lines between the groups.

    Of more states than ``n_bins`` the mean probability of bins is drawn, so that a large sparse matrix stays sparse.

    Parameters
    ----------
    answer
        The answer.
    path
        File to save the figure to; its suffix (.png, .svg, .pdf) sets the format.
    ax
        Axes to draw on; new ones if left out.
    n_bins
        Largest number of bins per side.
    colours
        Colour of each group.
    colorbar
        Whether to draw the scale of probabilities.

    Examples
    --------
    >>> import klump
    >>> answer = klump.Aggregation.from_labels([[0.5, 0.1, 0.4], [0.1, 0.8, 0.1], [0.4, 0.1, 0.5]], [0, 1, 0])
    >>> ax = klump.plots.matrix(answer)
    >>> [label.get_text() for label in ax.get_xticklabels()]
    ['0', '2', '1']
    """
    check_result("answer", answer, Aggregation, "pass what klump.aggregate(...) returns")
    colours = check_colours(group_colours([answer])[0] if colours is None else colours, answer.n_states)
    view = ordered_matrix(answer, check_count("n_bins", n_bins))
    with panel(ax, path, 7.4, 6.6) as axes:
        mesh = _draw_cells(axes, view)
        _draw_borders(axes, view, colours)
        n = len(view.order)
        axes.set(xlim=(0, n), ylim=(n, 0), xticks=[], yticks=[])
        axes.set_box_aspect(1.0)
        axes.spines[:].set_visible(False)
        if colorbar:
            label = "transition probability" if not view.is_binned else "mean transition probability of a bin"
            bar = axes.figure.colorbar(mesh, ax=axes, fraction=0.045, pad=0.02, shrink=0.6, aspect=22)
            bar.outline.set_visible(False)
            bar.set_label(label, fontsize=8.5, color=TEXT)
            bar.ax.tick_params(labelsize=7.5, length=2, colors=TEXT)
        _write_names(axes, view, answer, colours)
    return axes


def _draw_cells(axes: Axes, view: OrderedMatrix) -> Any:
    colors = import_module("matplotlib.colors")
    positive = view.density[view.density > 0.0]
    darkest = float(np.quantile(positive, _DARKEST_QUANTILE)) if len(positive) else 1.0
    scale: Any = {
        "cmap": colors.LinearSegmentedColormap.from_list("klump", _SHADES),
        # The square root shows small probabilities beside large ones.
        "norm": colors.PowerNorm(0.5, vmin=0.0, vmax=darkest),
    }
    # Not antialiased, and as pixels also in PDF and SVG: seams between cells would show otherwise.
    return axes.pcolormesh(view.bins, view.bins, view.density, rasterized=True, zorder=1, **scale)


def _draw_borders(axes: Axes, view: OrderedMatrix, colours: Sequence[str]) -> None:
    """Draw lines between groups, a frame of its colour around each diagonal block, and strips beside the matrix."""
    rectangle = import_module("matplotlib.patches").Rectangle
    n = len(view.order)
    lines: Any = {"color": FAILED, "linewidth": 0.5, "zorder": 2}
    inner = view.borders[1:-1]
    axes.hlines(inner, 0, n, gid="row borders", **lines)
    axes.vlines(inner, 0, n, gid="column borders", **lines)
    axes.add_patch(
        rectangle((0, 0), n, n, fill=False, edgecolor=FAILED, linewidth=0.6, zorder=2, clip_on=False)
    )
    for start, end, colour in zip(view.borders[:-1], view.borders[1:], colours, strict=True):
        size = int(end - start)
        frame: Any = {"fill": False, "edgecolor": colour, "linewidth": 1.4, "zorder": 3, "clip_on": False}
        axes.add_patch(rectangle((int(start), int(start)), size, size, gid="block", **frame))
        strip: Any = {"facecolor": colour, "linewidth": 0.0, "clip_on": False}
        width = n * (_STRIP[1] - _STRIP[0])
        axes.add_patch(rectangle((-n * _STRIP[1], int(start)), width, size, gid="row strip", **strip))
        axes.add_patch(rectangle((int(start), -n * _STRIP[1]), size, width, gid="column strip", **strip))


def _write_names(axes: Axes, view: OrderedMatrix, answer: Aggregation, colours: Sequence[str]) -> None:
    """Write the names of groups and states; sizes follow from the size of the matrix, which shrinks beside names."""
    others = set(axes.texts)
    for last in (False, True):
        side = float(axes_size(axes).min())
        _name_states(axes, view, answer, colours, side)
        _name_groups(axes, view, answer.names, colours, side)
        if not last:
            root_figure(axes).draw_without_rendering()
            for text in [text for text in axes.texts if text not in others]:
                text.remove()


def _name_groups(
    axes: Axes, view: OrderedMatrix, names: Sequence[str], colours: Sequence[str], side: float
) -> None:
    """Write the name of each group to the left of its rows, with a line to them where it had to move."""
    n = len(view.order)
    # The largest groups, in the order of the rows; names of more groups would not be legible.
    named = np.sort(np.argsort(-np.diff(view.borders), kind="stable")[:MAX_NAMED])
    centres = (view.borders[named] + view.borders[named + 1]) / 2.0 / n
    size = min(_GROUP_SIZE, 0.85 * side / len(named) / _LINE_HEIGHT)
    half = _LINE_HEIGHT * size / side / 2.0
    places = spread(centres, 2.0 * half, (half, 1.0 - half))
    cut = cut_all(names, 17)
    for group, centre, place in zip(named.tolist(), centres, places, strict=True):
        colour = colours[group]
        moved = abs(place - centre) > 0.25 * size / side
        axes.annotate(
            cut[group],
            (-_STRIP[1] * n, centre * n),
            (-(_STRIP[1] + 0.055) * n, place * n),
            ha="right",
            va="center",
            color=colour,
            fontsize=size,
            annotation_clip=False,
            arrowprops=leader(colour, "right") if moved else None,
            gid="group name",
            **plain(),
        )


def _name_states(
    axes: Axes, view: OrderedMatrix, answer: Aggregation, colours: Sequence[str], side: float
) -> None:
    """Write the names of the states below their columns, if there is room."""
    n = len(view.order)
    unnamed = count_unnamed(answer.n_states, "\n")
    size = min(_MAX_STATE_SIZE, side / n / (0.9 * _LINE_HEIGHT))
    if size < _MIN_STATE_SIZE:
        kind = f"{n:,} states, ordered by group" + f", in {len(view.bins) - 1} bins" * view.is_binned
        axes.set_xticks([])
        axes.set_xlabel(f"{kind}; from row to column{unnamed}", fontsize=8.5, color=TEXT)
        return
    axes.set_xlabel(f"from row to column{unnamed}", fontsize=8.5, color=TEXT)
    states = [answer.original.states[state] for state in view.order.tolist()]
    names = cut_all(states, _STATE_WIDTH, cut_name)
    upright = max(map(len, names)) * 0.6 * size < side / n
    axes.set_xticks(np.arange(n) + 0.5, names, rotation=0 if upright else 90, fontsize=size, **plain())
    axes.tick_params(axis="x", length=0, pad=2)
    for label, state in zip(axes.get_xticklabels(), view.order.tolist(), strict=True):
        label.set_color(colours[answer.labels[state]])
