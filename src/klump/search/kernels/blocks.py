"""The arrays that partition refinement works on, bundled."""

from __future__ import annotations

from typing import NamedTuple

from klump.search.kernels.tables import Floats, Ints, Shorts

# Indices into ``Partition.counts``: number of blocks, ...
BLOCKS = 0
# ... and length of the queue.
WAITING = 1


class Transitions(NamedTuple):
    """The transition matrix by columns and by rows."""

    indptr: Ints  # (n + 1,) column y is indices[indptr[y]:indptr[y+1]], the predecessors of y
    indices: Shorts  # (m,)
    data: Floats  # (m,)
    out_indptr: Ints  # (n + 1,) row x is out_indices[out_indptr[x]:out_indptr[x+1]], the successors of x
    out_indices: Shorts  # (m,)
    out_data: Floats  # (m,)


class Partition(NamedTuple):
    """Blocks of states: block b is ``elements[first[b]:end[b]]``, its marked members first."""

    elements: Shorts  # (n,) states, sorted by block
    place: Shorts  # (n,) index of each state in elements
    block: Shorts  # (n,) block of each state
    first: Shorts  # (n,) index of the first member of each block
    end: Shorts  # (n,) index after the last member of each block
    marked: Shorts  # (n,) number of marked members of each block
    queue: Shorts  # (n,) stack of blocks that are to be splitters
    counts: Ints  # (2,) see BLOCKS and WAITING


class Scratch(NamedTuple):
    """Scratch space; between splitters all weights are 0 and no state is marked."""

    weight: Floats  # (n,) probability of a transition from each state to the splitter
    states: Shorts  # (n,) states with a weight
    blocks: Shorts  # (n,) blocks with marked members
    bounds: Shorts  # (n + 1,) indices into elements that delimit the parts of a block, descending
