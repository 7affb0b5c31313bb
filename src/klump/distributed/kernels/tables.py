"""Arguments of the kernels of a step, bundled.

Masses are fixed-point numbers, int64 multiples of a quantum, so that sums are exact in any order.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Shorts = NDArray[np.int32]

# Quanta per unit of mass: the largest power of two with headroom in int64 for sums that are rounded up.
ONE = 2.0**62
# Mass of a quantum. It changes the cost by about 1e-17 bits, far below the least decrease per move.
QUANTUM = 2.0**-62

# Directions of transitions.
OUT = 0
IN = 1


class Block(NamedTuple):
    """Rows and columns of J for consecutive states, in CSR and CSC format.

    Indices are positions in ``neighbours``, where the block's own states are contiguous.
    """

    neighbours: Ints  # (m,) own states and all states with a transition to or from them, increasing
    own: Ints  # (1,) position of the first own state in neighbours
    out_indptr: Ints  # (size + 1,) row pointers
    out_indices: Shorts
    out_mass: Ints  # quanta
    in_indptr: Ints  # (size + 1,) column pointers
    in_indices: Shorts
    in_mass: Ints  # quanta
    mu: Ints  # (size,) quanta


class Groups(NamedTuple):
    """Masses and sizes of the groups, broadcast to all blocks before a step."""

    flow: Ints  # (k, k) B, in quanta
    nu: Ints  # (k,) quanta
    size: Ints  # (k,) members


class Terms(NamedTuple):
    """B and nu as floats, and f of them, before any move."""

    mass: Floats  # (2, k, k) B transposed, and B: row z is the mass from each group to z, or from z to each group
    f: Floats  # (2, k, k) f(mass)
    within: Floats  # (2, k) the diagonal of B, and f of it
    nu: Floats  # (2, k) nu, and f(nu)


class Work(NamedTuple):
    """Scratch space; mass, listed and both are zero between states.

    The first axis of length 2 is the direction: OUT, from the state, or IN, to it.
    """

    mass: Ints  # (2, k) between the state and each group, in quanta, self-transition excluded
    groups: Shorts  # (2, k) list of the groups with a transition
    listed: NDArray[np.bool_]  # (2, k) whether a group is on the list
    both: Floats  # (k,) mass[OUT] + mass[IN] as float
    home: Floats  # (2, k) row or column of B of the state's own group after the state has left, and f of it
    change: Floats  # (k,) change of sum f(B) per group that the state may join
