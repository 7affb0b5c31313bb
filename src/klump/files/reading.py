"""Read a chain from a file of any registered format."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

from klump.chain import MarkovChain
from klump.chain.attributes import StateIndices
from klump.chain.validation import NORMALIZE
from klump.errors import CountsError, KlumpError
from klump.files.registry import Contents, read_contents


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
        The suffix selects the format: ``.npz`` (a NumPy array, or a SciPy sparse matrix), ``.npy``
        (an array), ``.mtx`` (Matrix Market), ``.csv`` or ``.tsv`` (a square matrix, or one transition per line under
        the header ``from,to,weight``), of which the last three may be compressed (``.csv.gz``); ``.mapped`` (a
        folder with a memory-mapped sparse chain, which need not fit in memory).
    normalize
        Divide each row by its sum, for files of counts; otherwise rows must sum to 1.
    restrict, restart, initial
        Remedies for a reducible chain, as for :class:`klump.MarkovChain`. A state whose name is an integer may
        also be given as a string.

    Raises
    ------
    FileFormatError
        If the file is not in the format of its suffix; the message names the file and the line or array.
    InvalidChainError
        If the file does not hold a Markov chain.

    Examples
    --------
    >>> path = getfixture("tmp_path") / "weather.csv"
    >>> _ = path.write_text("from,to,count\nsun,sun,9\nsun,rain,1\nrain,sun,3\nrain,rain,7\n")
    >>> chain = read_chain(path, normalize=True)
    >>> chain.states, chain.transition_matrix.toarray().round(12).tolist()
    (('sun', 'rain'), [[0.9, 0.1], [0.3, 0.7]])
    """
    with prefix_errors(path):
        contents = read_contents(Path(path), add_up=normalize)
        return build_chain(contents, normalize=normalize, restrict=restrict, restart=restart, initial=initial)


def build_chain(contents: Contents, initial: Any = None, **options: Any) -> MarkovChain:
    """Build the chain; errors about a row name its state."""
    options["initial"] = contents.initial if initial is None else _initial_state(initial, contents)
    if contents.labels is not None:
        options["labels"] = {label: StateIndices(members) for label, members in contents.labels.items()}
    try:
        return MarkovChain(contents.matrix, contents.states, rewards=contents.rewards, **options)
    except KlumpError as error:
        if error.row is not None and contents.states is not None:
            error.state = contents.states[error.row]
        if isinstance(error, CountsError):
            error.remedy = NORMALIZE
        raise


def _initial_state(initial: Any, contents: Contents) -> Any:
    """Convert the string '3' to the integer 3, unless a state has the name '3'."""
    if not isinstance(initial, str) or not re.fullmatch(r"-?[0-9]{1,4000}", initial):
        return initial
    states = contents.states
    if isinstance(contents.matrix, MarkovChain):
        states = contents.matrix.states
    elif states is None:
        states = range(contents.matrix.shape[0])
    return initial if initial in states else int(initial)


@contextmanager
def prefix_errors(path: str | os.PathLike[str]) -> Iterator[None]:
    """Name the file that a KlumpError is about, unless it names one."""
    try:
        yield
    except KlumpError as error:
        if error.file is None:
            error.file = os.fspath(path)
        raise
