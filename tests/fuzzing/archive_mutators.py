"""Mutations of NumPy arrays, zip archives of them and gzip files; checksums are right unless they are the mutation."""

from __future__ import annotations

import gzip
import io
import random
import re
import warnings
import zipfile
from typing import Any

import numpy as np

from fuzzing.byte_mutators import BYTE_MUTATORS, Mutator, mutate
from fuzzing.text_mutators import JSON_MUTATORS, NUMBERS

_DTYPES = (
    *(
        "<f8",
        ">f8",
        "<f4",
        "<f2",
        "<f16",
        "<i8",
        "<i4",
        ">i4",
        "<u8",
        "|u1",
        "|b1",
        "<c16",
        "|O",
        "<U4",
        "|S3",
        "|V8",
    ),
    *("<M8[s]", "<m8[D]", "<U0", "|S0", "<f3", "xyz", "", "<f8,<f8", "<U100000000"),
)
_SHAPES = (
    *("()", "(0,)", "(1,)", "(-1,)", "(3, 3)", "(1, 9)", "(0, 0)", "(2, 2, 2)", "(1000000000000,)", "(4, 4"),
    *(
        "(99999, 99999)",
        "(9223372036854775808,)",
        f"({'9' * 5000},)",
        "(1.5,)",
        "7",
        f"({'1, ' * 60})",
        "(True,)",
    ),
)
_DATA_BYTES = 128


def change_header(content: bytes, rng: random.Random) -> bytes:
    """Change dtype, shape, order, version or length in the header of a ``.npy`` array."""
    kind = rng.randrange(7)
    if kind == 0:
        return re.sub(rb"'descr': '[^']*'", f"'descr': '{rng.choice(_DTYPES)}'".encode(), content, count=1)
    if kind in (1, 2):
        return re.sub(rb"'shape': \([^)]*\)", f"'shape': {rng.choice(_SHAPES)}".encode(), content, count=1)
    if kind == 3:
        pattern, new = rng.choice(
            ((rb"False", b"True"), (rb"'descr'", b"'dtype'"), (rb"\}", b""), (rb"'", b'"'))
        )
        return re.sub(pattern, new, content, count=rng.choice((0, 1)))
    if kind == 4:
        return content[:6] + bytes((rng.choice((0, 1, 2, 3, 9, 255)), rng.choice((0, 1, 7)))) + content[8:]
    if kind == 5:
        return content[:8] + rng.randrange(2**16).to_bytes(2, "little") + content[10:]
    number = rng.choice(NUMBERS[:16]).encode()
    return re.sub(rb"\d+(?=[,)])", lambda _: number, content, count=1)


def _load_array(content: bytes) -> Any:
    """The array of a file; None if a mutation before this one left none."""
    try:
        with warnings.catch_warnings(action="ignore"):
            return np.load(io.BytesIO(content), allow_pickle=False)
    except Exception:
        return None


def change_values(content: bytes, rng: random.Random) -> bytes:
    """Change one element, of the dtype that it has, or the array as a whole."""
    array = _load_array(content)
    if array is None:
        return content
    flat = array.copy().reshape(-1)
    values: tuple[Any, ...] = (0, 1, -1, 2**31 - 1, -(2**31), 10**9)
    if array.dtype.kind == "f":
        values += (np.nan, np.inf, -np.inf, 1e308, 1e-320, 0.5)
    if array.dtype.kind in "US":
        values = ("", "a", "x" * 9)
    kind = rng.randrange(6)
    if kind < 3 and flat.size and array.dtype.kind in "iufUS":
        with np.errstate(all="ignore"):
            flat[rng.randrange(flat.size)] = np.array(rng.choice(values)).astype(array.dtype)
        array = flat.reshape(array.shape)
    elif kind == 3:
        array = (
            rng.choice((array[None], array[:-1], flat, flat[:0], flat[:1], array[..., None]))
            if array.ndim
            else array[None]
        )
    elif kind == 4 and array.dtype.kind in "iuf":
        with np.errstate(all="ignore"):
            array = array.astype(rng.choice(("f4", "f2", "i8", "i2", "u8", "?", "U8", "c16", "g")))
    elif array.dtype.kind == "U" and flat.size:
        # Code points that are none, or lone surrogates.
        raw = bytearray(flat.tobytes())
        raw[:4] = rng.choice((0xD800, 0x110000, 0xFFFFFFFF, 0)).to_bytes(4, "little")
        array = np.frombuffer(bytes(raw), dtype=array.dtype).reshape(array.shape)
    return save_array(array)


def pickle_array(content: bytes, rng: random.Random) -> bytes:
    return save_array(np.array([{"a": 1}, None], dtype=object))


