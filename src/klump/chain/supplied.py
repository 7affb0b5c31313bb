"""Validation of a stationary distribution that the caller supplied."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from klump.chain.connectivity import communicating_classes
from klump.chain.stationary import stationary_distribution
from klump.chain.validation import Matrix
from klump.errors import ConvergenceError, InvalidChainError

# Remedy for a distribution that is not valid.
_COMPUTE = "leave it out to have it computed"
# Largest |sum of mu - 1|, and largest residual sum |mu P - mu|.
_MAX_RESIDUAL = 1e-8
# Largest |sum of mu - 1| that is left as it is, and residual up to which mu is that of a solver or a formula.
_ROUNDING = 1e-12
# States up to which mu is compared with klump's own solution however small its residual: that takes some milliseconds.
_MAX_COMPARED = 500
# Largest sum of differences from klump's own solution.
_MAX_DIFFERENCE = 1e-6


def check_stationary_distribution(given: Any, matrix: Matrix) -> NDArray[np.float64]:
    """Validate a stationary distribution that the caller supplied, and return a copy."""
    try:
        mu = np.array(given, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidChainError(
            "must be a vector of numbers", argument="stationary_distribution", remedy=_COMPUTE
        ) from error
    n = matrix.shape[0]
    if mu.shape != (n,):
        raise InvalidChainError(
            f"has shape {mu.shape}, but the chain has {n} states",
            argument="stationary_distribution",
            remedy=_COMPUTE,
        )
    if not np.isfinite(mu).all() or (mu < 0).any():
        where = int(np.flatnonzero(~np.isfinite(mu) | (mu < 0))[0])
        raise InvalidChainError(
            f"has {mu[where]} at state {where}: probabilities are finite and non-negative",
            argument="stationary_distribution",
            row=where,
            remedy=_COMPUTE,
        )
    if abs(mu.sum() - 1.0) > _MAX_RESIDUAL:
        raise InvalidChainError(
            f"sums to {mu.sum():.12g} instead of 1", argument="stationary_distribution", remedy=_COMPUTE
        )
    if abs(mu.sum() - 1.0) > _ROUNDING:  # else bit for bit, so that files round-trip
        mu /= mu.sum()
    flow = np.abs(mu @ matrix - mu)
    if flow.sum() > _MAX_RESIDUAL:
        worst = int(np.argmax(flow))
        raise InvalidChainError(
            f"is not stationary: at state {worst} mu P differs from mu by {flow[worst]:.3g}",
            argument="stationary_distribution",
            row=worst,
            remedy=_COMPUTE,
        )
    if n <= _MAX_COMPARED or flow.sum() > _ROUNDING:
        _compare_with_solution(mu, matrix)
    return mu


def _compare_with_solution(mu: NDArray[np.float64], matrix: Matrix) -> None:
    """Raise if an irreducible chain has another stationary distribution.

    A small residual does not exclude that: with couplings of 1e-9 between two halves, every distribution that is
    stationary within each half has a residual of 1e-9 at most.
    """
    if communicating_classes(matrix).n_classes > 1:
        return
    try:
        solution = stationary_distribution(matrix)
    except ConvergenceError:
        return
    difference = np.abs(mu - solution)
    if difference.sum() > _MAX_DIFFERENCE:
        worst = int(np.argmax(difference))
        raise InvalidChainError(
            f"is not that of the chain: it has {mu[worst]:.6g} instead of {solution[worst]:.6g} at state {worst}",
            argument="stationary_distribution",
            row=worst,
            remedy=_COMPUTE,
        )
