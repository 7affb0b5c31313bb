"""Bounds on the total variation between distributions of paths: from one step, and from a divergence."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from klump import information
from klump.arguments import check_count
from klump.chain.rows import row_blocks
from klump.guarantees.entropy_rate import HiddenMarkovProcess

# Largest number of steps: the largest int64.
LARGEST_TIME = 2**63 - 1
# Nats per bit, ln 2.
_NATS_PER_BIT = math.log(2.0)


def check_steps(t: Any) -> int:
    """Return a number of steps as an int, 0 or more."""
    return check_count("t", t, least=0, most=LARGEST_TIME)


def coupling_bound(epsilon: float, t: int) -> float:
    """1 - (1 - epsilon)^t, without cancellation.

    If, given the same past, the next-step distributions of two processes are within epsilon in total variation, a
    maximal coupling keeps the processes equal for t steps with probability at least (1 - epsilon)^t.

    >>> coupling_bound(0.5, 2), coupling_bound(1e-20, 10), coupling_bound(1.0, 0), coupling_bound(1.0, 1)
    (0.75, 1e-19, 0.0, 1.0)
    """
    if epsilon >= 1.0:
        return float(t > 0)
    return -math.expm1(t * math.log1p(-epsilon))


def total_variation_bound(bits: float) -> float:
    """Bound on the total variation of two distributions from their divergence KL, in bits.

    The smaller of sqrt(KL ln(2) / 2) (Pinsker) and sqrt(1 - 2^-KL) (Bretagnolle and Huber). Both are concave in KL: the
    bound also holds for means of total variations and divergences.

    >>> round(total_variation_bound(0.02), 6), round(total_variation_bound(4.0), 6)
    (0.083255, 0.968246)
    """
    nats = bits * _NATS_PER_BIT
    return math.sqrt(min(nats / 2.0, -math.expm1(-nats)))


def one_step_variations(process: HiddenMarkovProcess) -> tuple[float, float]:
    """Stationary mean and maximum of TV((P W)[i, :], Q[y, :]) over states i and their groups y.

    The mean is sum_i sum_y mu[i] W[i, y] TV((P W)[i, :], Q[y, :]).
    """
    mean, largest = 0.0, 0.0
    for rows, next_group in row_blocks(process.next_group):
        own = process.weights[rows]
        state = np.repeat(np.arange(own.shape[0]), np.diff(own.indptr))
        # One row per pair of a state and a group y with W[i, y] > 0.
        pair, col, p = information.coordinates(next_group if own.nnz == own.shape[0] else next_group[state])
        # TV(p, q) = sum of max(p - q, 0), which only needs the entries with p > 0.
        excess = np.maximum(p - np.asarray(process.aggregated[own.indices[pair], col]), 0.0)
        distance = np.bincount(pair, excess, minlength=own.nnz)
        mean += float(np.sum(own.data * process.mu[rows][state] * distance))
        largest = max(largest, float(distance.max()))
    return mean, min(1.0, largest)
