"""What a layout of A has to provide: generic functions, resolved by the type of A when a kernel is compiled.

``A[i, y]`` is the mass from state i to group y. ``dense.py`` keeps all of it, ``lists.py`` its non-zero entries, or
nothing where its weight is zero.
"""

from __future__ import annotations

from klump.search.kernels.dispatch import by_type
from klump.search.kernels.tables import A, Flow, Ints, Labels, Problem, Table, Waiting, Weights, Work


@by_type
def build_a(a: A, problem: Problem, labels: Labels) -> float:
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
def collect_a(a: A, problem: Problem, labels: Labels, x: int, work: Work) -> None:
    """Prepare the changes of sum f(A) when state x moves; ``work.leave_a`` is that of leaving its group."""
    raise TypeError(type(a))


@by_type
def bound_a(a: A, problem: Problem, x: int, y: int, from_below: bool, work: Work) -> float:
    """Lower or upper bound of ``price_a``."""
    raise TypeError(type(a))


@by_type
def price_a(a: A, problem: Problem, x: int, y: int, work: Work) -> float:
    """Change of sum f(A) when state x, which has left its group, joins group y."""
    raise TypeError(type(a))


@by_type
def move_a(a: A, problem: Problem, x: int, home: int, y: int, weight: float) -> None:
    """Move state x from group ``home`` to group y."""
    raise TypeError(type(a))


@by_type
def bounds_b_exactly(a: A) -> bool:
    """Whether B is priced exactly for every group: cheap beside a dense A."""
    raise TypeError(type(a))


@by_type
def try_linked(
    a: A, problem: Problem, table: Table, weights: Weights, x: int, limit: float, work: Work
) -> tuple[int, float, float]:
    """Search the groups that state x has links with, where A is not kept and the groups are many.

    Returns the best group that costs less than the limit, its price, and a bound of the price of all other groups.
    """
    raise TypeError(type(a))


@by_type
def enqueue_neighbours(a: A, problem: Problem, x: int, waiting: Waiting) -> None:
    """Mark the states whose prices change with the group of state x."""
    raise TypeError(type(a))


@by_type
def prefetch_next(a: A, problem: Problem, labels: Labels, order: Ints, j: int) -> None:
    """Prefetch what the visits after the j-th read."""
    raise TypeError(type(a))
