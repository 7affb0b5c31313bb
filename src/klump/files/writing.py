"""Write a chain to any file that klump knows."""

from __future__ import annotations

import os
import secrets
from collections.abc import Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from klump.chain.markov_chain import ChainLike, as_chain
from klump.errors import FileFormatError
from klump.files.reading import named
from klump.files.registry import MODULES, format_of


def write_chain(chain: ChainLike, path: str | os.PathLike[str]) -> None:
    """Write a Markov chain to a file, so that :func:`klump.read_chain` gives it back.

    Parameters
    ----------
    chain
        The chain, or anything that a chain can be built from.
    path
        Its suffix chooses the format: ``.npz`` keeps everything exactly; ``.csv`` and ``.tsv`` keep names as
        text, and write a sparse chain as one transition a line; ``.mtx`` has no room for names, ``.npy`` for neither
        names nor sparse chains; ``.mapped`` is a folder that keeps everything, sparse, and the stationary
        law too if that is known.

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
    with writable(path), named(path), _complete(file) as place:
        format_of(file).write(as_chain(chain), place)


def write_mapped(
    path: str | os.PathLike[str],
    blocks: Iterable[Any],
    *,
    states: Sequence[Hashable] | None = None,
    normalize: bool = False,
) -> None:
    """Write a chain that comes piece by piece to a mapped folder, so that it never has to fit in memory.

    Parameters
    ----------
    path
        The folder, by custom with the suffix ``.mapped``; an older chain there is replaced when the new one is
        complete.
    blocks
        Some rows of the transition matrix after the other, as sparse matrices or arrays. Memory is needed for a few
        copies of the largest one: blocks of a million transitions are a good size.
    states
        Names of the states; ``0 .. n-1`` if left out.
    normalize
        Divide each row by its sum, for counts; otherwise rows must sum to 1.

    Examples
    --------
    A walk on a ring of a thousand states, of which there are never more than a hundred in memory:

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

    with writable(path), named(path):
        other = next((suffix for suffix in MODULES if str(path).lower().endswith(suffix)), ".mapped")
        if other != ".mapped":
            raise FileFormatError(
                f"a name that ends with {other} is not that of a folder; choose one with .mapped"
            )
        write_blocks(Path(path), blocks, states=states, normalize=normalize)


@contextmanager
def _complete(file: Path) -> Iterator[Path]:
    """Give a file to write to, which takes the place of an older one when it is finished."""
    if file.is_dir() or file.suffix == ".mapped" or (file.exists() and not file.is_file()):
        yield file  # a folder sees to this itself, a device cannot
        return
    place = Path(os.path.realpath(file))
    part = place.with_name(f".{secrets.token_hex(4)}.{place.name}")
    try:
        yield part
        part.replace(place)
    finally:
        part.unlink(missing_ok=True)


@contextmanager
def writable(path: str | os.PathLike[str]) -> Iterator[None]:
    """Turn an error of the system into one of klump's own."""
    try:
        yield
    except OSError as error:
        raise FileFormatError(f"{os.fspath(path)}: cannot be written: {error.strerror or error}") from error
