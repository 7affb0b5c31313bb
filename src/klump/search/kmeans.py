"""Weighted k-means in NumPy, deterministic: the random draws are arguments."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from klump.search.method import Labels

Floats = NDArray[np.float64]


def seed_centres(points: Floats, weight: Floats, draws: Floats) -> Floats:
    """k-means++: each centre is a point, drawn with probability proportional to weight times squared distance.

    The distance is that to the nearest centre so far; ``draws`` are k numbers in [0, 1).
    """
    square = np.einsum("ij,ij->i", points, points)
    chosen: list[int] = []
    near = np.ones(len(points))
    for draw in draws:
        mass = np.cumsum(weight * near)
        centre = min(int(np.searchsorted(mass, draw * mass[-1], side="right")), mass.size - 1)
        # Rounding errors may make a difference negative.
        distance = np.maximum(square - 2.0 * (points @ points[centre]) + square[centre], 0.0)
        near = np.minimum(near, distance) if chosen else distance
        chosen.append(centre)
    return points[chosen]


def weighted_kmeans(
    points: Floats, weight: Floats, draws: Floats, max_iterations: int
) -> tuple[Labels, float]:
    """Lloyd's algorithm from ``seed_centres``: labels and the weighted sum of squared distances to the centres.

    Groups may be empty.
    """
    centres = seed_centres(points, weight, draws)
    labels = _nearest(points, centres)
    for _ in range(max_iterations - 1):
        members = np.zeros((len(centres), len(points)))
        members[labels, np.arange(len(points))] = weight
        mass = members.sum(axis=1)
        centres[mass > 0.0] = (members @ points)[mass > 0.0] / mass[mass > 0.0, None]
        before, labels = labels, _nearest(points, centres)
        if np.array_equal(labels, before):
            break
    return labels, float(weight @ ((points - centres[labels]) ** 2).sum(axis=1))


def _nearest(points: Floats, centres: Floats) -> Labels:
    """Nearest centre c of each point x, by |c|^2 - 2 x c; the lowest number in a tie."""
    distance = (centres**2).sum(axis=1) - 2.0 * (points @ centres.T)
    return np.argmin(distance, axis=1).astype(np.int32)
