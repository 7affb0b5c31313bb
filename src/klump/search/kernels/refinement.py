"""Partition refinement: split blocks until, for every block C, P(x, C) is the same for all states x of a block.

C is the splitter: the weight of state x is ``P(x, C) = sum of P[x, y] over y in C``, and every block is cut where the
weights of its members differ. Of the parts of a block all but the largest become splitters, because the weight into the
largest is that into the whole block minus those into the others. So a transition is visited at most log2(n) times.
"""

from __future__ import annotations

import numpy as np

from klump.compilation import kernel
from klump.search.kernels.blocks import BLOCKS, WAITING, Partition, Scratch, Transitions
from klump.search.kernels.tables import Floats, Shorts

# Sums are added in the order of the source code: equal rows must have equal weights, to the last bit.
_ordered_kernel = kernel(fastmath=False)
# Largest rounding error of a weight, which is a sum of probabilities: 450 units in the last place of 1.
_ROUNDING = 1e-13


@_ordered_kernel
def _mark(partition: Partition, x: int) -> None:
    """Swap a state with the first unmarked member of its block, and mark it."""
    elements, place = partition.elements, partition.place
    b = partition.block[x]
    here, there = place[x], partition.first[b] + partition.marked[b]
    other = elements[there]
    elements[there], elements[here] = x, other
    place[x], place[other] = there, here
    partition.marked[b] += 1


@_ordered_kernel
def _find_cuts(
    values: Floats,  # in: weights, ascending
    tolerance: float,  # in: largest difference of two weights in a part
    cuts: Shorts,  # out: first index of each part but the first
) -> int:
    """Cut ascending weights greedily into parts no wider than the tolerance; returns the number of cuts.

    A part ends before the first weight that exceeds its least one by more than the tolerance. A cut between weights
    that differ by rounding alone is moved in front of all of them.
    """
    rounding = min(_ROUNDING, tolerance)
    count = 0
    begin = 0
    for i in range(1, values.size):
        if values[i] - values[begin] <= tolerance:
            continue
        cut = i
        while cut - 1 > begin and values[cut] - values[cut - 1] <= rounding:
            cut -= 1
        if values[cut] - values[cut - 1] <= rounding or values[i] - values[cut] > tolerance:
            cut = i
        cuts[count] = cut
        count += 1
        begin = cut
    return count


@_ordered_kernel
def _sort_marked(partition: Partition, work: Scratch, b: int, zero: bool) -> Floats:
    """Sort the marked members of a block by descending weight; returns the weights in ascending order.

    ``zero``: whether the block has unmarked members, which follow the marked ones and have weight 0; the returned
    weights then begin with one 0 for all of them.
    """
    first, marked = partition.first[b], partition.marked[b]
    members = partition.elements[first : first + marked].copy()
    order = np.argsort(work.weight[members], kind="mergesort")
    values = np.zeros(marked + zero)
    for i in range(marked):
        x = members[order[i]]
        values[i + zero] = work.weight[x]
        partition.elements[first + marked - 1 - i] = x
        partition.place[x] = first + marked - 1 - i
    return values


@_ordered_kernel
def _split(partition: Partition, work: Scratch, b: int, tolerance: float) -> None:
    """Split a block by the weights of its marked members, unmarked ones having weight 0, and unmark all.

    The largest part keeps the number of the block, and its place in the queue if it has one; the others are enqueued.
    """
    elements = partition.elements
    first, end = partition.first[b], partition.end[b]
    last = first + partition.marked[b]
    zero = last < end
    least = 0.0 if zero else np.inf
    most = 0.0
    for i in range(first, last):
        least = min(least, work.weight[elements[i]])
        most = max(most, work.weight[elements[i]])
    if most - least <= tolerance:
        partition.marked[b] = 0
        return

    bounds = work.bounds
    n_parts = _find_cuts(_sort_marked(partition, work, b, zero), tolerance, bounds[1:]) + 1
    partition.marked[b] = 0
    bounds[0] = end
    for part in range(1, n_parts):
        bounds[part] = last + zero - bounds[part]
    bounds[n_parts] = first
    largest = 0
    for part in range(1, n_parts):
        if bounds[part] - bounds[part + 1] > bounds[largest] - bounds[largest + 1]:
            largest = part
    for part in range(n_parts):
        number = b
        if part != largest:
            number = partition.counts[BLOCKS]
            partition.counts[BLOCKS] += 1
            for i in range(bounds[part + 1], bounds[part]):
                partition.block[elements[i]] = number
            partition.queue[partition.counts[WAITING]] = number
            partition.counts[WAITING] += 1
        partition.first[number], partition.end[number] = bounds[part + 1], bounds[part]


