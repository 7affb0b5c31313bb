"""A chain under construction: its matrix, whose rows may be empty, with all that belongs to its states."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from klump.chain.attributes import Attributes
from klump.chain.connectivity import Classes, communicating_classes
from klump.chain.rows import Matrix
from klump.chain.wording import kind_of


@dataclass(frozen=True)
class NumberedStates(Sequence[Hashable]):
    """Names 0 .. n-1 and those of states added at the end; as a tuple, a million of them take 36 MB.

    >>> tuple(NumberedStates(2, ("(restart)",)))
    (0, 1, '(restart)')
    """

    n_numbers: int
    added: tuple[Hashable, ...]

    def __len__(self) -> int:
        return self.n_numbers + len(self.added)

    def __getitem__(self, position: Any) -> Any:
        return position if 0 <= position < self.n_numbers else self.added[position - self.n_numbers]

    def __contains__(self, name: object) -> bool:
        return name in range(self.n_numbers) or name in self.added


class Parts(NamedTuple):
    """Parts of a chain, as the remedies for reducible chains change them."""

    matrix: Matrix
    """Transition matrix; a dead end has an empty row."""
    names: Sequence[Hashable] | None
    """Names of the states; None for 0 .. n-1."""
    original_index: NDArray[np.intp]
    """Index of each state in the matrix given; -1 for a state that was added."""
    attributes: Attributes
    counted: NDArray[np.float64] | None
    """Number of observed transitions out of each state, if the chain was estimated from counts."""
    applied: tuple[str, ...]

    def all_names(self) -> Sequence[Hashable]:
        """Names of the states, also if these are their numbers."""
        return range(self.matrix.shape[0]) if self.names is None else self.names

    def add_name(self, name: Hashable) -> Sequence[Hashable]:
        """Names of the states and of one more."""
        if self.names is None:
            return NumberedStates(self.matrix.shape[0], (name,))
        return (*self.names, name)

    def name(self, state: int) -> Hashable:
        """Name of a state."""
        return state if self.names is None else self.names[state]

    def classes(self) -> Classes:
        """Communicating classes."""
        return communicating_classes(self.matrix)

    def has_transitions(self) -> NDArray[np.bool_]:
        """Whether each state has a transition."""
        matrix = self.matrix
        if isinstance(matrix, sparse.csr_array):
            return np.asarray(np.diff(matrix.indptr) > 0)
        return np.asarray(matrix.any(axis=1))

    @property
    def is_restarted(self) -> bool:
        """Whether the chain has restarts."""
        known = any(kind_of(change) == "restarted" for change in self.applied)
        return known or self.attributes.restart is not None
