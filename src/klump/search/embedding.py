"""Embedding of the states of a large chain by subspace iteration with P.

P is applied repeatedly to a block of random vectors, which converges to the invariant subspace of the eigenvalues of
largest modulus; slow and lumpable groups are nearly constant there. It is cheaper than eigenvectors, and more robust
than singular vectors where most transitions are noise.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from klump.chain.validation import Matrix
from klump.search.descent import fill_empty_groups
from klump.search.kernels.tables import DenseProblem, Problem
from klump.search.kmeans import seed_centres
from klump.search.method import Labels, Task

Singles = NDArray[np.float32]
Floats = NDArray[np.float64]

# Dimension of the embedding, at most: min(k + 10, this).
_MAX_WIDTH = 24
# Products with P: of the embedding, and of a splitting vector. Empirical.
_ITERATIONS = 12
_SPLIT_ITERATIONS = 6
# Products with P between two orthonormalisations.
_ORTHONORMALISE_EVERY = 3
# Eigenvalues of the Gram matrix, relative to the largest, below which a direction is float32 rounding error.
_RANK_TOLERANCE = 1e-10
# Lower bound of masses that are divided by; 1 / mass must not overflow.
_LEAST_MASS = 1e-290
# States per block of a matrix product: 4096 x 24 float32 are 400 kB, about the size of a second-level cache.
_BLOCK = 4096
# k-means sample: this many states, or this many per group if that is more.
_SAMPLE = 5_000
_SAMPLE_PER_GROUP = 20
# Lloyd iterations on the sample.
_LLOYD_ITERATIONS = 10


def cluster_embedding(task: Task, n_groups: int, rng: np.random.Generator) -> Labels:
    """k-means in the embedding: centres from a sample, then nearest centres of all states."""
    mu = task.chain.stationary_distribution
    points = subspace_iteration(task, min(n_groups + 10, _MAX_WIDTH, task.chain.n_states), rng)
    sample = np.sort(rng.permutation(mu.size)[: max(_SAMPLE, _SAMPLE_PER_GROUP * n_groups)])
    centres = _kmeans_centres(points[sample], mu[sample], rng.random(n_groups))
    return fill_empty_groups(_nearest(points, centres), n_groups)


def subspace_iteration(task: Task, width: int, rng: np.random.Generator) -> Singles:
    """``width`` vectors: powers of P times random signs, centred and orthonormal in the inner product of mu."""
    matrix, mu = task.chain.transition_matrix, task.chain.stationary_distribution
    n = mu.size
    bits = np.unpackbits(np.frombuffer(rng.bytes(-(-n * width // 8)), dtype=np.uint8), count=n * width)
    vectors = bits.reshape(n, width).astype(np.float32)
    vectors -= np.float32(0.5)
    spare = np.empty_like(vectors)
    for iteration in range(1, _ITERATIONS + 1):
        _multiply(matrix, vectors, spare)
        vectors, spare = spare, vectors
        if iteration % _ORTHONORMALISE_EVERY == 0:
            _orthonormalise(vectors, mu)
    return vectors


def splitting_vector(problem: Problem, labels: Labels, n_groups: int, rng: np.random.Generator) -> Floats:
    """Power method with P, deflated by the group indicators: a slow vector with mean zero in every group."""
    mu = problem.mu
    mass = np.maximum(np.bincount(labels, weights=mu, minlength=n_groups), _LEAST_MASS)
    vector = rng.standard_normal(mu.size)
    for _ in range(_SPLIT_ITERATIONS):
        weighted = _multiply_joint(problem, vector)
        weighted -= mu * (np.bincount(labels, weights=weighted, minlength=n_groups) / mass)[labels]
        vector = weighted / np.maximum(mu, _LEAST_MASS)
        vector /= np.sqrt(weighted @ vector) or 1.0
    return np.asarray(vector)


def _multiply_joint(problem: Problem, vector: Floats) -> Floats:
    """J times a vector."""
    from klump.search.kernels.embedding import multiply_one

    if isinstance(problem, DenseProblem):
        return np.asarray(problem.rows @ vector)
    # SciPy would cast int32 indices to the int64 of indptr: a copy, perhaps larger than memory.
    out = np.empty_like(vector)
    multiply_one(problem.out_indptr, problem.out_indices, problem.out_mass, vector, out)
    return out


def _multiply(matrix: Matrix, vectors: Singles, out: Singles) -> None:
    from klump.search.kernels.embedding import multiply

    if isinstance(matrix, np.ndarray):
        np.matmul(matrix, vectors, out=out, casting="same_kind")
    else:
        multiply(matrix.indptr, matrix.indices, matrix.data, vectors, out)


def _orthonormalise(vectors: Singles, mu: Floats) -> None:
    """Centre and orthonormalise in place, in the inner product of mu, by the eigenvectors of the Gram matrix.

    Directions of numerical rank deficiency become 0.
    """
    width = vectors.shape[1]
    blocks = [slice(first, first + _BLOCK) for first in range(0, len(vectors), _BLOCK)]
    gram, mean = np.zeros((width, width)), np.zeros(width)
    for block in blocks:
        weight = mu[block].astype(np.float32)
        gram += (vectors[block] * weight[:, None]).T @ vectors[block]
        mean += weight @ vectors[block]
    values, rotation = np.linalg.eigh(gram - np.outer(mean, mean))
    full_rank = values > values[-1] * _RANK_TOLERANCE
    rotation = np.where(full_rank, rotation / np.sqrt(np.where(full_rank, values, 1.0)), 0.0)
    rotation32, shift = rotation.astype(np.float32), (mean @ rotation).astype(np.float32)
    for block in blocks:
        vectors[block] = vectors[block] @ rotation32 - shift


def _kmeans_centres(points: Singles, weight: Floats, draws: Floats) -> Floats:
    """k-means++ and Lloyd iterations; empty clusters are dropped."""
    centres = seed_centres(points.astype(np.float64), weight, draws)
    for _ in range(_LLOYD_ITERATIONS):
        labels = _nearest(points, centres)
        members = sparse.csr_array(
            (weight, (labels, np.arange(len(points)))), shape=(len(centres), len(points))
        )
        mass = members.sum(axis=1)
        centres = np.asarray((members @ points)[mass > 0.0] / mass[mass > 0.0, None])
    return centres


def _nearest(points: Singles, centres: Floats) -> Labels:
    from klump.search.kernels.embedding import nearest_centres

    labels = np.zeros(len(points), dtype=np.int32)
    single = np.ascontiguousarray(centres.T, dtype=np.float32)
    nearest_centres(
        points, single, 0.5 * (single**2).sum(axis=0), np.zeros(len(centres), dtype=np.float32), labels
    )
    return labels
