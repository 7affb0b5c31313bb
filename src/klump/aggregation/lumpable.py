"""Whether the groups of a partition form a Markov chain of their own, exactly."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from klump.aggregation.costs import to_groups
from klump.aggregation.mapping import Mapping, as_mapping
from klump.arguments import check_number
from klump.chain import ChainLike, as_chain
from klump.chain.rows import folder_of
from klump.errors import InvalidArgumentError
from klump.search import exact

_MOST_GROUPS = (
    2000  # of a mapped chain that is looked through block by block, with all pairs of groups in memory
)


def is_lumpable(chain: ChainLike, labels: Any, tolerance: float = 1e-10) -> bool:
    """Check ordinary lumpability: all states of a group lead to each group with the same probability.

    Then the groups form a Markov chain, whatever state or law the chain starts from. The chain need not be
    irreducible. One group of all states is always lumpable, and so is every state by itself.

    Parameters
    ----------
    chain
        A MarkovChain, a transition matrix (dense or sparse), or an object with one.
    labels
        The group of each state: numbers from 0, or names.
    tolerance
        How far probabilities may differ that count as the same; at least 1e-11, as sums are rounded.

    Examples
    --------
    >>> P = [[0.5, 0.4, 0.1], [0.4, 0.5, 0.1], [0.1, 0.1, 0.8]]
    >>> is_lumpable(P, [0, 0, 1]), is_lumpable(P, [0, 1, 1])
    (True, False)
    """
    chain = as_chain(chain)
    mapping = as_mapping(labels, chain.n_states)
    if mapping.labels is None:
        raise InvalidArgumentError(
            "must be a deterministic map", argument="labels", remedy="pass one group for each state"
        )
    tolerance = check_number("tolerance", tolerance, most=1.0)
    matrix = chain.transition_matrix
    if isinstance(matrix, sparse.csr_array) and folder_of(matrix) and mapping.n_groups <= _MOST_GROUPS:
        return _spread(matrix, mapping) <= max(tolerance, exact._LEAST_TOLERANCE)
    # The sums of the search itself, so that what it finds passes to the last digit; it copies the chain.
    return exact.is_lumpable(matrix, mapping.labels, tolerance)


def _spread(matrix: sparse.csr_array, mapping: Mapping) -> float:
    """Largest difference between states of a group in their probability of leading to some group."""
    k, labels = mapping.n_groups, mapping.labels
    assert labels is not None
    least, most, seen = np.full(k * k, np.inf), np.zeros(k * k), np.zeros(k * k, dtype=np.int64)
    for row, col, law in to_groups(matrix, mapping):
        pair = labels[row] * np.int64(k) + col
        np.minimum.at(least, pair, law)
        np.maximum.at(most, pair, law)
        np.add.at(seen, pair, 1)
    least[seen < np.repeat(np.bincount(labels), k)] = 0.0  # some state does not lead there
    return float((most - least).max())
