"""Null model of the selection: the chain with groups kept and everything within their blocks shuffled.

Block (g, h) of J = diag(mu) P holds the transitions from states of group g to states of group h. A shuffled chain keeps
the number of transitions of each block, the numbers of successors and of predecessors of each state, and on average
the mass of each block and of each state; otherwise its transitions are random. So the given groups are as good a
description of it as of the chain, and no further structure is left: what a search gains on it by one more group is
chance. With one group of all states, nothing but the masses and degrees of the states is kept.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from klump.chain import MarkovChain
from klump.chain.validation import row_sums
from klump.search.method import Labels

Array = NDArray[np.float64]

# Density above which the entries of a block are permuted, zeros included, instead of the ends of its transitions:
# there, transitions with random ends would often coincide.
_MAX_SPARSE_DENSITY = 0.3
# Rounds of exchanging the ends of coinciding transitions; those that are left are added up.
_REPAIR_ROUNDS = 10
# Weight of the chain itself in a shuffled chain that is not irreducible, which makes it so.
_MIXED_IN = 0.01
# Smallest mass that is divided by.
_MIN_MASS = 1e-150


def shuffle(chain: MarkovChain, labels: Labels, rng: np.random.Generator) -> MarkovChain:
    """Draw a chain with the groups ``labels`` of a chain, and no other structure; reversible if the chain is.

    Examples
    --------
    >>> import klump
    >>> chain = klump.MarkovChain([[0.5, 0.4, 0.1, 0], [0.4, 0.5, 0, 0.1], [0.1, 0, 0.4, 0.5], [0, 0.1, 0.5, 0.4]])
    >>> shuffled = shuffle(chain, np.array([0, 0, 1, 1]), np.random.default_rng(0))
    >>> np.round(shuffled.transition_matrix.sum(axis=1), 12).tolist()
    [1.0, 1.0, 1.0, 1.0]
    """
    n, matrix, symmetric = chain.n_states, chain.transition_matrix, chain.is_reversible
    mu = np.maximum(chain.stationary_distribution, _MIN_MASS)
    if chain.n_transitions > _MAX_SPARSE_DENSITY * n * n:
        weights: Any = _shuffle_entries(_dense(matrix), mu, labels, rng, symmetric=symmetric)
        weights = sparse.csr_array(weights) if chain.is_sparse else weights
    else:
        weights = _shuffle_ends(sparse.coo_array(matrix), mu, labels, rng, symmetric=symmetric)
        weights = weights if chain.is_sparse else weights.toarray()
    sums = row_sums(weights)
    if sums.min() > 0.0:
        shuffled = MarkovChain(weights, normalize=True)
        if shuffled.is_irreducible:
            return shuffled
    return MarkovChain((1.0 - _MIXED_IN) * weights + _MIXED_IN * sums.mean() * matrix, normalize=True)


def _dense(matrix: Any) -> Array:
    return np.asarray(matrix.toarray() if sparse.issparse(matrix) else matrix)


def _shuffle_entries(
    matrix: Array, mu: Array, labels: Labels, rng: np.random.Generator, *, symmetric: bool
) -> Array:
    """Permute J[i, j] / (mu[i] mu[j]) = P[i, j] / mu[j] within each block; rows are to be normalised."""
    ratio = matrix / mu
    members = [np.flatnonzero(labels == group) for group in range(int(labels.max()) + 1)]
    for g, rows in enumerate(members):
        for h, columns in enumerate(members):
            block = np.ix_(rows, columns)
            if not symmetric:
                ratio[block] = rng.permutation(ratio[block].ravel()).reshape(len(rows), len(columns))
            elif g == h:
                ratio[block] = _permute_symmetric(ratio[block], rng)
            elif g < h:
                ratio[block] = rng.permutation(ratio[block].ravel()).reshape(len(rows), len(columns))
                ratio[np.ix_(columns, rows)] = ratio[block].T
    return np.asarray(ratio * mu)


def _permute_symmetric(block: Array, rng: np.random.Generator) -> Array:
    """Permute the diagonal, and the entries above it, of a symmetric matrix."""
    permuted = np.zeros_like(block)
    above = np.triu_indices(len(block), 1)
    permuted[above] = rng.permutation(block[above])
    permuted += permuted.T
    np.fill_diagonal(permuted, rng.permutation(np.diag(block)))
    return permuted


def _shuffle_ends(
    matrix: sparse.coo_array, mu: Array, labels: Labels, rng: np.random.Generator, *, symmetric: bool
) -> sparse.csr_array:
    """Permute the sources of transitions from the same group, and the targets of transitions to the same group.

    The mass of a transition, relative to the mean masses of transitions out of its source and into its target, moves
    with it; rows are to be normalised.
    """
    rows, columns = (index.astype(np.int64) for index in matrix.coords)
    n = matrix.shape[0]
    out_degree, in_degree = np.bincount(rows, minlength=n), np.bincount(columns, minlength=n)
    in_mean = mu / np.maximum(in_degree, 1)
    # J[i, j] / (out_mean[i] in_mean[j]) with out_mean[i] = mu[i] / out_degree[i]
    ratio = matrix.data * out_degree[rows] / in_mean[columns]
    if symmetric:
        # Each pair of opposite transitions is one edge; self-transitions stay as they are.
        upper = rows < columns
        ends = _permute_ends(rows[upper], columns[upper], labels, rng, symmetric=True)
        loops = rows == columns
        sources = np.concatenate([ends[0], ends[1], rows[loops]])
        targets = np.concatenate([ends[1], ends[0], rows[loops]])
        ratio = np.concatenate([ratio[upper], ratio[upper], ratio[loops]])
    else:
        sources, targets = _permute_ends(rows, columns, labels, rng, symmetric=False)
    weights = ratio * in_mean[targets]
    shuffled = sparse.csr_array(sparse.coo_array((weights, (sources, targets)), shape=matrix.shape))
    shuffled.sum_duplicates()
    return shuffled


def _permute_ends(
    sources: NDArray[np.int64],
    targets: NDArray[np.int64],
    labels: Labels,
    rng: np.random.Generator,
    *,
    symmetric: bool,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Permute the ends of transitions within groups; in the symmetric case, sources and targets alike."""
    m, n = len(sources), len(labels)
    # Ends of the transitions; both kinds of ends are exchanged with each other only if the chain is reversible.
    ends = np.concatenate([sources, targets])
    kind = labels[ends].astype(np.int64) + (
        0 if symmetric else (int(labels.max()) + 1) * (np.arange(2 * m) >= m)
    )
    _permute_within(ends, kind, np.arange(2 * m), rng)
    for _ in range(_REPAIR_ROUNDS):
        first, second = ends[:m], ends[m:]
        low, high = (np.minimum(first, second), np.maximum(first, second)) if symmetric else (first, second)
        key = low * n + high
        order = np.argsort(key, kind="stable")
        coincide = order[1:][key[order[1:]] == key[order[:-1]]]
        if symmetric:
            coincide = np.union1d(coincide, np.flatnonzero(first == second))
        if coincide.size == 0:
            break
        others = rng.choice(2 * m, size=min(2 * m, 4 * coincide.size), replace=False)
        _permute_within(ends, kind, np.union1d(m + coincide, others), rng)
    return ends[:m], ends[m:]


def _permute_within(
    ends: NDArray[np.int64], kind: NDArray[np.int64], chosen: NDArray[Any], rng: np.random.Generator
) -> None:
    """Permute the chosen ends that are of the same kind, in place."""
    by_kind = chosen[np.argsort(kind[chosen], kind="stable")]
    shuffled = chosen[np.lexsort((rng.random(len(chosen)), kind[chosen]))]
    ends[by_kind] = ends[shuffled]
