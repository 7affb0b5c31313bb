"""The group that lowers the cost most when a state joins it, by branch and bound; the price and the move."""

from __future__ import annotations

import numpy as np
from numba import njit

from klump.search.kernels.flow import join_b, leave_b, move_b
from klump.search.kernels.flow_bounds import bound_b, bound_linked, least_linked
from klump.search.kernels.layouts import (
    bound_a,
    bounds_b_exactly,
    collect_a,
    collect_links,
    enqueue_neighbours,
    move_a,
    price_a,
    try_linked,
)
from klump.search.kernels.logarithm import f
from klump.search.kernels.options import INLINED
from klump.search.kernels.tables import IN, OUT, A, DenseA, Floats, ListsA, NoA, Problem, Table, Weights, Work

# Without A, groups that a state has no links with share one bound if there are at least this many groups ...
_MANY_GROUPS = 128
# ... and this many per link. Empirical.
_GROUPS_PER_LINK = 32


@njit(**INLINED)
def collect(problem: Problem, table: Table, weights: Weights, x: int, work: Work) -> float:
    """Collect what the prices of state x are made of; returns the change of the cost when it leaves its group."""
    home = np.int64(table.labels[x])
    price = (f(table.nu[home] - problem.mu[x]) if table.size[home] > 1 else 0.0) - table.nu_f[home]
    if weights.into != 0.0:
        collect_a(table.a, problem, table.labels, x, work)
        price += weights.into * work.leave_a[0]
    if weights.flow != 0.0:
        collect_links(table.a, problem, table.labels, x, work)
        price -= weights.flow * leave_b(table.b, home, problem.loops[x], work)
    return price


@njit(**INLINED)
def join_price(problem: Problem, table: Table, weights: Weights, x: int, y: int, work: Work) -> float:
    """Change of the cost when state x, which has left its group, joins group y."""
    price = f(table.nu[y] + problem.mu[x]) - table.nu_f[y]
    if weights.into != 0.0:
        price += weights.into * price_a(table.a, problem, x, y, work)
    if weights.flow != 0.0:
        price -= weights.flow * join_b(table.b, np.int64(table.labels[x]), y, problem.loops[x], work)
    return price


@njit(**INLINED)
def _bound_prices(problem: Problem, table: Table, weights: Weights, x: int, work: Work) -> None:
    """Fill ``work.bound`` with lower bounds of ``join_price``, infinite for the group of the state."""
    k, home, bound = table.size.size, np.int64(table.labels[x]), work.bound
    for y in range(bound.size):
        bound[y] = f(table.nu[y] + problem.mu[x]) - table.nu_f[y]
    if weights.into != 0.0:
        for y in range(k):
            if y != home:
                bound[y] += weights.into * bound_a(table.a, problem, x, y, weights.into > 0.0, work)
    if weights.flow != 0.0:
        if bounds_b_exactly(table.a):
            for y in range(k):
                work.gain_b[y] = join_b(table.b, home, y, problem.loops[x], work) if y != home else 0.0
        else:
            bound_b(table.b, problem.loops[x], work)
        for y in range(bound.size):
            bound[y] -= weights.flow * work.gain_b[y]
    bound[home] = np.inf
    bound[k:] = np.inf


@njit(**INLINED)
def best_group(
    problem: Problem, table: Table, weights: Weights, x: int, tolerance: float, work: Work
) -> tuple[int, float]:
    """Cheapest group for state x and the change of the cost; its own group if none is cheaper by the tolerance.

    The group with the lowest bound is priced until the best price is below all other bounds. Among equals the lowest
    number wins.
    """
    leave = collect(problem, table, weights, x, work)
    best, least, elsewhere = try_linked(table.a, problem, table, weights, x, -tolerance - leave, work)
    if elsewhere > least:
        return best, leave + least
    _bound_prices(problem, table, weights, x, work)
    work.bound[best] = np.inf
    bound, y = _lowest(work.bound)
    while bound <= least and not (bound == least and y > best):
        price = join_price(problem, table, weights, x, y, work)
        if price < least or (price == least and y < best):
            best, least = y, price
        work.bound[y] = np.inf
        bound, y = _lowest(work.bound)
    return best, leave + least


@try_linked.register(DenseA)
@try_linked.register(ListsA)
def _try_nothing(
    a: A, problem: Problem, table: Table, weights: Weights, x: int, limit: float, work: Work
) -> tuple[int, float, float]:
    return np.int64(table.labels[x]), limit, -np.inf


@try_linked.register(NoA)
def _try_linked(
    a: A, problem: Problem, table: Table, weights: Weights, x: int, limit: float, work: Work
) -> tuple[int, float, float]:
    best, least = np.int64(table.labels[x]), limit
    if table.size.size < max(_MANY_GROUPS, _GROUPS_PER_LINK * (work.n_linked[OUT] + work.n_linked[IN])):
        return best, least, -np.inf
    elsewhere = bound_linked(table, weights, problem.mu[x], best, problem.loops[x], work)
    bound, y = least_linked(work)
    while bound <= least and not (bound == least and y > best):
        price = join_price(problem, table, weights, x, y, work)
        if price < least or (price == least and y < best):
            best, least = y, price
        work.bound[y] = np.inf
        bound, y = least_linked(work)
    return best, least, elsewhere


@njit(**INLINED)
def _lowest(bound: Floats) -> tuple[float, int]:
    """Find the lowest bound and its first group."""
    least, at = bound[0], 0
    for y in range(1, bound.size):
        if bound[y] < least:
            least, at = bound[y], y
    return least, at


@njit(**INLINED)
def move(problem: Problem, table: Table, weights: Weights, x: int, y: int, work: Work) -> None:
    """Move state x, whose links are collected, to group y in every sum."""
    home, mu = np.int64(table.labels[x]), problem.mu[x]
    if weights.flow != 0.0:
        move_b(table.b, home, y, problem.loops[x], work)
    move_a(table.a, problem, x, home, y, weights.into)
    table.size[home] -= 1
    table.size[y] += 1
    set_nu(table, home, max(table.nu[home] - mu, 0.0) if table.size[home] > 0 else 0.0)
    set_nu(table, y, table.nu[y] + mu)
    table.labels[x] = y
    enqueue_neighbours(table.a, problem, x, table.waiting)


@njit(**INLINED)
def set_nu(table: Table, y: int, mass: float) -> None:
    """Set the mass of group y."""
    table.nu[y] = mass
    table.nu_f[y] = f(mass)
    table.lightest[0] = min(table.lightest[0], mass)
