"""The divergence rate of two chains: against its definition, in every storage, and where it is infinite."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from scipy import sparse

import chains
import klump
import reference
from klump.errors import InvalidArgumentError, ReducibleChainError

A = np.array([[0.4, 0.3, 0.3], [0.25, 0.3, 0.45], [0.15, 0.425, 0.425]])
B = np.array([[0.2, 0.5, 0.3], [0.25, 0.3, 0.45], [0.05, 0.05, 0.9]])
STORAGES = [np.asarray, sparse.csr_array, sparse.coo_matrix, klump.MarkovChain]


@given(chains.matrices(), chains.seeds)
def test_against_the_definition_in_every_storage(P, seed):
    """Same transitions, other probabilities: the sum of mu[i] P[i, j] log2(P[i, j] / other[i, j])."""
    rng = np.random.default_rng(seed)
    other = chains.normalized(P * (0.1 + rng.random(P.shape)))
    expected = reference.divergence_rate(P, other)
    for one in STORAGES:
        for two in STORAGES:
            assert klump.divergence_rate(one(P), two(other)) == pytest.approx(expected, abs=1e-12)


@given(chains.matrices())
def test_equal_chains_have_divergence_zero(P):
    for one in STORAGES:
        for two in STORAGES:
            assert klump.divergence_rate(one(P), two(P)) == 0.0


def test_missing_transitions_are_infinite_in_one_direction():
    without = np.array([[0.5, 0.5, 0.0], [0.25, 0.3, 0.45], [0.05, 0.05, 0.9]])
    for store in STORAGES:
        assert klump.divergence_rate(A, store(without)) == np.inf
        assert 0.0 < klump.divergence_rate(store(without), A) < np.inf


def test_a_missing_transition_of_a_rare_state_is_infinite():
    """Infinite for every positive stationary mass, however small; not for mass 0."""
    rare = 1e-305
    a = klump.MarkovChain([[1.0, rare], [0.5, 0.5]], stationary_distribution=[1.0, 2 * rare])
    assert klump.divergence_rate(a, [[1.0, rare], [1.0, 0.0]]) == np.inf
    massless = klump.MarkovChain([[1.0, 1e-320], [0.5, 0.5]], stationary_distribution=[1.0, 0.0])
    assert klump.divergence_rate(massless, [[1.0, 1e-320], [1.0, 0.0]]) == 0.0


def test_only_the_first_chain_needs_a_stationary_distribution():
    reducible = np.array([[0.5, 0.5], [0.0, 1.0]])
    assert klump.divergence_rate([[0.5, 0.5], [1.0, 0.0]], reducible) == np.inf
    absorbing = np.array([[0.5, 0.5, 0.0], [0.5, 0.5, 0.0], [0.5, 0.0, 0.5]])
    with pytest.raises(ReducibleChainError):
        klump.divergence_rate(absorbing, np.full((3, 3), 1 / 3))


def test_large_sparse_chains(rng):
    """A ring of 200,000 states: D = log2(0.5 / 0.25) / 2 + log2(0.5 / 0.75) / 2 bits per step."""
    n = 200_000
    ring = sparse.csr_array((np.ones(n), (np.arange(n), (np.arange(n) + 1) % n)), shape=(n, n))
    stay = sparse.eye_array(n, format="csr")
    a = klump.MarkovChain(0.5 * ring + 0.5 * stay, stationary_distribution=np.full(n, 1 / n))
    expected = (1 + np.log2(0.5 / 0.75)) / 2
    assert klump.divergence_rate(a, 0.25 * ring + 0.75 * stay) == pytest.approx(expected, abs=1e-12)


def test_states_must_be_the_same():
    a = klump.MarkovChain(A, states=["x", "y", "z"])
    with pytest.raises(InvalidArgumentError, match=r"^b has 2 states, but a has 3; pass"):
        klump.divergence_rate(A, np.full((2, 2), 0.5))
    with pytest.raises(InvalidArgumentError, match=r"^b has 'w' as its state 1, but a has 'y'; pass"):
        klump.divergence_rate(a, klump.MarkovChain(B, states=["x", "w", "z"]))
    expected = reference.divergence_rate(A, B)
    for b in (B, klump.MarkovChain(B, states=["x", "y", "z"])):
        assert klump.divergence_rate(a, b) == pytest.approx(expected, abs=1e-12)
