"""Approximate bisimulation: total variation between the original and the aggregated chain, per step."""

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
    """max_i TV((P W)[i, :], Q[g(i), :]): the largest total variation between a state's and its group's next-group
    distribution, the exact value for the relation that the map g defines."""
    bound: float
    """The paper's Proposition 1, sqrt(ln(2) C_L / (2 min mu)); never below epsilon. Infinite if the chain has no
    unique stationary distribution."""
    mean: float
    """Stationary mean of that total variation; NaN if the stationary distribution is not unique."""

    def horizon(self, t: int) -> float:
        """Bound the total variation between the joint distributions of the groups at times 0 to ``t`` of both chains.

        The bound is 1 - (1 - epsilon)^t. It holds for every initial distribution of the original chain, if the
        aggregated one starts from that of its groups. :meth:`Guarantees.horizon` is for stationary chains, and much
        smaller if states whose next-group distribution differs from that of their group are rare.

        Examples
        --------
        >>> import klump
        >>> P = [[0.9, 0.1, 0.0], [0.5, 0.0, 0.5], [0.0, 0.1, 0.9]]
        >>> answer = klump.Aggregation.from_labels(P, [0, 0, 1])
        >>> [round(answer.bisimulation.horizon(t), 4) for t in (1, 10)]
        [0.4167, 0.9954]
        """
        return coupling_bound(self.epsilon, check_steps(t))


def certify(
    chain: MarkovChain,
    labels: NDArray[np.int32],
    next_group: Iterable[tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.float64]]],
    aggregated: Matrix,
    lumpability: float | None,
) -> Bisimulation:
    """Certify a deterministic map, given P W, Q and C_L.

    Parameters
    ----------
    chain, labels
        The original chain and the map.
    next_group
        P W in coordinate format, in chunks: rows, columns and values.
    aggregated
        Q.
    lumpability
        C_L; None if the stationary distribution is not unique.
    """
    distance = np.zeros(chain.n_states)
    for row, col, p in next_group:
        # TV(p, q) = sum of max(p - q, 0), which only needs the entries with p > 0.
        np.add.at(distance, row, np.maximum(p - np.asarray(aggregated[labels[row], col]), 0.0))
    epsilon = float(min(1.0, distance.max()))
    if lumpability is None:
        return Bisimulation(epsilon, np.inf, np.nan)
    least = float(chain.stationary_distribution.min())
    proposition = np.sqrt(np.log(2.0) * lumpability / 2.0) / np.sqrt(least) if least > 0.0 else np.inf
    # bound >= epsilon holds exactly; rounding must not violate it.
    bound = max(float(proposition), epsilon)
    return Bisimulation(epsilon, bound, float(distance @ chain.stationary_distribution))
