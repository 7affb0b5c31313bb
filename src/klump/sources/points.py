"""Similarity matrices and nearest-neighbour graphs of points, for random walks."""

from __future__ import annotations

from typing import Any

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
    from scipy.spatial.distance import cdist

    unit, n_neighbors = _check_points(X, n_neighbors)
    squared = cdist(unit, unit, "sqeuclidean")
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
    from sklearn.neighbors import NearestNeighbors

    unit, n_neighbors = _check_points(X, n_neighbors)
    tree = NearestNeighbors(n_neighbors=n_neighbors).fit(unit)
    halves = sparse.csr_array(tree.kneighbors_graph()) * 0.5
    weights = sparse.csr_array(halves + halves.T + sparse.eye_array(unit.shape[0]))
    while True:
        n_components, component = connected_components(weights, directed=False)
        if n_components == 1:
            return weights
        links = _nearest_links(tree, unit, component)
        weights = sparse.csr_array(weights + links.maximum(links.T))


def _nearest_links(tree: Any, points: NDArray[np.float64], component: NDArray[Any]) -> sparse.csr_array:
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
    return sparse.csr_array((np.full(row.size, _LINK_WEIGHT), (row, column)), shape=(n, n))


def _link_large(points: NDArray[np.float64], component: NDArray[Any], number: int) -> NDArray[np.intp]:
    """Shortest edge out of one component, from a tree of all points outside."""
    from sklearn.neighbors import NearestNeighbors

    inside, outside = np.flatnonzero(component == number), np.flatnonzero(component != number)
    distance, nearest = NearestNeighbors(n_neighbors=1).fit(points[outside]).kneighbors(points[inside])
    here = int(np.argmin(distance[:, 0]))
    return np.array([[inside[here], outside[nearest[here, 0]]]])


def _link_small(
    tree: Any, points: NDArray[np.float64], component: NDArray[Any], small: NDArray[np.bool_], most: int
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
    with np.errstate(over="ignore"):
        extent = np.ptp(points, axis=0).max()
    if extent == 0:
        raise InvalidArgumentError(
            f"holds {n} identical points", argument="X", remedy="pass points that differ"
        )
    if not np.isfinite(extent):
        raise InvalidArgumentError("has coordinates too large to subtract", argument="X", remedy="rescale it")
    return points / extent, min(int(n_neighbors), n - 1)


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