@_ordered_kernel
def refine(transitions: Transitions, partition: Partition, work: Scratch, tolerance: float) -> int:
    """Split blocks until the queue of splitters is empty; returns the number of transitions visited."""
    indptr, indices, data = transitions.indptr, transitions.indices, transitions.data
    weight = work.weight
    visits = 0
    while partition.counts[WAITING] > 0:
        partition.counts[WAITING] -= 1
        splitter = partition.queue[partition.counts[WAITING]]
        n_states = 0
        for i in range(partition.first[splitter], partition.end[splitter]):
            y = partition.elements[i]
            for e in range(indptr[y], indptr[y + 1]):
                x = indices[e]
                if weight[x] == 0.0:
                    work.states[n_states] = x
                    n_states += 1
                weight[x] += data[e]
            visits += indptr[y + 1] - indptr[y]
        n_blocks = 0
        for i in range(n_states):
            x = work.states[i]
            b = partition.block[x]
            if partition.end[b] - partition.first[b] > 1:
                if partition.marked[b] == 0:
                    work.blocks[n_blocks] = b
                    n_blocks += 1
                _mark(partition, x)
        for i in range(n_blocks):
            _split(partition, work, work.blocks[i], tolerance)
        for i in range(n_states):
            weight[work.states[i]] = 0.0
    return visits


@_ordered_kernel
def find_spreads(
    transitions: Transitions,
    partition: Partition,
    target: Shorts,  # out: (k,) block C with the largest spread of P(x, C) over the members x of each block
    spread: Floats,  # out: (k,) that spread, max P(x, C) - min P(x, C)
) -> None:
    """Find the largest spread of the weights of each block: 0 for all blocks of a lumpable partition."""
    indptr, indices, data = transitions.out_indptr, transitions.out_indices, transitions.out_data
    k = target.size
    weight, least, most = np.zeros(k), np.zeros(k), np.zeros(k)
    count = np.zeros(k, np.int64)
    reached, seen = np.zeros(k, np.int32), np.zeros(k, np.int32)
    for b in range(k):
        n_seen = 0
        for i in range(partition.first[b], partition.end[b]):
            x = partition.elements[i]
            n_reached = 0
            for e in range(indptr[x], indptr[x + 1]):
                other = partition.block[indices[e]]
                if weight[other] == 0.0:
                    reached[n_reached] = other
                    n_reached += 1
                weight[other] += data[e]
            for j in range(n_reached):
                other = reached[j]
                if count[other] == 0:
                    seen[n_seen] = other
                    n_seen += 1
                    least[other] = most[other] = weight[other]
                least[other] = min(least[other], weight[other])
                most[other] = max(most[other], weight[other])
                count[other] += 1
                weight[other] = 0.0
        target[b] = 0
        spread[b] = 0.0
        for j in range(n_seen):
            other = seen[j]
            # The weight is 0 for members without a transition to the block.
            reached_by_all = count[other] == partition.end[b] - partition.first[b]
            width = most[other] - (least[other] if reached_by_all else 0.0)
            if width > spread[b]:
                target[b], spread[b] = other, width
            count[other] = 0


@_ordered_kernel
def separate(
    transitions: Transitions,
    partition: Partition,
    work: Scratch,
    tolerance: float,  # in: largest spread of a block that is left whole
    labels: Shorts,  # in: (n,) block of each state when the spreads were computed
    target: Shorts,  # in: (k,) see find_spreads
    spread: Floats,  # in: (k,)
) -> None:
    """Split every block whose spread exceeds the tolerance, by the weights of its members into its target."""
    indptr, indices, data = transitions.out_indptr, transitions.out_indices, transitions.out_data
    for b in range(target.size):
        if spread[b] <= tolerance:
            continue
        first, end = partition.first[b], partition.end[b]
        for i in range(first, end):
            x = partition.elements[i]
            for e in range(indptr[x], indptr[x + 1]):
                if labels[indices[e]] == target[b]:
                    work.weight[x] += data[e]
        partition.marked[b] = end - first
        _split(partition, work, b, tolerance)
        for i in range(first, end):
            work.weight[partition.elements[i]] = 0.0
