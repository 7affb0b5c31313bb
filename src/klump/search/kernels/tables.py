"""The arrays that the kernels work on, bundled. Nothing here is compiled by itself."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Shorts = NDArray[np.int32]


class Problem(NamedTuple):
    """The chain as the kernels see it: J by columns, dense or sparse, and its marginal."""

    rows: Floats  # (n, n) J, or (0, 0) in the sparse layout
    columns: Floats  # (n, n) J transposed, or (0, 0)
    indptr: Ints  # (n + 1,) sparse layout: column x is indices[indptr[x]:indptr[x+1]]
    indices: Shorts
    mass: Floats
    mass_f: Floats  # f(mass)
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
    """The non-zero entries of A, row by row, in no order."""

    start: Ints  # (n + 1,) where the list of a state begins; it has room for all it can hold
    length: Shorts  # (n,)
    group: Shorts
    count: Shorts
    mass: Floats
    f: Floats


class Flow(NamedTuple):
    """B with what its changes need: logarithms and inverses, and everything transposed as well."""

    mass: Floats  # (k, k)
    mass_t: Floats
    log: Floats  # log2 of the mass; its value where the mass is zero does not matter
    log_t: Floats
    inv: Floats  # 1 / mass, infinite where the mass is zero
    inv_t: Floats
    inv_max: Floats  # (k,) at least the largest entry of each row of inv
    inv_max_t: Floats
    count: Ints  # (k, k) transitions behind each entry


class Table(NamedTuple):
    """Where a search stands: the labels and every sum that depends on them."""

    labels: Shorts  # (n,)
    size: Ints  # (k,) members of each group
    nu: Floats  # (k,)
    nu_log: Floats
    nu_inv: Floats
    dense: Dense
    lists: Lists
    flow: Flow


class Work(NamedTuple):
    """Scratch space of one evaluation."""

    gain: Floats  # (k,) out: change of the cost if the state moved to each group
    into: Floats  # (k,) change of sum f(A)
    flow: Floats  # (k,) change of sum f(B)
    out_mass: Floats  # (k,) mass from the state to each group, itself left out
    out_count: Ints
    in_mass: Floats  # (k,) mass from each group to the state, itself left out
    in_count: Ints
    out_groups: Shorts  # groups with out_count > 0
    in_groups: Shorts
    rest: Floats  # (2, k) row and column of the own group in B once the state is taken out
    buffer: Floats
    buffer_f: Floats
    buffer_group: Shorts