def save_array(array: Any) -> bytes:
    stream = io.BytesIO()
    np.save(stream, array, allow_pickle=True)
    return stream.getvalue()


ARRAY_MUTATORS: tuple[Mutator, ...] = (
    change_header,
    change_header,
    change_header,
    change_values,
    change_values,
    pickle_array,
    *(lambda content, rng: mutate(content, BYTE_MUTATORS, rng),) * 3,
    *(lambda content, rng: content[:_DATA_BYTES] + mutate(content[_DATA_BYTES:], BYTE_MUTATORS, rng),) * 2,
)


def _change_member(name: str, content: bytes, rng: random.Random) -> bytes:
    """Change the array of a member, or the JSON text that it holds."""
    if name not in ("metadata.npy", "states_json.npy") or rng.random() < 0.3:
        return mutate(content, ARRAY_MUTATORS, rng)
    array = _load_array(content)
    if array is None or array.dtype.kind not in "SU" or not array.size:
        return content
    if array.dtype.kind == "S":
        return save_array(np.array(mutate(array.ravel()[0].item(), JSON_MUTATORS, rng)))
    position = rng.randrange(array.size)
    texts = array.ravel().tolist()
    texts[position] = (
        mutate(texts[position].encode(), JSON_MUTATORS, rng).decode("utf-8", "replace").rstrip("\0")
    )
    return save_array(np.array(texts))


def read_members(content: bytes) -> list[tuple[zipfile.ZipInfo, bytes]]:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return [(info, archive.read(info)) for info in archive.infolist()]


def write_members(members: list[tuple[zipfile.ZipInfo, bytes]]) -> bytes:
    stream = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(stream, "w") as archive:
        warnings.simplefilter("ignore")  # duplicate names are a mutation
        for info, data in members:
            fresh = zipfile.ZipInfo(info.filename)
            fresh.compress_type = info.compress_type
            archive.writestr(fresh, data)
    return stream.getvalue()


def change_members(content: bytes, rng: random.Random) -> bytes:
    """Change, drop, repeat, rename or recompress a member, and write the archive anew."""
    try:
        members = read_members(content)
    except Exception:  # a mutation before this one left no archive
        return content
    if not members:
        return content
    i = rng.randrange(len(members))
    info, data = members[i]
    kind = rng.randrange(10)
    if kind == 0:
        del members[i]
    elif kind == 1:
        members.append((info, data))
    elif kind == 2:
        others = [other.filename for other, _ in members]
        new = rng.choice(
            (*others, "../x.npy", "/etc/x.npy", "C:\\x.npy", "a/b.npy", "states.npy", "x", "format.npy")
        )
        info.filename = new
    elif kind == 3:
        info.compress_type = rng.choice(
            (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA)
        )
    elif kind == 4:
        members[i] = (info, rng.choice(members)[1])
    else:
        members[i] = (info, _change_member(info.filename, data, rng))
    return write_members(members)


def change_directory(content: bytes, rng: random.Random) -> bytes:
    """Change a field of a local header, a central header or the end record of a zip archive."""
    signature, length = rng.choice(((b"PK\x03\x04", 30), (b"PK\x01\x02", 46), (b"PK\x05\x06", 22)))
    starts = [match.start() for match in re.finditer(re.escape(signature), content)]
    if not starts:
        return content
    at = rng.choice(starts) + 4 + rng.randrange(length - 4)
    width = rng.choice((1, 2, 4))
    value = rng.choice((0, 1, 8, 9, 12, 14, 0x7FFFFFFF, 0xFFFFFFFF, 0xFFFF, rng.getrandbits(32))) & (
        256**width - 1
    )
    return content[:at] + value.to_bytes(width, "little") + content[at + width :]


ARCHIVE_MUTATORS: tuple[Mutator, ...] = (
    *(change_members,) * 5,
    change_directory,
    change_directory,
    *(lambda content, rng: mutate(content, BYTE_MUTATORS, rng),) * 3,
)


def gzip_mutators(inner: tuple[Mutator, ...]) -> tuple[Mutator, ...]:
    """Mutations of what is compressed, and of the compressed file."""

    def change_inside(content: bytes, rng: random.Random) -> bytes:
        try:
            text = gzip.decompress(content)
        except Exception:  # a mutation before this one left no gzip file
            return content
        return gzip.compress(mutate(text, inner, rng), mtime=0)

    def change_outside(content: bytes, rng: random.Random) -> bytes:
        return mutate(content, BYTE_MUTATORS, rng)

    return (change_inside, change_inside, change_outside)
