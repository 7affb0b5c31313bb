"""The option for several numbers of groups."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import click

Function = Callable[..., Any]

# Largest number of groups in a range: a larger one is a typing error, whose list would not fit in memory.
_MAX_GROUPS = 1_000_000


def _parse_n_states(ctx: click.Context, param: click.Parameter, value: str | None) -> list[int] | None:
    """Parse a list of numbers and ranges.

    >>> _parse_n_states(None, None, "2..4,8")
    [2, 3, 4, 8]
    """
    if value is None:
        return None
    numbers: list[int] = []
    for part in value.split(","):
        ends = re.fullmatch(r"\s*(\d+)(?:\.\.(\d+))?\s*", part)
        if ends is None:
            raise click.BadParameter(f"{value!r} is not a list of numbers of groups like 2..10 or 2,4,8")
        first, last = int(ends[1]), int(ends[2] or ends[1])
        if not 1 <= first <= last <= _MAX_GROUPS:
            raise click.BadParameter(
                f"{part.strip()!r} must ascend, from 1 or more to {_MAX_GROUPS:,} or less"
            )
        numbers += range(first, last + 1)
    return numbers


def numbers_option(default: str = "2..10") -> Callable[[Function], Function]:
    """Add -k with several numbers of groups; the command computes the default, of which the help has the text."""
    return click.option(
        "-k",
        "--n-states",
        metavar="K..K",
        default=None,
        callback=_parse_n_states,
        help="Numbers of groups: a range like 2..10 or a list like 2,4,8.  "
        f"[default: {default}, at most the number of states]",
    )
