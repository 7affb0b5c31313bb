"""The header of a ``.drn`` file: lines that start with ``@``, some with a value on the next line."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal, NamedTuple

from klump.errors import FileFormatError
from klump.files.explicit_lines import MAX_STATES
from klump.files.gate import FETCH_AGAIN, quote

_TYPES: dict[str, Literal["discrete", "continuous"]] = {"DTMC": "discrete", "CTMC": "continuous"}
# Value types of numbers; others are intervals and rational functions.
_VALUES = ("double", "rational", "exact")
_PLACEHOLDER = re.compile(r"(\$\S+)\s*:\s*(\S.*)")
_REWARD = re.compile(r'"([^"]*)"|(\S+)')
# Name of a reward model that has none.
_UNNAMED = "reward"


class Header(NamedTuple):
    """What the header says."""

    time: Literal["discrete", "continuous"]
    n_states: int
    rewards: list[str]
    """Names of the reward models."""
    placeholders: dict[str, str]


def read_header(lines: Iterator[tuple[int, str]]) -> Header:
    """Parse everything up to the line ``@model``."""
    kind, n_states, names, placeholders = None, None, None, dict[str, str]()
    section = ""
    for number, raw in lines:
        line = raw.strip()
        if line.startswith("//"):
            continue
        if line.startswith("@"):
            section, _, value = (part.strip() for part in line.partition(":"))
            section = section.lower()
            if section == "@type":
                kind = _parse_type(value, number)
            elif section == "@value_type" and value.lower() not in _VALUES:
                raise FileFormatError(
                    f"line {number}: the value type {quote(value)} is not read",
                    remedy="give a model of plain numbers, without parameters and intervals",
                )
            elif section == "@model":
                break
            continue
        if section == "@nr_states" and line:
            n_states = _parse_count(line, number)
        elif section == "@reward_models" and names is None:
            names = [quoted or plain for quoted, plain in _REWARD.findall(line)]
            # Storm writes a blank for a reward model without a name, and nothing if there is no model.
            if not names and raw.strip("\r\n"):
                names = [_UNNAMED]
        elif section == "@parameters" and line:
            raise FileFormatError(
                f"line {number}: the model has parameters ({quote(line)})", remedy="give them values first"
            )
        elif section == "@placeholders" and line:
            if (found := _PLACEHOLDER.fullmatch(line)) is None:
                raise FileFormatError(
                    f"line {number}: {quote(line)} is not a placeholder such as $x : 0.5", remedy=FETCH_AGAIN
                )
            placeholders[found[1]] = found[2]
    else:
        raise FileFormatError("the line @model is missing", remedy=FETCH_AGAIN)
    if kind is None or n_states is None:
        raise FileFormatError(
            f"the header has no {'@type' if kind is None else '@nr_states'}", remedy=FETCH_AGAIN
        )
    unique = list(dict.fromkeys(names or ()))
    if len(unique) < len(names or ()):
        raise FileFormatError("two reward models have the same name", remedy="rename one")
    return Header(kind, n_states, unique, placeholders)


def _parse_type(value: str, line: int) -> Literal["discrete", "continuous"]:
    kind = _TYPES.get(value.upper())
    if kind is None:
        raise FileFormatError(
            f"line {line}: the model is of type {quote(value)}, not a Markov chain",
            remedy="give a DTMC or CTMC: fix a strategy first",
        )
    return kind


def _parse_count(line: str, number: int) -> int:
    if not re.fullmatch(r"[0-9]{1,10}", line) or not 1 <= int(line) <= MAX_STATES:
        raise FileFormatError(f"line {number}: {quote(line)} is not a number of states", remedy=FETCH_AGAIN)
    return int(line)
