"""Words beside dots, placed so that each dot can be told from its neighbours."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from klump.plots.figure import FAILED, TEXT

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Floats = NDArray[np.float64]

_SIZE = 8.5
# All lengths are in points. Dots nearer than this look like one, and share a label.
_SAME = 3.0
_DOT = np.array([5.0, 5.0])
_CHARACTER, _LINE = 0.6 * _SIZE, 1.15 * _SIZE
# Where a label may be, best places first: around the dot, and farther away only if there is no room.
_DISTANCES = (12.0, 20.0, 30.0, 42.0, 56.0)
_ANGLES = np.deg2rad([45, 0, 90, 315, 135, 180, 270, 225, 22, 67, 112, 157, 202, 247, 292, 337])
# A label as near as this needs no line to its dot.
_NEAR = 12.0


def write(
    axes: Axes,
    point: Any,
    words: str,
    offset: Any = (9, 0),
    *,
    colour: str = TEXT,
    size: float = _SIZE,
    **style: Any,
) -> None:
    """Write beside a point, and legibly on top of lines."""
    halo = import_module("matplotlib.patheffects").withStroke(linewidth=2.5, foreground="white")
    style = {"textcoords": "offset points", "va": "center", "zorder": 4, **style}
    axes.annotate(words, point, offset, color=colour, fontsize=size, path_effects=[halo], **style)


def write_beside_dots(axes: Axes, points: Floats, words: Sequence[str], colours: Sequence[str]) -> None:
    """Write a label beside each dot, with a line to it where there is no room at once.

    Dots that lie on top of each other share a label. The figure must have its layout already.
    """
    figure = axes.get_figure(root=True)
    assert figure is not None
    to_points = 72.0 / figure.dpi
    places = axes.transData.transform(points) * to_points
    taken = _Taken(places, _along_lines(axes) * to_points, axes.bbox.get_points() * to_points, [])
    for members in _together(places):
        label = ", ".join(words[member] for member in members)
        half = np.array([len(label) * _CHARACTER, _LINE]) / 2.0
        offset, distance = _best_offset(places[members[0]], half, taken)
        taken.labels.append((places[members[0]] + offset, half))
        line: Any = {"arrowstyle": "-", "color": FAILED, "linewidth": 0.7, "shrinkA": 1.0, "shrinkB": 3.0}
        style: Any = {"ha": "center", "arrowprops": line if distance > _NEAR else None}
        shared = {colours[member] for member in members}
        colour = shared.pop() if len(shared) == 1 else TEXT
        write(axes, points[members[0]], label, tuple(offset), colour=colour, **style)


def _together(places: Floats) -> list[list[int]]:
    """Dots that cannot be told apart."""
    groups: list[list[int]] = []
    for dot, place in enumerate(places):
        near = (group for group in groups if np.abs(places[group[0]] - place).max() < _SAME)
        group = next(near, None)
        if group is None:
            groups.append([dot])
        else:
            group.append(dot)
    return groups


class _Taken(NamedTuple):
    """What a label must not cover."""

    dots: Floats
    lines: Floats
    room: Floats
    labels: list[tuple[Floats, Floats]]


def _along_lines(axes: Axes) -> Floats:
    """Many places on each of the lines that cross the picture."""
    share = np.linspace(0.0, 1.0, 200)[:, None]
    ends = [
        line.get_transform().transform(np.asarray(line.get_xydata()))
        for line in axes.lines
        if len(np.asarray(line.get_xydata())) == 2
    ]
    return np.concatenate([np.empty((0, 2)), *(first + share * (last - first) for first, last in ends)])


def _best_offset(place: Floats, half: Floats, taken: _Taken) -> tuple[Floats, float]:
    """Find the first place where a label disturbs nothing; without one, where it disturbs least."""
    best, least = (np.zeros(2), 0.0), np.inf
    for distance in _DISTANCES:
        for angle in _ANGLES:
            direction = np.round([np.cos(angle), np.sin(angle)], 6)
            # Longer labels begin as near to their dot as short ones.
            offset = direction * distance + [np.sign(direction[0]) * (half[0] - _CHARACTER / 2.0), 0.0]
            disturbed = _disturbed(place, offset, half, taken)
            if disturbed < least:
                best, least = (offset, distance), disturbed
            if least == 0.0:
                return best
    return best


def _disturbed(place: Floats, offset: Floats, half: Floats, taken: _Taken) -> float:
    """How much a label would cover, or its line cross; leaving the picture is worst."""
    centre = place + offset
    outside = ((centre - half < taken.room[0]) | (centre + half > taken.room[1])).any()
    covered = (np.abs(taken.dots - centre) < half + _DOT).all(axis=1).sum()
    covered += sum((np.abs(other - centre) < half + size).all() for other, size in taken.labels)
    struck = (np.abs(taken.lines - centre) < half).all(axis=1).any()
    way = np.linspace(0.0, 1.0, 12)[1:, None] * offset + place
    others = taken.dots[np.abs(taken.dots - place).max(axis=1) >= _SAME]
    crossed = sum((np.abs(way - dot) < _DOT / 2.0).all(axis=1).any() for dot in others)
    crossed += sum((np.abs(way - other) < size).all(axis=1).any() for other, size in taken.labels)
    return float(10.0 * outside + 2.0 * covered + crossed + 0.5 * struck)
