"""The group that lowers the cost most when a state joins it, by branch and bound; the price and the move."""

from __future__ import annotations

import numpy as np

from klump.compilation import FASTMATH, expanded, inlined
from klump.search.kernels.flow import join_b, leave_b, move_b
from klump.search.kernels.flow_bounds import bound_b, bound_join_nu, bound_leaving, bound_linked, least_linked
from klump.search.kernels.layouts import (
    bound_a,
    bounds_b_exactly,
    collect_links,
    enqueue_neighbours,
    join_a,
    leave_a,
    move_a,
    try_linked,
)
from klump.search.kernels.logarithm import LOG2_E, SMALLEST, f, fast_log2, least_log2
from klump.search.kernels.tables import (
    IN,
    OUT,
    A,
    DenseA,
    Floats,
    Group,
    ListsA,
    NoA,
    Problem,
    Table,
    Weights,
    Work,
)

# Least number of groups from which on groups without links share one bound, for NoA. Empirical.
_MANY_GROUPS = 128
# Least number of groups per link, for the same. Empirical.
_GROUPS_PER_LINK = 32


@expanded
def collect(problem: Problem, table: Table, weights: Weights, x: int, work: Work) -> None:
    """Collect the links of state x with the groups, if B has a weight."""
    work.leave[0] = np.nan
    if weights.flow != 0.0:
        collect_links(table.a, problem, table.labels, x, work)


@expanded
def price_move(problem: Problem, table: Table, weights: Weights, x: int, y: int, work: Work) -> float:
    """Change of the cost when state x moves to group y; the part of leaving its group is kept in ``work.leave``."""
    if np.isnan(work.leave[0]):
        work.leave[0] = _leave_price(problem, table, weights, x, work)
    price = work.leave[0] + f(table.nu[y] + problem.mu[x]) - table.nu_f[y]
    if weights.into != 0.0:
        price += weights.into * join_a(table.a, problem, x, y)
    if weights.flow != 0.0:
        price -= weights.flow * join_b(table.b, np.int64(table.labels[x]), y, problem.loops[x], work)
    return price


@expanded
def _leave_price(problem: Problem, table: Table, weights: Weights, x: int, work: Work) -> float:
    """Change of the cost when state x leaves its group and joins none."""
    home = np.int64(table.labels[x])
    price = (f(table.nu[home] - problem.mu[x]) if table.size[home] > 1 else 0.0) - table.nu_f[home]
    if weights.into != 0.0:
        price += weights.into * leave_a(table.a, problem, x, home)
    if weights.flow != 0.0:
        price -= weights.flow * leave_b(table.b, home, problem.loops[x], work)
    return price


@inlined
def bound_leave_nu(table: Table, home: int, mu: float) -> float:
    """Lower bound of the change of sum f(nu) when a state leaves ``home``.

    With ``u = mu / nu``: ``f(nu - mu) - f(nu) >= -mu (log2 nu + log2(e) (1 - u / 2))``.
    """
    u = min(mu * table.inverse_nu[home], 1.0)
    return -mu * (table.nu_log[home] + LOG2_E * (1.0 - 0.5 * u))


@expanded
def _bound_moves(problem: Problem, table: Table, weights: Weights, x: int, work: Work) -> None:
    """Fill ``work.bound`` with lower bounds of ``price_move``, infinite for the group of the state."""
    k, home, bound, mu = table.size.size, np.int64(table.labels[x]), work.bound, problem.mu[x]
    loop, leave = problem.loops[x], bound_leave_nu(table, home, mu)
    if weights.into != 0.0:
        leave += weights.into * bound_a(table.a, problem, x, home, weights.into > 0.0, work)
    if weights.flow != 0.0:
        leave -= weights.flow * bound_leaving(table.b, home, loop, work)
        if bounds_b_exactly(table.a) and weights.into != 0.0:
            for y in range(k):
                work.gain_b[y] = join_b(table.b, home, y, loop, work) if y != home else 0.0
        else:
            bound_b(table.b, loop, work)
    least_rise = mu * least_log2(mu)
    for y in range(bound.size):
        bound[y] = leave + bound_join_nu(table, y, mu, least_rise)
    # A term of weight zero is skipped, not multiplied: its array may hold infinities.
    if weights.into != 0.0:
        for y in range(bound.size):
            bound[y] += weights.into * work.gain_a[y]
    if weights.flow != 0.0:
        for y in range(bound.size):
            bound[y] -= weights.flow * work.gain_b[y]
    bound[home] = np.inf
    bound[k:] = np.inf


