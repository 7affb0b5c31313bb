"""Limits of sizes, which are checked before anything is allocated."""

from __future__ import annotations

import os

from klump.errors import FileFormatError

# Number of states up to which a matrix may have fewer entries than states: a list of row pointers takes 4 MB, and the
# error about an empty row names the row.
_ALWAYS_PLAUSIBLE = 10**6
# Largest number of states: column indices are 32-bit integers.
_MAX_STATES = 2**31 - 2
# Uncompressed bytes that any compressed archive or text may have: .npz needs about 4 times, text up to 20 times as
# much memory while it is read.
FREE_ARCHIVE_BYTES = 2**28
FREE_TEXT_BYTES = 2**26
# Ratio of uncompressed to compressed length above that. CSR matrices have 1.5 to 10, lists of transitions 3 to 10,
# written-out matrices with 1 % non-zeros 40; deflate reaches 1032 on zeros.
_MAX_RATIO = 100.0
# Largest uncompressed length in bytes, whatever the ratio.
MAX_BYTES = 2**36
# Environment variable that replaces _MAX_RATIO.
_RATIO_VARIABLE = "KLUMP_MAX_EXPANSION"


def require_plausible_states(n_states: int, n_entries: int, *, where: str = "") -> None:
    """Refuse more states than entries: every state of a Markov chain needs a transition.

    ``n_entries`` counts both halves of a symmetric matrix.
    """
    if n_states > max(_ALWAYS_PLAUSIBLE, n_entries):
        raise FileFormatError(
            f"{where}{n_states:,} states, but at most {n_entries:,} transitions: every state needs one",
            remedy="correct the size of the matrix",
        )
    if n_states > _MAX_STATES:
        raise FileFormatError(
            f"{where}{n_states:,} states are more than the {_MAX_STATES:,} that klump reads"
        )


def expansion_limit(compressed: int, free: int) -> int:
    """Uncompressed length that a compressed file may have, in bytes.

    >>> expansion_limit(1_000, FREE_TEXT_BYTES) == FREE_TEXT_BYTES, expansion_limit(10**9, FREE_TEXT_BYTES)
    (True, 68719476736)
    """
    return min(MAX_BYTES, max(free, int(_max_ratio() * compressed)))


def expansion_error(compressed: int, limit: int) -> FileFormatError:
    """Build the error about a file that expands beyond its limit."""
    return FileFormatError(
        f"it expands from {_in_megabytes(compressed)} to more than {_in_megabytes(limit)}, "
        f"beyond {_max_ratio():g} times its length",
        remedy=f"decompress it first, or set {_RATIO_VARIABLE} to a larger ratio if you trust it",
    )


def _in_megabytes(length: int) -> str:
    return f"{length / 1e6:,.1f} MB"


def _max_ratio() -> float:
    try:
        ratio = float(os.environ.get(_RATIO_VARIABLE, _MAX_RATIO))
    except ValueError:
        return _MAX_RATIO
    return min(ratio, 1e6) if ratio >= 1 else _MAX_RATIO
