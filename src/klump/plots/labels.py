"""Label placement: text beside dots, clear of other dots, labels and lines."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from klump.plots.figure import FAILED, TEXT

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Floats = NDArray[np.float64]

# All lengths are in points (1/72 inch).
# Font size of labels.
_FONT_SIZE = 8.5
# Dots at a smaller Chebyshev distance overlap, and share a label.
_OVERLAP_DISTANCE = 3.0
# Half-width and half-height of a dot with its margin.
_DOT_EXTENT = np.array([5.0, 5.0])
# Mean width of a character, estimated from the font size.
_CHARACTER_WIDTH = 0.6 * _FONT_SIZE
# Height of a line of text, estimated from the font size.
_LINE_HEIGHT = 1.15 * _FONT_SIZE
# Candidate positions of a label in order of preference: all angles at the first distance, then at the next.
_DISTANCES = (12.0, 20.0, 30.0, 42.0, 56.0)
# In radians, counterclockwise from the right.
_ANGLES = np.deg2rad([45, 0, 90, 315, 135, 180, 270, 225, 22, 67, 112, 157, 202, 247, 292, 337])
# Labels farther from their dot get a leader line.
_LEADER_DISTANCE = 12.0
# Penalties of a candidate position, in the order of how much they hurt.
_OUTSIDE_PENALTY = 10.0
# Per dot or label that the label covers.
_COVER_PENALTY = 2.0
# Per dot or label that the leader line crosses.
_CROSS_PENALTY = 1.0
# For a label on a line.
_LINE_PENALTY = 0.5


def write(
    axes: Axes,
    point: Any,
    words: str,
    offset: Any = (9, 0),
    *,
    colour: str = TEXT,
    size: float = _FONT_SIZE,
    **style: Any,
) -> None:
    """Write text at an offset from a point, with a white outline that keeps it legible on lines."""
    style = {"textcoords": "offset points", "va": "center", "zorder": 4, **style}
    axes.annotate(words, point, offset, color=colour, fontsize=size, path_effects=halo(), **style)


def leader(colour: str, side: str) -> dict[str, Any]:
    """Arrow properties of a line from the edge of a text that is aligned to a side: it crosses no other text."""
    edge = (1.0 if side == "right" else 0.0, 0.5)
    return {
        "arrowstyle": "-",
        "color": colour,
        "linewidth": 0.6,
        "shrinkA": 0.5,
        "shrinkB": 0.0,
        "relpos": edge,
    }


def halo() -> list[Any]:
    """Path effects: a white outline that keeps text legible on lines."""
    return [import_module("matplotlib.patheffects").withStroke(linewidth=2.5, foreground="white")]


def spread(wanted: Floats, least: float, ends: tuple[float, float] = (-np.inf, np.inf)) -> Floats:
    """Places as near as possible to those wanted, in ascending order, each at least a distance from the one before.

    The sum of squared moves is the least, and no place is beyond the ends; the order of ``wanted`` must be ascending.

    >>> spread(np.array([0.0, 0.1, 5.0]), 1.0)
    array([-0.45,  0.55,  5.  ])
    >>> spread(np.array([0.0, 0.1, 5.0]), 1.0, (0.0, 4.0))
    array([0., 1., 4.])
    """
    # Isotonic regression of the places less their least distances: adjacent violators are pooled.
    shifted = np.asarray(wanted) - least * np.arange(len(wanted))
    pools: list[tuple[float, int]] = []
    for value in shifted.tolist():
        mean, count = value, 1
        while pools and pools[-1][0] > mean:
            before, size = pools.pop()
            mean, count = (before * size + mean * count) / (size + count), size + count
        pools.append((mean, count))
    means = np.repeat([mean for mean, _ in pools], [count for _, count in pools])
    return np.clip(means, ends[0], ends[1] - least * (len(means) - 1)) + least * np.arange(len(means))


def write_beside_dots(axes: Axes, points: Floats, words: Sequence[str], colours: Sequence[str]) -> None:
    """Write a label beside each dot, with a leader line where the label is not adjacent to its dot.

    Overlapping dots share a label. The layout of the figure must be computed before the call.
    """
    to_points = 72.0 / axes.figure.dpi
    places = axes.transData.transform(points) * to_points
    obstacles = _Obstacles(places, _sample_lines(axes) * to_points, axes.bbox.get_points() * to_points, [])
    for members in _group_overlapping(places):
        label = ", ".join(words[member] for member in members)
        half = np.array([len(label) * _CHARACTER_WIDTH, _LINE_HEIGHT]) / 2.0
        offset, distance = _best_offset(places[members[0]], half, obstacles)
        obstacles.labels.append((places[members[0]] + offset, half))
        leader: Any = {"arrowstyle": "-", "color": FAILED, "linewidth": 0.7, "shrinkA": 1.0, "shrinkB": 3.0}
        style: Any = {"ha": "center", "arrowprops": leader if distance > _LEADER_DISTANCE else None}
        shared = {colours[member] for member in members}
        colour = shared.pop() if len(shared) == 1 else TEXT
        write(axes, points[members[0]], label, tuple(offset), colour=colour, **style)


def _group_overlapping(places: Floats) -> list[list[int]]:
    """Group overlapping dots."""
    groups: list[list[int]] = []
    for dot, place in enumerate(places):
        near = (group for group in groups if np.abs(places[group[0]] - place).max() < _OVERLAP_DISTANCE)
        group = next(near, None)
        if group is None:
            groups.append([dot])
        else:
            group.append(dot)
    return groups


class _Obstacles(NamedTuple):
    """Areas that a label should not cover; ``room`` is the bounding box that it should not leave."""

    dots: Floats
    lines: Floats
    room: Floats
    labels: list[tuple[Floats, Floats]]


def _sample_lines(axes: Axes) -> Floats:
    """Sample 200 points on each segment of the lines of the axes that are drawn, in pixels."""
    share = np.linspace(0.0, 1.0, 200)[:, None]
    drawn = [line for line in axes.lines if line.get_linestyle() != "None"]
    lines = [line.get_transform().transform(np.asarray(line.get_xydata())) for line in drawn]
    samples = [first + share * (last - first) for line in lines for first, last in pairwise(line)]
    return np.concatenate([np.empty((0, 2)), *samples])


def _best_offset(place: Floats, half: Floats, obstacles: _Obstacles) -> tuple[Floats, float]:
    """Return the first candidate offset without a penalty, else the one with the smallest, and its distance."""
    best, least = (np.zeros(2), 0.0), np.inf
    for distance in _DISTANCES:
        for angle in _ANGLES:
            direction = np.round([np.cos(angle), np.sin(angle)], 6)
            # The near edge of a label, not its centre, is at the distance.
            offset = direction * distance + [np.sign(direction[0]) * (half[0] - _CHARACTER_WIDTH / 2.0), 0.0]
            penalty = _penalty(place, offset, half, obstacles)
            if penalty < least:
                best, least = (offset, distance), penalty
            if least == 0.0:
                return best
    return best


def _penalty(place: Floats, offset: Floats, half: Floats, obstacles: _Obstacles) -> float:
    """Penalty of a label at an offset from its dot."""
    centre = place + offset
    outside = ((centre - half < obstacles.room[0]) | (centre + half > obstacles.room[1])).any()
    covered = (np.abs(obstacles.dots - centre) < half + _DOT_EXTENT).all(axis=1).sum()
    covered += sum((np.abs(other - centre) < half + size).all() for other, size in obstacles.labels)
    struck = (np.abs(obstacles.lines - centre) < half).all(axis=1).any()
    leader = np.linspace(0.0, 1.0, 12)[1:, None] * offset + place
    others = obstacles.dots[np.abs(obstacles.dots - place).max(axis=1) >= _OVERLAP_DISTANCE]
    crossed = sum((np.abs(leader - dot) < _DOT_EXTENT / 2.0).all(axis=1).any() for dot in others)
    crossed += sum((np.abs(leader - other) < size).all(axis=1).any() for other, size in obstacles.labels)
    return float(
        _OUTSIDE_PENALTY * outside
        + _COVER_PENALTY * covered
        + _CROSS_PENALTY * crossed
        + _LINE_PENALTY * struck
    )
