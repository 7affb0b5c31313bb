"""Mutations of any file: bytes are flipped, cut, inserted, repeated."""

from __future__ import annotations

import random
from collections.abc import Callable

Mutator = Callable[[bytes, random.Random], bytes]

# Bytes that parsers treat specially: terminators, signs, quotes, invalid UTF-8, a BOM, magic numbers.
JUNK = (
    *(b"\0", b"\0" * 8, b" ", b"\t", b"\r", b"\n", b'"', b",", b"-", b"%", b"#", b"\xff", b"\xff" * 8),
    *(b"\xed\xa0\x80", b"\xef\xbb\xbf", b"PK\x03\x04", b"\x1f\x8b\x08", b"\x93NUMPY"),
)


def _span(content: bytes, rng: random.Random) -> tuple[int, int]:
    start = rng.randrange(len(content) + 1)
    return start, min(len(content), start + rng.choice((1, 2, 4, 8, 64, 512)))


def flip_bit(content: bytes, rng: random.Random) -> bytes:
    changed = bytearray(content)
    changed[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
    return bytes(changed)


def set_byte(content: bytes, rng: random.Random) -> bytes:
    changed = bytearray(content)
    changed[rng.randrange(len(content))] = rng.choice((0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256)))
    return bytes(changed)


def truncate(content: bytes, rng: random.Random) -> bytes:
    return content[: rng.randrange(len(content))]


def insert_junk(content: bytes, rng: random.Random) -> bytes:
    at = rng.choice((0, len(content), rng.randrange(len(content) + 1)))
    return content[:at] + rng.choice(JUNK) + content[at:]


def overwrite(content: bytes, rng: random.Random) -> bytes:
    at, junk = rng.randrange(len(content)), rng.choice(JUNK)
    return content[:at] + junk + content[at + len(junk) :]


def delete_chunk(content: bytes, rng: random.Random) -> bytes:
    start, stop = _span(content, rng)
    return content[:start] + content[stop:]


def repeat_chunk(content: bytes, rng: random.Random) -> bytes:
    start, stop = _span(content, rng)
    return content[:stop] + content[start:stop] * rng.choice((1, 1, 1, 100)) + content[stop:]


def swap_halves(content: bytes, rng: random.Random) -> bytes:
    at = rng.randrange(len(content))
    return content[at:] + content[:at]


BYTE_MUTATORS: tuple[Mutator, ...] = (
    flip_bit,
    flip_bit,
    set_byte,
    set_byte,
    truncate,
    truncate,
    insert_junk,
    insert_junk,
    overwrite,
    delete_chunk,
    repeat_chunk,
    swap_halves,
)


def mutate(content: bytes, mutators: tuple[Mutator, ...], rng: random.Random) -> bytes:
    """Apply one mutation, or seldom several."""
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        if content:
            content = rng.choice(mutators)(content, rng)
    return content
