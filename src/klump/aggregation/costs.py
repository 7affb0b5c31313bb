"""What an aggregation costs, in bits."""

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
from klump.chain.rows import Matrix, row_blocks, total
from klump.chain.validation import normalized_rows, row_sums

# With more groups than this the chain on the groups of a sparse chain is sparse as well.
_MOST_DENSE_GROUPS = 2000


@dataclass(frozen=True)
class Costs:
    """The three costs of a map, from which every C_beta + gamma C_G follows.

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
    """C_L = H(Y2|Y1) - H(Y2|X1): how far the aggregated process is from a Markov chain, at most."""
    predictability: float
    """C_P = I(X1;X2) - I(Y1;Y2): what the groups no longer tell of the next group."""
    redundancy_rate: float
    """I(X1;X2), what there was to keep."""
    generated: float = np.nan
    """C_G = H(X2|X1) - H(Y2|X1), an upper bound of the loss of entropy rate, H(X) - H(Y); NaN if not known.

    Never negative for a partition. A stochastic map adds randomness of its own, so that C_G may be negative.
    """

    @property
    def bottleneck(self) -> float:
        """C_1 = I(X1;X2|Y2), the information bottleneck's cost."""
        return self.predictability - self.lumpability

    @property
    def kept(self) -> float:
        """Share of the redundancy that is kept, I(Y1;Y2) / I(X1;X2); 1 if there was none."""
        if self.redundancy_rate <= 1e-14:
            return 1.0
        return max(0.0, 1.0 - self.predictability / self.redundancy_rate)

    def at(self, beta: float, gamma: float = 0.0) -> float:
        """C_beta + gamma C_G = (1 - 2 beta) C_L + beta C_P + gamma C_G."""
        beta, gamma = check_beta(beta), check_gamma(gamma)
        cost = (1.0 - beta) * self.lumpability + beta * self.bottleneck
        return cost + gamma * self.generated if gamma > 0.0 else cost


def score(chain: ChainLike, labels_or_mapping: Any) -> Costs:
    """Score any map from anywhere.

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
    """Costs of a validated map."""
    redundancy = chain.redundancy_rate
    matrix, mu = chain.transition_matrix, chain.stationary_distribution
    joint = _between_groups(_scaled(mapping.weights, mu), matrix, mapping)
    kept = information.mutual_information(joint)
    lumpability, generated = 0.0, 0.0
    if mapping.labels is None:
        after, sums = np.asarray(joint.sum(axis=0)).ravel(), row_sums(matrix)
        for row, col, law in to_groups(matrix, mapping):
            law = law / sums[row]
            lumpability += information.divergence(law, after[col], mu[row])
            generated += information.conditional_entropy(law, mu[row])
        lumpability -= kept
    else:
        # As a mean divergence: exactly 0 for a lumpable map, where the difference would leave rounding.
        aggregated = aggregated_matrix(mu, mapping, matrix)
        for row, col, law in to_groups(matrix, mapping):
            approximation = np.asarray(aggregated[mapping.labels[row], col])
            lumpability += information.divergence(law, approximation, mu[row])
            generated += information.conditional_entropy(law, mu[row])
    lumpability, lost = max(0.0, lumpability), chain.entropy_rate - generated
    # A partition generates no more than the chain, and data processing gives C_P >= C_L: only rounding says otherwise.
    if mapping.labels is not None:
        lost = max(0.0, lost)
    return Costs(lumpability, max(lumpability, redundancy - kept), redundancy, lost)


def group_masses(chain: MarkovChain, mapping: Mapping) -> NDArray[np.float64]:
    """The marginal nu of the groups."""
    return np.asarray(chain.stationary_distribution @ mapping.weights)


def to_groups(
    matrix: Matrix, mapping: Mapping
) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.float64]]]:
    """P W, the probabilities of leading to each group: states, groups and values, block by block of states.

    All at once they may take as much memory as the chain.
    """
    for rows, block in row_blocks(matrix):
        row, col, law = information.coordinates(block @ mapping.weights)
        yield row + rows.start, col, law


def _between_groups(weights: sparse.csr_array, matrix: Matrix, mapping: Mapping) -> Matrix:
    """Where groups lead, by groups, if their states count as the weights (n x k) say."""
    products = (weights[rows].T @ (block @ mapping.weights) for rows, block in row_blocks(matrix))
    if isinstance(matrix, sparse.csr_array) and mapping.n_groups > _MOST_DENSE_GROUPS:
        return total(map(sparse.csr_array, products))
    result = np.zeros((mapping.n_groups, mapping.n_groups))
    for product in products:
        result += product.toarray() if sparse.issparse(product) else product
    return result


def _scaled(weights: sparse.csr_array, factor: NDArray[np.float64]) -> sparse.csr_array:
    data = weights.data * np.repeat(factor, np.diff(weights.indptr))
    return sparse.csr_array((data, weights.indices, weights.indptr), shape=weights.shape)


def aggregated_matrix(mass_of_states: NDArray[np.float64], mapping: Mapping, matrix: Matrix) -> Matrix:
    """Q = U P W, given mu: the best Markov approximation of the aggregated process (Corollary 1).

    The rows of U are scaled by their own largest weight first, so that groups of vanishing mass get a valid
    row too; a group whose masses are all zero in floating point weighs its states alike. Q is dense, unless P
    is sparse and there are more than 2,000 groups.
    """
    weights = sparse.csc_array(mapping.weights)
    mass = weights.data * mass_of_states[weights.indices]
    largest = np.maximum.reduceat(mass, weights.indptr[:-1])
    scale = np.repeat(largest, np.diff(weights.indptr))
    share = np.where(scale > 0.0, mass, weights.data) / np.where(scale > 0.0, scale, 1.0)
    backwards = sparse.csr_array((share, weights.indices, weights.indptr), shape=weights.shape[::-1])
    backwards = normalized_rows(backwards)
    aggregated = _between_groups(sparse.csr_array(backwards.T), matrix, mapping)
    if isinstance(aggregated, sparse.csr_array):
        return normalized_rows(aggregated)
    return np.asarray(aggregated / aggregated.sum(axis=1, keepdims=True))
