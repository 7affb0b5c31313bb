"""The rule of the recommendation, and its reason in words.

A number of groups stands out at a beta if

1. the step to it gains at least 3 times as much as every later step (the cost curve bends there), or at least twice as
   much if the next step gains no more than on shuffled chains, in which only the groups before that step are left,
2. its groups keep at least 5 % of the mutual information (they are not trivial),
3. searches with other seeds, and searches of resampled chains if counts are known, find the same groups,
4. the step gains more than on any of the chains that are shuffled in the same way.

The pair of a number and a beta with the largest bend is recommended; if no pair stands out, there is no clear answer.
The limits are calibrated on random chains with and without groups; see docs/measurements/selection.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from klump.chain.wording import format_count, format_number, format_percent
from klump.selection.steps import Step
from klump.selection.table import SelectionRow

# Least bend. Random chains without groups reach 1.9, walks on random graphs 2.0, and on rings and paths 1.7.
MIN_BEND = 2.0
# Bend from which on finer groups may be more than chance. Walks on grids reach 2.7, and on random points, which cluster
# by chance, 3.4; the median of the paper's block chains is 23.
CLEAR_BEND = 3.0
# Least kept share; below it klump calls an aggregation nearly trivial.
_MIN_KEPT = 0.05
# Ratio to the mean gain on shuffled chains above which a next step is called more than chance, in words only.
_CLEARLY_MORE = 1.5
# Least mean adjusted Rand index of restarts and resamples.
_MIN_AGREEMENT = 0.75


@dataclass(frozen=True)
class Candidate:
    """A number of groups and a beta at which the cost curve bends."""

    step: Step
    row: SelectionRow

    def objection(self) -> str | None:
        """Why the groups are not recommended, whatever their step gains; None if there is no reason."""
        row = self.row
        if row.kept < _MIN_KEPT:
            return f"keep only {format_percent(row.kept)} of the mutual information between successive states"
        for agreement, whose in (
            (row.restart_agreement, "searches with other seeds"),
            (row.resample_agreement, "resampled counts"),
        ):
            if agreement is not None and agreement < _MIN_AGREEMENT:
                return f"are not stable: {whose} give other groups (mean adjusted Rand index {agreement:.2f})"
        return None


@dataclass(frozen=True)
class ChanceTest:
    """Gains of one step on shuffled chains, in bits per group."""

    gain: float
    """Gain of the step on the chain itself."""
    shuffled: tuple[float, ...]
    """Gains on the shuffled chains."""

    @property
    def mean(self) -> float:
        """Mean gain on the shuffled chains."""
        return float(np.mean(self.shuffled))

    @property
    def passed(self) -> bool:
        """Whether the step gains more than on every shuffled chain."""
        return self.gain > max(self.shuffled)


def find_candidates(
    steps: Sequence[Step], rows: dict[tuple[int, float], SelectionRow], n_chain_states: int
) -> list[Candidate]:
    """Candidates in order of decreasing bend; ties go to fewer groups, then to the smaller beta."""
    found = [
        Candidate(step, rows[step.n_states, step.beta])
        for step in steps
        if (step.n_states, step.beta) in rows and step.n_states < n_chain_states and step.bend >= MIN_BEND
    ]
    return sorted(found, key=lambda one: (-one.step.bend, one.step.n_states, one.step.beta))


def explain_gradual(steps: Sequence[Step], numbers: Sequence[int]) -> str:
    """Reason if the cost curve has no bend."""
    measured = [step for step in steps if step.n_states in numbers and np.isfinite(step.bend)]
    if not measured:
        return "no clear answer: there is no larger number of groups to compare with"
    best = max(measured, key=lambda step: step.bend)
    return (
        f"no clear answer: the cost falls gradually. The most outstanding step, to {best.n_states} groups at beta "
        f"{best.beta:g}, gains {format_times(max(best.bend, 0.0))} as much as the largest later one, less than "
        f"{MIN_BEND:g} times"
    )


def explain_finer(candidate: Candidate, next_test: ChanceTest | None) -> str:
    """Reason if the bend is small, and the next step is more than chance."""
    step = candidate.step
    text = (
        f"no clear answer: the step to {step.n_states} groups at beta {step.beta:g} gains {format_times(step.bend)} as "
        f"much as the largest later one, less than {CLEAR_BEND:g} times"
    )
    if next_test is None:
        return text
    return text + (
        f", and the next step is more than chance, too: it lowers the cost by {format_number(next_test.gain)} bits, "
        f"and by up to {format_number(max(next_test.shuffled))} bits on "
        f"{format_count(len(next_test.shuffled), 'shuffled chain')}"
    )


def explain_objection(candidate: Candidate, objection: str) -> str:
    """Reason if the groups at the largest bend are not recommended."""
    return (
        f"no clear answer: the cost curve bends at {candidate.step.n_states} groups at beta "
        f"{candidate.step.beta:g}, but these {objection}"
    )


def explain_chance(candidate: Candidate, test: ChanceTest) -> str:
    """Reason if the step to the groups gains no more than by chance."""
    return explain_objection(
        candidate,
        f"are no more than chance: the step to them lowers the cost by {format_number(test.gain)} bits, and by up to "
        f"{format_number(max(test.shuffled))} bits on {format_count(len(test.shuffled), 'shuffled chain')}",
    )


def explain_choice(candidate: Candidate, test: ChanceTest, next_test: ChanceTest | None) -> str:
    """Reason of the recommendation."""
    step, row = candidate.step, candidate.row
    bits = "bits" if step.n_states - step.previous == 1 else "bits per group"
    text = (
        f"{step.n_states} groups at beta {step.beta:g}: the step from {step.previous} lowers the cost by "
        f"{format_number(step.gain)} {bits}, {format_times(step.bend)} as much as any later step and "
        f"{_format_ratio(test)} on shuffled chains ({format_number(test.mean)} bits, mean of {len(test.shuffled)})"
    )
    if next_test is not None:
        text += (
            f"; the next step gains {format_number(next_test.gain)} bits, {_compare_with_chance(next_test)} "
            f"({format_number(next_test.mean)})"
        )
    agreements = [
        f"{whose} agree (adjusted Rand index {value:.2f})"
        for whose, value in (("restarts", row.restart_agreement), ("resamples", row.resample_agreement))
        if value is not None
    ]
    parts = [text, *agreements, f"the groups keep {format_percent(row.kept)} of the mutual information"]
    return "; ".join(parts)


def _compare_with_chance(test: ChanceTest) -> str:
    if not test.passed:
        return "no more than chance"
    # One step in ten without any structure gains more than on nine shuffled chains.
    if test.gain < _CLEARLY_MORE * test.mean:
        return "hardly more than chance"
    return "more than chance: finer groups are there, too"


def _format_ratio(test: ChanceTest) -> str:
    return "more than" if test.mean <= 0.0 else f"{format_times(test.gain / test.mean)} as much as"


def format_times(ratio: float) -> str:
    """Format a ratio.

    >>> format_times(1.71), format_times(23.4), format_times(4e5)
    ('1.7 times', '23 times', 'over 1000 times')
    """
    if ratio > 1000.0:
        return "over 1000 times"
    return f"{ratio:.0f} times" if ratio >= 10.0 else f"{ratio:.1f} times"
