"""Algorithm 1: move one state at a time to the group that lowers the cost most.

Up to a constant the cost is, with ``f(t) = t log2 t``::

    weights.into sum f(A)  -  weights.flow sum f(B)  +  sum f(nu),
    weights.into = 1 - 2 beta + gamma,  weights.flow = 1 - beta,

so that a term of weight zero (A at beta = 1/2, B at beta = 1) is skipped.
"""

from __future__ import annotations

import numpy as np

from klump.compilation import kernel
from klump.search.kernels import dense, lists  # noqa: F401  (register the layouts)
from klump.search.kernels.best_group import best_group, collect, move, price_move, set_nu
from klump.search.kernels.flow import clear_links, finish_b
from klump.search.kernels.layouts import build_a, build_b, prefetch_next
from klump.search.kernels.tables import Ints, Problem, Table, Weights, Work


@kernel(allocates=False)
def build(
    problem: Problem,  # in
    table: Table,  # in: labels; out: all else
) -> tuple[float, float, float]:
    """Fill the table from its labels; returns sum f(A) (0 if A is not kept), sum f(B) and sum f(nu)."""
    labels, b = table.labels, table.b
    table.size[:] = 0
    table.nu[:] = 0.0
    for x in range(labels.size):
        table.size[labels[x]] += 1
        table.nu[labels[x]] += problem.mu[x]
    table.lightest[0] = np.inf
    for y in range(table.size.size):
        set_nu(table, y, table.nu[y])
    sum_a = build_a(table.a, problem, labels, table.size.size)
    b.mass[:] = 0.0
    b.counts[:] = 0
    build_b(table.a, problem, labels, b)
    return sum_a, finish_b(b), table.nu_f.sum()


@kernel(allocates=False)
def sweep(
    problem: Problem,  # in
    table: Table,  # in, out
    work: Work,
    weights: Weights,  # in
    order: Ints,  # in: the states to visit
    tolerance: float,  # in: least decrease of the cost per move
    allow_empty: bool,  # in: whether the last member may leave a group
) -> tuple[int, float]:
    """One pass of Algorithm 1: every state goes to its best group; returns the moves and the change of the cost."""
    moves, change = 0, 0.0
    for j in range(order.size):
        x = order[j]
        home = np.int64(table.labels[x])
        if table.size[home] == 1 and not allow_empty:
            continue
        prefetch_next(table.a, problem, table.labels, weights, order, j)
        best, price = best_group(problem, table, weights, x, tolerance, work)
        if best != home:
            move(problem, table, weights, x, best, work)
            moves += 1
            change += price
        clear_links(work)
    return moves, change


@kernel(allocates=False)
def sweep_pairs(
    problem: Problem,  # in
    table: Table,  # in, out
    work: Work,
    weights: Weights,  # in
    order: Ints,  # in: the states to visit
    tolerance: float,  # in: least decrease of the cost per move
) -> tuple[int, float]:
    """One pass in which a state of group y chooses between y and y ^ 1, the other half of a split group."""
    moves, change = 0, 0.0
    for j in range(order.size):
        x = order[j]
        home = np.int64(table.labels[x])
        if table.size[home] == 1:
            continue
        prefetch_next(table.a, problem, table.labels, weights, order, j)
        collect(problem, table, weights, x, work)
        price = price_move(problem, table, weights, x, home ^ 1, work)
        if price < -tolerance:
            move(problem, table, weights, x, home ^ 1, work)
            moves += 1
            change += price
        clear_links(work)
    return moves, change


@kernel(allocates=False)
def fill_group(
    problem: Problem,  # in
    table: Table,  # in, out
    work: Work,
    weights: Weights,  # in
    y: int,  # in: an empty group
    limit: float,  # in: highest price to pay
    fallback: int,  # in: the state that fills the group if every other one costs more
) -> tuple[int, float]:
    """Fill an empty group with the state that is cheapest to move there; returns the state and the price."""
    cheapest, least = fallback, limit
    for x in range(table.labels.size):
        if table.size[table.labels[x]] > 1:
            collect(problem, table, weights, x, work)
            price = price_move(problem, table, weights, x, y, work)
            if price < least:
                cheapest, least = x, price
            clear_links(work)
    collect(problem, table, weights, cheapest, work)
    move(problem, table, weights, cheapest, y, work)
    clear_links(work)
    return cheapest, least
