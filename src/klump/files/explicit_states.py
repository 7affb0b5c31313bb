"""``.sta``: valuations of the states of a model, which are the state names.

The first line names the variables, ``(s,d)``; then ``0:(0,0)`` per state. Names that are no valuations are written as
values of the variable ``name``, in JSON, which only klump reads.
"""

from __future__ import annotations

import re
from collections.abc import Hashable
from pathlib import Path
from typing import TYPE_CHECKING

from klump.errors import FileFormatError
from klump.files.gate import FETCH_AGAIN, guard_place, quote
from klump.files.state_names import (
    NAME,
    format_valuation,
    name_from_json,
    name_to_json,
    parse_valuations,
)
from klump.files.streams import create_text, open_text

if TYPE_CHECKING:
    from klump.chain import MarkovChain

_LINE = re.compile(r"([0-9]{1,10}):\((.*)\)")


def read_states(path: Path, n_states: int) -> list[Hashable]:
    """Read the names of all states."""
    names: dict[int, Hashable] = {}
    variables: list[str] | None = None
    with open_text(path) as stream:
        for number, line in enumerate(stream, start=1):
            text = line.strip()
            if not text or text.startswith("#"):
                continue
            if variables is None:
                variables = _parse_header(text, number)
                continue
            found = _LINE.fullmatch(text)
            if found is None or int(found[1]) in names or int(found[1]) >= n_states:
                raise FileFormatError(
                    f"line {number}: {quote(text)} is not the valuation of a further one of {n_states:,} states",
                    remedy=FETCH_AGAIN,
                )
            names[int(found[1])] = _parse_name(variables, found[2], number)
    if len(names) < n_states:
        raise FileFormatError(
            f"it has {len(names):,} states, but the .tra file has {n_states:,}",
            remedy="give the files of one model the same name",
        )
    return [names[state] for state in range(n_states)]


def _parse_header(text: str, line: int) -> list[str]:
    if not (text.startswith("(") and text.endswith(")")):
        raise FileFormatError(
            f"line {line}: {quote(text)} is not a list of variables such as (s,d)", remedy=FETCH_AGAIN
        )
    return [variable.strip() for variable in text[1:-1].split(",")]


def _parse_name(variables: list[str], text: str, line: int) -> Hashable:
    if variables == [NAME]:
        with guard_place(f"line {line}"):
            name = name_from_json(text)
            hash(name)
            return name
    values = [value.strip() for value in text.split(",")]
    if len(values) != len(variables):
        raise FileFormatError(
            f"line {line}: {len(values)} values, but there are {len(variables)} variables", remedy=FETCH_AGAIN
        )
    return format_valuation(variables, values)


def write_states(chain: MarkovChain, path: Path) -> None:
    """Write the names of the states."""
    found = parse_valuations(chain.states)
    variables, rows = ([NAME], [[name_to_json(name)] for name in chain.states]) if found is None else found
    with create_text(path) as stream:
        stream.write(f"({','.join(variables)})\n")
        stream.writelines(f"{state}:({','.join(values)})\n" for state, values in enumerate(rows))
