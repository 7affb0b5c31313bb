"""``--reach``: probabilities of reaching labels, as options, lines and JSON."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from klump.errors import InvalidArgumentError
from klump.search.registry import METHODS

if TYPE_CHECKING:
    from klump.aggregation import Aggregation
    from klump.chain import MarkovChain
    from klump.guarantees import Reachability

# Significant digits of a bound, at least and at most; in between, two digits of the width of the interval.
_DIGITS = (4, 10)
# Probabilities below this are printed with an exponent.
_EXPONENT_BELOW = Decimal("1e-4")


class Reach(NamedTuple):
    """Labels to reach, and the number of steps; None: ever."""

    labels: tuple[str, ...]
    steps: int | None


def reach_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add --reach, which may be repeated, and --within."""
    within = click.option(
        "--within",
        metavar="T",
        type=click.IntRange(0, 2**63 - 1),
        help="Number of steps of --reach.  [default: ever]",
    )
    reach = click.option(
        "--reach",
        metavar="LABEL",
        multiple=True,
        help="Bound the probability of reaching LABEL from the initial state of the model; may be repeated.",
    )
    return reach(within(function))


def check_reach(labels: Sequence[str], steps: int | None, method: str) -> None:
    """Raise UsageError before the search if --within has no --reach, or the method returns soft maps."""
    if steps is not None and not labels:
        raise click.UsageError("--within is the number of steps of --reach; pass --reach LABEL as well")
    if labels and METHODS[method].soft:
        raise click.UsageError(
            f"--reach does not apply to --method {method}, whose maps are soft; choose another method"
        )


def check_labels(labels: Sequence[str], chain: MarkovChain) -> None:
    """Raise before the search if the chain does not have a label."""
    from klump.chain.wording import format_state

    for label in labels:
        if label not in chain.labels:
            known = ", ".join(map(format_state, chain.labels))
            raise InvalidArgumentError(
                "is not a label of the model",
                argument="reach",
                value=label,
                remedy=f"choose one of {known}"
                if known
                else "read a file with labels, such as .tra with .lab",
            )


def bound(agg: Aggregation, labels: Sequence[str], steps: int | None) -> list[Reachability | str]:
    """Return the bounds of each label, or why there are none: only a part of a group has it."""
    from klump.aggregation.quotient import split_labels
    from klump.aggregation.verification import compute_reachability

    split = split_labels(agg)
    whole = [label for label in dict.fromkeys(labels) if label not in split]
    found = dict(zip(whole, compute_reachability(agg, whole, steps), strict=True)) if whole else {}
    return [found.get(label, label) for label in dict.fromkeys(labels)]


def lines(found: Sequence[Reachability | str], steps: int | None) -> list[str]:
    """Return a line per label."""
    from klump.chain.wording import format_count

    when = "ever" if steps is None else f"within {format_count(steps, 'step')}"
    return [f"reach {_name(each)} {when}: {_describe(each)}" for each in found]


def records(found: Sequence[Reachability | str], steps: int | None) -> list[dict[str, Any]] | None:
    """Return the JSON documents; None if no label was asked for, and null for bounds that there are not."""
    keys = ("lower", "upper", "estimate", "lower_by_group", "upper_by_group", "estimate_by_group")
    return [
        {
            "label": each if isinstance(each, str) else each.label,
            "steps": steps,
            **{key: None if isinstance(each, str) else getattr(each, key) for key in keys},
        }
        for each in found
    ] or None


def _name(found: Reachability | str) -> str:
    from klump.chain.wording import format_state

    return format_state(found if isinstance(found, str) else found.label)


def _describe(found: Reachability | str) -> str:
    if isinstance(found, str):
        return "no bound, as only a part of a group has the label; --respect-labels keeps them apart"
    digits = _significant_digits(found.lower, found.upper)
    lower, upper = (
        format_bound(value, digits, rounding)
        for value, rounding in ((found.lower, ROUND_FLOOR), (found.upper, ROUND_CEILING))
    )
    if math.isnan(found.estimate):
        return f"between {lower} and {upper}"
    return (
        f"{format_bound(found.estimate, digits, ROUND_HALF_EVEN)} by the groups, between {lower} and {upper}"
    )


def _significant_digits(lower: float, upper: float) -> int:
    least, most = _DIGITS
    width = upper - lower
    if width <= 0.0:
        return most
    return max(least, min(most, 2 + math.ceil(math.log10(upper / width))))


def format_bound(value: float, digits: int, rounding: str) -> str:
    """Format a probability with a number of significant digits, rounded in a direction.

    >>> format_bound(2 / 3, 4, ROUND_FLOOR), format_bound(2 / 3, 4, ROUND_CEILING), format_bound(1e-9, 4, ROUND_FLOOR)
    ('0.6666', '0.6667', '1.000e-9')
    """
    rounded = Context(prec=digits, rounding=rounding).create_decimal(Decimal(value))
    if rounded == 0 or rounded == 1:
        return str(int(rounded))
    return f"{rounded:e}" if rounded < _EXPONENT_BELOW else f"{rounded:f}"
