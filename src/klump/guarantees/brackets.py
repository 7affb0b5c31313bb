"""Brackets of the rates that an aggregation loses: Y is the process of the groups of X, Y~ the aggregated chain.

Y is a hidden Markov process: its entropy rate has no closed form, so the quantities that depend on it are bracketed.
With D = D(Y||Y~) = H(Y2|Y1) - H(Y) (Lemma 2) the others are

    H(Y) = H(Y2|Y1) - D,    R(Y) = I(Y1;Y2) + D,    delta_beta = beta C_P + (1 - 2 beta) D,

so that one bracket, of D, gives them all; and as it starts from 0 <= D <= C_L, delta_beta stays within the bounds of
Lemma 4.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

from scipy import sparse

from klump import information, signals
from klump.arguments import Progress, check_number, check_progress
from klump.chain import MarkovChain
from klump.guarantees.entropy_rate import Block, blocks, hidden_markov_process
from klump.guarantees.horizons import check_steps, coupling_bound, one_step_variations, total_variation_bound
from klump.parallel import one_thread

# Default width of the bracket of D, in bits per step.
TOLERANCE = 1e-6
# Default limit of operations (logarithms and multiplications): about two seconds.
BUDGET = 2e8


@dataclass(frozen=True)
class Bracket:
    """A lower and an upper bound on a quantity without a closed form.

    Examples
    --------
    >>> bracket = Bracket(0.25, 0.5)
    >>> bracket.gap, bracket.contains(0.3), bracket.contains(0.6), bracket.contains(0.6, slack=0.1)
    (0.25, True, False, True)
    """

    lower: float
    """Lower bound."""
    upper: float
    """Upper bound."""

    @property
    def gap(self) -> float:
        """Distance between the bounds."""
        return self.upper - self.lower

    def contains(self, value: float, slack: float = 0.0) -> bool:
        """Whether a value lies between the bounds, or outside by no more than ``slack``."""
        return self.lower - slack <= value <= self.upper + slack


@dataclass(frozen=True)
class Guarantees:
    """Rates that the aggregation loses, in bits per step, each between a proven lower and upper bound.

    Examples
    --------
    >>> import klump
    >>> P = [[0.9, 0.1, 0.0], [0.5, 0.0, 0.5], [0.0, 0.1, 0.9]]
    >>> answer = klump.Aggregation.from_labels(P, [0, 0, 1])
    >>> bounds = answer.guarantees
    >>> round(bounds.divergence.upper, 4), round(answer.costs.lumpability, 4)
    (0.0484, 0.1348)
    """

    divergence: Bracket
    """D(Y||Y~), the divergence rate of the groups from the aggregated chain; 0 if Y is a Markov chain."""
    entropy_rate: Bracket
    """H(Y), the entropy rate of the groups."""
    redundancy_rate: Bracket
    """R(Y) = H(Y1) - H(Y), the mutual information between the next group and the whole past."""
    predictability: float
    """C_P, needed by :meth:`delta`."""
    block_length: int
    """Length of the longest blocks of groups that the bounds come from."""
    operations: int
    """Operations spent on them: logarithms and multiplications."""
    path_variations: tuple[float, ...]
    """Total variation between the distributions of Y_0 .. Y_t and Y~_0 .. Y~_t, both stationary, for
    t = 0 .. block_length - 1; exact up to an added bound on the rounding error."""
    path_divergences: tuple[float, ...]
    """Upper bounds on the divergence of these distributions, in bits."""
    mean_variation: float
    """Stationary mean of the total variation between a state's and its group's next-group distribution."""
    largest_variation: float
    """Largest total variation between a state's and its group's next-group distribution."""

    def horizon(self, t: int) -> float:
        """Bound the total variation between the distributions of Y_0 .. Y_t and Y~_0 .. Y~_t, both stationary.

        With TV_t this total variation and KL_t the divergence of the two distributions, in bits, the bound is TV_t for
        t < block_length. For larger t, with s = block_length - 1, D the upper bound of :attr:`divergence` and
        f(x) = min(sqrt(x ln(2) / 2), sqrt(1 - 2^-x)), it is the minimum of

            TV_s + (t - s) mean_variation,
            TV_s + f((t - s) D),
            f(KL_s + (t - s) D),
            1 - (1 - TV_s) (1 - largest_variation)^(t - s).

        It is non-decreasing in t. ``docs/guarantees.md`` has the proofs.

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
        """Bracket delta_beta = (1 - beta) D(Y||Y~) + beta (R(X) - R(Y)), which C_beta relaxes.

        Examples
        --------
        >>> import klump
        >>> P = [[0.9, 0.1, 0.0], [0.5, 0.0, 0.5], [0.0, 0.1, 0.9]]
        >>> answer = klump.Aggregation.from_labels(P, [0, 0, 1])
        >>> round(answer.guarantees.delta(0.5).upper, 4), round(answer.costs.at(0.5), 4)
        (0.1381, 0.1381)
        """
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
    """Compute brackets for a map W, given C_L and C_P, from blocks of increasing length until a limit is met.

    Parameters
    ----------
    chain
        The chain X.
    weights
        The map W, deterministic or stochastic.
    lumpability, predictability
        C_L and C_P of the map.
    tolerance
        Stop when the gap of the bracket of D(Y||Y~) is at most this, in bits per step.
    budget
        Largest number of operations: logarithms and multiplications, about 1e8 per second.
    progress
        Called with ``(done, total, best_cost)``: the operations done, the budget and NaN, as there is no cost; the last
        call may have done < total.
    """
    tolerance, budget = check_number("tolerance", tolerance), check_number("budget", budget)
    report = check_progress(progress)
    process = hidden_markov_process(chain, weights)
    longer = blocks(process, budget)
    shortest = next(longer)
    done = [shortest]
    kept = information.mutual_information(process.group_joint)
    divergence = _initial_bracket(chain, weights, shortest, lumpability, kept)
    with one_thread():
        while divergence.gap > tolerance and (block := next(longer, None)) is not None:
            done.append(block)
            divergence = _tighten(divergence, shortest, block, lumpability)
            if report is not None:
                try:
                    report(block.operations, int(budget), math.nan)
                except signals.Interrupted:  # these bounds hold too
                    break
    one_step_entropy = shortest.upper  # H(Y2|Y1)
    # R(Y) <= R(X) by data processing.
    redundancy = max(kept, min(kept + divergence.upper, chain.redundancy_rate))
    mean_variation, largest_variation = one_step_variations(process)
    return Guarantees(
        divergence=divergence,
        entropy_rate=Bracket(
            max(0.0, one_step_entropy - divergence.upper), max(0.0, one_step_entropy - divergence.lower)
        ),
        redundancy_rate=Bracket(min(kept + divergence.lower, redundancy), redundancy),
        predictability=predictability,
        block_length=done[-1].length,
        operations=done[-1].operations,
        path_variations=_path_variations(done),
        path_divergences=_path_divergences(done, divergence.upper),
        mean_variation=mean_variation,
        largest_variation=largest_variation,
    )


