"""``.mtx``: Matrix Market, sparse (coordinate) or dense (array).

The format cannot hold state names: they are neither read nor written. Numbers are read by NumPy in chunks of lines;
a chunk that does not fit the grammar is read again line by line, for an error that names the line.
"""

from __future__ import annotations

import gzip
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.io import mmwrite

from klump.errors import FileFormatError, InvalidChainError
from klump.files.gate import FETCH_AGAIN, quote
from klump.files.limits import require_plausible_states
from klump.files.matrix_market_lines import Lines, parse_chunk
from klump.files.registry import Contents
from klump.files.streams import open_bytes

if TYPE_CHECKING:
    from klump.chain import MarkovChain

KEEPS = ()
_FIELDS = ("real", "double", "integer", "unsigned-integer", "pattern")
_SYMMETRIES = ("general", "symmetric", "skew-symmetric")
# Shortest lines of an entry, in bytes, with the line break: "1 1", "1 1 1" and "1".
_SHORTEST = {"pattern": 4, "coordinate": 6, "array": 2}


class _Header(NamedTuple):
    """Banner and size line."""

    is_array: bool
    field: str
    symmetry: str
    n_rows: int
    n_columns: int
    n_entries: int


def read(path: Path, *, add_up: bool) -> Contents:
    """Read a matrix; symmetric ones are expanded, pattern entries get the weight 1, duplicates are added up."""
    with open_bytes(path) as (stream, length):
        lines = Lines(stream)
        header = _read_header(lines, length)
        if header.is_array:
            return Contents(_read_array(lines, header))
        return Contents(_read_coordinates(lines, header))


def write(chain: MarkovChain, path: Path) -> None:
    """Write a chain; floats round-trip exactly."""
    opener: Any = gzip.open if path.suffix.lower() == ".gz" else open
    with opener(path, "wb") as file:
        mmwrite(file, chain.transition_matrix, symmetry="general")


def _read_header(lines: Lines, length: int) -> _Header:
    banner = lines.next_line().lower().split()
    if not banner or banner[0] not in (b"%%matrixmarket", b"%matrixmarket"):
        raise FileFormatError(
            "line 1: not a Matrix Market file, which starts with %%MatrixMarket", remedy="check the suffix"
        )
    words = [word.decode("latin-1") for word in banner[1:]]
    if len(words) != 4:
        raise FileFormatError(
            f"line 1: the banner has {len(words)} words after %%MatrixMarket instead of 4",
            remedy="write 'matrix coordinate real general' there",
        )
    choices = (("matrix",), ("coordinate", "array"), (*_FIELDS, "complex"), (*_SYMMETRIES, "hermitian"))
    for word, known in zip(words, choices, strict=True):
        if word not in known:
            raise FileFormatError(
                f"line 1: {quote(word)} is not read", remedy=f"write one of {', '.join(known)}"
            )
    _, layout, field, symmetry = words
    if field == "complex" or symmetry == "hermitian":
        raise InvalidChainError(
            "the transition matrix has complex entries", remedy="take its real part first"
        )
    if layout == "array" and field == "pattern":
        raise FileFormatError(
            "line 1: a matrix in array format has values", remedy="write real instead of pattern"
        )
    return _read_size_line(lines, layout == "array", field, symmetry, length)


