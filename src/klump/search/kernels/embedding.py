"""What an embedding of many states in a few coordinates spends its time on, mostly in single precision."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from klump.compilation import kernel
from klump.search.kernels.prefetch import prefetch
from klump.search.kernels.tables import Floats, Ints, Shorts

# How many transitions in advance a row is asked for, because it comes from far away in memory.
_AHEAD = 16

Singles = NDArray[np.float32]


@kernel(allocates=False)
def multiply(
    indptr: Ints,  # in: rows of P
    indices: Shorts,  # in
    data: Floats,  # in
    vectors: Singles,  # in: (n, d)
    out: Singles,  # out: (n, d) P times the vectors
) -> None:
    """Apply P to several vectors at once: what a transition needs of them lies together."""
    n, d = vectors.shape
    for i in range(n):
        row = out[i]
        row[:] = np.float32(0.0)
        for p in range(indptr[i], indptr[i + 1]):
            ahead = np.uint64(indices[min(p + _AHEAD, indices.size - 1)])
            prefetch(vectors, ahead)
            prefetch(vectors[:, min(16, d - 1) :], ahead)
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
    """Apply a matrix to a vector, in double precision."""
    for i in range(vector.size):
        total = 0.0
        for p in range(indptr[i], indptr[i + 1]):
            prefetch(vector, np.uint64(indices[min(p + _AHEAD, indices.size - 1)]))
            total += data[p] * vector[indices[p]]
        out[i] = total


@kernel(allocates=False)
def nearest(
    points: Singles,  # in: (n, d)
    centres: Singles,  # in: (d, k)
    length: Singles,  # in: (k,) half the squared length of each centre
    closeness: Singles,  # scratch: (k,)
    labels: Shorts,  # out: (n,)
) -> None:
    """Find the nearest centre of each point; among equals the first."""
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
