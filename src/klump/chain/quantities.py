"""Quantities that follow from the transition matrix of a chain, computed when they are asked for."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from functools import cached_property
from types import MappingProxyType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from klump import information
from klump.chain import connectivity, rows, validation
from klump.chain.attributes import NO_ATTRIBUTES, Attributes, Reward
from klump.chain.parts import Parts
from klump.chain.restart import undo
from klump.chain.validation import Matrix
from klump.chain.wording import kind_of

# Largest residual of detailed balance, sum |J - J^T|, of a reversible chain.
_REVERSIBLE_TOLERANCE = 1e-10


class ChainQuantities:
    """The part of a :class:`klump.MarkovChain` that is derived: it needs the matrix, names and attributes."""

    transition_matrix: Matrix
    """The row-stochastic matrix P, read-only: an array, or a ``csr_array``."""
    original_index: NDArray[np.intp]
    """Index that each state had in the matrix given: another one after ``restrict``, -1 for the state ``(restart)``."""
    applied: tuple[str, ...]
    """Descriptions of the changes (``restart``, ``restrict``, powers) to the given chain, in order."""

    @property
    def n_states(self) -> int:
        """Number of states."""
        return int(self.transition_matrix.shape[0])

    @cached_property
    def n_transitions(self) -> int:
        """Number of transitions with positive probability."""
        if isinstance(self.transition_matrix, sparse.csr_array):
            return int(self.transition_matrix.nnz)
        return int(np.count_nonzero(self.transition_matrix))

    @property
    def is_sparse(self) -> bool:
        """Whether the transition matrix is sparse (CSR)."""
        return isinstance(self.transition_matrix, sparse.csr_array)

    @cached_property
    def states(self) -> tuple[Hashable, ...]:
        """Names of the states."""
        names: Sequence[Hashable] | None = self.__dict__["_names"]
        return tuple(range(self.n_states) if names is None else names)

    @cached_property
    def has_names(self) -> bool:
        """Whether the states have names other than their numbers."""
        return self.__dict__["_names"] is not None

    @property
    def _attributes(self) -> Attributes:
        attributes: Attributes = self.__dict__.get("_attributes", NO_ATTRIBUTES)  # older pickles have none
        return attributes

    @property
    def _is_restarted(self) -> bool:
        """Whether the chain has restarts."""
        known = any(kind_of(change) == "restarted" for change in self.applied)
        return known or self._attributes.restart is not None

    @property
    def _counted(self) -> NDArray[np.float64] | None:
        """Number of observed transitions out of each state, if the chain was estimated from counts."""
        return self.__dict__.get("_counted")

    @property
    def labels(self) -> Mapping[str, NDArray[np.intp]]:
        """Sorted indices of the states that have each label."""
        return MappingProxyType(self._attributes.labels)

    @property
    def initial(self) -> NDArray[np.float64] | None:
        """Distribution of the first state; None if it is not known."""
        return self._attributes.initial

    @property
    def rewards(self) -> Mapping[str, Reward]:
        """Rewards by name, per single step: of states, an array, or of transitions, a ``csr_array``."""
        return MappingProxyType(self._attributes.rewards)

    def without_restart(self) -> Self:
        """The chain before its restarts; the chain itself if it has none.

        A state ``(restart)`` is dropped, and a state that had no transition is absorbing. Transition probabilities are
        exact up to rounding errors of 1e-16 / (1 - p), with p the probability of a restart.

        >>> from klump import MarkovChain
        >>> chain = MarkovChain([[0.5, 0.5], [0.0, 1.0]], restart=0.1, initial=0)
        >>> chain.without_restart().transition_matrix
        array([[0.5, 0.5], [0. , 1. ]])
        """
        if not self._is_restarted:
            return self
        parts = undo(
            Parts(
                self.transition_matrix,
                self.__dict__["_names"],
                self.original_index,
                self._attributes,
                self._counted,
                self.applied,
            )
        )
        build: Any = type(self)
        chain: Self = build._from_parts(
            parts.matrix, None, parts.names, parts.original_index, parts.applied, parts.attributes
        )
        chain.__dict__["_counted"] = parts.counted
        return chain

    @property
    def uniformization_rate(self) -> float | None:
        """Rate q of the uniformised chain P = I + G / q of a generator G; None if the chain was not made of rates."""
        return self._attributes.rate

    @cached_property
    def classes(self) -> connectivity.Classes:
        """The communicating classes."""
        return connectivity.communicating_classes(self.transition_matrix)

    @property
    def is_irreducible(self) -> bool:
        """Whether every state can reach every other."""
        return self.classes.n_classes == 1

    @cached_property
    def stationary_distribution(self) -> NDArray[np.float64]:
        """The distribution mu with mu P = mu.

        Raises
        ------
        ReducibleChainError
            If the chain is reducible: then mu is not unique, or is zero at transient states.
        """
        if not self.is_irreducible:
            raise connectivity.reducible_error(
                self.classes,
                self.states,
                restarted=self._is_restarted,
                counted=self._counted is not None,
            )
        if "_supplied" in self.__dict__:
            supplied: NDArray[np.float64] = self.__dict__["_supplied"]
            return supplied
        from klump.chain.stationary import stationary_distribution

        return read_only(stationary_distribution(self.transition_matrix))

    @property
    def _known_stationary(self) -> NDArray[np.float64] | None:
        """The stationary distribution if it was supplied or is cached, else None; never solves for it."""
        known = self.__dict__
        mu: NDArray[np.float64] | None = known.get("stationary_distribution", known.get("_supplied"))
        return mu

    @cached_property
    def joint(self) -> Matrix:
        """Joint distribution of two successive states, J = diag(mu) P.

        If the chain is memory-mapped, J is memory-mapped to a temporary file in the same folder.
        """
        matrix, mu = self.transition_matrix, self.stationary_distribution
        if isinstance(matrix, sparse.csr_array):
            return read_only(rows.scale_csr_rows(matrix, mu))
        return read_only(matrix * mu[:, None])

    @cached_property
    def entropy_rate(self) -> float:
        """Entropy rate H(X2|X1), in bits per step."""
        mu = self.stationary_distribution
        blocks = rows.entries(self.transition_matrix)
        return sum(information.conditional_entropy(p, mu[row]) for row, _, p in blocks)

    @cached_property
    def redundancy_rate(self) -> float:
        """Redundancy rate I(X1;X2), in bits per step."""
        matrix, mu = self.transition_matrix, self.stationary_distribution
        # I(X1;X2) = sum_i mu_i D(P[i, :] || mu P)
        sums, next_mu = validation.row_sums(matrix), mu @ matrix
        blocks = rows.entries(matrix)
        return sum(information.divergence(p / sums[row], next_mu[col], mu[row]) for row, col, p in blocks)

    @cached_property
    def is_reversible(self) -> bool:
        """Whether detailed balance holds: ``sum |J - J^T| <= 1e-10`` with J = diag(mu) P."""
        matrix, mu = self.transition_matrix, self.stationary_distribution
        if not isinstance(matrix, sparse.csr_array):
            return float(np.abs(self.joint - self.joint.T).sum()) <= _REVERSIBLE_TOLERANCE
        from klump.chain.kernels.flows import balance_residual

        limit = _REVERSIBLE_TOLERANCE
        return balance_residual(matrix.indptr, matrix.indices, matrix.data, mu, limit) <= limit


def read_only(matrix: Any) -> Any:
    """Set an array, or those of a sparse matrix, read-only."""
    arrays = (matrix.data, matrix.indices, matrix.indptr) if sparse.issparse(matrix) else (matrix,)
    for array in arrays:
        array.flags.writeable = False
    return matrix
