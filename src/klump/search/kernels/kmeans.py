"""Weighted k-means, deterministic: the random draws are arguments, and there is one thread."""

from __future__ import annotations

import numpy as np

from klump.compilation import kernel
from klump.search.kernels.tables import Floats, Shorts


@kernel
def seed_centres(
    points: Floats,  # in: (n, d)
    weight: Floats,  # in: (n,)
    draws: Floats,  # in: (k,) uniform in [0, 1)
    centres: Floats,  # out: (k, d)
    near: Floats,  # scratch: (n,) squared distance to the nearest centre so far
) -> None:
    """k-means++: draw each centre among the points with probability proportional to ``weight * near``."""
    n, d = points.shape
    near[:] = 1.0
    for c in range(centres.shape[0]):
        total = 0.0
        for i in range(n):
            total += weight[i] * near[i]
        left = draws[c] * total
        chosen = n - 1
        for i in range(n):
            left -= weight[i] * near[i]
            if left < 0.0:
                chosen = i
                break
        for j in range(d):
            centres[c, j] = points[chosen, j]
        for i in range(n):
            distance = 0.0
            for j in range(d):
                distance += (points[i, j] - centres[c, j]) ** 2
            near[i] = distance if c == 0 else min(near[i], distance)


@kernel
def weighted_kmeans(
    points: Floats,  # in: (n, d)
    weight: Floats,  # in: (n,)
    draws: Floats,  # in: (k,) uniform in [0, 1)
    rounds: int,  # in: iterations, at most
    labels: Shorts,  # out: (n,) groups may be empty
) -> float:
    """Lloyd's algorithm; returns the weighted sum of squared distances."""
    n, d = points.shape
    k = draws.size
    centres = np.zeros((k, d))
    sums = np.zeros((k, d))
    mass = np.zeros(k)
    near = np.zeros(n)
    seed_centres(points, weight, draws, centres, near)
    labels[:] = -1
    inertia = np.inf
    for _ in range(rounds):
        changed = 0
        inertia = 0.0
        sums[:] = 0.0
        mass[:] = 0.0
        for i in range(n):
            best, least = 0, np.inf
            for c in range(k):
                distance = 0.0
                for j in range(d):
                    distance += (points[i, j] - centres[c, j]) ** 2
                if distance < least:
                    best, least = c, distance
            changed += labels[i] != best
            labels[i] = best
            inertia += weight[i] * least
            mass[best] += weight[i]
            for j in range(d):
                sums[best, j] += weight[i] * points[i, j]
        if changed == 0:
            break
        for c in range(k):
            if mass[c] > 0.0:
                for j in range(d):
                    centres[c, j] = sums[c, j] / mass[c]
    return inertia
