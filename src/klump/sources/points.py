"""Similarities between points, for the random walk that prefers near ones."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from klump.errors import InvalidArgumentError


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

    points = _points(X)
    n = points.shape[0]
    if isinstance(n_neighbors, bool) or not isinstance(n_neighbors, (int, np.integer)) or n_neighbors < 1:
        raise InvalidArgumentError(f"n_neighbors={n_neighbors!r} must be a whole number, at least 1")
    if n_neighbors > n:
        raise InvalidArgumentError(f"n_neighbors={n_neighbors} is more than the {n} points; pass at most {n}")
    with np.errstate(over="ignore"):
        extent = np.ptp(points, axis=0).max()
    if extent == 0:
        raise InvalidArgumentError(f"X holds {n} identical points; distances between them say nothing")
    if not np.isfinite(extent):
        raise InvalidArgumentError("X has coordinates too large to subtract; rescale it")
    # The weights do not depend on the unit of length; this one keeps the squares in range.
    unit = points / extent
    squared = cdist(unit, unit, "sqeuclidean")
    scale = _mean_squared_neighbor_distance(squared, min(int(n_neighbors), n - 1))
    if scale == 0:
        raise InvalidArgumentError(
            f"n_neighbors={n_neighbors} sees only duplicates of each point in X; "
            "pass more neighbours or drop the duplicates"
        )
    squared /= -scale
    return np.asarray(np.exp(squared, out=squared))


def _points(X: Any) -> NDArray[np.float64]:
    try:
        points = np.array(X, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidArgumentError(
            f"X must be an array of numbers of shape (n_points, n_features), not {type(X).__name__}"
        ) from error
    if points.ndim != 2:
        hint = "; for points on a line pass X.reshape(-1, 1)" if points.ndim == 1 else ""
        raise InvalidArgumentError(
            f"X must have two dimensions (points, features), but its shape is {points.shape}{hint}"
        )
    if points.shape[0] < 2 or points.shape[1] < 1:
        raise InvalidArgumentError(
            f"X has shape {points.shape}: at least two points with at least one feature are needed"
        )
    bad = np.flatnonzero(~np.isfinite(points).all(axis=1))
    if bad.size:
        raise InvalidArgumentError(
            f"X has a coordinate that is NaN or infinite in row {int(bad[0])} ({bad.size} such rows); "
            "drop or impute them"
        )
    return points


def _mean_squared_neighbor_distance(squared: NDArray[np.float64], n_neighbors: int) -> float:
    """Mean over the points of the mean squared distance to their nearest neighbours, themselves left out."""
    others = squared.copy()
    np.fill_diagonal(others, np.inf)
    others.partition(n_neighbors - 1, axis=1)
    return float(others[:, :n_neighbors].mean())