def _path_variations(done: list[Block]) -> tuple[float, ...]:
    """TV_t for t = 0, 1, 2, ...: TV_0 = TV_1 = 0, and it is non-decreasing in t."""
    upper_bounds = [min(1.0, block.total_variation + block.rounding) for block in done[1:]]
    return (0.0, *itertools.accumulate([0.0, *upper_bounds], max))


def _path_divergences(done: list[Block], largest_term: float) -> tuple[float, ...]:
    """KL_t for t = 0, 1, 2, ...: the sum of H(Y2|Y1) - H(Y_m+1|Y_1 .. Y_m) over m = 1 .. t.

    No term is larger than D(Y||Y~), hence than its upper bound ``largest_term``.
    """
    one_step_entropy = done[0].upper
    terms = [
        min(max(0.0, one_step_entropy - block.upper + block.rounding), largest_term) for block in done[1:]
    ]
    return (0.0, *itertools.accumulate([0.0, *terms]))


def _initial_bracket(
    chain: MarkovChain, weights: sparse.csr_array, shortest: Block, lumpability: float, kept: float
) -> Bracket:
    """Bracket D from blocks of length 2.

    Upper bound: D <= C_L, and D <= I(Y1;X2) - I(Y1;Y2), the C_L of the time-reversed chain, because Y and its time
    reversal have the same entropy rate (Lemma 3). Lower bound: H(Y) <= H(X) if the map is deterministic.
    """
    reversed_lumpability = information.mutual_information(chain.joint.T @ weights) - kept
    upper = max(0.0, min(lumpability, reversed_lumpability + shortest.rounding))
    deterministic = weights.nnz == chain.n_states
    lower = shortest.upper - chain.entropy_rate - shortest.rounding if deterministic else 0.0
    return Bracket(min(max(0.0, lower), upper), upper)


def _tighten(divergence: Bracket, shortest: Block, block: Block, lumpability: float) -> Bracket:
    """Tighten the bracket of D by a longer block; each bound is widened by the bound on its rounding error."""
    lower = max(divergence.lower, shortest.upper - block.upper - block.rounding)
    upper = min(divergence.upper, lumpability - (block.lower - shortest.lower) + block.rounding)
    return Bracket(min(lower, upper), max(lower, upper))
