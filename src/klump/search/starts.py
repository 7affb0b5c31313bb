"""Where the portfolio starts: maps that are cheap to make and near good answers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from klump.chain import MarkovChain
from klump.errors import InvalidArgumentError
from klump.search.descent import random_labels, without_empty_groups
from klump.search.kernels.tables import Problem
from klump.search.method import Labels
from klump.search.problem import make_problem

Floats = NDArray[np.float64]
# Up to this many states all eigenvectors are computed; beyond, only so many leading ones.
_ALL_EIGENVECTORS = 400
_LEADING = 24
# A start need not be exact: unstructured chains would keep ARPACK busy for minutes.
_ROUGHLY, _RESTARTS = 1e-3, 30
_MOST_EIGENVECTORS = 8
_ROUNDS = 30
# Powers of P are made for so many states at most, so many times by squaring, and kept where states so far apart in time
# have between these shares of what neighbours tell of each other. A chain that forgets sooner has few local optima, and
# one that forgets no more shows nothing new.
_SQUARABLE, _SQUARINGS, _FORGOTTEN, _FADED, _SLOW, _STUCK = 1_000, 12, 0.03, 0.5, 0.3, 1e-3


def by_rows(
    to_states: Callable[[Floats], Floats], mu: Floats, n_groups: int, rng: np.random.Generator
) -> Labels:
    """From a random map, assign each state to the group whose mean of P W is nearest to its own row.

    ``to_states`` multiplies P with a matrix.
    """
    n = mu.size
    labels = random_labels(n, n_groups, rng, allow_empty=False)
    for _ in range(_ROUNDS):
        indicator = np.zeros((n, n_groups))
        indicator[np.arange(n), labels] = 1.0
        rows = to_states(indicator)
        mass = (mu[:, None] * indicator).T
        means = mass @ rows / np.maximum(mass.sum(axis=1, keepdims=True), 1e-300)
        closeness = rows @ np.log2(np.maximum(means, 1e-12)).T
        nearest = without_empty_groups(np.argmax(closeness, axis=1).astype(np.int32), n_groups)
        if np.array_equal(nearest, labels):
            break
        labels = nearest
    return labels


def powers(chain: MarkovChain) -> tuple[Problem, ...]:
    """The chain at every 2nd, 4th, 8th, ... step, if it is slow: () if not, or if it is too large.

    What is slow shows more and more purely there, and where single steps trap a search, many at once do not.
    """
    if chain.n_states > _SQUARABLE:
        return ()
    found: list[Problem] = []
    at_first, now = chain.redundancy_rate, 1.0
    for squaring in range(_SQUARINGS):
        try:
            chain = chain.power(2)
        except InvalidArgumentError:  # a periodic chain falls apart if only every other step is seen
            break
        before, now = now, chain.redundancy_rate / max(at_first, np.finfo(float).tiny)
        if now < (_FORGOTTEN if squaring else _SLOW) or now > before - _STUCK:
            break
        if now <= _FADED:
            found.append(make_problem(chain))
    return tuple(found)


@dataclass(frozen=True)
class Embeddings:
    """Coordinates of the states in which good groups are near to being points."""

    mu: Floats
    coordinates: tuple[Floats, ...]

    def cluster(self, number: int, n_groups: int, rng: np.random.Generator) -> Labels:
        """Weighted k-means in one of the embeddings."""
        from klump.search.kernels.kmeans import weighted_kmeans

        labels = np.zeros(self.mu.size, dtype=np.int32)
        weighted_kmeans(self.coordinates[number], self.mu, rng.random(n_groups), 50, labels)
        return without_empty_groups(labels, n_groups)


def spectral_embeddings(chain: MarkovChain, n_groups: int, rng: np.random.Generator) -> Embeddings:
    """Leading singular vectors of the normalised joint law, and eigenvectors close to piecewise constant."""
    mu = chain.stationary_distribution
    root = np.sqrt(np.maximum(mu, np.finfo(float).tiny))
    left, right = _singular_vectors(chain, root, 2 * n_groups + 1)
    left, right = left / root[:, None], right / root[:, None]
    found = []
    for d in sorted({1, max(n_groups - 1, 1), n_groups, 2 * n_groups}):
        if d <= left.shape[1]:
            found += [right[:, :d], left[:, :d], np.hstack([right[:, :d], left[:, :d]])]
    vectors = _eigenvectors(chain, 3 * n_groups)
    ranked = vectors[:, np.argsort(_spread_within(vectors, mu, n_groups, rng), kind="stable")]
    found += [ranked[:, :d] for d in range(1, min(_MOST_EIGENVECTORS, ranked.shape[1]) + 1)]
    return Embeddings(mu, tuple(np.ascontiguousarray(coordinates) for coordinates in found))


def _dense(matrix: Any) -> Floats:
    """Only for chains so small that all eigenvectors are wanted anyway."""
    return np.asarray(matrix.toarray() if sparse.issparse(matrix) else matrix)


def _singular_vectors(chain: MarkovChain, root: Floats, count: int) -> tuple[Floats, Floats]:
    """Left and right singular vectors of diag(mu)^(-1/2) J diag(mu)^(-1/2), without the trivial first pair."""
    n = chain.n_states
    if n <= _ALL_EIGENVECTORS:
        joint = _dense(chain.joint)
        left, _, right = np.linalg.svd(joint / root[:, None] / root[None, :])
        return left[:, 1:count], right[1:count].T
    from scipy.sparse.linalg import ArpackNoConvergence, svds

    scale = sparse.diags_array(1.0 / root)
    normalized = (
        scale @ sparse.csr_array(chain.joint) @ scale
        if chain.is_sparse
        else chain.joint / np.outer(root, root)
    )
    count = min(count, _LEADING, n - 2)
    try:
        left, value, right = svds(normalized, k=count, v0=root, tol=_ROUGHLY, maxiter=_RESTARTS)
    except ArpackNoConvergence:
        return np.zeros((n, 0)), np.zeros((n, 0))
    order = np.argsort(-value, kind="stable")[1:]
    return left[:, order], right[order].T


def _eigenvectors(chain: MarkovChain, count: int) -> Floats:
    """Real and imaginary parts of right eigenvectors of P, scaled to unit variance; the constant one left out."""
    n = chain.n_states
    if n <= _ALL_EIGENVECTORS:
        values, vectors = np.linalg.eig(_dense(chain.transition_matrix))
    else:
        from scipy.sparse.linalg import ArpackNoConvergence, eigs

        try:
            values, vectors = eigs(
                chain.transition_matrix,
                k=min(count, _LEADING, n - 2),
                v0=np.ones(n) + np.arange(n) / n,
                tol=_ROUGHLY,
                maxiter=_RESTARTS,
            )
        except ArpackNoConvergence as stuck:
            values, vectors = stuck.eigenvalues, stuck.eigenvectors
    parts = [vectors.real[:, values.imag >= 0], vectors.imag[:, values.imag > 1e-12]]
    stacked = np.hstack(parts)
    mu = chain.stationary_distribution
    centred = stacked - mu @ stacked
    spread = np.sqrt(mu @ centred**2)
    return np.asarray((centred / np.maximum(spread, 1e-300))[:, spread > 1e-9])


def _spread_within(vectors: Floats, mu: Floats, n_groups: int, rng: np.random.Generator) -> Floats:
    """For each vector alone: the variance that its best split into groups leaves unexplained."""
    from klump.search.kernels.kmeans import weighted_kmeans

    labels = np.zeros(mu.size, dtype=np.int32)
    draws = rng.random((2, n_groups))
    return np.array(
        [
            min(
                weighted_kmeans(np.ascontiguousarray(vector[:, None]), mu, draw, 20, labels) for draw in draws
            )
            for vector in vectors.T
        ]
    )
