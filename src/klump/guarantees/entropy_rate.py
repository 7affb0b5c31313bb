"""Bounds of the entropy rate of what is seen of a chain through a map, for longer and longer blocks.

X is the chain and Y what is seen of it: Y_t is drawn from the row W[X_t] of the map. For every m

    H(Y_m | Y_1 .. Y_m-1, X_1)  <=  entropy rate of Y  <=  H(Y_m | Y_1 .. Y_m-1),

and both bounds get tighter with m. They follow from the probabilities of words, P(Y_2 .. Y_m = w | X_1 = x), kept
as a matrix with a row for each state and a column for each word. Putting a letter in front of every word
takes a product with P: all words of one length at once, for each letter only from the states that may show it.
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

# No more word probabilities than this are kept; the words that follow are then counted, but not extended.
_MOST_KEPT = 1 << 24
# About as many are computed at a time: full matrices that fit in a cache, sparse ones that fit in memory.
_AT_A_TIME, _SPARSE_AT_A_TIME = 1 << 18, 1 << 22
_FEWEST_COLUMNS = 16
# Entries of a sparse law per chunk: its temporary arrays fit in the L2 cache.
_ENTRIES_AT_A_TIME = 1 << 15
# Above this share of non-zero probabilities a full matrix is faster.
_FULL = 0.25
# Groups up to which Q and the law of two successive groups are full matrices: 32 MB each.
_MOST_DENSE_GROUPS = 2000
# Operations that a longer block takes even if there are hardly any words.
_PER_BLOCK = 10_000
# Multiplications in full matrices that take as long as a logarithm, or as a multiplication of sparse matrices.
_PER_OPERATION = 16


@dataclass(frozen=True)
class Block:
    """Bounds of the entropy rate from blocks of one length, in bits."""

    length: int
    """The number m of letters."""
    lower: float
    """H(Y_m | Y_1 .. Y_m-1, X_1)."""
    upper: float
    """H(Y_m | Y_1 .. Y_m-1)."""
    rounding: float
    """How far rounding may have moved the bounds."""
    operations: int
    """Work spent up to this length: logarithms and multiplications."""
    total_variation: float
    """Total variation between the laws of Y_1 .. Y_m and of m successive groups of the aggregated chain."""


class Observed(NamedTuple):
    """A chain, the map through which it is seen, and the laws of successive groups."""

    matrix: Any  # P
    weights: sparse.csr_array  # W
    columns: sparse.csc_array  # W by groups
    groups_to_states: Any  # W^T diag(mu) P: the law of the group now and the next state
    mu: NDArray[np.float64]
    laws: Any  # P W: the law of the next group given the state
    pairs: Any  # W^T diag(mu) P W: the law of two successive groups
    aggregated: Any  # Q


class _Words(NamedTuple):
    """Words that may follow a state."""

    laws: Any  # P(Y_2 .. Y_m = w | X_1 = x): a row for each state x, a column for each word w
    letter: NDArray[np.intp]  # first letter of each word
    model: NDArray[np.float64]  # product of Q along each word


def blocks(seen: Observed, budget: float) -> Iterator[Block]:
    """Bounds for blocks of two letters, three, and so on while the work stays within the budget.

    Blocks of two are free. Longer ones are started only if the operations that they take, which are counted
    before, fit in; the words that no state can show are left out.

    Examples
    --------
    >>> chain = MarkovChain([[0.4, 0.3, 0.3], [0.25, 0.3, 0.45], [0.15, 0.425, 0.425]])
    >>> for block in blocks(observe(chain, sparse.csr_array([[1, 0], [0, 1], [0, 1.0]])), budget=40_000):
    ...     print(block.length, f"{block.lower:.4f} {block.upper:.4f}")
    2 0.7695 0.7781
    3 0.7780 0.7781
    4 0.7781 0.7781
    5 0.7781 0.7781
    """
    k = seen.weights.shape[1]
    words: _Words | None = _Words(seen.laws, np.arange(k), np.ones(k))
    of_groups = information.entropy(seen.mu @ seen.weights)
    of_pairs = information.entropy(_values(seen.pairs))
    from_states = _mean_entropy(seen.laws, seen.mu)
    yield Block(2, from_states, of_pairs - of_groups, _rounding(2, of_pairs), 0, 0.0)
    length, spent = 2, 0
    while words is not None:
        words = words._replace(laws=_compact(words.laws))
        operations, size = _work(seen, words.laws)
        spent += operations + _PER_BLOCK
        if spent > budget:
            return
        length += 1
        before = of_pairs, from_states
        of_pairs, from_states, variation, words = _extend_words(seen, words, size)
        bounds = from_states - before[1], of_pairs - before[0]
        yield Block(length, *bounds, _rounding(length, of_pairs), spent, variation)


def observe(chain: MarkovChain, weights: sparse.csr_array) -> Observed:
    """Laws of successive groups; sparse only if the chain is sparse and has many groups."""
    groups_to_states = sparse.csr_array(weights.T) @ chain.joint
    pairs = groups_to_states @ weights
    if weights.shape[1] <= _MOST_DENSE_GROUPS:
        pairs = _full(pairs)
    # A group whose mass is zero in floating point has no law; no word that shows it has mass either.
    inverse = 1.0 / np.maximum(row_sums(pairs), np.finfo(float).tiny)
    return Observed(
        chain.transition_matrix,
        weights,
        sparse.csc_array(weights),
        groups_to_states,
        chain.stationary_distribution,
        chain.transition_matrix @ weights,
        pairs,
        scale_rows(pairs, inverse),
    )


def _rounding(length: int, entropy: float) -> float:
    """Bound of what rounding does to the entropy of words: every letter rounds their probabilities once more."""
    return float(4.0 * np.finfo(float).eps * length * (1.0 + entropy))


def _values(matrix: Any) -> NDArray[np.float64]:
    return matrix.data if sparse.issparse(matrix) else np.ravel(matrix)


def _compact(words: Any) -> Any:
    """Store the probabilities of words in the way that is faster to go on with."""
    if sparse.issparse(words) and words.nnz > _FULL * words.shape[0] * words.shape[1]:
        return words.toarray()
    return words


def _work(seen: Observed, words: Any) -> tuple[int, int]:
    """Operations that longer words take, and how many probabilities they have."""
    n, k = seen.weights.shape
    possible = n * k * words.shape[1]
    # How often each state is used: as the next one of a state, or of a group.
    used = _column_counts(seen.matrix) + _column_counts(seen.groups_to_states)
    shown = np.diff(seen.weights.indptr).astype(np.int64)
    if sparse.issparse(words):
        products = int(used @ (shown * np.diff(words.indptr)))
        return products + min(products, possible), min(products, possible)
    products = int(used @ shown) * words.shape[1]
    return products // _PER_OPERATION + possible, possible


def _column_counts(matrix: Any) -> NDArray[np.int64]:
    if not sparse.issparse(matrix):
        return np.full(matrix.shape[1], matrix.shape[0], dtype=np.int64)
    return np.bincount(matrix.indices, minlength=matrix.shape[1]).astype(np.int64)


def _extend_words(seen: Observed, words: _Words, size: int) -> tuple[float, float, float, _Words | None]:
    """Entropies of words with one more letter, Y_1 .. Y_m and Y_2 .. Y_m given X_1.

    Then the total variation between the laws of Y_1 .. Y_m and of the aggregated chain, and the words themselves: None
    if there are too many of them, ``size``, to be kept.
    """
    n = seen.mu.size
    total, from_states, variation = 0.0, 0.0, 0.0
    kept: list[_Words] = []
    for matrix, groups_to_states, longer in _with_letter(seen, words):
        law = groups_to_states @ longer.laws
        total += information.entropy(_values(law))
        variation += _excess(law, seen.pairs, longer)
        is_sparse = sparse.issparse(longer.laws)
        rows = _SPARSE_AT_A_TIME * n // size + 1 if is_sparse else n
        parts = []
        for start in range(0, n, rows):
            part = matrix[start : start + rows] @ longer.laws
            from_states += _mean_entropy(part, seen.mu[start : start + rows])
            if size <= _MOST_KEPT:
                parts.append(part)
        if parts:
            kept.append(longer._replace(laws=sparse.vstack(parts, format="csr") if is_sparse else parts[0]))
    if len(kept) < 2:
        return total, from_states, variation, kept[0] if kept else None
    laws, letter, model = (np.concatenate(parts, axis=-1) for parts in zip(*kept, strict=True))
    return total, from_states, variation, _Words(laws, letter, model)


def _with_letter(seen: Observed, words: _Words) -> Iterator[tuple[Any, Any, _Words]]:
    """P(Y_1 = y, Y_2 .. = w | X_1 = x) for all words y w, and the matrices to lead to x with.

    In one piece if the words are sparse, else in several for each y with only the states that may show y.
    """
    if sparse.issparse(words.laws):
        longer, column = _row_products(seen.weights, words.laws)
        letter, rest = np.divmod(column, words.laws.shape[1])
        model = np.asarray(seen.aggregated[letter, words.letter[rest]]) * words.model[rest]
        yield seen.matrix, seen.groups_to_states, _Words(longer, letter, model)
        return
    n, width = words.laws.shape
    at_a_time = max(_FEWEST_COLUMNS, _AT_A_TIME // n)
    columns = seen.columns
    for y, (first, last) in enumerate(zip(columns.indptr[:-1], columns.indptr[1:], strict=True)):
        states, shown = columns.indices[first:last], columns.data[first:last, None]
        matrix, groups_to_states = seen.matrix[:, states], seen.groups_to_states[:, states]
        model = _full(seen.aggregated[[y]])[0, words.letter] * words.model
        for start in range(0, width, at_a_time):
            longer = shown * words.laws[states, start : start + at_a_time]
            some = longer.any(axis=0)
            part = model[start : start + at_a_time][some]
            yield matrix, groups_to_states, _Words(longer[:, some], np.full(part.size, y), part)


def _excess(law: Any, pairs: Any, words: _Words) -> float:
    """Sum of max(p - q, 0) over words y w, p their law and q = pairs[y, first letter of w] times the model of w.

    Over all words with p > 0 this is the total variation.
    """
    if not sparse.issparse(law):  # the words have the same first letter
        excess = law - _full(pairs[:, words.letter[:1]]) * words.model
        return float(np.maximum(excess, 0.0, out=excess).sum())
    y, columns, p = information.coordinates(law)
    total = 0.0
    for start in range(0, p.size, _ENTRIES_AT_A_TIME):
        part = slice(start, start + _ENTRIES_AT_A_TIME)
        column = columns[part]
        q = np.asarray(pairs[y[part], words.letter.take(column)]) * words.model.take(column)
        total += float(np.maximum(p[part] - q, 0.0).sum())
    return total


def _full(matrix: Any) -> NDArray[np.float64]:
    return matrix.toarray() if sparse.issparse(matrix) else matrix


def _row_products(
    weights: sparse.csr_array, words: sparse.csr_array
) -> tuple[sparse.csr_array, NDArray[np.int64]]:
    """All products of an entry of W with an entry of the same row of the words, row by row.

    The product of column y of W and column w of the words is column y * (number of words) + w; columns that may be
    empty are left out, and the numbers of the others returned.
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


def _mean_entropy(laws: Any, weight: NDArray[np.float64]) -> float:
    """Mean of the entropies of laws, one in each row."""
    if sparse.issparse(laws):
        return information.conditional_entropy(laws.data, np.repeat(weight, np.diff(laws.indptr)))
    return -float((weight @ information.xlog2x(laws)).sum())
