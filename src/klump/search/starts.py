"""Initial maps for the portfolio: clustered rows of P W, powers of P, spectral embeddings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from klump.chain import MarkovChain
from klump.errors import InvalidArgumentError
from klump.search.descent import fill_empty_groups, random_labels
from klump.search.kernels.tables import Problem
from klump.search.kmeans import weighted_kmeans
from klump.search.method import Labels
from klump.search.problem import make_problem

Floats = NDArray[np.float64]
# States up to which a dense solver computes all eigenvectors and singular vectors.
_MAX_DENSE = 400
# Vectors that ARPACK computes on larger chains, at most.
_MAX_ARPACK = 24
# Relative tolerance of ARPACK: an embedding need not be exact, and unstructured chains converge slowly.
_ARPACK_TOLERANCE = 1e-3
# Restarts of ARPACK, at most.
_ARPACK_RESTARTS = 30
# Dimension of the largest eigenvector embedding; all d up to it are used.
_MAX_EIGENVECTORS = 8
# Imaginary part up to which an eigenvalue counts as real.
_REAL = 1e-12
# Standard deviation under mu below which an eigenvector counts as constant.
_CONSTANT = 1e-9
# Lloyd iterations at most: on the rows of P W, in an embedding, and on one vector to rank it.
_ROW_ITERATIONS = 30
_EMBEDDING_ITERATIONS = 50
_RANKING_ITERATIONS = 20
# Lower bounds of the masses that are divided by and of the probabilities whose logarithm is taken.
_LEAST_MASS = 1e-300
_LEAST_PROBABILITY = 1e-12
# States up to which powers of P, mostly dense matrices, are computed.
_MAX_SQUARED_STATES = 1_000
# Squarings at most: the largest power is P^4096.
_MAX_SQUARINGS = 12
# With the share of information I(X0;Xr) / I(X0;X1) at lag r = 2, 4, 8, ... (values are empirical): a chain mixes too
# fast to have many local optima if the share at lag 2 is below the first of these, ...
_LEAST_SHARE_AT_LAG_2 = 0.3
# ... P^r is kept if the share lies between these two, ...
_LEAST_SHARE = 0.03
_MOST_SHARE = 0.5
# ... and squaring stops when it lowers the share by less than this.
_LEAST_DECREASE = 1e-3


def cluster_rows(
    multiply: Callable[[Floats], Floats], mu: Floats, n_groups: int, rng: np.random.Generator
) -> Labels:
    """Lloyd iterations on the rows of P W, from a random map W: nearest mean by Kullback-Leibler divergence.

    ``multiply`` maps a matrix M to P M.
    """
    n = mu.size
    labels = random_labels(n, n_groups, rng, allow_empty=False)
    for _ in range(_ROW_ITERATIONS):
        indicator = np.zeros((n, n_groups))
        indicator[np.arange(n), labels] = 1.0
        rows = multiply(indicator)
        mass = (mu[:, None] * indicator).T
        means = mass @ rows / np.maximum(mass.sum(axis=1, keepdims=True), _LEAST_MASS)
        # Minus the cross-entropy: the divergence up to a constant per row.
        similarity = rows @ np.log2(np.maximum(means, _LEAST_PROBABILITY)).T
        nearest = fill_empty_groups(np.argmax(similarity, axis=1).astype(np.int32), n_groups)
        if np.array_equal(nearest, labels):
            break
        labels = nearest
    return labels


def powers(chain: MarkovChain) -> tuple[Problem, ...]:
    """The informative ones of P^2, P^4, P^8, ...; () if the chain mixes fast or is too large.

    Powers damp the eigenvectors of small eigenvalues, and the local optima that come from them: slow processes remain.
    """
    if chain.n_states > _MAX_SQUARED_STATES:
        return ()
    found: list[Problem] = []
    at_lag_1, share = chain.redundancy_rate, 1.0
    for squaring in range(_MAX_SQUARINGS):
        try:
            chain = chain.power(2)
        except InvalidArgumentError:  # an even power of a chain with even period is reducible
            break
        before, share = share, chain.redundancy_rate / max(at_lag_1, np.finfo(float).tiny)
        least = _LEAST_SHARE if squaring else _LEAST_SHARE_AT_LAG_2
        if share < least or share > before - _LEAST_DECREASE:
            break
        if share <= _MOST_SHARE:
            found.append(make_problem(chain))
    return tuple(found)


@dataclass(frozen=True)
class Embeddings:
    """Embeddings of the states in which the members of a good group are close together."""

    mu: Floats
    coordinates: tuple[Floats, ...]

    def cluster(self, number: int, n_groups: int, rng: np.random.Generator) -> Labels:
        """Weighted k-means in embedding ``number``."""
        draws = rng.random(n_groups)
        labels, _ = weighted_kmeans(self.coordinates[number], self.mu, draws, _EMBEDDING_ITERATIONS)
        return fill_empty_groups(labels, n_groups)


def spectral_embeddings(chain: MarkovChain, n_groups: int, rng: np.random.Generator) -> Embeddings:
    """Leading singular vectors of diag(mu)^(-1/2) J diag(mu)^(-1/2), and eigenvectors close to piecewise constant."""
    mu = chain.stationary_distribution
    root = np.sqrt(np.maximum(mu, np.finfo(float).tiny))
    left, right = _singular_vectors(chain, root, 2 * n_groups + 1)
    left, right = left / root[:, None], right / root[:, None]
    found = []
    for d in sorted({1, max(n_groups - 1, 1), n_groups, 2 * n_groups}):
        if d <= left.shape[1]:
            found += [right[:, :d], left[:, :d], np.hstack([right[:, :d], left[:, :d]])]
    vectors = _eigenvectors(chain, 3 * n_groups)
    ranked = vectors[:, np.argsort(_unexplained_variance(vectors, mu, n_groups, rng), kind="stable")]
    found += [ranked[:, :d] for d in range(1, min(_MAX_EIGENVECTORS, ranked.shape[1]) + 1)]
    return Embeddings(mu, tuple(np.ascontiguousarray(coordinates) for coordinates in found))


def _dense(matrix: Any) -> Floats:
    return np.asarray(matrix.toarray() if sparse.issparse(matrix) else matrix)


def _singular_vectors(chain: MarkovChain, root: Floats, count: int) -> tuple[Floats, Floats]:
    """Left and right singular vectors of diag(mu)^(-1/2) J diag(mu)^(-1/2), without the trivial first pair."""
    n = chain.n_states
    if n <= _MAX_DENSE:
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
    count = min(count, _MAX_ARPACK, n - 2)
    try:
        left, value, right = svds(
            normalized, k=count, v0=root, tol=_ARPACK_TOLERANCE, maxiter=_ARPACK_RESTARTS
        )
    except ArpackNoConvergence:
        return np.zeros((n, 0)), np.zeros((n, 0))
    order = np.argsort(-value, kind="stable")[1:]
    return left[:, order], right[order].T


def _eigenvectors(chain: MarkovChain, count: int) -> Floats:
    """Real and imaginary parts of right eigenvectors of P, scaled to unit variance, without the constant one."""
    n = chain.n_states
    if n <= _MAX_DENSE:
        values, vectors = np.linalg.eig(_dense(chain.transition_matrix))
    else:
        from scipy.sparse.linalg import ArpackNoConvergence, eigs

        try:
            values, vectors = eigs(
                chain.transition_matrix,
                k=min(count, _MAX_ARPACK, n - 2),
                v0=np.ones(n) + np.arange(n) / n,
                tol=_ARPACK_TOLERANCE,
                maxiter=_ARPACK_RESTARTS,
            )
        except ArpackNoConvergence as error:  # use the converged ones
            values, vectors = error.eigenvalues, error.eigenvectors
    parts = [vectors.real[:, values.imag >= 0], vectors.imag[:, values.imag > _REAL]]
    stacked = np.hstack(parts)
    mu = chain.stationary_distribution
    centred = stacked - mu @ stacked
    deviation = np.sqrt(mu @ centred**2)
    return np.asarray((centred / np.maximum(deviation, _LEAST_MASS))[:, deviation > _CONSTANT])


def _unexplained_variance(vectors: Floats, mu: Floats, n_groups: int, rng: np.random.Generator) -> Floats:
    """Within-group variance per vector after one-dimensional k-means, the better of two runs."""
    draws = rng.random((2, n_groups))
    return np.array(
        [
            min(weighted_kmeans(points, mu, draw, _RANKING_ITERATIONS)[1] for draw in draws)
            for points in (np.ascontiguousarray(vector[:, None]) for vector in vectors.T)
        ]
    )
