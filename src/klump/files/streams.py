"""Streams of plain and gzip-compressed files; what is decompressed is bounded."""

from __future__ import annotations

import gzip
import io
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TextIO, cast

from klump.errors import FileFormatError
from klump.files.gate import require_file
from klump.files.limits import FREE_TEXT_BYTES, expansion_error, expansion_limit

# Bytes per read.
_CHUNK = 2**20


@contextmanager
def open_bytes(path: Path) -> Iterator[tuple[IO[bytes], int]]:
    """Open a file for reading, and find its length; one whose name ends in .gz is decompressed.

    A compressed file is decompressed twice, first for its length and checksum, at a few percent of the time of parsing:
    one that expands beyond its limit is refused before anything is parsed.
    """
    length = require_file(path)
    if path.suffix.lower() != ".gz":
        with path.open("rb") as file:
            yield file, length
        return
    length = _measure(path, length)
    with gzip.open(path, "rb") as file:
        yield cast(IO[bytes], file), length


@contextmanager
def open_text(path: Path) -> Iterator[TextIO]:
    """Open a UTF-8 file for reading, a byte order mark skipped and line breaks left as they are."""
    with open_bytes(path) as (stream, _):
        yield io.TextIOWrapper(stream, encoding="utf-8-sig", newline="")


def _measure(path: Path, compressed: int) -> int:
    """Length of a gzip file when it is decompressed."""
    limit = expansion_limit(compressed, FREE_TEXT_BYTES)
    length = 0
    with gzip.open(path, "rb") as file:
        while chunk := file.read(_CHUNK):
            length += len(chunk)
            if length > limit:
                raise expansion_error(compressed, limit)
    return length


def read_text(path: Path) -> str:
    """Read a UTF-8 file, a byte order mark skipped; of a pipe at most as much as a compressed file may have."""
    with path.open("rb") as file:
        is_regular = stat.S_ISREG(os.fstat(file.fileno()).st_mode)
        content = file.read() if is_regular else file.read(FREE_TEXT_BYTES + 1)
    if not is_regular and len(content) > FREE_TEXT_BYTES:
        raise FileFormatError(
            f"the pipe or device has more than {FREE_TEXT_BYTES:,} bytes", remedy="write them to a file"
        )
    return content.decode("utf-8-sig")
