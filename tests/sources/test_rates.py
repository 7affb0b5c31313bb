"""Uniformisation and the transition matrix over a lag, against the generator's own laws."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from scipy import linalg, sparse

import klump
import reference
from klump import MarkovChain
from klump.errors import InvalidArgumentError
from klump.sources import exponential
from klump.sources.rates import transition_matrix, uniformize


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
        np.testing.assert_allclose(uniformize(given), expected, atol=1e-15)
        for kind in (sparse.csr_array, sparse.coo_array, sparse.csc_matrix, sparse.lil_matrix):
            result = uniformize(kind(given))
            assert isinstance(result, sparse.csr_array)
            np.testing.assert_allclose(result.toarray(), expected, atol=1e-15)


@pytest.mark.parametrize("seed", range(5))
def test_same_stationary_distribution(seed):
    rates = random_rates(7, seed)
    P = uniformize(rates)
    law = stationary_law_of_generator(generator_of(rates))
    np.testing.assert_allclose(law @ P, law, atol=1e-12)
    np.testing.assert_allclose(P.sum(axis=1), 1.0, atol=1e-14)
    assert (P >= 0).all()


def test_never_periodic():
    P = uniformize([[0.0, 3.0], [3.0, 0.0]])
    assert (np.diag(P) >= 1 - 1 / 1.02 - 1e-15).all()


def test_absorbing_states_stay():
    np.testing.assert_allclose(uniformize([[0.0, 1.02], [0.0, 0.0]])[1], [0, 1])
    np.testing.assert_array_equal(uniformize(np.zeros((3, 3))), np.eye(3))
    np.testing.assert_array_equal(uniformize(sparse.csr_array((3, 3))).toarray(), np.eye(3))
    np.testing.assert_array_equal(uniformize([[0]]), [[1.0]])


def test_exact_lumpability_carries_over():
    # The rates from each state of a group into every other group sum to the same.
    rates = np.array([[0, 2, 1, 3], [1, 0, 4, 0], [2, 1, 0, 5], [1, 2, 9, 0]], dtype=float)
    W = np.array([[1, 0], [1, 0], [0, 1], [0, 1]])
    between = uniformize(rates) @ W
    np.testing.assert_allclose(between[0], between[1], atol=1e-15)
    np.testing.assert_allclose(between[2], between[3], atol=1e-15)


def test_duplicate_entries_add_up_and_input_is_untouched():
    given = sparse.coo_array(([1.0, 2.0, 3.0], ([0, 0, 1], [1, 1, 0])), shape=(2, 2))
    np.testing.assert_allclose(uniformize(given).toarray(), uniformize([[0.0, 3.0], [3.0, 0.0]]))
    assert given.nnz == 3
    dense = np.array([[-1.0, 1.0], [2.0, -2.0]])
    uniformize(dense)
    np.testing.assert_array_equal(dense, [[-1.0, 1.0], [2.0, -2.0]])


def test_float32_has_a_larger_tolerance():
    generator = generator_of(random_rates(50, 0)).astype(np.float32)
    np.testing.assert_allclose(uniformize(generator).sum(axis=1), 1.0, atol=1e-12)
    with pytest.raises(InvalidArgumentError, match="diagonal"):
        uniformize(generator.astype(np.float64))


@pytest.mark.parametrize(
    ("rates", "words"),
    [
        ([[0.0, -1.0], [1.0, 0.0]], "-1.0 at row 0, column 1: rates off the diagonal"),
        ([[-1.0, -1.0], [-1.0, 0.0]], r"and 1 more"),
        ([[-1.0, 2.0], [1.0, -1.0]], r"-1 on the diagonal of row 0, .* sum to 2"),
        ([[1.0, 2.0], [1.0, 1.0]], "make the diagonal minus"),
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
def test_invalid_generators_are_refused_by_name(rates, words):
    with pytest.raises(InvalidArgumentError, match=words):
        uniformize(rates)


def test_sparse_negative_rate_is_named():
    with pytest.raises(InvalidArgumentError, match="row 1, column 0"):
        uniformize(sparse.csr_array(np.array([[0.0, 1.0], [-2.0, 0.0]])))
    with pytest.raises(InvalidArgumentError, match="real numbers"):
        uniformize(sparse.csr_array(np.array([[0.0, 1j], [2.0, 0.0]])))


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


# The transition matrix over a lag

FORMS = pytest.mark.parametrize("form", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])


def to_array(matrix):
    return matrix.toarray() if sparse.issparse(matrix) else matrix


def path_rates(n, seed=0):
    """Birth-death process, sparse."""
    rng = np.random.default_rng(seed)
    births, deaths = rng.uniform(0.5, 1.5, size=(2, n - 1))
    return sparse.csr_array(sparse.diags_array([births, deaths], offsets=[1, -1]))


@FORMS
@pytest.mark.parametrize(("up", "down"), [(1.0, 3.0), (1e-9, 1.0), (2.5e6, 1e-3)])
@pytest.mark.parametrize("lag", [1e-12, 1e-3, 0.7, 1e4, 1e12])
def test_two_states_in_closed_form(form, up, down, lag):
    """P(t)[0, 1] = a / (a + b) (1 - exp(-(a + b) t)), to 1e-12 of each entry."""
    P = to_array(transition_matrix(form([[0.0, up], [down, 0.0]]), lag))
    left = -np.expm1(-(up + down) * lag)
    expected = np.array([[0.0, up], [down, 0.0]]) / (up + down) * left
    np.testing.assert_allclose(P[[0, 1], [1, 0]], expected[[0, 1], [1, 0]], rtol=1e-12)
    np.testing.assert_allclose(np.diag(P), 1.0 - expected.sum(axis=1), rtol=0, atol=1e-15)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("clock_times_lag", [1e-8, 1.0, 30.0, 1e4, 1e9])
def test_against_80_digit_arithmetic(seed, clock_times_lag):
    """Rates over ten orders of magnitude, zeros among them: dense entries to 1e-12 of themselves."""
    rng = np.random.default_rng(seed)
    rates = rng.exponential(size=(5, 5)) * 10.0 ** rng.integers(-6, 5, size=(5, 5))
    rates *= rng.random((5, 5)) < 0.7
    np.fill_diagonal(rates, 0.0)
    lag = clock_times_lag / rates.sum(axis=1).max()
    expected = reference.transition_matrix_of_rates(rates, lag)
    for given in (rates, generator_of(rates)):
        np.testing.assert_allclose(transition_matrix(given, lag), expected, rtol=1e-12, atol=1e-300)
    found = transition_matrix(sparse.csr_array(rates), lag).toarray()
    assert np.abs(found - expected).sum(axis=1).max() / 2 <= 1e-12


@pytest.mark.parametrize("n", [2, 20, 80])
@pytest.mark.parametrize("clock_times_lag", [0.01, 1.0, 50.0])
def test_against_the_exponential_of_scipy(n, clock_times_lag):
    rates = np.random.default_rng(n).exponential(size=(n, n))
    np.fill_diagonal(rates, 0.0)
    lag = clock_times_lag / rates.sum(axis=1).max()
    np.testing.assert_allclose(
        transition_matrix(rates, lag), linalg.expm(lag * generator_of(rates)), rtol=0, atol=1e-12
    )


@pytest.mark.parametrize("lag", [0.01, 1.0, 100.0])
def test_against_the_eigenvalues_of_a_reversible_generator(lag):
    """With R = diag(1 / mu) S, S symmetric, the generator is similar to a symmetric matrix."""
    rng = np.random.default_rng(1)
    weights, mu = rng.exponential(size=(30, 30)), rng.dirichlet(np.ones(30))
    rates = (weights + weights.T) / mu[:, None]
    np.fill_diagonal(rates, 0.0)
    rates /= rates.sum(axis=1).max()
    root = np.sqrt(mu)
    values, vectors = np.linalg.eigh(generator_of(rates) * root[:, None] / root)
    expected = (vectors * np.exp(lag * values)) @ vectors.T / root[:, None] * root
    np.testing.assert_allclose(transition_matrix(rates, lag), expected, rtol=0, atol=1e-12)


@FORMS
@pytest.mark.parametrize(("s", "t"), [(0.3, 0.3), (1e-3, 2.0), (5.0, 700.0)])
def test_semigroup(form, s, t):
    """P(s) P(t) = P(s + t)."""
    rates = form(random_rates(12, 5, density=0.4))
    both = to_array(transition_matrix(rates, s)) @ to_array(transition_matrix(rates, t))
    np.testing.assert_allclose(both, to_array(transition_matrix(rates, s + t)), rtol=0, atol=3e-12)


@FORMS
@pytest.mark.parametrize("lag", [1e-4, 1.0, 1e4, 1e300])
def test_rows_are_stochastic_and_the_stationary_distribution_is_kept(form, lag):
    rates = random_rates(7, 3)
    chain = MarkovChain.from_generator(form(rates), lag=lag)
    P = to_array(chain.transition_matrix)
    assert (P >= 0).all()
    np.testing.assert_allclose(P.sum(axis=1), 1.0, rtol=0, atol=1e-15)
    law = stationary_law_of_generator(generator_of(rates))
    np.testing.assert_allclose(law @ P, law, rtol=0, atol=1e-12)
    np.testing.assert_allclose(chain.stationary_distribution, law, rtol=0, atol=1e-12)


def test_a_long_lag_converges_on_a_nearly_decomposable_chain():
    """Groups mix within a time of 1; the exit rates of the groups are 1e-14 and 3e-14."""
    rates = np.array([[0, 1, 1e-14, 0], [1, 0, 0, 1e-14], [3e-14, 0, 0, 1], [0, 3e-14, 1, 0]])
    early = transition_matrix(rates, 1e6)
    np.testing.assert_allclose(early[:2, :2], 0.5, rtol=1e-7)
    np.testing.assert_allclose(early[:2, 2:], 0.5e-8, rtol=1e-7)
    late = np.tile([0.375, 0.375, 0.125, 0.125], (4, 1))
    np.testing.assert_allclose(transition_matrix(rates, 1e17), late, rtol=1e-12)


def test_a_short_lag_keeps_a_sparse_matrix_sparse():
    rates = path_rates(400)
    found = transition_matrix(rates, 0.5)
    assert isinstance(found, sparse.csr_array)
    assert found.has_sorted_indices
    assert found.nnz < 30 * 400
    dense = transition_matrix(rates.toarray(), 0.5)
    assert np.abs(found.toarray() - dense).sum(axis=1).max() / 2 <= 1e-12
    assert (found.toarray()[dense < 1e-20] == 0).all()
    np.testing.assert_allclose(found.sum(axis=1), 1.0, rtol=0, atol=1e-15)


@pytest.mark.parametrize("lag", [1e-3, 1.0, 30.0, 1e3, 1e5])
@pytest.mark.parametrize("kind", ["path", "random"])
def test_dropped_mass_is_bounded_for_any_number_of_squarings(kind, lag, monkeypatch):
    """Sparse to the end, although a dense matrix would be faster."""
    monkeypatch.setattr(exponential, "_DENSE_FROM", 2.0)
    rates = path_rates(150) if kind == "path" else sparse.csr_array(random_rates(150, 1, density=0.02))
    found, dense = transition_matrix(rates, lag), transition_matrix(rates.toarray(), lag)
    assert np.abs(found.toarray() - dense).sum(axis=1).max() / 2 <= 1e-12
    assert found.min() >= 0


def test_no_dense_intermediate_matrix():
    """As a dense array this matrix would take 80 GB."""
    found = transition_matrix(path_rates(100_000), 0.01)
    assert 300_000 < found.nnz < 1_500_000


def test_transitions_with_a_rate_are_never_dropped():
    """The link between the two halves has a probability of 1e-25 over the lag."""
    rates = path_rates(400).tolil()
    rates[199, 200] = rates[200, 199] = 1e-25
    chain = MarkovChain.from_generator(rates, lag=1.0)
    assert chain.is_irreducible
    assert chain.transition_matrix[199, 200] > 0


def test_blocks_of_a_sparse_product_do_not_matter(monkeypatch):
    rates = path_rates(200, seed=1)
    expected = transition_matrix(rates, 3.0)
    monkeypatch.setattr(exponential, "_BLOCK_PRODUCTS", 100)
    found = transition_matrix(rates, 3.0)
    np.testing.assert_array_equal(found.indices, expected.indices)
    np.testing.assert_array_equal(found.data, expected.data)


def test_too_many_entries_are_refused(monkeypatch):
    monkeypatch.setattr(exponential, "MAX_ENTRIES", 2_000)
    monkeypatch.setattr("klump.sources.rates.MAX_ENTRIES", 2_000)
    assert transition_matrix(path_rates(100), 1e-4).nnz <= 2_000
    words = r"lag=30.0 is too large: .* 100 states .* more than 2,000 entries; take a smaller lag, or leave it out"
    with pytest.raises(InvalidArgumentError, match=words) as caught:
        MarkovChain.from_generator(path_rates(100), lag=30.0)
    assert "\n" not in str(caught.value)


@FORMS
def test_absorbing_states_and_no_rates_at_all(form):
    P = to_array(transition_matrix(form([[0.0, 2.0], [0.0, 0.0]]), 0.5))
    np.testing.assert_allclose(P, [[np.exp(-1), 1 - np.exp(-1)], [0, 1]], atol=1e-15)
    np.testing.assert_array_equal(to_array(transition_matrix(form(np.zeros((3, 3))), 2.0)), np.eye(3))
    with pytest.raises(klump.errors.ReducibleChainError):
        _ = MarkovChain.from_generator(form([[0.0, 2.0], [0.0, 0.0]]), lag=0.5).stationary_distribution


def test_costs_at_a_lag():
    """Equal to the reference costs on the reference matrix exponential."""
    rates = random_rates(6, 2, density=0.8)
    rates /= rates.sum(axis=1).max()
    labels = [0, 0, 1, 1, 2, 2]
    costs = klump.score(MarkovChain.from_generator(rates, lag=2.5), labels)
    P = reference.transition_matrix_of_rates(rates, 2.5)
    mu = reference.stationary_law(P)
    for beta in (0.0, 0.5, 1.0):
        expected = reference.cost_of_labels(P, mu, labels, 3, beta)
        assert costs.at(beta) == pytest.approx(expected, abs=1e-10)


@pytest.mark.parametrize("lag", [1, np.float32(0.5), np.int64(2), Fraction(1, 3)])
def test_every_real_type_is_a_lag(lag):
    rates = random_rates(4, 0)
    np.testing.assert_array_equal(transition_matrix(rates, lag), transition_matrix(rates, float(lag)))


@pytest.mark.parametrize(
    "lag",
    [
        *(0, 0.0, -1, -0.5, np.nan, np.inf, -np.inf, 10**400),
        *(True, False, np.True_, "1", 1j, [1.0], np.array([1.0]), Decimal(1)),
    ],
)
def test_invalid_lags_are_refused_by_name(lag):
    with pytest.raises(InvalidArgumentError, match=r"lag=.* must be a positive, finite number") as caught:
        MarkovChain.from_generator([[0.0, 1.0], [1.0, 0.0]], lag=lag)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("rates", "lag", "words"),
    [
        (
            [[0.0, 1e10], [1.0, 0.0]],
            1e300,
            r"lag=1e\+300 is too large: lag times the largest exit rate, 1e\+10",
        ),
        (
            [[0.0, 1.0], [1e-10, 0.0]],
            1e-300,
            r"lag=1e-300 is too small: .* transitions at the smallest rate, 1e-10, underflows",
        ),
        ([[0.0, 1e200], [1e-200, 0.0]], 1.0, "1e300 times smaller"),
        ([[0.0, -1.0], [1.0, 0.0]], 1.0, "rates off the diagonal"),
    ],
)
def test_lags_that_overflow_or_underflow_are_refused(rates, lag, words):
    with pytest.raises(InvalidArgumentError, match=words):
        transition_matrix(rates, lag)


def test_the_rates_are_untouched_and_names_are_kept():
    for given in (np.array([[-1.0, 1.0], [2.0, -2.0]]), sparse.csr_array([[-1.0, 1.0], [2.0, -2.0]])):
        chain = MarkovChain.from_generator(given, states=["up", "down"], lag=0.1)
        assert chain.states == ("up", "down")
        np.testing.assert_array_equal(to_array(given), [[-1.0, 1.0], [2.0, -2.0]])
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame([[0.0, 1.0], [3.0, 0.0]], index=["up", "down"], columns=["up", "down"])
    assert MarkovChain.from_generator(table, lag=2).states == ("up", "down")
