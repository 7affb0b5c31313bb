"""Interface of a layout of A: generic functions, dispatched on the type of A when a kernel is compiled.

``A[i, y]`` is the mass from state i to group y. ``dense.py`` implements ``DenseA``, which keeps all entries;
``lists.py`` implements ``ListsA``, which keeps the non-zero ones, and ``NoA``, which keeps none because the weight of A
is zero.

Changes of sum f(A) may omit a constant c that depends on the state x only: a change on joining is returned minus c,
that on leaving plus c. It is ``c = sum_i f(J[i, x])`` for ``ListsA`` and 0 for ``DenseA``.
"""

from __future__ import annotations

from klump.compilation import by_type
from klump.search.kernels.tables import A, Flow, Ints, Labels, Problem, Table, Waiting, Weights, Work


@by_type
def build_a(a: A, problem: Problem, labels: Labels, n_groups: int) -> float:
    """Fill A from the labels; returns sum f(A), or 0 if A is not kept."""
    raise TypeError(type(a))


@by_type
def build_b(a: A, problem: Problem, labels: Labels, b: Flow) -> None:
    """Add the mass and the number of transitions between groups to the rows of B, which are zero."""
    raise TypeError(type(a))


@by_type
def collect_links(a: A, problem: Problem, labels: Labels, x: int, work: Work) -> None:
    """Fill ``work`` with the links of state x with the groups, without its loop."""
    raise TypeError(type(a))


@by_type
def bound_a(a: A, problem: Problem, x: int, home: int, from_below: bool, work: Work) -> float:
    """Bound the changes of sum f(A) when state x moves, from below or from above.

    Fills ``work.gain_a`` with the bound on joining each group, minus c; returns that on leaving ``home``, plus c.
    """
    raise TypeError(type(a))


@by_type
def leave_a(a: A, problem: Problem, x: int, home: int) -> float:
    """Change of sum f(A) when state x leaves ``home``, plus c."""
    raise TypeError(type(a))


@by_type
def join_a(a: A, problem: Problem, x: int, y: int) -> float:
    """Change of sum f(A) when state x, which has left its group, joins group y, minus c."""
    raise TypeError(type(a))


@by_type
def move_a(a: A, problem: Problem, x: int, home: int, y: int, weight: float, n_groups: int) -> None:
    """Move state x from group ``home`` to group y in A, whose weight in the cost is ``weight``."""
    raise TypeError(type(a))


@by_type
def bounds_b_exactly(a: A) -> bool:
    """Whether bounds take the exact change of sum f(B) for every group, which is cheap beside that of a dense A."""
    raise TypeError(type(a))


@by_type
def bound_linked(a: A, problem: Problem, table: Table, weights: Weights, x: int, work: Work) -> float:
    """Bound the price of moving state x to each group that it has links with, for ``NoA`` with many groups.

    Returns a lower bound of the prices of all other groups; minus infinity where nothing is bounded.
    """
    raise TypeError(type(a))


@by_type
def enqueue_neighbours(a: A, problem: Problem, x: int, waiting: Waiting) -> None:
    """Mark the states whose prices change with the group of state x."""
    raise TypeError(type(a))


@by_type
def prefetch_next(a: A, problem: Problem, labels: Labels, weights: Weights, order: Ints, j: int) -> None:
    """Prefetch the labels and lists that the visits after the j-th will read."""
    raise TypeError(type(a))
