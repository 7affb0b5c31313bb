"""The entropy rate of what is seen of a chain through a map, by simulation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from klump import information
from klump.arguments import check_count
from klump.chain import MarkovChain
from klump.parallel import one_thread

Array = NDArray[np.float64]
Progress = Callable[[int, int], None]

# Unless the user says how many, as many replicas and steps as this number of operations allows, between limits. An
# operation is a multiplication by a sparse matrix, or as many by a full one as take as long; some more go into
# every state.
_OPERATIONS, _PER_OPERATION, _PER_STATE = 1e9, 16, 8
_REPLICAS, _STEPS = (16, 64), (20, 1000)
_LEAST_BURN_IN = 10


@dataclass(frozen=True)
class MonteCarlo:
    """An estimate of the entropy rate H(Y) of what is seen, in bits."""

    entropy_rate: float
    """The estimate."""
    standard_error: float
    """Its standard error, from replicas that are independent of each other."""
    bias: float
    """What it may be off by besides, because the replicas have not quite forgotten their start."""
    n_replicas: int
    """How many independent runs were made."""
    n_steps: int
    """How many steps of each were averaged."""


def estimate_entropy_rate(
    chain: MarkovChain,
    weights: sparse.csr_array,
    n_replicas: int | None = None,
    n_steps: int | None = None,
    burn_in: int | None = None,
    random_state: int = 0,
    progress: Progress | None = None,
) -> MonteCarlo:
    """Estimate the entropy rate of what is seen of a chain through the map W.

    No state is ever drawn but the first: a run draws the next group from its law given all groups so far, which the
    filter (the law of the state given these) predicts, and averages the entropies of these laws. Each run is
    filtered twice, with and without knowledge of its first state. The expected entropies of the two lie on either
    side of the entropy rate: they are H(Y_t|Y_1 .. Y_t-1, X_1) and H(Y_t|Y_1 .. Y_t-1). The estimate is the
    mean of the two, so that half of their distance is what the start may have left in it.

    Half of the runs start in a state drawn from the stationary distribution, half in any state alike, and all are
    weighted for it: else a part of the chain that is rarely left and rarely entered may be missed by all of them,
    and the standard error would know nothing of it. It still knows nothing of what happens less than once in all
    steps of all runs; the brackets do.

    Parameters
    ----------
    chain
        The chain X.
    weights
        The map W, deterministic or stochastic.
    n_replicas
        Independent runs, at least 2; if left out 64, or less for very large chains.
    n_steps
        Steps that are averaged in each; if left out 1000, or less for large chains.
    burn_in
        Steps before these; if left out a quarter as many, but at least 10.
    random_state
        Seed.
    progress
        Called with the number of steps done and of all steps.

    Examples
    --------
    >>> chain = MarkovChain([[0.4, 0.3, 0.3], [0.25, 0.3, 0.45], [0.15, 0.425, 0.425]])
    >>> estimate = estimate_entropy_rate(chain, sparse.csr_array([[1, 0], [0, 1], [0, 1.0]]), n_steps=100)
    >>> abs(estimate.entropy_rate - 0.7781) < 4 * estimate.standard_error < 0.02
    True
    """
    replicas, steps = _affordable(chain)
    replicas = replicas if n_replicas is None else check_count("n_replicas", n_replicas, least=2, most=None)
    steps = steps if n_steps is None else check_count("n_steps", n_steps, least=1, most=None)
    skipped = (
        max(_LEAST_BURN_IN, steps // 4)
        if burn_in is None
        else check_count("burn_in", burn_in, least=0, most=None)
    )
    rng = np.random.default_rng(random_state)
    backwards = sparse.csr_array(chain.transition_matrix.T) if chain.is_sparse else chain.transition_matrix.T
    by_group, by_state = sparse.csc_array(weights), sparse.csr_array(weights.T)
    beliefs, weight = _at_the_start(chain.stationary_distribution, replicas, rng)
    entropies = np.zeros(2 * replicas)
    with one_thread():
        for step in range(skipped + steps):
            laws = by_state @ beliefs
            laws /= laws.sum(axis=0)
            if step >= skipped:
                entropies -= information.xlog2x(laws).sum(axis=0)
            groups = _drawn(laws[:, :replicas], rng.random(replicas))
            probability = laws[np.tile(groups, 2), np.arange(2 * replicas)]
            beliefs = backwards @ _given(beliefs, by_group[:, groups].toarray(), probability)
            if progress is not None:
                progress(step + 1, skipped + steps)
    knowing, ignorant = (np.maximum(entropies, 0.0) / steps).reshape(2, replicas)
    estimates = (knowing + ignorant) / 2.0
    mean = weight @ estimates
    variance = np.sum((weight * (estimates - mean)) ** 2) * replicas / (replicas - 1)
    bias = abs(weight @ (ignorant - knowing)) / 2.0
    return MonteCarlo(float(mean), float(np.sqrt(variance)), float(bias), replicas, steps)


def _affordable(chain: MarkovChain) -> tuple[int, int]:
    """Replicas, and steps of each, that take a few seconds at most."""
    n = chain.n_states
    products = chain.n_transitions if chain.is_sparse else n * n / _PER_OPERATION
    in_all = _OPERATIONS / (2 * (products + _PER_STATE * n))
    replicas = np.clip(in_all / _STEPS[0], *_REPLICAS)
    return int(replicas), int(np.clip(in_all / replicas, *_STEPS))


def _at_the_start(mu: Array, n_replicas: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Laws of the first state, one in each column, and the weights of the replicas.

    First those of the replicas that know their first state, then those of the same that do not.
    """
    proposal = (mu + 1.0 / mu.size) / 2.0
    first = _drawn(np.tile(proposal[:, None], n_replicas), rng.random(n_replicas))
    beliefs = np.zeros((mu.size, 2 * n_replicas))
    beliefs[first, np.arange(n_replicas)] = 1.0
    beliefs[:, n_replicas:] = mu[:, None]
    weight = mu[first] / proposal[first]
    return beliefs, weight / weight.sum()


def _drawn(laws: Array, uniform: Array) -> NDArray[np.intp]:
    """Draw from the law in each column; never what has probability zero."""
    reached = np.cumsum(laws, axis=0)
    drawn = np.sum(reached <= uniform * reached[-1], axis=0)
    # Rounding could lead past the last that is possible.
    return np.minimum(drawn, np.sum(reached < reached[-1], axis=0))


def _given(beliefs: Array, likelihood: Array, probability: Array) -> Array:
    """Laws of the states given what was seen of them, and how probable it was; for both filters of each replica."""
    n, replicas = likelihood.shape
    posterior = beliefs.reshape(n, 2, replicas) * likelihood[:, None, :]
    # What is seen may be so rare for one who knows nothing that nothing is left of it in floating point.
    lost = probability[replicas:] == 0.0
    posterior[:, 1, lost] = posterior[:, 0, lost]
    knowing, ignorant = probability.reshape(2, replicas)
    posterior /= np.stack([knowing, np.where(lost, knowing, ignorant)])
    return posterior.reshape(n, 2 * replicas)
