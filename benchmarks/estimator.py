"""Clusters of points beside k-means and spectral clustering: adjusted Rand index on scikit-learn's data sets."""

from __future__ import annotations

import time
import warnings

import numpy as np
from sklearn import datasets
from sklearn.cluster import KMeans, SpectralClustering
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import StandardScaler

import klump

N_POINTS = 500
SEEDS = tuple(range(5))
CONTESTANTS = {
    "k-means": lambda k, seed: KMeans(k, n_init=10, random_state=seed),
    "spectral, rbf": lambda k, seed: SpectralClustering(k, random_state=seed),
    "spectral, neighbors": lambda k, seed: SpectralClustering(
        k, affinity="nearest_neighbors", random_state=seed
    ),
    "klump, rbf": lambda k, seed: klump.MarkovAggregation(k, random_state=seed),
    "klump, neighbors": lambda k, seed: klump.MarkovAggregation(
        k, affinity="nearest_neighbors", random_state=seed
    ),
}
HEADER = ("points", "k", *CONTESTANTS)
# Skews a cloud of points, as in scikit-learn's comparison of clusterers.
SKEW = np.array([[0.6, -0.6], [-0.4, 0.8]])


def blobs(seed: int, n: int):
    return (*datasets.make_blobs(n, random_state=seed), 3)


def varied(seed: int, n: int):
    return (*datasets.make_blobs(n, cluster_std=[1.0, 2.5, 0.5], random_state=170 + seed), 3)


def anisotropic(seed: int, n: int):
    points, truth = datasets.make_blobs(n, random_state=170 + seed)
    return points @ SKEW, truth, 3


def moons(seed: int, n: int):
    return (*datasets.make_moons(n, noise=0.05, random_state=seed), 2)


def circles(seed: int, n: int):
    return (*datasets.make_circles(n, factor=0.5, noise=0.05, random_state=seed), 2)


def no_structure(seed: int, n: int):
    """Uniform points; there is no truth."""
    return np.random.default_rng(seed).random((n, 2)), None, 3


def iris(seed: int, n: int):
    return (*datasets.load_iris(return_X_y=True), 3)


def digits(seed: int, n: int):
    """Images with grey values from 0 to 1: with 0 to 16 all similarities of spectral clustering would be 0."""
    points, truth = datasets.load_digits(return_X_y=True)
    return points / 16.0, truth, 10


# Points that are drawn, and divided by the standard deviations of their features; and points that are given.
DRAWN = (blobs, anisotropic, varied, moons, circles, no_structure)
GIVEN = (iris, digits)


def run(sets=(*DRAWN, *GIVEN), seeds=SEEDS, n=N_POINTS) -> list[str]:
    """Print a Markdown table, a row per data set, and return its lines; the last row has CPU seconds."""
    lines = [_line(HEADER), _line(["---"] * len(HEADER))]
    print("\n".join(lines), flush=True)
    seconds = dict.fromkeys(CONTESTANTS, 0.0)
    for make in sets:
        cells = []
        for name in CONTESTANTS:
            begin = time.process_time()
            cells.append(_cell([_agreement(make, name, seed, n) for seed in seeds]))
            seconds[name] += time.process_time() - begin
        lines.append(_line([make.__name__.replace("_", " "), str(make(0, n)[2]), *cells]))
        print(lines[-1], flush=True)
    lines.append(_line(["CPU seconds", "", *(f"{value:.1f}" for value in seconds.values())]))
    print(lines[-1], flush=True)
    return lines


def _agreement(make, name: str, seed: int, n: int) -> float:
    """Adjusted Rand index with the truth; without one, with the answer to the same points and another seed."""
    points, truth, k = make(seed, n)
    if make in DRAWN:
        points = StandardScaler().fit_transform(points)
    with warnings.catch_warnings():
        # Spectral clustering warns of graphs that are not connected.
        warnings.simplefilter("ignore", UserWarning)
        if truth is None:
            truth = CONTESTANTS[name](k, seed + len(SEEDS)).fit_predict(points)
        return adjusted_rand_score(truth, CONTESTANTS[name](k, seed).fit_predict(points))


def _cell(values: list[float]) -> str:
    return f"{np.mean(values):.2f} ({min(values) + 0.0:.2f})"


def _line(cells) -> str:
    return f"| {' | '.join(cells)} |"
