"""Records of a checkpoint, found without klump, and copies of it as a killed process leaves them."""

from __future__ import annotations

import struct
from pathlib import Path

TITLE = b"klump checkpoint 1\n"
# Length, CRC-32 of the length, digest.
FRAME = struct.Struct("<QI16s")


def boundaries(content: bytes) -> list[int]:
    """Ends of all records, the first of which is the question."""
    ends, position = [], len(TITLE)
    assert content.startswith(TITLE)
    while position < len(content):
        position += FRAME.size + FRAME.unpack_from(content, position)[0]
        ends.append(position)
    assert ends[-1] == len(content)
    return ends


def prefixes(path: Path, at_most: int) -> list[bytes]:
    """The checkpoint after some of its records, every other time with half of the next one, spread evenly."""
    content = path.read_bytes()
    ends = boundaries(content)
    found = []
    for j in range(0, len(ends) - 1, max(1, -(-len(ends) // at_most))):
        half = (ends[j + 1] - ends[j]) // 2 if len(found) % 2 else 0
        found.append(content[: ends[j] + half])
    return found
