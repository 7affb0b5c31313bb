"""How far the aggregated chain can stray from the original one, step by step."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from klump.chain import MarkovChain
from klump.chain.validation import Matrix
from klump.errors import InvalidArgumentError


@dataclass(frozen=True)
class Bisimulation:
    """Certificate that the original and the aggregated chain are epsilon-bisimilar.

    Examples
    --------
    >>> Bisimulation(epsilon=0.02, bound=0.15, mean=0.01).horizon(10)
    0.2
    """

    epsilon: float
    """The exact value for the relation of the map: the largest total variation, over the states, between
    where a state goes (by groups) and where its group goes."""
    bound: float
    """The paper's Proposition 1, sqrt(ln(2) C_L / (2 min mu)); never below epsilon. Infinite if the chain has no
    unique stationary distribution."""
    mean: float
    """The total variation averaged over the stationary distribution; nan if there is no unique one."""

    def horizon(self, t: int) -> float:
        """Bound the total variation between the laws of the groups at times 0 to ``t`` of both chains.

        It holds for every initial distribution of the original chain, if the aggregated one starts with that of its
        groups: an error of at most epsilon is made in each step.
        """
        if isinstance(t, bool) or not isinstance(t, int | np.integer) or t < 0:
            raise InvalidArgumentError(f"t={t!r} must be a number of steps, 0 or more")
        return min(1.0, t * self.epsilon)


def certify(
    chain: MarkovChain,
    labels: NDArray[np.int32],
    to_groups: Iterable[tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.float64]]],
    aggregated: Matrix,
    lumpability: float | None,
) -> Bisimulation:
    """Certificate of a deterministic map, given P W, Q and C_L, or None if there is no stationary distribution.

    P W comes as rows, columns and values of its entries, in any number of pieces.
    """
    distance = np.zeros(chain.n_states)
    for row, col, law in to_groups:
        # Total variation is the sum of the positive differences, and those need law > 0: zeros need no storage.
        np.add.at(distance, row, np.maximum(law - np.asarray(aggregated[labels[row], col]), 0.0))
    epsilon = float(min(1.0, distance.max()))
    if lumpability is None:
        return Bisimulation(epsilon, np.inf, np.nan)
    least = float(chain.stationary_distribution.min())
    proposition = np.sqrt(np.log(2.0) * lumpability / 2.0) / np.sqrt(least) if least > 0.0 else np.inf
    # Mathematically the bound is never below epsilon; keep rounding from saying otherwise.
    bound = max(float(proposition), epsilon)
    return Bisimulation(epsilon, bound, float(distance @ chain.stationary_distribution))
