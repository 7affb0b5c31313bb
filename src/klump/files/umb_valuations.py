"""Valuations of states in a ``.umb`` archive: integers and truth values, packed to bits."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from klump.errors import FileFormatError
from klump.files.gate import FETCH_AGAIN
from klump.files.state_names import format_valuation, parse_valuations

# Widest variable that need not begin at a byte, in bits: it lies within 8 bytes.
_MAX_UNALIGNED = 57


class _Variable(NamedTuple):
    """Place and type of a variable inside the bits of a state."""

    name: str
    kind: str
    start: int
    size: int
    offset: int


def decode_valuations(description: Any, content: bytes | None, n_states: int) -> list[Hashable] | None:
    """State names; None if there are no valuations, or such that names cannot be made of."""
    if description is None or content is None:
        return None
    classes = description["classes"]
    if len(classes) != 1:
        return None
    variables, n_bits = _layout(classes[0]["variables"])
    if not variables or n_bits % 8:
        return None
    width = n_bits // 8
    if len(content) != width * n_states:
        raise FileFormatError(
            f"its valuations have {len(content):,} bytes instead of {width * n_states:,}", remedy=FETCH_AGAIN
        )
    table = np.frombuffer(content, dtype=np.uint8).reshape(n_states, width)
    columns = [_column(table, variable) for variable in variables]
    names = [variable.name for variable in variables]
    states: list[Hashable] = [format_valuation(names, values) for values in zip(*columns, strict=True)]
    return states if len(set(states)) == n_states else None


def _layout(entries: list[dict[str, Any]]) -> tuple[list[_Variable], int]:
    """Variables, and the number of bits per state; no variables if one is of a type without names."""
    variables, start = [], 0
    for entry in entries:
        if "padding" in entry:
            start += _bits(entry["padding"])
            continue
        size, kind = _bits(entry["type"]["size"]), entry["type"]["type"]
        unaligned = start % 8 and size > _MAX_UNALIGNED
        if kind not in ("bool", "int", "uint") or entry.get("is-optional") or size > 64 or unaligned:
            return [], 0
        variables.append(_Variable(str(entry["name"]), kind, start, size, int(entry.get("offset", 0))))
        start += size
    return variables, start


def _bits(value: Any) -> int:
    if type(value) is not int or not 0 <= value <= 2**20:
        raise FileFormatError("index.json: the size of a variable is not a number of bits")
    return value


def _column(table: NDArray[np.uint8], variable: _Variable) -> list[str]:
    """Values of a variable as text."""
    first, last = variable.start // 8, -(-(variable.start + variable.size) // 8)
    value = np.zeros(len(table), dtype=np.uint64)
    for place, byte in enumerate(range(first, last)):
        value |= table[:, byte].astype(np.uint64) << np.uint64(8 * place)
    value >>= np.uint64(variable.start % 8)
    if variable.size < 64:
        value &= np.uint64((1 << variable.size) - 1)
    if variable.kind == "bool":
        return ["true" if bit else "false" for bit in value.tolist()]
    numbers = value.tolist()
    if variable.kind == "int" and variable.size:
        half, full = 1 << (variable.size - 1), 1 << variable.size
        numbers = [number - full if number >= half else number for number in numbers]
    return [str(number + variable.offset) for number in numbers]


def encode_valuations(states: Sequence[Hashable]) -> tuple[dict[str, Any], bytes] | None:
    """Description and bits of state names that are valuations; None if they are not, or beyond 64 bits."""
    found = parse_valuations(states)
    if found is None:
        return None
    names, rows = found
    entries: list[dict[str, Any]] = []
    columns: list[NDArray[np.uint8]] = []
    for name, column in zip(names, zip(*rows, strict=True), strict=True):
        if set(column) <= {"true", "false"}:
            entries += [{"name": name, "type": {"type": "bool", "size": 1}}, {"padding": 7}]
            columns.append(np.array([[value == "true"] for value in column], dtype=np.uint8))
            continue
        if {"true", "false"} & set(column) or any(len(value) > 18 for value in column):
            return None
        numbers = [int(value) for value in column]
        if list(map(str, numbers)) != list(column):
            return None
        low, high = min(numbers), max(numbers)
        entries.append({"name": name, "type": {"type": "int", "size": 64}, "lower": low, "upper": high})
        columns.append(np.array(numbers, dtype="<i8").view(np.uint8).reshape(len(numbers), 8))
    description = {"unique": True, "classes": [{"variables": entries}]}
    return description, np.hstack(columns).tobytes()
