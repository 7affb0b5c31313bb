"""Tasks per block in a step: functions of plain values, which may run on any machine."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from klump.distributed.kernels.tables import Block, Groups, Ints, Shorts, Terms, Work


class Proposals(NamedTuple):
    """Per state that lowers the cost by moving alone, the best move."""

    states: Ints
    targets: Shorts


class Moves(NamedTuple):
    """Nested candidate sets of simultaneous moves: set ``level`` has the moves with ``levels >= level``."""

    states: Ints
    targets: Shorts
    levels: NDArray[np.int8]
    n_levels: int


class Sums(NamedTuple):
    """Partial sums over the states of one block, in quanta and in bits."""

    flow: Ints  # (k, k) B
    nu: Ints  # (k,)
    joint: float  # sum f(J)
    mu: float  # sum f(mu)


def local_labels(block: Block, labels: Shorts) -> Shorts:
    """Labels of the block's states and their neighbours."""
    return labels[block.neighbours]


def sum_masses(block: Block, labels: Shorts, n_groups: int) -> Sums:
    """Partial sums over the transitions from the block's states."""
    from klump.distributed.kernels import steps as kernels

    flow, nu = np.zeros((n_groups, n_groups), dtype=np.int64), np.zeros(n_groups, dtype=np.int64)
    joint, mu = kernels.sum_masses(block, labels, flow, nu)
    return Sums(flow, nu, joint, mu)


def propose_moves(block: Block, labels: Shorts, groups: Groups, tolerance: float) -> Proposals:
    """The best move of each state of the block whose best move lowers the cost."""
    from klump.distributed.kernels import steps as kernels

    k, size = groups.nu.size, block.mu.size
    terms = Terms(
        mass=np.empty((2, k, k)),
        f=np.empty((2, k, k)),
        within=np.empty((2, k)),
        nu=np.empty((2, k)),
    )
    work = Work(
        mass=np.zeros((2, k), dtype=np.int64),
        groups=np.zeros((2, k), dtype=np.int32),
        listed=np.zeros((2, k), dtype=np.bool_),
        both=np.zeros(k),
        home=np.zeros((2, k)),
        change=np.zeros(k),
    )
    target, gain = np.empty(size, dtype=np.int32), np.empty(size)
    kernels.fill_terms(groups, terms)
    kernels.find_best_moves(block, labels, groups, terms, work, tolerance, target, gain)
    movers = np.flatnonzero(target >= 0)
    return Proposals(block.neighbours[block.own[0] + movers], target[movers])


def sum_changes(block: Block, labels: Shorts, moves: Moves, n_groups: int) -> tuple[Ints, Ints]:
    """Changes of B and nu by each set of moves, summed over the transitions from the block's states."""
    from klump.distributed.kernels import steps as kernels

    positions, known = _locate(block, moves.states)
    target, level = labels.copy(), np.full(labels.size, -1, dtype=np.int32)
    target[positions], level[positions] = moves.targets[known], moves.levels[known]
    flow = np.zeros((moves.n_levels, n_groups, n_groups), dtype=np.int64)
    nu = np.zeros((moves.n_levels, n_groups), dtype=np.int64)
    kernels.sum_changes(block, labels, target, level, flow, nu)
    # The kernel returns differences between successive sets.
    return flow[::-1].cumsum(axis=0)[::-1], nu[::-1].cumsum(axis=0)[::-1]


def apply_moves(block: Block, labels: Shorts, moves: Moves, level: int) -> Shorts:
    """Local labels after the moves of set ``level``."""
    chosen = moves.levels >= level
    positions, known = _locate(block, moves.states[chosen])
    labels = labels.copy()
    labels[positions] = moves.targets[chosen][known]
    return labels


def _locate(block: Block, states: Ints) -> tuple[Ints, Ints]:
    """Positions in ``block.neighbours`` of the states found there, and their indices in ``states``."""
    positions = np.searchsorted(block.neighbours, states)
    positions[positions == block.neighbours.size] = 0
    known = np.flatnonzero(block.neighbours[positions] == states)
    return positions[known], known
