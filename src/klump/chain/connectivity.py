"""Communicating classes, and the two remedies for a reducible chain: restriction and restart."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from numbers import Real

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse import csgraph

from klump.chain.rows import Matrix, entries, row_blocks, stack_row_blocks
from klump.chain.validation import downcast_indices, normalize_rows, scale_rows
from klump.errors import InvalidArgumentError, ReducibleChainError, Setting, Symbol, Text

# Upper bound on n_states * n_initial, the transitions that a restart stores in a sparse chain: 0.6 GB at 12 bytes per
# transition (float64 value, int32 column).
_MAX_RESTART_TRANSITIONS = 50_000_000


@dataclass(frozen=True)
class Classes:
    """The communicating classes of a chain.

    ``component[i]`` is the class of state ``i``; ``closed[c]`` tells whether no transition leaves class ``c``.
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
    for row, col, _ in entries(graph):
        source = component[row]
        closed[source[source != component[col]]] = False
    return Classes(component, closed)


def reducible_error(classes: Classes, states: Sequence[Hashable], *, restarted: bool) -> ReducibleChainError:
    """Error that names the communicating classes of a reducible chain, and the remedies."""
    parts = []
    closed = np.flatnonzero(classes.closed)
    for number in closed[:3]:
        members = classes.members(int(number))
        kind = "absorbing state" if len(members) == 1 else f"closed class of {len(members)} states"
        parts.append(f"{kind} {_list_names(members, states)}")
    if len(closed) > 3:
        parts.append(f"{len(closed) - 3} more closed classes")
    transient = np.flatnonzero(~classes.closed[classes.component])
    if transient.size:
        kind = "transient state" if transient.size == 1 else f"{transient.size} transient states"
        parts.append(f"{kind} {_list_names(transient, states)}")
    restrict = Setting("restrict", "largest")
    remedy: Text = (
        "pass ",
        restrict,
        " to keep its largest closed class, or ",
        Setting("restart", Symbol("p")),
        " to return to an initial distribution with probability p at every step",
    )
    if restarted:
        remedy = (
            "it is restarted already: pass ",
            restrict,
            " as well to keep the states that the restart reaches, or an ",
            Setting("initial"),
            " from which every state can be reached",
        )
    return ReducibleChainError(f"the chain is not irreducible: {', '.join(parts)}", remedy=remedy)


def _list_names(members: NDArray[np.intp], states: Sequence[Hashable]) -> str:
    shown = ", ".join(repr(states[i]) for i in members[:4].tolist())
    return f"({shown}{', ...' if len(members) > 4 else ''})"


def restrict_to_class(matrix: Matrix, members: NDArray[np.intp]) -> Matrix:
    """Submatrix of the members of a closed class, which is stochastic."""
    if isinstance(matrix, sparse.csr_array):
        return downcast_indices(stack_row_blocks(_restrict_blocks(matrix, members), matrix))
    return np.ascontiguousarray(matrix[np.ix_(members, members)])


def _restrict_blocks(matrix: sparse.csr_array, members: NDArray[np.intp]) -> Iterator[sparse.csr_array]:
    """Row blocks of that submatrix, with columns renumbered 0 .. len(members) - 1."""
    number = np.full(matrix.shape[0], -1, dtype=matrix.indices.dtype)
    number[members] = np.arange(len(members))
    for rows, block in row_blocks(matrix):
        kept = block[np.flatnonzero(number[rows] >= 0)]
        parts = (kept.data, number[kept.indices], kept.indptr)
        yield sparse.csr_array(parts, shape=(kept.shape[0], len(members)))


def add_restart(matrix: Matrix, probability: float, initial: NDArray[np.float64]) -> Matrix:
    """Chain (1 - p) P + p 1 initial^T: a restart with probability p at every step."""
    if not isinstance(probability, Real) or not 0.0 < float(probability) <= 1.0:
        raise InvalidArgumentError("must be a probability in (0, 1]", argument="restart", value=probability)
    n = matrix.shape[0]
    support = np.flatnonzero(initial)
    if not isinstance(matrix, sparse.csr_array):
        return np.asarray((1.0 - probability) * matrix + probability * initial)
    if n * support.size > _MAX_RESTART_TRANSITIONS:
        raise InvalidArgumentError(
            f"restarting {n} states at {support.size} initial states would store {n * support.size} transitions",
            remedy=("pass ", Setting("initial"), " with one state or a few"),
        )
    jump = sparse.csr_array((probability * initial)[None, :])
    mixed = (_mix_restart(block, 1.0 - probability, jump) for _, block in row_blocks(matrix))
    return downcast_indices(stack_row_blocks(mixed, matrix))


def _mix_restart(block: sparse.csr_array, share: float, jump: sparse.csr_array) -> sparse.csr_array:
    """Row block ``share * block + 1 jump``, normalised; ``jump`` is the sparse row p initial^T."""
    n, size = block.shape[0], jump.nnz
    ends = np.arange(n + 1, dtype=np.int64) * size
    jumps = sparse.csr_array((np.tile(jump.data, n), np.tile(jump.indices, n), ends), shape=block.shape)
    mixed = sparse.csr_array(scale_rows(block, np.full(n, share)) + jumps)
    mixed.sort_indices()
    return sparse.csr_array(normalize_rows(mixed))
