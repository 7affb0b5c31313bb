"""The file of a checkpoint: an append-only journal of finished results.

A journal starts with the line ``klump checkpoint 1``, followed by records. A record has a length in bytes, a checksum
of the length, a digest of the digest before and the content, and the content, an encoded value
(:mod:`klump.checkpoints.values`)::

    length  CRC-32   digest                             content
    8 bytes 4 bytes  BLAKE2b(digest before + content)   {"unit": name, "digest": of its arguments, "value": result}
                     16 bytes

The first record is the question that is being answered; the file appears with it, at once. A process that is killed, or
a full disk, leaves at most one incomplete record at the end, which is dropped. Anything else that is wrong is damage:
no record of a damaged journal is used.
"""

from __future__ import annotations

import os
import struct
import threading
import zlib
from collections.abc import Iterator
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path
from time import monotonic
from typing import IO, Any, NamedTuple

from klump.checkpoints.values import DIGEST_SIZE, decode, encode
from klump.errors import FileFormatError, Setting
from klump.files.atomic import replacing, translate_write_errors
from klump.files.gate import guard_reading, require_file

_SCHEMA = 1
_TITLE = b"klump checkpoint "
_START = _TITLE + b"%d\n" % _SCHEMA
_FRAME = struct.Struct(f"<QI{DIGEST_SIZE}s")
# Seconds between calls that force records to the disk. A killed process loses none; a power failure these, at most.
_SYNC = 1.0
_DELETE = "delete it, to begin again"


class _Place(NamedTuple):
    """Content of a record within the file."""

    offset: int
    length: int


class Journal:
    """An open checkpoint file, locked for this process, and the place of each record in it."""

    def __init__(self, path: str | os.PathLike[str], question: dict[str, Any], *, resume: bool) -> None:
        self.path = os.fspath(path)
        self._lock = threading.Lock()
        self._places: dict[tuple[str, str], _Place] = {}
        self._synced = monotonic()
        # Length of all complete records, and digest of the last one.
        self._end, self._digest = len(_START), b""
        exists = os.path.lexists(self.path)
        if exists and not resume:
            raise FileFormatError(
                "this file exists",
                remedy=("pass ", Setting("resume", True), " to continue that run, or delete it"),
                file=self.path,
            )
        if not exists:
            with replacing(self.path) as part:
                content, _ = _frame(encode(question), b"")
                part.write_bytes(_START + content)
        self._file = self._open()
        try:
            with guard_reading(self.path, _DELETE):
                self.question = self._read_all()
        except BaseException:
            self._file.close()
            raise

    def __len__(self) -> int:
        """Return the number of results in the file."""
        return len(self._places)

    def close(self) -> None:
        """Force the file to the disk and close it."""
        with self._lock, suppress(OSError):
            os.fsync(self._file.fileno())
        self._file.close()

    def find(self, unit: str, digest: str) -> Any:
        """Return the result of a unit as a tuple of one, or None if it is not there."""
        place = self._places.get((unit, digest))
        if place is None:
            return None
        with self._lock, guard_reading(self.path, _DELETE):
            content = _pread(self._file, place)
            return (decode(content)["value"],)

    def has(self, unit: str, digest: str) -> bool:
        """Whether the result of a unit is there."""
        return (unit, digest) in self._places

    def append(self, unit: str, digest: str, value: Any) -> None:
        """Write a result; if the disk is full, the file is as it was before."""
        if self.has(unit, digest):
            return
        content = encode({"unit": unit, "digest": digest, "value": value})
        with self._lock, translate_write_errors(self.path):
            record, chained = _frame(content, self._digest)
            try:
                _write(self._file.fileno(), record, self._end)
            except OSError:
                os.ftruncate(self._file.fileno(), self._end)
                raise
            self._places[unit, digest] = _Place(self._end + _FRAME.size, len(content))
            self._end, self._digest = self._end + len(record), chained
            if monotonic() - self._synced >= _SYNC:
                os.fsync(self._file.fileno())
                self._synced = monotonic()

    def _open(self) -> IO[bytes]:
        with guard_reading(self.path, _DELETE):
            require_file(Path(self.path))
        with translate_write_errors(self.path):
            file = open(self.path, "r+b", buffering=0)  # noqa: SIM115 (closed by `close`)
        try:
            _lock_file(file)
        except BlockingIOError as error:
            file.close()
            raise FileFormatError(
                "another process is writing this checkpoint", remedy="wait for it, or end it", file=self.path
            ) from error
        return file

    def _read_all(self) -> dict[str, Any]:
        """Verify all records and index them; drop an incomplete one at the end. Returns the question."""
        with open(self.path, "rb") as file:
            _check_title(file)
            question: dict[str, Any] | None = None
            for content in self._records(file):
                value = decode(content)
                if question is None:
                    question = value
                else:
                    place = _Place(self._end - len(content), len(content))
                    self._places[value["unit"], value["digest"]] = place
            size = os.fstat(file.fileno()).st_size
        if question is None:
            raise FileFormatError("the checkpoint is truncated", remedy=_DELETE)
        if size > self._end:
            os.ftruncate(self._file.fileno(), self._end)
        return question

    def _records(self, file: IO[bytes]) -> Iterator[bytes]:
        """Yield the content of all complete records."""
        number = 0
        while len(head := file.read(_FRAME.size)) == _FRAME.size:
            length, checksum, expected = _FRAME.unpack(head)
            if zlib.crc32(head[:8]) != checksum:
                raise _damage(number)
            size = os.fstat(file.fileno()).st_size
            if file.tell() + length > size:
                return
            content = file.read(length)
            if _chain(self._digest, content) != expected:
                raise _damage(number)
            self._digest = expected
            self._end += _FRAME.size + length
            number += 1
            yield content


def _check_title(file: IO[bytes]) -> None:
    start = file.read(len(_START))
    if start == _START:
        return
    version = start.removeprefix(_TITLE).rstrip(b"\n")
    if start.startswith(_TITLE) and version.isdigit() and int(version) > _SCHEMA:
        raise FileFormatError(
            "this checkpoint was written by a newer klump", remedy="use that, or " + _DELETE
        )
    raise FileFormatError("this is not a checkpoint of klump", remedy="choose another name")


def _damage(number: int) -> FileFormatError:
    place = f"record {number}" if number else "its question"
    return FileFormatError(f"the checkpoint is damaged: the checksum of {place} is wrong", remedy=_DELETE)


def _chain(before: bytes, content: bytes) -> bytes:
    return blake2b(before + content, digest_size=DIGEST_SIZE).digest()


def _frame(content: bytes, before: bytes) -> tuple[bytes, bytes]:
    """Return a record, and its digest."""
    digest = _chain(before, content)
    length = struct.pack("<Q", len(content))
    return _FRAME.pack(len(content), zlib.crc32(length), digest) + content, digest


def _write(descriptor: int, content: bytes, offset: int) -> None:
    """Write all bytes at an offset: one system call, unless the disk fills up."""
    os.lseek(descriptor, offset, os.SEEK_SET)
    view = memoryview(content)
    while view:
        view = view[os.write(descriptor, view) :]


def _pread(file: IO[bytes], place: _Place) -> bytes:
    file.seek(place.offset)
    parts, left = [], place.length
    while left and (part := file.read(left)):
        parts.append(part)
        left -= len(part)
    return b"".join(parts)


def _lock_file(file: IO[bytes]) -> None:
    """Lock a file for this process, until it ends; BlockingIOError if another one has. Not all file systems can."""
    try:
        import fcntl
    except ImportError:  # Windows
        return
    try:
        fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise
    except OSError:
        return
