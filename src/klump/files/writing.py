"""Write a chain to a file of any registered format."""

from __future__ import annotations

import os
from collections.abc import Hashable, Iterable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, cast

from klump.chain.markov_chain import ChainLike, as_chain
from klump.errors import FileFormatError
from klump.files.atomic import replacing_all, translate_write_errors
from klump.files.reading import prefix_errors
from klump.files.registry import MODULES, format_of


def write_chain(chain: ChainLike, path: str | os.PathLike[str], *, ctmc: bool = False) -> None:
    """Write a Markov chain to a file that :func:`klump.read_chain` reads.

    Parameters
    ----------
    chain
        The chain, or anything that a chain can be built from.
    path
        Its suffix selects the format: ``.npz`` and ``.graphml`` keep everything, ``.mapped``, a folder, the stationary
        distribution too if that is known. ``.tra`` (PRISM) or ``.storm.tra`` (Storm) is written with ``.sta``,
        ``.lab``, ``.srew`` and ``.trew`` files beside it, of which older ones are replaced or removed; it, ``.drn`` and
        ``.umb`` keep the set of initial states, but not their probabilities. ``.csv``, ``.tsv`` and ``.parquet`` keep
        names only, ``.mtx`` none, ``.npy`` neither names nor sparse chains. ``klump.files.losses`` says
        what a file will not keep.
    ctmc
        Write the rates of a chain that was made of rates, which :func:`klump.read_chain` reads with ``ctmc=True``; only
        ``.tra``, ``.storm.tra``, ``.drn`` and ``.umb``.

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
    chain, file = as_chain(chain), Path(path)
    with prefix_errors(path), translate_write_errors(path):
        writer = format_of(file)
        if ctmc and not holds_rates(file):
            raise FileFormatError(
                "the format holds no rates", remedy="choose .tra, .storm.tra, .drn or .umb, or leave out ctmc"
            )
        if writer is import_module(MODULES[".mapped"]):  # a folder, which it renames itself
            writer.write(chain, file)
            return
        siblings = writer.siblings(chain, file) if hasattr(writer, "siblings") else {}
        stale = writer.known_siblings(file) if hasattr(writer, "known_siblings") else []
        with replacing_all([file, *siblings], stale) as (part, *others):
            write: Any = cast(Any, writer).write_rates if ctmc else writer.write
            write(chain, part)
            for other, write_sibling in zip(others, siblings.values(), strict=True):
                write_sibling(other)


def holds_rates(path: str | os.PathLike[str]) -> bool:
    """Whether a file of this name can hold rates.

    >>> holds_rates("q.drn"), holds_rates("q.csv")
    (True, False)
    """
    return hasattr(format_of(Path(path)), "write_rates")


def write_mapped(
    path: str | os.PathLike[str],
    blocks: Iterable[Any],
    *,
    states: Sequence[Hashable] | None = None,
    normalize: bool = False,
) -> None:
    """Write a chain given by row blocks to a mapped folder, so that it need not fit in memory.

    Parameters
    ----------
    path
        The folder, by convention with the suffix ``.mapped``; an existing chain is replaced when the new one is
        complete.
    blocks
        Consecutive row blocks of the transition matrix, as sparse matrices or arrays. Peak memory is a few copies of
        the largest block: a million transitions per block is a good size.
    states
        Names of the states; ``0 .. n-1`` if left out.
    normalize
        Divide each row by its sum, for counts; otherwise rows must sum to 1.

    Examples
    --------
    A random walk on a ring of 1000 states, written in blocks of 100:

    >>> import numpy as np
    >>> from scipy import sparse
    >>> from klump import read_chain
    >>> def ring(n, size):
    ...     for first in range(0, n, size):
    ...         state = np.arange(first, first + size)
    ...         steps = np.concatenate([(state + 1) % n, (state - 1) % n, state])
    ...         counts = np.repeat([1, 1, 2], size)
    ...         yield sparse.csr_array((counts, (np.tile(state - first, 3), steps)), shape=(size, n))
    >>> path = getfixture("tmp_path") / "ring.mapped"
    >>> write_mapped(path, ring(1000, 100), normalize=True)
    >>> chain = read_chain(path)
    >>> chain, round(chain.entropy_rate, 12)
    (MarkovChain(1000 states, 3000 transitions), 1.5)
    """
    from klump.files.mapped import write_blocks

    with translate_write_errors(path), prefix_errors(path):
        other = next((suffix for suffix in MODULES if str(path).lower().endswith(suffix)), ".mapped")
        if other != ".mapped":
            raise FileFormatError(
                f"the suffix {other} is that of a file, but a mapped chain is a folder",
                file=os.fspath(path),
                remedy="choose .mapped",
            )
        write_blocks(Path(path), blocks, states=states, normalize=normalize)
