"""MarkovChain: quantities against their definitions, dense and sparse; immutability; construction."""

from __future__ import annotations

import copy
import pickle
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from scipy import sparse

import chains
import reference
from klump import MarkovChain
from klump.chain import as_chain
from klump.errors import InvalidArgumentError, InvalidChainError

P = np.array([[0.5, 0.5, 0.0], [0.2, 0.3, 0.5], [0.1, 0.1, 0.8]])
FORMS = pytest.mark.parametrize("form", [np.array, sparse.csr_array], ids=["dense", "sparse"])


def dense(matrix):
    return matrix.toarray() if sparse.issparse(matrix) else matrix


# Quantities


@given(chains.matrices())
def test_quantities_agree_with_their_definitions_dense_and_sparse(matrix):
    mu = reference.stationary_law(matrix)
    joint = reference.joint_of_states(matrix, mu)
    for form in (np.array, sparse.csr_array, sparse.csc_matrix):
        chain = MarkovChain(form(matrix))
        assert chain.n_states == len(matrix)
        assert chain.n_transitions == np.count_nonzero(matrix)
        assert chain.is_irreducible
        np.testing.assert_allclose(chain.stationary_distribution, mu, rtol=1e-12)
        np.testing.assert_allclose(dense(chain.joint), joint, rtol=1e-12)
        assert chain.entropy_rate == pytest.approx(reference.conditional_entropy(joint), abs=1e-12)
        assert chain.redundancy_rate == pytest.approx(reference.mutual_information(joint), abs=1e-12)


@given(chains.matrices(kinds=("reversible",), max_size=6))
def test_reversible_chains_are_found_reversible(matrix):
    for form in (np.array, sparse.csr_array):
        assert MarkovChain(form(matrix)).is_reversible


@given(chains.matrices(kinds=("nonreversible",), min_size=3))
def test_chains_with_cyclic_flow_are_not_reversible(matrix):
    assert not reference.is_reversible(matrix, reference.stationary_law(matrix), tolerance=1e-6)
    for form in (np.array, sparse.csr_array):
        assert not MarkovChain(form(matrix)).is_reversible


def test_two_states_are_always_reversible():
    assert MarkovChain([[0.9, 0.1], [0.7, 0.3]]).is_reversible


@given(chains.matrices())
def test_entropy_is_entropy_rate_plus_redundancy_rate(matrix):
    chain = MarkovChain(matrix)
    total = reference.entropy(chain.stationary_distribution)
    assert chain.entropy_rate + chain.redundancy_rate == pytest.approx(total, abs=1e-12)


@FORMS
def test_a_deterministic_cycle_has_entropy_rate_zero(form):
    chain = MarkovChain(form(np.roll(np.eye(8), 1, axis=1)))
    np.testing.assert_allclose(chain.stationary_distribution, 1 / 8, rtol=1e-15)
    assert chain.entropy_rate == 0.0
    assert str(chain.entropy_rate) == "0.0"
    assert chain.redundancy_rate == pytest.approx(3.0, abs=1e-14)
    assert not chain.is_reversible


@FORMS
def test_independent_sampling_has_redundancy_zero(form):
    law = np.array([0.5, 0.25, 0.25])
    chain = MarkovChain(form(np.tile(law, (3, 1))))
    assert chain.entropy_rate == pytest.approx(1.5, abs=1e-14)
    assert chain.redundancy_rate == pytest.approx(0.0, abs=1e-14)


@FORMS
def test_a_single_state(form):
    chain = MarkovChain(form([[1.0]]))
    assert chain.stationary_distribution.tolist() == [1.0]
    assert chain.entropy_rate == chain.redundancy_rate == 0.0
    assert chain.is_reversible


@FORMS
def test_quantities_with_probabilities_of_1e_300(form):
    chain = MarkovChain(form([[1.0 - 1e-300, 1e-300], [1.0, 0.0]]))
    assert chain.stationary_distribution[1] == pytest.approx(1e-300, rel=1e-14)
    assert 0.0 <= chain.entropy_rate < 1e-290
    assert chain.redundancy_rate == pytest.approx(0.0, abs=1e-14)
    assert chain.is_reversible


# Sparse stays sparse


def test_a_sparse_chain_is_never_made_dense(monkeypatch, rng):
    n = 3000
    source = np.concatenate([np.repeat(np.arange(n), 3), np.arange(n)])
    target = np.concatenate([rng.integers(0, n, 3 * n), np.roll(np.arange(n), -1)])
    weights = sparse.csr_array((rng.random(4 * n) + 0.1, (source, target)), shape=(n, n))
    for kind in (sparse.csr_array, sparse.csc_array, sparse.coo_array):

        def guarded(self, *arguments, _original=kind.toarray, **options):
            assert np.prod([float(size) for size in self.shape]) <= 10**6, (
                "a large sparse matrix is made dense"
            )
            return _original(self, *arguments, **options)

        monkeypatch.setattr(kind, "toarray", guarded)
    chain = MarkovChain.from_counts(weights)
    assert chain.is_sparse
    assert type(chain.transition_matrix) is type(chain.joint) is sparse.csr_array
    assert chain.joint.nnz == chain.n_transitions == weights.nnz
    assert chain.entropy_rate > 0 and chain.redundancy_rate > 0
    assert not chain.is_reversible
    assert MarkovChain(chain, restrict="largest").is_sparse
    assert MarkovChain(chain, restart=0.1, initial=0).is_sparse


