"""Liftings: against their definitions, dense and sparse. Their divergence rates are in test_theorems.py too."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

import chains
import klump
import reference
from klump.aggregation import lifting
from klump.aggregation.aggregation import Aggregation
from klump.errors import InvalidArgumentError

P = np.array([[0.5, 0.4, 0.1], [0.3, 0.6, 0.1], [0.1, 0.1, 0.8]])
KINDS = ("stationary", "transition")

any_map = st.one_of(
    chains.matrices_and_labels().map(lambda drawn: (drawn[0], drawn[1])), chains.matrices_and_maps()
)


def sparse_chain(n, rng, degree=5):
    """Sparse chain with transitions from each state to the next one and to a few others."""
    columns = np.column_stack([(np.arange(n) + 1) % n, rng.integers(n, size=(n, degree - 1))]).ravel()
    weights = sparse.csr_array((0.1 + rng.random(columns.size), (np.repeat(np.arange(n), degree), columns)))
    return klump.MarkovChain(weights, normalize=True)


@given(any_map, st.booleans())
def test_liftings_against_their_definitions(drawn, as_sparse):
    P, given_map = drawn
    answer = Aggregation.from_labels(sparse.csr_array(P) if as_sparse else P, given_map)
    mu = reference.stationary_law(P)
    for kind, by_hand in zip(
        KINDS, (reference.stationary_lifting, reference.transition_lifting), strict=True
    ):
        lifted = answer.lift(kind)
        assert lifted.is_sparse == as_sparse
        found = lifted.transition_matrix.toarray() if as_sparse else lifted.transition_matrix
        np.testing.assert_allclose(found, by_hand(P, mu, answer.mapping), rtol=0, atol=1e-12)


@given(chains.matrices_and_labels(), st.sampled_from(KINDS))
def test_lifted_chains_lump_back(drawn, kind):
    """Phat W = W Q: the lifted chain has the next-group distributions of the aggregated one."""
    P, labels, k = drawn
    answer = Aggregation.from_labels(P, labels)
    lifted = answer.lift(kind).transition_matrix
    assert reference.is_lumpable(lifted, labels)
    Q = np.asarray(answer.chain.transition_matrix)
    np.testing.assert_allclose(
        lifted @ reference.indicator(labels, k), Q[np.asarray(labels)], rtol=0, atol=1e-12
    )


def chain_and_map_pairs(rng):
    """Six chains of each kind, dense and sparse, each with labels and a stochastic map."""
    for kind in chains.KINDS:
        for number in range(6):
            n = 2 * int(rng.integers(2, 6))
            P = chains.random_matrix(kind, n, rng)
            stored = sparse.csr_array(P) if number % 2 else P
            yield P, stored, chains.random_labels(n, int(rng.integers(2, n)), rng)
            yield P, stored, chains.random_map(n, 3, rng)


def test_divergence_rates_of_liftings_are_the_costs(rng):
    """42 partitions: equal to C_P and C_L; 42 stochastic maps: at most that, and less for most."""
    errors, slack = [], []
    for P, stored, given_map in chain_and_map_pairs(rng):
        answer = Aggregation.from_labels(stored, given_map)
        mu = reference.stationary_law(P)
        costs = (
            reference.predictability(P, mu, answer.mapping),
            reference.lumpability(P, mu, answer.mapping),
        )
        for kind, cost in zip(KINDS, costs, strict=True):
            difference = cost - klump.divergence_rate(stored, answer.lift(kind))
            (slack if np.ndim(given_map) == 2 else errors).append(difference)
    assert len(errors) == len(slack) == 84
    assert np.abs(errors).max() <= 1e-12
    assert min(slack) >= -1e-12
    assert np.sum(np.array(slack) > 1e-6) >= 60


def test_mass_without_transitions_goes_to_the_heaviest_state():
    """State 0 never leads to group 1, its group does: the step goes to the heavier member, or else to the first."""
    P = np.array([[0.5, 0.5, 0.0, 0.0], [0.4, 0.4, 0.1, 0.1], [0.5, 0.0, 0.25, 0.25], [0.5, 0.0, 0.25, 0.25]])
    for matrix in (P, sparse.csr_array(P)):
        answer = Aggregation.from_labels(matrix, [0, 0, 1, 1])
        lifted = answer.lift("transition").transition_matrix
        assert lifted[0, 2] == pytest.approx(answer.chain.transition_matrix[0, 1], abs=1e-15)
        assert lifted[0, 3] == 0.0
    P[1] = [0.4, 0.4, 0.05, 0.15]
    lifted = Aggregation.from_labels(P, [0, 0, 1, 1]).lift("transition").transition_matrix
    assert lifted[0, 2] == 0.0
    assert lifted[0, 3] > 0.0


@pytest.mark.parametrize("soft", [False, True])
def test_transition_lifting_of_a_large_sparse_chain(rng, soft):
    n, k = 20_000, 10
    chain = sparse_chain(n, rng)
    labels = chains.random_labels(n, k, rng)
    given_map = labels
    if soft:
        given_map = sparse.csr_array(0.9 * np.eye(k)[labels] + 0.1 * np.eye(k)[(labels + 1) % k])
    answer = Aggregation.from_labels(chain, given_map)
    lifted = answer.lift("transition")
    assert lifted.is_sparse
    assert lifted.n_transitions <= chain.n_transitions + n * k
    next_group = lifted.transition_matrix @ answer.map.weights
    expected = answer.map.weights @ answer.chain.transition_matrix
    rate = klump.divergence_rate(chain, lifted)
    if soft:
        # Phat W = W Q holds for partitions only.
        assert 0.0 < rate < answer.costs.lumpability
    else:
        np.testing.assert_allclose(next_group.toarray(), expected, rtol=0, atol=1e-14)
        assert rate == pytest.approx(answer.costs.lumpability, abs=1e-12)


def test_stationary_lifting_of_a_sparse_chain_with_few_links(rng):
    """20,000 states in 2,500 groups on a ring: 320,000 of 400,000,000 entries."""
    n, size = 20_000, 8
    ring = sparse.csr_array((np.ones(n), (np.arange(n), (np.arange(n) + 1) % n)), shape=(n, n))
    chain = klump.MarkovChain(
        0.5 * ring + 0.5 * sparse.eye_array(n), stationary_distribution=np.full(n, 1 / n)
    )
    answer = Aggregation.from_labels(chain, np.arange(n) // size)
    lifted = answer.lift()
    assert lifted.is_sparse
    assert lifted.n_transitions == 2 * size * n
    assert klump.divergence_rate(chain, lifted) == pytest.approx(answer.costs.predictability, abs=1e-12)


def test_sparse_liftings_are_counted_before_they_are_built(monkeypatch):
    """Two linked groups of 1 and 2 states, of which the larger leads to itself: 1*2 + 2*1 + 2*2 entries."""
    P = sparse.csr_array(np.array([[0, 0.5, 0.5], [0.5, 0.5, 0], [0.5, 0, 0.5]]))
    answer = Aggregation.from_labels(P, [0, 1, 1])
    monkeypatch.setattr(lifting, "_MAX_LIFTED_TRANSITIONS", 8)
    assert answer.lift().n_transitions == 8
    monkeypatch.setattr(lifting, "_MAX_LIFTED_TRANSITIONS", 7)
    with pytest.raises(
        InvalidArgumentError, match=r"lifting 3 states would store 8 transitions; use the agg"
    ):
        answer.lift()
    assert answer.lift("transition").n_transitions == 6


def test_dense_liftings_have_all_entries(monkeypatch):
    monkeypatch.setattr(lifting, "_MAX_LIFTED_TRANSITIONS", 8)
    with pytest.raises(InvalidArgumentError, match=r"lifting 3 states would store 9 transitions"):
        Aggregation.from_labels(P, [0, 0, 1]).lift()


@pytest.mark.parametrize("kind", KINDS)
def test_lifted_chains_keep_the_names(kind):
    named = Aggregation.from_labels(klump.MarkovChain(P, states=["sun", "rain", "snow"]), [0, 0, 1])
    assert named.lift(kind).states == ("sun", "rain", "snow")
    assert not Aggregation.from_labels(P, [0, 0, 1]).lift(kind).has_names


@pytest.mark.parametrize("kind", ["pi", "", None, ["stationary"]])
def test_unknown_kind(kind):
    with pytest.raises(InvalidArgumentError, match=r"^kind=.* choose 'stationary' or 'transition'$"):
        Aggregation.from_labels(P, [0, 0, 1]).lift(kind)


def test_vanishing_groups_have_a_row():
    """The rows of a group of subnormal stationary mass are valid."""
    rare = 1e-310
    chain = klump.MarkovChain(
        [[0.5, 0.5, 0.0], [0.5, 0.5, rare], [1.0, 0.0, 0.0]], stationary_distribution=[0.5, 0.5, rare / 2]
    )
    for kind in KINDS:
        lifted = Aggregation.from_labels(chain, [0, 0, 1]).lift(kind).transition_matrix
        np.testing.assert_allclose(lifted.sum(axis=1), 1.0, rtol=0, atol=1e-15)
        np.testing.assert_allclose(lifted[2, :2].sum(), 1.0, rtol=0, atol=1e-15)


def test_exact_lumpings_of_absorbing_chains_lift_by_transitions():
    """P is its own P-lifting if the map is lumpable; no stationary distribution is needed."""
    ruin = np.array(
        [[1, 0, 0, 0, 0], [0.5, 0, 0.5, 0, 0], [0, 0.5, 0, 0.5, 0], [0, 0, 0.5, 0, 0.5], [0, 0, 0, 0, 1]]
    )
    answer = Aggregation.from_labels(ruin, [0, 1, 2, 1, 0])
    np.testing.assert_allclose(answer.lift("transition").transition_matrix, ruin, rtol=0, atol=1e-15)
    with pytest.raises(klump.errors.ReducibleChainError):
        answer.lift()
