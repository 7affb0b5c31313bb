"""A chain under construction: its matrix, whose rows may be empty, with all that belongs to its states."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from klump.chain.attributes import Attributes
from klump.chain.connectivity import Classes, communicating_classes
from klump.chain.rows import Matrix
from klump.chain.wording import kind_of


class Parts(NamedTuple):
    """Parts of a chain, as the remedies for reducible chains change them."""

    matrix: Matrix
    """Transition matrix; a dead end has an empty row."""
    names: tuple[Hashable, ...] | None
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
        return any(kind_of(change) == "restarted" for change in self.applied)
