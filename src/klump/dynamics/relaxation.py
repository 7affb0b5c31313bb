"""Relaxation of a distribution, or of the expectation of an observable, towards the stationary one."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from klump.arguments import check_count
from klump.chain import MarkovChain
from klump.dynamics.simulation import start_distribution
from klump.errors import InvalidArgumentError

Floats = NDArray[np.float64]


def relaxation(chain: MarkovChain, n_steps: int, start: Any, observable: Any) -> Floats:
    """Relaxation curve; see :meth:`klump.MarkovChain.relaxation`."""
    steps = check_count("n_steps", n_steps, least=0)
    distribution, mu = start_distribution(chain, start), chain.stationary_distribution
    values = None if observable is None else _check_observable(observable, chain.n_states)
    found = np.empty(steps + 1)
    for step in range(steps + 1):
        found[step] = np.maximum(distribution - mu, 0.0).sum() if values is None else distribution @ values
        distribution = np.asarray(distribution @ chain.transition_matrix)
    return found


def _check_observable(given: Any, n_states: int) -> Floats:
    try:
        values = np.array(given, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidArgumentError("must be one number per state", argument="observable") from error
    if values.shape != (n_states,) or not np.isfinite(values).all():
        raise InvalidArgumentError(
            f"must be one finite number for each of the {n_states} states", argument="observable"
        )
    return values
