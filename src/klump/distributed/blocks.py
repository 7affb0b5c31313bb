"""Blocks of states: cut from a chain in memory, or read from a folder that every machine can read."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from klump.chain import MarkovChain
from klump.distributed.kernels.tables import ONE, Block
from klump.errors import FileFormatError
from klump.files.arrays import map_array_file

# Transitions per chunk of a scan: 16 to 32 MB of column indices.
_CHUNK = 4_000_000


@dataclass(frozen=True)
class Transitions:
    """The transition matrix in CSR format, in memory or memory-mapped, and the stationary distribution."""

    data: NDArray[np.float64]
    indices: NDArray[Any]
    indptr: NDArray[Any]
    stationary: NDArray[np.float64]

    @property
    def n_states(self) -> int:
        """Number of states."""
        return int(self.stationary.size)

    def bounds(self, n_blocks: int) -> list[int]:
        """First state of each block, then the number of states; blocks have about equally many transitions."""
        ends = np.linspace(0, int(self.indptr[-1]), n_blocks + 1)[1:-1]
        inner = np.searchsorted(self.indptr, ends.astype(self.indptr.dtype))
        return [int(bound) for bound in np.unique([0, *inner, self.n_states])]

    def block(self, first: int, last: int) -> Block:
        """The block of states first, ..., last - 1."""
        begin, end = int(self.indptr[first]), int(self.indptr[last])
        out_indptr = np.asarray(self.indptr[first : last + 1], dtype=np.int64) - begin
        out_indices = np.asarray(self.indices[begin:end])
        from_own = np.repeat(self.stationary[first:last], np.diff(out_indptr))
        source, column, into = self._columns(first, last)
        neighbours = np.union1d(np.arange(first, last), np.union1d(out_indices, source))
        order = np.argsort(column, kind="stable")  # within a column the sources stay in order
        in_indptr = np.concatenate([[0], np.cumsum(np.bincount(column, minlength=last - first))])
        return Block(
            neighbours=neighbours.astype(np.int64),
            own=np.searchsorted(neighbours, [first]).astype(np.int64),
            out_indptr=out_indptr,
            out_indices=np.searchsorted(neighbours, out_indices).astype(np.int32),
            out_mass=_quantise(from_own * self.data[begin:end]),
            in_indptr=in_indptr.astype(np.int64),
            in_indices=np.searchsorted(neighbours, source[order]).astype(np.int32),
            in_mass=_quantise(into[order]),
            mu=_quantise(self.stationary[first:last]),
        )

    def _columns(self, first: int, last: int) -> tuple[NDArray[Any], NDArray[Any], NDArray[np.float64]]:
        """Sources, columns (relative to first) and masses of the transitions to states first, ..., last - 1.

        Every block scans all transitions of the chain, chunk by chunk, instead of receiving its columns from other
        blocks: 4 or 8 bytes per transition, read from a file that the page cache of a machine shares among its
        workers, and a lost block can be rebuilt on its own.
        """
        found: list[tuple[NDArray[Any], ...]] = []
        for begin in range(0, self.indices.size, _CHUNK):
            indices = np.asarray(self.indices[begin : begin + _CHUNK])
            places = np.flatnonzero((indices >= first) & (indices < last))
            source = self._rows(begin, begin + indices.size, begin + places)
            mass = self.stationary[source] * self.data[begin + places]
            found.append((source, indices[places].astype(np.int64) - first, mass))
        if not found:
            found.append((np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64), np.zeros(0)))
        source, column, mass = (np.concatenate(parts) for parts in zip(*found, strict=True))
        return source, column, mass

    def _rows(self, begin: int, end: int, places: NDArray[np.int64]) -> NDArray[np.int64]:
        """Rows of the transitions at ``places``, all in begin, ..., end - 1."""
        dtype = self.indptr.dtype.type  # with another dtype, searchsorted would cast a copy of indptr
        first = int(np.searchsorted(self.indptr, dtype(begin), side="right")) - 1
        last = int(np.searchsorted(self.indptr, dtype(end), side="left"))
        ends = np.asarray(self.indptr[first : last + 1], dtype=np.int64)
        return first + np.searchsorted(ends, places, side="right") - 1


def _quantise(mass: NDArray[np.float64]) -> NDArray[np.int64]:
    """Masses as integer multiples of the quantum."""
    return np.rint(np.asarray(mass) * ONE).astype(np.int64)


def from_chain(chain: MarkovChain) -> Transitions:
    """Transitions of a chain in memory."""
    matrix = sparse.csr_array(chain.transition_matrix)
    return Transitions(matrix.data, matrix.indices, matrix.indptr, chain.stationary_distribution)


def from_folder(folder: Path) -> Transitions:
    """Memory-map the transitions of a chain in a folder."""
    try:
        data, indices, indptr = (
            map_array_file(folder / f"{name}.npy") for name in ("data", "indices", "indptr")
        )
    except (OSError, ValueError, EOFError) as error:
        raise FileFormatError(
            f"no chain can be memory-mapped from this folder ({error})",
            file=str(folder),
            remedy="write one with klump.write_chain(chain, 'name.mapped')",
        ) from None
    try:
        stationary = map_array_file(folder / "stationary.npy")
    except (OSError, ValueError):
        raise FileFormatError(
            "stationary.npy is missing",
            file=str(folder),
            remedy="write the folder again with klump convert --stationary, or after chain.stationary_distribution "
            "has been computed",
        ) from None
    return Transitions(data, indices, indptr, stationary)


def read_block(folder: str, first: int, last: int) -> Block:
    """Read a block of states from a folder, on the machine that runs this."""
    return from_folder(Path(folder)).block(first, last)
