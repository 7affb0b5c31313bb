"""Guaranteed and observed errors: text, tables and pictures."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any

import numpy as np

from klump.experiments import bisimulation_pictures as pictures
from klump.experiments.bisimulation import (
    FAMILIES,
    NAME,
    PATH_STEPS,
    ROUNDING,
    STEPS,
    Certificate,
    are_few,
    certify,
    is_lumpable,
    ratios,
)
from klump.experiments.bisimulation_verdicts import verdicts
from klump.experiments.result import Picture, Result, Table, too_few
from klump.experiments.trials import Settings


def run(settings: Settings) -> Result:
    """Run the experiment and compose its result."""
    certificates = certify(settings)
    return Result(
        name=NAME,
        title="How far the aggregated chain strays",
        text=paragraphs(certificates),
        verdicts=tuple(verdicts(certificates)),
        tables=tables(certificates),
        pictures=_pictures(certificates),
        data=_data(certificates),
    )


def tables(certificates: Sequence[Certificate]) -> tuple[Table, ...]:
    """Return the medians by kind of chain; kinds with too few draws are left out."""
    columns = (
        "chain",
        "groups",
        "mode",
        "chains",
        "kept",
        "mean error",
        "epsilon",
        "Proposition 1",
        "times epsilon",
        f"group after {STEPS} steps",
        f"first {PATH_STEPS} steps",
        f"1 - (1 - epsilon)^{PATH_STEPS}",
    )
    note = (
        "Errors are total variations from the worst initial state; medians over the chains. Kept: share of the "
        "information I(X1;X2) that the groups keep. Epsilon: the largest error of one step; the mean error is weighted "
        "by the stationary distribution. A bound of 1 or more is trivial; a bound near 1e-8 is the square root of a "
        "rounding error."
    )
    few = [len(part) for part in _by_kind(certificates).values() if are_few(part)]
    if few:
        note += f" Random chains are left out ({too_few(few[0], 'chain')} of a kind)."
    random = [c for c in certificates if c.family == "quasi-lumpable"]
    others = [c for c in certificates if c.family != "quasi-lumpable"]
    every = (
        Table("Letters, points and three states", columns, _rows(others), note),
        Table("Planted groups under noise", columns, _rows(random), note),
    )
    return tuple(table for table in every if table.rows)


def _rows(certificates: Sequence[Certificate]) -> tuple[tuple[str, ...], ...]:
    return tuple(
        (*names, str(len(part)), *_medians(part))
        for names, part in _by_kind(certificates).items()
        if not are_few(part)
    )


def _by_kind(certificates: Sequence[Certificate]) -> dict[tuple[str, str, str], list[Certificate]]:
    """Group the certificates by kind of chain, groups and mode."""
    kinds: dict[tuple[str, str, str], list[Certificate]] = {}
    for c in certificates:
        kinds.setdefault((c.chain, c.groups, c.mode), []).append(c)
    return kinds


def _medians(part: Sequence[Certificate]) -> tuple[str, ...]:
    return (
        _median(c.kept for c in part),
        _median(c.mean for c in part),
        _median(c.epsilon for c in part),
        _median(c.proposition for c in part),
        _median(ratios(part)),
        _median(c.marginal[-1] for c in part),
        _median(c.paths[-1] for c in part),
        _median(c.bound(PATH_STEPS) for c in part),
    )


def _median(values: Iterable[float]) -> str:
    numbers = list(values)
    if not numbers:
        return "–"
    median = float(np.median(numbers))
    return "0" if median <= ROUNDING else f"{median:.3g}"


def paragraphs(certificates: Sequence[Certificate]) -> tuple[str, ...]:
    """Write the guaranteed and the observed errors."""
    every = len(certificates)
    question = (
        "Each state has a distribution of the next group, and the aggregated chain has one for its group. Epsilon is "
        "the largest total variation between the two, over all states. The paper's Proposition 1 bounds epsilon by the "
        "lumpability cost and the smallest stationary probability. The paper proves the bound and prints no numbers. "
        f"klump also computes epsilon exactly. This section compares both for {every} pairs of a chain and its groups, "
        "from all experiments of the paper."
    )
    lumpable = [c for c in certificates if is_lumpable(c)]
    without = (
        f"The {len(lumpable)} chains without noise are exactly lumpable for their planted groups: their largest "
        f"epsilon is {max(c.epsilon for c in lumpable):.1g}, a rounding error."
        if not are_few(lumpable)
        else f"Chains without noise, exactly lumpable for their planted groups, {too_few(len(lumpable), 'chain')}."
    )
    return question, _text_on_bound(certificates), _text_on_steps(certificates), without


def _text_on_bound(certificates: Sequence[Certificate]) -> str:
    every = len(certificates)
    held = sum(c.proposition_holds for c in certificates)
    times = ratios(certificates)
    trivial = [c for c in certificates if c.proposition >= 1.0]
    counts = {family: sum(c.family == family for c in trivial) for family in FAMILIES}
    named = ", ".join(f"{family} {count}" for family, count in counts.items() if count)
    return (
        f"Proposition 1 holds for {held} of {every}. It is {np.median(times):.3g} times the exact epsilon in the "
        f"median, {times.min():.3g} times at least and {times.max():,.0f} times at most. It is trivial (1 or "
        f"more) for {len(trivial)} of {every}{f' ({named})' if named else ''}: one rare state makes it large. So it "
        "is for the letters; their epsilon is large, too, but their mean error is not."
    )


def _text_on_steps(certificates: Sequence[Certificate]) -> str:
    within = sum(c.horizon_holds for c in certificates)
    strays = [c for c in certificates if c.epsilon > ROUNDING]
    joint = np.median([c.paths[-1] / c.epsilon for c in strays])
    forgotten = sum(c.marginal[-1] < 0.1 * c.epsilon for c in strays)
    worst = max(strays, key=lambda c: c.marginal[-1])
    return (
        "Over t steps the error is at most 1 - (1 - epsilon)^t, from every initial state. Two errors are computed "
        f"without sampling, from the worst initial state: of the distribution of the group after each of {STEPS} "
        f"steps, and of the joint distribution of the groups of the first {PATH_STEPS} steps. Both are within the "
        f"bound for {within} of {len(certificates)}. The median error of the joint distribution of {PATH_STEPS} "
        f"steps is {joint:.2g} epsilon. After {STEPS} steps the error of the group is below a tenth of epsilon for "
        f"{forgotten} of {len(strays)}, because chains forget their initial state. Slowly mixing chains take longer: "
        f"the largest error is {worst.marginal[-1]:.2f}, for {worst.chain} "
        f"({worst.groups if '=' in worst.groups else worst.groups + ' groups'})."
    )


def _pictures(certificates: Sequence[Certificate]) -> tuple[Picture, ...]:
    return (
        Picture(
            "errors",
            "Observed errors and guaranteed bounds by number of steps, from the worst initial state. Above 1 "
            "(shaded) a bound is trivial. 1 - (1 - epsilon)^t bounds the joint distribution of the first t groups; the "
            "distribution of the group after t steps is a marginal of it.",
            partial(pictures.draw_errors, _examples(certificates)),
        ),
        Picture(
            "bounds",
            "Proposition 1 against the exact epsilon, for every pair of a chain and its groups: no point may lie "
            "below the diagonal. Exactly lumpable chains are left out (both are 0). Above 1 (shaded) the bound is "
            "trivial.",
            partial(pictures.draw_bounds, list(certificates)),
        ),
    )


def _data(certificates: Sequence[Certificate]) -> dict[str, Any]:
    return {
        "certificates": [
            {
                "family": c.family,
                "chain": c.chain,
                "groups": c.groups,
                "mode": c.mode,
                "kept": _digits(c.kept),
                "mean": _digits(c.mean),
                "epsilon": _digits(c.epsilon),
                "proposition": _digits(c.proposition),
                f"after_{STEPS}_steps": _digits(c.marginal[-1]),
                f"first_{PATH_STEPS}_steps": _digits(c.paths[-1]),
            }
            for c in certificates
        ],
        "examples": [
            {
                "chain": c.chain,
                "groups": c.groups,
                "after_each_step": [_digits(error) for error in c.marginal],
                "first_steps_together": [_digits(error) for error in c.paths],
            }
            for c in _examples(certificates)
        ],
    }


def _digits(value: float) -> float:
    return round(value, 12)


def _examples(certificates: Sequence[Certificate]) -> list[Certificate]:
    """Return four examples, the first of each kind."""
    wanted = (
        ("three states", "the paper's"),
        ("alpha = 0, eps = 0.4", "planted"),
        ("bigrams, k = 4", "beta = 0.5"),
        ("circles, k = 15", "true"),
    )
    return [next(c for c in certificates if (c.chain, c.groups) == key) for key in wanted]
