"""Invalid transition matrices are refused with one line that names the entry and the remedy."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

import chains
from klump import MarkovChain
from klump.chain import validation
from klump.errors import InvalidChainError, KlumpError

P = np.array([[0.5, 0.5, 0.0], [0.2, 0.3, 0.5], [0.1, 0.1, 0.8]])

# Each input dense and, where possible, sparse.
BOTH = pytest.mark.parametrize("form", [np.array, sparse.csr_array, sparse.coo_array, sparse.csc_matrix])


def refusal(*arguments, **options):
    """The message of the error that building a chain raises."""
    with pytest.raises(InvalidChainError) as caught:
        MarkovChain(*arguments, **options)
    message = str(caught.value)
    assert "\n" not in message
    assert isinstance(caught.value, ValueError)
    assert isinstance(caught.value, KlumpError)
    return message


# The matrix


@BOTH
def test_not_square(form):
    assert "must be square, but its shape is (2, 3)" in refusal(form([[0.5, 0.5, 0.0], [0.1, 0.1, 0.8]]))


@pytest.mark.parametrize("given_as", [[0.5, 0.5], 1.0, np.ones((2, 2, 2)) / 2, sparse.coo_array([0.5, 0.5])])
def test_not_a_matrix(given_as):
    assert "must be square" in refusal(given_as)


@BOTH
def test_empty(form):
    assert "is empty; pass at least one state" in refusal(form(np.zeros((0, 0))))


@BOTH
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_not_finite(form, bad):
    matrix = P.copy()
    matrix[1, 2] = bad
    message = refusal(form(matrix))
    assert (
        f"row 1 of the transition matrix has {bad} in column 2: every entry must be a finite number"
        in message
    )


@BOTH
def test_negative(form):
    matrix = P.copy()
    matrix[2, 0], matrix[2, 1] = -0.1, 0.3
    assert "row 2 of the transition matrix has -0.1 in column 0: probabilities cannot be negative" in refusal(
        form(matrix)
    )
    matrix[2] = [-1e-9, -1e-9, 1.0]
    assert "(and 1 more)" in refusal(form(matrix))


@BOTH
def test_row_sums_name_the_row_the_sum_and_the_remedy(form):
    matrix = P.copy()
    matrix[1] = [0.2, 0.3, 0.4]
    message = refusal(form(matrix))
    assert "row 1 of the transition matrix sums to 0.9 instead of 1; pass normalize=True" in message
    matrix[2] = 0.0
    assert "row 1" in refusal(form(matrix))
    assert "(2 such rows)" in refusal(form(matrix))


@BOTH
def test_counts_suggest_from_counts(form):
    message = refusal(form(np.array([[8, 2], [3, 3]])))
    assert "row 0 of the transition matrix sums to 10 instead of 1 (2 such rows)" in message
    assert "these look like counts; use MarkovChain.from_counts" in message


def test_column_stochastic_matrices_are_refused():
    assert "row 0 of the transition matrix sums to 0.8" in refusal(P.T)


@BOTH
def test_complex(form):
    assert "has complex entries; take its real part first" in refusal(form(P.astype(complex)))


def test_non_numeric_input():
    assert "must hold numbers, but it holds <U1 values" in refusal([["a", "b"], ["c", "d"]])
    assert "must hold numbers, but it holds object values" in refusal(
        np.array([[{}, 1], [1, 0]], dtype=object)
    )
    assert "row 0 of the transition matrix has nan in column 1" in refusal(
        np.array([[1.0, None], [0, 1]], dtype=object)
    )


def test_ragged_rows():
    assert "is not a matrix: its rows differ in length" in refusal([[0.5, 0.5], [1.0]])


@BOTH
def test_huge_entries_are_refused_without_a_warning(form):
    assert "row 0 of the transition matrix sums to inf instead of 1" in refusal(form(np.full((2, 2), 1e308)))


def test_objects_that_hold_numbers_are_fine():
    chain = MarkovChain(np.array(P.tolist(), dtype=object))
    assert (chain.transition_matrix == P).all()


# Valid input


@BOTH
def test_a_valid_matrix_is_copied_bit_for_bit(form):
    given_as = form(P)
    matrix = validation.transition_matrix(given_as)
    dense = matrix.toarray() if sparse.issparse(matrix) else matrix
    assert (dense == P).all()
    assert dense.dtype == np.float64


def test_the_input_is_neither_changed_nor_shared():
    dense = P.copy()
    chain = MarkovChain(dense)
    dense[0, 0] = 7.0
    assert chain.transition_matrix[0, 0] == 0.5
    assert dense.flags.writeable

    given_as = sparse.csr_array(P)
    chain = MarkovChain(given_as)
    given_as.data[:] = 7.0
    assert (chain.transition_matrix.toarray() == P).all()
    assert given_as.data.flags.writeable


@BOTH
def test_float32_has_a_larger_tolerance(form, rng):
    matrix = chains.normalized(rng.random((50, 50))).astype(np.float32)
    assert np.abs(matrix.astype(float).sum(axis=1) - 1).max() > 1e-8
    chain = MarkovChain(form(matrix))
    assert chain.transition_matrix.dtype == np.float64
    np.testing.assert_allclose(np.asarray(chain.transition_matrix.sum(axis=1)).ravel(), 1.0, atol=1e-15)
    assert "pass normalize=True" in refusal(form(matrix.astype(float) * (1 + 1e-6)))


def test_sums_off_by_rounding_are_corrected():
    chain = MarkovChain(P * (1 + 5e-9))
    np.testing.assert_allclose(chain.transition_matrix.sum(axis=1), 1.0, atol=1e-15)
    assert "sums to 1.00000002" in refusal(P * (1 + 2e-8))


def test_stored_zeros_and_repeated_entries_of_sparse_matrices():
    row, col = [0, 0, 0, 1, 1], [0, 1, 1, 0, 1]
    chain = MarkovChain(sparse.coo_array(([0.0, 0.25, 0.75, 1.0, 0.0], (row, col)), shape=(2, 2)))
    assert chain.n_transitions == 2
    assert chain.transition_matrix.has_sorted_indices
    assert (chain.transition_matrix.toarray() == [[0, 1], [1, 0]]).all()


def test_index_arrays_are_int32():
    wide = sparse.csr_array(P)
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    chain = MarkovChain(wide, restart=0.1, initial=0)
    assert chain.transition_matrix.indices.dtype == np.int32
    assert chain.transition_matrix.indptr.dtype == np.int32


# Normalising


@given(chains.matrices(), st.integers(-900, 900))
def test_normalising_is_exact_at_any_scale(matrix, exponent):
    scaled = np.ldexp(matrix, exponent)
    for form in (np.array, sparse.csr_array):
        normalized = validation.normalize_rows(form(scaled))
        dense = normalized.toarray() if sparse.issparse(normalized) else normalized
        np.testing.assert_allclose(dense, chains.normalized(matrix), rtol=4e-16)


@BOTH
def test_huge_weights_do_not_overflow(form):
    matrix = MarkovChain(form(np.full((2, 2), 1e308)), normalize=True).transition_matrix
    assert (np.asarray(matrix.sum(axis=1)).ravel() == 1.0).all()


@BOTH
def test_weights_that_underflow_are_no_transitions(form):
    assert MarkovChain(form([[1e200, 1e-200], [1.0, 1.0]]), normalize=True).n_transitions == 3


@BOTH
def test_rows_that_cannot_be_normalised(form):
    message = refusal(form([[1.0, 1.0], [0.0, 0.0]]), normalize=True)
    assert "row 1 of the transition matrix is all zero: a state needs a transition" in message
    message = refusal(form([[1.0, 1.0], [1e-320, 0.0]]), normalize=True)
    assert "row 1 of the transition matrix holds only denormal weights; rescale it" in message


# Names


@pytest.mark.parametrize(
    ("states", "message"),
    [
        (["a", "b"], "states has 2 names, but the chain has 3 states"),
        ("abcd", "states has 4 names, but the chain has 3 states"),
        (
            ["a", "b", "a"],
            "state name 'a' is given twice (positions 0 and 2); give each state a name of its own",
        ),
        ([1, 2, 1.0], "state name 1.0 is given twice (positions 0 and 2)"),
        (["a", ["b"], "c"], "state name ['b'] at position 1 is not hashable"),
        (3, "states=3 must be the names of the states"),
    ],
)
def test_bad_names(states, message):
    assert message in refusal(P, states=states)


@pytest.mark.parametrize(
    "states",
    [["a", "b", "c"], ("a", "b", "c"), "abc", iter("abc"), dict.fromkeys("abc"), np.array(["a", "b", "c"])],
)
def test_names_from_anything_that_can_be_iterated(states):
    chain = MarkovChain(P, states=states)
    assert chain.states == ("a", "b", "c")
    assert all(type(name) is str for name in chain.states)


def test_names_of_every_hashable_kind():
    names = (None, ("x", 1), frozenset({2}))
    assert MarkovChain(P, states=names).states == names


# Supplied stationary distributions


def test_a_stationary_distribution_is_kept_bit_for_bit():
    mu = MarkovChain(P).stationary_distribution
    chain = MarkovChain(P, stationary_distribution=mu.tolist())
    np.testing.assert_allclose(chain.stationary_distribution, mu, rtol=1e-15)
    assert not chain.stationary_distribution.flags.writeable
    given_as = mu.copy()
    chain = MarkovChain(sparse.csr_array(P), stationary_distribution=given_as)
    given_as[:] = 0.0
    np.testing.assert_allclose(chain.stationary_distribution, mu, rtol=1e-15)


@pytest.mark.parametrize(
    ("law", "message"),
    [
        ([0.5, 0.5], "has shape (2,), but the chain has 3 states"),
        (np.full((3, 1), 1 / 3), "has shape (3, 1)"),
        ([0.5, 0.6, -0.1], "has -0.1 at state 2: probabilities are finite and non-negative; leave it out"),
        ([0.5, np.nan, 0.5], "has nan at state 1"),
        ([0.5, 0.5, 0.5], "sums to 1.5 instead of 1"),
        ([1 / 3, 1 / 3, 1 / 3], "is not stationary: at state"),
        ("abc", "must be a vector of numbers"),
        ([[0.5], [0.5, 0.1], 0], "must be a vector of numbers"),
    ],
)
@pytest.mark.parametrize("form", [np.array, sparse.csr_array])
def test_a_wrong_distribution_is_refused(law, message, form):
    assert re.search(re.escape(message), refusal(form(P), stationary_distribution=law))


@pytest.mark.parametrize("coupling", [1e-9, 1e-14])
@pytest.mark.parametrize("law", [[0.5, 0.5, 0.0, 0.0], [0.4, 0.4, 0.1, 0.1]])
def test_a_small_residual_does_not_excuse_a_wrong_distribution(coupling, law):
    block = np.full((2, 2), 0.5)
    nearly = np.kron(np.eye(2), block) * (1 - coupling) + coupling / 4
    assert "is not that of the chain: it has" in refusal(nearly, stationary_distribution=law)
    chain = MarkovChain(nearly, stationary_distribution=np.full(4, 0.25))
    np.testing.assert_array_equal(chain.stationary_distribution, np.full(4, 0.25))


def test_masked_entries_are_refused():
    masked = np.ma.masked_array(P, mask=np.eye(3, dtype=bool))
    assert "has 3 masked entries; fill them" in refusal(masked)
    np.testing.assert_allclose(MarkovChain(np.ma.masked_array(P)).transition_matrix, P)


def test_the_state_with_the_largest_residual_is_named():
    message = refusal(P, stationary_distribution=[1 / 3, 1 / 3, 1 / 3])
    assert "at state 2 mu P differs from mu by 0.1; leave it out to have it computed" in message


@pytest.mark.parametrize("normalize", [False, True])
@pytest.mark.parametrize("shape", [(0, 0), (3, 3), (0, 3)])
def test_sparse_matrices_without_entries(shape, normalize):
    with pytest.raises(InvalidChainError, match=r"is empty|sums to 0|is all zero|must be square"):
        MarkovChain(sparse.csr_array(shape), normalize=normalize)


def test_entries_beyond_float64():
    with pytest.raises(InvalidChainError, match="must hold numbers"):
        MarkovChain([[10**400, 1], [1, 1]])
    if np.finfo(np.longdouble).max > np.finfo(float).max:
        with pytest.raises(InvalidChainError, match="inf in column 0: every entry must be a finite number"):
            MarkovChain(np.array([[np.longdouble("1e4000"), 1], [1, 1]]))


def test_lone_surrogates_are_no_names():
    with pytest.raises(
        InvalidChainError, match=r"state name 'a\\ud800' at position 1 has half of a surrogate pair"
    ):
        MarkovChain([[0.5, 0.5], [0.5, 0.5]], ["b", "a\ud800"])
