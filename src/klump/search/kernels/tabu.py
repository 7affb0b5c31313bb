"""Tabu search: the cheapest move of any state, uphill too, that does not undo one of the last moves.

Sums as in Algorithm 1 (:mod:`klump.search.kernels.descent`). A step prices all moves. Every loop over logarithms runs
over all states, so that it vectorises, and terms are kept from step to step: a move from group a to group b changes
only those with a or b in them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from klump.compilation import expanded, inlined, kernel
from klump.search.kernels.logarithm import f
from klump.search.kernels.tables import DenseProblem, Floats, Group, Ints, Labels, Weights

# Least decrease of the cost that makes a new best partition, in bits: above rounding.
_TOLERANCE = 1e-12


class TabuTable(NamedTuple):
    """State of a tabu search: the labels, all sums that depend on them, and the terms of the prices."""

    labels: Labels  # (n,)
    best: Labels  # (n,) labels of the lowest cost so far
    size: Ints  # (k,) members of each group
    nu: Floats  # (k,)
    into: Floats  # (k, n) A transposed
    back: Floats  # (k, n) mass from each group to a state
    flow: Floats  # (k, k) B
    elsewhere: Floats  # (k, n) 0 for the members of a group, else 1
    gain: Floats  # (k, n) change of sum f(A) when a state joins a group; its decrease for members
    pairs: Floats  # (k, k, n) change of f(B[y, z]) + f(B[z, y]) when a state outside z joins y; of f(B[y, y]) if z = y
    leave: Floats  # (n,) change of the cost when a state leaves its group
    price: Floats  # (k, n) change of the cost when a state, having left its group, joins a group
    tabu_until: Ints  # (k, n) step from which on a state may join a group again
    home_into: Floats  # (n,) mass from a state to its group, without its loop
    home_back: Floats  # (n,) mass from its group to a state, without its loop
    forth: Floats  # (n,) scratch space: B from the group of each state to another group
    reverse: Floats  # (n,) scratch space: B from that group to the group of each state


@kernel(allocates=False)
def tabu_search(
    problem: DenseProblem,  # in
    table: TabuTable,  # in, out
    weights: Weights,  # in
    tenures: Ints,  # in: per step, the number of steps for which the move must not be undone
) -> float:
    """Make one move per tenure; returns the change of the cost from the given labels to the best ones."""
    change, lowest, n_groups = 0.0, 0.0, table.size.size
    for group in range(n_groups):
        _renew_terms(problem, table, weights, group)
    for step in range(tenures.size):
        _price_moves(problem, table, weights)
        x, y, price = _cheapest_move(table, step, lowest - change - _TOLERANCE)
        if x < 0:
            continue
        home = np.int64(table.labels[x])
        table.tabu_until[home, x] = step + tenures[step]
        _move(problem, table, x, y)
        _renew_terms(problem, table, weights, home)
        _renew_terms(problem, table, weights, y)
        change += price
        if change < lowest - _TOLERANCE:
            lowest = change
            for i in range(table.labels.size):
                table.best[i] = table.labels[i]
    return lowest


@inlined
def _renew_terms(problem: DenseProblem, table: TabuTable, weights: Weights, a: int) -> None:
    """Recompute all terms that group a is part of."""
    if weights.into != 0.0:
        _renew_gains(problem, table, a)
    if weights.flow != 0.0:
        for z in range(table.size.size):
            _renew_pair(problem, table, a, z)
            _renew_pair(problem, table, z, a)


@expanded
def _renew_gains(problem: DenseProblem, table: TabuTable, y: int) -> None:
    """``sum_i f(A[i, y] + J[i, x]) - f(A[i, y])``; for members of y ``sum_i f(A[i, y]) - f(A[i, y] - J[i, x])``."""
    into, into_f = table.into[y], table.forth
    for i in range(into.size):
        into_f[i] = f(into[i])
    for x in range(into.size):
        column, total = problem.columns[x], 0.0
        sign = -1.0 if table.labels[x] == y else 1.0
        for i in range(column.size):
            total += f(into[i] + sign * column[i]) - into_f[i]
        table.gain[y, x] = sign * total


@inlined
def _renew_pair(problem: DenseProblem, table: TabuTable, y: int, z: int) -> None:
    """``f(B[y, z] + into[z, x]) - f(B[y, z]) + f(B[z, y] + back[z, x]) - f(B[z, y])``; with loops on the diagonal."""
    pairs, into, back, loops = table.pairs[y, z], table.into[z], table.back[z], problem.loops
    forth, reverse = table.flow[y, z], table.flow[z, y]
    if y == z:
        before = f(forth)
        for x in range(pairs.size):
            pairs[x] = f(forth + into[x] + back[x] + loops[x]) - before
    else:
        before, elsewhere = f(forth) + f(reverse), table.elsewhere[z]
        for x in range(pairs.size):
            pairs[x] = elsewhere[x] * (f(forth + into[x]) + f(reverse + back[x]) - before)


@expanded
def _price_moves(problem: DenseProblem, table: TabuTable, weights: Weights) -> None:
    """Fill ``leave`` and ``price``; for the group that a state is in, ``price`` has no meaning."""
    mu = problem.mu
    for x in range(mu.size):
        home = table.labels[x]
        table.home_into[x] = max(table.into[home, x] - problem.loops[x], 0.0)
        table.home_back[x] = max(table.back[home, x] - problem.loops[x], 0.0)
        table.leave[x] = f(table.nu[home] - mu[x]) - f(table.nu[home])
        if weights.into != 0.0:
            table.leave[x] -= weights.into * table.gain[home, x]
    for y in range(table.size.size):
        price, nu, gain = table.price[y], table.nu[y], table.gain[y]
        before = f(nu)
        for x in range(mu.size):
            price[x] = f(nu + mu[x]) - before
        if weights.into != 0.0:
            for x in range(mu.size):
                price[x] += weights.into * gain[x]
        if weights.flow != 0.0:
            for z in range(table.size.size):
                pairs = table.pairs[y, z]
                for x in range(mu.size):
                    price[x] -= weights.flow * pairs[x]
            _price_home(problem, table, weights.flow, y)


@expanded
def _price_home(problem: DenseProblem, table: TabuTable, weight: float, y: int) -> None:
    """Add the terms of B between group y and the group h that a state leaves.

    Leaving takes ``into[y, x]`` from ``B[h, y]`` and ``back[y, x]`` from ``B[y, h]``; joining y then adds
    ``into[h, x]``, without the loop, to ``B[y, h]`` and ``back[h, x]`` to ``B[h, y]``.
    """
    into, back, loops, elsewhere = table.into[y], table.back[y], problem.loops, table.elsewhere[y]
    forth, reverse, price, within = table.forth, table.reverse, table.price[y], table.flow[y, y]
    for x in range(into.size):
        forth[x], reverse[x] = table.flow[table.labels[x], y], table.flow[y, table.labels[x]]
    for x in range(into.size):
        rest, reverse_rest = max(forth[x] - into[x], 0.0), max(reverse[x] - back[x], 0.0)
        f_rest = f(rest) + f(reverse_rest)
        inside = f(within - into[x] - back[x] + loops[x]) - f(within)
        joined = f(rest + table.home_back[x]) + f(reverse_rest + table.home_into[x])
        away = elsewhere[x]
        table.leave[x] -= weight * (away * (f_rest - f(forth[x]) - f(reverse[x])) + (1.0 - away) * inside)
        price[x] -= weight * away * (joined - f_rest)


@expanded
def _cheapest_move(table: TabuTable, step: int, aspiration: float) -> tuple[Group, Group, float]:
    """Find the cheapest move that is not tabu, or that costs less than ``aspiration``; state -1 if there is none."""
    chosen, group, least = np.int64(-1), np.int64(-1), np.inf
    for y in range(table.size.size):
        price, tabu_until = table.price[y], table.tabu_until[y]
        for x in range(price.size):
            total = table.leave[x] + price[x]
            allowed = tabu_until[x] <= step or total < aspiration
            if total < least and allowed and table.labels[x] != y and table.size[table.labels[x]] > 1:
                chosen, group, least = np.int64(x), np.int64(y), total
    return chosen, group, least


@expanded
def _move(problem: DenseProblem, table: TabuTable, x: int, y: int) -> None:
    """Move state x to group y in every sum."""
    home, loop, flow = np.int64(table.labels[x]), problem.loops[x], table.flow
    for z in range(table.size.size):
        outward, inward = table.into[z, x], table.back[z, x]
        if z == home:
            outward, inward = table.home_into[x], table.home_back[x]
        flow[home, z] = max(flow[home, z] - outward, 0.0)
        flow[y, z] += outward
        flow[z, home] = max(flow[z, home] - inward, 0.0)
        flow[z, y] += inward
    flow[home, home] = max(flow[home, home] - loop, 0.0)
    flow[y, y] += loop
    for i in range(table.labels.size):
        table.into[home, i] = max(table.into[home, i] - problem.columns[x, i], 0.0)
        table.into[y, i] += problem.columns[x, i]
        table.back[home, i] = max(table.back[home, i] - problem.rows[x, i], 0.0)
        table.back[y, i] += problem.rows[x, i]
    table.nu[home] = max(table.nu[home] - problem.mu[x], 0.0)
    table.nu[y] += problem.mu[x]
    table.size[home] -= 1
    table.size[y] += 1
    table.elsewhere[home, x], table.elsewhere[y, x] = 1.0, 0.0
    table.labels[x] = y
