"""The transitions of a chain laid out for a search: in another order, and by columns.

Arrays may lie in files larger than memory, so each is gone through from front to back, or written to in a few places
that move on.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from klump.compilation import kernel
from klump.search.kernels.prefetch import prefetch
from klump.search.kernels.tables import Floats, Ints, Shorts

# How many transitions in advance is asked for what lies far away.
_AHEAD = 16

Index = NDArray[Any]  # int32, or int64 in chains of more than 2**31 transitions


@kernel(allocates=False)
def count_in_rows(
    indptr: Ints,  # in
    data: Floats,  # in
    weight: Floats,  # in: (n,) factor of each row
    place: Shorts,  # in: (n,) new number of each state
    counts: Ints,  # out: (n,) entries other than 0 of each row in its new place
) -> None:
    """Count what is left of each row once it is multiplied by its factor."""
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
    """Multiply each row by its factor and put what is left where it belongs, with new numbers."""
    for i in range(place.size):
        q = out_indptr[place[i]]
        for p in range(indptr[i], indptr[i + 1]):
            prefetch(place, np.uint64(indices[min(p + _AHEAD, indices.size - 1)]))
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
    heads: Ints,  # in, out: (n,) the next free place of each column
    row: Shorts,  # out: (m,)
    value: Floats,  # out: (m,)
    loops: Floats,  # in, out: (n,) the diagonal
) -> None:
    """Put the entries of all rows in their columns, in which rows are in order."""
    last = indices.size - 1
    for i in range(indptr.size - 1):
        for p in range(indptr[i], indptr[i + 1]):
            prefetch(heads, np.uint64(indices[min(p + 2 * _AHEAD, last)]))
            soon = np.uint64(heads[indices[min(p + _AHEAD, last)]])
            prefetch(row, soon)
            prefetch(value, soon)
            to = indices[p]
            q = heads[to]
            heads[to] = q + 1
            row[q] = i
            value[q] = mass[p]
            if to == i:
                loops[i] += mass[p]


@kernel(allocates=False)
def deal_out(
    indptr: Ints,  # in
    indices: Shorts,  # in
    mass: Floats,  # in
    bucket: Shorts,  # in: (n,) where the entries of each column go
    heads: Ints,  # in, out: the next free place of each bucket
    column: Shorts,  # out: (m,)
    row: Shorts,  # out: (m,)
    value: Floats,  # out: (m,)
    loops: Floats,  # in, out: (n,) the diagonal
) -> None:
    """Deal the entries of all rows out to buckets of columns, in which they keep their order."""
    for i in range(indptr.size - 1):
        for p in range(indptr[i], indptr[i + 1]):
            to = indices[p]
            q = heads[bucket[to]]
            heads[bucket[to]] = q + 1
            column[q] = to
            row[q] = i
            value[q] = mass[p]
            if to == i:
                loops[i] += mass[p]


@kernel(allocates=False)
def sort_bucket(
    column: Shorts,  # in: entries of some columns
    row: Shorts,  # in
    value: Floats,  # in
    heads: Ints,  # in, out: (n,) the next free place of each column
    out_row: Shorts,  # out: (m,)
    out_value: Floats,  # out: (m,)
) -> None:
    """Put each entry in its column, in which they keep their order."""
    for p in range(column.size):
        q = heads[column[p]]
        heads[column[p]] = q + 1
        out_row[q] = row[p]
        out_value[q] = value[p]
