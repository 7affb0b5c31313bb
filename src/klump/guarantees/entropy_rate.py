"""Bounds on the entropy rate of a hidden Markov process, from blocks of increasing length.

X is the Markov chain and Y the process of its groups: Y_t is drawn from the row W[X_t] of the map. For every m

    H(Y_m | Y_1 .. Y_m-1, X_1)  <=  entropy rate of Y  <=  H(Y_m | Y_1 .. Y_m-1),

and both bounds get tighter with m. They follow from the probabilities of words w = (y_2, ..., y_m) of groups,
P(Y_2 .. Y_m = w | X_1 = x), a matrix with one row per state x and one column per word w. A matrix product prepends a
letter y to every word:

    P(Y_2 .. Y_m+1 = y w | X_1 = x) = sum_x' P[x, x'] W[x', y] P(Y_2 .. Y_m = w | X_1 = x').
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from klump import information
from klump.chain import MarkovChain
from klump.chain.validation import row_sums, scale_rows

# Largest number of stored word probabilities: 128 MB of float64 if dense. The first block beyond it is the last one.
_MAX_STORED_PROBABILITIES = 1 << 24
# Probabilities per dense chunk: 2 MB of float64, to fit in the L2 cache.
_DENSE_CHUNK = 1 << 18
# Probabilities per sparse chunk: at most 64 MB with their indices.
_SPARSE_CHUNK = 1 << 22
# Fewest columns per dense chunk, for chains with many states.
_MIN_CHUNK_COLUMNS = 16
# Entries of a sparse distribution per chunk: its temporary arrays fit in the L2 cache.
_ENTRIES_PER_CHUNK = 1 << 15
# Density above which a dense matrix is faster than a sparse one.
_DENSE_ABOVE_DENSITY = 0.25
# Groups up to which Q and the joint distribution of two successive groups are dense: 32 MB each.
_MAX_DENSE_GROUPS = 2000
# Fixed overhead of a block length, in operations.
_OPERATIONS_PER_BLOCK = 10_000
# Dense multiplications per operation; one logarithm or one sparse multiplication is one operation.
_DENSE_MULTIPLICATIONS_PER_OPERATION = 16


@dataclass(frozen=True)
class Block:
    """Bounds on the entropy rate from blocks of one length, in bits."""

    length: int
    """The number m of groups per block."""
    lower: float
    """H(Y_m | Y_1 .. Y_m-1, X_1)."""
    upper: float
    """H(Y_m | Y_1 .. Y_m-1)."""
    rounding: float
    """Bound on the rounding error of both bounds."""
    operations: int
    """Operations up to this length: logarithms and multiplications."""
    total_variation: float
    """Total variation between the distributions of Y_1 .. Y_m and of Y~_1 .. Y~_m, the stationary aggregated chain."""


class HiddenMarkovProcess(NamedTuple):
    """A Markov chain, its map to groups, and joint distributions of successive groups."""

    matrix: Any  # P
    weights: sparse.csr_array  # W
    weights_by_group: sparse.csc_array  # W, by column
    group_state_joint: Any  # W^T diag(mu) P: joint distribution of (Y_1, X_2)
    mu: NDArray[np.float64]
    next_group: Any  # P W: distribution of Y_2 given X_1
    group_joint: Any  # W^T diag(mu) P W: joint distribution of (Y_1, Y_2)
    aggregated: Any  # Q


class _Words(NamedTuple):
    """Words of positive probability."""

    probabilities: Any  # P(Y_2 .. Y_m = w | X_1 = x): one row per state x, one column per word w
    first_letter: NDArray[np.intp]  # of each word
    approximation: NDArray[np.float64]  # Q[y_2, y_3] ... Q[y_m-1, y_m] of each word


def blocks(process: HiddenMarkovProcess, budget: float) -> Iterator[Block]:
    """Yield bounds from blocks of length 2, 3, ... while their operations stay within the budget.

    Length 2 is free. The operations of a longer block are counted before it is computed. Words of probability 0 are
    left out.

    Examples
    --------
    >>> chain = MarkovChain([[0.4, 0.3, 0.3], [0.25, 0.3, 0.45], [0.15, 0.425, 0.425]])
    >>> for block in blocks(hidden_markov_process(chain, sparse.csr_array([[1, 0], [0, 1], [0, 1.0]])), budget=40_000):
    ...     print(block.length, f"{block.lower:.4f} {block.upper:.4f}")
    2 0.7695 0.7781
    3 0.7780 0.7781
    4 0.7781 0.7781
    5 0.7781 0.7781
    """
    k = process.weights.shape[1]
    words: _Words | None = _Words(process.next_group, np.arange(k), np.ones(k))
    single_entropy = information.entropy(process.mu @ process.weights)  # H(Y_1)
    block_entropy = information.entropy(_values(process.group_joint))  # H(Y_1 .. Y_m)
    entropy_given_state = _mean_entropy(process.next_group, process.mu)  # H(Y_2 .. Y_m | X_1)
    rounding = _rounding_bound(2, block_entropy)
    yield Block(2, entropy_given_state, block_entropy - single_entropy, rounding, 0, 0.0)
    length, spent = 2, 0
    while words is not None:
        words = words._replace(probabilities=_choose_storage(words.probabilities))
        operations, size = _count_operations(process, words.probabilities)
        spent += operations + _OPERATIONS_PER_BLOCK
        if spent > budget:
            return
        length += 1
        shorter = entropy_given_state, block_entropy
        block_entropy, entropy_given_state, variation, words = _extend_words(process, words, size)
        # Chain rule: H(Y_m | Y_1 .. Y_m-1) = H(Y_1 .. Y_m) - H(Y_1 .. Y_m-1), and the same given X_1.
        bounds = entropy_given_state - shorter[0], block_entropy - shorter[1]
        yield Block(length, *bounds, _rounding_bound(length, block_entropy), spent, variation)


def hidden_markov_process(chain: MarkovChain, weights: sparse.csr_array) -> HiddenMarkovProcess:
    """Joint distributions of successive groups; sparse only if the chain is sparse and has more than 2,000 groups."""
    group_state_joint = sparse.csr_array(weights.T) @ chain.joint
    group_joint = group_state_joint @ weights
    if weights.shape[1] <= _MAX_DENSE_GROUPS:
        group_joint = _to_dense(group_joint)
    # A group whose mass underflows to 0 has no row of Q; every word that contains it has probability 0, too.
    inverse = 1.0 / np.maximum(row_sums(group_joint), np.finfo(float).tiny)
    return HiddenMarkovProcess(
        matrix=chain.transition_matrix,
        weights=weights,
        weights_by_group=sparse.csc_array(weights),
        group_state_joint=group_state_joint,
        mu=chain.stationary_distribution,
        next_group=chain.transition_matrix @ weights,
        group_joint=group_joint,
        aggregated=scale_rows(group_joint, inverse),
    )


def _rounding_bound(length: int, entropy: float) -> float:
    """Bound on the rounding error of a block entropy: 4 eps m (1 + H), as each letter rounds the probabilities once."""
    return float(4.0 * np.finfo(float).eps * length * (1.0 + entropy))


def _values(matrix: Any) -> NDArray[np.float64]:
    return matrix.data if sparse.issparse(matrix) else np.ravel(matrix)


def _choose_storage(words: Any) -> Any:
    """Convert word probabilities to a dense matrix if that is faster."""
    if sparse.issparse(words) and words.nnz > _DENSE_ABOVE_DENSITY * words.shape[0] * words.shape[1]:
        return words.toarray()
    return words


def _count_operations(process: HiddenMarkovProcess, words: Any) -> tuple[int, int]:
    """Count the operations of extending words by a letter, and the probabilities of the extended words."""
    n, k = process.weights.shape
    possible = n * k * words.shape[1]
    # Products per entry of the row of a state: its non-zeros in the columns of P and of W^T diag(mu) P.
    used = _column_counts(process.matrix) + _column_counts(process.group_state_joint)
    groups_per_state = np.diff(process.weights.indptr).astype(np.int64)
    if sparse.issparse(words):
        products = int(used @ (groups_per_state * np.diff(words.indptr)))
        return products + min(products, possible), min(products, possible)
    products = int(used @ groups_per_state) * words.shape[1]
    return products // _DENSE_MULTIPLICATIONS_PER_OPERATION + possible, possible


def _column_counts(matrix: Any) -> NDArray[np.int64]:
    if not sparse.issparse(matrix):
        return np.full(matrix.shape[1], matrix.shape[0], dtype=np.int64)
    return np.bincount(matrix.indices, minlength=matrix.shape[1]).astype(np.int64)


def _extend_words(
    process: HiddenMarkovProcess, words: _Words, size: int
) -> tuple[float, float, float, _Words | None]:
    """Extend words by one letter.

    Returns
    -------
    tuple
        H(Y_1 .. Y_m), H(Y_2 .. Y_m | X_1), the total variation between the distributions of Y_1 .. Y_m and
        Y~_1 .. Y~_m, and the extended words: None if their ``size`` probabilities are too many to store.
    """
    n = process.mu.size
    block_entropy, entropy_given_state, variation = 0.0, 0.0, 0.0
    kept: list[_Words] = []
    for matrix, group_state_joint, longer in _prepend_letters(process, words):
        block_distribution = group_state_joint @ longer.probabilities
        block_entropy += information.entropy(_values(block_distribution))
        variation += _positive_difference(block_distribution, process.group_joint, longer)
        is_sparse = sparse.issparse(longer.probabilities)
        rows = _SPARSE_CHUNK * n // size + 1 if is_sparse else n
        parts = []
        for start in range(0, n, rows):
            part = matrix[start : start + rows] @ longer.probabilities
            entropy_given_state += _mean_entropy(part, process.mu[start : start + rows])
            if size <= _MAX_STORED_PROBABILITIES:
                parts.append(part)
        if parts:
            stacked = sparse.vstack(parts, format="csr") if is_sparse else parts[0]
            kept.append(longer._replace(probabilities=stacked))
    if len(kept) < 2:
        return block_entropy, entropy_given_state, variation, kept[0] if kept else None
    extended = _Words(*(np.concatenate(parts, axis=-1) for parts in zip(*kept, strict=True)))
    return block_entropy, entropy_given_state, variation, extended


def _prepend_letters(process: HiddenMarkovProcess, words: _Words) -> Iterator[tuple[Any, Any, _Words]]:
    """Yield P, W^T diag(mu) P and P(Y_1 = y, Y_2 .. = w | X_1 = x) for all words y w.

    Sparse words come in one chunk. Dense words come in several chunks per letter y, restricted to the states x with
    W[x, y] > 0, as are the columns of the two matrices.
    """
    if sparse.issparse(words.probabilities):
        longer, column = _row_products(process.weights, words.probabilities)
        letter, rest = np.divmod(column, words.probabilities.shape[1])
        transition = np.asarray(process.aggregated[letter, words.first_letter[rest]])
        yield (
            process.matrix,
            process.group_state_joint,
            _Words(longer, letter, transition * words.approximation[rest]),
        )
        return
    n, width = words.probabilities.shape
    chunk = max(_MIN_CHUNK_COLUMNS, _DENSE_CHUNK // n)
    columns = process.weights_by_group
    for y, (first, last) in enumerate(zip(columns.indptr[:-1], columns.indptr[1:], strict=True)):
        states, membership = columns.indices[first:last], columns.data[first:last, None]
        matrix, group_state_joint = process.matrix[:, states], process.group_state_joint[:, states]
        approximation = _to_dense(process.aggregated[[y]])[0, words.first_letter] * words.approximation
        for start in range(0, width, chunk):
            longer = membership * words.probabilities[states, start : start + chunk]
            possible = longer.any(axis=0)
            part = approximation[start : start + chunk][possible]
            yield matrix, group_state_joint, _Words(longer[:, possible], np.full(part.size, y), part)


def _positive_difference(block_distribution: Any, group_joint: Any, words: _Words) -> float:
    """Sum of max(p - q, 0) over blocks y w, where q = P(Y_1 = y, Y_2 = first letter of w) times Q along w.

    Over all blocks with p > 0 this is the total variation.
    """
    if not sparse.issparse(block_distribution):  # the words have the same first letter
        excess = block_distribution - _to_dense(group_joint[:, words.first_letter[:1]]) * words.approximation
        return float(np.maximum(excess, 0.0, out=excess).sum())
    y, columns, p = information.coordinates(block_distribution)
    total = 0.0
    for start in range(0, p.size, _ENTRIES_PER_CHUNK):
        part = slice(start, start + _ENTRIES_PER_CHUNK)
        column = columns[part]
        q = np.asarray(group_joint[y[part], words.first_letter.take(column)]) * words.approximation.take(
            column
        )
        total += float(np.maximum(p[part] - q, 0.0).sum())
    return total


def _to_dense(matrix: Any) -> NDArray[np.float64]:
    return matrix.toarray() if sparse.issparse(matrix) else matrix


def _row_products(
    weights: sparse.csr_array, words: sparse.csr_array
) -> tuple[sparse.csr_array, NDArray[np.int64]]:
    """Row-wise Kronecker product (face-splitting product) of W and the word probabilities, without empty columns.

    The product of column y of W and column w of the words is column y * (number of words) + w. Also returns the
    numbers of the columns that are kept.
    """
    n, width = words.shape
    rows = words[np.repeat(np.arange(n), np.diff(weights.indptr))]
    lengths = np.diff(rows.indptr)
    data = rows.data * np.repeat(weights.data, lengths)
    columns = rows.indices + np.repeat(weights.indices.astype(np.int64) * width, lengths)
    width *= weights.shape[1]
    if width > columns.size:
        numbers, columns = np.unique(columns, return_inverse=True)
    else:
        numbers = np.arange(width)
    shape = n, numbers.size
    return sparse.csr_array((data, columns, rows.indptr[weights.indptr]), shape=shape), numbers


def _mean_entropy(rows: Any, weight: NDArray[np.float64]) -> float:
    """Weighted mean of the entropies of the rows, each a distribution."""
    if sparse.issparse(rows):
        return information.conditional_entropy(rows.data, np.repeat(weight, np.diff(rows.indptr)))
    return -float((weight @ information.xlog2x(rows)).sum())
