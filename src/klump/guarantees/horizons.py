"""Bounds on the total variation between laws of paths: from one step, and from a divergence."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from klump import information
from klump.arguments import check_count
from klump.chain.rows import row_blocks
from klump.guarantees.entropy_rate import Observed

# Largest number of steps: what 64 bits hold.
LARGEST_TIME = 2**63 - 1
# Nats per bit.
_NATS = math.log(2.0)


def check_steps(t: Any) -> int:
    """Return a number of steps as an int, 0 or more."""
    return check_count("t", t, least=0, most=LARGEST_TIME)


def coupling_bound(epsilon: float, t: int) -> float:
    """1 - (1 - epsilon)^t, without cancellation.

    If two processes with the same past differ by at most epsilon in the law of the next step, a maximal coupling
    keeps them together for t steps with probability (1 - epsilon)^t at least.

    >>> coupling_bound(0.5, 2), coupling_bound(1e-20, 10), coupling_bound(1.0, 0), coupling_bound(1.0, 1)
    (0.75, 1e-19, 0.0, 1.0)
    """
    if epsilon >= 1.0:
        return float(t > 0)
    return -math.expm1(t * math.log1p(-epsilon))


def total_variation_bound(bits: float) -> float:
    """Bound on the total variation of two laws from their divergence KL, in bits.

    The least of sqrt(KL ln(2) / 2) (Pinsker) and sqrt(1 - 2^-KL) (Bretagnolle and Huber). Both are concave in KL: the
    bound also holds for means of total variations and divergences.

    >>> round(total_variation_bound(0.02), 6), round(total_variation_bound(4.0), 6)
    (0.083255, 0.968246)
    """
    nats = bits * _NATS
    return math.sqrt(min(nats / 2.0, -math.expm1(-nats)))


def one_step(seen: Observed) -> tuple[float, float]:
    """Stationary mean and maximum of TV((P W)[i, :], Q[y, :]) over states i and their groups y.

    The mean is sum_i sum_y mu[i] W[i, y] TV((P W)[i, :], Q[y, :]).
    """
    mean, largest = 0.0, 0.0
    for rows, laws in row_blocks(seen.laws):
        own = seen.weights[rows]
        state = np.repeat(np.arange(own.shape[0]), np.diff(own.indptr))
        # A row for each state and group of it.
        pair, col, law = information.coordinates(laws if own.nnz == own.shape[0] else laws[state])
        # Total variation is the sum of the positive differences, which need law > 0.
        excess = np.maximum(law - np.asarray(seen.aggregated[own.indices[pair], col]), 0.0)
        distance = np.bincount(pair, excess, minlength=own.nnz)
        mean += float(np.sum(own.data * seen.mu[rows][state] * distance))
        largest = max(largest, float(distance.max()))
    return mean, min(1.0, largest)
