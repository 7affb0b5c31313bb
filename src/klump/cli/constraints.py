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
# Words that a first line may have in place of states.
_HEADERS = {
    *("state", "group", "states", "groups", "a", "b", "from", "to", "source", "target", "first", "second"),
    *("one", "other", "state_1", "state_2", "state1", "state2", "state_a", "state_b"),
}


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
    states = _States(chain)
    fixed: dict[Any, int | str] = {}
    for state, text in _drop_header(_read_two_columns(path), states):
        group = int(text) if text.isascii() and text.isdecimal() else text
        if fixed.setdefault(states.find(state), group) != group:
            raise FileFormatError(
                f"the state {state!r} has two groups", file=path, remedy="remove one of them"
            )
    return fixed


def _read_pairs(path: str, chain: MarkovChain) -> list[tuple[Any, Any]]:
    states = _States(chain)
    return [(states.find(a), states.find(b)) for a, b in _drop_header(_read_two_columns(path), states)]


class _States:
    """States by the text that a file has for them: the name, or the index where that is no name."""

    def __init__(self, chain: MarkovChain) -> None:
        self.n_states = chain.n_states
        self.by_text = {str(state): state for state in chain.states}

    def find(self, text: str) -> Any:
        """Name or index of a state; the text itself if it is neither, which is refused later."""
        if text in self.by_text:
            return self.by_text[text]
        is_index = text.isascii() and text.isdecimal() and int(text) < self.n_states
        return int(text) if is_index else text


def _drop_header(rows: list[tuple[str, str]], states: _States) -> list[tuple[str, str]]:
    """Rows without a first one of words that name columns and no states."""
    is_header = bool(rows) and all(
        cell.lower() in _HEADERS and cell not in states.by_text for cell in rows[0]
    )
    return rows[1:] if is_header else rows


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
                rows.append((record[0].strip(), record[1].strip()))
    if not rows:
        raise FileFormatError("the file is empty", file=path, remedy="write two columns, or leave it out")
    return rows
