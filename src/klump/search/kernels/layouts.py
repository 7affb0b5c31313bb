"""What a layout of A has to provide: generic functions, resolved by the type of A when a kernel is compiled.

``A[i, y]`` is the mass from state i to group y. ``dense.py`` keeps all of it, ``lists.py`` its non-zero entries, or
nothing where its weight is zero.
"""

from __future__ import annotations

from klump.compilation import by_type
from klump.search.kernels.tables import A, Flow, Group, Ints, Labels, Problem, Table, Waiting, Weights, Work


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
    """Fill the links of state x with the groups, without its loop."""
    raise TypeError(type(a))


@by_type
def bound_a(a: A, problem: Problem, x: int, home: int, from_below: bool, work: Work) -> float:
    """Bound the changes of sum f(A) when state x moves, from below or from above.

    Fills ``work.gain_a`` for joining each group, up to a constant; returns that of leaving ``home``, plus the constant.
    """
    raise TypeError(type(a))


@by_type
def leave_a(a: A, problem: Problem, x: int, home: int) -> float:
    """Change of sum f(A) when state x leaves ``home``, plus the constant."""
    raise TypeError(type(a))


@by_type
def join_a(a: A, problem: Problem, x: int, y: int) -> float:
    """Change of sum f(A) when state x, which has left its group, joins group y, up to the constant."""
    raise TypeError(type(a))


@by_type
def move_a(a: A, problem: Problem, x: int, home: int, y: int, weight: float, n_groups: int) -> None:
    """Move state x from group ``home`` to group y."""
    raise TypeError(type(a))


@by_type
def bounds_b_exactly(a: A) -> bool:
    """Whether B is priced exactly for every group: cheap beside a dense A."""
    raise TypeError(type(a))


@by_type
def try_linked(
    a: A, problem: Problem, table: Table, weights: Weights, x: int, limit: float, work: Work
) -> tuple[Group, float, float]:
    """Search the groups that state x has links with, where A is not kept and the groups are many.

    Returns the best group that costs less than the limit, its price, and a bound of the price of all other groups.
    """
    raise TypeError(type(a))


@by_type
def enqueue_neighbours(a: A, problem: Problem, x: int, waiting: Waiting) -> None:
    """Mark the states whose prices change with the group of state x."""
    raise TypeError(type(a))


@by_type
def prefetch_next(a: A, problem: Problem, labels: Labels, weights: Weights, order: Ints, j: int) -> None:
    """Prefetch what the visits after the j-th read."""
    raise TypeError(type(a))
