"""Row by row: how a chain is gone through that need not fit in memory, and how one is made.

The transitions of a chain that was read from a mapped folder stay in its files. What is as large as they are - the
joint law, a chain with restarts, what a search works on - is then put in files too: unnamed ones in the same folder,
which vanish with the arrays. Everybody else's arrays are in memory; the code is the same.
"""

from __future__ import annotations

import errno
import math
import mmap
import os
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, TypeAlias

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy import sparse

from klump import information
from klump.errors import FileFormatError

Matrix: TypeAlias = NDArray[np.float64] | sparse.csr_array

# A block has at most so many transitions, or one row, and at most so many rows.
TRANSITIONS, ROWS = 2**18, 2**16
_ZEROS = 2**20


def row_blocks(matrix: Matrix) -> Iterator[tuple[slice, Any]]:
    """Cut a matrix into blocks of rows that are small beside a large chain.

    Examples
    --------
    >>> matrix = sparse.csr_array(np.eye(3))
    >>> [(rows, block.nnz) for rows, block in row_blocks(matrix)]
    [(slice(0, 3, None), 3)]
    """
    n = matrix.shape[0]
    if not isinstance(matrix, sparse.csr_array):
        size = max(1, TRANSITIONS // max(1, matrix.shape[1]))
        for begin in range(0, n, size):
            yield slice(begin, min(begin + size, n)), matrix[begin : begin + size]
        return
    if matrix.nnz <= TRANSITIONS and n <= ROWS:
        yield slice(0, n), matrix
        return
    begin = 0
    while begin < n:
        starts = matrix.indptr[begin : begin + ROWS + 1] - matrix.indptr[begin]
        size = max(1, int(np.count_nonzero(starts <= TRANSITIONS)) - 1)
        end = begin + size
        first, last = int(matrix.indptr[begin]), int(matrix.indptr[end])
        parts = (matrix.data[first:last], matrix.indices[first:last], starts[: size + 1])
        yield slice(begin, end), sparse.csr_array(parts, shape=(size, matrix.shape[1]))
        begin = end


def entries(matrix: Matrix) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.float64]]]:
    """Rows, columns and values of the non-zero entries, block by block."""
    for rows, block in row_blocks(matrix):
        row, col, value = information.coordinates(block)
        yield row + rows.start, col, value


def assembled(blocks: Iterable[sparse.csr_array], like: sparse.csr_array) -> sparse.csr_array:
    """Put blocks of rows on top of each other, where the entries of another matrix are."""
    folder = folder_of(like)
    data, indices = GrowingArray(np.float64, folder), GrowingArray(like.indices.dtype, folder)
    lengths, width = [], 0
    for block in blocks:
        width = block.shape[1]
        data.append(block.data)
        indices.append(block.indices)
        lengths.append(np.diff(block.indptr))
    ends = np.cumsum(np.concatenate([[0], *lengths]), dtype=np.int64)
    parts = (data.array(), indices.array(), ends.astype(indices.dtype, copy=False))
    return sparse.csr_array(parts, shape=(len(ends) - 1, width))


def total(matrices: Iterable[sparse.csr_array]) -> sparse.csr_array:
    """Sum of sparse matrices, at least one; small sums come first, so that no large one is often added to."""
    sums: list[sparse.csr_array] = []
    for matrix in matrices:
        sums.append(matrix)
        while len(sums) > 1 and sums[-2].nnz <= 2 * sums[-1].nnz:
            sums.append(sums.pop() + sums.pop())
    while len(sums) > 1:
        sums.append(sums.pop() + sums.pop())
    return sums[0]


def with_scaled_rows(matrix: sparse.csr_array, factor: NDArray[np.float64]) -> sparse.csr_array:
    """Multiply each row by its factor; both matrices share the places of their entries."""
    data = GrowingArray(np.float64, folder_of(matrix))
    for rows, block in row_blocks(matrix):
        data.append(block.data * np.repeat(factor[rows], np.diff(block.indptr)))
    return sparse.csr_array((data.array(), matrix.indices, matrix.indptr), shape=matrix.shape)


