"""What is lost over all times, between bounds: Y is what is seen of the chain X, Y~ the aggregated chain.

The entropy rate of Y has no formula, so everything that depends on it is bracketed. With
D = D(Y||Y~) = H(Y2|Y1) - H(Y) (Lemma 2) the others are

    H(Y) = H(Y2|Y1) - D,    R(Y) = I(Y1;Y2) + D,    delta_beta = beta C_P + (1 - 2 beta) D,

so that one bracket, of D, gives them all; and as it starts from 0 <= D <= C_L, delta_beta never leaves what Lemma 4
says of it.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass

from scipy import sparse

from klump import information
from klump.arguments import check_number
from klump.chain import MarkovChain
from klump.guarantees.entropy_rate import Block, blocks, observe
from klump.guarantees.horizons import check_steps, coupling_bound, one_step, total_variation_bound
from klump.parallel import one_thread

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
    path_variations: tuple[float, ...]
    """Total variation between the laws of Y_0 .. Y_t and Y~_0 .. Y~_t, both stationary, for t = 0 .. block_length - 1;
    exact but for an allowance for rounding."""
    path_divergences: tuple[float, ...]
    """Divergence of these laws in bits, at most."""
    mean_variation: float
    """Stationary mean of the total variation between a state's and its group's next-group distribution."""
    largest_variation: float
    """Largest total variation between a state's and its group's next-group distribution."""

    def horizon(self, t: int) -> float:
        """Bound the total variation between the laws of the groups at times 0 to ``t`` of both chains, stationary.

        With TV_t this total variation and KL_t the divergence of the two laws, in bits, the bound is TV_t for
        t < block_length. For larger t, with s = block_length - 1, D the upper end of :attr:`divergence` and
        f(x) = min(sqrt(x ln(2) / 2), sqrt(1 - 2^-x)), it is the least of

            TV_s + (t - s) mean_variation,
            TV_s + f((t - s) D),
            f(KL_s + (t - s) D),
            1 - (1 - TV_s) (1 - largest_variation)^(t - s).

        It never decreases with t. ``docs/guarantees.md`` has the proofs.

        Examples
        --------
        >>> from klump import Aggregation
        >>> P = [[0.4, 0.3, 0.3], [0.25, 0.3, 0.45], [0.15, 0.425, 0.425]]
        >>> answer = Aggregation.from_labels(P, [0, 1, 1])
        >>> [round(answer.guarantees.horizon(t), 4) for t in (1, 2, 3, 100)]
        [0.0, 0.001, 0.0018, 0.0193]
        >>> round(answer.bisimulation.horizon(100), 4)
        0.9959
        """
        steps = check_steps(t)
        known = len(self.path_variations) - 1
        if steps <= known:
            return self.path_variations[steps]
        start, more, divergence = self.path_variations[-1], steps - known, self.divergence.upper
        bound = min(
            start + more * self.mean_variation,
            start + total_variation_bound(more * divergence),
            total_variation_bound(self.path_divergences[-1] + more * divergence),
            start + (1.0 - start) * coupling_bound(self.largest_variation, more),
        )
        return min(1.0, max(start, bound))

    def delta(self, beta: float) -> Bracket:
        """Bracket delta_beta = (1 - beta) D(Y||Y~) + beta (R(X) - R(Y)), which C_beta relaxes."""
        beta = check_number("beta", beta, most=1.0)
        start, slope = beta * self.predictability, 1.0 - 2.0 * beta
        ends = start + slope * self.divergence.lower, start + slope * self.divergence.upper
        return Bracket(max(0.0, min(ends)), max(0.0, *ends))


def compute_guarantees(
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
    tolerance, budget = check_number("tolerance", tolerance), check_number("budget", budget)
    seen = observe(chain, weights)
    longer = blocks(seen, budget)
    shortest = next(longer)
    done = [shortest]
    kept = information.mutual_information(seen.pairs)
    found = _from_single_steps(chain, weights, shortest, lumpability, kept)
    with one_thread():
        while found.gap > tolerance and (block := next(longer, None)) is not None:
            done.append(block)
            found = _tighten(found, shortest, block, lumpability)
            if progress is not None:
                progress(block.operations, int(budget))
    step = shortest.upper
    most = max(kept, min(kept + found.upper, chain.redundancy_rate))
    return Guarantees(
        found,
        Bracket(max(0.0, step - found.upper), max(0.0, step - found.lower)),
        Bracket(min(kept + found.lower, most), most),
        predictability,
        done[-1].length,
        done[-1].operations,
        _path_variations(done),
        _path_divergences(done, found.upper),
        *one_step(seen),
    )


def _path_variations(found: list[Block]) -> tuple[float, ...]:
    """Total variation of path laws for t = 0, 1, 2, ...; it is 0 for one and two letters, and never decreases."""
    allowed = [min(1.0, block.total_variation + block.rounding) for block in found[1:]]
    return (0.0, *itertools.accumulate([0.0, *allowed], max))


def _path_divergences(found: list[Block], most: float) -> tuple[float, ...]:
    """Divergence of path laws for t = 0, 1, 2, ...: the sum of H(Y2|Y1) - H(Y_m+1|Y_1 .. Y_m) for m = 1 .. t.

    No term is larger than D(Y||Y~), hence than ``most``.
    """
    step = found[0].upper
    terms = [min(max(0.0, step - block.upper + block.rounding), most) for block in found[1:]]
    return (0.0, *itertools.accumulate([0.0, *terms]))


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


def _tighten(found: Bracket, shortest: Block, block: Block, lumpability: float) -> Bracket:
    """Bracket of D, made tighter by longer blocks; bounds are moved apart by what rounding may have done."""
    lower = max(found.lower, shortest.upper - block.upper - block.rounding)
    upper = min(found.upper, lumpability - (block.lower - shortest.lower) + block.rounding)
    return Bracket(min(lower, upper), max(lower, upper))
