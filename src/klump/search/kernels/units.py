"""Algorithm 1 under constraints: units of states move together, and only to groups that may hold them."""

from __future__ import annotations

import numpy as np

from klump.compilation import called, inlined, kernel
from klump.search.kernels import dense, lists  # noqa: F401  (register the layouts)
from klump.search.kernels.best_group import collect, move, price_move
from klump.search.kernels.flow import clear_links
from klump.search.kernels.tables import Choice, Group, Ints, Problem, Table, Units, Weights, Work


@inlined
def _label(table: Table, units: Units, unit: int) -> Group:
    return np.int64(table.labels[units.states[units.begin[unit]]])


@inlined
def _mark_allowed(table: Table, units: Units, unit: int, choice: Choice) -> None:
    """Mark the groups that may hold a unit, other than its own."""
    for y in range(choice.allowed.size):
        choice.allowed[y] = choice.colour[y] == units.colour[unit]
    for p in range(units.apart_begin[unit], units.apart_begin[unit + 1]):
        choice.allowed[_label(table, units, units.apart[p])] = False
    choice.allowed[_label(table, units, unit)] = False


@called
def _move_unit(
    problem: Problem, table: Table, work: Work, weights: Weights, units: Units, unit: int, y: int
) -> float:
    """Move the states of a unit to group y, one after another; returns the change of the cost."""
    change = 0.0
    for p in range(units.begin[unit], units.begin[unit + 1]):
        x = units.states[p]
        collect(problem, table, weights, x, work)
        change += price_move(problem, table, weights, x, y, work)
        move(problem, table, weights, x, y, work)
        clear_links(work)
    return change


@inlined
def _best_for_state(
    problem: Problem, table: Table, work: Work, weights: Weights, x: int, tolerance: float, choice: Choice
) -> tuple[Group, float]:
    """Cheapest allowed group for a unit of one state, and its price; the lowest number wins a tie."""
    best: Group = np.int64(table.labels[x])
    least = -tolerance
    collect(problem, table, weights, x, work)
    for y in range(choice.allowed.size):
        if choice.allowed[y]:
            price = price_move(problem, table, weights, x, y, work)
            if price < least:
                best, least = np.int64(y), price
    clear_links(work)
    return best, least


@inlined
def _best_for_unit(
    problem: Problem,
    table: Table,
    work: Work,
    weights: Weights,
    units: Units,
    unit: int,
    tolerance: float,
    choice: Choice,
) -> tuple[Group, float]:
    """Cheapest allowed group for a unit of several states, by moving them there and back."""
    home = _label(table, units, unit)
    best: Group = home
    least, change = -tolerance, 0.0
    for y in range(choice.allowed.size):
        if choice.allowed[y]:
            change += _move_unit(problem, table, work, weights, units, unit, y)
            if change < least:
                best, least = np.int64(y), change
    if _label(table, units, unit) != home:
        _move_unit(problem, table, work, weights, units, unit, home)
    return best, least


@kernel(allocates=False)
def sweep_units(
    problem: Problem,  # in
    table: Table,  # in, out: labels that satisfy the constraints
    work: Work,
    weights: Weights,  # in
    units: Units,  # in
    choice: Choice,
    order: Ints,  # in: the units to visit
    tolerance: float,  # in: least decrease of the cost per move
) -> tuple[int, float]:
    """One pass in which every unit goes to its best allowed group; returns the moves and the change of the cost."""
    moves, change = 0, 0.0
    # No group changes its colour: the last unit never leaves, and others are of the same colour.
    for unit in range(units.mass.size):
        choice.colour[_label(table, units, unit)] = units.colour[unit]
    for j in range(order.size):
        unit = order[j]
        home, size = _label(table, units, unit), units.begin[unit + 1] - units.begin[unit]
        if table.size[home] == size or table.nu[home] - units.mass[unit] < units.least[0]:
            continue
        _mark_allowed(table, units, unit, choice)
        if size == 1:
            x = units.states[units.begin[unit]]
            best, price = _best_for_state(problem, table, work, weights, x, tolerance, choice)
        else:
            best, price = _best_for_unit(problem, table, work, weights, units, unit, tolerance, choice)
        if best != home:
            _move_unit(problem, table, work, weights, units, unit, best)
            moves += size
            change += price
    return moves, change
