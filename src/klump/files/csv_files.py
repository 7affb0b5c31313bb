"""``.csv`` and ``.tsv``: a square matrix of numbers, or one transition per line.

Transitions
    The header names the columns, in any order: ``from`` and ``to`` (or ``source`` and ``target``), and one of
    ``weight``, ``count``, ``probability`` or ``rate``; without one, each line is a transition of weight 1. States are
    in order of their first occurrence as ``from``, then those that only occur as ``to``. The chain is sparse.
Matrix
    A first row with a cell that is not a number is a header of state names; the first column holds state names if
    the n rows have n + 1 fields. The chain is dense.

The delimiter is a comma, or a tab in a ``.tsv``, if the first record has one; else a comma, semicolon, tab or blank,
whichever it has first in this order. Blanks separate fields only if the second record has one too.

Fields with delimiters, quotation marks or line breaks are quoted as in RFC 4180, and white space belongs to the name.
Names that are all integers become integers, and then the states of a list of transitions are in numeric order, unless
the comment ``# states in order of appearance`` precedes the header.
Lines that start with ``#`` are comments if they precede the first record; later, ``#`` may be a state.
"""

from __future__ import annotations

import csv
import math
import re
from array import array
from collections.abc import Iterator, Sequence
from itertools import chain as chained
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from klump.chain.rows import entries
from klump.errors import FileFormatError, Setting
from klump.files.gate import quote
from klump.files.registry import Contents
from klump.files.streams import create_text, open_text
from klump.files.transitions import drop_default_names, order_states, parse_integers

if TYPE_CHECKING:
    from klump.chain import MarkovChain

KEEPS = ("names",)
# Names of the column of weights.
_WEIGHTS = {"weight", "count", "probability", "rate"}
# Names of the columns of the two states.
_ENDS = (("from", "to"), ("source", "target"))
# Delimiters by precedence.
_DELIMITERS = (",", ";", "\t", " ")
_QUOTED_FIELD = re.compile(r'"(?:[^"]|"")*"')
# Longest line that is searched for delimiters, in characters.
_MAX_SEARCHED = 2**20
# Comment of a list of transitions whose integer names are not in numeric order.
_IN_ORDER_OF_APPEARANCE = "# states in order of appearance"
# Fields with these characters, or with blanks at their ends, are quoted.
_QUOTED = re.compile(r'["\r\n]|\A\s|\s\Z')


def read(path: Path, *, add_up: bool) -> Contents:
    """Read a list of transitions if the header has ``from`` and ``to``, else a matrix."""
    with open_text(path) as stream:
        table = _Table(stream, preferred=_delimiter(path))
        first = next(iter(table), None)
        if first is None:
            raise FileFormatError("the file is empty", remedy="write a header and transitions, or a matrix")
        if "\0" in first[0]:
            raise FileFormatError("not a text file", remedy="check the suffix")
        columns = [cell.strip().lower() for cell in first]
        ends = next((ends for ends in _ENDS if set(ends) <= set(columns)), None)
        if ends is not None and len(columns) <= 3:
            return _read_transitions(columns, ends, table, add_up=add_up)
        return _read_matrix(first, table)


def write(chain: MarkovChain, path: Path) -> None:
    """Write a sparse chain as transitions and a dense one as a matrix; floats round-trip exactly."""
    names = [str(name) for name in chain.states]
    if len(set(names)) < len(names):
        raise FileFormatError(
            "two state names are the same when written as text", remedy="write an .npz file instead"
        )
    if max(map(len, names)) > csv.field_size_limit():
        raise FileFormatError(
            f"a state name has more than {csv.field_size_limit():,} characters, which are not read back",
            remedy="write an .npz file instead",
        )
    delimiter = _delimiter(path)
    matrix: Any = chain.transition_matrix
    with create_text(path) as stream:
        if chain.is_sparse:
            values = parse_integers(names)
            if values is not None and values != sorted(values):
                stream.write(f"{_IN_ORDER_OF_APPEARANCE}\n")
            stream.write(f"{delimiter.join(('from', 'to', 'probability'))}\n")
            fields = [_quote_field(name, delimiter) for name in names]
            for row, col, probability in entries(matrix):
                triples = zip(row.tolist(), col.tolist(), probability.tolist(), strict=True)
                stream.writelines(
                    f"{fields[i]}{delimiter}{fields[j]}{delimiter}{weight!r}\n" for i, j, weight in triples
                )
            return
        first: list[tuple[str, ...]] = [()] * len(names)
        if chain.has_names:
            fields = [_quote_field(name, delimiter) for name in names]
            stream.write(f"{delimiter.join(('', *fields))}\n")
            first = [(field,) for field in fields]
        for start, row in zip(first, matrix.tolist(), strict=True):
            stream.write(f"{delimiter.join((*start, *map(repr, row)))}\n")


