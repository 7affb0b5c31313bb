"""Read a chain from a file of any registered format."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from klump.chain import MarkovChain
from klump.chain.attributes import StateIndices
from klump.chain.validation import NORMALIZE
from klump.choices import Restriction
from klump.errors import CountsError, FileFormatError, KlumpError, Setting
from klump.files.registry import Contents, read_contents
from klump.sources.adapters import Adapted
from klump.sources.rates import uniformize_with_rate


def read_chain(
    path: str | os.PathLike[str],
    *,
    normalize: bool = False,
    restrict: Restriction | None = None,
    restart: float | None = None,
    initial: Any = None,
    format: str | None = None,
    ctmc: bool = False,
) -> MarkovChain:
    r"""Read a Markov chain from a file.

    Parameters
    ----------
    path
        ``.npz`` (a NumPy array, or a SciPy sparse matrix), ``.npy`` (an array), ``.mtx`` (Matrix Market), ``.csv`` or
        ``.tsv`` (a square matrix, or one transition per line under the header ``from,to,weight``), ``.parquet`` (the
        same columns; needs pyarrow), ``.graphml``, ``.tra`` (PRISM or Storm, with the ``.sta``, ``.lab``, ``.srew``
        and ``.trew`` beside it), ``.drn`` (Storm), ``.umb`` (PRISM and Storm), all of which may be compressed by gzip
        or xz; ``.mapped`` (a folder with a memory-mapped sparse chain, which need not fit in memory). A signature
        in the first bytes of a file comes before its suffix.
    normalize
        Divide each row by its sum, for files of counts; otherwise rows must sum to 1.
    restrict, restart, initial
        Remedies for a reducible chain, as for :class:`klump.MarkovChain`. A state whose name is an integer may
        also be given as a string. Without it the initial state that the file names, if any, is taken.
    format
        Format of a file whose name does not tell: the suffix without the dot, such as ``"tra"``.
    ctmc
        The file holds rates of a continuous-time chain: the chain is uniformised, as by
        :meth:`klump.MarkovChain.from_generator`. The diagonal may hold minus the sum of the other rates, or rates of
        states to themselves, which change nothing; rewards, which are per unit of time, are left out.

    Raises
    ------
    FileFormatError
        If the file is damaged, or in none of these formats; the message names the file and the line or array.
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
        contents = read_contents(Path(path), add_up=normalize or ctmc, format=format)
        contents = apply_time(contents, ctmc=ctmc)
        return build_chain(contents, normalize=normalize, restrict=restrict, restart=restart, initial=initial)


def build_chain(contents: Contents, initial: Any = None, **options: Any) -> MarkovChain:
    """Build the chain; errors about a row name its state."""
    options["initial"] = contents.initial if initial is None else _initial_state(initial, contents)
    if contents.labels is not None:
        options["labels"] = {label: StateIndices(members) for label, members in contents.labels.items()}
    given = contents.matrix
    if contents.restart is not None or contents.rate is not None:
        given = Adapted(given, contents.states, restart=contents.restart, rate=contents.rate)
    try:
        return MarkovChain(given, contents.states, rewards=contents.rewards, **options)
    except KlumpError as error:
        if error.row is not None and contents.states is not None:
            error.state = contents.states[error.row]
        if isinstance(error, CountsError):
            error.remedy = NORMALIZE
        raise


def apply_time(contents: Contents, *, ctmc: bool) -> Contents:
    """Uniformise rates if ``ctmc``; raise FileFormatError if the file says otherwise."""
    if ctmc and (contents.time == "discrete" or isinstance(contents.matrix, MarkovChain)):
        raise FileFormatError(
            "the file holds probabilities of a DTMC, not rates",
            remedy=("leave out ", Setting("ctmc", True)),
        )
    if not ctmc:
        if contents.time == "continuous":
            raise FileFormatError(
                "the file holds rates of a CTMC", remedy=("pass ", Setting("ctmc", True), " to uniformise it")
            )
        return contents
    matrix, rate = uniformize_with_rate(_drop_loops(contents.matrix))
    return contents._replace(matrix=matrix, rewards=None, rate=rate)


def _drop_loops(rates: Any) -> Any:
    """Rates without those of states to themselves; the diagonal of a generator, which is negative, is left as it is."""
    if sparse.issparse(rates):
        coo = sparse.coo_array(rates)
        loops = coo.row == coo.col
        if not loops.any() or (coo.data[loops] < 0).any():
            return rates
        return sparse.csr_array((coo.data[~loops], (coo.row[~loops], coo.col[~loops])), shape=coo.shape)
    square = rates.ndim == 2 and rates.shape[0] == rates.shape[1] and rates.dtype.kind in "biuf"
    if not square or (np.diagonal(rates) < 0).any():
        return rates
    return rates - np.diag(np.diagonal(rates))


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
