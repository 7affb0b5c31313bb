"""The arrays that the kernels work on, bundled.

What is read together lies together: a logarithm is cheaper than a cache miss. Rows over the k groups have a width
that is a multiple of the vector length, with zeros behind the groups.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Shorts = NDArray[np.int32]
Bytes = NDArray[np.uint8]
Rough = NDArray[np.float32]
# Where unsigned, numba need not check whether it counts from the end.
Place = int | np.uint64

# Planes of nu
MASS, LOG, INVERSE = 0, 1, 2
# Rows with fewer digits have a width that is a multiple of this, because so many are added at once.
WIDE = 64
# Parts of a block
GROUPS, COUNTS = 8, 12


class Weights(NamedTuple):
    """The objective as the kernels see it: ``into sum f(A) - flow sum f(B) + sum f(nu)``."""

    into: float  # 1 - 2 beta + gamma
    flow: float  # 1 - beta


class Problem(NamedTuple):
    """The chain as the kernels see it: J by columns, dense or sparse, and its marginal."""

    rows: Floats  # (n, n) J, or (0, 0) in the sparse layout
    columns: Floats  # (n, n) J transposed, or (0, 0)
    indptr: Ints  # (n + 1,) sparse layout: column x is indices[indptr[x]:indptr[x+1]]
    indices: Shorts
    mass: Floats  # (m,) J of each transition
    out_indptr: Ints  # (n + 1,) sparse layout: row i is out_indices[out_indptr[i]:out_indptr[i+1]]
    out_indices: Shorts
    out_mass: Floats  # (m,)
    inflow: Floats  # (n,) all that leads to x: mu, as exactly as that is known
    loops: Floats  # (n,) J[x, x]
    mu: Floats  # (n,)


class Dense(NamedTuple):
    """Masses between states and groups, one contiguous row a group."""

    into: Floats  # (k, n) A transposed
    into_log: Floats  # (k, n) its logarithm, any value where it is empty
    into_inverse: Floats  # (k, n) 1 / A
    empty: Ints  # (k,) states that lead to no member of a group
    into_count: Shorts  # (k, n) transitions behind each entry of A
    out_of: Floats  # (k, n) mass from a group to a state
    out_of_count: Shorts


class Lists(NamedTuple):
    """The non-zero entries of A, row by row, in no order, in blocks of four that are a cache line each.

    What is free in a block has a group number of k or more, and mass and count 0. Behind each list is room for all
    that it can hold. A block has four masses, then four group numbers and four counts: two views of the same memory.
    """

    bounds: Shorts  # (n, 2) first block of the list of a state, and its length; (0, 2) if A is not kept
    mass: Floats  # (blocks, 8) of which 4
    marks: Shorts  # (blocks, 16) of which from GROUPS and from COUNTS 4 each


class Flow(NamedTuple):
    """B by columns, by rows, and its diagonal: what may happen to it when a state is added is a matter of rows.

    Row z is the mass from each group to z, row k + z that from z to each group, row 2 k that within each group.
    """

    mass: Floats  # (2 k + 1, width)
    log: Floats  # (2 k + 1, width) log2(mass), any value where that is empty
    rough: Rough  # (2 k + 1, wide) the same with fewer digits, no less
    most: Floats  # (2 k + 1,) at least the largest mass of each row, without that within the group
    counts: Ints  # (k, k) transitions from y to z


class Table(NamedTuple):
    """Where a search stands: the labels and every sum that depends on them."""

    labels: Shorts  # (n,)
    size: Ints  # (k,) members of each group
    nu: Floats  # (3, width) mass, log2(mass) and 1 / mass of each group
    lightest: Floats  # (1,) at most the least mass of all groups
    dense: Dense
    lists: Lists
    flow: Flow
    one: Ints  # (1,) an order of visits to a single state
    everyone: Ints  # (n,) an order of visits to all states
    waiting: (
        Bytes  # (n,) marks of who has a neighbour that moved since this was cleared, or (0,) if nobody asks
    )


class Work(NamedTuple):
    """Scratch space of one evaluation; masses and counts are zero between evaluations."""

    gain: Floats  # (width,) lower bounds of the price of joining each group
    change: Floats  # (width,) change of sum f(B)
    rough: Rough  # (2, wide) sums with fewer digits
    into: Floats  # (width,) change of sum f(A); what free entries add goes behind the groups
    mass: Floats  # (2, k) mass from the state to each group and back, itself left out
    counts: Ints  # (2, k) transitions behind them
    groups: NDArray[np.uint32]  # (2, k + 1) the groups with a count
    buffer: Floats  # (3, size) arguments of f, or what is subtracted
    buffer_group: Shorts  # (size,)
    places: Ints  # (2, size) of two groups in lists
    prepared: Ints  # (1,) the one whose price is prepared
    ratio: Rough  # (size,) entries of A divided by what the state adds
    share: Rough  # (size,) which is this share of its mass
    row: Ints  # (2 k + 4,) rows of B that the state adds to
    weight: Floats  # (2 k + 4,) and what it adds
    rough_weight: Rough  # (2 k + 4,) its share of all it adds
    rough_log: Rough  # (2 k + 4,) its logarithm
