"""Communicating classes, and the two remedies for a reducible chain."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

import chains
from klump import MarkovChain
from klump.chain import connectivity
from klump.errors import InvalidArgumentError, ReducibleChainError

FORMS = pytest.mark.parametrize("form", [np.array, sparse.csr_array], ids=["dense", "sparse"])

# States 0, 1 and 5 are transient; {2, 3, 4} and {6} are closed classes.
MIXED = np.array(
    [
        [0.0, 0.5, 0.5, 0.0, 0.0, 0.0, 0.0],
        [0.5, 0.0, 0.0, 0.0, 0.0, 0.5, 0.0],
        [0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0],
        [0.0, 0.0, 0.0, 0.2, 0.8, 0.0, 0.0],
        [0.0, 0.0, 0.4, 0.6, 0.0, 0.0, 0.0],
        [0.0, 0.0, 0.3, 0.0, 0.0, 0.0, 0.7],
        [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0],
    ]
)
NAMES = "abcdefg"


def dense(matrix):
    return matrix.toarray() if sparse.issparse(matrix) else matrix


def communicating_by_definition(P):
    """Pairs of states that reach each other, from the n-th power of the adjacency matrix."""
    n = len(P)
    reach = np.eye(n, dtype=bool) | (P > 0)
    for _ in range(n):
        reach = reach | (reach @ reach)
    return reach & reach.T, reach


# Classes


@given(st.integers(1, 8), st.floats(0.05, 0.5), chains.seeds)
def test_classes_agree_with_the_definition(n, density, seed):
    rng = np.random.default_rng(seed)
    P = (rng.random((n, n)) < density) * rng.random((n, n)) + np.diag(np.full(n, 0.1))
    P = chains.normalized(P)
    together, reach = communicating_by_definition(P)
    for form in (np.array, sparse.csr_array):
        classes = connectivity.communicating_classes(form(P))
        assert ((classes.component[:, None] == classes.component[None, :]) == together).all()
        for i in range(n):
            holds = (~reach[i] | together[i]).all()
            assert classes.closed[classes.component[i]] == holds
        assert sum(len(classes.members(number)) for number in range(classes.n_classes)) == n


@FORMS
def test_classes_of_a_mixed_chain(form):
    classes = MarkovChain(form(MIXED)).classes
    assert classes.n_classes == 4
    held = sorted(classes.members(number).tolist() for number in np.flatnonzero(classes.closed))
    assert held == [[2, 3, 4], [6]]
    assert classes.largest_closed().tolist() == [2, 3, 4]


def test_a_chain_without_zeros_is_one_class():
    classes = connectivity.communicating_classes(np.full((3, 3), 1 / 3))
    assert classes.n_classes == 1
    assert classes.closed.tolist() == [True]


def test_ties_between_largest_classes_go_to_the_first():
    classes = connectivity.communicating_classes(np.eye(3))
    assert len(classes.largest_closed()) == 1


def test_stored_zeros_are_no_transitions():
    stored = sparse.csr_array((np.array([1.0, 0.0, 1.0]), ([0, 0, 1], [0, 1, 1])), shape=(2, 2))
    assert MarkovChain(stored).classes.n_classes == 2


# Errors


@FORMS
def test_the_error_names_the_classes_and_both_remedies(form):
    chain = MarkovChain(form(MIXED), states=NAMES)
    assert not chain.is_irreducible
    with pytest.raises(ReducibleChainError) as caught:
        _ = chain.stationary_distribution
    message = str(caught.value)
    assert "closed class of 3 states ('c', 'd', 'e')" in message
    assert "absorbing state ('g')" in message
    assert "3 transient states ('a', 'b', 'f')" in message
    assert "restrict='largest'" in message
    assert "restart=p" in message
    assert "\n" not in message
    for fact in ("joint", "entropy_rate", "redundancy_rate", "is_reversible"):
        with pytest.raises(ReducibleChainError):
            getattr(chain, fact)


def test_a_supplied_distribution_does_not_hide_reducibility():
    chain = MarkovChain(np.eye(2), stationary_distribution=[0.5, 0.5])
    with pytest.raises(ReducibleChainError, match="absorbing state"):
        _ = chain.stationary_distribution


def test_long_lists_are_cut_short():
    with pytest.raises(ReducibleChainError) as caught:
        _ = MarkovChain(np.eye(7)).stationary_distribution
    assert "4 more closed classes" in str(caught.value)
    P = np.zeros((8, 8))
    P[:, 7] = 1.0
    with pytest.raises(ReducibleChainError, match=r"7 transient states \(0, 1, 2, 3, \.\.\.\)"):
        _ = MarkovChain(P).stationary_distribution


# Restriction


@FORMS
def test_restrict_keeps_the_largest_closed_class(form):
    chain = MarkovChain(form(MIXED), states=NAMES, restrict="largest")
    assert chain.states == ("c", "d", "e")
    assert chain.original_index.tolist() == [2, 3, 4]
    assert (dense(chain.transition_matrix) == MIXED[2:5, 2:5]).all()
    assert chain.is_sparse == (form is sparse.csr_array)
    assert chain.is_irreducible
    assert chain.applied == ("restricted to the largest closed class, 3 of 7 states",)
    assert "restricted to the largest closed class, 3 of 7 states" in repr(chain)
    mu = chain.stationary_distribution
    np.testing.assert_allclose(mu @ MIXED[2:5, 2:5], mu, rtol=1e-14)


def test_restricted_states_without_names_keep_their_numbers():
    chain = MarkovChain(MIXED, restrict="largest")
    assert chain.states == (2, 3, 4)


def test_restricting_an_irreducible_chain_changes_nothing():
    chain = MarkovChain(np.full((2, 2), 0.5), restrict="largest")
    assert chain.applied == ()
    assert chain.states == (0, 1)
    assert not chain.has_names
    assert chain.original_index.tolist() == [0, 1]


def test_the_supplied_distribution_is_that_of_the_restricted_chain():
    mu = MarkovChain(MIXED, restrict="largest").stationary_distribution
    chain = MarkovChain(MIXED, restrict="largest", stationary_distribution=mu)
    np.testing.assert_allclose(chain.stationary_distribution, mu, rtol=1e-15)


def test_restrict_knows_one_choice():
    with pytest.raises(
        InvalidArgumentError, match="restrict='smallest' is not known; the only choice is 'largest'"
    ):
        MarkovChain(MIXED, restrict="smallest")


# Restart


@FORMS
@pytest.mark.parametrize("initial", ["a", [1, 0, 0, 0, 0, 0, 0], (1, 0, 0, 0, 0, 0, 0), np.eye(7)[0]])
def test_restart_at_one_state_by_name_or_vector(form, initial):
    chain = MarkovChain(form(MIXED), states=NAMES, restart=0.2, initial=initial)
    expected = 0.8 * MIXED
    expected[:, 0] += 0.2
    np.testing.assert_allclose(dense(chain.transition_matrix), expected, rtol=1e-15, atol=1e-17)
    assert chain.is_sparse == (form is sparse.csr_array)
    assert chain.is_irreducible
    assert chain.applied == ("restarted at state 'a' with probability 0.2",)
    assert chain.n_transitions == np.count_nonzero(expected)


@FORMS
def test_restart_from_the_uniform_distribution(form):
    chain = MarkovChain(form(MIXED), restart=0.1)
    np.testing.assert_allclose(dense(chain.transition_matrix), 0.9 * MIXED + 0.1 / 7, rtol=1e-14)
    assert chain.applied == ("restarted at 7 initial states with probability 0.1",)


@FORMS
def test_restart_at_a_distribution(form):
    law = np.array([0.25, 0.75, 0, 0, 0, 0, 0])
    chain = MarkovChain(form(MIXED), restart=0.5, initial=law)
    np.testing.assert_allclose(dense(chain.transition_matrix), 0.5 * MIXED + 0.5 * law, rtol=1e-14, atol=0)
    assert chain.applied == ("restarted at 2 initial states with probability 0.5",)
    assert chain.n_transitions == np.count_nonzero(0.5 * MIXED + 0.5 * law)


@FORMS
def test_restart_with_probability_one_is_independent_sampling(form):
    law = np.array([0.25, 0.75])
    chain = MarkovChain(form(np.eye(2)), restart=1, initial=law)
    np.testing.assert_allclose(dense(chain.transition_matrix), [law, law], rtol=1e-15)
    assert chain.redundancy_rate == pytest.approx(0.0, abs=1e-15)


def test_states_that_a_restart_cannot_reach_can_be_left_out():
    chain = MarkovChain(MIXED, states=NAMES, restart=0.2, initial="f", restrict="largest")
    assert chain.states == ("c", "d", "e", "f", "g")
    assert len(chain.applied) == 2


def test_a_name_may_be_a_tuple():
    names = [(1.0, 0.0), (0.0, 1.0)]
    chain = MarkovChain(np.eye(2), states=names, restart=0.5, initial=(0.0, 1.0))
    assert chain.applied == ("restarted at state (0.0, 1.0) with probability 0.5",)
    assert chain.transition_matrix[0, 1] == 0.5


def test_a_state_without_a_name_goes_by_its_number():
    chain = MarkovChain(np.eye(3), restart=0.5, initial=np.int64(2))
    assert (chain.transition_matrix[:, 2] >= 0.5).all()


@pytest.mark.parametrize("restart", [0, -0.1, 1.1, np.nan, "often", [0.1]])
def test_bad_restarts(restart):
    with pytest.raises(InvalidArgumentError, match="restart"):
        MarkovChain(MIXED, restart=restart, initial=0)


@pytest.mark.parametrize(
    ("initial", "message"),
    [
        ("z", "initial='z' is not the name of a state"),
        (7, "initial=7 is not the name of a state"),
        (0.5, "initial=0.5 is not the name of a state"),
        ([0.5, 0.5], r"initial has shape \(2,\), but the chain has 7 states"),
        ([0.5] * 7, "initial must be a distribution, but it sums to 3.5"),
        ([2, -1, 0, 0, 0, 0, 0], "initial must be a distribution, but it has -1.0 at state 1"),
        ([np.nan, 1, 0, 0, 0, 0, 0], "it has nan at state 0"),
        ([[1], 0, 0, 0, 0, 0, 0], "initial must be the name of a state, a dict of masses"),
        (([1], 0), "initial must be the name of a state, a dict of masses"),
        (list("abcdefg"), "initial must be the name of a state, a dict of masses"),
    ],
)
def test_bad_initial_distributions(initial, message):
    with pytest.raises(InvalidArgumentError, match=message) as caught:
        MarkovChain(MIXED, restart=0.1, initial=initial)
    assert "\n" not in str(caught.value)


def test_initial_without_restart_is_only_kept():
    chain = MarkovChain(MIXED, initial=0)
    assert (chain.transition_matrix == MIXED).all()
    assert chain.initial.tolist() == [1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]
    assert chain.applied == ()


def test_a_restart_that_would_fill_a_large_sparse_chain_is_refused():
    n = 8000
    cycle = sparse.csr_array((np.ones(n), (np.arange(n), np.roll(np.arange(n), -1))), shape=(n, n))
    with pytest.raises(InvalidArgumentError, match="would store 64000000 transitions; pass initial with"):
        MarkovChain(cycle, restart=0.1)
    chain = MarkovChain(cycle, restart=0.1, initial=5)
    assert chain.is_sparse
    assert chain.n_transitions == 2 * n - 1


def test_a_restart_that_does_not_reach_every_state_names_the_remedy():
    chain = MarkovChain([[0.5, 0.5, 0.0], [0.0, 1.0, 0.0], [1.0, 0.0, 0.0]], restart=0.1, initial=0)
    with pytest.raises(ReducibleChainError, match="restarted already: pass restrict='largest' as well"):
        chain.stationary_distribution  # noqa: B018
    mended = MarkovChain(chain, restrict="largest")
    assert mended.states == (0, 1)
    assert [change.split()[0] for change in mended.applied] == ["restarted", "restricted"]
