"""Lines of a Matrix Market file, and the numbers in them.

The fast path works on whole chunks: a table of byte classes finds the tokens, indices are computed digit by digit, and
``numpy.fromstring`` reads the values. A chunk with any other byte, or tokens that do not fit, takes the slow path, line
by line, which names the first wrong line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from klump.errors import FileFormatError
from klump.files.gate import FETCH_AGAIN, quote

# Bytes per chunk: large enough for NumPy, small enough for the cache and for bounded memory.
_CHUNK = 2**20
# Longest line in bytes; an entry takes 60 at most, and comments are short.
_MAX_LINE = 2**16
# Digits of the longest index of the fast path: more than 2**31 states are refused before.
_MAX_DIGITS = 10
# Classes of bytes.
_BLANK, _DIGIT, _SIGN, _FLOAT, _OTHER = range(5)
_CLASS = np.full(256, _OTHER, dtype=np.uint8)
for _bytes, _kind in ((b" \t\r\n", _BLANK), (b"0123456789", _DIGIT), (b"+-", _SIGN), (b".eE", _FLOAT)):
    _CLASS[list(_bytes)] = _kind
_NUMBER = re.compile(
    rb"[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?|[-+]?(?:inf|infinity|nan)", re.IGNORECASE
)
_INTEGER = re.compile(rb"[-+]?[0-9]+")
_BLANKS = re.compile(rb"[ \t\r]+")
_INDEX = re.compile(rb"[0-9]+")


class Lines:
    """The lines of a stream: one by one for the header, then in chunks of whole lines."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        # Number of the line that was read last.
        self.number = 0

    def next_line(self) -> bytes:
        """Read one line with its line break; empty at the end of the file."""
        line = self._stream.readline(_MAX_LINE)
        if len(line) == _MAX_LINE:
            raise self._length_error(self.number + 1)
        self.number += 1
        return line

    def chunks(self) -> Iterator[tuple[int, bytes]]:
        """Number of the first line, and bytes, of chunks that end with a line break."""
        rest = b""
        while chunk := self._stream.read(_CHUNK):
            whole, found, last = (rest + chunk).rpartition(b"\n")
            if len(last) > _MAX_LINE:
                raise self._length_error(self.number + 1 + (whole + found).count(b"\n"))
            rest = last
            if found:
                yield self.number + 1, whole + found
                self.number += whole.count(b"\n") + 1
        if rest:
            yield self.number + 1, rest + b"\n"

    def _length_error(self, number: int) -> FileFormatError:
        return FileFormatError(f"line {number}: longer than {_MAX_LINE:,} bytes", remedy=FETCH_AGAIN)


class Parsed(NamedTuple):
    """Columns of a chunk, and what is needed to find the line of a row."""

    columns: list[NDArray[Any]]
    chunk: bytes
    first_line: int

    def line_of(self, row: int) -> int:
        """Line number of a row, which may count from the end: blank lines are none."""
        filled = [number for number, line in enumerate(self.chunk.split(b"\n")) if line.strip()]
        return self.first_line + filled[row]


def parse_chunk(
    chunk: bytes, first_line: int, width: int, n_indices: int, shape: tuple[int, int], integers: bool
) -> Parsed:
    """Columns of the numbers in a chunk: ``n_indices`` of zero-based indices, then values as float64."""
    columns = parse_fast(chunk, width, n_indices, shape, integers)
    if columns is None:
        columns = _parse_slowly(chunk, first_line, width, n_indices, shape, integers)
    return Parsed(columns, chunk, first_line)