def _delimiter(path: Path) -> str:
    return "\t" if ".tsv" in "".join(path.suffixes[-2:]).lower() else ","


def _quote_field(name: str, delimiter: str) -> str:
    """Quote a field as in RFC 4180; unlike the csv module, also one with a carriage return."""
    if delimiter in name or _QUOTED.search(name):
        return '"' + name.replace('"', '""') + '"'
    return name


class _Table:
    """Records of a CSV file, without blank lines and leading comments, with the current line number."""

    def __init__(self, stream: TextIO, preferred: str) -> None:
        self._comments = 0
        # Whether a comment says that states are in order of appearance.
        self.keeps_order = False
        first = self._skip_comments(stream)
        # The second line is needed to tell blanks that separate from blanks in a name.
        second = next(stream, "") if first else ""
        delimiter = find_delimiter(first, second, preferred)
        lines: Iterator[str] = filter(None, chained([first, second], stream))
        if delimiter == " ":
            lines = (f"{line.rstrip()}\n" for line in lines)
        self._reader = csv.reader(lines, delimiter=delimiter, strict=True, skipinitialspace=delimiter == " ")

    @property
    def line(self) -> int:
        """Line number of the end of the current record."""
        return self._comments + self._reader.line_num

    def __iter__(self) -> Iterator[list[str]]:
        try:
            yield from filter(None, self._reader)
        except csv.Error as error:
            raise FileFormatError(
                f"line {self.line}: {error}",
                remedy="quote a field that has a quotation mark, and double the mark",
            ) from error

    def _skip_comments(self, stream: TextIO) -> str:
        """First line that is no comment; empty if there is none."""
        for line in stream:
            if not line.startswith("#") and line.strip():
                return line
            self._comments += 1
            self.keeps_order |= line.rstrip() == _IN_ORDER_OF_APPEARANCE
        return ""


def find_delimiter(first: str, second: str, preferred: str) -> str:
    """Delimiter of a table by its first two lines, outside of quotation marks.

    >>> find_delimiter("a;b", "0;1", ","), find_delimiter("a b", "0 1", ","), find_delimiter("a b", "1", ",")
    (';', ' ', ',')
    """
    plain = _QUOTED_FIELD.sub("x", first[:_MAX_SEARCHED])
    for delimiter in (preferred, *_DELIMITERS[:-1]):
        if delimiter in plain:
            return delimiter
    if " " in plain.strip() and " " in _QUOTED_FIELD.sub("x", second[:_MAX_SEARCHED]).strip():
        return " "
    return preferred


def _read_transitions(columns: list[str], ends: tuple[str, str], table: _Table, *, add_up: bool) -> Contents:
    weights = [column for column in columns if column in _WEIGHTS]
    width = len(columns)
    if len(set(columns)) != width or len(weights) != width - 2:
        raise FileFormatError(
            f"line {table.line}: the header has no column of weights",
            remedy=f"name the columns {ends[0]}, {ends[1]} and one of weight, count, probability or rate",
        )
    source_at, target_at = columns.index(ends[0]), columns.index(ends[1])
    weight_at = columns.index(weights[0]) if weights else None
    number: dict[str, int] = {}
    # array.array, not lists: 32 bytes per transition.
    source, target, weight, lines = array("q"), array("q"), array("d"), array("q")
    for record in table:
        if len(record) != width:
            raise _width_error(record, width, table.line)
        source.append(number.setdefault(record[source_at], len(number)))
        target.append(number.setdefault(record[target_at], len(number)))
        try:
            weight.append(1.0 if weight_at is None else float(record[weight_at]))
        except ValueError:
            raise _weight_error(record[weight_at or 0], table.line, weights[0]) from None
        lines.append(table.line)
    if not lines:
        raise FileFormatError("there is no transition below the header", remedy="write one per line")
    data = np.array(weight)
    wrong = np.flatnonzero(~(np.isfinite(data) & (data >= 0)))
    if wrong.size:
        raise _weight_error(weight[wrong[0]], lines[wrong[0]], weights[0])
    rows, cols = np.array(source), np.array(target)
    if not add_up:
        _require_no_duplicates(rows, cols, list(number), lines)
    names, rank = order_states(list(number), rows, keeps_order=table.keeps_order)
    shape = (len(names), len(names))
    return Contents(
        sparse.csr_array((data, (rank[rows], rank[cols])), shape=shape), drop_default_names(names)
    )


