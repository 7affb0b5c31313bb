"""Archives of arrays (``.npz``): members are checked against the length of the file, and by their CRC, when read."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from klump.errors import FileFormatError
from klump.files.arrays import PickleError, map_array, read_array
from klump.files.gate import FETCH_AGAIN, guard_place, quote, require_file
from klump.files.limits import FREE_ARCHIVE_BYTES, expansion_error, expansion_limit

# Compression methods that NumPy writes; decompression of others is not bounded by zipfile.
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
# Bytes per read when a CRC is checked.
_CHUNK = 2**20
_SUFFIX = ".npy"


@dataclass(frozen=True)
class Archive:
    """Arrays of an archive by name, read one at a time."""

    path: Path
    zip: zipfile.ZipFile
    members: dict[str, zipfile.ZipInfo]
    remedy: str

    def read(self, name: str) -> NDArray[Any]:
        """Read an array; the CRC of its member is checked."""
        info = self.members[name]
        with self._guard(name), self.zip.open(info) as stream:
            array = read_array(stream, info.file_size)
            if stream.read(1):
                raise ValueError("bytes follow the array")
            return array

    def is_stored(self, name: str) -> bool:
        """Whether an array is not compressed."""
        return self.members[name].compress_type == zipfile.ZIP_STORED

    def map(self, name: str) -> NDArray[Any]:
        """Memory-map an array that is stored, after its CRC was checked."""
        info = self.members[name]
        with self._guard(name):
            with self.zip.open(info) as stream:
                while stream.read(_CHUNK):
                    pass
            with self.path.open("rb") as file:
                # Local file header: 30 bytes; the last 4 are the lengths of file name and extra field, which follow.
                file.seek(info.header_offset + 26)
                lengths = file.read(4)
            start = info.header_offset + 30
            start += int.from_bytes(lengths[:2], "little") + int.from_bytes(lengths[2:], "little")
            return map_array(self.path, start, info.file_size)

    @contextmanager
    def _guard(self, name: str) -> Iterator[None]:
        """Name the member that an error is about."""
        try:
            with guard_place(f"its array {name!r}", self.remedy):
                yield
        except PickleError as error:
            problem = f"its array {name!r} holds pickled Python objects, which are not read"
            raise FileFormatError(problem, remedy=error.remedy) from error
        except FileFormatError as error:
            if f"its array {name!r}" not in str(error.problem):
                error.problem = f"its array {name!r} is damaged: {error.problem}"
                error.remedy = self.remedy
            raise


@contextmanager
def open_archive(path: Path, remedy: str = FETCH_AGAIN) -> Iterator[Archive]:
    """Open an archive after its directory was checked: names, methods, and sizes against the length of the file."""
    length = require_file(path)
    with zipfile.ZipFile(path) as archive:
        limit = expansion_limit(length, FREE_ARCHIVE_BYTES)
        if sum(info.file_size for info in archive.infolist()) > limit:
            raise expansion_error(length, limit)
        members: dict[str, zipfile.ZipInfo] = {}
        for info in archive.infolist():
            if not info.filename.endswith(_SUFFIX):
                continue
            name = info.filename.removesuffix(_SUFFIX)
            _check_member(info, length, remedy)
            if name in members:
                raise FileFormatError(f"it has two arrays named {quote(name)}", remedy=remedy)
            members[name] = info
        yield Archive(path, archive, members, remedy)


def _check_member(info: zipfile.ZipInfo, length: int, remedy: str) -> None:
    name = info.filename
    if (
        name.startswith(("/", "\\"))
        or ".." in name.replace("\\", "/").split("/")
        or os.path.splitdrive(name)[0]
    ):
        raise FileFormatError(f"its member {quote(name)} points outside the archive", remedy=remedy)
    if info.compress_type not in _METHODS:
        raise FileFormatError(
            f"its member {quote(name)} is compressed by method {info.compress_type}",
            remedy="write it with numpy.savez or numpy.savez_compressed",
        )
    stored = info.compress_type == zipfile.ZIP_STORED
    if info.compress_size > length or (stored and info.file_size != info.compress_size):
        raise FileFormatError(
            f"its member {quote(name)} announces {info.file_size:,} bytes, but the file has {length:,}",
            remedy=remedy,
        )
