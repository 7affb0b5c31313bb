"""Restriction of a reducible chain to a part of it."""

from __future__ import annotations

import itertools
import pickle
from typing import get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

import chains
import reference
from klump import MarkovChain
from klump.choices import RESTRICTIONS, Restriction
from klump.errors import InvalidArgumentError, InvalidChainError, ReducibleChainError

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


# Closed classes


@FORMS
@pytest.mark.parametrize("how", ["closed", "largest"])
def test_the_largest_closed_class(form, how):
    chain = MarkovChain(form(MIXED), states=NAMES, restrict=how)
    assert chain.states == ("c", "d", "e")
    assert chain.original_index.tolist() == [2, 3, 4]
    assert (dense(chain.transition_matrix) == MIXED[2:5, 2:5]).all()
    assert chain.is_sparse == (form is sparse.csr_array)
    assert chain.is_irreducible
    said = "restricted to the largest closed class, 3 of 7 states; dropped 'a', 'b', 'f', 'g'"
    assert chain.applied == (said,)
    assert said in repr(chain)
    mu = chain.stationary_distribution
    np.testing.assert_allclose(mu @ MIXED[2:5, 2:5], mu, rtol=1e-14)


@pytest.mark.parametrize("how", ["connected", "closed"])
def test_restricted_states_without_names_keep_their_numbers(how):
    chain = MarkovChain(MIXED, restrict=how)
    assert chain.states == (2, 3, 4)


@pytest.mark.parametrize("how", ["connected", "closed"])
def test_restricting_an_irreducible_chain_changes_nothing(how):
    chain = MarkovChain(np.full((2, 2), 0.5), restrict=how)
    assert chain.applied == ()
    assert chain.states == (0, 1)
    assert not chain.has_names
    assert chain.original_index.tolist() == [0, 1]


@pytest.mark.parametrize("how", ["connected", "closed"])
def test_the_supplied_distribution_is_that_of_the_restricted_chain(how):
    mu = MarkovChain(MIXED, restrict=how).stationary_distribution
    chain = MarkovChain(MIXED, restrict=how, stationary_distribution=mu)
    np.testing.assert_allclose(chain.stationary_distribution, mu, rtol=1e-15)


@pytest.mark.parametrize("unknown", ["smallest", 1, ["closed"]])
def test_unknown_parts_are_refused(unknown):
    with pytest.raises(
        InvalidArgumentError, match=r"restrict=.* is not known; choose 'connected', 'closed' or 'largest'"
    ):
        MarkovChain(MIXED, restrict=unknown)


def test_the_choices_are_listed_in_one_place():
    assert get_args(Restriction) == tuple(RESTRICTIONS)


# The largest connected set


def walk_with_a_tail(rng, n_states=50, n_frames=5000):
    """Frames on states that are all connected, and at the end two states that are never left."""
    return np.concatenate([rng.integers(0, n_states, n_frames), [99, 98, 99, 98]])


def test_a_tail_of_the_data_does_not_replace_the_rest(rng):
    walk = walk_with_a_tail(rng)
    assert MarkovChain.from_sequences(walk, restrict="closed").states == (98, 99)
    chain = MarkovChain.from_sequences(walk, restrict="connected")
    assert chain.states == tuple(range(50))
    (said,) = chain.applied
    assert said == (
        "restricted to the largest connected set, 50 of 52 states and 99.9 % of the counts; dropped 98, 99"
    )
    counts = np.zeros((50, 50))
    for x, y in itertools.pairwise(walk[:5000]):
        counts[x, y] += 1
    np.testing.assert_allclose(chain.transition_matrix, chains.normalized(counts), rtol=1e-14)


def test_deeptime_keeps_the_same_states(rng):
    markov = pytest.importorskip("deeptime.markov")
    for _ in range(10):
        walk = np.concatenate([rng.integers(0, 20, 60), rng.integers(20, 30, 30), rng.integers(28, 40, 10)])
        counts = markov.TransitionCountEstimator(1, "sliding", sparse=False).fit_fetch(walk)
        largest = counts.submodel_largest()
        ours = MarkovChain.from_counts(counts.count_matrix, restrict="connected")
        sizes = sorted(map(len, counts.connected_sets()))
        if sizes[-1] > sizes[-2] and set(largest.state_symbols) == set(ours.states):
            estimator = markov.msm.MaximumLikelihoodMSM(reversible=False)
            theirs = estimator.fit_fetch(largest).transition_matrix
            np.testing.assert_allclose(ours.transition_matrix, theirs, rtol=1e-12)
            return
    pytest.fail("no walk had one largest connected set")


