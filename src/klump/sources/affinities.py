"""Affinities between validated points, and from other points to them: the weights of a random walk."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from klump.sources.points import NeighborWalk, Points, SimilarityWalk, compute_extent

Weights: TypeAlias = "NDArray[np.float64] | sparse.csr_array"

AFFINITIES = ("rbf", "nearest_neighbors", "precomputed")
# Weight of a link between classes of a precomputed matrix, in mean positive weights.
_LINK_SHARE = 0.01


class Affinity(Protocol):
    """Weights between points, such that each point reaches each other, and weights from other points to them."""

    def weights(self) -> Weights:
        """Square matrix of weights."""

    def weights_from(self, others: Any) -> Weights:
        """Matrix of weights with a row per other point."""


def build_affinity(kind: str, points: Any, n_neighbors: int, gamma: float | None) -> Affinity:
    """Build one of the :data:`AFFINITIES` of points, or of a matrix of affinities.

    Parameters
    ----------
    kind
        One of the affinities.
    points
        Validated points, dense or in CSR format, or a square matrix of non-negative weights.
    n_neighbors
        Nearest neighbours of ``"nearest_neighbors"``, and those that set the scale of ``"rbf"``.
    gamma
        Of ``"rbf"``: weights are exp(-gamma d**2).

    Examples
    --------
    >>> build_affinity("rbf", np.array([[0.0], [1.0]]), 1, 2.0).weights().round(3)
    array([[1.   , 0.135], [0.135, 1.   ]])
    """
    if kind == "precomputed":
        return PrecomputedAffinity(points)
    n_neighbors = min(n_neighbors, points.shape[0] - 1)
    # Squared distances of points of extent 1 neither overflow nor underflow.
    extent = compute_extent(points) or 1.0
    unit = points / extent
    if kind == "nearest_neighbors":
        return ScaledAffinity(NeighborWalk(unit, n_neighbors), extent)
    if gamma is None:
        return ScaledAffinity(SimilarityWalk.build(unit, n_neighbors), extent)
    return ScaledAffinity(SimilarityWalk(unit, 1.0 / gamma / extent / extent), extent)


@dataclass(frozen=True, eq=False)
class ScaledAffinity:
    """Affinity of points that are divided by their extent."""

    walk: NeighborWalk | SimilarityWalk
    extent: float

    def weights(self) -> Weights:
        """Square matrix of weights."""
        return self.walk.weights()

    def weights_from(self, others: Points) -> Weights:
        """Matrix of weights with a row per other point."""
        return self.walk.weights_from(others / self.extent)


@dataclass(frozen=True, eq=False)
class PrecomputedAffinity:
    """Given weights; classes that do not reach each other are linked.

    Examples
    --------
    >>> PrecomputedAffinity(np.diag([1.0, 1.0, 0.0])).weights()
    array([[1.  , 0.01, 0.01], [0.01, 1.  , 0.01], [0.01, 0.01, 1.  ]])
    """

    given: Weights

    def weights(self) -> Weights:
        """Given weights with a ring of links through the heaviest points of the classes; 0 rows lead to themselves."""
        weights = _fill_empty_rows(self.given)
        n_classes, label = connected_components(weights, directed=True, connection="strong")
        if n_classes == 1:
            return weights
        heaviest = _heaviest_points(np.asarray(weights.sum(axis=0)), label)
        links = _ring(heaviest, weights.shape[0], _LINK_SHARE * _mean_positive(weights))
        return sparse.csr_array(weights + links) if sparse.issparse(weights) else np.asarray(weights + links)

    def weights_from(self, others: Weights) -> Weights:
        """Rows as they are given."""
        return others


def _fill_empty_rows(weights: Any) -> Any:
    empty = np.flatnonzero(np.asarray(weights.sum(axis=1)) == 0.0)
    if not empty.size:
        return weights
    shape = weights.shape
    value = _mean_positive(weights) if empty.size < shape[0] else 1.0
    loops = sparse.csr_array((np.full(empty.size, value), (empty, empty)), shape=shape)
    return sparse.csr_array(weights + loops) if sparse.issparse(weights) else np.asarray(weights + loops)


def _mean_positive(weights: Any) -> float:
    values = weights.data if sparse.issparse(weights) else weights
    return float(values[values > 0.0].mean())


def _heaviest_points(mass: NDArray[np.float64], label: NDArray[Any]) -> NDArray[np.intp]:
    """Index of the point with the largest mass in each class, classes in the order of their first points."""
    order = np.lexsort((np.arange(mass.size), -mass, label))
    _, first = np.unique(label[order], return_index=True)
    _, seen = np.unique(label, return_index=True)
    return np.asarray(order[first][np.argsort(seen)])


def _ring(points: NDArray[np.intp], n: int, weight: float) -> sparse.csr_array:
    """Symmetric links of each point with the next, and of the last with the first."""
    following = np.roll(points, -1)
    one_way = sparse.csr_array((np.full(points.size, weight), (points, following)), shape=(n, n))
    return sparse.csr_array(one_way.maximum(one_way.T))
