"""Where blocks of states come from: a chain in memory, or a folder that every machine can read."""

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

# Transitions that are looked at at once.
_CHUNK = 4_000_000


@dataclass(frozen=True)
class Transitions:
    """The transitions of a chain row by row, in memory or in files, and the stationary law."""

    data: NDArray[np.float64]
    indices: NDArray[Any]
    indptr: NDArray[Any]
    stationary: NDArray[np.float64]

    @property
    def n_states(self) -> int:
        """Number of states."""
        return int(self.stationary.size)

    def bounds(self, n_blocks: int) -> list[int]:
        """First state of each block, and the number of states: about as many transitions in each block."""
        ends = np.linspace(0, int(self.indptr[-1]), n_blocks + 1)[1:-1]
        inner = np.searchsorted(self.indptr, ends.astype(self.indptr.dtype))
        return [int(bound) for bound in np.unique([0, *inner, self.n_states])]

    def block(self, first: int, last: int) -> Block:
        """The block of states from first up to last."""
        begin, end = int(self.indptr[first]), int(self.indptr[last])
        out_indptr = np.asarray(self.indptr[first : last + 1], dtype=np.int64) - begin
        out_indices = np.asarray(self.indices[begin:end])
        from_own = np.repeat(self.stationary[first:last], np.diff(out_indptr))
        source, column, into = self._columns(first, last)
        neighbours = np.union1d(np.arange(first, last), np.union1d(out_indices, source))
        order = np.argsort(column, kind="stable")  # within a column the sources stay in order
        in_indptr = np.concatenate([[0], np.cumsum(np.bincount(column, minlength=last - first))])
        return Block(
            neighbours.astype(np.int64),
            np.searchsorted(neighbours, [first]).astype(np.int64),
            out_indptr,
            np.searchsorted(neighbours, out_indices).astype(np.int32),
            _quanta(from_own * self.data[begin:end]),
            in_indptr.astype(np.int64),
            np.searchsorted(neighbours, source[order]).astype(np.int32),
            _quanta(into[order]),
            _quanta(self.stationary[first:last]),
        )

    def _columns(self, first: int, last: int) -> tuple[NDArray[Any], NDArray[Any], NDArray[np.float64]]:
        """Sources, columns (from 0) and masses of all that leads to some states: one look at all transitions.

        Each block looks through all of them by itself, a chunk at a time, instead of being told by the others: four
        or eight bytes for each transition of the chain, but only from a file that others on the machine read too,
        and a block can be built again without them.
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
        """Rows of transitions that lie between begin and end."""
        kind = self.indptr.dtype.type  # a number of another kind would have all ends of rows copied
        first = int(np.searchsorted(self.indptr, kind(begin), side="right")) - 1
        last = int(np.searchsorted(self.indptr, kind(end), side="left"))
        ends = np.asarray(self.indptr[first : last + 1], dtype=np.int64)
        return first + np.searchsorted(ends, places, side="right") - 1


def _quanta(mass: NDArray[np.float64]) -> NDArray[np.int64]:
    """Masses as whole numbers."""
    return np.rint(np.asarray(mass) * ONE).astype(np.int64)


def of_chain(chain: MarkovChain) -> Transitions:
    """Take the transitions of a chain in memory."""
    matrix = sparse.csr_array(chain.transition_matrix)
    return Transitions(matrix.data, matrix.indices, matrix.indptr, chain.stationary_distribution)


def of_folder(folder: Path) -> Transitions:
    """Map the transitions of a chain in a folder; only what is looked at is read."""
    try:
        data, indices, indptr = (
            np.load(folder / f"{name}.npy", mmap_mode="r", allow_pickle=False)
            for name in ("data", "indices", "indptr")
        )
    except (OSError, ValueError, EOFError) as error:
        raise FileFormatError(
            f"{folder}: no chain can be mapped from it ({error}); write one with "
            "klump.write_chain(chain, 'name.mapped')"
        ) from None
    try:
        stationary = np.load(folder / "stationary.npy", mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError):
        raise FileFormatError(
            f"{folder}: stationary.npy is missing; write the folder again with klump convert --stationary, or after "
            "chain.stationary_distribution has been asked for"
        ) from None
    return Transitions(data, indices, indptr, stationary)


def block_of_folder(folder: str, first: int, last: int) -> Block:
    """Load a block of states from a folder, wherever this runs."""
    return of_folder(Path(folder)).block(first, last)
