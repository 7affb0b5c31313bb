"""Liftings: chains on the original states whose groups have the transition matrix of the aggregated chain.

P is the transition matrix of the original chain, mu its stationary distribution, W the map and Q the transition
matrix of the aggregated chain.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from klump import information
from klump.aggregation.mapping import Mapping
from klump.chain import MarkovChain
from klump.chain.rows import Matrix, row_blocks
from klump.chain.validation import normalize_rows
from klump.errors import InvalidArgumentError, Setting

# Largest number of transitions of a pi-lifting: 400 MB of float64 values if it is dense, 600 MB with column indices.
_MAX_LIFTED_TRANSITIONS = 50_000_000


def stationary_lifting(
    matrix: Matrix, mass: NDArray[np.float64], mapping: Mapping, aggregated: Matrix
) -> Matrix:
    """W Q U with U = diag(1/nu) W^T diag(mu); sparse if P is."""
    n, weights = len(mass), mapping.weights
    is_sparse = isinstance(matrix, sparse.csr_array)
    between = sparse.csr_array(aggregated) if is_sparse else aggregated
    members = np.bincount(weights.indices, minlength=mapping.n_groups)
    size = int(members @ ((between > 0.0) @ members)) if is_sparse else n * n
    if size > _MAX_LIFTED_TRANSITIONS:
        raise InvalidArgumentError(
            f"lifting {n} states would store {size} transitions",
            remedy=("use the aggregated chain, or lift with ", Setting("kind", "transition")),
        )
    return weights @ (between @ _within_groups(mass, mapping))


def transition_lifting(
    matrix: Matrix, mass: NDArray[np.float64], mapping: Mapping, aggregated: Matrix
) -> Matrix:
    """P[i, j] sum_z W[j, z] (W Q)[i, z] / (P W)[i, z]; sparse if P is.

    Where (P W)[i, z] = 0, (W Q)[i, z] goes to the heaviest state of z.
    """
    # float32, so that ties between equal masses are not broken by rounding.
    heaviest = np.asarray(_within_groups(mass, mapping).astype(np.float32).argmax(axis=1)).ravel()
    between = sparse.csr_array(aggregated)
    blocks = (
        _lift_rows(block, mapping.weights[rows], mapping.weights, between, heaviest)
        for rows, block in row_blocks(matrix)
    )
    if isinstance(matrix, sparse.csr_array):
        return sparse.vstack(list(blocks), format="csr")
    return np.concatenate([block.toarray() for block in blocks])


def _lift_rows(
    block: Matrix,
    own: sparse.csr_array,
    weights: sparse.csr_array,
    between: sparse.csr_array,
    heaviest: NDArray[np.intp],
) -> sparse.csr_array:
    """Rows of the P-lifting, from the same rows of P and W, and from W, Q and the heaviest state of each group."""
    wanted, reached = sparse.csr_array(own @ between), sparse.csr_array(block @ weights)  # W Q, P W
    row, group, probability = information.coordinates(reached)
    ratio = reached.copy()
    ratio.data = _at(wanted, row, group) / probability
    state, following, p = information.coordinates(block)
    # One row per transition (i, j), one entry per group z of j: W[j, z] (W Q)[i, z] / (P W)[i, z].
    shares = weights[following]
    transition = np.repeat(np.arange(len(p)), np.diff(shares.indptr))
    shares.data *= _at(ratio, state[transition], shares.indices)
    row, group, probability = information.coordinates(wanted)
    missing = _at(reached, row, group) == 0.0
    value = np.concatenate([p * np.asarray(shares.sum(axis=1)).ravel(), probability[missing]])
    place = np.concatenate([state, row[missing]]), np.concatenate([following, heaviest[group[missing]]])
    return sparse.csr_array((value, place), shape=block.shape)


def _at(matrix: sparse.csr_array, row: NDArray[np.intp], column: NDArray[np.intp]) -> NDArray[np.float64]:
    """Entries at places; older versions of SciPy return them as a matrix of one row."""
    return np.asarray(matrix[row, column]).ravel()


def _within_groups(mass: NDArray[np.float64], mapping: Mapping) -> sparse.csr_array:
    """U = diag(1/nu) W^T diag(mu); W alone weights the states of a group whose masses are all 0 in floating point."""
    weights = sparse.csr_array(mapping.weights.T)
    scaled = weights.data * mass[weights.indices]
    empty = np.maximum.reduceat(scaled, weights.indptr[:-1]) < np.finfo(float).tiny
    scaled = np.where(np.repeat(empty, np.diff(weights.indptr)), weights.data, scaled)
    return normalize_rows(sparse.csr_array((scaled, weights.indices, weights.indptr), shape=weights.shape))


LIFTINGS: dict[str, Callable[[Matrix, NDArray[np.float64], Mapping, Matrix], Matrix]] = {
    "stationary": stationary_lifting,
    "transition": transition_lifting,
}


class Liftings:
    """The part of an :class:`klump.Aggregation` that expands the aggregated chain to the original states."""

    original: MarkovChain
    map: Mapping
    chain: Any
    state_weights: Any

    def lift(self, kind: str = "stationary") -> MarkovChain:
        """Expand the aggregated chain Q to a chain on the original states.

        With W the map, mu the stationary distribution and nu = mu W:

        - ``"stationary"``, the pi-lifting of Deng, Mehta and Meyn: W Q U with U = diag(1/nu) W^T diag(mu). From a
          state i it goes to the group z with probability (W Q)[i, z], and within z in proportion to mu. It keeps mu as
          stationary distribution.
        - ``"transition"``, the P-lifting of Geiger, Petrov, Kubin and Koeppl: within z it goes in proportion to the
          transitions P[i, :] of the original chain. Its entry (i, j) is
          P[i, j] sum_z W[j, z] (W Q)[i, z] / (P W)[i, z].

        For a partition the divergence rates of the original chain from the two are the costs C_P and C_L; for a
        stochastic map they are at most that.

        Where (P W)[i, z] = 0 but (W Q)[i, z] > 0, the P-lifting may distribute (W Q)[i, z] within z in any way: the
        original chain never takes such a step, so no divergence depends on it. Geiger et al. distribute it evenly; here
        the state with the largest mu[j] W[j, z] gets it all (ties go to the lowest index), so that the result has at
        most n k more entries than P.

        Parameters
        ----------
        kind
            ``"stationary"`` or ``"transition"``.

        Returns
        -------
        MarkovChain
            Sparse if the original chain is. The pi-lifting links all states of linked groups, so that its size is
            limited to 50,000,000 transitions.

        Examples
        --------
        >>> from klump import Aggregation, divergence_rate
        >>> P = [[0.4, 0.3, 0.3], [0.25, 0.3, 0.45], [0.15, 0.425, 0.425]]
        >>> answer = Aggregation.from_labels(P, [0, 1, 1])
        >>> [round(divergence_rate(P, answer.lift(kind)), 6) for kind in ("transition", "stationary")]
        [0.00856, 0.013547]
        """
        lifting = LIFTINGS.get(kind) if isinstance(kind, str) else None
        if lifting is None:
            raise InvalidArgumentError(
                "is not known",
                argument="kind",
                value=kind,
                remedy=f"choose {' or '.join(map(repr, LIFTINGS))}",
            )
        mass = self.original.stationary_distribution if kind == "stationary" else self.state_weights
        matrix = lifting(self.original.transition_matrix, mass, self.map, self.chain.transition_matrix)
        names = self.original.states if self.original.has_names else None
        return MarkovChain(matrix, names, normalize=True)
