"""Concentration of the stationary mass on few states."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

# Number of states from which on a chain can be concentrated.
_MIN_STATES = 100
# Share of the states, and number of states, below which those that hold half of the mass are few.
_MAX_SHARE = 0.05
_MAX_STATES = 50


def count_half_mass(mu: NDArray[np.float64]) -> int:
    """Smallest number of states that hold half of the mass together.

    >>> count_half_mass(np.array([0.1, 0.4, 0.3, 0.2]))
    2
    """
    return int(np.searchsorted(np.cumsum(np.sort(mu)[::-1]), 0.5 * mu.sum())) + 1


def is_concentrated(mu: NDArray[np.float64]) -> bool:
    """Whether fewer than 5 % of at least 100 states, and fewer than 50 states, hold half of the mass.

    >>> is_concentrated(np.full(200, 1 / 200)), is_concentrated(np.r_[np.full(9, 0.1), np.full(191, 0.1 / 191)])
    (False, True)
    """
    n = mu.size
    few = min(_MAX_STATES, int(np.ceil(_MAX_SHARE * n))) - 1
    return n >= _MIN_STATES and bool(np.partition(mu, n - few)[n - few :].sum() >= 0.5 * mu.sum())
