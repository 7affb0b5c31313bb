"""Conversion of chain files between formats."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from klump.chain import MarkovChain
from klump.chain.rows import row_blocks
from klump.chain.validation import row_sums
from klump.choices import Restriction
from klump.errors import FileFormatError
from klump.files import mapped, npz
from klump.files.atomic import translate_write_errors
from klump.files.attributes import encode_attributes
from klump.files.gate import FETCH_AGAIN, guard_reading
from klump.files.reading import build_chain, prefix_errors, read_chain
from klump.files.registry import Contents, format_of, format_to_read
from klump.files.writing import write_chain


def convert_chain(
    source: str | os.PathLike[str],
    target: str | os.PathLike[str],
    *,
    normalize: bool = False,
    restrict: Restriction | None = None,
    restart: float | None = None,
    initial: Any = None,
    format: str | None = None,
    ctmc: bool = False,
    mmap: bool = False,
    stationary: bool = False,
) -> MarkovChain:
    r"""Read a chain, write it to another file, and return it.

    Two kinds of source are converted to a mapped folder by row blocks and need not fit in memory: CSR matrices written
    by ``scipy.sparse.save_npz(..., compressed=False)`` or klump, and mapped folders. All others are read to memory, and
    so are matrices with empty rows.

    Parameters
    ----------
    source
        A file as for :func:`klump.read_chain`.
    target
        A file as for :func:`klump.write_chain`; an existing file is replaced.
    normalize, restrict, restart, initial, format, ctmc
        As for :func:`klump.read_chain`.
    mmap
        Write a mapped folder, whatever its name.
    stationary
        Solve for the stationary distribution, so that a mapped folder stores it.

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
    reading: dict[str, Any] = {**options, "normalize": normalize, "format": format, "ctmc": ctmc}
    with prefix_errors(target):
        to_folder = mmap or format_of(Path(target)) is cast(Any, mapped)
        if to_folder:
            mapped.require_replaceable(Path(target))
    if not to_folder:
        chain = read_chain(source, **reading)
        write_chain(chain, target)
        return chain
    found = None if ctmc else _map_archive(source, format)
    mended = restrict is not None or restart is not None
    if found is not None and mended and _has_empty_rows(found.matrix):
        found = None
    if found is None:
        chain = read_chain(source, **reading)
    with translate_write_errors(target), mapped.staging_folder(Path(target)) as folder, prefix_errors(source):
        if found is not None:
            counted: list[NDArray[np.float64]] = []
            blocks = _count_rows(_check_blocks(found.matrix), counted)
            mapped.write_blocks(folder, blocks, states=found.states, normalize=normalize)
            written: MarkovChain = mapped.read(folder, add_up=False).matrix
            if normalize:
                written = written._with_counts(np.concatenate(counted))
            chain = build_chain(found._replace(matrix=written, states=None), **options)
        if stationary:
            _ = chain.stationary_distribution
        if found is None or chain.applied or encode_attributes(chain):
            mapped.write(chain, folder)
        elif stationary:
            mapped.write_stationary(folder, chain.stationary_distribution)
    return chain


def _map_archive(source: str | os.PathLike[str], format: str | None) -> Contents | None:
    """Memory-mapped CSR matrix of an ``.npz`` archive and what it says about the states; None for other sources."""
    path = Path(source)
    with guard_reading(path):
        return npz.map_matrix(path) if format_to_read(path, format) is cast(Any, npz) else None


def _has_empty_rows(matrix: sparse.csr_array) -> bool:
    """Whether a state has no transition, so that its row cannot be written before the chain is mended."""
    return any((np.asarray(abs(block).sum(axis=1)) == 0).any() for block in _check_blocks(matrix))


def _count_rows(
    blocks: Iterable[sparse.csr_array], counted: list[NDArray[np.float64]]
) -> Iterator[sparse.csr_array]:
    """Append the row sums of each block to a list."""
    for block in blocks:
        counted.append(row_sums(block))
        yield block


def _check_blocks(matrix: sparse.csr_array) -> Iterator[sparse.csr_array]:
    """Row blocks of an unvalidated CSR matrix, with index arrays checked."""
    damaged = "its sparse matrix is damaged"
    if matrix.indptr[0] != 0 or matrix.indptr[-1] > len(matrix.data) or (np.diff(matrix.indptr) < 0).any():
        raise FileFormatError(f"{damaged}: its index pointer is not increasing", remedy=FETCH_AGAIN)
    for _, block in row_blocks(matrix):
        try:
            # SciPy's and numba's compiled loops do no bounds checks.
            block.check_format(full_check=True)
        except ValueError as error:
            raise FileFormatError(f"{damaged}: {error}", remedy=FETCH_AGAIN) from error
        yield block
