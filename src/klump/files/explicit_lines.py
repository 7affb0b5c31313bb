"""Tables of explicit models: lines of state numbers and a number, as in ``.tra``, ``.srew`` and ``.trew`` files.

Chunks of plain lines take the fast path of Matrix Market; rationals, actions, comments and the rows variant
(``0 0.5:1 0.5:2``) are parsed line by line.
"""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from klump.errors import FileFormatError
from klump.files.gate import FETCH_AGAIN, quote
from klump.files.matrix_market_lines import Lines, parse_fast

# Largest number of states: column indices are 32-bit integers.
MAX_STATES = 2**31 - 2
_INDEX = re.compile(rb"[0-9]{1,10}")
_NUMBER = re.compile(rb"[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?")
# Python converts up to 4300 digits.
_RATIONAL = re.compile(r"([-+]?[0-9]{1,4000})/([0-9]{1,4000})")


class Table(NamedTuple):
    """Columns of a table."""

    indices: list[NDArray[np.int32]]
    """One column of state numbers, or two, from 0 on."""
    values: NDArray[np.float64]


def parse_number(word: bytes | str) -> float | None:
    """Finite decimal number, or rational such as 1/3; None for anything else.

    >>> parse_number("1/4"), parse_number(b"2.5e-1"), parse_number("1/0"), parse_number("nan"), parse_number("1e999")
    (0.25, 0.25, None, None, None)
    """
    text = word.decode("latin-1") if isinstance(word, bytes) else word
    if found := _RATIONAL.fullmatch(text):
        top, bottom = int(found[1]), int(found[2])
        try:
            return float(Fraction(top, bottom))
        except (ZeroDivisionError, OverflowError):
            return None
    if not text.isascii() or not _NUMBER.fullmatch(text.encode()):
        return None
    value = float(text)
    return value if np.isfinite(value) else None


def read_table(lines: Lines, n_states: int | None, n_indices: int, *, rows: bool = False) -> Table:
    """Read the rest of a file: ``n_indices`` state numbers below ``n_states``, and a number.

    With ``rows``, a line may also hold a row: ``0 0.5:1 0.5:2``, and end with the name of an action.
    """
    size = MAX_STATES if n_states is None else n_states
    width = n_indices + 1
    columns: list[list[NDArray[Any]]] = [[] for _ in range(width)]
    for first_line, chunk in lines.chunks():
        parsed = parse_fast(chunk, width, n_indices, (size, size), False, base=0)
        if parsed is None or not np.isfinite(parsed[-1]).all():
            parsed = _parse_lines(chunk, first_line, size, n_indices, rows=rows)
        for column, values in zip(columns, parsed, strict=True):
            column.append(values)
    dtypes = [np.int32] * n_indices + [np.float64]
    joined: list[NDArray[Any]] = [
        np.concatenate(column) if column else np.zeros(0, dtype)
        for column, dtype in zip(columns, dtypes, strict=True)
    ]
    return Table(joined[:-1], joined[-1])


def _parse_lines(
    chunk: bytes, first_line: int, size: int, n_indices: int, *, rows: bool
) -> list[NDArray[Any]]:
    records: list[tuple[float, ...]] = []
    for number, line in enumerate(chunk.split(b"\n"), start=first_line):
        words = line.split()
        if not words or words[0].startswith(b"#"):
            continue
        if rows and len(words) > 1 and b":" in words[1]:
            source = _index(words[0], size, number)
            # The last word may be the name of an action.
            pairs = words[1:] if b":" in words[-1] else words[1:-1]
            for pair in pairs:
                weight, _, target = pair.partition(b":")
                records.append((source, _index(target, size, number), _value(weight, number)))
            continue
        if len(words) != n_indices + 1 and not (rows and len(words) == n_indices + 2):
            raise FileFormatError(
                f"line {number}: {quote(line.strip())} has {len(words)} fields instead of {n_indices + 1}",
                remedy=FETCH_AGAIN,
            )
        indices = (_index(word, size, number) for word in words[:n_indices])
        records.append((*indices, _value(words[n_indices], number)))
    table = np.array(records, dtype=np.float64).reshape(-1, n_indices + 1)
    return [*(table[:, column].astype(np.int32) for column in range(n_indices)), table[:, n_indices].copy()]


def _index(word: bytes, size: int, line: int) -> int:
    if not _INDEX.fullmatch(word):
        raise FileFormatError(f"line {line}: {quote(word)} is not the number of a state", remedy=FETCH_AGAIN)
    if int(word) >= size:
        raise FileFormatError(
            f"line {line}: there is no state {word.decode()}, as there are {size:,} and they count from 0",
            remedy=FETCH_AGAIN,
        )
    return int(word)


def _value(word: bytes, line: int) -> float:
    value = parse_number(word)
    if value is None:
        raise FileFormatError(f"line {line}: {quote(word)} is not a finite number", remedy=FETCH_AGAIN)
    return value
