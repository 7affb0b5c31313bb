"""Streams of plain, gzip- and xz-compressed files; what is decompressed is bounded in length and memory."""

from __future__ import annotations

import gzip
import io
import lzma
import os
import stat
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, TextIO, cast

from klump.errors import FileFormatError
from klump.files.gate import require_file
from klump.files.limits import FREE_TEXT_BYTES, expansion_error, expansion_limit

# Bytes per read.
_CHUNK = 2**20
# Compressed bytes per read of an xz file.
_XZ_CHUNK = 2**16
# Memory of the xz decoder, in bytes: the dictionary of `xz -9` takes 64 MiB.
_XZ_MEMORY = 2**27
# First bytes of compressed files.
_GZIP = b"\x1f\x8b"
_XZ = b"\xfd7zXZ\x00"


@contextmanager
def open_bytes(path: Path, free: int | None = None) -> Iterator[tuple[IO[bytes], int]]:
    """Open a file for reading, and find its length; one that is compressed by gzip or xz is decompressed.

    Compression is told by the first bytes, whatever the name. A compressed file is decompressed twice, first for its
    length and checksum, at a few percent of the time of parsing: one that expands beyond its limit, ``free`` bytes
    (FREE_TEXT_BYTES if left out) or a multiple of its length, is refused before anything is parsed.
    """
    length = require_file(path)
    opener = _decompressor(path)
    if opener is None:
        with path.open("rb") as file:
            yield file, length
        return
    with opener(path) as stream:
        length = _measure(stream, length, FREE_TEXT_BYTES if free is None else free)
    with opener(path) as stream:
        yield stream, length


def peek(path: Path, length: int) -> bytes:
    """First bytes of a regular file, decompressed; empty if it cannot be read."""
    try:
        require_file(path)
        with (_decompressor(path) or _plain)(path) as stream:
            return stream.read(length)
    except (FileFormatError, OSError, EOFError, zlib.error, lzma.LZMAError):
        return b""


def _decompressor(path: Path) -> Callable[[Path], IO[bytes]] | None:
    """Opener of a compressed file; None if it is not compressed."""
    with path.open("rb") as file:
        start = file.read(len(_XZ))
    return _gzip if start.startswith(_GZIP) else _xz if start == _XZ else None


def _plain(path: Path) -> IO[bytes]:
    return path.open("rb")


def _gzip(path: Path) -> IO[bytes]:
    return cast(IO[bytes], gzip.open(path, "rb"))


def _xz(path: Path) -> IO[bytes]:
    return cast(IO[bytes], io.BufferedReader(_XzFile(path)))


class _XzFile(io.RawIOBase):
    """An xz file, decompressed: unlike ``lzma.open``, with a limit on the memory of the decoder."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("rb")
        self._decoder = self._start()

    @staticmethod
    def _start() -> lzma.LZMADecompressor:
        return lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=_XZ_MEMORY)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while True:
            given = b""
            if self._decoder.eof:
                given = self._decoder.unused_data or self._file.read(_XZ_CHUNK)
                if not given:
                    return 0
                self._decoder = self._start()
            elif self._decoder.needs_input:
                given = self._file.read(_XZ_CHUNK)
                if not given:
                    raise EOFError("the compressed data ends before its end marker")
            found = self._decoder.decompress(given, max_length=len(buffer))
            if found:
                buffer[: len(found)] = found
                return len(found)

    def close(self) -> None:
        self._file.close()
        super().close()


@contextmanager
def open_text(path: Path) -> Iterator[TextIO]:
    """Open a UTF-8 file for reading, a byte order mark skipped and line breaks left as they are."""
    with open_bytes(path) as (stream, _):
        yield io.TextIOWrapper(stream, encoding="utf-8-sig", newline="")


@contextmanager
def create_text(path: Path) -> Iterator[TextIO]:
    """Open a UTF-8 file for writing, compressed if its name ends in .gz or .xz; line breaks are left as they are."""
    opener: Any = {".gz": gzip.open, ".xz": lzma.open}.get(path.suffix.lower(), open)
    with opener(path, "wt", encoding="utf-8", newline="") as stream:
        yield stream


def _measure(stream: IO[bytes], compressed: int, free: int) -> int:
    """Length of a stream when it is decompressed."""
    limit = expansion_limit(compressed, free)
    length = 0
    while chunk := stream.read(_CHUNK):
        length += len(chunk)
        if length > limit:
            raise expansion_error(compressed, limit)
    return length


def read_text(path: Path) -> str:
    """Read a UTF-8 file, a byte order mark skipped; of a pipe at most as much as a compressed file may have."""
    if stat.S_ISREG(os.stat(path).st_mode):
        with open_text(path) as stream:
            return stream.read()
    with path.open("rb") as file:
        content = file.read(FREE_TEXT_BYTES + 1)
    if len(content) > FREE_TEXT_BYTES:
        raise FileFormatError(
            f"the pipe or device has more than {FREE_TEXT_BYTES:,} bytes", remedy="write them to a file"
        )
    return content.decode("utf-8-sig")
