"""What a block does in a step, at beta = 1/2: find the best move of each state, and add up what moves change.

Notation as in the paper: ``B[y, z]`` is the mass between groups, ``nu`` the mass of the groups, ``f(t) = t log2 t``. Up
to a constant the cost is ``-1/2 sum f(B) + sum f(nu)``.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from klump.distributed.kernels.tables import QUANTUM, Block, Floats, Groups, Ints, Prices, Shorts, Work
from klump.search.kernels.descent import KERNEL, PART, f


@njit(**KERNEL)
def price(groups: Groups, prices: Prices) -> None:
    """Turn whole masses into bits."""
    k = groups.nu.size
    for y in range(k):
        prices.nu[0, y] = groups.nu[y] * QUANTUM
        prices.nu[1, y] = f(prices.nu[0, y])
        for z in range(k):
            mass = groups.flow[y, z] * QUANTUM
            prices.mass[0, z, y] = mass
            prices.mass[1, y, z] = mass
            prices.f[0, z, y] = f(mass)
            prices.f[1, y, z] = f(mass)
        prices.within[0, y] = prices.mass[1, y, y]
        prices.within[1, y] = prices.f[1, y, y]


@njit(**KERNEL)
def cost(groups: Groups) -> float:
    """Cost up to a constant."""
    total = 0.0
    for y in range(groups.nu.size):
        total += f(groups.nu[y] * QUANTUM)
        for z in range(groups.nu.size):
            total -= 0.5 * f(groups.flow[y, z] * QUANTUM)
    return total


@njit(**PART)
def _collect(
    indptr: Ints, indices: Shorts, mass: Ints, labels: Shorts, x: int, me: int, way: int, work: Work
) -> tuple[int, np.int64]:
    """Add up what leads from a state to the groups, or back; the number of groups, and the loop."""
    count, loop = 0, np.int64(0)
    for p in range(indptr[x], indptr[x + 1]):
        if indices[p] == me:
            loop += mass[p]
            continue
        z = labels[indices[p]]
        if not work.met[way, z]:
            work.met[way, z] = True
            work.groups[way, count] = z
            count += 1
        work.mass[way, z] += mass[p]
    return count, loop


@njit(**PART)
def _forget(way: int, count: int, work: Work) -> None:
    for q in range(count):
        z = work.groups[way, q]
        work.mass[way, z] = 0
        work.met[way, z] = False
        work.extra[z] = 0.0


@njit(**PART)
def _leave(
    groups: Groups, prices: Prices, home: int, loop: np.int64, n_out: int, n_in: int, work: Work
) -> float:
    """Change of sum f(B) when the state leaves its group and goes nowhere."""
    total = 0.0
    for way in range(2):
        for q in range(n_in if way else n_out):
            z = work.groups[way, q]
            if z != home:
                flow = groups.flow[z, home] if way else groups.flow[home, z]
                total += f((flow - work.mass[way, z]) * QUANTUM) - prices.f[1 - way, home, z]
    rest = groups.flow[home, home] - work.mass[0, home] - work.mass[1, home] - loop
    return total + f(rest * QUANTUM) - prices.within[1, home]


@njit(**PART)
def _without(groups: Groups, prices: Prices, home: int, way: int, count: int, work: Work) -> None:
    """What leads from each group to the own one, or back, when the state is gone."""
    for y in range(groups.nu.size):
        work.line[0, y] = prices.mass[way, home, y]
        work.line[1, y] = prices.f[way, home, y]
    # To the own group leads less from the groups that lead to the state: those of the other way.
    for q in range(count):
        z = work.groups[1 - way, q]
        flow = groups.flow[home, z] if way else groups.flow[z, home]
        work.line[0, z] = (flow - work.mass[1 - way, z]) * QUANTUM
        work.line[1, z] = f(work.line[0, z])


@njit(**PART)
def _join(
    groups: Groups, prices: Prices, home: int, loop: np.int64, n_out: int, n_in: int, work: Work
) -> None:
    """Change of sum f(B) when the state, which has left its group, joins each other one."""
    change, k = work.change, groups.nu.size
    change[:] = 0.0
    for way in range(2):
        for q in range(n_in if way else n_out):
            z = work.groups[way, q]
            added = work.mass[way, z] * QUANTUM
            work.extra[z] += added
            if z == home:
                _without(groups, prices, home, way, n_out if way else n_in, work)
                mass, mass_f = work.line[0], work.line[1]
            else:
                mass, mass_f = prices.mass[way, z], prices.f[way, z]
            # Within a group both ways come together: below.
            kept = change[z]
            for y in range(k):
                change[y] += f(mass[y] + added) - mass_f[y]
            change[z] = kept
    for y in range(k):
        change[y] += f(prices.within[0, y] + work.extra[y] + loop * QUANTUM) - prices.within[1, y]


@njit(**KERNEL)
def best_moves(
    block: Block,  # in
    labels: Shorts,  # in: (m,) of the neighbours
    groups: Groups,  # in
    prices: Prices,  # in
    work: Work,
    tolerance: float,  # a move must lower the cost by more than this
    target: Shorts,  # out: (size,) the best group of each state, -1 if that is its own
    gain: Floats,  # out: (size,) by how much the move lowers the cost
) -> int:
    """For each state of a block, the move that lowers the cost most if all others stay; the number of them."""
    found = 0
    for x in range(target.size):
        target[x], gain[x] = -1, 0.0
        me = block.own[0] + x
        home = np.int64(labels[me])
        if groups.size[home] == 1:
            continue
        n_out, loop = _collect(block.out_indptr, block.out_indices, block.out_mass, labels, x, me, 0, work)
        n_in, _ = _collect(block.in_indptr, block.in_indices, block.in_mass, labels, x, me, 1, work)
        mu, rest = block.mu[x] * QUANTUM, (groups.nu[home] - block.mu[x]) * QUANTUM
        leave = f(rest) - prices.nu[1, home]
        leave -= 0.5 * _leave(groups, prices, home, loop, n_out, n_in, work)
        _join(groups, prices, home, loop, n_out, n_in, work)
        change = work.change
        for y in range(change.size):
            change[y] = f(prices.nu[0, y] + mu) - prices.nu[1, y] - 0.5 * change[y]
        change[home] = np.inf
        best = 0
        for y in range(change.size):
            if change[y] < change[best]:
                best = y
        if leave + change[best] < -tolerance:
            target[x], gain[x] = best, -leave - change[best]
            found += 1
        _forget(0, n_out, work)
        _forget(1, n_in, work)
    return found


@njit(**KERNEL)
def changes(
    block: Block,  # in
    labels: Shorts,  # in: (m,) of the neighbours
    target: Shorts,  # in: (m,) where they go
    level: Shorts,  # in: (m,) they move in the sets of moves with this number or less; -1 if in none
    flow: Ints,  # out: (levels, k, k) what each set of moves changes of B, as far as it begins in the block,
    nu: Ints,  # out: (levels, k) and of nu, that the next set, which is a part of it, does not
) -> None:
    """Add up what the moves of some sets change."""
    for x in range(block.mu.size):
        me = block.own[0] + x
        if level[me] >= 0:
            nu[level[me], labels[me]] -= block.mu[x]
            nu[level[me], target[me]] += block.mu[x]
        for p in range(block.out_indptr[x], block.out_indptr[x + 1]):
            other, mass = block.out_indices[p], block.out_mass[p]
            a, b = level[me], level[other]
            if max(a, b) < 0:
                continue
            # In smaller sets neither moves, in larger ones both, and between them the one that gains more.
            low, high = min(a, b), max(a, b)
            from_between = target[me] if a > b else labels[me]
            to_between = target[other] if b > a else labels[other]
            if a == b:
                from_between, to_between = target[me], target[other]
            flow[high, labels[me], labels[other]] -= mass
            flow[high, from_between, to_between] += mass
            if 0 <= low < high:
                flow[low, from_between, to_between] -= mass
                flow[low, target[me], target[other]] += mass


@njit(**KERNEL)
def total(
    block: Block,  # in
    labels: Shorts,  # in: (m,) of the neighbours
    flow: Ints,  # out: (k, k) B, as far as it begins in the block
    nu: Ints,  # out: (k,)
) -> tuple[float, float]:
    """Masses of the groups; and the block's part of sum f(J) and of sum f(mu)."""
    joint, mu = 0.0, 0.0
    for x in range(block.mu.size):
        me = block.own[0] + x
        nu[labels[me]] += block.mu[x]
        mu += f(block.mu[x] * QUANTUM)
        for p in range(block.out_indptr[x], block.out_indptr[x + 1]):
            flow[labels[me], labels[block.out_indices[p]]] += block.out_mass[p]
            joint += f(block.out_mass[p] * QUANTUM)
    return joint, mu
