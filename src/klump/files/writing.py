"""Write a chain to any file that klump knows."""

from __future__ import annotations

import os
from pathlib import Path

from klump.chain import MarkovChain
from klump.chain.markov_chain import ChainLike, as_chain
from klump.errors import FileFormatError, KlumpError
from klump.files.registry import format_of


def write_chain(chain: ChainLike, path: str | os.PathLike[str]) -> None:
    """Write a Markov chain to a file, so that :func:`klump.read_chain` gives it back.

    Parameters
    ----------
    chain
        The chain, or anything that a chain can be built from.
    path
        Its suffix chooses the format: ``.npz`` keeps everything exactly; ``.csv`` and ``.tsv`` keep names as
        text, and write a sparse chain as one transition a line; ``.mtx`` has no room for names, ``.npy`` for neither
        names nor sparse chains.

    Examples
    --------
    >>> from klump import MarkovChain
    >>> path = getfixture("tmp_path") / "weather.csv"
    >>> write_chain(MarkovChain([[0.9, 0.1], [0.3, 0.7]], states=["sun", "rain"]), path)
    >>> print(path.read_text())
    ,sun,rain
    sun,0.9,0.1
    rain,0.3,0.7
    """
    file = Path(path)
    written: MarkovChain = as_chain(chain)
    try:
        format_of(file).write(written, file)
    except KlumpError as error:
        raise type(error)(f"{os.fspath(path)}: {error}") from error
    except OSError as error:
        raise FileFormatError(f"{os.fspath(path)}: cannot be written: {error.strerror or error}") from error
