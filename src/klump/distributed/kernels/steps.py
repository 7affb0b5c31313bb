"""Kernels of a step at beta = 1/2: best single moves, and changes of the masses by sets of moves.

Notation as in the paper: ``B[y, z]`` is the mass between groups, ``nu`` the mass of the groups, ``f(t) = t log2 t``. Up
to a constant the cost is ``-1/2 sum f(B) + sum f(nu)``.
"""

from __future__ import annotations

import numpy as np

from klump.compilation import inlined, kernel
from klump.distributed.kernels.tables import (
    IN,
    OUT,
    QUANTUM,
    Block,
    Floats,
    Groups,
    Ints,
    Shorts,
    Terms,
    Work,
)
from klump.search.kernels.logarithm import f


@kernel
def fill_terms(groups: Groups, terms: Terms) -> None:
    """Convert the masses from quanta to float64, and evaluate f of each."""
    k = groups.nu.size
    for y in range(k):
        terms.nu[0, y] = groups.nu[y] * QUANTUM
        terms.nu[1, y] = f(terms.nu[0, y])
        for z in range(k):
            mass = groups.flow[y, z] * QUANTUM
            terms.mass[0, z, y] = mass
            terms.mass[1, y, z] = mass
            terms.f[0, z, y] = f(mass)
            terms.f[1, y, z] = f(mass)
        terms.within[0, y] = terms.mass[1, y, y]
        terms.within[1, y] = terms.f[1, y, y]


@kernel
def cost(groups: Groups) -> float:
    """Cost up to a constant."""
    total = 0.0
    for y in range(groups.nu.size):
        total += f(groups.nu[y] * QUANTUM)
        for z in range(groups.nu.size):
            total -= 0.5 * f(groups.flow[y, z] * QUANTUM)
    return total


@inlined
def _sum_by_group(
    indptr: Ints, indices: Shorts, mass: Ints, labels: Shorts, x: int, own: int, way: int, work: Work
) -> tuple[int, np.int64]:
    """Sum the masses between state x and each group in one direction; returns the number of groups, and J[x, x]."""
    count, loop = 0, np.int64(0)
    for p in range(indptr[x], indptr[x + 1]):
        if indices[p] == own:
            loop += mass[p]
            continue
        z = labels[indices[p]]
        if not work.listed[way, z]:
            work.listed[way, z] = True
            work.groups[way, count] = z
            count += 1
        work.mass[way, z] += mass[p]
    return count, loop


@inlined
def _clear(way: int, count: int, work: Work) -> None:
    """Set the sums of one direction to 0 for the next state."""
    for q in range(count):
        z = work.groups[way, q]
        work.mass[way, z] = 0
        work.listed[way, z] = False
        work.both[z] = 0.0


@inlined
def _leave(
    groups: Groups, terms: Terms, home: int, loop: np.int64, n_out: int, n_in: int, work: Work
) -> float:
    """Change of sum f(B) when the state leaves its group and joins none."""
    total = 0.0
    for way in range(2):
        for q in range(n_in if way else n_out):
            z = work.groups[way, q]
            if z != home:
                flow = groups.flow[z, home] if way else groups.flow[home, z]
                total += f((flow - work.mass[way, z]) * QUANTUM) - terms.f[1 - way, home, z]
    rest = groups.flow[home, home] - work.mass[OUT, home] - work.mass[IN, home] - loop
    return total + f(rest * QUANTUM) - terms.within[1, home]


@inlined
def _fill_home(groups: Groups, terms: Terms, home: int, way: int, count: int, work: Work) -> None:
    """Fill ``work.home``: column (way = OUT) or row (way = IN) of B of group ``home`` after the state has left."""
    for y in range(groups.nu.size):
        work.home[0, y] = terms.mass[way, home, y]
        work.home[1, y] = terms.f[way, home, y]
    # The column loses the state's incoming masses, the row its outgoing ones.
    for q in range(count):
        z = work.groups[1 - way, q]
        flow = groups.flow[home, z] if way else groups.flow[z, home]
        work.home[0, z] = (flow - work.mass[1 - way, z]) * QUANTUM
        work.home[1, z] = f(work.home[0, z])


