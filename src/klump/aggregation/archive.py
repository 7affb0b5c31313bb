"""Archives of arrays: ``.npz`` files without pickle, whose entries are checked when they are read."""

from __future__ import annotations

import math
import os
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from klump.errors import FileFormatError
from klump.files import archives
from klump.files.compressed_matrices import build_compressed
from klump.files.gate import guard_reading, one_line, require_file
from klump.files.limits import require_plausible_states

Arrays = dict[str, NDArray[Any]]

# Dtypes that are accepted per kind of entry: the file does not choose them.
FLOATS = ("float64",)
INTEGERS = ("int32", "int64")
LABELS = ("int32",)
TEXT = ("bytes",)
NUMBERS = (*FLOATS, *INTEGERS)
CSR_PARTS = {"data": FLOATS, "indices": INTEGERS, "indptr": INTEGERS}

SAVE_AGAIN = "save the answer again"


def write_archive(arrays: Arrays, path: Path) -> None:
    """Write as numpy.savez does, but without pickle and timestamps: equal answers give equal files."""
    with path.open("wb") as file, zipfile.ZipFile(file, "w") as archive:
        for name, array in arrays.items():
            with archive.open(zipfile.ZipInfo(f"{name}.npy"), "w", force_zip64=True) as entry:
                np.lib.format.write_array(entry, array, allow_pickle=False)


def damage_error(problem: str) -> FileFormatError:
    """Build the error about a damaged file."""
    return FileFormatError(f"the file is damaged: {problem}", remedy=SAVE_AGAIN)


@contextmanager
def open_archive(path: str | os.PathLike[str]) -> Iterator[ArchiveEntries]:
    """Open an archive; errors within are about the file."""
    with guard_reading(path, SAVE_AGAIN):
        _require_archive(Path(path))
        with archives.open_archive(Path(path), SAVE_AGAIN) as archive:
            yield ArchiveEntries(archive)


def _require_archive(path: Path) -> None:
    length = require_file(path)
    with path.open("rb") as file:
        start = file.read(2)
        is_archive = zipfile.is_zipfile(file)
    if not length:
        raise FileFormatError("the file is empty", remedy=SAVE_AGAIN)
    if start != b"PK":
        raise FileFormatError("this is not an .npz archive", remedy="give a file that Aggregation.save wrote")
    if not is_archive:
        raise FileFormatError("the file is cut short", remedy=SAVE_AGAIN)


@dataclass(frozen=True)
class ArchiveEntries:
    """The arrays of an archive, read lazily, with their dtype and dimension checked."""

    archive: archives.Archive

    def has(self, name: str) -> bool:
        """Whether the archive has an entry."""
        return name in self.archive.members

    def read(self, name: str, types: tuple[str, ...], ndim: int = 1) -> NDArray[Any]:
        """Read an entry of one of the dtypes and a number of dimensions."""
        if not self.has(name):
            raise damage_error(f"its entry {name!r} is missing")
        array = self.archive.read(name)
        if array.ndim != ndim or not array.dtype.name.startswith(types):
            raise damage_error(
                f"its entry {name!r} is a {array.ndim}-dimensional {array.dtype} array instead of "
                f"a {ndim}-dimensional {' or '.join(types)} array"
            )
        return array

    def read_any(self, name: str) -> NDArray[Any]:
        """Read an entry whose dtype and dimension the caller checks."""
        return self.archive.read(name)

    def read_csr(self, prefix: str, shape: Sequence[int]) -> sparse.csr_array:
        """Read a sparse matrix, its indices checked."""
        parts = tuple(self.read(prefix + part, types) for part, types in CSR_PARTS.items())
        require_plausible_states(shape[0], len(parts[0]))
        try:
            return build_compressed("csr", parts, tuple(shape))
        except (ValueError, TypeError, OverflowError) as error:
            raise damage_error(
                f"its sparse matrix {prefix + 'data'!r} is inconsistent ({one_line(error)})"
            ) from error


def encode(value: Any) -> Any:
    """Encode a value for JSON; TypeError if decoding would not restore its type."""
    if isinstance(value, np.bool_ | np.integer | np.floating | np.str_ | np.bytes_):
        value = value if isinstance(value, np.timedelta64) else value.item()
    kind = type(value)
    if value is None or kind in (bool, int, str):
        return value
    if kind is float:
        return value if math.isfinite(value) else {"float": repr(value)}
    if kind is bytes:
        return {"bytes": value.hex()}
    if kind is tuple:
        return [encode(item) for item in value]
    raise TypeError(kind.__name__)


def decode(value: Any) -> Any:
    """Undo :func:`encode`."""
    if isinstance(value, list):
        return tuple(decode(item) for item in value)
    if isinstance(value, dict):
        ((kind, text),) = value.items()
        return bytes.fromhex(text) if kind == "bytes" else {"float": float}[kind](text)
    return value
