"""The paper's clouds and circles, and random walks on them with two definitions of the scale sigma_k."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from klump.chain import MarkovChain
from klump.experiments.trials import Settings
from klump.sources.points import similarities

# Number of clouds, and of circles.
N_GROUPS = 3
# Points per group.
SIZES = {"clouds": (40, 20, 40), "circles": (40, 40, 40)}

Array = NDArray[np.float64]
Labels = NDArray[np.intp]
Reading = Literal["self counts", "others only"]
# The paper sets k to 15 or to the number of points. The latter is possible only if a point is its own neighbour.
PUBLISHED: Reading = "self counts"
ALTERNATIVE: Reading = "others only"


def draw_points(data_set: str, seed: int) -> tuple[Array, Labels]:
    """Draw the points of one of the paper's data sets; return coordinates and true groups.

    Examples
    --------
    >>> points, truth = draw_points("clouds", 0)
    >>> points.shape, np.bincount(truth)
    ((100, 2), array([40, 20, 40]))
    """
    rng = np.random.default_rng(seed)
    truth = np.repeat(np.arange(N_GROUPS), SIZES[data_set])
    if data_set == "clouds":
        centres = np.array([[-10.0, 0.0], [0.0, 0.0], [10.0, 0.0]])[truth]
        return centres + np.array([2.5, 0.5, 1.5])[truth, None] * rng.normal(size=centres.shape), truth
    angles = rng.uniform(0.0, 2.0 * np.pi, len(truth))
    circles = np.array([0.1, 7.0, 15.0])[truth, None] * np.column_stack([np.cos(angles), np.sin(angles)])
    return circles + rng.normal(scale=0.3, size=circles.shape), truth


def points_seed(settings: Settings, data_set: str, draw: int) -> int:
    """Return the seed of the points of one draw."""
    return settings.seed_of(list(SIZES).index(data_set), draw, 0)


def chain_of(points: Array, k: int, reading: Reading = PUBLISHED) -> MarkovChain:
    """Return the random walk with P[i, j] proportional to exp(-d[i, j]**2 / sigma_k), d the Euclidean distance.

    sigma_k is the mean over all points of the squared distance to their k nearest neighbours. Let S(i, m) be the sum
    of d[i, j]**2 over the m points j other than i that are nearest to i.

    * ``"self counts"``: a point is its own nearest neighbour, sigma_k = mean over i of S(i, k - 1) / k. k is at most
      the number of points.
    * ``"others only"``: sigma_k = mean over i of S(i, k) / k, as in :meth:`MarkovChain.from_points`. k is at most the
      number of points less 1; from_points reduces a larger k to that.

    Examples
    --------
    >>> points = np.array([[0.0], [1.0], [3.0]])
    >>> chains = (chain_of(points, 2, reading) for reading in (PUBLISHED, ALTERNATIVE))
    >>> [round(float(chain.transition_matrix[0, 1]), 4) for chain in chains]
    [0.2689, 0.4134]
    """
    if reading == "others only":
        return MarkovChain.from_points(points, n_neighbors=k)
    # sigma = mean of S(i, k - 1) / k = (k - 1) / k * sigma_others(k - 1), and exp(-d**2 / sigma) is a power of it.
    return MarkovChain.from_counts(similarities(points, k - 1) ** (k / (k - 1)))
