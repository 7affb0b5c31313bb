"""Costs of an aggregation, in bits."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from klump import information
from klump.aggregation.mapping import Mapping, as_mapping
from klump.arguments import check_beta, check_gamma
from klump.chain import ChainLike, MarkovChain, as_chain
from klump.chain.restart_record import Restart, undo_blocks
from klump.chain.rows import Matrix, total
from klump.chain.validation import normalize_rows, row_sums
from klump.checkpoints import storable

# Groups up to which the aggregated matrix of a sparse chain is dense: 32 MB of float64.
_MAX_DENSE_GROUPS = 2000

# Redundancy rate that is 0 up to rounding, in bits.
_NO_REDUNDANCY = 1e-14


@storable
@dataclass(frozen=True)
class Costs:
    """C_L, C_P and C_G of a map, which determine every C_beta + gamma C_G.

    Examples
    --------
    >>> costs = Costs(lumpability=0.25, predictability=0.5, redundancy_rate=2.0, generated=1.5)
    >>> costs.at(1.0) == costs.bottleneck == 0.25
    True
    >>> costs.at(1.0, gamma=0.5)
    1.0
    >>> costs.kept
    0.75
    """

    lumpability: float
    """C_L = H(Y2|Y1) - H(Y2|X1): an upper bound on D(Y||Y~), the divergence rate from a Markov chain."""
    predictability: float
    """C_P = I(X1;X2) - I(Y1;Y2): the loss of mutual information between successive states."""
    redundancy_rate: float
    """I(X1;X2), the redundancy rate of the chain."""
    generated: float = np.nan
    """C_G = H(X2|X1) - H(Y2|X1), an upper bound on the loss of entropy rate, H(X) - H(Y); NaN if unknown.

    Never negative for a partition. A stochastic map adds randomness of its own, so that C_G may be negative.
    """

    @property
    def bottleneck(self) -> float:
        """C_1 = I(X1;X2|Y2) = C_P - C_L, the cost of the information bottleneck."""
        return self.predictability - self.lumpability

    @property
    def kept(self) -> float:
        """Share of the redundancy that is kept, I(Y1;Y2) / I(X1;X2); 1 if I(X1;X2) = 0."""
        if self.redundancy_rate <= _NO_REDUNDANCY:
            return 1.0
        return max(0.0, 1.0 - self.predictability / self.redundancy_rate)

    def at(self, beta: float, gamma: float = 0.0) -> float:
        """C_beta + gamma C_G = (1 - 2 beta) C_L + beta C_P + gamma C_G.

        Examples
        --------
        >>> import klump
        >>> P = [[0.5, 0.4, 0.1, 0.0], [0.4, 0.5, 0.0, 0.1], [0.1, 0.0, 0.4, 0.5], [0.0, 0.1, 0.5, 0.4]]
        >>> costs = klump.score(P, [0, 0, 1, 1])
        >>> round(costs.at(0.5), 4), round(costs.predictability / 2, 4)
        (0.054, 0.054)
        """
        beta, gamma = check_beta(beta), check_gamma(gamma)
        cost = (1.0 - beta) * self.lumpability + beta * self.bottleneck
        return cost + gamma * self.generated if gamma > 0.0 else cost

    def to_dict(self, beta: float, gamma: float = 0.0) -> dict[str, float]:
        """The cost C_beta + gamma C_G, the costs that it is made of, and the share kept, as JSON documents have them.

        >>> Costs(lumpability=0.25, predictability=0.5, redundancy_rate=2.0, generated=1.5).to_dict(beta=1.0)["cost"]
        0.25
        """
        return {
            "cost": self.at(beta, gamma),
            "lumpability": self.lumpability,
            "predictability": self.predictability,
            "bottleneck": self.bottleneck,
            "generated": self.generated,
            "kept": self.kept,
        }


def score(chain: ChainLike, labels_or_mapping: Any) -> Costs:
    """Compute the costs of a map, whichever tool found it.

    Parameters
    ----------
    chain
        A MarkovChain, a transition matrix, or an object with one.
    labels_or_mapping
        The group of each state (numbers from 0, or names), or an n x k matrix of membership probabilities.

    Examples
    --------
    >>> costs = score([[0.4, 0.3, 0.3], [0.25, 0.3, 0.45], [0.15, 0.425, 0.425]], [0, 1, 1])
    >>> round(costs.lumpability, 6), round(costs.predictability, 6)
    (0.00856, 0.013547)
    """
    chain = as_chain(chain)
    return compute_costs(chain, as_mapping(labels_or_mapping, chain.n_states))


def compute_costs(chain: MarkovChain, mapping: Mapping) -> Costs:
    """Compute the costs of a validated map."""
    redundancy = chain.redundancy_rate
    matrix, mu = chain.transition_matrix, chain.stationary_distribution
    joint = _project(_scale_rows(mapping.weights, mu), matrix, mapping)
    kept = information.mutual_information(joint)
    lumpability, generated = 0.0, 0.0
    if mapping.labels is None:
        after, sums = np.asarray(joint.sum(axis=0)).ravel(), row_sums(matrix)
        for row, col, p in next_group_distributions(matrix, mapping):
            p = p / sums[row]
            lumpability += information.divergence(p, after[col], mu[row])
            generated += information.conditional_entropy(p, mu[row])
        lumpability -= kept
    else:
        # C_L as a mean divergence is exactly 0 for a lumpable map; the difference of entropies has rounding errors.
        aggregated = aggregated_matrix(mu, mapping, matrix)
        for row, col, p in next_group_distributions(matrix, mapping):
            approximation = np.asarray(aggregated[mapping.labels[row], col])
            lumpability += information.divergence(p, approximation, mu[row])
            generated += information.conditional_entropy(p, mu[row])
    lumpability, lost = max(0.0, lumpability), chain.entropy_rate - generated
    # C_G >= 0 for a partition, and C_P >= C_L by data processing: rounding must not violate them.
    if mapping.labels is not None:
        lost = max(0.0, lost)
    return Costs(lumpability, max(lumpability, redundancy - kept), redundancy, lost)


def group_masses(chain: MarkovChain, mapping: Mapping) -> NDArray[np.float64]:
    """The stationary distribution nu = mu W of the groups."""
    return np.asarray(chain.stationary_distribution @ mapping.weights)


def next_group_distributions(
    matrix: Matrix, mapping: Mapping, restart: Restart | None = None
) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.float64]]]:
    """Yield P W in coordinate format (states, groups, values), one block of rows at a time.

    As a whole it may take as much memory as the chain. If a restart is given, P is the matrix before it.
    """
    for rows, block in undo_blocks(matrix, restart):
        row, col, p = information.coordinates(block @ mapping.weights)
        yield row + rows.start, col, p


def _project(
    weights: sparse.csr_array, matrix: Matrix, mapping: Mapping, restart: Restart | None = None
) -> Matrix:
    """V^T P W, with V the given weights (n x k)."""
    blocks = undo_blocks(matrix, restart)
    products = (weights[rows].T @ (block @ mapping.weights) for rows, block in blocks)
    if isinstance(matrix, sparse.csr_array) and mapping.n_groups > _MAX_DENSE_GROUPS:
        return total(map(sparse.csr_array, products))
    result = np.zeros((mapping.n_groups, mapping.n_groups))
    for product in products:
        result += product.toarray() if sparse.issparse(product) else product
    return result


def _scale_rows(weights: sparse.csr_array, factor: NDArray[np.float64]) -> sparse.csr_array:
    data = weights.data * np.repeat(factor, np.diff(weights.indptr))
    return sparse.csr_array((data, weights.indices, weights.indptr), shape=weights.shape)


def aggregated_matrix(
    mass_of_states: NDArray[np.float64],
    mapping: Mapping,
    matrix: Matrix,
    restart: Restart | None = None,
) -> Matrix:
    """Q = U P W, given mu: the best Markov approximation of the process of the groups (Corollary 1).

    Q is dense, unless P is sparse and there are more than 2,000 groups. If a restart is given, P is the matrix before
    it.
    """
    within = weights_within_groups(mass_of_states, mapping)
    aggregated = _project(sparse.csr_array(within.T), matrix, mapping, restart)
    if isinstance(aggregated, sparse.csr_array):
        return normalize_rows(aggregated)
    return np.asarray(aggregated / aggregated.sum(axis=1, keepdims=True))


def weights_within_groups(mass_of_states: NDArray[np.float64], mapping: Mapping) -> sparse.csr_array:
    """U = diag(1/nu) W^T diag(mu), given mu: the weights of the states within each group.

    The rows of U are divided by their largest entry before they are normalised, so that the row of a group of tiny mass
    does not underflow; if all masses of a group are 0 in floating point, W alone weights its states.
    """
    weights = sparse.csc_array(mapping.weights)
    mass = weights.data * mass_of_states[weights.indices]
    largest = np.maximum.reduceat(mass, weights.indptr[:-1])
    scale = np.repeat(largest, np.diff(weights.indptr))
    share = np.where(scale > 0.0, mass, weights.data) / np.where(scale > 0.0, scale, 1.0)
    within = sparse.csr_array((share, weights.indices, weights.indptr), shape=weights.shape[::-1])
    return sparse.csr_array(normalize_rows(within))
