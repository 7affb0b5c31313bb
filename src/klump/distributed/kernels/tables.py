"""The arrays that the kernels of a step work on, bundled.

Masses are whole numbers of quanta: sums of them are exact, in whatever order and by whomever they are summed up.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Shorts = NDArray[np.int32]

# Mass 1 is this many quanta, the largest power of two that leaves room for rounding up. What one quantum changes of
# the cost, 1e-17 bits, is far below what a move must gain.
ONE = 2.0**62
QUANTUM = 2.0**-62


class Block(NamedTuple):
    """Successive states with all that leads from them and to them.

    Where transitions lead to and come from is said by position in ``neighbours``, among which the block's own states
    stand one after the other.
    """

    neighbours: Ints  # (m,) numbers of the states that the block has to do with, in increasing order
    own: Ints  # (1,) position of its first own state among them
    out_indptr: Ints  # (size + 1,)
    out_indices: Shorts
    out_mass: Ints
    in_indptr: Ints  # (size + 1,)
    in_indices: Shorts
    in_mass: Ints
    mu: Ints  # (size,)


class Groups(NamedTuple):
    """Where a search stands, as far as the groups are concerned: what all blocks are told before a step."""

    flow: Ints  # (k, k) B
    nu: Ints  # (k,)
    size: Ints  # (k,) members


class Prices(NamedTuple):
    """The same in bits: what every state needs for its price, and no state changes."""

    mass: Floats  # (2, k, k) B transposed, and B: row z is the mass from each group to z, or from z to each group
    f: Floats  # (2, k, k) f of it
    within: Floats  # (2, k) the diagonal of B, and f of it
    nu: Floats  # (2, k) nu, and f of it


class Work(NamedTuple):
    """Scratch space; masses are zero between states."""

    mass: Ints  # (2, k) from the state to each group, and from each group to it; itself left out
    groups: Shorts  # (2, k) the groups that have some
    met: NDArray[np.bool_]  # (2, k) whether they are on that list
    extra: Floats  # (k,) both together, and the loop, in bits
    line: Floats  # (2, k) a row or column of the own group without the state, and f of it
    change: Floats  # (k,) of sum f(B), for each group that the state may join
