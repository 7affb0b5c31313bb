"""Coordinates for the states of a large chain, from P alone: what P hardly shrinks, groups of states share.

P is applied to random vectors again and again, so that what is slow and what is lumpable remains, whatever the
signs and phases of its eigenvalues. That is cheaper than eigenvectors, and more robust than singular vectors where
most transitions are noise.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from klump.chain.validation import Matrix
from klump.search.descent import without_empty_groups
from klump.search.kernels.tables import Problem
from klump.search.method import Labels, Task

Singles = NDArray[np.float32]
Floats = NDArray[np.float64]

_WIDTH = 24
_POWERS, _BETWEEN, _SPLIT_POWERS = 12, 3, 6
_LOST, _LIGHT = 1e-10, 1e-290
# States that are handled at once, so that what is known of them stays in the cache.
_BLOCK = 4096
# k-means sees so many states, or so many a group.
_SAMPLE, _MEMBERS, _ROUNDS = 5_000, 20, 10


def embedded(task: Task, n_groups: int, rng: np.random.Generator) -> Labels:
    """Group the states by k-means on their coordinates."""
    mu = task.chain.stationary_distribution
    points = coordinates(task, min(n_groups + 10, _WIDTH, task.chain.n_states), rng)
    sample = np.sort(rng.permutation(mu.size)[: max(_SAMPLE, _MEMBERS * n_groups)])
    centres = _centres(points[sample], mu[sample], rng.random(n_groups))
    return without_empty_groups(_nearest(points, centres), n_groups)


def coordinates(task: Task, width: int, rng: np.random.Generator) -> Singles:
    """Random signs that P has been applied to many times, without their means and orthonormal under mu."""
    matrix, mu = task.chain.transition_matrix, task.chain.stationary_distribution
    n = mu.size
    bits = np.unpackbits(np.frombuffer(rng.bytes(-(-n * width // 8)), dtype=np.uint8), count=n * width)
    vectors = bits.reshape(n, width).astype(np.float32)
    vectors -= np.float32(0.5)
    spare = np.empty_like(vectors)
    for power in range(_POWERS):
        _multiply(matrix, vectors, spare)
        vectors, spare = spare, vectors
        if power % _BETWEEN == _BETWEEN - 1:
            _make_orthonormal(vectors, mu)
    return vectors


def within_groups(problem: Problem, labels: Labels, n_groups: int, rng: np.random.Generator) -> Floats:
    """One coordinate by which states differ from the mean of their group, and that P hardly shrinks."""
    mu = problem.mu
    # What is too light to be seen goes with its neighbours, whatever it is divided by.
    mass = np.maximum(np.bincount(labels, weights=mu, minlength=n_groups), _LIGHT)
    vector = rng.standard_normal(mu.size)
    for _ in range(_SPLIT_POWERS):
        weighted = _flowing(problem, vector)
        weighted -= mu * (np.bincount(labels, weights=weighted, minlength=n_groups) / mass)[labels]
        vector = weighted / np.maximum(mu, _LIGHT)
        vector /= np.sqrt(weighted @ vector) or 1.0
    return np.asarray(vector)


def _flowing(problem: Problem, vector: Floats) -> Floats:
    """J times a vector."""
    from klump.search.kernels.embedding import multiply_one

    if problem.rows.size:
        return np.asarray(problem.rows @ vector)
    # SciPy would make the columns as wide as the ends of rows: a copy, perhaps larger than memory.
    out = np.empty_like(vector)
    multiply_one(problem.out_indptr, problem.out_indices, problem.out_mass, vector, out)
    return out


def _multiply(matrix: Matrix, vectors: Singles, out: Singles) -> None:
    from klump.search.kernels.embedding import multiply

    if isinstance(matrix, np.ndarray):
        np.matmul(matrix, vectors, out=out, casting="same_kind")
    else:
        multiply(matrix.indptr, matrix.indices, matrix.data, vectors, out)


def _make_orthonormal(vectors: Singles, mu: Floats) -> None:
    """Take means away and orthonormalise in the inner product of mu, by the Gram matrix.

    Directions that are lost in rounding become 0.
    """
    width = vectors.shape[1]
    blocks = [slice(first, first + _BLOCK) for first in range(0, len(vectors), _BLOCK)]
    gram, mean = np.zeros((width, width)), np.zeros(width)
    for block in blocks:
        weight = mu[block].astype(np.float32)
        gram += (vectors[block] * weight[:, None]).T @ vectors[block]
        mean += weight @ vectors[block]
    values, rotation = np.linalg.eigh(gram - np.outer(mean, mean))
    good = values > values[-1] * _LOST
    rotation = np.where(good, rotation / np.sqrt(np.where(good, values, 1.0)), 0.0)
    turn, shift = rotation.astype(np.float32), (mean @ rotation).astype(np.float32)
    for block in blocks:
        vectors[block] = vectors[block] @ turn - shift


def _centres(points: Singles, weight: Floats, draws: Floats) -> Floats:
    """k-means on a sample of the points: the centres that have members."""
    from klump.search.kernels.kmeans import seed_centres

    k, width = draws.size, points.shape[1]
    centres = np.zeros((k, width))
    seed_centres(points.astype(np.float64), weight, draws, centres, np.zeros(len(points)))
    for _ in range(_ROUNDS):
        labels = _nearest(points, centres)
        members = sparse.csr_array(
            (weight, (labels, np.arange(len(points)))), shape=(len(centres), len(points))
        )
        mass = members.sum(axis=1)
        centres = np.asarray((members @ points)[mass > 0.0] / mass[mass > 0.0, None])
    return centres


def _nearest(points: Singles, centres: Floats) -> Labels:
    from klump.search.kernels.embedding import nearest

    labels = np.zeros(len(points), dtype=np.int32)
    single = np.ascontiguousarray(centres.T, dtype=np.float32)
    nearest(points, single, 0.5 * (single**2).sum(axis=0), np.zeros(len(centres), dtype=np.float32), labels)
    return labels
