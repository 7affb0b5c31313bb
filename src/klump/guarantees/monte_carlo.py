"""The entropy rate of what is seen of a chain through a map, by simulation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from klump import information
from klump.chain import MarkovChain
from klump.errors import InvalidArgumentError

Array = NDArray[np.float64]
Progress = Callable[[int, int], None]

# Without n_steps, as many as this number of multiplications allows, between these limits.
_MULTIPLICATIONS = 2e9
_FEWEST, _MOST = 20, 1000


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


def simulated(
    chain: MarkovChain,
    weights: sparse.csr_array,
    n_replicas: int = 64,
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
        Independent runs, at least 2.
    n_steps
        Steps that are averaged in each; chosen by the size of the chain if left out.
    burn_in
        Steps before these; a quarter as many if left out.
    random_state
        Seed.
    progress
        Called with the number of steps done and of all steps.

    Examples
    --------
    >>> chain = MarkovChain([[0.4, 0.3, 0.3], [0.25, 0.3, 0.45], [0.15, 0.425, 0.425]])
    >>> estimate = simulated(chain, sparse.csr_array([[1, 0], [0, 1], [0, 1.0]]), n_steps=100)
    >>> abs(estimate.entropy_rate - 0.7781) < 4 * estimate.standard_error < 0.02
    True
    """
    replicas = _checked("n_replicas", n_replicas, 2)
    steps = _affordable(chain, replicas) if n_steps is None else _checked("n_steps", n_steps, 1)
    skipped = steps // 4 if burn_in is None else _checked("burn_in", burn_in, 0)
    rng = np.random.default_rng(random_state)
    backwards = sparse.csr_array(chain.transition_matrix.T) if chain.is_sparse else chain.transition_matrix.T
    by_group, by_state = sparse.csc_array(weights), sparse.csr_array(weights.T)
    beliefs, weight = _at_the_start(chain.stationary_distribution, replicas, rng)
    entropies = np.zeros(2 * replicas)
    for step in range(skipped + steps):
        laws = by_state @ beliefs
        if step >= skipped:
            entropies -= information.xlog2x(laws).sum(axis=0)
        groups = _drawn(laws[:, :replicas], rng.random(replicas))
        beliefs = backwards @ _given(beliefs, by_group[:, groups].toarray())
        if progress is not None:
            progress(step + 1, skipped + steps)
    knowing, ignorant = (np.maximum(entropies, 0.0) / steps).reshape(2, replicas)
    estimates = (knowing + ignorant) / 2.0
    mean = weight @ estimates
    variance = np.sum((weight * (estimates - mean)) ** 2) * replicas / (replicas - 1)
    bias = abs(weight @ (ignorant - knowing)) / 2.0
    return MonteCarlo(float(mean), float(np.sqrt(variance)), float(bias), replicas, steps)


def _affordable(chain: MarkovChain, n_replicas: int) -> int:
    """Steps that take a few seconds at most."""
    return int(np.clip(_MULTIPLICATIONS / (2 * n_replicas * chain.n_transitions), _FEWEST, _MOST))


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


def _given(beliefs: Array, likelihood: Array) -> Array:
    """Laws of the states given what was seen of them, for both filters of each replica."""
    knowing, ignorant = np.hsplit(beliefs, 2)
    knowing, ignorant = knowing * likelihood, ignorant * likelihood
    known = ignorant.sum(axis=0) > 0.0
    # What is seen may be so rare for one who knows nothing that nothing is left of it in floating point.
    ignorant = np.where(known, ignorant, knowing)
    posterior = np.hstack([knowing, ignorant])
    return np.asarray(posterior / posterior.sum(axis=0))


def _checked(name: str, value: Any, least: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise InvalidArgumentError(f"{name}={value!r} must be a whole number, {least} or more")
    return int(value)
