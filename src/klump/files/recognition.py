"""Which format a file is in: the rule, for every reader.

1. A folder is a mapped chain.
2. A format that the caller names is taken as it is.
3. A signature in the first bytes decides, whatever the name: a ``.csv`` that is an ``.npz`` archive is read as one.
   Compression (gzip, xz) is told by the first bytes too, and the signature is that of the decompressed content.
4. Formats without a signature (``.csv``, ``.tsv``, and ``.tra`` of PRISM) are told by the suffix.
5. Of names without a known suffix (``.txt``, standard input): two integers on the first line that is no comment, and
   a transition on the second, are a ``.tra``; other text is a ``.csv``.
"""

from __future__ import annotations

import re
from pathlib import Path

from klump.files.streams import peek

# Bytes that are looked at: the signature of a tar archive ends at 262, and comments may precede others.
_HEAD = 4096
_SIGNATURES = (
    (re.compile(rb"PK[\x03\x05]"), ".npz"),
    (re.compile(rb"\x93NUMPY"), ".npy"),
    (re.compile(rb"PAR1"), ".parquet"),
    (re.compile(rb".{257}ustar", re.DOTALL), ".umb"),
    (re.compile(rb"%?%MatrixMarket", re.IGNORECASE), ".mtx"),
    (re.compile(rb"\s*<(?:\?xml|!DOCTYPE|graphml)"), ".graphml"),
    (
        re.compile(rb"(?:\s*//[^\n]*\n)*\s*@(?:type|value_type|parameters|placeholders|reward_models)\b"),
        ".drn",
    ),
    (re.compile(rb"\s*(?:dtmc|ctmc|mdp|ctmdp|ma|pomdp|smg)[ \t\r]*\n\s*[0-9]+[ \t]", re.IGNORECASE), ".tra"),
)
_PRISM = re.compile(
    rb"\s*(?:#[^\n]*\n\s*)*[0-9]+[ \t]+[0-9]+[ \t\r]*\n\s*[0-9]+[ \t]+(?:[0-9]+[ \t]+[0-9.]|[-+0-9./eE]+:)"
)
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def recognize(path: Path) -> str | None:
    """Suffix of the format whose signature a file has; None if it has none, or cannot be read.

    >>> path = getfixture("tmp_path") / "model.txt"
    >>> _ = path.write_text("%%MatrixMarket matrix array real general")
    >>> recognize(path)
    '.mtx'
    """
    head = peek(path, _HEAD).removeprefix(_BYTE_ORDER_MARK)
    return next((suffix for pattern, suffix in _SIGNATURES if pattern.match(head)), None)


def guess(path: Path) -> str | None:
    """Suffix of the format of a file without signature and without a known suffix; None if it is no text."""
    head = peek(path, _HEAD)
    if not head or b"\0" in head:
        return None
    return ".tra" if _PRISM.match(head.removeprefix(_BYTE_ORDER_MARK)) else ".csv"
