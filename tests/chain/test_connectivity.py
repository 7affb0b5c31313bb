"""Communicating classes, and the error about a reducible chain."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

import chains
from klump import MarkovChain
from klump.chain import connectivity
from klump.errors import ReducibleChainError

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
    assert "restrict='closed' to keep its largest closed class" in message
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


@FORMS
def test_chains_from_counts_are_told_of_the_connected_set(form):
    chain = MarkovChain.from_counts(form(MIXED))
    for same in (chain, MarkovChain(chain, states=NAMES), pickle.loads(pickle.dumps(chain))):
        with pytest.raises(
            ReducibleChainError, match="restrict='connected' to keep its largest connected set"
        ):
            _ = same.stationary_distribution


def test_a_dead_end_is_no_closed_class():
    classes = connectivity.communicating_classes(
        np.array([[0.5, 0.5, 0.0], [0.5, 0.0, 0.5], [0.0, 0.0, 0.0]])
    )
    assert classes.n_classes == 2
    assert not classes.closed.any()