def folder_of(entries: sparse.csr_array | NDArray[Any]) -> Path | None:
    """Folder of the file that an array, or the entries of a matrix, are in; None if they are in memory."""
    holder: Any = entries if isinstance(entries, np.ndarray) else entries.data
    while holder is not None:
        if isinstance(holder, np.memmap):
            return None if holder.filename is None else Path(holder.filename).parent
        if isinstance(holder, _Unnamed):
            return holder.folder
        holder = holder.obj if isinstance(holder, memoryview) else getattr(holder, "base", None)
    return None


class _Unnamed(mmap.mmap):
    """The contents of a file without a name, and the folder whose disk it is on."""

    folder: Path


class GrowingArray:
    """An array that is put together piece by piece, in memory or in an unnamed file in a folder.

    Examples
    --------
    >>> pile = GrowingArray(np.int32, getfixture("tmp_path"))
    >>> pile.append(np.array([1, 2]))
    >>> pile.append(np.array([3]))
    >>> pile.array()
    array([1, 2, 3], dtype=int32)
    """

    def __init__(self, dtype: DTypeLike, folder: Path | None) -> None:
        self.dtype = np.dtype(dtype)
        self._folder = folder
        self._pieces: list[NDArray[Any]] = []
        self._file: IO[bytes] | None = None if folder is None else _unnamed_file(folder)
        self._size = 0

    def append(self, piece: NDArray[Any]) -> None:
        """Put a piece behind the others."""
        piece = piece.astype(self.dtype, copy=False)
        if self._file is None:
            self._pieces.append(piece)
            return
        assert self._folder is not None
        self._size += piece.nbytes
        with _room_beside(self._folder):
            self._file.write(np.ascontiguousarray(piece).data)
            self._file.flush()

    def array(self) -> NDArray[Any]:
        """All pieces as one array."""
        if self._file is None or not self._size:
            pieces = self._pieces or [np.zeros(0, self.dtype)]
            return pieces[0] if len(pieces) == 1 else np.concatenate(pieces)
        assert self._folder is not None
        with self._file:
            return _contents(self._file, self._folder, self._size, self.dtype)


def empty_array(shape: int | tuple[int, ...], dtype: DTypeLike, folder: Path | None) -> NDArray[Any]:
    """Make an array to be filled, in memory or in an unnamed file in a folder.

    Its place on the disk is taken at once: when none is left it is too late to say so.

    Examples
    --------
    >>> array = empty_array((2, 3), np.int32, getfixture("tmp_path"))
    >>> array[:] = 7
    >>> array.sum()
    np.int64(42)
    """
    size = math.prod(np.atleast_1d(shape).tolist()) * np.dtype(dtype).itemsize
    if folder is None or not size:
        return np.empty(shape, dtype)
    with _unnamed_file(folder) as file:
        with _room_beside(folder):
            _lengthen(file, size)
        return _contents(file, folder, size, dtype).reshape(shape)


def _contents(file: IO[bytes], folder: Path, size: int, dtype: DTypeLike) -> NDArray[Any]:
    held = _Unnamed(file.fileno(), size)
    held.folder = folder
    return np.frombuffer(held, dtype=dtype)


def _lengthen(file: IO[bytes], size: int) -> None:
    try:
        os.posix_fallocate(file.fileno(), 0, size)
    except (AttributeError, OSError) as error:
        if isinstance(error, OSError) and error.errno not in (errno.EOPNOTSUPP, errno.EINVAL):
            raise
        # A system, or a disk, that cannot set space aside.
        for start in range(0, size, _ZEROS):
            file.write(bytes(min(_ZEROS, size - start)))
        file.flush()


@contextmanager
def _room_beside(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise FileFormatError(
            f"{folder}: what belongs to this chain cannot be kept beside it: {error.strerror}; "
            "free some space on its disk"
        ) from error


def _unnamed_file(folder: Path) -> IO[bytes]:
    try:
        return tempfile.TemporaryFile(dir=folder)
    except OSError:  # a folder that may only be read
        return tempfile.TemporaryFile()
