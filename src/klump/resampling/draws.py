"""Chains that could have left the same counts behind.

Each row of the transition matrix is drawn from a Dirichlet law with the row's counts (and perhaps a prior) as its
parameters: the Bayesian bootstrap. Its mean is the estimate itself. Every transition that was seen keeps a positive
probability, so that a chain that holds together still does in every draw; and none that was not seen gets one.

If it is known which transitions were seen together, in a sequence say, the pieces are weighed anew instead.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from klump.arguments import check_number
from klump.chain import MarkovChain
from klump.chain.validation import square_matrix
from klump.errors import InvalidArgumentError
from klump.resampling.sequences import SequenceCounts

# Keeps draws apart from what a search draws with the same seed.
_KEY = 101
# Less than this of an observation says nothing; it is a mistake in the units.
_LEAST_COUNT = 1e-6
# In proportion to the largest of its row: a transition that was seen is never impossible.
_LEAST_WEIGHT = 1e-300


@dataclass(frozen=True, eq=False)
class Draws:
    """The counts of an irreducible chain, ready to draw from, and nothing else: it may be sent to another process."""

    counts: sparse.csr_array
    """What was counted, and the prior where something was."""
    is_sparse: bool
    """Whether chains are to be stored sparse."""
    seed: int
    prior: float = 0.0
    """What was added to each count."""
    by_piece: sparse.csr_array | None = None
    """How often each piece of the data has each transition, if pieces are weighed."""

    def chain(self, number: int) -> MarkovChain:
        """Draw a chain; it depends on the seed and the number alone."""
        rng = np.random.default_rng([self.seed, _KEY, number])
        weights = self._of_transitions(rng) if self.by_piece is None else self._of_pieces(rng, self.by_piece)
        counts = self.counts
        drawn = sparse.csr_array((weights, counts.indices, counts.indptr), shape=counts.shape)
        return MarkovChain(drawn if self.is_sparse else drawn.toarray(), normalize=True)

    def _of_transitions(self, rng: np.random.Generator) -> NDArray[np.float64]:
        """Gamma variates, which become Dirichlet ones when rows are divided by their sums."""
        counts = self.counts
        # A gamma variate is one of shape + 1 times a power of a uniform one: as logarithms none of them vanishes.
        logarithm = np.log(rng.standard_gamma(counts.data + 1.0))
        logarithm -= rng.standard_exponential(counts.nnz) / counts.data
        largest = np.maximum.reduceat(logarithm, counts.indptr[:-1])
        logarithm -= np.repeat(largest, np.diff(counts.indptr))
        return np.maximum(np.exp(logarithm), _LEAST_WEIGHT)

    def _of_pieces(self, rng: np.random.Generator, by_piece: sparse.csr_array) -> NDArray[np.float64]:
        weights = np.maximum(rng.standard_exponential(by_piece.shape[0]), np.finfo(float).tiny)
        return np.asarray(weights @ by_piece) + self.prior


def estimate_chain(
    counts: Any,
    states: Iterable[Hashable] | None,
    prior: Any,
    restrict: Literal["largest"] | None,
    seed: int,
) -> tuple[MarkovChain, Draws]:
    """Estimate a chain from counts, and prepare to draw others; counts are checked here."""
    by_piece = None
    if isinstance(counts, SequenceCounts):
        states, by_piece = counts.states if states is None else states, counts.by_piece
    counts = getattr(counts, "count_matrix", counts)  # as deeptime's models have them
    if hasattr(counts, "transition_matrix"):
        raise InvalidArgumentError(
            "is a chain, which no longer knows how much data it came from",
            argument="counts",
            remedy="pass the matrix of counts",
        )
    if states is None and hasattr(counts, "to_numpy") and hasattr(counts, "columns"):
        states = MarkovChain.from_counts(counts).states
    table, _ = square_matrix(counts.to_numpy() if hasattr(counts, "to_numpy") else counts, "count matrix")
    is_sparse = bool(sparse.issparse(table))
    seen = sparse.csr_array(table)
    _check_scale_of_counts(seen)
    prior = check_number("prior", prior)
    seen.data += prior
    chain = MarkovChain.from_counts(seen if is_sparse else seen.toarray(), states, restrict=restrict)
    _ = chain.stationary_distribution  # says what to do if there is none
    if chain.n_states < seen.shape[0]:
        seen, by_piece = _restrict_to_class(seen, by_piece, chain.original_index)
    return chain, Draws(seen, is_sparse, seed, prior, by_piece)


def _restrict_to_class(
    seen: sparse.csr_array, by_piece: sparse.csr_array | None, kept: NDArray[np.intp]
) -> tuple[sparse.csr_array, sparse.csr_array | None]:
    """Keep a closed class: no transition leads out of it, so nothing that was counted in its rows is lost."""
    if by_piece is not None:
        inside = np.isin(np.arange(seen.shape[0]), kept)
        by_piece = sparse.csr_array(by_piece[:, np.repeat(inside, np.diff(seen.indptr))])
    return sparse.csr_array(seen[kept][:, kept]), by_piece


def _check_scale_of_counts(seen: sparse.csr_array) -> None:
    values = seen.data
    if values.size and values.min() < _LEAST_COUNT:
        raise InvalidArgumentError(
            f"holds {values.min():g}, less than {_LEAST_COUNT:g} of an observation",
            argument="counts",
            remedy="pass numbers of transitions",
        )
    sums = np.asarray(seen.sum(axis=1)).ravel()
    if np.abs(sums - 1.0).max() < 1e-8 and not np.array_equal(values, np.floor(values)):
        raise InvalidArgumentError(
            "looks like probabilities: every row sums to 1, and how sure they are depends on how often each state was "
            "seen",
            argument="counts",
            remedy="pass the numbers of transitions",
        )
