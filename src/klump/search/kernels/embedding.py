"""Sparse matrix-vector products and nearest centres, for embeddings of many states in few coordinates."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from klump.compilation import kernel
from klump.search.kernels.prefetch import prefetch
from klump.search.kernels.tables import Floats, Ints, Shorts

# Prefetch distance, in transitions.
_DISTANCE = 16
# Float32 numbers per cache line of 64 bytes.
_PER_LINE = 16

Singles = NDArray[np.float32]


@kernel(allocates=False)
def multiply(
    indptr: Ints,  # in: rows of P
    indices: Shorts,  # in
    data: Floats,  # in
    vectors: Singles,  # in: (n, d)
    out: Singles,  # out: (n, d) P times the vectors
) -> None:
    """Product of P with d vectors, whose entries for one state are contiguous."""
    n, d = vectors.shape
    for i in range(n):
        row = out[i]
        row[:] = np.float32(0.0)
        for p in range(indptr[i], indptr[i + 1]):
            ahead = np.uint64(indices[min(p + _DISTANCE, indices.size - 1)])
            prefetch(vectors, ahead)
            prefetch(vectors[:, min(_PER_LINE, d - 1) :], ahead)
            weight, other = np.float32(data[p]), vectors[indices[p]]
            for j in range(d):
                row[j] += weight * other[j]


@kernel(allocates=False)
def multiply_one(
    indptr: Ints,  # in: rows of a matrix
    indices: Shorts,  # in
    data: Floats,  # in
    vector: Floats,  # in: (n,)
    out: Floats,  # out: (n,) the matrix times the vector
) -> None:
    """Product of a matrix with a vector, in float64."""
    for i in range(vector.size):
        total = 0.0
        for p in range(indptr[i], indptr[i + 1]):
            prefetch(vector, np.uint64(indices[min(p + _DISTANCE, indices.size - 1)]))
            total += data[p] * vector[indices[p]]
        out[i] = total


@kernel(allocates=False)
def nearest_centres(
    points: Singles,  # in: (n, d)
    centres: Singles,  # in: (d, k)
    length: Singles,  # in: (k,) |c|^2 / 2
    closeness: Singles,  # scratch: (k,) x c - |c|^2 / 2, largest for the nearest centre c
    labels: Shorts,  # out: (n,)
) -> None:
    """Find the nearest centre of each point; the lowest number in a tie."""
    n, d = points.shape
    for i in range(n):
        for c in range(length.size):
            closeness[c] = -length[c]
        for j in range(d):
            x, centre = points[i, j], centres[j]
            for c in range(length.size):
                closeness[c] += x * centre[c]
        best, most = 0, closeness[0]
        for c in range(length.size):
            if closeness[c] > most:
                best, most = c, closeness[c]
        labels[i] = best
