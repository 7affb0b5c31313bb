"""Mutations of tar archives, plain or compressed, and of XML; checksums are right unless they are the mutation."""

from __future__ import annotations

import gzip
import io
import lzma
import random
import tarfile

from fuzzing.byte_mutators import BYTE_MUTATORS, Mutator, mutate
from fuzzing.text_mutators import JSON_MUTATORS, TEXT_MUTATORS

Members = list[tuple[tarfile.TarInfo, bytes]]

_COMPRESSORS = (lambda raw: raw, lambda raw: gzip.compress(raw, mtime=0), lzma.compress)
_KINDS = (
    *(tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.FIFOTYPE, tarfile.DIRTYPE),
    *(tarfile.GNUTYPE_SPARSE, tarfile.GNUTYPE_LONGNAME, tarfile.XHDTYPE, tarfile.XGLTYPE, b"Z"),
)
_NAMES = (
    *("../x.bin", "/tmp/x.bin", "a/../../x", "index.json", "./index.json", "state-to-choices.bin", "..\\x"),
    *("annotations/aps/goal/states/values.bin", "branch-to-target.bin", "x" * 300, "", "\udcff"),
)
# 64-bit numbers and floats that arrays are poisoned with.
_WORDS = (
    0,
    1,
    2,
    7,
    2**31,
    2**32,
    2**63,
    2**64 - 1,
    0x7FF8000000000000,
    0x7FF0000000000000,
    0x3FF0000000000000,
)


def _decompress(content: bytes) -> bytes:
    if content.startswith(b"\x1f\x8b"):
        return gzip.decompress(content)
    return lzma.decompress(content) if content.startswith(b"\xfd7zXZ") else content


def read_members(raw: bytes) -> Members:
    with tarfile.open(fileobj=io.BytesIO(raw)) as archive:
        return [(info, archive.extractfile(info).read() if info.isreg() else b"") for info in archive]


def write_members(members: Members) -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w", format=tarfile.GNU_FORMAT) as archive:
        for info, data in members:
            info.size = len(data) if info.type in (tarfile.REGTYPE, tarfile.AREGTYPE) else 0
            archive.addfile(info, io.BytesIO(data))
    return stream.getvalue()


def change_member(content: bytes, rng: random.Random) -> bytes:
    """Change, drop, repeat, rename or retype a member, and compress the archive anew."""
    try:
        members = read_members(_decompress(content))
    except Exception:  # a mutation before this one left no archive
        return content
    if not members:
        return content
    # The index is one of many members, and matters most.
    i = 0 if rng.random() < 0.3 else rng.randrange(len(members))
    info, data = members[i]
    kind = rng.randrange(12)
    if kind == 0:
        del members[i]
    elif kind == 1:
        members.append((info, data))
    elif kind == 2:
        info.name = rng.choice((*_NAMES, *(other.name for other, _ in members)))
    elif kind == 3:
        info.type, info.linkname = rng.choice(_KINDS), rng.choice(("../../etc/passwd", "index.json"))
    elif kind == 4:
        members[i] = (info, rng.choice(members)[1])
    elif info.name.endswith(".json"):
        members[i] = (info, mutate(data, JSON_MUTATORS, rng))
    elif kind < 9 and len(data) >= 8:
        at = 8 * rng.randrange(len(data) // 8)
        word = rng.choice((*_WORDS, rng.getrandbits(64))).to_bytes(8, "little")
        members[i] = (info, data[:at] + word + data[at + 8 :])
    else:
        members[i] = (info, mutate(data, BYTE_MUTATORS, rng))
    return rng.choice(_COMPRESSORS)(write_members(members))


def change_header(content: bytes, rng: random.Random) -> bytes:
    """Change a field of the header of a member; the checksum is right every second time."""
    raw = bytearray(_decompress(content))
    starts = [at for at in range(0, len(raw) - 511, 512) if raw[at + 257 : at + 262] == b"ustar"]
    if not starts:
        return content
    start = rng.choice(starts)
    # Name, size, type, magic number, prefix.
    at, width = rng.choice(((0, 100), (124, 12), (124, 12), (156, 1), (257, 8), (345, 155)))
    junk = (
        b"77777777777\0",
        b"00000000000\0",
        b"\x80" + b"\xff" * 11,
        b"-1",
        b"x",
        b"../../x\0",
        b"\0" * width,
        b"5",
    )
    value = rng.choice(junk)[:width]
    raw[start + at : start + at + len(value)] = value
    if rng.random() < 0.5:
        raw[start + 148 : start + 156] = b" " * 8
        raw[start + 148 : start + 156] = b"%06o\0 " % sum(raw[start : start + 512])
    return bytes(raw)


def _change_bytes(content: bytes, rng: random.Random) -> bytes:
    return mutate(content, BYTE_MUTATORS, rng)


TAR_MUTATORS: tuple[Mutator, ...] = (
    *(change_member,) * 5,
    *(lambda content, rng: _or_same(change_header, content, rng),) * 2,
    *(_change_bytes,) * 2,
)


def _or_same(mutator: Mutator, content: bytes, rng: random.Random) -> bytes:
    try:
        return mutator(content, rng)
    except Exception:  # a mutation before this one left no archive
        return content


_XML = (
    *(b'<!DOCTYPE graphml [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;">]>', b"&b;", b"&lt;", b"&#0;"),
    *(
        b'<!DOCTYPE graphml SYSTEM "file:///etc/passwd">',
        b"<graph>",
        b"</graph>",
        b"<node/>",
        b"<x>" * 100_000,
    ),
    *(b'<edge source="0" target="9"/>', b"<![CDATA[0.5]]>", b"<!-- -->", b"<?x y?>", b"<hyperedge/>", b"]]>"),
    *(b'<data key="weight">0.5</data>', b'<key id="weight"/>', b'<node id="0"/>', b' directed="false" '),
)


def insert_xml(content: bytes, rng: random.Random) -> bytes:
    """Insert an element, an entity or a declaration, mostly between elements."""
    places = [at + 1 for at, byte in enumerate(content) if byte == ord(">")] or [0]
    at = rng.choice(places) if rng.random() < 0.8 else rng.randrange(len(content) + 1)
    return content[:at] + rng.choice(_XML) + content[at:]


XML_MUTATORS: tuple[Mutator, ...] = (*(insert_xml,) * 4, *TEXT_MUTATORS)


def xz_mutators(inner: tuple[Mutator, ...]) -> tuple[Mutator, ...]:
    """Mutations of what is compressed, and of the compressed file."""

    def change_inside(content: bytes, rng: random.Random) -> bytes:
        try:
            text = lzma.decompress(content)
        except Exception:  # a mutation before this one left no xz file
            return content
        return lzma.compress(mutate(text, inner, rng))

    return (change_inside, change_inside, _change_bytes)
