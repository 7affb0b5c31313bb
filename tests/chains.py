"""Random transition matrices and maps for property tests: plain arrays of every troublesome kind."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

KINDS = ("dense", "skewed", "sparse", "decomposable", "nonreversible", "reversible", "periodic")

seeds = st.integers(0, 2**32 - 1)
betas = st.one_of(st.sampled_from([0.0, 0.5, 1.0]), st.floats(0.0, 1.0))
gammas = st.sampled_from([0.0, 0.0, 0.25, 1.0, 3.0])


def normalized(weights):
    return weights / weights.sum(axis=1, keepdims=True)


def random_matrix(kind, n, rng):
    """Irreducible transition matrix of the kind named."""
    ring = np.roll(np.eye(n), 1, axis=1)  # each state leads to the next: irreducible whatever is added
    if kind == "dense":
        return rng.dirichlet(np.ones(n), size=n)
    if kind == "skewed":
        return normalized(rng.dirichlet(np.full(n, 0.1), size=n) + 1e-12)
    if kind == "sparse":
        support = rng.random((n, n)) < min(1.0, 1.5 / n)
        return normalized(rng.random((n, n)) * support + (0.1 + rng.random((n, n))) * ring)
    if kind == "decomposable":
        coupling = 10.0 ** rng.uniform(-10, -1)
        block = rng.integers(2, size=n)
        within = rng.dirichlet(np.ones(n), size=n) * (block[:, None] == block[None, :])
        return normalized(within + coupling * rng.random((n, n)))
    if kind == "nonreversible":
        return normalized(0.05 * rng.random((n, n)) + (0.5 + rng.random((n, n))) * ring)
    if kind == "reversible":
        weights = 10.0 ** rng.uniform(-3, 0, size=(n, n))
        return normalized(weights + weights.T)
    if kind == "periodic":
        side = np.arange(n) % 2  # n even: the ring alternates as well
        return normalized(rng.random((n, n)) * (side[:, None] != side[None, :]) + ring)
    raise ValueError(kind)


def random_labels(n, k, rng):
    """Labels of n states in k groups, none of them empty."""
    labels = np.concatenate([np.arange(k), rng.integers(k, size=n - k)])
    return rng.permutation(labels)


def random_map(n, k, rng):
    """Stochastic map in which some states are split between groups and some are not."""
    W = rng.dirichlet(np.full(k, 0.5), size=n)
    hard = rng.random(n) < 0.3
    hard[0] = False
    W[hard] = np.eye(k)[rng.integers(k, size=hard.sum())]
    return normalized(W + 1e-3 * (W.sum(axis=0) == 0))


@st.composite
def matrices(draw, kinds=KINDS, min_size=2, max_size=7):
    kind = draw(st.sampled_from(kinds))
    n = draw(st.integers(min_size, max_size))
    n += kind == "periodic" and n % 2
    return random_matrix(kind, n, np.random.default_rng(draw(seeds)))


@st.composite
def matrices_and_labels(draw, kinds=KINDS, min_size=2, max_size=7, max_groups=4):
    """A transition matrix, labels, and the number of groups."""
    P = draw(matrices(kinds, min_size, max_size))
    k = draw(st.integers(1, min(max_groups, len(P))))
    return P, random_labels(len(P), k, np.random.default_rng(draw(seeds))), k


@st.composite
def matrices_and_maps(draw, kinds=KINDS, min_size=2, max_size=6, max_groups=3):
    """A transition matrix and a stochastic map."""
    P = draw(matrices(kinds, min_size, max_size))
    k = draw(st.integers(2, max_groups))
    return P, random_map(len(P), k, np.random.default_rng(draw(seeds)))


@st.composite
def lumpable(draw, max_groups=3, max_members=3):
    """A transition matrix that is exactly lumpable (up to rounding), and the labels that say how."""
    rng = np.random.default_rng(draw(seeds))
    k = draw(st.integers(1, max_groups))
    labels = np.repeat(np.arange(k), rng.integers(1, max_members + 1, size=k))
    between = rng.dirichlet(np.ones(k), size=k)
    P = np.zeros((len(labels), len(labels)))
    for x, y in enumerate(labels):
        for z in range(k):
            P[x, labels == z] = between[y, z] * rng.dirichlet(np.ones((labels == z).sum()))
    order = rng.permutation(len(labels))
    return P[np.ix_(order, order)], labels[order]
