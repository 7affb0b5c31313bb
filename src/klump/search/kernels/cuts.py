"""Changes of sum f(A) and sum f(B) when a group is cut in two, for every cut of a given order of its members.

``order`` holds all states, the members of each group contiguously, those of group y from ``begin[y]`` on. The cut at
position p splits a group into its members up to and including ``order[p]``, the head, and the others, the tail. A
forward pass accumulates the sums of all heads, a backward pass those of all tails: there is no subtraction, and so no
cancellation.

``A``, ``B`` and ``f`` as in ``tables`` and ``logarithm``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from klump.compilation import by_type, expanded, inlined, kernel
from klump.search.kernels.logarithm import f
from klump.search.kernels.tables import IN, OUT, DenseProblem, Floats, Ints, Problem, Shorts, SparseProblem


class Links(NamedTuple):
    """Mass and number of transitions between one state and the groups; the first axis is OUT or IN.

    Column k is the rest of the state's own group, that is, the members that have not been visited; column k + 1 is the
    state itself.
    """

    mass: Floats  # (2, k + 2)
    counts: Ints  # (2, k + 2) transitions
    touched: Ints  # (k + 3,) columns with a count; the last entry absorbs writes beyond the end


def make_links(n_groups: int) -> Links:
    """Links with k groups, all zero."""
    k = n_groups
    return Links(np.zeros((2, k + 2)), np.zeros((2, k + 2), np.int64), np.zeros(k + 3, np.int64))


@by_type
def _add_column(problem: Problem, x: int, mass: Floats, mass_f: Floats) -> float:
    """Add ``J[i, x]`` to ``mass[i]`` for all i and update ``mass_f = f(mass)``; returns the change of sum f(mass)."""
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


@kernel(allocates=False)
def into_sums(
    problem: Problem,  # in
    order: Ints,  # in: (n,)
    begin: int,  # in: position of the first member of the group
    end: int,  # in: position after that of the last member
    work: Floats,  # scratch: (2, n)
    out: Floats,  # in, out: (n,) the change of sum f(A) is added for each cut of the group
) -> None:
    """Change of sum f(A) for each cut of one group."""
    size, whole, mass, mass_f = end - begin, 0.0, work[0], work[1]
    for backward in range(2):
        total = 0.0
        for i in range(mass.size):
            mass[i], mass_f[i] = 0.0, 0.0
        for step in range(size):
            place = end - 1 - step if backward else begin + step
            x = order[place]
            total += _add_column(problem, x, mass, mass_f)
            if not backward:
                out[place] += total
            elif step < size - 1:
                out[place - 1] += total
        whole = total
    for place in range(begin, end):
        out[place] -= whole


@inlined
def _add(links: Links, way: int, z: int, mass: float, n_touched: int) -> int:
    """Add a transition between the state and column z of the links; returns the number of columns touched so far."""
    # Written unconditionally: the write cursor advances only if the column is new.
    links.touched[n_touched] = z
    n_touched += links.counts[OUT, z] + links.counts[IN, z] == 0
    links.mass[way, z] += mass
    links.counts[way, z] += 1
    return n_touched


@by_type
def _collect(problem: Problem, where: Shorts, x: int, links: Links) -> int:
    """Fill the links of state x, ``where[i]`` being the column of state i; returns the number of columns touched."""
    raise TypeError(type(problem))


@_collect.register(DenseProblem)
def _collect_dense(problem: DenseProblem, where: Shorts, x: int, links: Links) -> int:
    n_touched = 0
    for i in range(where.size):
        z, away, back = where[i], problem.rows[x, i], problem.columns[x, i]
        links.mass[OUT, z] += away
        links.mass[IN, z] += back
        links.counts[OUT, z] += away > 0.0
        links.counts[IN, z] += back > 0.0
    for z in range(links.touched.size - 1):
        links.touched[n_touched] = z
        n_touched += links.counts[OUT, z] + links.counts[IN, z] > 0
    return n_touched


@_collect.register(SparseProblem)
def _collect_sparse(problem: SparseProblem, where: Shorts, x: int, links: Links) -> int:
    n_touched = 0
    for p in range(problem.out_indptr[x], problem.out_indptr[x + 1]):
        n_touched = _add(links, OUT, where[problem.out_indices[p]], problem.out_mass[p], n_touched)
    for p in range(problem.indptr[x], problem.indptr[x + 1]):
        n_touched = _add(links, IN, where[problem.indices[p]], problem.mass[p], n_touched)
    return n_touched


@expanded
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
    """Fill ``out`` for the cuts of the group ``order[begin:end]``; ``grown`` is scratch space."""
    k, home, size, whole = np.int64(grown.shape[1]), np.int64(where[order[begin]]), end - begin, 0.0
    for backward in range(2):
        for place in range(begin, end):
            where[order[place]] = k
        # Mass between the growing part (head, or tail in the backward pass) and every other group, by direction.
        for z in range(k):
            grown[OUT, z], grown[IN, z] = 0.0, 0.0
        # Mass from the growing part to the rest of the group and back, and the numbers of transitions.
        forth, back, n_forth, n_back = 0.0, 0.0, 0, 0
        # Mass within the growing part, and sum f(grown).
        within, total = 0.0, 0.0
        for step in range(size):
            place = end - 1 - step if backward else begin + step
            x = order[place]
            where[x] = k + 1
            n_touched = _collect(problem, where, x, links)
            mass, counts = links.mass, links.counts
            n_forth += counts[OUT, k] - counts[IN, home]
            n_back += counts[IN, k] - counts[OUT, home]
            forth = max(forth + mass[OUT, k] - mass[IN, home], 0.0) if n_forth > 0 else 0.0
            back = max(back + mass[IN, k] - mass[OUT, home], 0.0) if n_back > 0 else 0.0
            within += mass[OUT, home] + mass[IN, home] + mass[OUT, k + 1]
            for q in range(n_touched):
                z = links.touched[q]
                for way in range(2):
                    if z < k and z != home and counts[way, z] > 0:
                        total -= f(grown[way, z])
                        grown[way, z] += mass[way, z]
                        total += f(grown[way, z])
                    mass[way, z] = 0.0
                    counts[way, z] = 0
            where[x] = home
            if not backward:
                out[place] = total + f(within) + f(forth) + f(back)
            elif step < size - 1:
                out[place - 1] += total + f(within)
        whole = total + f(within)
    for place in range(begin, end):
        out[place] -= whole


@kernel(allocates=False)
def flow_sums(
    problem: Problem,  # in
    where: Shorts,  # in, out: (n,) labels; changed and restored
    order: Ints,  # in: (n,)
    begin: Ints,  # in: (k,) position of the first member of each group
    size: Ints,  # in: (k,) members
    links: Links,  # scratch, zero before and after
    grown: Floats,  # scratch: (2, k)
    out: Floats,  # out: (n,) change of sum f(B); entries of groups with one member are not written
) -> None:
    """Change of sum f(B) for each cut of each group, all other groups being whole."""
    for y in range(begin.size):
        if size[y] > 1:
            _flow_sums(problem, where, order, begin[y], begin[y] + size[y], links, grown, out)
