"""Degenerate chains: many partitions of one cost, or no structure to find."""

from __future__ import annotations

import numpy as np
from scipy import sparse


def rank_one(n: int):
    """Successive states are independent."""
    return np.tile(np.random.default_rng(0).dirichlet(np.ones(n)), (n, 1))


def uniform(n: int):
    return np.full((n, n), 1.0 / n)


def permutation(n: int):
    """One cycle through all states."""
    state = np.arange(n)
    return sparse.csr_array((np.ones(n), (state, (state + 1) % n)), shape=(n, n))


def ring(n: int):
    """A random walk on a circle."""
    state = np.arange(n)
    steps = np.concatenate([(state + 1) % n, (state - 1) % n])
    return sparse.csr_array((np.full(2 * n, 0.5), (np.tile(state, 2), steps)), shape=(n, n))


def star(n: int):
    """From the centre to a random leaf, and back."""
    leaves, centre = np.arange(1, n), np.zeros(n - 1, dtype=int)
    values = np.concatenate([np.full(n - 1, 1.0 / (n - 1)), np.ones(n - 1)])
    rows, columns = np.concatenate([centre, leaves]), np.concatenate([leaves, centre])
    return sparse.csr_array((values, (rows, columns)), shape=(n, n))


def duplicates(n: int):
    """Every state thrice."""
    copies = np.repeat(np.arange(n // 3), 3)
    return sparse.csr_array(unstructured(n // 3)[copies][:, copies] / 3.0)


def heavy(n: int):
    """One state with almost all the mass."""
    matrix = np.full((n, n), 1e-9)
    matrix[:, 0] = 1.0
    return matrix / matrix.sum(axis=1, keepdims=True)


def dirichlet(n: int):
    """Independent rows, uniform on the simplex."""
    return np.random.default_rng(0).dirichlet(np.ones(n), n)


def unstructured(n: int):
    """Ten random successors per state, one of them on a cycle through all states."""
    rng = np.random.default_rng(0)
    state = np.repeat(np.arange(n), 10)
    successor = rng.integers(0, n, 10 * n)
    successor[::10] = (np.arange(n) + 1) % n
    matrix = sparse.csr_array((rng.uniform(0.01, 1.01, 10 * n), (state, successor)), shape=(n, n))
    return sparse.csr_array(sparse.diags_array(1.0 / matrix.sum(axis=1)) @ matrix)


def tiny(n: int):
    """Probabilities down to 1e-80."""
    matrix = unstructured(n)
    matrix.data **= 40
    return sparse.csr_array(sparse.diags_array(1.0 / matrix.sum(axis=1)) @ matrix)


CHAINS = {
    chain.__name__: chain
    for chain in (
        rank_one,
        uniform,
        permutation,
        ring,
        star,
        duplicates,
        heavy,
        dirichlet,
        unstructured,
        tiny,
    )
}
# Kind, states, groups.
QUESTIONS = (
    ("rank_one", 1_000, 10),
    ("uniform", 500, 5),
    ("permutation", 1_000, 4),
    ("ring", 100_001, 2),
    ("star", 1_000, 3),
    ("duplicates", 2_250, 4),
    ("heavy", 400, 5),
    ("dirichlet", 600, 2),
    ("dirichlet", 600, 550),
    ("dirichlet", 600, 599),
    ("dirichlet", 3_000, 50),
    ("unstructured", 100_000, 2),
    ("unstructured", 12_000, 11_900),
    ("tiny", 363, 11),
)
BETAS = (0.0, 0.5, 1.0)
# Groups above which only "auto" is measured: other methods keep dense tables of k^2 entries, 7 GB at 12,000.
MAX_TABLE_GROUPS = 4_000
