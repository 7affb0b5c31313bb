"""Similarity matrices and nearest-neighbour graphs of points, for random walks."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from klump.arguments import check_count
from klump.errors import InvalidArgumentError, Setting

# Weight of an edge that links two connected components of the nearest-neighbour graph; edges within have 1/2 or 1.
_LINK_WEIGHT = 0.01
# Components of at most max(this, sqrt(n_points)) points are linked in batches of similar size.
_MAX_BATCHED = 64
# Smallest similarity that connects clouds, and weight of a link between clouds without one; that of a point to itself
# is 1.
_MIN_SIMILARITY = 1e-9

Points: TypeAlias = "NDArray[np.float64] | sparse.csr_array"


def similarities(X: Any, n_neighbors: int = 15) -> NDArray[np.float64]:
    """Weights ``exp(-d**2 / s)`` between all pairs of points.

    ``d`` is the Euclidean distance and ``s`` the mean squared distance of a point to its ``n_neighbors``
    nearest neighbours, averaged over all points: the paper's similarity, whose rows, divided by their sums,
    are transition probabilities. A point is its own most similar one (weight 1), as in the paper.

    Parameters
    ----------
    X
        Points, an array of shape (n_points, n_features).
    n_neighbors
        Neighbours that set the scale, not counting the point itself; ``n_points`` means all the others,
        as ``n_points - 1`` does.

    Returns
    -------
    ndarray of shape (n_points, n_points)
        Symmetric weights in [0, 1]. All pairs are kept, so memory grows with the square of ``n_points``;
        weights of points that are very far apart on the scale ``s`` underflow to 0.

    Examples
    --------
    >>> similarities([[0.0], [1.0], [3.0]], n_neighbors=1).round(3)
    array([[1.   , 0.607, 0.011],
           [0.607, 1.   , 0.135],
           [0.011, 0.135, 1.   ]])
    """
    unit, n_neighbors = _check_points(X, n_neighbors)
    squared = _squared_distances(unit, unit)
    scale = _mean_squared_neighbor_distance(squared, n_neighbors)
    if scale == 0:
        raise InvalidArgumentError(
            ("sees only duplicates of each point in ", Setting("X")),
            argument="n_neighbors",
            value=n_neighbors,
            remedy="pass more neighbours or drop the duplicates",
        )
    squared /= -scale
    return np.asarray(np.exp(squared, out=squared))


def neighbor_graph(X: Any, n_neighbors: int = 15) -> sparse.csr_array:
    """Symmetrised nearest-neighbour graph A: A = (N + N^T) / 2 + I, with N[i, j] = 1 if j is a neighbour of i.

    Its connected components are linked by the minimum spanning tree between them, through their nearest pairs of
    points, with edges of weight 1/100.

    Parameters
    ----------
    X
        Points, an array of shape (n_points, n_features).
    n_neighbors
        Neighbours of each point, not counting itself; ``n_points`` means all the others, as ``n_points - 1`` does.

    Returns
    -------
    csr_array of shape (n_points, n_points)
        Symmetric and connected.

    Examples
    --------
    >>> neighbor_graph([[0.0], [1.0], [3.0], [9.0], [10.0]], n_neighbors=1).toarray()
    array([[1.  , 1.  , 0.  , 0.  , 0.  ],
           [1.  , 1.  , 0.5 , 0.  , 0.  ],
           [0.  , 0.5 , 1.  , 0.01, 0.  ],
           [0.  , 0.  , 0.01, 1.  , 1.  ],
           [0.  , 0.  , 0.  , 1.  , 1.  ]])
    """
    return NeighborWalk(*_check_points(X, n_neighbors)).weights()


@dataclass(frozen=True, eq=False)
class NeighborWalk:
    """Walk between nearest neighbours of validated points, and to them from other points.

    Examples
    --------
    >>> walk = NeighborWalk(np.array([[0.0], [1.0], [3.0]]), n_neighbors=2)
    >>> walk.weights_from(np.array([[2.5]])).toarray()
    array([[0., 1., 1.]])
    """

    points: Points
    n_neighbors: int
    """At most the number of points less 1; 0 for a single point."""

    def weights(self) -> sparse.csr_array:
        """Symmetrised nearest-neighbour graph of the points, its connected components linked."""
        n = self.points.shape[0]
        if n == 1:
            return sparse.csr_array(np.ones((1, 1)))
        halves = sparse.csr_array(self._tree.kneighbors_graph()) * 0.5
        weights = sparse.csr_array(halves + halves.T + sparse.eye_array(n))
        return sparse.csr_array(weights + _link_components(weights, self._tree, self.points) * _LINK_WEIGHT)

    def weights_from(self, others: Points) -> sparse.csr_array:
        """Weight 1 from each other point to each of its nearest points, of which it may be one itself."""
        return sparse.csr_array(self._tree.kneighbors_graph(others))

    @cached_property
    def _tree(self) -> Any:
        from sklearn.neighbors import NearestNeighbors

        return NearestNeighbors(n_neighbors=max(self.n_neighbors, 1)).fit(self.points)


@dataclass(frozen=True, eq=False)
class SimilarityWalk:
    """Walk with weights ``exp(-d**2 / scale)`` between validated points, and to them from other points.

    Unlike :func:`similarities`, it takes points that coincide, and links clouds far apart.

    Examples
    --------
    >>> walk = SimilarityWalk.build(np.array([[0.0], [1.0], [3.0]]), n_neighbors=1)
    >>> walk.scale, walk.weights_from(np.array([[1.0]])).round(3)
    (2.0, array([[0.607, 1.   , 0.135]]))
    """

    points: Points
    scale: float
    """Squared distance at which the weight is 1/e."""

    @classmethod
    def build(cls, points: Points, n_neighbors: int) -> SimilarityWalk:
        """Set the scale to the mean squared distance to the nearest neighbours; of duplicates, to all other points."""
        n = points.shape[0]
        scale = 0.0
        if n > 1:
            squared = _squared_distances(points, points)
            scale = _mean_squared_neighbor_distance(squared, n_neighbors) or float(squared.mean())
        return cls(points, scale or 1.0)

    def weights(self) -> NDArray[np.float64]:
        """Similarities of all pairs of points; clouds between which all are below 1e-9 are linked by that weight."""
        from sklearn.neighbors import NearestNeighbors

        squared = _squared_distances(self.points, self.points)
        squared /= -self.scale
        weights = np.exp(squared, out=squared)
        if weights.min() < _MIN_SIMILARITY:
            connections = sparse.csr_array(weights >= _MIN_SIMILARITY, dtype=np.int8)
            tree = NearestNeighbors().fit(self.points)
            row, column = _link_components(connections, tree, self.points).nonzero()
            weights[row, column] = _MIN_SIMILARITY
        return np.asarray(weights)

    def weights_from(self, others: Points) -> NDArray[np.float64]:
        """Similarities of other points to the points, divided by the largest in each row, which may underflow."""
        squared = _squared_distances(others, self.points)
        squared -= squared.min(axis=1, keepdims=True)
        squared /= -self.scale
        return np.asarray(np.exp(squared, out=squared))


def _squared_distances(a: Points, b: Points) -> NDArray[np.float64]:
    if sparse.issparse(a) or sparse.issparse(b):
        from sklearn.metrics.pairwise import euclidean_distances

        squared = np.asarray(euclidean_distances(a, b, squared=True))
        if a is b:
            squared = (squared + squared.T) / 2.0  # symmetric up to rounding only
        return squared
    from scipy.spatial.distance import cdist

    return np.asarray(cdist(a, b, "sqeuclidean"))


def _link_components(weights: sparse.csr_array, tree: Any, points: Points) -> sparse.csr_array:
    """Minimum spanning tree between connected components, through their nearest pairs of points: entries 1."""
    all_links = sparse.csr_array(weights.shape)
    n_components, component = connected_components(weights, directed=False)
    while n_components > 1:
        links = _nearest_links(tree, points, component)
        all_links = all_links.maximum(links).maximum(links.T)
        n_components, component = connected_components(weights + all_links, directed=False)
    return sparse.csr_array(all_links)


def _nearest_links(tree: Any, points: Points, component: NDArray[Any]) -> sparse.csr_array:
    """Shortest edge out of every component but the largest: one round of Boruvka's algorithm."""
    n, size = points.shape[0], np.bincount(component)
    largest, few = int(np.argmax(size)), max(_MAX_BATCHED, int(np.sqrt(n)))
    large = (number for number in np.flatnonzero(size > few).tolist() if number != largest)
    pairs = [_link_large(points, component, number) for number in large]
    for most in 2 ** np.arange(int(np.log2(few)) + 2):
        small = (size <= most) & (size > most // 2) & (size <= few)
        small[largest] = False
        if small.any():
            pairs.append(_link_small(tree, points, component, small, int(most)))
    row, column = np.concatenate(pairs).T
    return sparse.csr_array((np.ones(row.size), (row, column)), shape=(n, n))


def _link_large(points: Points, component: NDArray[Any], number: int) -> NDArray[np.intp]:
    """Shortest edge out of one component, from a tree of all points outside."""
    from sklearn.neighbors import NearestNeighbors

    inside, outside = np.flatnonzero(component == number), np.flatnonzero(component != number)
    distance, nearest = NearestNeighbors(n_neighbors=1).fit(points[outside]).kneighbors(points[inside])
    here = int(np.argmin(distance[:, 0]))
    return np.array([[inside[here], outside[nearest[here, 0]]]])


def _link_small(
    tree: Any, points: Points, component: NDArray[Any], small: NDArray[np.bool_], most: int
) -> NDArray[np.intp]:
    """Shortest edges out of components of at most ``most`` points: ``most`` + 1 nearest neighbours reach outside."""
    here = np.flatnonzero(small[component])
    distance, there = tree.kneighbors(points[here], n_neighbors=min(most + 1, points.shape[0]))
    first = np.argmax(component[there] != component[here][:, None], axis=1)
    distance, there = (table[np.arange(here.size), first] for table in (distance, there))
    order = np.lexsort((here, distance, component[here]))
    _, at = np.unique(component[here][order], return_index=True)
    return np.stack([here[order][at], there[order][at]], axis=1)


def _check_points(X: Any, n_neighbors: Any) -> tuple[NDArray[np.float64], int]:
    """Validated points scaled to extent 1, so that squared distances neither overflow nor underflow, and neighbours."""
    points = _to_points(X)
    n = points.shape[0]
    if check_count("n_neighbors", n_neighbors, most=None) > n:
        raise InvalidArgumentError(
            f"is more than the {n} points",
            argument="n_neighbors",
            value=n_neighbors,
            remedy=f"pass at most {n}",
        )
    extent = compute_extent(points)
    if extent == 0:
        raise InvalidArgumentError(
            f"holds {n} identical points", argument="X", remedy="pass points that differ"
        )
    return points / extent, min(int(n_neighbors), n - 1)


def compute_extent(points: Points) -> float:
    """Largest difference between two values of a feature; 0 if all points coincide.

    >>> compute_extent(np.array([[0.0, 5.0], [2.0, 4.5]]))
    2.0
    """
    with np.errstate(over="ignore"):
        extent = float((points.max(axis=0) - points.min(axis=0)).max())
    if not np.isfinite(extent):
        raise InvalidArgumentError("has coordinates too large to subtract", argument="X", remedy="rescale it")
    return extent


def _to_points(X: Any) -> NDArray[np.float64]:
    try:
        if np.iscomplexobj(X):
            raise TypeError("complex coordinates")
        points = np.array(X, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidArgumentError(
            f"must be an array of numbers of shape (n_points, n_features), not {type(X).__name__}",
            argument="X",
        ) from error
    if points.ndim != 2:
        on_a_line = ("for points on a line pass ", Setting("X"), ".reshape(-1, 1)")
        raise InvalidArgumentError(
            f"must have two dimensions (points, features), but its shape is {points.shape}",
            argument="X",
            remedy=on_a_line if points.ndim == 1 else "",
        )
    if points.shape[0] < 2 or points.shape[1] < 1:
        raise InvalidArgumentError(
            f"has shape {points.shape}: at least two points with at least one feature are needed",
            argument="X",
        )
    bad = np.flatnonzero(~np.isfinite(points).all(axis=1))
    if bad.size:
        more = f" ({bad.size} such rows)" if bad.size > 1 else ""
        raise InvalidArgumentError(
            f"has a coordinate that is NaN or infinite in row {int(bad[0])}{more}",
            argument="X",
            remedy="drop or impute them",
        )
    return points


def _mean_squared_neighbor_distance(squared: NDArray[np.float64], n_neighbors: int) -> float:
    """Mean squared distance to the ``n_neighbors`` nearest neighbours other than the point itself, over all points."""
    others = squared.copy()
    np.fill_diagonal(others, np.inf)
    others.partition(n_neighbors - 1, axis=1)
    return float(others[:, :n_neighbors].mean())
