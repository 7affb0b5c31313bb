"""The arrays that the kernels work on, bundled.

What is read together lies together: a logarithm is cheaper than a cache miss.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Shorts = NDArray[np.int32]

# Planes of Flow and of nu
MASS, LOG, INVERSE = 0, 1, 2


class Problem(NamedTuple):
    """The chain as the kernels see it: J by columns, dense or sparse, and its marginal."""

    rows: Floats  # (n, n) J, or (0, 0) in the sparse layout
    columns: Floats  # (n, n) J transposed, or (0, 0)
    indptr: Ints  # (n + 1,) sparse layout: column x is indices[indptr[x]:indptr[x+1]]
    indices: Shorts
    mass: Floats  # (m, 2) J and f(J) of each transition
    out_indptr: Ints  # (n + 1,) sparse layout: row i is out_indices[out_indptr[i]:out_indptr[i+1]]
    out_indices: Shorts
    out_mass: Floats  # (m,)
    loops: Floats  # (n,) J[x, x]
    mu: Floats  # (n,)


class Dense(NamedTuple):
    """Masses between states and groups, one contiguous row a group."""

    into: Floats  # (k, n) A transposed
    into_f: Floats  # (k, n) f(A) transposed
    into_count: Shorts  # (k, n) transitions behind each entry of A
    out_of: Floats  # (k, n) mass from a group to a state
    out_of_count: Shorts


class Lists(NamedTuple):
    """The non-zero entries of A, row by row, in no order, in blocks of four that fill a cache line.

    What is free in a block has the group number k, and mass and count 0.
    """

    bounds: Ints  # (n, 2) first block of the list of a state, and its length; behind it is room for all it can hold
    group: Shorts  # (blocks, 4)
    counts: Shorts  # (blocks, 4) transitions behind the entry
    value: Floats  # (blocks, 2, 4) A and f(A)


class Flow(NamedTuple):
    """B with what its changes need: mass, log2(mass) (any value where empty) and 1 / mass."""

    rows: Floats  # (k, 3, k) [y, plane, z]
    columns: Floats  # (k, 3, k) [z, plane, y]
    rows_inverse: Floats  # (k,) at least the largest inverse in each row
    columns_inverse: Floats
    rows_most: Floats  # (k,) at least the largest mass in each row, the diagonal left out
    columns_most: Floats
    counts: Ints  # (k, k) transitions behind each entry


class Table(NamedTuple):
    """Where a search stands: the labels and every sum that depends on them."""

    labels: Shorts  # (n,)
    size: Ints  # (k,) members of each group
    nu: Floats  # (3, k) mass, log2(mass), 1 / mass of each group
    nu_inverse: Floats  # (1,) at least the largest inverse
    dense: Dense
    lists: Lists
    flow: Flow
    one: Ints  # (1,) an order of visits to a single state
    everyone: Ints  # (n,) an order of visits to all states


class Work(NamedTuple):
    """Scratch space of one evaluation; masses and counts are zero between evaluations."""

    gain: Floats  # (k,) out: change of the cost if the state moved to each group
    change: Floats  # (k + 1,) change of sum f(A), or of sum f(B); what free entries add goes to the last
    mass: Floats  # (2, k) mass from the state to each group and back, itself left out
    counts: Ints  # (2, k) transitions behind them
    groups: Shorts  # (2, k) the groups with a count
    buffer: Floats  # (2, size) argument of f and what is subtracted
    buffer_group: Shorts
