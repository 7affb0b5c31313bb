"""Monte Carlo estimate of the entropy rate of a hidden Markov process."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from klump import information
from klump.arguments import DEFAULT_SEED, Progress, check_count, check_progress, check_seed
from klump.chain import MarkovChain
from klump.dynamics.simulation import draw_from_columns
from klump.errors import UNSET
from klump.parallel import one_thread

Array = NDArray[np.float64]

# Default budget in operations (multiplications by an entry of a sparse matrix): a few seconds.
_BUDGET = 1e9
# Dense multiplications that take as long as one operation.
_DENSE_MULTIPLICATIONS_PER_OPERATION = 16
# Operations per state and step besides the matrix product: Bayes' rule and normalisation.
_OPERATIONS_PER_STATE = 8
# Smallest and largest default number of replicas.
_REPLICAS = (16, 64)
# Smallest and largest default number of steps per replica.
_STEPS = (20, 1000)
# Smallest default burn-in, in steps.
_MIN_BURN_IN = 10


@dataclass(frozen=True)
class MonteCarlo:
    """An estimate of the entropy rate H(Y) of the groups, in bits per step.

    Examples
    --------
    >>> import klump
    >>> P = [[0.9, 0.1, 0.0], [0.5, 0.0, 0.5], [0.0, 0.1, 0.9]]
    >>> answer = klump.Aggregation.from_labels(P, [0, 0, 1])
    >>> estimate = answer.monte_carlo(n_replicas=20, n_steps=500, seed=0)
    >>> abs(estimate.entropy_rate - answer.guarantees.entropy_rate.upper) < 5 * estimate.standard_error
    True
    >>> estimate.n_replicas, estimate.n_steps
    (20, 500)
    """

    entropy_rate: float
    """The estimate."""
    standard_error: float
    """Standard error of the estimate, from independent replicas."""
    bias: float
    """Bound on the bias that the initial state leaves in the estimate, itself estimated."""
    n_replicas: int
    """Number of independent replicas."""
    n_steps: int
    """Number of steps per replica that were averaged."""


def estimate_entropy_rate(
    chain: MarkovChain,
    weights: sparse.csr_array,
    n_replicas: int | None = None,
    n_steps: int | None = None,
    burn_in: int | None = None,
    random_state: Any = DEFAULT_SEED,
    progress: Progress | None = None,
    *,
    seed: Any = UNSET,
) -> MonteCarlo:
    """Estimate the entropy rate of the hidden Markov process of a chain and a map W.

    A replica draws Y_t from its predictive distribution P(Y_t | Y_1 .. Y_t-1), which the forward filter
    P(X_t | Y_1 .. Y_t-1) gives, and averages the entropies of these distributions; only X_1 is drawn among the states.
    Each replica runs two filters, with and without knowledge of X_1. Their expected entropies are lower and upper
    bounds on the entropy rate, H(Y_t | Y_1 .. Y_t-1, X_1) and H(Y_t | Y_1 .. Y_t-1). The estimate is their mean; half
    of their difference bounds the bias.

    X_1 is drawn from the mixture of the stationary and the uniform distribution, with importance weights: otherwise all
    replicas could miss a part of the chain that is rarely left and rarely entered, without an effect on the standard
    error. Events that happen less than once in all steps of all replicas remain invisible to it; the brackets include
    them.

    Parameters
    ----------
    chain
        The chain X.
    weights
        The map W, deterministic or stochastic.
    n_replicas
        Independent replicas, at least 2; if left out 64, or fewer for very large chains.
    n_steps
        Steps per replica that are averaged; if left out 1000, or fewer for large chains.
    burn_in
        Steps per replica before these; if left out ``n_steps // 4``, but at least 10.
    random_state
        Seed.
    progress
        Called with ``(done, total, best_cost)``: the number of finished and of planned steps, and NaN, as there is no
        cost.
    seed
        Another name of ``random_state``, as on the command line; pass one of them.

    Examples
    --------
    >>> chain = MarkovChain([[0.4, 0.3, 0.3], [0.25, 0.3, 0.45], [0.15, 0.425, 0.425]])
    >>> estimate = estimate_entropy_rate(chain, sparse.csr_array([[1, 0], [0, 1], [0, 1.0]]), n_steps=100)
    >>> abs(estimate.entropy_rate - 0.7781) < 4 * estimate.standard_error < 0.02
    True
    """
    replicas, steps = _affordable_size(chain)
    replicas = replicas if n_replicas is None else check_count("n_replicas", n_replicas, least=2, most=None)
    steps = steps if n_steps is None else check_count("n_steps", n_steps, least=1, most=None)
    discarded = (
        max(_MIN_BURN_IN, steps // 4)
        if burn_in is None
        else check_count("burn_in", burn_in, least=0, most=None)
    )
    rng, report = np.random.default_rng(check_seed(random_state, seed)), check_progress(progress)
    transposed = sparse.csr_array(chain.transition_matrix.T) if chain.is_sparse else chain.transition_matrix.T
    by_group, by_state = sparse.csc_array(weights), sparse.csr_array(weights.T)
    filters, weight = _initial_filters(chain.stationary_distribution, replicas, rng)
    entropies = np.zeros(2 * replicas)
    with one_thread():
        for step in range(discarded + steps):
            predictive = by_state @ filters
            predictive /= predictive.sum(axis=0)
            if step >= discarded:
                entropies -= information.xlog2x(predictive).sum(axis=0)
            groups = draw_from_columns(predictive[:, :replicas], rng.random(replicas))
            probability = predictive[np.tile(groups, 2), np.arange(2 * replicas)]
            filters = transposed @ _condition(filters, by_group[:, groups].toarray(), probability)
            if report is not None:
                report(step + 1, discarded + steps, math.nan)
    lower, upper = (np.maximum(entropies, 0.0) / steps).reshape(2, replicas)
    estimates = (lower + upper) / 2.0
    mean = weight @ estimates
    variance = np.sum((weight * (estimates - mean)) ** 2) * replicas / (replicas - 1)
    bias = abs(weight @ (upper - lower)) / 2.0
    return MonteCarlo(float(mean), float(np.sqrt(variance)), float(bias), replicas, steps)


def _affordable_size(chain: MarkovChain) -> tuple[int, int]:
    """Default numbers of replicas and of steps per replica, within the budget."""
    n = chain.n_states
    products = chain.n_transitions if chain.is_sparse else n * n / _DENSE_MULTIPLICATIONS_PER_OPERATION
    total_steps = _BUDGET / (2 * (products + _OPERATIONS_PER_STATE * n))
    replicas = np.clip(total_steps / _STEPS[0], *_REPLICAS)
    return int(replicas), int(np.clip(total_steps / replicas, *_STEPS))


def _initial_filters(mu: Array, n_replicas: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Initial filters, one per column, and the normalised importance weights of the replicas.

    The first ``n_replicas`` columns know X_1, the other ``n_replicas`` have its stationary distribution.
    """
    proposal = (mu + 1.0 / mu.size) / 2.0
    first = draw_from_columns(proposal[:, None], rng.random(n_replicas))
    filters = np.zeros((mu.size, 2 * n_replicas))
    filters[first, np.arange(n_replicas)] = 1.0
    filters[:, n_replicas:] = mu[:, None]
    weight = mu[first] / proposal[first]
    return filters, weight / weight.sum()


def _condition(filters: Array, likelihood: Array, probability: Array) -> Array:
    """Condition both filters of each replica on the group drawn (Bayes' rule), given its predictive probability."""
    n, replicas = likelihood.shape
    posterior = filters.reshape(n, 2, replicas) * likelihood[:, None, :]
    # The predictive probability of the filter without X_1 may underflow to 0: it then takes the other posterior.
    lost = probability[replicas:] == 0.0
    posterior[:, 1, lost] = posterior[:, 0, lost]
    with_state, without_state = probability.reshape(2, replicas)
    posterior /= np.stack([with_state, np.where(lost, with_state, without_state)])
    return posterior.reshape(n, 2 * replicas)
