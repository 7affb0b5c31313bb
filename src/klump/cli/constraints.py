"""Options for constraints on groups, and the files that hold them."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from klump.cli.inputs import read_recorded
from klump.errors import FileFormatError

if TYPE_CHECKING:
    from klump.chain import MarkovChain

_PAIRS = "a pair of states per line, separated by a comma, after a header or not"
_OPTIONS = (
    click.option(
        "--respect-labels", is_flag=True, help="Keep states with different labels in different groups."
    ),
    click.option(
        "--fixed",
        metavar="GROUPS",
        type=click.Path(),
        help="File of states whose group is known: columns state and group, as number or name.",
    ),
    click.option(
        "--must-link",
        metavar="PAIRS",
        type=click.Path(),
        help=f"File of states to keep in the same group: {_PAIRS}.",
    ),
    click.option(
        "--cannot-link",
        metavar="PAIRS",
        type=click.Path(),
        help="File of states to keep in different groups, likewise.",
    ),
    click.option(
        "--min-mass",
        metavar="M",
        type=click.FloatRange(0.0, 1.0),
        help="Least stationary mass of a group.",
    ),
)


def constraint_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add --respect-labels, --fixed, --must-link, --cannot-link and --min-mass."""
    for option in reversed(_OPTIONS):
        function = option(function)
    return function


def read_constraints(
    chain: MarkovChain, paths: dict[str, str | None]
) -> tuple[dict[str, Any], dict[str, dict[str, str | None]]]:
    """Read the files of constraints: arguments of ``klump.aggregate``, and the records of the files."""
    arguments: dict[str, Any] = {}
    inputs = {}
    readers: dict[str, Callable[..., Any]] = {
        "fixed": _read_fixed,
        "must_link": _read_pairs,
        "cannot_link": _read_pairs,
    }
    for argument, read in readers.items():
        path = paths[argument]
        if path is not None:
            arguments[argument], inputs[argument] = read_recorded(path, partial(read, path, chain))
    return arguments, inputs


def _read_fixed(path: str, chain: MarkovChain) -> dict[Any, int | str]:
    fixed: dict[Any, int | str] = {}
    names = _names(chain)
    for number, (state, group) in enumerate(_read_two_columns(path), start=1):
        if number == 1 and (state, group) == ("state", "group"):
            continue
        name = names.get(state, state)
        known = fixed.setdefault(name, int(group) if group.isdecimal() else group)
        if str(known) != group:
            raise FileFormatError(
                f"the state {state!r} has two groups", file=path, remedy="remove one of them"
            )
    return fixed


def _read_pairs(path: str, chain: MarkovChain) -> list[tuple[Any, Any]]:
    names = _names(chain)
    rows = _read_two_columns(path)
    # A first line of which no entry is a state is a header.
    if rows and not any(name in names for name in rows[0]):
        rows = rows[1:]
    return [(names.get(a, a), names.get(b, b)) for a, b in rows]


def _names(chain: MarkovChain) -> dict[str, Any]:
    """States by the text that a file has for them."""
    return {str(state): state for state in chain.states}


def _read_two_columns(path: str) -> list[tuple[str, str]]:
    from klump.files.csv_files import find_delimiter
    from klump.files.gate import guard_reading
    from klump.files.streams import read_text

    with guard_reading(path):
        text = read_text(Path(path))
        first, second = [*text.split("\n", 2), "", ""][:2]
        delimiter = find_delimiter(first, second, ",")
        with io.StringIO(text, newline="") as stream:
            reader = csv.reader(stream, strict=True, delimiter=delimiter, skipinitialspace=True)
            rows = []
            for record in filter(None, reader):
                if len(record) != 2:
                    raise FileFormatError(
                        f"line {reader.line_num} has {len(record)} fields instead of 2", file=path
                    )
                rows.append((record[0], record[1]))
    return rows
