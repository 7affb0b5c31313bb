"""How far two partitions agree."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from klump.errors import InvalidArgumentError


def adjusted_rand_index(first: ArrayLike, second: ArrayLike) -> float:
    """Adjusted Rand index of two partitions: 1 if they are equal, 0 on average if they have nothing in common.

    Pairs are counted in whole numbers, so the index of equal partitions is exactly 1. (scikit-learn has the
    same index, but takes most of a millisecond for it, more than the search it would measure.)

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
            f"partitions of shapes {rows.shape} and {columns.shape} are not of the same states"
        )
    if rows.size == 0:
        return 1.0
    width = int(columns.max()) + 1
    both = np.bincount(rows * width + columns, minlength=(int(rows.max()) + 1) * width).reshape(-1, width)
    # Ordered pairs of states that are together in both, in the first and in the second.
    in_both, in_first, in_second = (
        _pairs(counts) for counts in (both.ravel(), both.sum(axis=1), both.sum(axis=0))
    )
    if in_both == in_first == in_second:
        return 1.0
    every = rows.size * (rows.size - 1)
    # (in_both - expected) / ((in_first + in_second) / 2 - expected), expected = in_first in_second / every
    return (
        2
        * (in_both * every - in_first * in_second)
        / ((in_first + in_second) * every - 2 * in_first * in_second)
    )


def _pairs(counts: np.ndarray) -> int:
    """Ordered pairs of different states within groups of these sizes, as a Python integer: it cannot overflow."""
    return int(counts @ (counts - 1))
