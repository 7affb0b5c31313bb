"""The arrays that the kernels work on, bundled.

Notation of the paper: ``J`` is the joint distribution of two successive states and ``mu`` its marginal, ``A[i, y]``
the mass from state i to group y, ``B[y, z]`` the mass from group y to group z, ``nu`` the mass of the groups.
Transitions are counted beside their mass, so that an entry without transitions is exactly zero. Rows over the k groups
are padded with zeros to a multiple of the SIMD lanes.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Shorts = NDArray[np.int32]
Labels = NDArray[np.int32]
Waiting = NDArray[np.uint8]

# An entry of a list: 16 bytes, four per cache line.
ENTRY = np.dtype([("mass", np.float64), ("group", np.int32), ("count", np.int32)])
# Directions of the links of a state: from the state to a group, and from a group to the state.
OUT = 0
IN = 1


class Weights(NamedTuple):
    """The objective as the kernels see it: ``into sum f(A) - flow sum f(B) + sum f(nu)``."""

    into: float  # 1 - 2 beta + gamma
    flow: float  # 1 - beta


class DenseProblem(NamedTuple):
    """A chain with most transitions present."""

    rows: Floats  # (n, n) J
    columns: Floats  # (n, n) J transposed
    loops: Floats  # (n,) J[x, x]
    mu: Floats  # (n,)


class SparseProblem(NamedTuple):
    """A chain with few transitions per state: J by columns and by rows."""

    indptr: Ints  # (n + 1,) column x is indices[indptr[x]:indptr[x+1]]
    indices: Shorts  # (m,)
    mass: Floats  # (m,)
    out_indptr: Ints  # (n + 1,) row i is out_indices[out_indptr[i]:out_indptr[i+1]]
    out_indices: Shorts  # (m,)
    out_mass: Floats  # (m,)
    loops: Floats  # (n,) J[x, x]
    mu: Floats  # (n,)


Problem = DenseProblem | SparseProblem


class DenseA(NamedTuple):
    """A, one contiguous row per group, and the mass in the other direction."""

    mass: Floats  # (k, n) A transposed
    log: Floats  # (k, n) log2(A), any value where A is zero
    inverse: Floats  # (k, n) 1 / A
    counts: Shorts  # (k, n) transitions of each entry of A
    zeros: Ints  # (k,) states without a transition to each group
    back: Floats  # (k, n) mass from a group to a state
    back_counts: Shorts  # (k, n)


class ListsA(NamedTuple):
    """The non-zero entries of A, one unordered list per state, with room for as many as it can have."""

    begin: Ints  # (n,) first entry of each list
    length: Shorts  # (n,)
    entries: NDArray[Any]  # (room,) ENTRY


class NoA(NamedTuple):
    """A is not kept: its weight in the cost is zero."""

    n_states: int


A = DenseA | ListsA | NoA


class Flow(NamedTuple):
    """B, in rows that a state adds to when it joins a group.

    A state with mass r to group z adds r to ``B[y, z]`` when it joins group y, which is entry y of row z; one with
    mass r from group z adds r to ``B[z, y]``, entry y of row k + z. Row 2 k is the diagonal, to which loops are added.
    """

    mass: Floats  # (2 k + 1, width)
    log: Floats  # (2 k + 1, width) log2(mass), any value where the mass is zero
    most: Floats  # (2 k + 1,) upper bound of the mass in each row, the diagonal left out of all rows but its own
    counts: Ints  # (k, k) transitions from y to z


class Table(NamedTuple):
    """State of a search: the labels and every sum that depends on them."""

    labels: Labels  # (n,)
    size: Ints  # (k,) members of each group
    nu: Floats  # (width,)
    nu_f: Floats  # (width,) f(nu)
    lightest: Floats  # (1,) lower bound of nu
    a: Any  # DenseA, ListsA or NoA
    b: Flow
    waiting: Waiting  # (n,) marks of the queue


class Work(NamedTuple):
    """Scratch space of one visit; ``mass`` and ``counts`` are zero between visits."""

    bound: Floats  # (width,) lower bounds of the price of joining each group
    gain_b: Floats  # (width,) upper bounds of the change of sum f(B)
    join_a: Floats  # (width,) changes of sum f(A), up to a constant
    leave_a: Floats  # (1,) change of sum f(A) when the state leaves its group, plus that constant
    mass: Floats  # (2, k) mass of the links with each group, OUT and IN
    counts: Ints  # (2, k) transitions of the links
    groups: Ints  # (2, k + 1) groups with a link
    n_linked: Ints  # (2,) number of groups with a link
    buffer: Floats  # (3, size) arguments of f
    buffer_group: Shorts  # (size,)
