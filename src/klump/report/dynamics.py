"""Timescales and the Chapman-Kolmogorov test of an answer, as far as a report can afford them."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from klump.errors import KlumpError

if TYPE_CHECKING:
    from klump.aggregation import Aggregation
    from klump.chain import MarkovChain
    from klump.dynamics import ChapmanKolmogorov

T = TypeVar("T")
Floats = NDArray[np.float64]

# Largest number of timescales that are shown.
_MAX_TIMESCALES = 8
# Largest number of transitions, times the number of partitions, for long-time chains: seconds in all.
_MAX_LONG_TIME = 1_000_000
# Largest chain, in transitions, for the Chapman-Kolmogorov test with few steps.
_MAX_TESTED = 20_000_000
# Largest number of steps of the test for chains of more than 2,000 states, where P^t W takes t products.
_MAX_PRODUCTS = 64
# Chains of at most this number of states have their powers computed by squaring, and all their eigenvalues.
_SQUARED = 2_000
# Numbers of steps at which the test is evaluated.
_N_TIMES = 16
# Largest number of groups whose dynamics are computed: the matrices are dense, k x k per number of steps.
_MAX_GROUPS = 200


@dataclass(frozen=True, eq=False)
class Dynamics:
    """Timescales in steps, slowest first, and the test; None where it was not computed."""

    original: Floats | None
    aggregated: Floats | None
    long_time: Floats | None
    test: ChapmanKolmogorov | None
    missing: tuple[str, ...]
    """Sentences on what was not computed, and why."""


def original_timescales(chain: MarkovChain) -> tuple[Floats | None, str | None]:
    """Slowest timescales of a chain; if they were not computed, None and why."""
    if chain.n_states < 2:
        return None, None
    n = min(_MAX_TIMESCALES, chain.n_states - 1)
    if chain.n_states <= _SQUARED or not chain.is_irreducible:
        return _attempt(lambda: chain.timescales(n), "The timescales of the original chain")
    slowest = chain._slowest_timescale
    if slowest is None:
        return (
            None,
            "The timescales of the original chain take too long for a report: chain.timescales() has them.",
        )
    return np.array([slowest]), None


def dynamics_of(
    answer: Aggregation, original: Floats | None, missing: str | None, n_partitions: int
) -> Dynamics:
    """Timescales and test of an answer, given the timescales of its original chain and the number of partitions."""
    reasons = [missing]
    if answer.n_states < 2 or not answer.original.is_irreducible:
        return Dynamics(None, None, None, None, ())
    if answer.n_states > _MAX_GROUPS:
        left_out = (
            f"Timescales and tests of {answer.n_states:,} groups are left out: klump dynamics has them."
        )
        return Dynamics(None, None, None, None, (left_out,))
    aggregated, reason = _attempt(
        lambda: answer.chain.timescales(min(_MAX_TIMESCALES, answer.n_states - 1)),
        "The timescales of the aggregated chain",
    )
    reasons.append(reason)
    late, affordable = None, answer.original.n_transitions * n_partitions <= _MAX_LONG_TIME
    if not affordable:
        reasons.append(
            "The long-time chain takes too long for a report of this size: long_time_chain has it."
        )
    else:
        found, reason = _attempt(lambda: answer.long_time_chain, "The long-time chain")
        reasons.append(reason)
        if found is not None and found.is_stochastic:
            late = found.timescales(_MAX_TIMESCALES)
        elif found is not None:
            affordable = False
            reasons.append("The long-time chain of these groups has negative entries, and is left out.")
    test = None
    if answer.original.n_transitions <= _MAX_TESTED:
        times = _times(answer.original, original)
        test, reason = _attempt(
            lambda: answer.chapman_kolmogorov(times, long_time=affordable), "The Chapman-Kolmogorov test"
        )
        reasons.append(reason)
    return Dynamics(original, aggregated, late, test, tuple(reason for reason in reasons if reason))


def _attempt(compute: Callable[[], T], what: str) -> tuple[T | None, str | None]:
    try:
        with np.errstate(all="ignore"):
            return compute(), None
    except (KlumpError, np.linalg.LinAlgError) as error:
        return None, f"{what} could not be computed: {' '.join(str(error).split())}."


def _times(chain: MarkovChain, timescales: Any) -> list[int]:
    """Numbers of steps, increasing by equal factors up to three times the slowest timescale."""
    slowest = float(timescales[0]) if timescales is not None and len(timescales) else 10.0
    last = max(8, math.ceil(3.0 * slowest)) if math.isfinite(slowest) else _MAX_PRODUCTS
    last = min(last, 10**9 if chain.n_states <= _SQUARED else _MAX_PRODUCTS)
    return sorted({round(float(t)) for t in np.geomspace(1.0, last, _N_TIMES)})