@pytest.mark.parametrize("kind", ["csr", "csc", "coo", "lil", "dok", "bsr", "dia"])
@pytest.mark.parametrize("family", ["array", "matrix"])
def test_every_kind_of_sparse_matrix(kind, family):
    chain = MarkovChain(getattr(sparse, f"{kind}_{family}")(P))
    assert type(chain.transition_matrix) is sparse.csr_array
    assert (chain.transition_matrix.toarray() == P).all()
    assert chain.n_transitions == 8


# Immutable


@FORMS
def test_nothing_can_be_set_or_deleted(form):
    chain = MarkovChain(form(P))
    for name in ("transition_matrix", "states", "stationary_distribution", "anything"):
        with pytest.raises(AttributeError, match=f"immutable: {name}"):
            setattr(chain, name, None)
    with pytest.raises(AttributeError, match="immutable: transition_matrix"):
        del chain.transition_matrix


def arrays_of(chain):
    found = [chain.stationary_distribution, chain.original_index]
    for matrix in (chain.transition_matrix, chain.joint):
        found += [matrix.data, matrix.indices, matrix.indptr] if sparse.issparse(matrix) else [matrix]
    return found


@FORMS
def test_arrays_are_read_only_also_in_copies(form):
    chain = MarkovChain(form(P), states="abc")
    for same in (chain, pickle.loads(pickle.dumps(chain)), copy.copy(chain), copy.deepcopy(chain)):
        for array in arrays_of(same):
            assert not array.flags.writeable
            with pytest.raises(ValueError, match="read-only"):
                array[...] = 0
        assert same.states == ("a", "b", "c")
        assert (dense(same.transition_matrix) == P).all()
        assert (same.stationary_distribution == chain.stationary_distribution).all()


def test_quantities_are_cached():
    chain = MarkovChain(P)
    assert chain.stationary_distribution is chain.stationary_distribution
    assert chain.joint is chain.joint


# Inputs


def test_single_precision(rng):
    matrix = chains.normalized(rng.random((6, 6)))
    single = MarkovChain(matrix.astype(np.float32))
    np.testing.assert_allclose(
        single.stationary_distribution, MarkovChain(matrix).stationary_distribution, rtol=1e-6
    )
    np.testing.assert_allclose(single.transition_matrix.sum(axis=1), 1.0, atol=1e-15)


def test_lists_and_tuples():
    assert (MarkovChain(P.tolist()).transition_matrix == P).all()
    assert (MarkovChain(tuple(map(tuple, P))).transition_matrix == P).all()


def test_a_table_brings_its_names():
    chain = MarkovChain(pd.DataFrame(P, index=list("abc"), columns=list("abc")))
    assert chain.states == ("a", "b", "c")
    assert (chain.transition_matrix == P).all()
    assert MarkovChain(pd.DataFrame(P, index=list("abc"), columns=list("abc")), states="xyz").states == tuple(
        "xyz"
    )


def test_a_table_without_names():
    assert not MarkovChain(pd.DataFrame(P)).has_names


def test_a_table_whose_rows_and_columns_do_not_match():
    with pytest.raises(InvalidArgumentError, match="rows and columns of the table are named differently"):
        MarkovChain(pd.DataFrame(P, index=list("abc"), columns=list("acb")))


def test_a_table_with_a_name_twice():
    with pytest.raises(InvalidChainError, match="'a' is given twice"):
        MarkovChain(pd.DataFrame(P, index=list("aba"), columns=list("aba")))


@FORMS
def test_models_of_other_libraries(form):
    chain = MarkovChain(SimpleNamespace(transition_matrix=form(P)))
    assert (dense(chain.transition_matrix) == P).all()
    assert chain.is_sparse == (form is sparse.csr_array)


def test_a_chain_from_a_chain_keeps_the_names():
    chain = MarkovChain(MarkovChain(P, states="abc"))
    assert chain.states == ("a", "b", "c")
    assert not MarkovChain(MarkovChain(P)).has_names
    assert MarkovChain(chain, states="xyz").states == ("x", "y", "z")


def test_as_chain_leaves_a_chain_alone():
    chain = MarkovChain(P)
    assert as_chain(chain) is chain
    assert (as_chain(P).transition_matrix == P).all()


@FORMS
def test_from_counts(form):
    chain = MarkovChain.from_counts(form([[8, 2], [3, 3]]), states=["a", "b"])
    assert (dense(chain.transition_matrix) == [[0.8, 0.2], [0.5, 0.5]]).all()
    assert chain.states == ("a", "b")


@FORMS
def test_from_counts_with_restrict_or_restart(form):
    chain = MarkovChain.from_counts(form([[8, 2, 1], [3, 3, 0], [0, 0, 5]]), restrict="largest")
    assert chain.states == (2,)


# Text


def test_repr_has_the_size_and_the_changes():
    assert repr(MarkovChain([[1.0]])) == "MarkovChain(1 state, 1 transition)"
    assert repr(MarkovChain(P)) == "MarkovChain(3 states, 8 transitions)"
    assert repr(MarkovChain(np.eye(2), restart=0.25, initial=1)) == (
        "MarkovChain(2 states, 3 transitions, restarted at state 1 with probability 0.25)"
    )


def test_states_without_names_are_numbers():
    chain = MarkovChain(P)
    assert chain.states == (0, 1, 2)
    assert not chain.has_names
    assert MarkovChain(P, states="abc").has_names
