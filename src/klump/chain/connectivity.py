"""Communicating classes, and the error about a reducible chain."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse import csgraph

from klump.chain.rows import Matrix, entries
from klump.errors import ReducibleChainError, Setting, Symbol


@dataclass(frozen=True)
class Classes:
    """The communicating classes of a chain.

    ``component[i]`` is the class of state ``i``; ``closed[c]`` tells whether no transition leaves class ``c``, and
    it is not a dead end, a state without transitions.
    """

    component: NDArray[np.int32]
    closed: NDArray[np.bool_]

    @property
    def n_classes(self) -> int:
        """Number of communicating classes."""
        return len(self.closed)

    def members(self, number: int) -> NDArray[np.intp]:
        """Indices of the states of one class."""
        return np.flatnonzero(self.component == number)

    def largest_closed(self) -> NDArray[np.intp]:
        """Indices of the states of the largest closed class; ties go to the first."""
        sizes = np.bincount(self.component, minlength=self.n_classes)
        return self.members(int(np.argmax(np.where(self.closed, sizes, -1))))


def communicating_classes(matrix: Matrix) -> Classes:
    """Strongly connected components of the transition graph, and which of them are closed."""
    n = matrix.shape[0]
    if not isinstance(matrix, sparse.csr_array) and bool((matrix > 0).all()):
        return Classes(np.zeros(n, dtype=np.int32), np.ones(1, dtype=bool))
    graph = sparse.csr_array(matrix)
    n_classes, component = csgraph.connected_components(graph, directed=True, connection="strong")
    closed = np.ones(n_classes, dtype=bool)
    closed[component[np.diff(graph.indptr) == 0]] = False
    for row, col, _ in entries(graph):
        source = component[row]
        closed[source[source != component[col]]] = False
    return Classes(component, closed)


def period(matrix: Matrix) -> int:
    """Period of an irreducible chain: the greatest common divisor of all cycle lengths.

    >>> period(np.array([[0.0, 1.0], [1.0, 0.0]]))
    2
    """
    graph = sparse.csr_array(matrix)
    if graph.diagonal().any():
        return 1
    # For every transition i -> j, distance[i] + 1 = distance[j] modulo the period; distances are from state 0.
    order, predecessor = csgraph.breadth_first_order(graph, 0)
    distance, rank = np.zeros(len(order), dtype=np.int64), np.zeros(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    # Ascending: breadth-first search visits children in order of their parents.
    parent_rank = rank[predecessor[order[1:]]]
    begin, end = 0, 1
    while end < len(order):
        last = 1 + int(np.searchsorted(parent_rank, end))
        distance[order[end:last]] = distance[order[begin]] + 1
        begin, end = end, last
    found = 0
    for row, col, _ in entries(graph):
        found = int(np.gcd(found, np.gcd.reduce(distance[row] + 1 - distance[col])))
    return found


def reducible_error(
    classes: Classes, states: Sequence[Hashable], *, restarted: bool, counted: bool
) -> ReducibleChainError:
    """Error that names the communicating classes of a reducible chain, and the remedies.

    For a chain that was estimated from counts, a class is often left only because the data end there.
    """
    parts = []
    closed = np.flatnonzero(classes.closed)
    for number in closed[:3]:
        members = classes.members(int(number))
        kind = "absorbing state" if len(members) == 1 else f"closed class of {len(members)} states"
        parts.append(f"{kind} {list_names(members, states)}")
    if len(closed) > 3:
        parts.append(f"{len(closed) - 3} more closed classes")
    transient = np.flatnonzero(~classes.closed[classes.component])
    if transient.size:
        kind = "transient state" if transient.size == 1 else f"{transient.size} transient states"
        parts.append(f"{kind} {list_names(transient, states)}")
    problem = f"the chain is not irreducible: {', '.join(parts)}"
    if restarted:
        return ReducibleChainError(
            problem,
            remedy=(
                "it is restarted already: pass ",
                Setting("restrict", "closed"),
                " as well to keep the states that the restart reaches, or an ",
                Setting("initial"),
                " from which every state can be reached",
            ),
        )
    name, part = ("connected", "connected set") if counted else ("closed", "closed class")
    return ReducibleChainError(
        problem,
        remedy=(
            "pass ",
            Setting("restrict", name),
            f" to keep its largest {part}, or ",
            Setting("restart", Symbol("p")),
            " to return to an initial distribution with probability p at every step",
        ),
    )


def list_names(members: NDArray[np.intp], states: Sequence[Hashable], *, brackets: bool = True) -> str:
    """List the names of at most four states, for a message."""
    shown = ", ".join(repr(states[i]) for i in members[:4].tolist())
    if not brackets:
        return shown + (f" and {len(members) - 4} more" if len(members) > 4 else "")
    return f"({shown}{', ...' if len(members) > 4 else ''})"