def _require_no_duplicates(
    rows: NDArray[Any], cols: NDArray[Any], names: list[str], lines: Sequence[int]
) -> None:
    """Raise for the first transition that occurs twice."""
    key = rows * np.int64(len(names)) + cols
    order = np.argsort(key, kind="stable")
    repeated = np.flatnonzero(key[order][1:] == key[order][:-1])
    if repeated.size:
        later = order[repeated + 1]
        which = repeated[np.argmin(later)]
        first, again = int(order[which]), int(order[which + 1])
        raise FileFormatError(
            f"line {lines[again]}: the transition from {quote(names[rows[again]])} to {quote(names[cols[again]])} was "
            f"already given in line {lines[first]}",
            remedy=("remove one, or pass ", Setting("normalize", True), " to add them up"),
        )


def _read_matrix(first: list[str], table: _Table) -> Contents:
    header = first if any(_parse_number(cell) is None for cell in first) else None
    header_line = table.line
    leading, lines = [], []
    rows: list[NDArray[np.float64]] = []
    for record in table if header else chained([first], table):
        if rows and len(record) != len(rows[0]) + 1:
            raise _width_error(record, len(rows[0]) + 1, table.line)
        leading.append(record[0])
        rows.append(_parse_weights(record[1:], table.line, 2))
        lines.append(table.line)
    if (
        header
        and len(rows) == len(header) - 2
        and all(_parse_number(cell) is not None for cell in header[1:])
    ):
        # Only the first cell is text, and the matrix is square with this row: a row with its name, not a header.
        leading.insert(0, header[0])
        rows.insert(0, _parse_weights(header[1:], header_line, 2))
        lines.insert(0, header_line)
        header = None
    if not rows:
        raise FileFormatError(
            f"line {header_line} is read as names, and there is no row of numbers below it",
            remedy="write the rows of the matrix below it",
        )
    width = len(rows[0]) + 1
    matrix = np.array(rows).reshape(len(rows), width - 1)
    names = header
    if width == len(rows) + 1 and (header or any(_parse_number(cell) is None for cell in leading)):
        names = leading
        if header:
            _require_same_names(header, leading, header_line, lines)
    else:
        column = [_parse_weights([cell], line, 1) for cell, line in zip(leading, lines, strict=True)]
        matrix = np.hstack([np.array(column), matrix])
        if header and not len(header) == matrix.shape[0] == matrix.shape[1]:
            raise FileFormatError(
                f"line {header_line} names {len(header)} states, but {len(rows)} rows of {width} follow",
                remedy="write a square matrix with one name per column",
            )
    return Contents(matrix, None if names is None else drop_default_names(parse_integers(names) or names))


def _require_same_names(header: list[str], leading: list[str], header_line: int, lines: list[int]) -> None:
    # Some programs omit the header cell of the index column.
    across = header[len(header) - len(leading) :]
    if len(header) - len(leading) not in (0, 1):
        raise FileFormatError(
            f"line {header_line} names {len(header)} states, but {len(leading)} rows follow",
            remedy="write one row per state",
        )
    for column, row, line in zip(across, leading, lines, strict=True):
        if column != row:
            raise FileFormatError(
                f"line {line}: the row is named {quote(row)}, but its column is named {quote(column)} "
                f"in line {header_line}",
                state=row,
                remedy="give rows and columns the same names in the same order",
            )


def _parse_weights(cells: list[str], line: int, first_column: int) -> NDArray[np.float64]:
    """Parse cells as finite, non-negative floats; the error names line and column."""
    try:
        values = np.array([float(cell) for cell in cells])
    except ValueError:  # NaN marks the cells that are not numbers
        values = np.array([np.nan if _parse_number(cell) is None else float(cell) for cell in cells])
    wrong = np.flatnonzero(~(np.isfinite(values) & (values >= 0)))
    if wrong.size:
        position = int(wrong[0])
        raise _weight_error(cells[position], line, position + first_column)
    return values


def _parse_number(cell: str) -> float | None:
    try:
        return float(cell)
    except ValueError:
        return None


def _weight_error(given: str | float, line: int, column: str | int) -> FileFormatError:
    value = _parse_number(given) if isinstance(given, str) else given
    shown = quote(given) if isinstance(given, str) else str(given)
    if value is None:
        problem = f"{shown} is not a number"
    elif not math.isfinite(value):
        problem = f"{shown.strip(chr(39))} is not a finite number"
    else:
        problem = f"{shown.strip(chr(39))} is negative, which no probability or count can be"
    return FileFormatError(f"line {line}, column {column}: {problem}")


def _width_error(record: list[str], width: int, line: int) -> FileFormatError:
    is_comment = record[0].startswith("#")
    return FileFormatError(
        f"line {line} has {len(record)} fields instead of {width}",
        remedy="move comments above the first record" if is_comment else "",
    )
