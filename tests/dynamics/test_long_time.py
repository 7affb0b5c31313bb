"""The long-time chain: the definition, exact first-passage times, slow timescales, and negative entries."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

import chains
import klump
import reference
from klump.dynamics import long_time
from klump.errors import ConvergenceError, InvalidArgumentError, ReducibleChainError


def double_well(n=60):
    """Metropolis chain of the potential 6 (x^2 - 1)^2 on a grid: neighbours are proposed with probability 1/2."""
    x = np.linspace(-1.5, 1.5, n)
    energy = 6 * (x**2 - 1) ** 2
    P = np.zeros((n, n))
    for i in range(n):
        for j in (i - 1, i + 1):
            if 0 <= j < n:
                P[i, j] = 0.5 * min(1, np.exp(energy[i] - energy[j]))
        P[i, i] = 1 - P[i].sum()
    return P


def random_labels(n, k, rng):
    return rng.permutation(np.concatenate([np.arange(k), rng.integers(k, size=n - k)]))


def exact_times(P):
    return np.column_stack([reference.first_passage_times_to(P, [j]) for j in range(len(P))])


@pytest.mark.parametrize("number", range(50))
def test_first_passage_times_are_the_weighted_ones_of_the_original(number):
    """Of 50 chains, half of them reversible, and a third of the maps soft."""
    rng = np.random.default_rng(number)
    kind = ("reversible", "nonreversible", "reversible", "dense", "sparse")[number % 5]
    n = int(rng.integers(4, 12))
    P, k = chains.random_matrix(kind, n, rng), int(rng.integers(2, n))
    W = np.eye(k)[random_labels(n, k, rng)]
    if number % 3 == 0:
        W = chains.normalized(W + 0.3 * rng.random((n, k)))
    answer = klump.Aggregation.from_labels(P, W)
    expected = reference.weighted_passage_times(exact_times(P), reference.stationary_law(P), W)
    found = answer.long_time_chain.first_passage_times()
    np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(answer.long_time_chain.transition_matrix.sum(axis=1), 1.0, atol=1e-13)


@given(
    seed=chains.seeds, kind=st.sampled_from(["dense", "sparse", "nonreversible", "reversible", "periodic"])
)
def test_the_projection_is_its_definition(seed, kind):
    rng = np.random.default_rng(seed)
    n = 2 * int(rng.integers(2, 7))
    P, k = chains.random_matrix(kind, n, rng), int(rng.integers(1, n + 1))
    labels = random_labels(n, k, rng)
    chain = klump.MarkovChain(P)
    found = klump.Aggregation.from_labels(chain, labels).long_time_chain
    expected = reference.long_time_matrix(P, chain.stationary_distribution, np.eye(k)[labels])
    np.testing.assert_allclose(found.transition_matrix, expected, atol=1e-9)
    nu = found.stationary_distribution
    np.testing.assert_allclose(nu @ found.transition_matrix, nu, atol=1e-12)
    assert found.is_stochastic == (found.transition_matrix.min() >= 0)


def test_groups_of_single_states_give_the_chain_itself(rng):
    P = chains.random_matrix("nonreversible", 7, rng)
    found = klump.Aggregation.from_labels(P, range(7)).long_time_chain
    np.testing.assert_allclose(found.transition_matrix, P, atol=1e-13)


def test_an_exact_lumping_gives_the_aggregated_chain():
    answer = klump.Aggregation.from_labels([[0.5, 0.4, 0.1], [0.4, 0.5, 0.1], [0.1, 0.1, 0.8]], [0, 0, 1])
    np.testing.assert_allclose(
        answer.long_time_chain.transition_matrix, answer.chain.transition_matrix, atol=1e-14
    )


def test_the_slow_timescale_of_a_double_well_is_kept():
    answer = klump.Aggregation.from_labels(double_well(), np.arange(60) // 30)
    original, one_step, late = (
        chain.timescales(1)[0] for chain in (answer.original, answer.chain, answer.long_time_chain)
    )
    assert one_step < 0.1 * original
    assert 0.998 * original < late < original


@pytest.mark.parametrize("coupling", [1e-6, 1e-10, 1e-14])
def test_first_passage_times_of_nearly_decomposable_chains_are_relatively_accurate(coupling, rng):
    P = np.kron(np.eye(3), rng.dirichlet(np.ones(3), size=3)) + coupling * rng.random((9, 9))
    np.fill_diagonal(P, 0.0)
    P = chains.normalized(P)
    answer = klump.Aggregation.from_labels(P, np.arange(9) // 3)
    W = np.eye(3)[np.arange(9) // 3]
    expected = reference.weighted_passage_times(exact_times(P), reference.stationary_law(P), W)
    found = answer.long_time_chain.first_passage_times()
    off = ~np.eye(3, dtype=bool)
    np.testing.assert_allclose(found[off], expected[off], rtol=1e-10)


@given(seed=chains.seeds)
def test_timescales_of_a_reversible_chain_are_never_exceeded(seed):
    """The eigenvalues of U Z W are Ritz values of Z, which is symmetric and positive on the complement of 1."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 12))
    weights = rng.random((n, n)) ** 4
    P = chains.normalized(weights + weights.T + 2 * n * np.eye(n))  # positive eigenvalues
    k = int(rng.integers(2, n + 1))
    answer = klump.Aggregation.from_labels(P, random_labels(n, k, rng))
    late = answer.long_time_chain.timescales()
    assert (late <= answer.original.timescales()[: k - 1] * (1 + 1e-9)).all()


