"""A partition that satisfies constraints, or the reason why there is none.

Units apart must get different groups: that is graph colouring, solved by DSATUR, then by branch and bound. With a least
mass per group it is bin covering as well, solved greedily, the heaviest unit first; "not found" is then no proof.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from klump.search.constraints import Constraints
from klump.search.kernels.tables import Ints

# Nodes of the branch and bound per connected component, at most: seconds.
_MAX_NODES = 200_000
# Vertices of a connected component up to which it is coloured by branch and bound.
_MAX_VERTICES = 300
# Random orders of the units in which groups are filled to their least mass.
_TRIES = 50


class Infeasible(Exception):
    """No partition satisfies the constraints, or none was found; the text is a clause about them."""


def find_partition(constraints: Constraints, n_groups: int) -> Ints:
    """The group of each unit in some partition into ``n_groups`` groups that satisfies the constraints."""
    if constraints.n_units < n_groups:
        raise Infeasible(f"leave {constraints.n_units} units of states that share a group")
    needed, is_proven = _fewest_groups(constraints)
    if int(needed.max()) + 1 > n_groups:
        raise Infeasible(
            f"need at least {int(needed.max()) + 1} groups"
            if is_proven
            else f"leave no partition into fewer than {int(needed.max()) + 1} groups that klump could find"
        )
    group = split_to(needed, n_groups)
    if constraints.min_mass == 0.0:
        return group
    _check_masses(constraints, n_groups)
    rng = np.random.default_rng(0)
    for attempt in range(_TRIES):
        filled = _fill(constraints, n_groups, needed, rng.random(constraints.n_units) * attempt / _TRIES)
        if np.bincount(filled, weights=constraints.mass).min() >= constraints.min_mass:
            return filled
    raise Infeasible(f"leave no partition into {n_groups} groups of at least that mass that klump could find")


def split_to(group: Ints, n_groups: int) -> Ints:
    """Split the groups with most units in two until there are ``n_groups``.

    >>> split_to(np.array([0, 0, 0, 1]), 3).tolist()
    [0, 0, 2, 1]
    """
    group = group.copy()
    size = np.bincount(group, minlength=n_groups)
    for new in np.flatnonzero(size == 0).tolist():
        largest = int(np.argmax(size))
        moved = np.flatnonzero(group == largest)[-(size[largest] // 2) :]
        group[moved] = new
        size[largest], size[new] = size[largest] - moved.size, moved.size
    return group


def _check_masses(constraints: Constraints, n_groups: int) -> None:
    """Refuse a least mass that is too large for the number of groups, and for the mass of each colour."""
    least = constraints.min_mass
    by_colour = np.bincount(constraints.colour, weights=constraints.mass)
    most = int(np.floor(by_colour / least + 1e-9).sum())
    if most < n_groups:
        raise Infeasible(f"leave room for at most {most} groups of at least that mass")
    if by_colour.min() < least * (1.0 - 1e-9):
        raise Infeasible(
            f"are contradictory: states that must stay apart have a mass of {by_colour.min():.3g}"
        )


def _fill(constraints: Constraints, n_groups: int, needed: Ints, noise: NDArray[np.float64]) -> Ints:
    """Assign units, heaviest first, to the lightest group of their colour that may hold them."""
    mass, colour = constraints.mass, constraints.colour
    by_colour = np.bincount(colour, weights=mass)
    n_of = np.array([len(np.unique(needed[colour == c])) for c in range(by_colour.size)])
    while n_of.sum() < n_groups:
        room = np.floor(by_colour / constraints.min_mass + 1e-9) > n_of
        n_of[np.argmax(np.where(room, by_colour / (n_of + 1), -1.0))] += 1
    first = np.concatenate([[0], np.cumsum(n_of)])
    group, total = np.full(constraints.n_units, -1), np.zeros(n_groups)
    for unit in np.argsort(-mass * (1.0 - noise), kind="stable").tolist():
        own = np.arange(first[colour[unit]], first[colour[unit] + 1])
        own = own[~np.isin(own, group[constraints.neighbours[unit]])]
        if own.size == 0:
            return split_to(needed, n_groups)
        chosen = int(own[np.argmin(total[own])])
        group[unit], total[chosen] = chosen, total[chosen] + mass[unit]
    return group if np.bincount(group, minlength=n_groups).all() else split_to(needed, n_groups)


def _fewest_groups(constraints: Constraints) -> tuple[Ints, bool]:
    """A partition into as few groups as colours and pairs apart allow; whether that number is proven."""
    group, base, is_proven = np.zeros(constraints.n_units, dtype=np.int64), 0, True
    neighbours = constraints.neighbours
    for colour in range(int(constraints.colour.max()) + 1):
        units = np.flatnonzero(constraints.colour == colour)
        graph = {
            unit: [other for other in neighbours[unit].tolist() if constraints.colour[other] == colour]
            for unit in units.tolist()
            if neighbours[unit].size
        }
        graph = {unit: others for unit, others in graph.items() if others}
        found: dict[int, int] = {}
        for component in _components(graph):
            colours, is_least = _colour_graph({unit: graph[unit] for unit in component})
            found, is_proven = found | colours, is_proven and is_least
        group[units] = base + np.array([found.get(unit, 0) for unit in units.tolist()])
        base += max(found.values(), default=0) + 1
    return group, is_proven


def _components(graph: dict[int, list[int]]) -> list[list[int]]:
    """Connected components."""
    seen: set[int] = set()
    components = []
    for start in graph:
        if start in seen:
            continue
        component, stack = [], [start]
        seen.add(start)
        while stack:
            unit = stack.pop()
            component.append(unit)
            new = [other for other in graph[unit] if other not in seen]
            seen.update(new)
            stack += new
        components.append(component)
    return components


def _colour_graph(graph: dict[int, list[int]]) -> tuple[dict[int, int], bool]:
    """Colour the vertices with as few colours as possible; whether the number is proven to be the least.

    DSATUR, improved by branch and bound; greedily by degree if there are many vertices.
    """
    if len(graph) > _MAX_VERTICES:
        best = _colour_in_order(graph, sorted(graph, key=lambda vertex: -len(graph[vertex])))
        return best, max(best.values()) + 1 == len(_greedy_clique(graph))
    best = _dsatur(graph)
    clique, nodes_left = len(_greedy_clique(graph)), _MAX_NODES
    n_colours = max(best.values()) + 1
    while n_colours > clique:
        fewer, nodes = _colour_with(graph, n_colours - 1, nodes_left)
        nodes_left -= nodes
        if fewer is None:
            return best, nodes_left > 0
        best, n_colours = fewer, n_colours - 1
    return best, True


def _colour_in_order(graph: dict[int, list[int]], order: Sequence[int]) -> dict[int, int]:
    """Greedy colouring in a given order."""
    found: dict[int, int] = {}
    for vertex in order:
        found[vertex] = _free_colours(graph[vertex], found, len(graph))[0]
    return found


def _dsatur(graph: dict[int, list[int]]) -> dict[int, int]:
    """Greedy colouring, the vertex with most colours among its neighbours first."""
    found: dict[int, int] = {}
    while len(found) < len(graph):
        vertex = _most_saturated(graph, found)
        found[vertex] = _free_colours(graph[vertex], found, len(graph))[0]
    return found


def _most_saturated(graph: dict[int, list[int]], found: dict[int, int]) -> int:
    rest = [vertex for vertex in graph if vertex not in found]
    return max(rest, key=lambda v: (len({found[w] for w in graph[v] if w in found}), len(graph[v]), -v))


def _free_colours(neighbours: Sequence[int], found: dict[int, int], n_colours: int) -> list[int]:
    """Colours that no neighbour has, at most one of them new."""
    taken = {found[other] for other in neighbours if other in found}
    used = max(found.values(), default=-1) + 1
    return [colour for colour in range(min(used + 1, n_colours)) if colour not in taken]


def _greedy_clique(graph: dict[int, list[int]]) -> list[int]:
    """Clique: a lower bound of the number of colours."""
    clique: list[int] = []
    for vertex in sorted(graph, key=lambda v: -len(graph[v])):
        if all(other in graph[vertex] for other in clique):
            clique.append(vertex)
    return clique


def _colour_with(
    graph: dict[int, list[int]], n_colours: int, max_nodes: int
) -> tuple[dict[int, int] | None, int]:
    """Colouring with at most ``n_colours`` colours by backtracking, or None; and the nodes visited."""
    found: dict[int, int] = {}
    choices: list[tuple[int, list[int]]] = []
    nodes = 0
    while len(found) < len(graph):
        vertex = _most_saturated(graph, found)
        free = _free_colours(graph[vertex], found, n_colours)
        choices.append((vertex, free[::-1]))
        while choices and not choices[-1][1]:
            choices.pop()
            if choices:
                found.pop(choices[-1][0])
        nodes += 1
        if not choices or nodes > max_nodes:
            return None, nodes
        vertex, free = choices[-1]
        found[vertex] = free.pop()
    return found, nodes