def parse_fast(
    chunk: bytes, width: int, n_indices: int, shape: tuple[int, int], integers: bool, base: int = 1
) -> list[NDArray[Any]] | None:
    """As :func:`parse_chunk`, for indices that count from ``base``; None if anything is unusual."""
    text = np.frombuffer(chunk, np.uint8)
    kind = _CLASS[text]
    if (kind >= (_FLOAT if integers or width == n_indices else _OTHER)).any():
        return None
    edges = np.diff((kind != _BLANK).view(np.int8), prepend=np.int8(0))
    starts: NDArray[np.intp] = np.flatnonzero(edges == 1)
    ends: NDArray[np.intp] = np.flatnonzero(edges == -1)
    breaks = np.flatnonzero(text == ord("\n"))
    per_line = np.diff(np.searchsorted(starts, breaks), prepend=0)
    if not ((per_line == width) | (per_line == 0)).all():
        return None
    starts, ends = starts.reshape(-1, width), ends.reshape(-1, width)
    columns: list[NDArray[Any]] = []
    rest = text.copy()
    for column in range(n_indices):
        index = _parse_index(rest, starts[:, column], ends[:, column])
        if index is None or (index.size and not base <= index.min() <= index.max() < shape[column] + base):
            return None
        columns.append((index - base).astype(np.int32))
    if width > n_indices:
        value = _parse_values(rest, len(starts))
        if value is None:
            return None
        columns.append(value)
    return columns


def _parse_index(
    text: NDArray[np.uint8], start: NDArray[np.intp], end: NDArray[np.intp]
) -> NDArray[np.int64] | None:
    """Parse tokens of digits and blank them out; None if one has another byte or too many digits."""
    index = np.zeros(len(start), dtype=np.int64)
    place = 1
    longest = int((end - start).max(initial=0))
    if longest > _MAX_DIGITS:
        return None
    for back in range(1, longest + 1):
        at = end - back
        inside = at >= start
        digit = text[at] - np.uint8(ord("0"))
        digit[~inside] = 0
        if (digit > 9).any():
            return None
        index += digit * np.int64(place)
        text[at[inside]] = ord(" ")
        place *= 10
    return index


def _parse_values(text: NDArray[np.uint8], count: int) -> NDArray[np.float64] | None:
    """Parse ``count`` numbers between blanks; None if there is anything else."""
    try:
        value = np.fromstring(text.tobytes(), dtype=np.float64, sep=" ")
    except (ValueError, DeprecationWarning):  # NumPy raises, or warns, where it stops before the end
        return None
    return value if len(value) == count else None


def _parse_slowly(
    chunk: bytes, first_line: int, width: int, n_indices: int, shape: tuple[int, int], integers: bool
) -> list[NDArray[Any]]:
    """As :func:`parse_chunk`, line by line."""
    rows: list[tuple[float, ...]] = []
    for number, line in enumerate(chunk[:-1].split(b"\n"), start=first_line):
        words = [word for word in _BLANKS.split(line) if word]
        if not words:
            continue
        if len(words) != width:
            raise FileFormatError(
                f"line {number}: {quote(line)} has {len(words)} fields instead of {width}", remedy=FETCH_AGAIN
            )
        for word, size, name in zip(words[:n_indices], shape, ("row", "column"), strict=False):
            if not _INDEX.fullmatch(word):
                raise FileFormatError(
                    f"line {number}: {quote(word)} is not the number of a {name}", remedy=FETCH_AGAIN
                )
            digits = word.lstrip(b"0")
            if len(digits) > _MAX_DIGITS or not 1 <= int(digits or b"0") <= size:
                raise FileFormatError(
                    f"line {number}: {name} {quote(word)} is not one of the {size:,} {name}s",
                    remedy=FETCH_AGAIN,
                )
        for word in words[n_indices:]:
            if not (_INTEGER if integers else _NUMBER).fullmatch(word):
                what = "an integer" if integers else "a number"
                raise FileFormatError(f"line {number}: {quote(word)} is not {what}", remedy=FETCH_AGAIN)
        rows.append(tuple(map(float, words)))
    table = np.array(rows, dtype=np.float64).reshape(-1, width)
    indices = [table[:, column].astype(np.int32) - np.int32(1) for column in range(n_indices)]
    return [*indices, *(table[:, column].copy() for column in range(n_indices, width))]
