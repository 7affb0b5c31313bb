"""Read a chain from any file that klump knows."""

from __future__ import annotations

import os
import re
import zipfile
import zlib
from collections.abc import Hashable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

from klump.chain import MarkovChain
from klump.errors import FileFormatError, KlumpError
from klump.files.registry import Contents, format_of

# What the chain's own checks recommend to somebody who holds a matrix, and what helps with a file.
_REMEDY_FOR_FILES = {"use MarkovChain.from_counts": "pass normalize=True to divide each row by its sum"}


def read_chain(
    path: str | os.PathLike[str],
    *,
    normalize: bool = False,
    restrict: Literal["largest"] | None = None,
    restart: float | None = None,
    initial: Any = None,
) -> MarkovChain:
    r"""Read a Markov chain from a file.

    Parameters
    ----------
    path
        The suffix says what the file is: ``.npz`` (an array of NumPy, or a sparse matrix of SciPy), ``.npy``
        (an array), ``.mtx`` (Matrix Market), ``.csv`` or ``.tsv`` (a square matrix, or one transition a line under
        the header ``from,to,weight``), of which the last three may be compressed (``.csv.gz``); ``.mapped`` (a
        folder with a sparse chain that is used where it lies, and need not fit in memory).
    normalize
        Divide each row by its sum, for files of counts; otherwise rows must sum to 1.
    restrict, restart, initial
        The ways out for a chain that is not irreducible, as for :class:`klump.MarkovChain`. A state with an
        integer for a name may also be given as text.

    Raises
    ------
    FileFormatError
        If the file cannot be read as what its suffix says; the message names the file and the place.
    InvalidChainError
        If what it holds is not a Markov chain.

    Examples
    --------
    >>> path = getfixture("tmp_path") / "weather.csv"
    >>> _ = path.write_text("from,to,count\nsun,sun,9\nsun,rain,1\nrain,sun,3\nrain,rain,7\n")
    >>> chain = read_chain(path, normalize=True)
    >>> chain.states, chain.transition_matrix.toarray().round(12).tolist()
    (('sun', 'rain'), [[0.9, 0.1], [0.3, 0.7]])
    """
    file = Path(path)
    with named(path):
        with readable(file):
            contents = format_of(file).read(file, add_up=normalize)
        return built(contents, normalize=normalize, restrict=restrict, restart=restart, initial=initial)


def built(contents: Contents, initial: Any = None, **options: Any) -> MarkovChain:
    """Build the chain; an error about a row says which state that is."""
    options["initial"] = _initial_state(initial, contents)
    try:
        return MarkovChain(contents.matrix, contents.states, **options)
    except KlumpError as error:
        message = _with_names(str(error), contents.states)
        for general, specific in _REMEDY_FOR_FILES.items():
            message = message.replace(general, specific)
        raise type(error)(message) from error


def _with_names(message: str, states: Sequence[Hashable] | None) -> str:
    """Put the state's name behind a row's number: in a list of transitions rows have no place."""
    if states is None:
        return message
    return re.sub(r"\brow (\d+)\b", lambda row: f"{row[0]} (state {states[int(row[1])]!r})", message, count=1)


def _initial_state(initial: Any, contents: Contents) -> Any:
    """Let '3' stand for the state 3 if no state has the name '3'."""
    if not isinstance(initial, str) or not re.fullmatch(r"-?\d+", initial):
        return initial
    states = contents.states
    if isinstance(contents.matrix, MarkovChain):
        states = contents.matrix.states
    elif states is None:
        states = range(contents.matrix.shape[0])
    return initial if initial in states else int(initial)


@contextmanager
def named(path: str | os.PathLike[str]) -> Iterator[None]:
    """Put the file's name in front of an error."""
    try:
        yield
    except KlumpError as error:
        raise type(error)(f"{os.fspath(path)}: {error}") from error


@contextmanager
def readable(path: Path) -> Iterator[None]:
    """Turn what can go wrong below every format into an error of klump's own."""
    try:
        yield
    except (EOFError, zlib.error, zipfile.BadZipFile) as error:
        raise FileFormatError(f"the file is cut short or damaged ({error}); fetch it again") from error
    except UnicodeDecodeError as error:
        raise FileFormatError(f"not UTF-8 text{_looks_like(path)}; check the suffix") from error
    except OSError as error:
        # gzip.BadGzipFile has no strerror.
        reason = error.strerror or str(error)
        raise FileFormatError(f"cannot be read: {reason}") from error


def _looks_like(path: Path) -> str:
    """Say what a binary file seems to be, from its first bytes."""
    if path.is_dir():
        return ""
    kinds = {b"PK": "a zip or .npz archive", b"\x1f\x8b": "compressed by gzip", b"\x93NUMPY": "a .npy array"}
    with path.open("rb") as file:
        start = file.read(8)
    return next((f" (it seems to be {kind})" for magic, kind in kinds.items() if start.startswith(magic)), "")
