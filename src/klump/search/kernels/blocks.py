"""The arrays that partition refinement works on, bundled."""

from __future__ import annotations

from typing import NamedTuple

from klump.search.kernels.tables import Floats, Ints, Shorts

# Places of Partition.counts
BLOCKS, WAITING = 0, 1


class Transitions(NamedTuple):
    """The transition matrix by columns and by rows."""

    indptr: Ints  # (n + 1,) what leads to y is indices[indptr[y]:indptr[y+1]]
    indices: Shorts
    data: Floats
    out_indptr: Ints  # (n + 1,) where x leads is out_indices[out_indptr[x]:out_indptr[x+1]]
    out_indices: Shorts
    out_data: Floats


class Partition(NamedTuple):
    """Blocks of states, each a stretch of one array, with the marked members in front."""

    elements: Shorts  # (n,) the states, block by block
    place: Shorts  # (n,) where each state stands in elements
    block: Shorts  # (n,) the block of each state
    first: Shorts  # (n,) where each block begins
    end: Shorts  # (n,) and ends
    marked: Shorts  # (n,) how many members of each block are marked
    queue: Shorts  # (n,) the blocks that wait to be splitters
    counts: Ints  # (2,) number of blocks, and of those that wait


class Scratch(NamedTuple):
    """Scratch space; weights are zero and no state is marked between splitters."""

    weight: Floats  # (n,)
    states: Shorts  # (n,)
    blocks: Shorts  # (n,)
    bounds: Shorts  # (n + 1,)
