"""The aggregated chain as a graph: positions of the groups, and arrows between them.

Groups stand on the unit circle, x to the right and y upwards. The area of a group is proportional to its mass, the
width of an arrow to its probability. Staying has no arrow: :attr:`Graph.staying` may be drawn as a ring around a group.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from klump.aggregation import Aggregation

Floats = NDArray[np.float64]

# All lengths are in radii of the circle on which the groups stand.
# Radius of the heaviest group, if the groups are not too many for it.
_MAX_RADIUS = 0.26
# Radius of the heaviest group, as a share of the distance between neighbours on the circle.
_SHARE_OF_DISTANCE = 0.3
# Smallest radius, so that a group of tiny mass is still visible.
_MIN_RADIUS = 0.022
# Width of the widest arrow.
_MAX_WIDTH = 0.085
# Width of the widest arrow, as a share of the distance between neighbours on the circle.
_WIDTH_SHARE_OF_DISTANCE = 0.35
# Narrowest arrow, so that every arrow that is drawn is visible.
_MIN_WIDTH = 0.004
# Distance between an arrow and the groups that it links.
_GAP = 0.035
# The same, as a share of the distance between the edges of the two groups.
_GAP_SHARE = 0.2
# Distances of an arrow from the straight line to the left, as shares of its length, in order of preference: opposite
# arrows do not overlap. The first that keeps clear of other groups is taken.
_BENDS = (0.16, -0.05, 0.3, -0.3, 0.08, -0.4, 0.45, -0.55)
# Distance between an arrow and the groups that it does not link.
_CLEARANCE = 0.012
# Largest distance of an arrow from the centre: outside are the names of the groups.
_MAX_REACH = 1.06
# Points along an arrow.
_POINTS = 48
# Arrows below this share of the most probable one are left out.
_LEAST_SHARE = 0.02
# Largest number of arrows per group and of all arrows, at least one per group: of more, the most probable are kept.
_ARROWS_PER_GROUP = 6
_MAX_ARROWS = 84
# Largest number of groups whose order on the circle is improved by exchanges.
_MAX_EXCHANGED = 40


@dataclass(frozen=True, eq=False)
class Edge:
    """An arrow between two groups."""

    source: int
    target: int
    probability: float
    """Transition probability in the aggregated chain."""
    width: float
    outline: Floats
    """Corners of the arrow, a polygon, as rows (x, y)."""
    middle: Floats
    """Point beside the middle of the arrow, for a label."""


@dataclass(frozen=True, eq=False)
class Graph:
    """Positions of the groups and arrows between them."""

    positions: Floats
    """Centres of the groups as rows (x, y)."""
    radii: Floats
    """Radii of the groups: proportional to the square root of the mass, with a smallest radius that is visible."""
    outwards: Floats
    """Unit vectors from the centre of the circle, for labels beside the groups, as rows (x, y)."""
    staying: Floats
    """Probability of staying in each group."""
    edges: tuple[Edge, ...]
    """Arrows between different groups, from the least to the most probable."""
    n_left_out: int
    """Transitions of positive probability between different groups without an arrow."""


def graph(answer: Aggregation, order: Sequence[int] | None = None) -> Graph:
    """Place the groups of an answer on a circle, and outline the arrows of its aggregated chain.

    Parameters
    ----------
    answer
        Answer to draw.
    order
        Groups in clockwise order from the top; if left out, groups with large flows between them are neighbours.

    Examples
    --------
    >>> from klump import Aggregation
    >>> view = graph(Aggregation.from_labels([[0.5, 0.4, 0.1], [0.4, 0.5, 0.1], [0.1, 0.1, 0.8]], [0, 0, 1]))
    >>> view.positions.round(12).tolist(), [(edge.source, edge.target) for edge in view.edges]
    ([[-1.0, 0.0], [1.0, 0.0]], [(0, 1), (1, 0)])
    """
    matrix: Any = answer.chain.transition_matrix
    matrix = matrix.toarray() if answer.chain.is_sparse else np.asarray(matrix)
    masses = np.asarray(answer.state_weights @ answer.map.weights)
    places = np.empty(len(masses), dtype=np.intp)
    places[np.asarray(_arrange(masses[:, None] * matrix) if order is None else order)] = np.arange(
        len(masses)
    )
    outwards = _directions(len(masses))[places]
    positions = outwards if len(masses) > 1 else np.zeros((1, 2))
    radii = _radii(masses)
    kept, n_left_out = _choose_edges(matrix)
    widest = max((matrix[pair] for pair in kept), default=1.0)
    edges = tuple(_edge(pair, float(matrix[pair]), widest, positions, radii) for pair in kept)
    return Graph(positions, radii, outwards, np.diagonal(matrix).copy(), edges, n_left_out)


def _directions(k: int) -> Floats:
    """Directions of k places: clockwise from the top, but two are side by side."""
    start = np.pi if k == 2 else np.pi / 2.0
    angles = start - 2.0 * np.pi * np.arange(k) / k
    return np.column_stack([np.cos(angles), np.sin(angles)])


def _radii(masses: Floats) -> Floats:
    most = _SHARE_OF_DISTANCE * _distance(len(masses))
    largest, smallest = min(_MAX_RADIUS, most), min(_MIN_RADIUS, most)
    return np.maximum(largest * np.sqrt(masses / masses.max()), smallest)


def _distance(k: int) -> float:
    """Distance between neighbours on the circle."""
    return 2.0 * float(np.sin(np.pi / k)) if k > 1 else 2.0


def _arrange(flow: Floats) -> list[int]:
    """Order groups on the circle: exchange pairs while that lowers the sum of flow times distance along the circle."""
    k = len(flow)
    order = list(range(k))
    if not 3 < k <= _MAX_EXCHANGED:
        return order
    between = flow + flow.T
    np.fill_diagonal(between, 0.0)
    steps = np.abs(np.subtract.outer(np.arange(k), np.arange(k)))
    distance = np.minimum(steps, k - steps)

    def length(candidate: list[int]) -> float:
        return float((between[np.ix_(candidate, candidate)] * distance).sum())

    best, improved = length(order), True
    while improved:
        improved = False
        for first in range(k - 1):
            for second in range(first + 1, k):
                candidate = order.copy()
                candidate[first], candidate[second] = candidate[second], candidate[first]
                if (found := length(candidate)) < best * (1.0 - 1e-9):
                    order, best, improved = candidate, found, True
    # Group 0 at the top: the same order whatever exchange came first.
    start = order.index(0)
    return order[start:] + order[:start]


def _choose_edges(matrix: Floats) -> tuple[list[tuple[int, int]], int]:
    """Pairs of different groups with an arrow, from the least to the most probable, and the number left out."""
    between = np.array(matrix)
    np.fill_diagonal(between, 0.0)
    present = int(np.count_nonzero(between > 0.0))
    source, target = np.nonzero(between > _LEAST_SHARE * between.max(initial=0.0))
    most = min(_ARROWS_PER_GROUP * len(matrix), max(_MAX_ARROWS, len(matrix)))
    order = np.argsort(between[source, target], kind="stable")[-most:]
    pairs = list(zip(source[order].tolist(), target[order].tolist(), strict=True))
    return pairs, present - len(pairs)


def _edge(pair: tuple[int, int], probability: float, widest: float, positions: Floats, radii: Floats) -> Edge:
    source, target = pair
    largest = min(_MAX_WIDTH, _WIDTH_SHARE_OF_DISTANCE * _distance(len(radii)))
    width = max(largest * probability / widest, _MIN_WIDTH)
    curve = _clear_curve(pair, width, positions, radii)
    free = float(np.linalg.norm(positions[target] - positions[source]) - radii[source] - radii[target])
    gap = min(_GAP, _GAP_SHARE * free)
    away = np.linalg.norm(curve - positions[source], axis=1) >= radii[source] + gap
    before = np.linalg.norm(curve - positions[target], axis=1) >= radii[target] + gap
    curve = curve[away & before]
    middle = curve[len(curve) // 2]
    left = _normals(curve)[len(curve) // 2]
    return Edge(
        source, target, probability, width, _outline(curve, width), middle + left * (width / 2.0 + 0.05)
    )


def _clear_curve(pair: tuple[int, int], width: float, positions: Floats, radii: Floats) -> Floats:
    """Curve between two groups that keeps clear of other groups and of names, or else the one that is farthest."""
    others = np.delete(np.arange(len(radii)), pair)
    best, most = _curve(positions[pair[0]], positions[pair[1]], _BENDS[0]), -np.inf
    for bend in _BENDS:
        curve = _curve(positions[pair[0]], positions[pair[1]], bend)
        # Every fourth point is enough to see a group.
        distances = np.linalg.norm(curve[::4, None] - positions[others], axis=2) - radii[others]
        room = float(distances.min(initial=np.inf)) - width / 2.0
        room = min(room, _MAX_REACH - float(np.linalg.norm(curve, axis=1).max()) + _CLEARANCE)
        if room >= _CLEARANCE:
            return curve
        if room > most:
            best, most = curve, room
    return best


def _curve(start: Floats, end: Floats, bend: float) -> Floats:
    """Quadratic Bezier curve that bends to the left of its direction."""
    along = end - start
    control = (start + end) / 2.0 + 2.0 * bend * np.array([-along[1], along[0]])
    t = np.linspace(0.0, 1.0, 4 * _POINTS)[:, None]
    return (1.0 - t) ** 2 * start + 2.0 * t * (1.0 - t) * control + t**2 * end


def _normals(curve: Floats) -> Floats:
    """Unit vectors to the left of a curve."""
    along = np.gradient(curve, axis=0)
    along /= np.linalg.norm(along, axis=1, keepdims=True)
    return np.column_stack([-along[:, 1], along[:, 0]])


def _outline(curve: Floats, width: float) -> Floats:
    """Polygon of an arrow along a curve, with a head at its end."""
    travelled = np.concatenate(([0.0], np.cumsum(np.linalg.norm(np.diff(curve, axis=0), axis=1))))
    head_length = min(0.06 + width, 0.5 * travelled[-1])
    head_width = min(0.045 + 1.6 * width, 1.6 * head_length + width)
    base = int(np.searchsorted(travelled, travelled[-1] - head_length))
    normals = _normals(curve)
    shaft = np.unique(np.linspace(0, base, _POINTS // 2).astype(np.intp))
    left, right = (curve[shaft] + side * normals[shaft] * width / 2.0 for side in (1.0, -1.0))
    wings = [curve[base] + side * normals[base] * head_width / 2.0 for side in (1.0, -1.0)]
    return np.concatenate([left, [wings[0], curve[-1], wings[1]], right[::-1]])