@inlined
def _join(groups: Groups, terms: Terms, home: int, loop: np.int64, n_out: int, n_in: int, work: Work) -> None:
    """Fill ``work.change``: the change of sum f(B) when the state, which has left its group, joins each group."""
    change, k = work.change, groups.nu.size
    change[:] = 0.0
    for way in range(2):
        for q in range(n_in if way else n_out):
            z = work.groups[way, q]
            added = work.mass[way, z] * QUANTUM
            work.both[z] += added
            if z == home:
                _fill_home(groups, terms, home, way, n_out if way else n_in, work)
                mass, mass_f = work.home[0], work.home[1]
            else:
                mass, mass_f = terms.mass[way, z], terms.f[way, z]
            # B[z, z] gains the masses of both directions and J[x, x]: added after the loop.
            kept = change[z]
            for y in range(k):
                change[y] += f(mass[y] + added) - mass_f[y]
            change[z] = kept
    for y in range(k):
        change[y] += f(terms.within[0, y] + work.both[y] + loop * QUANTUM) - terms.within[1, y]


@kernel
def find_best_moves(
    block: Block,  # in
    labels: Shorts,  # in: (m,) of the neighbours
    groups: Groups,  # in
    terms: Terms,  # in
    work: Work,
    tolerance: float,  # in: least decrease of the cost, in bits
    target: Shorts,  # out: (size,) best group of each state, -1 if no move lowers the cost
    gain: Floats,  # out: (size,) decrease of the cost by the move
) -> int:
    """Find, per state of a block, the move that lowers the cost most if all others stay; returns the number found."""
    found = 0
    for x in range(target.size):
        target[x], gain[x] = -1, 0.0
        own = block.own[0] + x
        home = np.int64(labels[own])
        if groups.size[home] == 1:
            continue
        n_out, loop = _sum_by_group(
            block.out_indptr, block.out_indices, block.out_mass, labels, x, own, OUT, work
        )
        n_in, _ = _sum_by_group(block.in_indptr, block.in_indices, block.in_mass, labels, x, own, IN, work)
        mu, rest = block.mu[x] * QUANTUM, (groups.nu[home] - block.mu[x]) * QUANTUM
        leave = f(rest) - terms.nu[1, home]
        leave -= 0.5 * _leave(groups, terms, home, loop, n_out, n_in, work)
        _join(groups, terms, home, loop, n_out, n_in, work)
        change = work.change
        for y in range(change.size):
            change[y] = f(terms.nu[0, y] + mu) - terms.nu[1, y] - 0.5 * change[y]
        change[home] = np.inf
        best = 0
        for y in range(change.size):
            if change[y] < change[best]:
                best = y
        if leave + change[best] < -tolerance:
            target[x], gain[x] = best, -leave - change[best]
            found += 1
        _clear(OUT, n_out, work)
        _clear(IN, n_in, work)
    return found


@kernel
def sum_changes(
    block: Block,  # in
    labels: Shorts,  # in: (m,) of the neighbours
    target: Shorts,  # in: (m,) their groups after the moves
    level: Shorts,  # in: (m,) last set of moves that contains the state, -1 if none
    flow: Ints,  # out: (levels, k, k) change of B by set l minus that by set l + 1
    nu: Ints,  # out: (levels, k) change of nu by set l minus that by set l + 1
) -> None:
    """Add the changes of B and nu by nested sets of moves, over the transitions from the block's states."""
    for x in range(block.mu.size):
        own = block.own[0] + x
        if level[own] >= 0:
            nu[level[own], labels[own]] -= block.mu[x]
            nu[level[own], target[own]] += block.mu[x]
        for p in range(block.out_indptr[x], block.out_indptr[x + 1]):
            other, mass = block.out_indices[p], block.out_mass[p]
            a, b = level[own], level[other]
            if max(a, b) < 0:
                continue
            # Sets l <= low move both states, sets low < l <= high the one of higher level, sets l > high neither.
            low, high = min(a, b), max(a, b)
            from_between = target[own] if a > b else labels[own]
            to_between = target[other] if b > a else labels[other]
            if a == b:
                from_between, to_between = target[own], target[other]
            flow[high, labels[own], labels[other]] -= mass
            flow[high, from_between, to_between] += mass
            if 0 <= low < high:
                flow[low, from_between, to_between] -= mass
                flow[low, target[own], target[other]] += mass


@kernel
def sum_masses(
    block: Block,  # in
    labels: Shorts,  # in: (m,) of the neighbours
    flow: Ints,  # out: (k, k) B, summed over the transitions from the block's states
    nu: Ints,  # out: (k,) summed over the block's states
) -> tuple[float, float]:
    """Add the block's masses to B and nu; returns its parts of sum f(J) and sum f(mu)."""
    joint, mu = 0.0, 0.0
    for x in range(block.mu.size):
        own = block.own[0] + x
        nu[labels[own]] += block.mu[x]
        mu += f(block.mu[x] * QUANTUM)
        for p in range(block.out_indptr[x], block.out_indptr[x + 1]):
            flow[labels[own], labels[block.out_indices[p]]] += block.out_mass[p]
            joint += f(block.out_mass[p] * QUANTUM)
    return joint, mu
