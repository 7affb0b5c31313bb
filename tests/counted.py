"""Counts of a small chain with three groups, and walks to be counted, for the tests of resampling."""

import numpy as np

LABELS = np.repeat([0, 1, 2], [2, 3, 2])
COUNTS = np.array(
    [
        [40, 22, 3, 0, 2, 1, 1],
        [25, 31, 0, 2, 1, 3, 0],
        [1, 2, 30, 20, 11, 0, 2],
        [2, 0, 18, 25, 14, 1, 1],
        [0, 1, 12, 17, 33, 2, 1],
        [3, 2, 1, 0, 2, 28, 16],
        [1, 1, 0, 3, 1, 12, 35],
    ]
)
FEW = {"method": "sequential", "n_init": 3}


def simulated(P, n_steps, n_walks, rng):
    """Walks of a chain, all at once: an array of states, a row for each walk."""
    rising = np.cumsum(P, axis=1)
    walks = np.empty((n_walks, n_steps + 1), dtype=int)
    walks[:, 0] = rng.integers(len(P), size=n_walks)
    for step in range(n_steps):
        beyond = rng.random(n_walks)[:, None] > rising[walks[:, step]]
        walks[:, step + 1] = np.minimum(beyond.sum(axis=1), len(P) - 1)
    return walks


def counts_of(walk, n):
    counts = np.zeros((n, n))
    np.add.at(counts, (walk[:-1], walk[1:]), 1)
    return counts
