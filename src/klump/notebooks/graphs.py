"""Small pictures of aggregated chains: groups on a circle, arrows between them, names beside them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from klump.chain.wording import cell_len, fit, format_count
from klump.notebooks.markup import element, text
from klump.views import Graph, colour_of, graph

if TYPE_CHECKING:
    from klump.aggregation import Aggregation

# Units per pixel: coordinates are integers.
_UNITS = 10
# Radius of the circle, in pixels.
_RADIUS = 78
# Most groups that are drawn, and most that have names; the others have numbers.
MAX_GROUPS = 24
_MAX_NAMED = 10
# Largest distance between an arrow's outline and what is drawn, in units: 0.3 pixels.
_TOLERANCE = 3.0
# Most arrows: of more, the most probable are drawn.
_ARROWS_PER_GROUP = 3
_MAX_ARROWS = 40
# Longest name, in columns, and width of a column and height of a line in pixels.
_NAME_WIDTH = 14
_COLUMN = 6.4
_LINE = 12
# Smallest circle with a number in it, as radius in pixels.
_NUMBERED = 8
# Distance between a circle and its ring, and of a name from the ring, in pixels.
_RING = 2
_GAP = 5


def graph_picture(answer: Aggregation) -> str:
    """Picture of the aggregated chain; empty if there are too many groups."""
    if answer.n_states > MAX_GROUPS:
        return ""
    view = graph(answer)
    edges = view.edges[-min(_ARROWS_PER_GROUP * answer.n_states, _MAX_ARROWS) :]
    left_out = view.n_left_out + len(view.edges) - len(edges)
    words = (
        f"Aggregated chain with {format_count(answer.n_states, 'group')}: area is mass, width of arrows is "
        "probability, rings are probabilities of staying"
    )
    if left_out:
        words += f"; {format_count(left_out, 'improbable transition')} not drawn"
    arrows = (
        element(
            "path",
            element("title", f"{edge.source} to {edge.target}: {edge.probability:.3g}"),
            d=_outline(edge.outline),
        )
        for edge in edges
    )
    labels, box = _labels(view, answer.names)
    nodes = (_node(view, group, colour_of(answer.identities[group])) for group in range(answer.n_states))
    content = [
        element("title", text(words, 200)),
        element("g", "".join(arrows), style="fill:currentColor;opacity:.45"),
        *nodes,
        element("g", "".join(labels), style=f"fill:currentColor;font-size:{11 * _UNITS}px"),
    ]
    left, top, width, height = box
    return element(
        "svg",
        "".join(content),
        width=round(width / _UNITS),
        height=round(height / _UNITS),
        viewBox=f"{left} {top} {width} {height}",
        role="img",
        aria_label=words,
        style="display:block;max-width:100%",
    )


def _place(point: NDArray[np.float64]) -> tuple[float, float]:
    """Coordinates of a point of a view: y downwards, in units."""
    scale = _RADIUS * _UNITS
    return float(point[0]) * scale, -float(point[1]) * scale


def _outline(corners: NDArray[np.float64]) -> str:
    """Path through corners, in whole units and relative steps."""
    scale = _RADIUS * _UNITS
    whole = np.rint(_simplify(corners * [scale, -scale])).astype(np.int64)
    steps = np.diff(whole, axis=0)
    moves = (f"l{x}{' ' * (y >= 0)}{y}" for x, y in steps[np.any(steps != 0, axis=1)].tolist())
    return f"M{whole[0, 0]} {whole[0, 1]}{''.join(moves)}z"


def _simplify(corners: NDArray[np.float64]) -> NDArray[np.float64]:
    """Drop corners that are within the tolerance of the line between those kept: Ramer, Douglas and Peucker."""
    first, last = corners[0], corners[-1]
    length = max(float(np.hypot(*(last - first))), 1.0)
    along, away = last - first, corners - first
    distances = np.abs(along[0] * away[:, 1] - along[1] * away[:, 0]) / length
    far = int(np.argmax(distances))
    if distances[far] <= _TOLERANCE:
        return corners[[0, -1]]
    return np.concatenate([_simplify(corners[: far + 1])[:-1], _simplify(corners[far:])])


def _radius(view: Graph, group: int) -> float:
    return float(view.radii[group]) * _RADIUS * _UNITS


def _node(view: Graph, group: int, colour: str) -> str:
    """Circle of a group with its number, and a ring whose length is the probability of staying."""
    (x, y), radius = _place(view.positions[group]), _radius(view, group)
    share = min(max(float(view.staying[group]), 0.0), 1.0)
    parts = [
        element(
            "circle",
            cx=f"{x:.0f}",
            cy=f"{y:.0f}",
            r=f"{radius:.0f}",
            fill=colour,
            stroke="currentColor",
            stroke_opacity=".5",
            stroke_width=0.7 * _UNITS,
        ),
        element(
            "circle",
            cx=f"{x:.0f}",
            cy=f"{y:.0f}",
            r=f"{radius + _RING * _UNITS:.0f}",
            fill="none",
            stroke="currentColor",
            stroke_opacity=".6",
            stroke_width=1.4 * _UNITS,
            pathLength=100,
            stroke_dasharray=f"{100 * share:.3g} 200",
            transform=f"rotate(-90 {x:.0f} {y:.0f})",
        ),
    ]
    if radius >= _NUMBERED * _UNITS:
        style = f"fill:#fff;font-size:{10 * _UNITS}px;font-weight:600;text-anchor:middle"
        parts.append(element("text", str(group), x=f"{x:.0f}", y=f"{y + 3.6 * _UNITS:.0f}", style=style))
    return "".join(parts)


def _labels(view: Graph, names: tuple[str, ...]) -> tuple[list[str], tuple[int, int, int, int]]:
    """Texts beside the groups, and the box around groups, arrows and texts: left, top, width and height."""
    named = len(names) <= _MAX_NAMED
    margin = 2 * _UNITS
    corners = [np.rint(edge.outline * [_RADIUS * _UNITS, -_RADIUS * _UNITS]) for edge in view.edges]
    boxes = [(*corner.min(axis=0), *corner.max(axis=0)) for corner in corners]
    labels = []
    for group, name in enumerate(names):
        shown = fit(name, _NAME_WIDTH) if named else str(group)
        outwards, radius = view.outwards[group], _radius(view, group) + (_RING + _GAP) * _UNITS
        centre = _place(view.positions[group])
        boxes.append((centre[0] - radius, centre[1] - radius, centre[0] + radius, centre[1] + radius))
        x = centre[0] + float(outwards[0]) * radius
        y = centre[1] - float(outwards[1]) * (radius + _LINE * _UNITS / 2)
        width, half = cell_len(shown) * _COLUMN * _UNITS, _LINE * _UNITS / 2
        anchor, shift = ("middle", 0.5) if abs(outwards[0]) < 0.25 else ("start", 0.0)
        if outwards[0] <= -0.25:
            anchor, shift = "end", 1.0
        boxes.append((x - shift * width, y - half, x + (1.0 - shift) * width, y + half))
        base = f"{y + 3.8 * _UNITS:.0f}"
        if named or radius < (_NUMBERED + _RING + _GAP) * _UNITS:
            labels.append(element("text", text(shown), x=f"{x:.0f}", y=base, style=f"text-anchor:{anchor}"))
    low, high = np.min([b[:2] for b in boxes], axis=0), np.max([b[2:] for b in boxes], axis=0)
    left, top = (int(value) - margin for value in low)
    return labels, (left, top, int(high[0]) + margin - left, int(high[1]) + margin - top)
