"""Guaranteed and observed errors in words and tables."""

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
    """Return medians by kind of chain; kinds with too few draws are left out."""
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
        "Errors are total variations, from the worst start; medians over the chains. Kept: share of what one step "
        "tells of the next that the groups keep. Epsilon: the largest error of one step; the mean error is weighted by "
        "the stationary distribution. A bound of 1 or more says nothing; one near 1e-8 is the root of rounding."
    )
    few = [len(part) for part in _alike(certificates).values() if are_few(part)]
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
        for names, part in _alike(certificates).items()
        if not are_few(part)
    )


def _alike(certificates: Sequence[Certificate]) -> dict[tuple[str, str, str], list[Certificate]]:
    """Certificates by kind of chain, groups and mode."""
    alike: dict[tuple[str, str, str], list[Certificate]] = {}
    for c in certificates:
        alike.setdefault((c.chain, c.groups, c.mode), []).append(c)
    return alike


def _medians(part: Sequence[Certificate]) -> tuple[str, ...]:
    return (
        _median(c.kept for c in part),
        _median(c.mean for c in part),
        _median(c.epsilon for c in part),
        _median(c.proposition for c in part),
        _median(ratios(part)),
        _median(c.marginal[-1] for c in part),
        _median(c.paths[-1] for c in part),
        _median(c.guaranteed(PATH_STEPS) for c in part),
    )


def _median(values: Iterable[float]) -> str:
    numbers = list(values)
    if not numbers:
        return "–"
    median = float(np.median(numbers))
    return "0" if median <= ROUNDING else f"{median:.3g}"


def paragraphs(certificates: Sequence[Certificate]) -> tuple[str, ...]:
    """Say what is guaranteed and what was observed."""
    every = len(certificates)
    question = (
        "From each state, where does a step lead, by groups, and where does the aggregated chain say it leads? The "
        "largest difference over the states, in total variation, is epsilon; the paper's Proposition 1 bounds it by "
        "the lumpability cost and the least stationary probability. The paper proves the bound and gives no numbers; "
        "klump also computes epsilon exactly. Here both stand side by side for "
        f"{every} pairs of a chain and its groups, from all experiments of the paper."
    )
    lumpable = [c for c in certificates if is_lumpable(c)]
    without = (
        f"The {len(lumpable)} chains without noise are exactly lumpable for their planted groups: there the largest "
        f"epsilon is {max(c.epsilon for c in lumpable):.1g}, which is rounding."
        if not are_few(lumpable)
        else f"Chains without noise, exactly lumpable for their planted groups, {too_few(len(lumpable), 'chain')}."
    )
    return question, _text_on_bound(certificates), _text_on_steps(certificates), without


def _text_on_bound(certificates: Sequence[Certificate]) -> str:
    every = len(certificates)
    held = sum(c.proposition_holds for c in certificates)
    times = ratios(certificates)
    silent = [c for c in certificates if c.proposition >= 1.0]
    counts = {family: sum(c.family == family for c in silent) for family in FAMILIES}
    named = ", ".join(f"{family} {count}" for family, count in counts.items() if count)
    return (
        f"Proposition 1 holds for {held} of {every}. It is {np.median(times):.3g} times the exact epsilon in the "
        f"median, {times.min():.3g} times at least and {times.max():,.0f} times at most, and says nothing (1 or "
        f"more) for {len(silent)} of {every}{f' ({named})' if named else ''}: one rare state makes it large, as in the "
        "letters, where epsilon is large too but the mean error is not."
    )


def _text_on_steps(certificates: Sequence[Certificate]) -> str:
    within = sum(c.horizon_holds for c in certificates)
    strays = [c for c in certificates if c.epsilon > ROUNDING]
    joint = np.median([c.paths[-1] / c.epsilon for c in strays])
    forgotten = sum(c.marginal[-1] < 0.1 * c.epsilon for c in strays)
    worst = max(strays, key=lambda c: c.marginal[-1])
    return (
        "Over t steps the error is at most 1 - (1 - epsilon)^t, from every start. Observed are the law of the group "
        f"after each of {STEPS} steps and the joint law of the groups of the first {PATH_STEPS} steps, both computed "
        f"without sampling, from the worst start: all stay within the bound for {within} of {len(certificates)}. The "
        f"joint law of {PATH_STEPS} steps is off by {joint:.2g} epsilon in the median. After {STEPS} steps the law of "
        f"the group is off by less than a tenth of epsilon for {forgotten} "
        f"of {len(strays)}, because chains forget where they started. Slow ones take longer: it is off most, by "
        f"{worst.marginal[-1]:.2f}, for {worst.chain} "
        f"({worst.groups if '=' in worst.groups else worst.groups + ' groups'})."
    )


def _pictures(certificates: Sequence[Certificate]) -> tuple[Picture, ...]:
    return (
        Picture(
            "errors",
            "What is observed and what is guaranteed, step by step, from the worst start. Above 1 (shaded) a bound "
            "says nothing. The joint law of the first t steps is what 1 - (1 - epsilon)^t bounds; the law of the group "
            "after t steps is a part of it.",
            partial(pictures.errors, _examples(certificates)),
        ),
        Picture(
            "bounds",
            "Proposition 1 against the exact epsilon, for every pair of a chain and its groups: no point may lie "
            "below the diagonal. Exactly lumpable ones are left out (both are 0); above 1 (shaded) the bound says "
            "nothing.",
            partial(pictures.bounds, list(certificates)),
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
    """Four chains that differ: the first of each."""
    wanted = (
        ("three states", "the paper's"),
        ("alpha = 0, eps = 0.4", "planted"),
        ("bigrams, k = 4", "beta = 0.5"),
        ("circles, k = 15", "true"),
    )
    return [next(c for c in certificates if (c.chain, c.groups) == key) for key in wanted]
