"""What it costs to cut groups in two, at every place of an order of their members.

``order`` holds all states, the members of each group side by side, those of group y from ``begin[y]`` on. The cut
at place p takes the members up to and including p out of their group. Sums only ever grow: one pass from the
front adds up what is cut off, one from the back what is left, so that nothing is lost by subtraction.

``A``, ``B`` and ``f`` as in the kernels of the descent.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from klump.compilation import by_type, inlined, kernel
from klump.search.kernels.logarithm import f
from klump.search.kernels.tables import DenseProblem, Floats, Ints, Problem, Shorts, SparseProblem


class Links(NamedTuple):
    """Transitions between one state and the groups.

    Place k stands for what is left of the state's own group, place k + 1 for the state itself.
    """

    mass: Floats  # (2, k + 2) from the state, and to it
    counts: Ints  # (2, k + 2) transitions behind it
    touched: Ints  # (k + 3,) places with a count, and room for one more


@by_type
def _add_column(problem: Problem, x: int, mass: Floats, mass_f: Floats) -> float:
    """Add the transitions to state x to the masses; returns the change of the sum of their f."""
    raise TypeError(type(problem))


@_add_column.register(DenseProblem)
def _add_dense_column(problem: DenseProblem, x: int, mass: Floats, mass_f: Floats) -> float:
    change = 0.0
    for i in range(mass.size):
        mass[i] += problem.columns[x, i]
        after = f(mass[i])
        change += after - mass_f[i]
        mass_f[i] = after
    return change


@_add_column.register(SparseProblem)
def _add_sparse_column(problem: SparseProblem, x: int, mass: Floats, mass_f: Floats) -> float:
    change = 0.0
    for p in range(problem.indptr[x], problem.indptr[x + 1]):
        i = problem.indices[p]
        mass[i] += problem.mass[p]
        after = f(mass[i])
        change += after - mass_f[i]
        mass_f[i] = after
    return change


@kernel
def into_sums(problem: Problem, order: Ints, begin: int, end: int, out: Floats) -> None:
    """Add the change of sum f(A) that each cut of the group at ``order[begin:end]`` makes to ``out`` there."""
    size, whole = end - begin, 0.0
    for way in range(2):
        mass, mass_f, total = np.zeros(problem.mu.size), np.zeros(problem.mu.size), 0.0
        for step in range(size):
            place = end - 1 - step if way else begin + step
            x = order[place]
            total += _add_column(problem, x, mass, mass_f)
            if way == 0:
                out[place] += total
            elif step < size - 1:
                out[place - 1] += total
        whole = total
    for place in range(begin, end):
        out[place] -= whole


@inlined
def _add(links: Links, way: int, z: int, mass: float, n_touched: int) -> int:
    """Add a transition from or to group z; returns the number of groups touched so far."""
    links.touched[n_touched] = z
    n_touched += links.counts[0, z] + links.counts[1, z] == 0
    links.mass[way, z] += mass
    links.counts[way, z] += 1
    return n_touched


@by_type
def _collect(problem: Problem, where: Shorts, x: int, links: Links) -> int:
    """Collect the links of state x with the groups; returns the number of places touched."""
    raise TypeError(type(problem))


@_collect.register(DenseProblem)
def _collect_dense(problem: DenseProblem, where: Shorts, x: int, links: Links) -> int:
    n_touched = 0
    for i in range(where.size):
        z, away, back = where[i], problem.rows[x, i], problem.columns[x, i]
        links.mass[0, z] += away
        links.mass[1, z] += back
        links.counts[0, z] += away > 0.0
        links.counts[1, z] += back > 0.0
    for z in range(links.touched.size - 1):
        links.touched[n_touched] = z
        n_touched += links.counts[0, z] + links.counts[1, z] > 0
    return n_touched


@_collect.register(SparseProblem)
def _collect_sparse(problem: SparseProblem, where: Shorts, x: int, links: Links) -> int:
    n_touched = 0
    for p in range(problem.out_indptr[x], problem.out_indptr[x + 1]):
        n_touched = _add(links, 0, where[problem.out_indices[p]], problem.out_mass[p], n_touched)
    for p in range(problem.indptr[x], problem.indptr[x + 1]):
        n_touched = _add(links, 1, where[problem.indices[p]], problem.mass[p], n_touched)
    return n_touched


@inlined
def _flow_sums(
    problem: Problem,
    where: Shorts,
    order: Ints,
    begin: int,
    end: int,
    links: Links,
    grown: Floats,
    out: Floats,
) -> None:
    """Do for one group what ``flow_sums`` does for all."""
    k, home, size, whole = np.int64(grown.shape[1]), np.int64(where[order[begin]]), end - begin, 0.0
    for way in range(2):
        for place in range(begin, end):
            where[order[place]] = k
        grown[:] = 0.0
        # Between the part that grows and what is left of the group, both ways, and the transitions behind it.
        forth, back, n_forth, n_back = 0.0, 0.0, 0, 0
        within, total = 0.0, 0.0
        for step in range(size):
            place = end - 1 - step if way else begin + step
            x = order[place]
            where[x] = k + 1
            n_touched = _collect(problem, where, x, links)
            mass, counts = links.mass, links.counts
            n_forth += counts[0, k] - counts[1, home]
            n_back += counts[1, k] - counts[0, home]
            forth = max(forth + mass[0, k] - mass[1, home], 0.0) if n_forth > 0 else 0.0
            back = max(back + mass[1, k] - mass[0, home], 0.0) if n_back > 0 else 0.0
            within += mass[0, home] + mass[1, home] + mass[0, k + 1]
            for q in range(n_touched):
                z = links.touched[q]
                for to in range(2):
                    if z < k and z != home and counts[to, z] > 0:
                        total -= f(grown[to, z])
                        grown[to, z] += mass[to, z]
                        total += f(grown[to, z])
                    mass[to, z] = 0.0
                    counts[to, z] = 0
            where[x] = home
            if way == 0:
                out[place] = total + f(within) + f(forth) + f(back)
            elif step < size - 1:
                out[place - 1] += total + f(within)
        whole = total + f(within)
    for place in range(begin, end):
        out[place] -= whole


@kernel
def flow_sums(
    problem: Problem,  # in
    labels: Shorts,  # in: (n,)
    order: Ints,  # in: (n,)
    begin: Ints,  # in: (k,) where the members of each group begin
    size: Ints,  # in: (k,)
    out: Floats,  # out: (n,) change of sum f(B) by each cut, those of groups with one member left as they are
) -> None:
    """See how each cut of each group alone would change sum f(B)."""
    k, where = begin.size, labels.copy()
    links = Links(np.zeros((2, k + 2)), np.zeros((2, k + 2), np.int64), np.zeros(k + 3, np.int64))
    grown = np.zeros((2, k))
    for y in range(k):
        if size[y] > 1:
            _flow_sums(problem, where, order, begin[y], begin[y] + size[y], links, grown, out)
