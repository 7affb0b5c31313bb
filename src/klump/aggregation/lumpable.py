"""Ordinary lumpability of a partition."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from klump.aggregation.costs import next_group_distributions
from klump.aggregation.mapping import Mapping, as_mapping
from klump.arguments import check_number
from klump.chain import ChainLike, as_chain
from klump.chain.rows import folder_of
from klump.errors import InvalidArgumentError
from klump.search import exact

# Groups up to which a memory-mapped chain is checked block by block: three arrays of k x k float64 or int64, 96 MB.
_MAX_GROUPS_BY_BLOCK = 2000


def is_lumpable(chain: ChainLike, labels: Any, tolerance: float = 1e-10) -> bool:
    """Check ordinary lumpability: all states of a group lead to each group with the same probability.

    Then the groups form a Markov chain for every initial distribution. The chain need not be irreducible. The
    partition into one group is always lumpable, and so is the partition into single states.

    Parameters
    ----------
    chain
        A MarkovChain, a transition matrix (dense or sparse), or an object with one.
    labels
        The group of each state: numbers from 0, or names.
    tolerance
        Largest difference between probabilities that count as equal; at least 1e-11, because sums are rounded.

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
    if (
        isinstance(matrix, sparse.csr_array)
        and folder_of(matrix)
        and mapping.n_groups <= _MAX_GROUPS_BY_BLOCK
    ):
        return _spread(matrix, mapping) <= max(tolerance, exact._LEAST_TOLERANCE)
    # The same sums, in the same order, as method="exact", so that its partitions always pass; it copies the chain.
    return exact.is_lumpable(matrix, mapping.labels, tolerance)


def _spread(matrix: sparse.csr_array, mapping: Mapping) -> float:
    """Max |(P W)[i, z] - (P W)[j, z]| over groups z and states i, j of the same group."""
    k, labels = mapping.n_groups, mapping.labels
    assert labels is not None
    least, most, count = np.full(k * k, np.inf), np.zeros(k * k), np.zeros(k * k, dtype=np.int64)
    for row, col, p in next_group_distributions(matrix, mapping):
        pair = labels[row] * np.int64(k) + col
        np.minimum.at(least, pair, p)
        np.maximum.at(most, pair, p)
        np.add.at(count, pair, 1)
    least[count < np.repeat(np.bincount(labels), k)] = 0.0  # some state has probability 0
    return float((most - least).max())
