"""Uniformisation, against the generator's own stationary law."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from klump import MarkovChain
from klump.errors import InvalidArgumentError
from klump.sources.rates import uniformized


def random_rates(n, seed, density=1.0):
    rng = np.random.default_rng(seed)
    rates = rng.exponential(size=(n, n)) * 10.0 ** rng.integers(-3, 4, size=(n, 1))
    rates *= rng.random((n, n)) < density
    np.fill_diagonal(rates, 0.0)
    return rates


def generator_of(rates):
    return rates - np.diag(rates.sum(axis=1))


def stationary_law_of_generator(generator):
    n = len(generator)
    system = np.vstack([generator.T, np.ones(n)])
    return np.linalg.lstsq(system, np.append(np.zeros(n), 1.0), rcond=None)[0]


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("density", [1.0, 0.5])
def test_formula_dense_sparse_and_both_diagonals(seed, density):
    rates = random_rates(8, seed, density)
    expected = np.eye(8) + generator_of(rates) / (1.02 * rates.sum(axis=1).max())
    for given in (rates, generator_of(rates)):
        np.testing.assert_allclose(uniformized(given), expected, atol=1e-15)
        for kind in (sparse.csr_array, sparse.coo_array, sparse.csc_matrix, sparse.lil_matrix):
            result = uniformized(kind(given))
            assert isinstance(result, sparse.csr_array)
            np.testing.assert_allclose(result.toarray(), expected, atol=1e-15)


@pytest.mark.parametrize("seed", range(5))
def test_same_stationary_law(seed):
    rates = random_rates(7, seed)
    P = uniformized(rates)
    law = stationary_law_of_generator(generator_of(rates))
    np.testing.assert_allclose(law @ P, law, atol=1e-12)
    np.testing.assert_allclose(P.sum(axis=1), 1.0, atol=1e-14)
    assert (P >= 0).all()


def test_never_periodic():
    P = uniformized([[0.0, 3.0], [3.0, 0.0]])
    assert (np.diag(P) >= 1 - 1 / 1.02 - 1e-15).all()


def test_absorbing_states_stay():
    np.testing.assert_allclose(uniformized([[0.0, 1.02], [0.0, 0.0]])[1], [0, 1])
    np.testing.assert_array_equal(uniformized(np.zeros((3, 3))), np.eye(3))
    np.testing.assert_array_equal(uniformized(sparse.csr_array((3, 3))).toarray(), np.eye(3))
    np.testing.assert_array_equal(uniformized([[0]]), [[1.0]])


def test_exact_lumpability_carries_over():
    # The rates from each state of a group into every other group sum to the same.
    rates = np.array([[0, 2, 1, 3], [1, 0, 4, 0], [2, 1, 0, 5], [1, 2, 9, 0]], dtype=float)
    W = np.array([[1, 0], [1, 0], [0, 1], [0, 1]])
    between = uniformized(rates) @ W
    np.testing.assert_allclose(between[0], between[1], atol=1e-15)
    np.testing.assert_allclose(between[2], between[3], atol=1e-15)


def test_duplicate_entries_add_up_and_input_is_untouched():
    given = sparse.coo_array(([1.0, 2.0, 3.0], ([0, 0, 1], [1, 1, 0])), shape=(2, 2))
    np.testing.assert_allclose(uniformized(given).toarray(), uniformized([[0.0, 3.0], [3.0, 0.0]]))
    assert given.nnz == 3
    dense = np.array([[-1.0, 1.0], [2.0, -2.0]])
    uniformized(dense)
    np.testing.assert_array_equal(dense, [[-1.0, 1.0], [2.0, -2.0]])


def test_single_precision_is_judged_by_its_own_rounding():
    generator = generator_of(random_rates(50, 0)).astype(np.float32)
    np.testing.assert_allclose(uniformized(generator).sum(axis=1), 1.0, atol=1e-12)
    with pytest.raises(InvalidArgumentError, match="diagonal"):
        uniformized(generator.astype(np.float64))


@pytest.mark.parametrize(
    ("rates", "words"),
    [
        ([[0.0, -1.0], [1.0, 0.0]], "-1.0 at row 0, column 1: rates off the diagonal"),
        ([[-1.0, -1.0], [-1.0, 0.0]], r"and 1 more"),
        ([[-1.0, 2.0], [1.0, -1.0]], r"-1 on the diagonal of row 0, .* sum to 2"),
        ([[1.0, 2.0], [1.0, 1.0]], "diagonal must be minus"),
        ([[-2.0, 2.0], [1.0, 0.0]], "diagonal of row 1"),
        ([[0.0, np.nan], [1.0, 0.0]], "NaN"),
        ([[0.0, np.inf], [1.0, 0.0]], "infinite"),
        ([[0.0, 1e308, 1e308], [1.0, 0.0, 0.0], [1.0, 0.0, 0.0]], "larger unit of time|too large"),
        ([[0.0, 1.0]], "square"),
        ([0.0, 1.0], "square"),
        (np.zeros((0, 0)), "square"),
        ([[0.0, 1.0], [1.0]], "differ in length"),
        ([["a", "b"], ["c", "d"]], "real numbers"),
        ([[0.0, 1j], [1.0, 0.0]], "real numbers"),
    ],
)
def test_what_is_no_generator_is_refused_by_name(rates, words):
    with pytest.raises(InvalidArgumentError, match=words):
        uniformized(rates)


def test_sparse_negative_rate_is_named():
    with pytest.raises(InvalidArgumentError, match="row 1, column 0"):
        uniformized(sparse.csr_array(np.array([[0.0, 1.0], [-2.0, 0.0]])))
    with pytest.raises(InvalidArgumentError, match="real numbers"):
        uniformized(sparse.csr_array(np.array([[0.0, 1j], [2.0, 0.0]])))


def test_chain_from_generator():
    chain = MarkovChain.from_generator([[-1.0, 1.0], [3.0, -3.0]], states=["up", "down"])
    assert chain.states == ("up", "down")
    assert chain.is_irreducible
    law = np.array([0.75, 0.25])
    np.testing.assert_allclose(law @ chain.transition_matrix, law, atol=1e-15)


def test_table_of_rates_names_the_states():
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame([[0.0, 1.0], [3.0, 0.0]], index=["up", "down"], columns=["up", "down"])
    assert MarkovChain.from_generator(table).states == ("up", "down")
