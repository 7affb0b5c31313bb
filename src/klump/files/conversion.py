"""From one file to another."""

from __future__ import annotations

import os
from collections.abc import Hashable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
from scipy import sparse

from klump.chain import MarkovChain
from klump.chain.rows import row_blocks
from klump.errors import FileFormatError
from klump.files import mapped, npz
from klump.files.reading import built, named, read_chain, readable
from klump.files.registry import format_of
from klump.files.writing import writable, write_chain


def convert_chain(
    source: str | os.PathLike[str],
    target: str | os.PathLike[str],
    *,
    normalize: bool = False,
    restrict: Literal["largest"] | None = None,
    restart: float | None = None,
    initial: Any = None,
    mmap: bool = False,
    stationary: bool = False,
) -> MarkovChain:
    r"""Read a chain, write it to another file, and return it.

    A sparse matrix that ``scipy.sparse.save_npz(..., compressed=False)`` or klump wrote goes to a mapped folder block
    by block, and so does a chain that is mapped already: they need not fit in memory. Everything else has to.

    Parameters
    ----------
    source
        A file as for :func:`klump.read_chain`.
    target
        A file as for :func:`klump.write_chain`; what is there is replaced.
    normalize, restrict, restart, initial
        What is done with the chain, as for :func:`klump.read_chain`.
    mmap
        Write a mapped folder, whatever its name.
    stationary
        Solve for the stationary law, so that a mapped folder keeps it.

    Examples
    --------
    >>> folder = getfixture("tmp_path")
    >>> _ = (folder / "weather.csv").write_text("0.9,0.1\n0.3,0.7\n")
    >>> convert_chain(folder / "weather.csv", folder / "weather.mapped", stationary=True)
    MarkovChain(2 states, 4 transitions)
    >>> sorted(file.name for file in (folder / "weather.mapped").iterdir())
    ['chain.json', 'data.npy', 'indices.npy', 'indptr.npy', 'stationary.npy']
    """
    options: dict[str, Any] = {"restrict": restrict, "restart": restart, "initial": initial}
    with named(target):
        to_folder = mmap or format_of(Path(target)) is mapped
        if to_folder:
            mapped.require_free(Path(target))
    if not to_folder:
        chain = read_chain(source, normalize=normalize, **options)
        write_chain(chain, target)
        return chain
    found = _mapped_archive(source)
    if found is None:
        chain = read_chain(source, normalize=normalize, **options)
    with writable(target), mapped.put_in_place(Path(target)) as folder, named(source):
        if found is not None:
            matrix, states = found
            mapped.write_blocks(folder, _checked_blocks(matrix), states=states, normalize=normalize)
            chain = built(mapped.read(folder, add_up=False), **options)
        if stationary:
            _ = chain.stationary_distribution
        if found is None or chain.applied:
            mapped.write(chain, folder)
        elif stationary:
            mapped.write_law(folder, chain.stationary_distribution)
    return chain


def _mapped_archive(
    source: str | os.PathLike[str],
) -> tuple[sparse.csr_array, Sequence[Hashable] | None] | None:
    """Sparse matrix in an archive, mapped, and the names of its states, if there is such."""
    path = Path(source)
    with named(source), readable(path):
        return npz.mapped_matrix(path) if format_of(path) is npz else None


def _checked_blocks(matrix: sparse.csr_array) -> Iterator[sparse.csr_array]:
    """Blocks of rows of a matrix that somebody else has written."""
    damaged = "its sparse matrix is damaged"
    if matrix.indptr[0] != 0 or matrix.indptr[-1] > len(matrix.data) or (np.diff(matrix.indptr) < 0).any():
        raise FileFormatError(f"{damaged}: the ends of its rows are not in order")
    for _, block in row_blocks(matrix):
        try:
            # Indices out of range would be followed blindly by compiled code later on.
            block.check_format(full_check=True)
        except ValueError as error:
            raise FileFormatError(f"{damaged}: {error}") from error
        yield block