@given(st.integers(1, 8), st.floats(0.05, 0.4), chains.seeds)
def test_the_connected_set_has_the_most_counts(n, density, seed):
    rng = np.random.default_rng(seed)
    counts = (rng.random((n, n)) < density) * rng.integers(1, 5, (n, n))
    sets = reference.connected_sets(counts)
    for form in (np.array, sparse.csr_array):
        if not sets:
            with pytest.raises(ReducibleChainError, match="no state of the chain recurs"):
                MarkovChain.from_counts(form(counts), restrict="connected")
            continue
        chain = MarkovChain.from_counts(form(counts), restrict="connected")
        kept = chain.original_index
        inside = counts[np.ix_(kept, kept)]
        assert tuple(kept.tolist()) in [members for _, members in sets]
        assert inside.sum() == max(number for number, _ in sets)
        assert chain.is_irreducible
        np.testing.assert_allclose(dense(chain.transition_matrix), chains.normalized(inside), rtol=1e-14)
        if len(kept) < n:
            share = inside.sum() / counts.sum()
            assert f"{100 * share:.1f} % of the counts" in chain.applied[0] or 0.9995 < share < 1


@FORMS
def test_probabilities_have_no_counts_but_states(form):
    matrix = np.zeros((6, 6))
    matrix[0, [1, 3]], matrix[1, [2, 3]], matrix[2, 0] = 0.5, 0.5, 1.0
    matrix[3, 4] = matrix[4, 3] = matrix[5, 5] = 1.0
    chain = MarkovChain(form(matrix), NAMES[:6], restrict="connected")
    assert chain.states == ("a", "b", "c")
    np.testing.assert_array_equal(dense(chain.transition_matrix), [[0, 1, 0], [0, 0, 1], [1, 0, 0]])
    assert chain.applied == ("restricted to the largest connected set, 3 of 6 states; dropped 'd', 'e', 'f'",)
    # With counts, those between d and e are more.
    counted = MarkovChain.from_counts(form(matrix * [[1], [1], [1], [9], [9], [1]]), restrict="connected")
    assert counted.states == (3, 4)


def test_counts_are_remembered_by_the_chain():
    counts = np.array([[50, 50, 1], [50, 50, 0], [0, 0, 150]])
    chain = MarkovChain.from_counts(counts)
    for same in (chain, pickle.loads(pickle.dumps(chain))):
        assert MarkovChain(same, restrict="connected").states == (0, 1)
    heavy = MarkovChain.from_counts(counts * [[1], [1], [2]])
    assert MarkovChain(heavy, restrict="connected").states == (2,)
    assert MarkovChain(heavy.transition_matrix, restrict="connected").states == (0, 1)


def test_long_lists_of_dropped_states_are_cut_short():
    counts = np.eye(9)
    counts[0, 0] = 2
    (said,) = MarkovChain.from_counts(counts, restrict="connected").applied
    assert said.endswith("1 of 9 states and 20.0 % of the counts; dropped 1, 2, 3, 4 and 4 more")


# Dead ends


@FORMS
def test_empty_rows_survive_with_a_remedy(form):
    counts = np.array([[0, 3, 1, 0], [3, 0, 0, 0], [0, 0, 0, 0], [1, 0, 1, 0]])
    with pytest.raises(
        InvalidChainError, match=r"all zero.*restrict='connected' to drop dead ends, or restart=p"
    ):
        MarkovChain.from_counts(form(counts))
    assert MarkovChain.from_counts(form(counts), restrict="connected").states == (0, 1)
    counts[2, 2] = 1
    assert MarkovChain.from_counts(form(counts), restrict="closed").states == (2,)


@FORMS
def test_rows_of_probabilities_may_be_empty_with_a_remedy(form):
    matrix = np.array([[0.5, 0.5, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
    with pytest.raises(InvalidChainError, match="row 2"):
        MarkovChain(form(matrix))
    for how in ("connected", "closed"):
        assert MarkovChain(form(matrix), restrict=how).states == (0, 1)
    with pytest.raises(InvalidChainError, match=r"row 0 .*sums to 0.5"):
        MarkovChain(form(matrix * 0.5), restrict="connected")


def test_with_a_restart_both_keep_the_states_that_it_reaches():
    for how in ("connected", "closed"):
        chain = MarkovChain(MIXED, states=NAMES, restart=0.2, initial="f", restrict=how)
        assert chain.states == ("c", "d", "e", "f", "g")
        assert [change.split()[0] for change in chain.applied] == ["restarted", "restricted"]
