"""Kullback-Leibler divergence rate of two Markov chains."""

from __future__ import annotations

import numpy as np

from klump import information
from klump.chain.markov_chain import ChainLike, MarkovChain, as_chain
from klump.chain.rows import entries
from klump.errors import InvalidArgumentError


def divergence_rate(a: ChainLike, b: ChainLike) -> float:
    """Kullback-Leibler divergence rate of the chain ``a`` from the chain ``b``, in bits per step.

    With mu the stationary distribution of ``a`` it is sum_i mu[i] D(P_a[i, :] || P_b[i, :]).

    Parameters
    ----------
    a
        An irreducible chain: a MarkovChain, a transition matrix, or an object with one.
    b
        A chain on the same states. It need not be irreducible.

    Returns
    -------
    float
        Non-negative, exactly 0.0 for equal chains; ``inf`` if ``a`` has a transition, from a state of positive
        stationary mass, that ``b`` lacks.

    Examples
    --------
    >>> round(divergence_rate([[0.5, 0.5], [0.5, 0.5]], [[0.25, 0.75], [0.5, 0.5]]), 6)
    0.103759
    >>> divergence_rate([[0.5, 0.5], [0.5, 0.5]], [[0.0, 1.0], [0.5, 0.5]])
    inf
    """
    a, b = as_chain(a), as_chain(b)
    _require_same_states(a, b)
    mu, other = a.stationary_distribution, b.transition_matrix
    total = 0.0
    for row, col, p in entries(a.transition_matrix):
        q = np.asarray(other[row, col]).ravel()
        # Checked here because information.divergence skips entries of negligible mass.
        if (mu[row[q == 0.0]] > 0.0).any():
            return float("inf")
        total += information.divergence(p, q, mu[row])
    return total


def _require_same_states(a: MarkovChain, b: MarkovChain) -> None:
    if a.n_states != b.n_states:
        raise InvalidArgumentError(
            f"has {b.n_states} states, but a has {a.n_states}",
            argument="b",
            remedy="pass chains on the same states",
        )
    if not (a.has_names and b.has_names) or a.states == b.states:
        return
    index, one, other = next(
        (index, one, other)
        for index, (one, other) in enumerate(zip(a.states, b.states, strict=True))
        if one != other
    )
    raise InvalidArgumentError(
        f"has {other!r} as its state {index}, but a has {one!r}",
        argument="b",
        state=other,
        remedy="pass chains on the same states in the same order",
    )
