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
# Indices of an unsigned type are not checked for wraparound by numba.
Unsigned = NDArray[np.uint32]
Singles = NDArray[np.float32]
Labels = NDArray[np.int32]
Waiting = NDArray[np.uint8]
Group = int | np.int64

# Entries per block of a list: four of 16 bytes fill a cache line.
LANES = 4
# log2(LANES): entry p of the lists is lane ``p & (LANES - 1)`` of block ``p >> LANE_BITS``.
LANE_BITS = 2
# A block of a list: one cache line of 64 bytes.
BLOCK = np.dtype(
    [("mass", np.float64, LANES), ("group", np.int32, LANES), ("count", np.int32, LANES)], align=True
)
# Direction of the links of a state: from the state to a group.
OUT = 0
# Direction of the links of a state: from a group to the state.
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
    """The non-zero entries of A, one unordered list per state, in blocks of ``LANES`` entries.

    A list has room for as many entries as it can get. Free entries have group number k, and mass and count 0.
    """

    bounds: Ints  # (n, 2) first block of each list, and its number of entries
    blocks: NDArray[Any]  # (room,) BLOCK


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
    rough_log: Singles  # (2 k + 1, width) upper bound of log in float32
    most: Floats  # (2 k + 1,) upper bound of the mass in each row; B[y, y] counts in row 2 k only
    counts: Ints  # (k, k) transitions from y to z


class Table(NamedTuple):
    """State of a search: the labels and every sum that depends on them."""

    labels: Labels  # (n,)
    size: Ints  # (k,) members of each group
    nu: Floats  # (width,)
    nu_f: Floats  # (width,) f(nu)
    nu_log: Floats  # (width,) log2(nu)
    inverse_nu: Floats  # (width,) 1 / nu
    lightest: Floats  # (1,) lower bound of nu over all groups
    a: Any  # DenseA, ListsA or NoA
    b: Flow
    waiting: Waiting  # (n,) marks of the queue


class Work(NamedTuple):
    """Scratch space of one visit; ``mass`` and ``counts`` are zero between visits."""

    bound: Floats  # (width,) lower bounds of the change of the cost when the state moves to each group
    leave: Floats  # (1,) exact change of the cost when it leaves its group; NaN until computed
    gain_a: Floats  # (width,) bounds of the change of sum f(A) on joining each group, up to a constant
    gain_b: Floats  # (width,) upper bounds of the change of sum f(B) on joining each group
    rough: Singles  # (2, width) float32 accumulators per group: two for lists, the first one for B
    mass: Floats  # (2, k) mass of the links with each group, OUT and IN
    counts: Ints  # (2, k) transitions of the links
    groups: Unsigned  # (2, k + 1) groups with a link
    n_linked: Ints  # (2,) number of groups with a link
    buffer: Floats  # (2, size) arguments of f
    ratio: Singles  # (size,) entries of A divided by the mass of a transition
    share: Singles  # (size,) mass of the transition divided by that of all transitions to the state
    group: Shorts  # (size,) groups of the entries


class Units(NamedTuple):
    """States that share a group, and units that must not."""

    begin: Ints  # (u + 1,) unit v is states[begin[v]:begin[v+1]]
    states: Ints  # (n,)
    mass: Floats  # (u,)
    colour: Shorts  # (u,) a group holds units of one colour
    apart_begin: Ints  # (u + 1,) unit v must not share a group with apart[apart_begin[v]:apart_begin[v+1]]
    apart: Ints
    least: Floats  # (1,) least mass of a group


class Pairs(NamedTuple):
    """Constraints as pairs of states."""

    together: Ints  # (p, 2) states that share a group
    apart: Ints  # (q, 2) states that do not
    least: Floats  # (1,) least mass of a group


class Choice(NamedTuple):
    """Scratch space of ``sweep_units``."""

    colour: Shorts  # (k,) colour of the units in each group
    allowed: NDArray[np.bool_]  # (k,) whether the unit may move to each group


class Groups(NamedTuple):
    """Groups that are being merged: those that remain have indices 0 to ``alive[0] - 1``, in no order."""

    into: Floats  # (m, n) A transposed, one row per group; (m, 0) if its weight is zero
    flow: Floats  # (m, m) B; (0, 0) if its weight is zero
    back: Floats  # (m, m) B transposed
    rough_into: Singles  # into in float32
    rough_flow: Singles  # flow in float32
    rough_back: Singles  # back in float32
    nu: Floats  # (m,)
    bound: Singles  # (m, m) lower bound of the price of each pair a < b
    least: Singles  # (m,) lower bound of bound[a, a + 1:]
    sums: Floats  # (3, m) sum of f over each row of into, flow and back
    work: Singles  # (6, m) scratch space
    shared: Floats  # (m,) scratch space
    name: Ints  # (m,) number of each group in the merge tree
    alive: Ints  # (1,) number of groups that remain