@expanded
def best_group(
    problem: Problem, table: Table, weights: Weights, x: int, tolerance: float, work: Work
) -> tuple[Group, float]:
    """Cheapest group for state x and the change of the cost; its own group if none lowers it by the tolerance.

    Branch and bound: the group with the lowest bound is priced exactly, until the best price is below all other bounds.
    The lowest number wins a tie.
    """
    collect(problem, table, weights, x, work)
    best, least, elsewhere = try_linked(table.a, problem, table, weights, x, -tolerance, work)
    # No group without links can be cheaper.
    if elsewhere > least:
        return best, least
    _bound_moves(problem, table, weights, x, work)
    work.bound[best] = np.inf
    bound, y = _lowest(work.bound)
    while bound <= least and not (bound == least and y > best):
        price = price_move(problem, table, weights, x, y, work)
        if price < least or (price == least and y < best):
            best, least = y, price
        work.bound[y] = np.inf
        bound, y = _lowest(work.bound)
    return best, least


@try_linked.register(DenseA)
@try_linked.register(ListsA)
def _try_nothing(
    a: A, problem: Problem, table: Table, weights: Weights, x: int, limit: float, work: Work
) -> tuple[Group, float, float]:
    return np.int64(table.labels[x]), limit, -np.inf


@try_linked.register(NoA)
def _try_linked(
    a: A, problem: Problem, table: Table, weights: Weights, x: int, limit: float, work: Work
) -> tuple[Group, float, float]:
    home, mu, loop = np.int64(table.labels[x]), problem.mu[x], problem.loops[x]
    best: Group = home
    least = limit
    if table.size.size < max(_MANY_GROUPS, _GROUPS_PER_LINK * (work.n_linked[OUT] + work.n_linked[IN])):
        return best, least, -np.inf
    leave = bound_leave_nu(table, home, mu) - weights.flow * bound_leaving(table.b, home, loop, work)
    elsewhere = leave + bound_linked(table, weights, leave, mu, home, loop, work)
    bound, y = least_linked(work)
    while bound <= least and not (bound == least and y > best):
        price = price_move(problem, table, weights, x, y, work)
        if price < least or (price == least and y < best):
            best, least = y, price
        work.bound[y] = np.inf
        bound, y = least_linked(work)
    return best, least, elsewhere


@inlined(fastmath=FASTMATH | {"nnan"})
def _lowest(bound: Floats) -> tuple[float, int]:
    """Find the lowest bound and its first group, in two loops: one that keeps the index does not vectorise."""
    least = bound[0]
    for y in range(bound.size):
        least = min(least, bound[y])
    at = 0
    while at < bound.size - 1 and bound[at] != least:
        at += 1
    return least, at


@expanded
def move(problem: Problem, table: Table, weights: Weights, x: int, y: int, work: Work) -> None:
    """Move state x, whose links are collected, to group y in every sum."""
    home, mu = np.int64(table.labels[x]), problem.mu[x]
    if weights.flow != 0.0:
        move_b(table.b, home, y, problem.loops[x], work)
    move_a(table.a, problem, x, home, y, weights.into, table.size.size)
    table.size[home] -= 1
    table.size[y] += 1
    set_nu(table, home, max(table.nu[home] - mu, 0.0) if table.size[home] > 0 else 0.0)
    set_nu(table, y, table.nu[y] + mu)
    table.labels[x] = y
    enqueue_neighbours(table.a, problem, x, table.waiting)


@inlined
def set_nu(table: Table, y: int, mass: float) -> None:
    """Set the mass of group y, and all that is derived from it."""
    table.nu[y] = mass
    table.nu_f[y] = f(mass)
    table.nu_log[y] = fast_log2(max(mass, SMALLEST))
    table.inverse_nu[y] = 1.0 / max(mass, SMALLEST)
    table.lightest[0] = min(table.lightest[0], mass)
