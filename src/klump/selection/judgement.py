"""The judgement: which candidate is recommended, and what else is worth a note."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from klump.aggregation import Aggregation
from klump.aggregation.agreement import adjusted_rand_index
from klump.chain.wording import format_count, format_number
from klump.selection.evidence import Evidence
from klump.selection.rule import (
    CLEAR_BEND,
    Candidate,
    ChanceTest,
    explain_chance,
    explain_choice,
    explain_finer,
    explain_gradual,
    explain_objection,
    find_candidates,
    format_times,
)
from klump.selection.searches import Cell
from klump.selection.steps import Step
from klump.selection.table import SelectionRow

# Chance tests per selection, at most: structure on several levels has a few candidates, not many.
_MAX_TESTS = 6


class Judgement(NamedTuple):
    """A recommendation, or none, and its reason."""

    aggregation: Aggregation | None
    reason: str
    notes: tuple[str, ...]


def judge(evidence: Evidence, steps: list[Step], rows: dict[Cell, SelectionRow]) -> Judgement:
    """Apply the rule to complete evidence; runs the chance tests."""
    candidates = find_candidates(steps, rows, evidence.chain.n_states)
    accepted: list[tuple[Candidate, ChanceTest, ChanceTest | None]] = []
    refusals: list[str] = []
    n_tests = 0
    for candidate in candidates:
        if any(other.step.n_states == candidate.step.n_states for other, _, _ in accepted):
            continue
        objection = candidate.objection()
        if objection is not None:
            refusals.append(explain_objection(candidate, objection))
        elif n_tests < _MAX_TESTS:
            n_tests += 1
            test = evidence.test_step(candidate.step)
            if not test.passed:
                refusals.append(explain_chance(candidate, test))
                continue
            next_test = _test_next(evidence, steps, candidate.step)
            if candidate.step.bend < CLEAR_BEND and (next_test is None or next_test.passed):
                refusals.append(explain_finer(candidate, next_test))
            else:
                accepted.append((candidate, test, next_test))
    notes = tuple(_notes(evidence, rows, candidates, [candidate for candidate, _, _ in accepted]))
    if not accepted:
        reason = refusals[0] if refusals else explain_gradual(steps, evidence.plan.numbers)
        return Judgement(None, reason, notes)
    chosen, test, next_test = accepted[0]
    answer = evidence.answers[chosen.step.n_states, chosen.step.beta]
    return Judgement(answer, explain_choice(chosen, test, next_test), notes)


def _test_next(evidence: Evidence, steps: list[Step], step: Step) -> ChanceTest | None:
    """Test the step after a step; None if there is none."""
    for other in steps:
        if other.beta == step.beta and other.previous == step.n_states:
            return evidence.test_step(other)
    return None


def _notes(
    evidence: Evidence,
    rows: dict[Cell, SelectionRow],
    candidates: list[Candidate],
    accepted: list[Candidate],
) -> Iterator[str]:
    if accepted:
        yield from _notes_on_levels(accepted)
        yield from _notes_on_betas(evidence, candidates, accepted)
    yield from _notes_on_spectrum(rows, accepted)
    yield from _notes_on_held_out(evidence, rows, accepted)
    yield from evidence.chain.applied


def _notes_on_levels(accepted: list[Candidate]) -> Iterator[str]:
    chosen = accepted[0].step
    for other in accepted[1:]:
        step = other.step
        level = "coarser" if step.n_states < chosen.n_states else "finer"
        yield (
            f"{step.n_states} groups, a {level} level, stand out as well: at beta {step.beta:g} the step to them gains "
            f"{format_times(step.bend)} as much as any later one, and more than on shuffled chains"
        )


def _notes_on_betas(
    evidence: Evidence, candidates: list[Candidate], accepted: list[Candidate]
) -> Iterator[str]:
    """Compare with the candidate of the largest bend at each other beta."""
    chosen = accepted[0].step
    labels = evidence.answers[chosen.n_states, chosen.beta].labels
    levels = {candidate.step.n_states for candidate in accepted}
    agreeing = []
    for beta in evidence.plan.betas:
        best = next((one.step for one in candidates if one.step.beta == beta), None)
        if beta == chosen.beta:
            continue
        if best is None:
            yield f"at beta {beta:g} no number of groups stands out"
        elif best.n_states == chosen.n_states:
            index = adjusted_rand_index(labels, evidence.answers[chosen.n_states, beta].labels)
            agreeing.append(f"beta {beta:g} (adjusted Rand index of the groups {index:.2f})")
        elif best.n_states not in levels:
            yield (
                f"at beta {beta:g} the step to {best.n_states} groups stands out most: it gains "
                f"{format_times(best.bend)} as much as any later one"
            )
    if agreeing:
        yield f"{chosen.n_states} groups stand out at {' and at '.join(agreeing)}, too"


def _notes_on_spectrum(rows: dict[Cell, SelectionRow], accepted: list[Candidate]) -> Iterator[str]:
    gaps = {row.n_states: row.gap for row in rows.values() if row.gap is not None}
    if not gaps:
        return
    largest = max(gaps, key=lambda number: (gaps[number], -number))
    text = f"the largest gap of the spectrum is after {largest} eigenvalues ({format_number(gaps[largest])})"
    if accepted and accepted[0].step.n_states == largest:
        text += ", as many as the groups"
    yield text


def _notes_on_held_out(
    evidence: Evidence, rows: dict[Cell, SelectionRow], accepted: list[Candidate]
) -> Iterator[str]:
    held_out = evidence.plan.held_out
    if held_out is None:
        return
    finite = [row for row in rows.values() if row.held_out is not None and np.isfinite(row.held_out)]
    if finite:
        best = min(finite, key=lambda row: (row.held_out, row.n_states))
        text = (
            f"held-out sequences take the fewest bits per step, {best.held_out:.4f}, with {best.n_states} groups at "
            f"beta {best.beta:g}"
        )
        if accepted:
            own = accepted[0].row
            text += f"; with the recommended ones {own.held_out:.4f}"
        yield text
    if held_out.n_unknown:
        yield (
            f"{format_count(held_out.n_unknown, 'held-out transition')} of "
            f"{held_out.n_unknown + held_out.n_transitions} have a state that the chain lacks, and are left out"
        )
