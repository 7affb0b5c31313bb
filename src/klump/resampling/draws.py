"""Draw transition matrices from their posterior distribution given counts.

Each row is drawn from a Dirichlet distribution whose parameters are the counts of the row plus a prior: the Bayesian
bootstrap if the prior is 0. The mean is the estimated row. Observed transitions keep a positive probability and others
keep 0, so that samples of an irreducible chain are irreducible.

If the transitions come in pieces that are not independent within, such as sequences, the counts of each piece are
multiplied by an independent standard exponential weight instead.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from klump.arguments import check_number
from klump.chain import MarkovChain
from klump.chain.validation import square_matrix
from klump.checkpoints import storable
from klump.choices import Restriction
from klump.errors import InvalidArgumentError
from klump.resampling.sequences import SequenceCounts
from klump.sources.adapters import deeptime_models
from klump.sources.adapters.registry import packages_of

# Spawn key of the draws, different from those of the searches with the same seed.
_DRAWS_KEY = 101
# Smallest positive count, in observations: a smaller one is in the wrong unit.
_MIN_COUNT = 1e-6
# Smallest gamma variate of an observed transition relative to the largest of its row; a normal float64.
_MIN_RELATIVE_WEIGHT = 1e-300
# Row sums this close to 1 are those of probabilities.
_ROW_SUM_TOLERANCE = 1e-8


@storable
@dataclass(frozen=True, eq=False)
class Draws:
    """The posterior distribution of an irreducible chain; small enough to be pickled for other processes."""

    counts: sparse.csr_array
    """Counts of the observed transitions, plus the prior."""
    is_sparse: bool
    """Whether drawn chains are stored as sparse matrices."""
    seed: int
    prior: float = 0.0
    """The prior that was added to each positive count."""
    by_piece: sparse.csr_array | None = None
    """Counts per piece of the data (row) and observed transition (column), if pieces are resampled."""
    restart: float | None = None
    """Probability of a restart per step; dead ends, which have no counts, restart with probability 1."""
    initial: NDArray[np.float64] | None = None
    """Distribution that restarts lead to."""

    def chain(self, number: int) -> MarkovChain:
        """Draw a chain; it depends only on the seed and the number."""
        rng = np.random.default_rng([self.seed, _DRAWS_KEY, number])
        weights = (
            self._draw_gamma(rng) if self.by_piece is None else self._draw_piece_weights(rng, self.by_piece)
        )
        counts = self.counts
        drawn = sparse.csr_array((weights, counts.indices, counts.indptr), shape=counts.shape)
        matrix = drawn if self.is_sparse else drawn.toarray()
        return MarkovChain(matrix, normalize=True, restart=self.restart, initial=self.initial)

    def _draw_gamma(self, rng: np.random.Generator) -> NDArray[np.float64]:
        """Gamma variates, one per transition: Dirichlet distributed after normalisation of the rows."""
        counts = self.counts
        # Gamma(a) = Gamma(a + 1) U^(1/a) with U uniform: its logarithm does not underflow for small a.
        logarithm = np.log(rng.standard_gamma(counts.data + 1.0))
        logarithm -= rng.standard_exponential(counts.nnz) / counts.data
        lengths = np.diff(counts.indptr)
        largest = np.maximum.reduceat(logarithm, counts.indptr[:-1][lengths > 0])
        logarithm -= np.repeat(largest, lengths[lengths > 0])
        return np.maximum(np.exp(logarithm), _MIN_RELATIVE_WEIGHT)

    def _draw_piece_weights(
        self, rng: np.random.Generator, by_piece: sparse.csr_array
    ) -> NDArray[np.float64]:
        """Counts in which each piece has an independent standard exponential weight."""
        weights = np.maximum(rng.standard_exponential(by_piece.shape[0]), np.finfo(float).tiny)
        return np.asarray(weights @ by_piece) + self.prior


@dataclass(frozen=True, eq=False)
class GivenChains:
    """Samples of a posterior distribution that another package has drawn."""

    chains: tuple[MarkovChain, ...]

    def chain(self, number: int) -> MarkovChain:
        """Return one of the samples."""
        return self.chains[number]


def estimate_chain(
    counts: Any,
    states: Iterable[Hashable] | None,
    prior: Any,
    restrict: Restriction | None,
    seed: int,
    *,
    restart: float | None = None,
    initial: Any = None,
) -> tuple[MarkovChain, Draws | GivenChains]:
    """Estimate a chain from counts, which are validated, and return its posterior distribution, too."""
    by_piece = None
    if isinstance(counts, SequenceCounts):
        states, by_piece = counts.states if states is None else states, counts.by_piece
        initial = counts.initial if initial is None else initial
    if "deeptime" in packages_of(counts):
        counts = deeptime_models.fitted_model(counts)
        if deeptime_models.is_posterior(counts):
            options = {"restrict": restrict, "restart": restart, "initial": initial}
            return _adopt_posterior(counts, states, prior=None if prior == 0 else prior, **options)
        if states is None and hasattr(counts, "state_symbols"):
            states = deeptime_models.symbols_of(counts)
    counts = getattr(counts, "count_matrix", counts)  # of a deeptime model
    if hasattr(counts, "transition_matrix"):
        raise InvalidArgumentError(
            "is a chain, which does not have the numbers of observed transitions",
            argument="counts",
            remedy="pass the matrix of counts",
        )
    if states is None and hasattr(counts, "to_numpy") and hasattr(counts, "columns"):
        states = MarkovChain.from_counts(counts).states
    table, _ = square_matrix(counts.to_numpy() if hasattr(counts, "to_numpy") else counts, "count matrix")
    is_sparse = bool(sparse.issparse(table))
    observed = sparse.csr_array(table)
    _check_scale_of_counts(observed)
    prior = check_number("prior", prior)
    observed.data += prior
    chain = MarkovChain.from_counts(
        observed if is_sparse else observed.toarray(),
        states,
        restrict=restrict,
        restart=restart,
        initial=initial,
    )
    _ = chain.stationary_distribution  # raises if the chain is reducible
    kept = chain.original_index[chain.original_index >= 0]  # without the state (restart)
    if len(kept) < observed.shape[0]:
        observed, by_piece = _restrict_counts(observed, by_piece, kept)
    initial = None if restart is None or chain.initial is None else chain.initial[: len(kept)]
    return chain, Draws(observed, is_sparse, seed, prior, by_piece, restart, initial)


def _adopt_posterior(
    found: Any, states: Iterable[Hashable] | None, **refused: Any
) -> tuple[MarkovChain, GivenChains]:
    """Estimate and samples of a posterior of deeptime; the arguments ``refused`` must be None."""
    for name, value in refused.items():
        if value is not None:
            raise InvalidArgumentError(
                "is not for a posterior that was sampled already",
                argument=name,
                value=value,
                remedy="leave it out, or pass the counts",
            )
    estimate = MarkovChain(found.prior, states)
    _ = estimate.stationary_distribution  # raises if the chain is reducible
    chains = tuple(MarkovChain(sample, estimate.states) for sample in found.samples)
    if not chains:
        raise InvalidArgumentError(
            "is a posterior without samples", argument="counts", remedy="draw some, or pass the counts"
        )
    return estimate, GivenChains(chains)


def _restrict_counts(
    observed: sparse.csr_array, by_piece: sparse.csr_array | None, kept: NDArray[np.intp]
) -> tuple[sparse.csr_array, sparse.csr_array | None]:
    """Restrict counts to transitions between two of the states that are kept."""
    if by_piece is not None:
        inside = np.isin(np.arange(observed.shape[0]), kept)
        source = np.repeat(np.arange(observed.shape[0]), np.diff(observed.indptr))
        by_piece = sparse.csr_array(by_piece[:, inside[source] & inside[observed.indices]])
    return sparse.csr_array(observed[kept][:, kept]), by_piece


def _check_scale_of_counts(observed: sparse.csr_array) -> None:
    values = observed.data
    if values.size and values.min() < _MIN_COUNT:
        raise InvalidArgumentError(
            f"holds {values.min():g}, less than {_MIN_COUNT:g} of an observation",
            argument="counts",
            remedy="pass numbers of transitions",
        )
    sums = np.asarray(observed.sum(axis=1)).ravel()
    if np.abs(sums - 1.0).max() < _ROW_SUM_TOLERANCE and not np.array_equal(values, np.floor(values)):
        raise InvalidArgumentError(
            "looks like probabilities: every row sums to 1, and intervals need the numbers of observations",
            argument="counts",
            remedy="pass the numbers of transitions",
        )
