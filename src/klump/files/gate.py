"""The gate: whatever goes wrong while a file is read becomes one line about the file.

Every reader runs inside :func:`guard_reading`: that of chains is called by ``registry.read_contents``, so that formats
need not know it.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from klump.errors import FileFormatError, KlumpError

# Remedy for a truncated or damaged file.
FETCH_AGAIN = "fetch or write it again"
# Longest message of another package, and longest piece of a file, that is quoted, in characters.
_MAX_MESSAGE = 200
_MAX_QUOTE = 40

_MAGIC_NUMBERS = {
    b"PK": "a zip or .npz archive",
    b"\x1f\x8b": "compressed by gzip",
    b"\x93NUMPY": "a .npy array",
}


@contextmanager
def guard_reading(path: str | os.PathLike[str], remedy: str = FETCH_AGAIN) -> Iterator[None]:
    """Turn every exception into a KlumpError that names the file; KeyboardInterrupt passes.

    Errors that name a place inside the file and a remedy are left as they are; ``remedy`` is for all others.

    >>> with guard_reading("model.dat"):
    ...     {}["shape"]
    Traceback (most recent call last):
    klump.errors.FileFormatError: model.dat: the file is damaged: KeyError: 'shape'; fetch or write it again
    """
    try:
        with guard_place("the file", remedy):
            yield
    except UnicodeDecodeError as error:
        raise FileFormatError(
            f"not UTF-8 text{_looks_like(Path(path))}", remedy="check the suffix", file=os.fspath(path)
        ) from error
    except OSError as error:
        # gzip.BadGzipFile has no strerror.
        reason = error.strerror or one_line(error)
        raise FileFormatError(f"cannot be read: {reason}", file=os.fspath(path)) from error
    except KlumpError as error:
        if error.file is None:
            error.file = os.fspath(path)
        raise


@contextmanager
def guard_place(place: str, remedy: str = FETCH_AGAIN) -> Iterator[None]:
    """Turn exceptions about the content into a FileFormatError that names the place inside the file."""
    try:
        yield
    except (KlumpError, OSError, UnicodeDecodeError):
        raise
    except MemoryError as error:
        raise FileFormatError(
            f"there is not enough memory for {place}", remedy="convert the chain to a mapped folder elsewhere"
        ) from error
    except RecursionError as error:
        raise FileFormatError(f"{place} is nested too deeply", remedy=remedy) from error
    except Exception as error:
        what = "truncated" if isinstance(error, EOFError) else "damaged"
        raise FileFormatError(f"{place} is {what}: {describe(error)}", remedy=remedy) from error


def require_file(path: Path) -> int:
    """Length of a regular file in bytes; a symbolic link is followed, a device or FIFO refused."""
    found = path.stat()
    if stat.S_ISDIR(found.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    if not stat.S_ISREG(found.st_mode):
        raise FileFormatError("this is a device or a FIFO, not a file", remedy="copy it to a file first")
    return found.st_size


def describe(error: Exception) -> str:
    """Message of an exception on one line, with its type where that is needed to understand it."""
    text = one_line(error)
    return (
        text
        if type(error) in (ValueError, EOFError) and text
        else f"{type(error).__name__}: {text}".rstrip(": ")
    )


def one_line(error: object) -> str:
    r"""Printable text on one line, of bounded length.

    >>> one_line("a\nb" + chr(0))
    'a b\\x00'
    """
    text = " ".join(str(error)[: 2 * _MAX_MESSAGE].split())
    text = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
    return text if len(text) <= _MAX_MESSAGE else text[:_MAX_MESSAGE] + "..."


def quote(text: str | bytes) -> str:
    """Quote a piece of a file for a message, shortened.

    >>> quote(b"1,9"), quote("9" * 5000)
    ("'1,9'", "'9999999999999999999999999999999999999999'...")
    """
    if isinstance(text, bytes):
        text = text[: 2 * _MAX_QUOTE].decode("utf-8", "backslashreplace")
    return repr(text) if len(text) <= _MAX_QUOTE else f"{text[:_MAX_QUOTE]!r}..."


def _looks_like(path: Path) -> str:
    """Guess the format of a binary file by its magic number, for a message."""
    try:
        with path.open("rb") as file:
            start = file.read(8)
    except OSError:
        return ""
    kinds = (kind for magic, kind in _MAGIC_NUMBERS.items() if start.startswith(magic))
    return next((f" (it seems to be {kind})" for kind in kinds), "")
