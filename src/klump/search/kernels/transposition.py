"""Permutation and transposition of compressed sparse matrices.

Arrays may be memory-mapped files larger than memory, so each is read sequentially, or written at few cursors that move
forward.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from klump.compilation import kernel
from klump.search.kernels.prefetch import prefetch
from klump.search.kernels.tables import Floats, Ints, Shorts

# Prefetch distance, in transitions.
_DISTANCE = 16

Index = NDArray[Any]  # int32, or int64 in chains of more than 2**31 transitions


@kernel(allocates=False)
def count_in_rows(
    indptr: Ints,  # in
    data: Floats,  # in
    weight: Floats,  # in: (n,) factor of each row
    place: Shorts,  # in: (n,) new number of each state
    counts: Ints,  # out: (n,) non-zero entries of each row, by the new number of the row
) -> None:
    """Count the entries of each row whose product with the factor of the row is not 0."""
    for i in range(place.size):
        count = 0
        for p in range(indptr[i], indptr[i + 1]):
            count += data[p] * weight[i] != 0.0
        counts[place[i]] = count


@kernel(allocates=False)
def put_rows(
    indptr: Ints,  # in
    indices: Index,  # in
    data: Floats,  # in
    weight: Floats,  # in: (n,) factor of each row
    place: Shorts,  # in: (n,) new number of each state
    out_indptr: Ints,  # in: (n + 1,)
    out_indices: Shorts,  # out
    out_mass: Floats,  # out
) -> None:
    """Multiply each row by its factor and write its non-zero entries in the order of the new numbers."""
    for i in range(place.size):
        q = out_indptr[place[i]]
        for p in range(indptr[i], indptr[i + 1]):
            prefetch(place, np.uint64(indices[min(p + _DISTANCE, indices.size - 1)]))
            mass = data[p] * weight[i]
            if mass != 0.0:
                out_indices[q] = place[indices[p]]
                out_mass[q] = mass
                q += 1


@kernel(allocates=False)
def count_columns(
    indices: Shorts,  # in
    counts: Ints,  # in, out: (n,)
) -> None:
    """Count the entries of each column."""
    for p in range(indices.size):
        counts[indices[p]] += 1


@kernel(allocates=False)
def transpose(
    indptr: Ints,  # in
    indices: Shorts,  # in
    mass: Floats,  # in
    cursors: Ints,  # in, out: (n,) write cursor of each column
    row: Shorts,  # out: (m,)
    value: Floats,  # out: (m,)
    loops: Floats,  # in, out: (n,) the diagonal
) -> None:
    """Transpose from CSR to CSC format; row numbers increase within each column."""
    last = indices.size - 1
    for i in range(indptr.size - 1):
        for p in range(indptr[i], indptr[i + 1]):
            prefetch(cursors, np.uint64(indices[min(p + 2 * _DISTANCE, last)]))
            ahead = np.uint64(cursors[indices[min(p + _DISTANCE, last)]])
            prefetch(row, ahead)
            prefetch(value, ahead)
            to = indices[p]
            q = cursors[to]
            cursors[to] = q + 1
            row[q] = i
            value[q] = mass[p]
            if to == i:
                loops[i] += mass[p]


@kernel(allocates=False)
def distribute(
    indptr: Ints,  # in
    indices: Shorts,  # in
    mass: Floats,  # in
    bucket: Shorts,  # in: (n,) bucket of each column
    cursors: Ints,  # in, out: write cursor of each bucket
    column: Shorts,  # out: (m,)
    row: Shorts,  # out: (m,)
    value: Floats,  # out: (m,)
    loops: Floats,  # in, out: (n,) the diagonal
) -> None:
    """First pass of a stable bucket sort by column: distribute all entries to buckets of adjacent columns."""
    for i in range(indptr.size - 1):
        for p in range(indptr[i], indptr[i + 1]):
            to = indices[p]
            q = cursors[bucket[to]]
            cursors[bucket[to]] = q + 1
            column[q] = to
            row[q] = i
            value[q] = mass[p]
            if to == i:
                loops[i] += mass[p]


@kernel(allocates=False)
def sort_bucket(
    column: Shorts,  # in: column of each entry of the bucket
    row: Shorts,  # in
    value: Floats,  # in
    cursors: Ints,  # in, out: (n,) write cursor of each column
    out_row: Shorts,  # out: (m,)
    out_value: Floats,  # out: (m,)
) -> None:
    """Second pass of a stable bucket sort by column: write the entries of one bucket to their columns."""
    for p in range(column.size):
        q = cursors[column[p]]
        cursors[column[p]] = q + 1
        out_row[q] = row[p]
        out_value[q] = value[p]
