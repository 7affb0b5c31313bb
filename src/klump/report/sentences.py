"""What an answer promises and how it behaves over time, in plain sentences."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from klump.chain.wording import format_number
from klump.report.dynamics import Dynamics

if TYPE_CHECKING:
    from klump.aggregation import Aggregation

# Steps of the horizons that are quoted.
_HORIZONS = (10, 100)
# Operations for the bounds over all times: about 0.2 s.
_BUDGET = 2e7
# A total variation below this is rounding error: the partition is an exact lumping.
_EXACT = 1e-12
# Bounds from here on are no better than knowing nothing, or hardly.
_USELESS = 0.99


def certificate(answer: Aggregation) -> Iterator[str]:
    """Say what the groups keep, and bound the error of the aggregated chain."""
    if answer.original.is_irreducible:
        costs = answer.costs
        kept = costs.redundancy_rate - costs.predictability
        yield (
            f"The present state tells {costs.redundancy_rate:.3f} bits about the next one; the groups keep {kept:.3f} "
            f"of them ({answer.kept:.1%})."
        )
    if answer.map.labels is None:
        yield "The map is soft: a state belongs to several groups, and there is no bound that holds from every start."
    else:
        yield from _one_step(answer)
    if answer.original.is_irreducible:
        yield from _all_times(answer)


def _one_step(answer: Aggregation) -> Iterator[str]:
    found = answer.bisimulation
    if found.epsilon < _EXACT:
        yield (
            "The partition is an exact lumping: from every state of a group the next group has the same distribution, "
            "so that the aggregated chain is exact from any start and at all times."
        )
        return
    yield (
        f"One step from any start: where a state leads, as a distribution over groups, differs from where its group "
        f"leads by {format_number(found.mean)} on average and {format_number(found.epsilon)} at worst (total "
        "variation, exact)."
    )
    useful = [(t, found.horizon(t)) for t in _HORIZONS if found.horizon(t) < _USELESS]
    if useful:
        yield f"Several steps from any start: every probability about the groups is right to within {_list(useful)}."


def _all_times(answer: Aggregation) -> Iterator[str]:
    found = answer.guarantees_within(budget=_BUDGET)
    useful = [(t, found.horizon(t)) for t in _HORIZONS if found.horizon(t) < _USELESS]
    if useful:
        yield f"From a stationary start: every probability about the groups is right to within {_list(useful)}."
    yield (
        f"In the long run the sequence of groups departs from the aggregated chain by between "
        f"{format_number(found.divergence.lower)} and {format_number(found.divergence.upper)} bits per step."
    )


def over_time(answer: Aggregation, found: Dynamics) -> Iterator[str]:
    """Compare timescales, and the groups after some steps, of the original and the small chains."""
    if found.original is not None and len(found.original):
        slowest = found.original[0]
        line = f"The slowest process of the original chain relaxes within {_steps(slowest)}"
        if found.aggregated is not None and len(found.aggregated):
            line += f", that of the aggregated chain within {_steps(found.aggregated[0])}"
        if found.long_time is not None and len(found.long_time):
            line += f", that of the long-time chain within {_steps(found.long_time[0])}"
        yield line + "."
    if found.test is not None:
        worst = float(found.test.total_variation.max())
        when = int(found.test.steps[found.test.total_variation.max(axis=1).argmax()])
        if worst < _EXACT:
            yield "After any number of steps the groups are distributed exactly as in the aggregated chain."
        else:
            yield (
                f"Chapman-Kolmogorov test: up to {int(found.test.steps[-1])} steps the distribution of the groups and "
                f"that of the aggregated chain differ by at most {format_number(worst)} (total variation, after "
                f"{when} step{'s' * (when > 1)})."
            )
    yield from found.missing


def _list(bounds: list[tuple[int, float]]) -> str:
    return ", ".join(f"{format_number(bound)} over {t} steps" for t, bound in bounds)


def _steps(time: float) -> str:
    if time == float("inf"):
        return "no finite time"
    return f"{time:,.0f} steps" if time >= 100 else f"{time:.3g} steps"
