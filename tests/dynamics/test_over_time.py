"""Chapman-Kolmogorov, costs at several lags, relaxation and simulation."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from scipy import sparse

import chains
import klump
import reference
from klump.errors import InvalidArgumentError

LUMPABLE = np.array(
    [[0.2, 0.3, 0.1, 0.4], [0.4, 0.1, 0.3, 0.2], [0.1, 0.5, 0.2, 0.2], [0.6, 0.0, 0.15, 0.25]]
)


@given(seed=chains.seeds)
def test_chapman_kolmogorov_is_exact_for_a_lumpable_partition(seed):
    rng = np.random.default_rng(seed)
    P = np.zeros((7, 7))
    labels = np.array([0, 0, 1, 1, 1, 2, 2])
    between = rng.dirichlet(np.ones(3), size=3)
    for i in range(7):
        for z in range(3):
            P[i, labels == z] = between[labels[i], z] * rng.dirichlet(np.ones((labels == z).sum()))
    found = klump.Aggregation.from_labels(P, labels).chapman_kolmogorov([1, 2, 7, 50])
    assert found.largest_difference < 1e-12
    assert found.total_variation.max() < 1e-12
    np.testing.assert_allclose(found.original[0], between, atol=1e-12)


@pytest.mark.parametrize("soft", [False, True])
def test_chapman_kolmogorov_compares_powers(soft, rng):
    P = chains.random_matrix("nonreversible", 8, rng)
    W = np.eye(3)[[0, 0, 0, 1, 1, 1, 2, 2]]
    if soft:
        W = chains.normalized(W + 0.2 * rng.random((8, 3)))
    answer = klump.Aggregation.from_labels(sparse.csr_array(P), W)
    found = answer.chapman_kolmogorov(4)
    assert found.steps.tolist() == [1, 2, 3, 4]
    mu = reference.stationary_law(P)
    U = (W * mu[:, None]).T / (mu @ W)[:, None]
    for position, t in enumerate(found.steps):
        np.testing.assert_allclose(found.original[position], U @ np.linalg.matrix_power(P, t) @ W, atol=1e-12)
        Q = np.linalg.matrix_power(answer.chain.transition_matrix, t)
        np.testing.assert_allclose(found.aggregated[position], Q, atol=1e-12)
        late = np.linalg.matrix_power(answer.long_time_chain.transition_matrix, t)
        np.testing.assert_allclose(found.long_time[position], late, atol=1e-12)
        half = np.abs(found.original[position] - Q).sum(axis=1) / 2
        np.testing.assert_allclose(found.total_variation[position], half, atol=1e-15)
    np.testing.assert_allclose(found.total_variation[0], 0, atol=1e-12)  # Q is right for one step
    assert max(row[1] for row in found.table()) == found.largest_difference > 0.01
    assert str(found).count("\n") == 4


def test_many_steps_are_squared(rng):
    P = chains.random_matrix("reversible", 6, rng)
    answer = klump.Aggregation.from_labels(P, [0, 0, 1, 1, 2, 2])
    found = answer.chapman_kolmogorov([1, 10**9])
    np.testing.assert_allclose(found.original[1], np.tile(answer.masses, (3, 1)), atol=1e-9)


def test_dependent_groups_have_no_long_time_columns(rng):
    answer = klump.Aggregation.from_labels(chains.random_matrix("dense", 4, rng), np.full((4, 2), 0.5))
    assert np.isnan(answer.chapman_kolmogorov(2).long_time).all()


@pytest.mark.parametrize("steps", [0, -1, [], [0], 1.5, "3"])
def test_steps_that_make_no_sense(steps):
    answer = klump.Aggregation.from_labels(LUMPABLE, [0, 0, 1, 1])
    with pytest.raises(InvalidArgumentError, match="steps"):
        answer.chapman_kolmogorov(steps)


def test_first_passage_times_between_groups_as_sets(rng):
    P = chains.random_matrix("nonreversible", 7, rng)
    labels = np.array([0, 0, 1, 1, 1, 2, 2])
    answer = klump.Aggregation.from_labels(P, labels)
    mu = reference.stationary_law(P)
    for y in range(3):
        times = reference.first_passage_times_to(P, np.flatnonzero(labels == y).tolist())
        for x in range(3):
            inside = labels == x
            expected = mu[inside] @ times[inside] / mu[inside].sum()
            assert answer.first_passage_times()[x, y] == pytest.approx(expected, rel=1e-11)
    soft = klump.Aggregation.from_labels(P, chains.normalized(np.eye(3)[labels] + 0.1))
    with pytest.raises(InvalidArgumentError, match="deterministic map"):
        soft.first_passage_times()


@pytest.mark.parametrize("soft", [False, True])
def test_costs_at_a_lag_are_those_of_the_power(soft, rng):
    P = chains.random_matrix("reversible", 9, rng)
    W = np.eye(3)[np.arange(9) // 3]
    if soft:
        W = chains.normalized(W + 0.2 * rng.random((9, 3)))
    found = klump.Aggregation.from_labels(P, W).lag_scan([1, 3, 10])
    for position, lag in enumerate((1, 3, 10)):
        power = np.linalg.matrix_power(P, lag)
        costs = klump.score(power, W)
        assert found.lumpability[position] == pytest.approx(costs.lumpability, abs=1e-10)
        assert found.predictability[position] == pytest.approx(costs.predictability, abs=1e-10)
        assert found.kept[position] == pytest.approx(costs.kept, abs=1e-9)
        assert found.at(0.3)[position] == pytest.approx(costs.at(0.3), abs=1e-10)
        scales = klump.Aggregation.from_labels(power, W).chain.timescales()
        np.testing.assert_allclose(found.timescales[position], lag * scales, rtol=1e-8)
    assert str(found).count("\n") == 3


def test_costs_at_a_lag_that_is_too_large_are_not_a_number(monkeypatch):
    """Lumpability and timescales need no power of the chain."""
    from klump.chain import powers
    from klump.sources.random_chains import sparse_block_chain

    chain, labels = sparse_block_chain(300, 3, 5, "metastable", 0)
    answer = klump.Aggregation.from_labels(chain, labels)
    whole = answer.lag_scan([4])
    monkeypatch.setattr(powers, "MAX_DENSE_STATES", 10)
    monkeypatch.setattr(powers, "MAX_TRANSITIONS", 3000)
    found = answer.lag_scan([1, 4])
    assert np.isnan(found.predictability).tolist() == [False, True]
    assert np.isnan(found.kept[1])
    assert str(found).splitlines()[2].split()[2:4] == ["-", "-"]
    assert found.lumpability[1] == pytest.approx(whole.lumpability[0], rel=1e-12)


def test_relaxation():
    chain = klump.MarkovChain([[0.9, 0.1], [0.3, 0.7]], states=["sun", "rain"])
    np.testing.assert_allclose(chain.relaxation(3, "sun"), 0.25 * 0.6 ** np.arange(4), atol=1e-15)
    sunny = chain.relaxation(3, "rain", observable=[1, 0])
    np.testing.assert_allclose(sunny, 0.75 * (1 - 0.6 ** np.arange(4)), atol=1e-15)
    np.testing.assert_allclose(chain.relaxation(2), 0, atol=1e-15)  # from the stationary distribution
    with pytest.raises(InvalidArgumentError, match="observable"):
        chain.relaxation(2, observable=[1, 2, 3])


@pytest.mark.parametrize("form", [np.array, sparse.csr_array])
def test_simulated_transitions_have_their_probabilities(form, rng):
    P = chains.random_matrix("sparse", 5, rng)
    chain = klump.MarkovChain(form(P))
    path = chain.simulate(200_000, seed=1)
    assert path.shape == (200_000,)
    counts = np.zeros((5, 5))
    np.add.at(counts, (path[:-1], path[1:]), 1)
    assert (counts[P == 0] == 0).all()
    visits = counts.sum(axis=1, keepdims=True)
    deviation = np.abs(counts / visits - P) / np.sqrt(np.maximum(P * (1 - P), 1e-3) / visits)
    assert deviation.max() < 4.5


def test_simulations_start_where_they_are_told():
    chain = klump.MarkovChain(LUMPABLE, states=["a", "b", "c", "d"], initial={"c": 1.0})
    assert (chain.simulate(1, n_chains=50)[:, 0] == 2).all()
    assert (chain.simulate(2, start="b", n_chains=50)[:, 0] == 1).all()
    assert set(chain.simulate(1, start={"a": 1, "d": 1}, n_chains=200)[:, 0].tolist()) == {0, 3}
    assert set(chain.simulate(1, start=["a", "b"], n_chains=200)[:, 0].tolist()) == {0, 1}
    assert (chain.simulate(1, start=[0, 0, 0, 1.0], n_chains=9)[:, 0] == 3).all()
    first = klump.MarkovChain(LUMPABLE).simulate(1, n_chains=40_000, seed=0)[:, 0]
    np.testing.assert_allclose(
        np.bincount(first) / 40_000, klump.MarkovChain(LUMPABLE).stationary_distribution, atol=0.01
    )
    with pytest.raises(InvalidArgumentError, match=r"start must be a distribution, but it sums to 0\.5"):
        chain.simulate(3, start=[0.5, 0, 0, 0])
    with pytest.raises(InvalidArgumentError, match="start='e'"):
        chain.simulate(3, start="e")


def test_the_same_seed_gives_the_same_trajectories(monkeypatch):
    from klump.dynamics import simulation

    chain = klump.MarkovChain(LUMPABLE)
    several = chain.simulate(100, n_chains=3, seed=5)
    assert several.shape == (3, 100)
    np.testing.assert_array_equal(several, chain.simulate(100, n_chains=3, random_state=5))
    assert (several != chain.simulate(100, n_chains=3, seed=6)).any()
    monkeypatch.setattr(simulation, "_BLOCK", 7)
    np.testing.assert_array_equal(several, chain.simulate(100, n_chains=3, seed=5))
    with pytest.raises(InvalidArgumentError, match="n_steps=0"):
        chain.simulate(0)
    with pytest.raises(InvalidArgumentError, match="more than 1,000,000,000"):
        chain.simulate(10**6, n_chains=10**4)


def test_a_simulated_chain_can_end_in_an_absorbing_state():
    path = klump.MarkovChain([[0.5, 0.5], [0, 1]]).simulate(60, start=0)
    assert path[0] == 0
    assert path[-1] == 1


def test_chapman_kolmogorov_is_exact_for_any_number_of_steps(rng):
    labels = np.array([0, 0, 1, 1, 1, 2, 2])
    between = rng.dirichlet(np.ones(3), size=3)
    P = np.zeros((7, 7))
    for i in range(7):
        for z in range(3):
            P[i, labels == z] = between[labels[i], z] * rng.dirichlet(np.ones((labels == z).sum()))
    answer = klump.Aggregation.from_labels(P, labels)
    steps = [10, 10**4, 10**9, 10**15, 2**60]
    found = answer.chapman_kolmogorov(steps)
    assert found.largest_difference < 1e-13
    assert found.long_time_variation.max() < 1e-12
    np.testing.assert_allclose(found.aggregated.sum(axis=2), 1.0, atol=1e-14)
    np.testing.assert_allclose(
        found.original[-1], np.tile(answer.chain.stationary_distribution, (3, 1)), atol=1e-13
    )
    scan = answer.lag_scan(steps)
    assert scan.lumpability.max() < 1e-12


def test_powers_of_nearly_decomposable_chains_are_relatively_accurate():
    """Flows of 1e-12 and 2e-12: at 2**60 steps the masses are 2/3 and 1/3."""
    P = np.array([[1 - 1e-12, 1e-12], [2e-12, 1 - 2e-12]])
    found = klump.Aggregation.from_labels(P, [0, 1]).chapman_kolmogorov([2**60])
    np.testing.assert_allclose(found.original[0], [[2 / 3, 1 / 3]] * 2, rtol=1e-4)


def test_lags_at_which_groups_are_closed():
    cycle = np.roll(np.eye(6), 1, axis=1)
    scan = klump.Aggregation.from_labels(cycle, [0, 1, 0, 1, 0, 1]).lag_scan([1, 2, 3])
    np.testing.assert_array_equal(scan.timescales, np.full((3, 1), np.inf))
    assert np.isnan(scan.predictability).tolist() == [False, True, True]
    np.testing.assert_allclose(scan.lumpability, 0, atol=1e-14)
    scan = klump.Aggregation.from_labels(cycle, [0, 1, 2, 0, 1, 2]).lag_scan([3])
    np.testing.assert_array_equal(scan.timescales, [[np.inf, np.inf]])
    assert "inf" in str(scan)
