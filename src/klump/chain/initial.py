"""The distribution of the first state, from what a caller may give for it."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from klump.errors import InvalidArgumentError

# Largest |sum of the vector - 1|.
_TOLERANCE = 1e-8
# Largest |sum of the vector - 1| that is left as it is, so that files round-trip bit for bit.
_ROUNDING = 1e-12
_FORMS = "pass the name of a state, a dict {state: mass}, or one probability per state"


def initial_distribution(given: Any, states: Sequence[Hashable]) -> NDArray[np.float64]:
    """Distribution over the states from the name of a state, a dict of masses, or a vector.

    The masses of a dict are divided by their sum; a vector must sum to 1.

    >>> initial_distribution({"b": 1, "c": 3}, ("a", "b", "c"))
    array([0.  , 0.25, 0.75])
    """
    n = len(states)
    if _is_hashable(given) and given in states:
        distribution = np.zeros(n)
        distribution[states.index(given)] = 1.0
        return distribution
    if isinstance(given, Mapping):
        return _from_masses(given, states)
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise InvalidArgumentError("is not the name of a state", argument="initial", value=given)
    try:
        distribution = np.array(given, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidArgumentError(
            "must be the name of a state, a dict of masses, or one probability per state", argument="initial"
        ) from error
    if distribution.shape != (n,):
        raise InvalidArgumentError(
            f"has shape {distribution.shape}, but the chain has {n} states", argument="initial", remedy=_FORMS
        )
    bad = np.flatnonzero(~np.isfinite(distribution) | (distribution < 0))
    if bad.size:
        raise InvalidArgumentError(
            f"must be a distribution, but it has {distribution[bad[0]]} at state {bad[0]}", argument="initial"
        )
    if abs(distribution.sum() - 1.0) > _TOLERANCE:
        raise InvalidArgumentError(
            f"must be a distribution, but it sums to {distribution.sum():.12g}",
            argument="initial",
            remedy="divide it by its sum",
        )
    return distribution if abs(distribution.sum() - 1.0) <= _ROUNDING else distribution / distribution.sum()


def _from_masses(masses: Mapping[Any, Any], states: Sequence[Hashable]) -> NDArray[np.float64]:
    distribution = np.zeros(len(states))
    number = states.index if len(masses) <= 1 else {name: i for i, name in enumerate(states)}.__getitem__
    for name, mass in masses.items():
        try:
            place = number(name)
        except (KeyError, ValueError):
            raise InvalidArgumentError(
                f"has mass at {name!r}, which is not the name of a state", argument="initial", remedy=_FORMS
            ) from None
        try:
            distribution[place] = float(mass)
        except (TypeError, ValueError) as error:
            raise InvalidArgumentError(
                f"has {mass!r} at state {name!r}, which is not a number", argument="initial"
            ) from error
    total = distribution.sum()
    if not (distribution >= 0).all() or not 0 < total < np.inf:
        raise InvalidArgumentError(
            "must have masses that are finite, not negative and not all zero",
            argument="initial",
            value=dict(masses),
        )
    return distribution / total


def _is_hashable(given: Any) -> bool:
    try:
        hash(given)
    except TypeError:
        return False
    return True
