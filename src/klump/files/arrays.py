"""Arrays in NumPy's ``.npy`` format, from a stream or memory-mapped, without pickle and without evaluating headers.

The header is parsed by regular expressions, and its shape must fit the bytes that follow before memory is allocated.
"""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from klump.errors import FileFormatError
from klump.files.gate import FETCH_AGAIN, quote, require_file

_MAGIC = b"\x93NUMPY"
# Bytes of the field for the length of the header, by version of the format.
_LENGTH_BYTES = {1: 2, 2: 4, 3: 4}
# Longest header that is parsed, in bytes, as in NumPy.
_MAX_HEADER = 10_000
# Largest number of dimensions.
_MAX_DIMENSIONS = 8
_HEADER = re.compile(
    r"""\{(?=.*['"]descr['"]\s*:\s*(?P<quote>['"])(?P<descr>[^'"]*)(?P=quote))"""
    r"""(?=.*['"]fortran_order['"]\s*:\s*(?P<fortran>True|False))"""
    r"""(?=.*['"]shape['"]\s*:\s*\((?P<shape>(?:\d{1,20}L?\s*,\s*)*(?:\d{1,20}L?\s*)?)\)).*\}\s*""",
    re.DOTALL,
)
_STRUCTURED = re.compile(r"""['"]descr['"]\s*:\s*\[""")
_DESCR = re.compile(r"[<>|=]?([biufcSUO])(\d{0,9})")
# Kinds of dtype that are read: truth values, integers, floats, complex numbers, bytes, text.
_KINDS = "biufcSU"
# Largest code point of Unicode.
_MAX_CODE_POINT = 0x10FFFF
# Bytes per read.
_CHUNK = 2**20


class PickleError(FileFormatError):
    """An array holds pickled Python objects, which are never read."""


class Header(NamedTuple):
    """Shape, order and dtype of an array, and the length of its header in bytes."""

    shape: tuple[int, ...]
    fortran_order: bool
    dtype: np.dtype[Any]
    length: int

    @property
    def n_bytes(self) -> int:
        """Length of the data in bytes."""
        return math.prod(self.shape) * self.dtype.itemsize


def read_header(stream: IO[bytes], available: int) -> Header:
    """Parse the header of an array for which the stream has ``available`` bytes."""
    start = stream.read(8)
    if not start.startswith(_MAGIC):
        raise FileFormatError("not a .npy array of numbers or text", remedy="write it with numpy.save")
    size = _LENGTH_BYTES.get(start[6] if len(start) == 8 else 0)
    if size is None:
        raise FileFormatError("the .npy array has an unknown version", remedy=FETCH_AGAIN)
    length = int.from_bytes(stream.read(size), "little")
    text = stream.read(min(length, _MAX_HEADER)).decode("latin-1")
    found = _HEADER.fullmatch(text)
    if len(text) != length or found is None:
        if _STRUCTURED.search(text):
            raise FileFormatError("the .npy array holds records", remedy="write numbers or text")
        raise FileFormatError("the header of the .npy array is damaged", remedy=FETCH_AGAIN)
    shape = tuple(int(n) for n in re.findall(r"\d+", found["shape"]))
    header = Header(shape, found["fortran"] == "True", _parse_dtype(found["descr"]), 8 + size + length)
    if len(shape) > _MAX_DIMENSIONS or header.n_bytes > available - header.length:
        raise FileFormatError(
            f"the .npy array is truncated: its header announces {header.n_bytes:,} bytes of shape "
            f"{quote(str(shape))}, but {max(0, available - header.length):,} follow",
            remedy=FETCH_AGAIN,
        )
    return header


def _parse_dtype(descr: str) -> np.dtype[Any]:
    found = _DESCR.fullmatch(descr)
    if found and found[1] == "O":
        raise PickleError(
            "it holds pickled Python objects, which are not read", remedy="write numbers or text"
        )
    try:
        dtype = np.dtype(descr) if found else None
    except TypeError:
        dtype = None
    if dtype is None or dtype.kind not in _KINDS or not dtype.itemsize:
        raise FileFormatError(
            f"the .npy array has the dtype {quote(descr)}, which is not read", remedy="write numbers or text"
        )
    return dtype


def read_array(stream: IO[bytes], available: int) -> NDArray[Any]:
    """Read an array in native byte order from a stream that has ``available`` bytes."""
    header = read_header(stream, available)
    array = np.empty(math.prod(header.shape), dtype=header.dtype)
    raw: Any = array.view(np.uint8) if array.size else np.empty(0, np.uint8)
    view = memoryview(raw)
    filled = 0
    while filled < len(view):
        count = stream.readinto(view[filled : filled + _CHUNK])  # type: ignore[attr-defined]
        if not count:
            raise EOFError(f"{len(view) - filled:,} bytes are missing")
        filled += count
    array = _check_values(array)
    if header.fortran_order:
        return array.reshape(header.shape[::-1]).T
    return array.reshape(header.shape)


def _check_values(array: NDArray[Any]) -> NDArray[Any]:
    """Values that Python accepts: truth values of 0 and 1, code points of Unicode, native byte order."""
    if array.dtype.kind == "b":
        return array.view(np.uint8) != 0
    array = array.astype(array.dtype.newbyteorder("="), copy=False)
    if array.dtype.kind == "U" and array.size and array.view(np.uint32).max() > _MAX_CODE_POINT:
        raise FileFormatError("the .npy array holds text that is not Unicode", remedy=FETCH_AGAIN)
    return array


def read_array_file(path: Path) -> NDArray[Any]:
    """Read the array of a ``.npy`` file."""
    length = require_file(path)
    if not length:
        raise FileFormatError("the file is empty", remedy=FETCH_AGAIN)
    with path.open("rb") as file:
        return read_array(file, length)


def map_array(path: Path, start: int, available: int) -> NDArray[Any]:
    """Memory-map an array that begins at byte ``start`` of a file; it must not be empty."""
    with path.open("rb") as file:
        file.seek(start)
        header = read_header(file, available)
    order = "F" if header.fortran_order else "C"
    return np.memmap(path, header.dtype, "r", start + header.length, header.shape, order)  # type: ignore[call-overload]


def map_array_file(path: Path) -> NDArray[Any]:
    """Memory-map the array of a ``.npy`` file."""
    return map_array(path, 0, require_file(path))