@pytest.fixture
def negative():
    """A thin group between two others: the projection has a negative entry."""
    return klump.Aggregation.from_labels(double_well(), np.arange(60) // 20).long_time_chain


def test_negative_entries_are_reported_and_not_clipped(negative):
    assert not negative.is_stochastic
    assert negative.most_negative == negative.transition_matrix.min() < -1e-5
    assert "most negative entry" in repr(negative)
    np.testing.assert_allclose(negative.transition_matrix.sum(axis=1), 1.0, atol=1e-14)
    with pytest.raises(InvalidArgumentError, match=r"from group 0 to group 2 .*fewer groups.*lag"):
        _ = negative.chain
    for call in (
        lambda: negative.simulate(3),
        lambda: negative.committor(0, 1),
        lambda: negative.absorption_probabilities([0, 1]),
        lambda: negative.first_passage_times(0),
    ):
        with pytest.raises(InvalidArgumentError, match="no Markov chain"):
            call()


def test_times_need_no_markov_chain(negative):
    P, W = double_well(), np.eye(3)[np.arange(60) // 20]
    original = klump.MarkovChain(P)
    expected = np.empty((3, 3))
    within = (W * original.stationary_distribution[:, None]).T
    within /= within.sum(axis=1, keepdims=True)
    expected = within @ original.first_passage_times() @ within.T
    np.testing.assert_allclose(negative.first_passage_times(), expected - expected.diagonal(), rtol=1e-8)
    assert negative.timescales(1)[0] == pytest.approx(original.timescales(1)[0], rel=0.02)


def test_methods_of_a_stochastic_projection_are_those_of_its_chain(rng):
    found = klump.Aggregation.from_labels(double_well(), np.arange(60) // 30).long_time_chain
    assert found.is_stochastic
    assert found.most_negative == 0.0
    assert found.n_states == 2
    assert found.states == (0, 1)
    np.testing.assert_array_equal(found.simulate(50, seed=3), found.chain.simulate(50, seed=3))
    np.testing.assert_allclose(found.committor(0, 1), [0, 1])
    np.testing.assert_allclose(found.absorption_probabilities([0, 1]), np.eye(2))
    np.testing.assert_allclose(found.first_passage_times(0), found.first_passage_times()[:, 0])
    np.testing.assert_allclose(found.chain.stationary_distribution, found.stationary_distribution)


def test_dependent_groups_of_a_soft_map_are_an_error(rng):
    P = chains.random_matrix("dense", 6, rng)
    with pytest.raises(InvalidArgumentError, match="linearly dependent"):
        _ = klump.Aggregation.from_labels(P, np.full((6, 2), 0.5)).long_time_chain


def test_a_reducible_chain_has_no_long_time_chain():
    answer = klump.Aggregation.from_labels([[1, 0, 0], [0, 1, 0], [0.5, 0.5, 0]], [0, 1, 2])
    with pytest.raises(ReducibleChainError):
        _ = answer.long_time_chain


@pytest.mark.parametrize("kind", ["metastable", "cyclic", "noisy"])
def test_large_sparse_chains_are_solved_iteratively(kind, monkeypatch):
    from klump.sources.random_chains import sparse_block_chain

    chain, labels = sparse_block_chain(600, 6, 6, kind, 0)
    exact = klump.Aggregation.from_labels(chain, labels).long_time_chain.transition_matrix
    monkeypatch.setattr(long_time, "factorise", lambda *_: None)
    found = klump.Aggregation.from_labels(chain, labels).long_time_chain.transition_matrix
    np.testing.assert_allclose(found, exact, atol=1e-10)


def test_an_iteration_that_does_not_converge_is_an_error(monkeypatch, rng):
    monkeypatch.setattr(long_time, "factorise", lambda *_: None)
    monkeypatch.setattr(long_time.krylov, "solve", lambda apply, precondition, rhs: 0 * rhs)
    P = sparse.csr_array(chains.random_matrix("dense", 6, rng))
    with pytest.raises(ConvergenceError, match="the residual is 1"):
        _ = klump.Aggregation.from_labels(P, [0, 0, 0, 1, 1, 1]).long_time_chain


@given(seed=st.integers(0, 2**32 - 1), n=st.integers(2, 6))
def test_a_diagonal_of_zeros_has_no_negative_entry(seed, n):
    """All states are groups, so that Q = P: rounding errors of its diagonal are no negative entries."""
    P = np.random.default_rng(seed).random((n, n)) + 0.01
    np.fill_diagonal(P, 0.0)
    chain = klump.Aggregation.from_labels(chains.normalized(P), np.arange(n)).long_time_chain
    assert chain.is_stochastic
    assert chain.chain.n_states == n


def test_chapman_kolmogorov_without_a_long_time_chain(monkeypatch):
    def fail(*_):
        raise ConvergenceError("the long-time chain was not computed")

    monkeypatch.setattr(long_time, "project", fail)
    found = klump.Aggregation.from_labels(double_well(), np.arange(60) // 30).chapman_kolmogorov([1, 5])
    assert np.isnan(found.long_time).all()
    assert np.isfinite(found.total_variation).all()


def test_groups_whose_mass_underflows_are_errors():
    P = np.diag(np.full(59, 1e-8), 1) + np.diag(np.full(59, 0.5), -1)
    answer = klump.Aggregation.from_labels(P + np.diag(1 - P.sum(axis=1)), np.arange(60) // 58)
    for ask in (
        lambda: answer.long_time_chain,
        lambda: answer.chapman_kolmogorov([1]),
        lambda: answer.lag_scan([1]),
        answer.first_passage_times,
    ):
        with pytest.raises(InvalidArgumentError, match="group 1 has a stationary mass below"):
            ask()
