"""Out-of-core row blocks: iterate over the rows of a chain larger than memory, and build such a chain.

The transitions of a chain read from a mapped folder are memory maps of its files. Derived arrays of that size (joint
distribution, chain with restarts, tables of a search) are memory maps of temporary files in the same folder, which the
operating system deletes with the arrays. Other chains are held in memory by the same code.
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

# Transitions per row block, 3 MB at 12 bytes each: a small part of any chain that is mapped. A longer row is one block.
MAX_BLOCK_TRANSITIONS = 2**18
# Rows per row block.
MAX_BLOCK_ROWS = 2**16
# Bytes of zeros per write where the file system cannot preallocate.
_ZERO_CHUNK = 2**20


def row_blocks(matrix: Matrix) -> Iterator[tuple[slice, Any]]:
    """Iterate over blocks of consecutive rows of bounded size: the slice of rows, and a view of the matrix.

    Examples
    --------
    >>> matrix = sparse.csr_array(np.eye(3))
    >>> [(rows, block.nnz) for rows, block in row_blocks(matrix)]
    [(slice(0, 3, None), 3)]
    """
    n = matrix.shape[0]
    if not isinstance(matrix, sparse.csr_array):
        size = max(1, MAX_BLOCK_TRANSITIONS // max(1, matrix.shape[1]))
        for begin in range(0, n, size):
            yield slice(begin, min(begin + size, n)), matrix[begin : begin + size]
        return
    if matrix.nnz <= MAX_BLOCK_TRANSITIONS and n <= MAX_BLOCK_ROWS:
        yield slice(0, n), matrix
        return
    begin = 0
    while begin < n:
        starts = matrix.indptr[begin : begin + MAX_BLOCK_ROWS + 1] - matrix.indptr[begin]
        size = max(1, int(np.count_nonzero(starts <= MAX_BLOCK_TRANSITIONS)) - 1)
        end = begin + size
        first, last = int(matrix.indptr[begin]), int(matrix.indptr[end])
        parts = (matrix.data[first:last], matrix.indices[first:last], starts[: size + 1])
        yield slice(begin, end), sparse.csr_array(parts, shape=(size, matrix.shape[1]))
        begin = end


def entries(matrix: Matrix) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.float64]]]:
    """Row indices, column indices and values of the non-zero entries, per row block."""
    for rows, block in row_blocks(matrix):
        row, col, value = information.coordinates(block)
        yield row + rows.start, col, value


def stack_row_blocks(blocks: Iterable[sparse.csr_array], like: sparse.csr_array) -> sparse.csr_array:
    """Stack row blocks to one CSR matrix, in memory or memory-mapped as the entries of ``like`` are."""
    folder = folder_of(like)
    data, indices = ArrayBuilder(np.float64, folder), ArrayBuilder(like.indices.dtype, folder)
    lengths, width = [], 0
    for block in blocks:
        width = block.shape[1]
        data.append(block.data)
        indices.append(block.indices)
        lengths.append(np.diff(block.indptr))
    indptr = np.cumsum(np.concatenate([[0], *lengths]), dtype=np.int64)
    parts = (data.array(), indices.array(), indptr.astype(indices.dtype, copy=False))
    return sparse.csr_array(parts, shape=(len(indptr) - 1, width))


def total(matrices: Iterable[sparse.csr_array]) -> sparse.csr_array:
    """Sum of one or more sparse matrices; partial sums are merged while the later has at least half the entries."""
    sums: list[sparse.csr_array] = []
    for matrix in matrices:
        sums.append(matrix)
        while len(sums) > 1 and sums[-2].nnz <= 2 * sums[-1].nnz:
            sums.append(sums.pop() + sums.pop())
    while len(sums) > 1:
        sums.append(sums.pop() + sums.pop())
    return sums[0]


def scale_csr_rows(matrix: sparse.csr_array, factor: NDArray[np.float64]) -> sparse.csr_array:
    """Product diag(factor) matrix; the result shares the index arrays of ``matrix``."""
    data = ArrayBuilder(np.float64, folder_of(matrix))
    for rows, block in row_blocks(matrix):
        data.append(block.data * np.repeat(factor[rows], np.diff(block.indptr)))
    return sparse.csr_array((data.array(), matrix.indices, matrix.indptr), shape=matrix.shape)


def folder_of(entries: sparse.csr_array | NDArray[Any]) -> Path | None:
    """Folder of the memory-mapped file behind an array or the entries of a matrix; None if they are in memory."""
    holder: Any = entries if isinstance(entries, np.ndarray) else entries.data
    while holder is not None:
        if isinstance(holder, np.memmap):
            return None if holder.filename is None else Path(holder.filename).parent
        if isinstance(holder, _TemporaryMap):
            return holder.folder
        holder = holder.obj if isinstance(holder, memoryview) else getattr(holder, "base", None)
    return None


class _TemporaryMap(mmap.mmap):
    """Memory map of a temporary file, with the folder that the file was created in."""

    folder: Path


class ArrayBuilder:
    """Append-only 1-D array, in memory or in a temporary file in ``folder``.

    Examples
    --------
    >>> builder = ArrayBuilder(np.int32, getfixture("tmp_path"))
    >>> builder.append(np.array([1, 2]))
    >>> builder.append(np.array([3]))
    >>> builder.array()
    array([1, 2, 3], dtype=int32)
    """

    def __init__(self, dtype: DTypeLike, folder: Path | None) -> None:
        self.dtype = np.dtype(dtype)
        self._folder = folder
        self._chunks: list[NDArray[Any]] = []
        self._file: IO[bytes] | None = None if folder is None else _temporary_file(folder)
        self._n_bytes = 0

    def append(self, chunk: NDArray[Any]) -> None:
        """Append a chunk."""
        chunk = chunk.astype(self.dtype, copy=False)
        if self._file is None:
            self._chunks.append(chunk)
            return
        assert self._folder is not None
        self._n_bytes += chunk.nbytes
        with _report_disk_errors(self._folder):
            self._file.write(np.ascontiguousarray(chunk).data)
            self._file.flush()

    def array(self) -> NDArray[Any]:
        """Concatenation of the chunks; closes the file, which its memory map keeps alive."""
        if self._file is None or not self._n_bytes:
            chunks = self._chunks or [np.zeros(0, self.dtype)]
            return chunks[0] if len(chunks) == 1 else np.concatenate(chunks)
        assert self._folder is not None
        with self._file:
            return _map_file(self._file, self._folder, self._n_bytes, self.dtype)


def empty_array(shape: int | tuple[int, ...], dtype: DTypeLike, folder: Path | None) -> NDArray[Any]:
    """Uninitialised array, in memory or memory-mapped to a temporary file in ``folder``.

    The file is preallocated: a disk that fills up later would end the process with SIGBUS instead of an exception.

    Examples
    --------
    >>> array = empty_array((2, 3), np.int32, getfixture("tmp_path"))
    >>> array[:] = 7
    >>> int(array.sum())
    42
    """
    n_bytes = math.prod(np.atleast_1d(shape).tolist()) * np.dtype(dtype).itemsize
    if folder is None or not n_bytes:
        return np.empty(shape, dtype)
    with _temporary_file(folder) as file:
        with _report_disk_errors(folder):
            _preallocate(file, n_bytes)
        return _map_file(file, folder, n_bytes, dtype).reshape(shape)


def _map_file(file: IO[bytes], folder: Path, n_bytes: int, dtype: DTypeLike) -> NDArray[Any]:
    buffer = _TemporaryMap(file.fileno(), n_bytes)
    buffer.folder = folder
    return np.frombuffer(buffer, dtype=dtype)


def _preallocate(file: IO[bytes], n_bytes: int) -> None:
    try:
        os.posix_fallocate(file.fileno(), 0, n_bytes)
    except (AttributeError, OSError) as error:
        if isinstance(error, OSError) and error.errno not in (errno.EOPNOTSUPP, errno.EINVAL):
            raise
        # No posix_fallocate on this platform or file system.
        for start in range(0, n_bytes, _ZERO_CHUNK):
            file.write(bytes(min(_ZERO_CHUNK, n_bytes - start)))
        file.flush()


@contextmanager
def _report_disk_errors(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise FileFormatError(
            f"cannot write a temporary file in the folder of the mapped chain: {error.strerror}",
            file=str(folder),
            remedy="free some space on its disk",
        ) from error


def _temporary_file(folder: Path) -> IO[bytes]:
    try:
        return tempfile.TemporaryFile(dir=folder)
    except OSError:  # read-only folder
        return tempfile.TemporaryFile()