def _read_size_line(lines: Lines, is_array: bool, field: str, symmetry: str, length: int) -> _Header:
    """Parse the numbers of rows, columns and entries, and compare them with the length of the file."""
    line = lines.next_line()
    while line.startswith(b"%") or (line and not line.strip()):
        line = lines.next_line()
    expected = 2 if is_array else 3
    words = line.split()
    if len(words) != expected or not all(re.fullmatch(rb"[0-9]{1,18}", word) for word in words):
        what = "rows and columns" if is_array else "rows, columns and entries"
        raise FileFormatError(
            f"line {lines.number}: {quote(line.strip())} is not the number of {what}", remedy=FETCH_AGAIN
        )
    n_rows, n_columns = int(words[0]), int(words[1])
    if symmetry != "general" and n_rows != n_columns:
        raise FileFormatError(f"line {lines.number}: a {symmetry} matrix must be square", remedy=FETCH_AGAIN)
    n_entries = _n_stored(n_rows, n_columns, symmetry) if is_array else int(words[2])
    shortest = _SHORTEST["array" if is_array else "pattern" if field == "pattern" else "coordinate"]
    # The last line need not have a line break.
    if n_entries * shortest - 1 > length:
        raise FileFormatError(
            f"line {lines.number}: {n_entries:,} entries are announced, which do not fit into {length:,} bytes",
            remedy=FETCH_AGAIN,
        )
    if not is_array:
        bound = n_entries if symmetry == "general" else 2 * n_entries
        require_plausible_states(max(n_rows, n_columns), bound, where=f"line {lines.number}: ")
    return _Header(is_array, field, symmetry, n_rows, n_columns, n_entries)


def _n_stored(n_rows: int, n_columns: int, symmetry: str) -> int:
    """Number of values in array format: all, the lower triangle, or that without the diagonal."""
    if symmetry == "general":
        return n_rows * n_columns
    return n_rows * (n_rows + 1) // 2 if symmetry == "symmetric" else n_rows * (n_rows - 1) // 2


def _read_table(lines: Lines, header: _Header, width: int) -> list[list[NDArray[Any]]]:
    """Columns of the entries, each in chunks."""
    columns: list[list[NDArray[Any]]] = [[] for _ in range(width)]
    n_read = 0
    integers = header.field in ("integer", "unsigned-integer")
    for first_line, chunk in lines.chunks():
        n_indices = 0 if header.is_array else 2
        parsed = parse_chunk(chunk, first_line, width, n_indices, (header.n_rows, header.n_columns), integers)
        n_read += len(parsed.columns[0])
        if n_read > header.n_entries:
            raise FileFormatError(
                f"line {parsed.line_of(header.n_entries - n_read)}: there are more entries than the "
                f"{header.n_entries:,} that are announced",
                remedy=FETCH_AGAIN,
            )
        for column, values in zip(columns, parsed.columns, strict=True):
            column.append(values)
    if n_read < header.n_entries:
        raise FileFormatError(
            f"the file is truncated: {header.n_entries - n_read:,} of the entries announced in its header are missing",
            remedy=FETCH_AGAIN,
        )
    return columns


def _join(chunks: list[NDArray[Any]], dtype: Any) -> NDArray[Any]:
    return np.concatenate(chunks) if chunks else np.zeros(0, dtype)


def _read_coordinates(lines: Lines, header: _Header) -> sparse.coo_array:
    width = 2 if header.field == "pattern" else 3
    columns = _read_table(lines, header, width)
    row, col = (_join(column, np.int32) for column in columns[:2])
    value = _join(columns[2], np.float64) if width == 3 else np.ones(len(row))
    if header.symmetry != "general":
        off = np.flatnonzero(row != col)
        sign = 1.0 if header.symmetry == "symmetric" else -1.0
        row, col = np.concatenate([row, col[off]]), np.concatenate([col, row[off]])
        value = np.concatenate([value, sign * value[off]])
    return sparse.coo_array((value, (row, col)), shape=(header.n_rows, header.n_columns))


def _read_array(lines: Lines, header: _Header) -> NDArray[np.float64]:
    """Values by columns; of a symmetric matrix those of the lower triangle."""
    values = _join(_read_table(lines, header, 1)[0], np.float64)
    shape = (header.n_rows, header.n_columns)
    if header.symmetry == "general":
        return values.reshape(shape[::-1]).T
    matrix = np.zeros(shape)
    skew = header.symmetry == "skew-symmetric"
    col, row = np.triu_indices(header.n_rows, k=int(skew))
    matrix[row, col] = values
    matrix[col, row] = -values if skew else values
    return matrix
