"""What is lost over all times, between bounds: Y is what is seen of the chain X, Y~ the aggregated chain.

The entropy rate of Y has no formula, so everything that depends on it is bracketed. With
D = D(Y||Y~) = H(Y2|Y1) - H(Y) (Lemma 2) the others are

    H(Y) = H(Y2|Y1) - D,    R(Y) = I(Y1;Y2) + D,    delta_beta = beta C_P + (1 - 2 beta) D,

so that one bracket, of D, gives them all; and as it starts from 0 <= D <= C_L, delta_beta never leaves what Lemma 4
says of it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from klump import information
from klump.chain import MarkovChain
from klump.errors import InvalidArgumentError
from klump.guarantees.entropy_rate import Block, blocks
from klump.threads import one_thread

TOLERANCE = 1e-6
BUDGET = 2e8

Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Bracket:
    """Two numbers between which a third one lies that cannot be computed.

    Examples
    --------
    >>> bracket = Bracket(0.25, 0.5)
    >>> bracket.gap, bracket.contains(0.3), bracket.contains(0.6), bracket.contains(0.6, slack=0.1)
    (0.25, True, False, True)
    """

    lower: float
    upper: float

    @property
    def gap(self) -> float:
        """Distance between the bounds."""
        return self.upper - self.lower

    def contains(self, value: float, slack: float = 0.0) -> bool:
        """Whether a value lies between the bounds, or outside by no more than ``slack``."""
        return self.lower - slack <= value <= self.upper + slack


@dataclass(frozen=True)
class Guarantees:
    """What is lost over all times, in bits, each number between bounds that are certain."""

    divergence: Bracket
    """D(Y||Y~), the divergence rate of what is seen from the aggregated chain: how far Y is from Markov."""
    entropy_rate: Bracket
    """H(Y), the new information in each step of what is seen."""
    redundancy_rate: Bracket
    """R(Y) = H(Y1) - H(Y), what all the past tells of the next group."""
    predictability: float
    """C_P, from which :meth:`delta` starts."""
    block_length: int
    """Length of the longest blocks of groups that the bounds come from."""
    operations: int
    """Work spent on them: logarithms and multiplications."""

    def delta(self, beta: float) -> Bracket:
        """Bracket delta_beta = (1 - beta) D(Y||Y~) + beta (R(X) - R(Y)), which C_beta relaxes."""
        number = isinstance(beta, int | float | np.integer | np.floating) and not isinstance(beta, bool)
        if not number or not 0.0 <= beta <= 1.0:
            raise InvalidArgumentError(f"beta={beta!r} must be a number between 0 and 1")
        start, slope = float(beta) * self.predictability, 1.0 - 2.0 * float(beta)
        ends = start + slope * self.divergence.lower, start + slope * self.divergence.upper
        return Bracket(max(0.0, min(ends)), max(0.0, *ends))


def bracketed(
    chain: MarkovChain,
    weights: sparse.csr_array,
    lumpability: float,
    predictability: float,
    tolerance: float = TOLERANCE,
    budget: float = BUDGET,
    progress: Progress | None = None,
) -> Guarantees:
    """Brackets for a map W, given C_L and C_P, from blocks that get longer until one of the limits is met.

    Parameters
    ----------
    chain
        The chain X.
    weights
        The map W, deterministic or stochastic.
    lumpability, predictability
        What the map costs.
    tolerance
        Stop when the bounds are at most this far apart, in bits.
    budget
        Stop before more operations than this: logarithms and multiplications, of which about 1e8 take a second.
    progress
        Called with the operations done and the budget.
    """
    tolerance, budget = _checked("tolerance", tolerance), _checked("budget", budget)
    longer = blocks(chain, weights, budget)
    last = shortest = next(longer)
    kept = information.mutual_information(sparse.csr_array(weights.T) @ (chain.joint @ weights))
    found = _from_single_steps(chain, weights, shortest, lumpability, kept)
    with one_thread():
        while found.gap > tolerance and (block := next(longer, None)) is not None:
            last = block
            found = _tightened(found, shortest, block, lumpability)
            if progress is not None:
                progress(block.operations, int(budget))
    step = shortest.upper
    most = max(kept, min(kept + found.upper, chain.redundancy_rate))
    return Guarantees(
        found,
        Bracket(max(0.0, step - found.upper), max(0.0, step - found.lower)),
        Bracket(min(kept + found.lower, most), most),
        predictability,
        last.length,
        last.operations,
    )


def _from_single_steps(
    chain: MarkovChain, weights: sparse.csr_array, shortest: Block, lumpability: float, kept: float
) -> Bracket:
    """Bracket of D before any longer block.

    D is at most C_L; and as the entropy rate is the same backwards in time, also at most the C_L of the
    reversed chain, I(Y1;X2) - I(Y1;Y2), which is why Lemma 3 holds. A deterministic map makes no information, so
    that H(Y) <= H(X).
    """
    backwards = information.mutual_information(chain.joint.T @ weights) - kept
    upper = max(0.0, min(lumpability, backwards + shortest.rounding))
    deterministic = weights.nnz == chain.n_states
    lower = shortest.upper - chain.entropy_rate - shortest.rounding if deterministic else 0.0
    return Bracket(min(max(0.0, lower), upper), upper)


def _tightened(found: Bracket, shortest: Block, block: Block, lumpability: float) -> Bracket:
    """Bracket of D, made tighter by longer blocks; bounds are moved apart by what rounding may have done."""
    lower = max(found.lower, shortest.upper - block.upper - block.rounding)
    upper = min(found.upper, lumpability - (block.lower - shortest.lower) + block.rounding)
    return Bracket(min(lower, upper), max(lower, upper))


def _checked(name: str, value: Any) -> float:
    number = isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
    if not number or not 0.0 <= value < np.inf:
        raise InvalidArgumentError(f"{name}={value!r} must be a finite number, 0 or more")
    return float(value)
