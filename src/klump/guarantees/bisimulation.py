"""How far the aggregated chain can stray from the original one, step by step."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from klump.chain import MarkovChain
from klump.chain.validation import Matrix
from klump.guarantees.horizons import check_steps, coupling_bound


@dataclass(frozen=True)
class Bisimulation:
    """Certificate that the original and the aggregated chain are epsilon-bisimilar.

    Examples
    --------
    >>> round(Bisimulation(epsilon=0.02, bound=0.15, mean=0.01).horizon(10), 6)
    0.182927
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

        The bound is 1 - (1 - epsilon)^t. It holds for every initial distribution of the original chain, if the
        aggregated one starts with that of its groups. :meth:`Guarantees.horizon` is for stationary chains, and much
        smaller if the states that behave unlike their group are rare.
        """
        return coupling_bound(self.epsilon, check_steps(t))


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
