"""A in the dense layout: one contiguous row per group."""

from __future__ import annotations

import numpy as np

from klump.compilation import inlined
from klump.search.kernels.flow import remove_loop
from klump.search.kernels.layouts import (
    bound_a,
    bounds_b_exactly,
    build_a,
    build_b,
    collect_links,
    enqueue_neighbours,
    join_a,
    leave_a,
    move_a,
    prefetch_next,
)
from klump.search.kernels.logarithm import LOG2_E, SMALLEST, f, fast_log2
from klump.search.kernels.tables import (
    IN,
    OUT,
    DenseA,
    DenseProblem,
    Floats,
    Flow,
    Ints,
    Labels,
    Shorts,
    Waiting,
    Weights,
    Work,
)


@build_a.register(DenseA)
def _build_a(a: DenseA, problem: DenseProblem, labels: Labels, n_groups: int) -> float:
    a.mass[:] = 0.0
    a.counts[:] = 0
    a.back[:] = 0.0
    a.back_counts[:] = 0
    n = labels.size
    for x in range(n):
        y = labels[x]
        for i in range(n):
            a.mass[y, i] += problem.columns[x, i]
            a.counts[y, i] += problem.columns[x, i] > 0.0
            a.back[y, i] += problem.rows[x, i]
            a.back_counts[y, i] += problem.rows[x, i] > 0.0
    total = 0.0
    for y in range(a.zeros.size):
        _renew_logs(a, y)
        for i in range(n):
            total += a.mass[y, i] * a.log[y, i]
    return total


@inlined
def _renew_logs(a: DenseA, y: int) -> None:
    """Recompute the logarithms, inverses and number of zeros of the row of group y."""
    mass, log, inverse, zeros = a.mass[y], a.log[y], a.inverse[y], 0
    for i in range(mass.size):
        positive = max(mass[i], SMALLEST)
        log[i] = fast_log2(positive)
        inverse[i] = 1.0 / positive
        zeros += mass[i] < SMALLEST
    a.zeros[y] = zeros


@build_b.register(DenseA)
def _build_b(a: DenseA, problem: DenseProblem, labels: Labels, b: Flow) -> None:
    k = a.zeros.size
    for z in range(k):
        for i in range(labels.size):
            b.mass[k + labels[i], z] += a.mass[z, i]
            b.counts[labels[i], z] += a.counts[z, i]


@collect_links.register(DenseA)
def _collect_links(a: DenseA, problem: DenseProblem, labels: Labels, x: int, work: Work) -> None:
    home, loop = labels[x], problem.loops[x]
    for y in range(a.zeros.size):
        work.mass[OUT, y], work.counts[OUT, y] = a.mass[y, x], a.counts[y, x]
        work.mass[IN, y], work.counts[IN, y] = a.back[y, x], a.back_counts[y, x]
    for way in range(2):
        if loop > 0.0:
            remove_loop(work, way, home, loop)
        n_linked = 0
        for y in range(a.zeros.size):
            work.groups[way, n_linked] = y
            n_linked += work.counts[way, y] > 0
        work.n_linked[way] = n_linked


@bound_a.register(DenseA)
def _bound_a(a: DenseA, problem: DenseProblem, x: int, home: int, from_below: bool, work: Work) -> float:
    # With r added to, or taken from, an entry a, and u = r / a:
    # r (1 + u / 2 - u^2 / 6) <= (f(a + r) - f(a) - r log2 a) / log2(e) <= r (1 + u / 2)
    # r (-1 + u / 2)          <= (f(a - r) - f(a) + r log2 a) / log2(e) <= r (-1 + u / 2 + u^2 / 2)
    column, leave = problem.columns[x], 0.0
    for y in range(a.zeros.size):
        log, inverse = a.log[y], a.inverse[y]
        if y != home and a.zeros[y] > 0:
            # At a = 0 the series has no value: the group is always priced exactly.
            work.gain_a[y] = -np.inf if from_below else np.inf
            continue
        largest = 1.0 if y == home else np.inf
        linear, first, second, third = 0.0, 0.0, 0.0, 0.0
        for i in range(column.size):
            r = column[i]
            # Rounding may have left less in the own group than the state has.
            u = min(r * inverse[i], largest)
            linear += r * log[i]
            first += r
            second += r * u
            third += r * u * u
        if y == home:
            rest = second / 2.0 - first + (0.0 if from_below else third / 2.0)
            leave = LOG2_E * rest - linear
        else:
            rest = second / 2.0 - (third / 6.0 if from_below else 0.0)
            work.gain_a[y] = linear + LOG2_E * (first + max(rest, 0.0))
    return leave


@leave_a.register(DenseA)
def _leave_a(a: DenseA, problem: DenseProblem, x: int, home: int) -> float:
    return _change_row(a.mass[home], a.log[home], problem.columns[x], -1.0)


@join_a.register(DenseA)
def _join_a(a: DenseA, problem: DenseProblem, x: int, y: int) -> float:
    return _change_row(a.mass[y], a.log[y], problem.columns[x], 1.0)


@inlined
def _change_row(mass: Floats, log: Floats, column: Floats, sign: float) -> float:
    """``sum f(mass + sign column) - sum f(mass)``."""
    total = 0.0
    for i in range(column.size):
        total += f(mass[i] + sign * column[i]) - mass[i] * log[i]
    return total


@move_a.register(DenseA)
def _move_a(
    a: DenseA, problem: DenseProblem, x: int, home: int, y: int, weight: float, n_groups: int
) -> None:
    _move_row(a.mass, a.counts, problem.columns[x], home, y)
    _move_row(a.back, a.back_counts, problem.rows[x], home, y)
    if weight != 0.0:
        _renew_logs(a, home)
        _renew_logs(a, y)


@inlined
def _move_row(mass: Floats, counts: Shorts, moved: Floats, home: int, y: int) -> None:
    """Subtract ``moved`` from row ``home`` and add it to row y; an entry without transitions becomes exactly 0."""
    for i in range(moved.size):
        count = np.int32(moved[i] > 0.0)
        counts[home, i] -= count
        counts[y, i] += count
        rest = max(mass[home, i] - moved[i], 0.0)
        mass[home, i] = rest if counts[home, i] > 0 else 0.0
        mass[y, i] += moved[i]


@bounds_b_exactly.register(DenseA)
def _bounds_b_exactly(a: DenseA) -> bool:
    return True


@enqueue_neighbours.register(DenseA)
def _enqueue_neighbours(a: DenseA, problem: DenseProblem, x: int, waiting: Waiting) -> None:
    """Do nothing: every state is a neighbour, so a queue would hold all states."""


@prefetch_next.register(DenseA)
def _prefetch_next(
    a: DenseA, problem: DenseProblem, labels: Labels, weights: Weights, order: Ints, j: int
) -> None:
    """Do nothing: rows are read sequentially, which the processor prefetches by itself."""
