"""The group that lowers the cost most when a state joins it, by branch and bound; the price and the move."""

from __future__ import annotations

import numpy as np

from klump.compilation import expanded, inlined
from klump.search.kernels.flow import join_b, leave_b, move_b
from klump.search.kernels.flow_bounds import (
    bound_b,
    bound_join_nu,
    bound_joining_linked,
    bound_leaving,
    least_linked,
)
from klump.search.kernels.layouts import (
    bound_a,
    bound_linked,
    bounds_b_exactly,
    collect_links,
    enqueue_neighbours,
    join_a,
    leave_a,
    move_a,
)
from klump.search.kernels.logarithm import LOG2_E, SMALLEST, f, fast_log2, least_log2
from klump.search.kernels.tables import (
    IN,
    OUT,
    A,
    DenseA,
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
# Position of the sign bit of a float64.
_SIGN = 63
# Largest int64: all bits but the sign.
_MAX_KEY = 0x7FFFFFFFFFFFFFFF


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
    The lowest number wins a tie. If ``bound_linked`` bounds the groups with links, all others are bounded only if their
    common bound is not above the best price.
    """
    best: Group = np.int64(table.labels[x])
    least = -tolerance
    collect(problem, table, weights, x, work)
    elsewhere = bound_linked(table.a, problem, table, weights, x, work)
    linked = elsewhere > -np.inf
    while True:
        if not linked:
            _bound_moves(problem, table, weights, x, work)
            work.bound[best] = np.inf
        bound, y = _lowest_bound(work, linked, least)
        while bound <= least and not (bound == least and y > best):
            price = price_move(problem, table, weights, x, y, work)
            if price < least or (price == least and y < best):
                best, least = y, price
            work.bound[y] = np.inf
            bound, y = _lowest_bound(work, linked, least)
        if not linked or elsewhere > least:
            return best, least
        linked = False


@bound_linked.register(DenseA)
@bound_linked.register(ListsA)
def _bound_nothing(a: A, problem: Problem, table: Table, weights: Weights, x: int, work: Work) -> float:
    return -np.inf


@bound_linked.register(NoA)
def _bound_linked(a: A, problem: Problem, table: Table, weights: Weights, x: int, work: Work) -> float:
    home, mu, loop = np.int64(table.labels[x]), problem.mu[x], problem.loops[x]
    if table.size.size < max(_MANY_GROUPS, _GROUPS_PER_LINK * (work.n_linked[OUT] + work.n_linked[IN])):
        return -np.inf
    leave = bound_leave_nu(table, home, mu) - weights.flow * bound_leaving(table.b, home, loop, work)
    return leave + bound_joining_linked(table, weights, leave, mu, home, loop, work)


@inlined
def _lowest_bound(work: Work, linked: bool, limit: float) -> tuple[float, Group]:
    """Find the lowest bound and its group, the lowest number in a tie; the group only if the bound is within the limit.

    Of the groups with links, or of all groups.
    """
    if linked:
        return least_linked(work)
    bound, y = work.bound, np.int64(0)
    # As integers: the minimum of floats does not vectorise.
    key = np.int64(_MAX_KEY)
    for z in range(bound.size):
        key = min(key, _sort_key(bound[z]))
    least = np.int64(_sort_key(np.int64(key).view(np.float64))).view(np.float64)
    if least <= limit:
        while y < bound.size - 1 and bound[y] != least:
            y += 1
    return least, y


@inlined
def _sort_key(value: float) -> np.int64:
    """Map float64 to int64 monotonically; on bits the map is its own inverse."""
    bits = np.float64(value).view(np.int64)
    return np.int64(bits ^ ((bits >> np.int64(_SIGN)) & np.int64(_MAX_KEY)))


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
