"""Agreement of two partitions."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from klump.errors import InvalidArgumentError


def adjusted_rand_index(first: ArrayLike, second: ArrayLike) -> float:
    """Adjusted Rand index of two partitions: 1 if they are equal, 0 in expectation if they are independent.

    Pairs are counted in integers, so the index of equal partitions is exactly 1. (``sklearn.metrics`` has the same
    index, but its call overhead of most of a millisecond exceeds the time of a small search.)

    Parameters
    ----------
    first, second
        The group of each state: whole numbers, 0 or more.

    Examples
    --------
    >>> adjusted_rand_index([0, 0, 1, 1], [1, 1, 0, 0])
    1.0
    >>> adjusted_rand_index([0, 0, 1, 1], [0, 1, 0, 1])
    -0.5
    """
    rows, columns = np.asarray(first, dtype=np.intp), np.asarray(second, dtype=np.intp)
    if rows.shape != columns.shape or rows.ndim != 1:
        raise InvalidArgumentError(
            f"partitions of shapes {rows.shape} and {columns.shape} are not of the same states",
            remedy="pass one label per state in both",
        )
    if rows.size == 0:
        return 1.0
    width = int(columns.max()) + 1
    contingency = np.bincount(rows * width + columns, minlength=(int(rows.max()) + 1) * width).reshape(
        -1, width
    )
    # Ordered pairs of states in the same group of both partitions, of the first and of the second.
    in_both, in_first, in_second = (
        _count_pairs(counts)
        for counts in (contingency.ravel(), contingency.sum(axis=1), contingency.sum(axis=0))
    )
    if in_both == in_first == in_second:
        return 1.0
    n_pairs = rows.size * (rows.size - 1)
    # (in_both - expected) / ((in_first + in_second) / 2 - expected), expected = in_first in_second / n_pairs
    return (
        2
        * (in_both * n_pairs - in_first * in_second)
        / ((in_first + in_second) * n_pairs - 2 * in_first * in_second)
    )


def _count_pairs(counts: np.ndarray) -> int:
    """Count ordered pairs of distinct states within groups of these sizes; a Python int, which cannot overflow."""
    return int(counts @ (counts - 1))
