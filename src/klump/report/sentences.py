"""What an answer promises and how it behaves over time, in plain sentences."""

from __future__ import annotations

import math
from collections.abc import Iterator
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from typing import TYPE_CHECKING

from klump.chain.wording import format_number
from klump.report.dynamics import Dynamics

if TYPE_CHECKING:
    from klump.aggregation import Aggregation
    from klump.dynamics import ChapmanKolmogorov

# Steps of the horizons that are quoted.
_HORIZONS = (10, 100)
# Operations for the bounds over all times: about 0.2 s.
_BUDGET = 2e7
# Bounds below this are printed with two digits instead of four decimals.
_FOUR_DECIMALS = 1e-3
# A total variation below this is rounding error: the partition is an exact lumping.
_EXACT = 1e-12
# Bounds from here on are no better than knowing nothing, or hardly.
_USELESS = 0.99


def certificate(answer: Aggregation) -> Iterator[str]:
    """Say what the groups keep, and bound the error of the aggregated chain."""
    if answer.original.is_irreducible:
        costs = answer.costs
        if costs.redundancy_rate < _EXACT:
            yield "Successive states are independent: there is nothing that groups could keep or lose."
        else:
            kept = costs.redundancy_rate - costs.predictability
            yield (
                f"The present state tells {costs.redundancy_rate:.3f} bits about the next one; the groups keep "
                f"{kept:.3f} of them ({answer.kept:.1%})."
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
        error = "" if found.epsilon == 0.0 else f", up to t times {round_up(found.epsilon)} over t steps"
        yield (
            "The partition is an exact lumping up to rounding: from every state of a group the next group has the same "
            f"distribution, so that the aggregated chain is exact from any start{error}."
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
        f"{round_down(found.divergence.lower)} and {round_up(found.divergence.upper)} bits per step."
    )


def over_time(answer: Aggregation, found: Dynamics) -> Iterator[str]:
    """Compare timescales, and the groups after some steps, of the original and the small chains."""
    if not answer.original.is_irreducible or answer.costs.redundancy_rate < _EXACT:
        return
    if found.original is not None and len(found.original):
        yield _relaxation(found)
    if found.test is not None:
        yield _test(found.test)
    yield from found.missing


def _relaxation(found: Dynamics) -> str:
    """Compare the slowest timescales."""
    assert found.original is not None
    if math.isinf(found.original[0]):
        return "The original chain does not relax: it is periodic, and has an infinite timescale."
    line = f"The slowest process of the original chain relaxes within {_steps(found.original[0])}"
    if found.aggregated is not None and len(found.aggregated):
        line += f", that of the aggregated chain within {_steps(found.aggregated[0])}"
    if found.long_time is not None and len(found.long_time):
        line += f", that of the long-time chain within {_steps(found.long_time[0])}"
    return line + "."


def _test(test: ChapmanKolmogorov) -> str:
    """Say the largest difference over the numbers of steps that were tested."""
    worst = float(test.total_variation.max())
    when = int(test.steps[test.total_variation.max(axis=1).argmax()])
    n_tested, last = len(test.steps), int(test.steps[-1])
    tested = f"Chapman-Kolmogorov test at {n_tested} numbers of steps, the largest {last:,}"
    if worst < _EXACT:
        return f"{tested}: the distribution of the groups is that of the aggregated chain, up to rounding."
    return (
        f"{tested}: the distributions of the groups and of the aggregated chain differ there by at most "
        f"{round_up(worst)} (total variation, after {when:,} step{'s' * (when > 1)})."
    )


def round_up(bound: float) -> str:
    """Format an upper bound with four decimals, or two digits if it is small, never below its value.

    >>> round_up(0.12341), round_up(9.01e-13), round_up(0.0)
    ('0.1235', '9.1e-13', '0')
    """
    return _round(bound, ROUND_CEILING)


def round_down(bound: float) -> str:
    """Format a lower bound with four decimals, or two digits if it is small, never above its value.

    >>> round_down(0.12349), round_down(0.0018765)
    ('0.1234', '0.0018')
    """
    return _round(bound, ROUND_FLOOR)


def _round(bound: float, direction: str) -> str:
    exact = Decimal(bound)
    if bound == 0.0:
        return "0"
    if abs(bound) >= _FOUR_DECIMALS:
        return str(exact.quantize(Decimal("0.0001"), direction))
    return f"{exact.quantize(Decimal(1).scaleb(exact.adjusted() - 1), direction):.1e}"


def _list(bounds: list[tuple[int, float]]) -> str:
    return ", ".join(f"{round_up(bound)} over {t} steps" for t, bound in bounds)


def _steps(time: float) -> str:
    return f"{time:,.0f} steps" if time >= 100 else f"{time:.3g} steps"
