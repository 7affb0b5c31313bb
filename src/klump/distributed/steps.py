"""What one block does in a step: plain functions of plain values, which may run on any machine."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from klump.distributed.kernels.tables import Block, Groups, Ints, Prices, Shorts, Work


class Proposals(NamedTuple):
    """States that would gain by a move if all others stayed."""

    states: Ints
    targets: Shorts


class Moves(NamedTuple):
    """Moves that are tried together, in sets each of which is part of the one before."""

    states: Ints
    targets: Shorts
    levels: NDArray[np.int8]  # a state moves in the sets with this number or less
    n_levels: int


class Sums(NamedTuple):
    """What one block contributes to the masses of groups, and to the parts of the cost that never change."""

    flow: Ints
    nu: Ints
    joint: float
    mu: float


def labels_in(block: Block, labels: Shorts) -> Shorts:
    """Labels of the states that the block has to do with."""
    return labels[block.neighbours]


def summed(block: Block, labels: Shorts, n_groups: int) -> Sums:
    """Add up the masses that begin in the block."""
    from klump.distributed.kernels import steps as kernels

    flow, nu = np.zeros((n_groups, n_groups), dtype=np.int64), np.zeros(n_groups, dtype=np.int64)
    joint, mu = kernels.total(block, labels, flow, nu)
    return Sums(flow, nu, joint, mu)


def proposed(block: Block, labels: Shorts, groups: Groups, tolerance: float) -> Proposals:
    """The best move of each state of the block that has one."""
    from klump.distributed.kernels import steps as kernels

    k, size = groups.nu.size, block.mu.size
    prices = Prices(np.empty((2, k, k)), np.empty((2, k, k)), np.empty((2, k)), np.empty((2, k)))
    work = Work(
        np.zeros((2, k), dtype=np.int64),
        np.zeros((2, k), dtype=np.int32),
        np.zeros((2, k), dtype=np.bool_),
        np.zeros(k),
        np.zeros((2, k)),
        np.zeros(k),
    )
    target, gain = np.empty(size, dtype=np.int32), np.empty(size)
    kernels.price(groups, prices)
    kernels.best_moves(block, labels, groups, prices, work, tolerance, target, gain)
    movers = np.flatnonzero(target >= 0)
    return Proposals(block.neighbours[block.own[0] + movers], target[movers])


def changed(block: Block, labels: Shorts, moves: Moves, n_groups: int) -> tuple[Ints, Ints]:
    """What each set of moves changes of B and nu, as far as it begins in the block."""
    from klump.distributed.kernels import steps as kernels

    places, known = _places(block, moves.states)
    target, level = labels.copy(), np.full(labels.size, -1, dtype=np.int32)
    target[places], level[places] = moves.targets[known], moves.levels[known]
    flow = np.zeros((moves.n_levels, n_groups, n_groups), dtype=np.int64)
    nu = np.zeros((moves.n_levels, n_groups), dtype=np.int64)
    kernels.changes(block, labels, target, level, flow, nu)
    return flow[::-1].cumsum(axis=0)[::-1], nu[::-1].cumsum(axis=0)[::-1]


def moved(block: Block, labels: Shorts, moves: Moves, level: int) -> Shorts:
    """Labels after the moves of one set."""
    chosen = moves.levels >= level
    places, known = _places(block, moves.states[chosen])
    labels = labels.copy()
    labels[places] = moves.targets[chosen][known]
    return labels


def _places(block: Block, states: Ints) -> tuple[Ints, Ints]:
    """Positions, among the states that the block has to do with, of those that are there; and which ones these are."""
    places = np.searchsorted(block.neighbours, states)
    places[places == block.neighbours.size] = 0
    known = np.flatnonzero(block.neighbours[places] == states)
    return places[known], known
