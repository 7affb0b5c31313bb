"""The aggregated chain as a graph: areas are masses, widths of arrows are probabilities."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from klump.aggregation import Aggregation
from klump.chain.wording import format_count
from klump.plots.arguments import check_colours, check_result
from klump.plots.figure import FAILED, TEXT, axes_size, panel
from klump.plots.labels import halo
from klump.plots.text import MAX_NAMED, count_unnamed, cut_all, plain
from klump.views import Edge, Graph, group_colours
from klump.views import graph as graph_view

if TYPE_CHECKING:
    from os import PathLike

    from matplotlib.axes import Axes

Floats = NDArray[np.float64]

# Lengths are in radii of the circle on which the groups stand.
# Distance of the ring of staying from its group, and its width.
_RING_GAP = 0.012
_RING_WIDTH = 0.02
# Distance of a name from its group.
_NAME_GAP = 0.075
# Half of the width and height of the box of a label of an arrow.
_LABEL_EXTENT = np.array([0.085, 0.045])
# The same of its digits, which may not lie on another arrow.
_INK_EXTENT = np.array([0.05, 0.02])
# Other places of a label, as shares of the length of the shaft, if its middle is not free.
_LABEL_SHARES = (0.35, 0.65, 0.2, 0.85)
# Distance of a label from the edge of its arrow.
_LABEL_GAP = 0.05
# Arrows below this share of the most probable one have no label.
_LEAST_LABELLED = 0.08
# Up to this number of arrows, all have labels.
_FEW_ARROWS = 12
# Room for a name of two lines, in points.
_NAME_HEIGHT = 28.0
# Font size of names; that of radial ones is smaller, so that they do not overlap.
_SIZE = 9.0
# Mean width of a character, as a multiple of the font size.
_CHARACTER_WIDTH = 0.52
# More groups than this have radial names without masses, and arrows without labels.
_MAX_HORIZONTAL = 10


def graph(
    answer: Aggregation,
    path: str | PathLike[str] | None = None,
    *,
    ax: Axes | None = None,
    colours: Sequence[str] | None = None,
) -> Axes:
    r"""Draw the aggregated chain as a graph with the names of its groups.

    The area of a group is its mass, and the arc around it the probability of staying: a whole circle is 1. The width of
    an arrow is its probability relative to the most probable arrow of this picture, which is written below, so that
    widths of different pictures do not compare. The least probable transitions have no arrow, and are counted below.

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
    >>> ax = klump.plots.graph(klump.Aggregation.from_labels(P, [0, 0, 1]))
    >>> [text.get_text() for text in ax.texts]
    ['20 %', '10 %', '0 1\n67 %', '2\n33 %']
    """
    check_result("answer", answer, Aggregation, "pass what klump.aggregate(...) returns")
    colours = check_colours(group_colours([answer])[0] if colours is None else colours, answer.n_states)
    view = graph_view(answer)
    with panel(ax, path, 6.0, 5.6) as axes:
        _draw_arrows(axes, view, colours)
        _draw_groups(axes, view, colours)
        if answer.n_states <= _MAX_HORIZONTAL:
            _write_probabilities(axes, view)
        longest = _write_names(axes, view, answer, colours)
        width, height = _extent(view, longest, float(axes_size(axes).min()))
        axes.set(xlim=(-width, width), ylim=(-height, height))
        axes.set_aspect("equal")
        axes.axis("off")
        _explain(axes, view)
    return axes


def _extent(view: Graph, longest: int, side: float) -> tuple[float, float]:
    """Half of the width and height of the axes, so that names fit above and below, and radial names on all sides."""
    circle = float(np.abs(view.positions).max()) + float(view.radii.max()) + _NAME_GAP
    if len(view.radii) > _MAX_HORIZONTAL:
        # The length of a name is in points; the side of the axes is 2 * reach.
        reach = circle / (
            1.0 - 2.0 * min(_CHARACTER_WIDTH * longest * _radial_size(len(view.radii)) / side, 0.3)
        )
        return reach, reach
    highest = float(np.abs(view.positions[:, 1]).max()) + float(view.radii.max()) + _NAME_GAP
    return circle, highest + 2.0 * circle * _NAME_HEIGHT / side


def _draw_arrows(axes: Axes, view: Graph, colours: Sequence[str]) -> None:
    polygon = import_module("matplotlib.patches").Polygon
    for edge in view.edges:
        style: Any = {"facecolor": colours[edge.source], "alpha": 0.6, "linewidth": 0.0, "zorder": 1}
        axes.add_patch(polygon(edge.outline, closed=True, clip_on=False, gid="arrow", **style))


def _draw_groups(axes: Axes, view: Graph, colours: Sequence[str]) -> None:
    patches = import_module("matplotlib.patches")
    rows = zip(view.positions, view.radii, view.staying, colours, strict=True)
    for place, radius, staying, colour in rows:
        style: Any = {"clip_on": False, "zorder": 2}
        axes.add_patch(patches.Circle(place, radius, facecolor=colour, linewidth=0.0, gid="group", **style))
        # Clockwise from the top, with a little of an arc also for a small probability.
        arc: Any = {"facecolor": colour, "linewidth": 0.0, "alpha": 0.55, "gid": "staying", **style}
        outer = radius + _RING_GAP + _RING_WIDTH
        axes.add_patch(patches.Wedge(place, outer, 90.0 - 360.0 * staying, 90.0, width=_RING_WIDTH, **arc))


def _write_probabilities(axes: Axes, view: Graph) -> None:
    """Label the arrows, the most probable first; leave out labels that would cover others or a group."""
    taken: list[Floats] = []
    many = len(view.edges) > _FEW_ARROWS
    least = many * _LEAST_LABELLED * max((edge.probability for edge in view.edges), default=0.0)
    arrows = [_arrow_path(edge) for edge in view.edges]
    for number, edge in reversed(list(enumerate(view.edges))):
        if edge.probability < least:
            break
        others = arrows[:number] + arrows[number + 1 :]
        free = (place for place in _label_places(edge) if _is_free(place, view, taken, others))
        box = next(free, None)
        if box is None:
            continue
        taken.append(box)
        style: Any = {"ha": "center", "va": "center", "fontsize": 7.5, "color": TEXT, "zorder": 4}
        axes.text(
            box[0], box[1], _format_share(edge.probability), path_effects=halo(), gid="probability", **style
        )


def _label_places(edge: Edge) -> list[Floats]:
    """Places beside an arrow for its label, the best first."""
    half = (len(edge.outline) - 3) // 2
    left, right = edge.outline[:half], edge.outline[-half:][::-1]
    places = [edge.middle]
    for share in _LABEL_SHARES:
        number = round(share * (half - 1))
        aside = (left[number] - right[number]) / edge.width
        places.append(left[number] + aside * _LABEL_GAP)
    return places


def _arrow_path(edge: Edge) -> Any:
    return import_module("matplotlib.path").Path(edge.outline, closed=False)


def _is_free(place: Floats, view: Graph, taken: list[Floats], arrows: list[Any]) -> bool:
    """Whether a label at a place covers no other label, no group and no other arrow."""
    if any((np.abs(place - other) < 2.0 * _LABEL_EXTENT).all() for other in taken):
        return False
    if (np.linalg.norm(view.positions - place, axis=1) < view.radii + _LABEL_EXTENT[0]).any():
        return False
    box = import_module("matplotlib.transforms").Bbox([place - _INK_EXTENT, place + _INK_EXTENT])
    return not any(arrow.intersects_bbox(box, filled=True) for arrow in arrows)


def _format_share(share: float) -> str:
    """Format a share with two significant digits, at most one decimal.

    >>> [_format_share(share) for share in (0.1234, 0.0567, 0.00012, 0.99999)]
    ['12 %', '5.7 %', '<0.1 %', '>99.9 %']
    """
    percent = 100.0 * share
    if 0.0 < percent < 0.1:
        return "<0.1 %"
    if 99.9 < percent < 100.0 - 1e-9:
        return ">99.9 %"
    return f"{percent:.1f} %" if percent < 9.95 and round(percent) != percent else f"{percent:.0f} %"


def _write_names(axes: Axes, view: Graph, answer: Aggregation, colours: Sequence[str]) -> int:
    """Write names beside the groups, with their masses if they are few; return the length of the longest name."""
    k, longest = answer.n_states, 0
    masses = np.asarray(answer.state_weights @ answer.map.weights)
    named = np.argsort(-masses, kind="stable")[:MAX_NAMED]
    radial = k > _MAX_HORIZONTAL
    names = cut_all(answer.names, 14 if radial else 18)
    for group in np.sort(named).tolist():
        out = view.outwards[group]
        at = view.positions[group] + out * (view.radii[group] + _NAME_GAP)
        if radial:
            name, style = names[group], _radial(out)
            style["fontsize"] = _radial_size(k)
        else:
            name = f"{names[group]}\n{_format_share(float(masses[group]))}"
            style = {"fontsize": _SIZE, **_horizontal(out)}
        longest = max(longest, len(name))
        axes.text(at[0], at[1], name, color=colours[group], zorder=4, gid="name", **style, **plain())
    return longest


def _radial_size(n_groups: int) -> float:
    return max(4.5, min(8.5, 260.0 / n_groups))


def _horizontal(out: Any) -> dict[str, Any]:
    """Alignment of a name that grows outwards."""
    side = "left" if out[0] > 0.3 else "right" if out[0] < -0.3 else "center"
    return {"ha": side, "va": "bottom" if out[1] > 0.85 else "top" if out[1] < -0.85 else "center"}


def _radial(out: Any) -> dict[str, Any]:
    """Rotation of a name along the radius, never upside down."""
    angle = float(np.degrees(np.arctan2(out[1], out[0])))
    leftwards = abs(angle) > 90.0 + 1e-9
    style: Any = {"rotation_mode": "anchor", "va": "center", "ha": "right" if leftwards else "left"}
    return {"rotation": angle + 180.0 if leftwards else angle, **style}


def _explain(axes: Axes, view: Graph) -> None:
    words = "area: mass; arc: probability of staying"
    if view.edges:
        widest = _format_share(view.edges[-1].probability)
        words += f"; width of an arrow: probability, relative to the widest, {widest}"
    notes = [f"{format_count(view.n_left_out, 'less probable transition')} not drawn"] * bool(view.n_left_out)
    words += "\n" * bool(notes) + "".join(notes) + count_unnamed(len(view.radii), "; " if notes else "\n")
    # Below the names, in the layout of the figure.
    axes.set_title(words, y=-0.02, va="top", fontsize=7.5, color=FAILED)
