"""Guaranteed and observed errors: verdicts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from klump.experiments.bisimulation import (
    FAMILIES,
    PATH_STEPS,
    ROUNDING,
    STEPS,
    Certificate,
    count_draws,
    is_lumpable,
    ratios,
)
from klump.experiments.result import MODES, Mode, Outcome, Verdict, weigh
from klump.experiments.shares import Share

_TRIVIAL = "which no total variation can exceed"


def verdicts(certificates: Sequence[Certificate]) -> Iterator[Verdict]:
    """Judge Proposition 1, the horizon bound and exactly lumpable chains."""
    parts = [
        (family, mode, [c for c in certificates if c.family == family and c.mode == mode])
        for family in FAMILIES
        for mode in MODES
    ]
    for family, mode, part in parts:
        if part:
            holds = Share.true(np.array([c.proposition_holds for c in part]))
            what = f"{family}: Proposition 1 holds (share of chains)"
            verdict = _all_verdict(what, mode, 1.0, holds, count_draws(part), _looseness(part))
            can_fail = any(c.proposition_can_fail for c in part)
            yield weigh(
                verdict, obstacle="" if can_fail else f"the bound is 1 or more for every chain, {_TRIVIAL}"
            )
    for family, mode, part in parts:
        if part:
            holds = Share.true(np.array([c.horizon_holds for c in part]))
            what = (
                f"{family}: no error over up to {STEPS} steps is above 1 - (1 - epsilon)^t (share of chains)"
            )
            verdict = _all_verdict(what, mode, None, holds, count_draws(part), _slack(part))
            can_fail = any(c.horizon_can_fail for c in part)
            yield weigh(verdict, obstacle="" if can_fail else f"epsilon is 1 for every chain, {_TRIVIAL}")
    for mode in MODES:
        part = [c for c in certificates if c.mode == mode]
        holds = Share.true(np.array([c.first_step_is_epsilon for c in part]))
        what = "all: the error of one step is exactly epsilon (share of chains)"
        yield weigh(_all_verdict(what, mode, None, holds, count_draws(part), ""))
    lumpable = [c for c in certificates if is_lumpable(c)]
    largest = max(c.epsilon for c in lumpable)
    yield weigh(
        Verdict(
            "lumpable chains (eps = 0) in their planted groups: largest epsilon",
            "as published",
            0.0,
            largest,
            ROUNDING,
            "agrees" if largest <= ROUNDING else "differs",
            f"the bound is 0 for a lumpable chain; the band is rounding error; {len(lumpable)} chains",
            count_draws(lumpable),
        )
    )


def _all_verdict(
    what: str, mode: Mode, paper: float | None, holds: Share, draws: int | None, more: str
) -> Verdict:
    outcome: Outcome = "agrees" if holds.count == holds.of else "differs"
    reason = f"{holds}; it must be all, up to rounding errors of {ROUNDING:g}"
    reason = f"{reason}; {more}" if more else reason
    return Verdict(what, mode, paper, holds.value, 0.0, outcome, reason, draws)


def _looseness(certificates: Sequence[Certificate]) -> str:
    found = ratios(certificates)
    return f"the bound is {np.median(found):.3g} times epsilon (median)" if found.size else ""


def _slack(certificates: Sequence[Certificate]) -> str:
    shares = [c.paths[-1] / c.bound(PATH_STEPS) for c in certificates if c.bound(PATH_STEPS) > ROUNDING]
    return (
        f"the first {PATH_STEPS} steps together make {np.median(shares):.0%} of it (median)" if shares else ""
    )
