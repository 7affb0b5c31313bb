"""Stochastic maps: cost, gradient, projected gradient descent, and the guarantees of the method."""

from __future__ import annotations

import warnings

import joblib
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import chains
import klump
import reference
from klump.search.objective import Objective
from klump.search.soft import SoftProblem, harden, project_to_simplex, projected_gradient_descent, simplify
from klump.sources.random_chains import block_chain

METHOD = "stochastic"
# Optimal for beta = 1/2 and two groups is to split the second state.
THREE_STATES = np.array([[0.4638, 0.4871, 0.0491], [0.3018, 0.1419, 0.5563], [0.0173, 0.3155, 0.6672]])


def soft_problem(P, beta, form=np.asarray, gamma=0.0):
    chain = klump.MarkovChain(form(P))
    return SoftProblem(chain.joint, chain.stationary_distribution, Objective(beta, gamma))


def kept(answer):
    return answer.costs.redundancy_rate - answer.costs.predictability


# Cost and gradient


@given(chains.matrices_and_maps(), chains.betas, st.sampled_from([np.asarray, sparse.csr_array]))
@settings(max_examples=60)
def test_costs_differ_as_the_textbook_says(P_and_map, beta, form):
    """The constant that is omitted is that of the map to one group."""
    P, W = P_and_map
    problem = soft_problem(P, beta, form)
    constant = (
        reference.cost(P, problem.mu, np.ones((len(P), 1)), beta)
        - problem.evaluate(np.ones((len(P), 1))).cost
    )
    expected = reference.cost(P, problem.mu, W, beta)
    assert problem.evaluate(W).cost + constant == pytest.approx(expected, abs=1e-10)


@given(
    chains.matrices(max_size=6), chains.betas, chains.seeds, st.sampled_from([np.asarray, sparse.csr_array])
)
@settings(max_examples=60)
def test_the_gradient_is_that_of_finite_differences(P, beta, seed, form):
    rng = np.random.default_rng(seed)
    W = 0.7 * rng.dirichlet(np.ones(3), size=len(P)) + 0.1
    problem = soft_problem(P, beta, form)
    gradient = problem.gradient(problem.evaluate(W)) * problem.mu[:, None]
    for _ in range(5):
        direction = rng.normal(size=W.shape)
        direction -= direction.mean(axis=1, keepdims=True)
        step = 1e-5 * direction / np.abs(direction).max()
        difference = problem.evaluate(W + step).cost - problem.evaluate(W - step).cost
        assert difference / 2 == pytest.approx(np.sum(gradient * step), abs=1e-11)


@given(chains.seeds, st.integers(1, 6))
def test_projections_are_the_nearest_points_of_the_simplex(seed, k):
    """Karush-Kuhn-Tucker: one threshold is subtracted from all positive entries, and the others are below it."""
    rows = np.random.default_rng(seed).normal(scale=2.0, size=(5, k))
    laws = project_to_simplex(rows)
    assert laws.min() >= 0.0
    assert laws.sum(axis=1) == pytest.approx(np.ones(5))
    for row, law in zip(rows, laws, strict=True):
        taken = (row - law)[law > 0]
        assert np.ptp(taken) < 1e-12
        assert np.all(row[law == 0] <= taken[0] + 1e-12)


# The descent


@given(chains.matrices_and_maps(), chains.betas, st.sampled_from([np.asarray, sparse.csr_array]))
@settings(max_examples=60)
def test_the_descent_never_goes_up_and_stays_among_maps(P_and_map, beta, form):
    P, W = P_and_map
    problem = soft_problem(P, beta, form)
    point, trace = projected_gradient_descent(problem, W, 60)
    assert trace[0] == problem.evaluate(W).cost
    assert trace[-1] == point.cost
    assert np.all(np.diff(trace) <= 0.0)
    assert point.weights.min() >= 0.0
    assert point.weights.sum(axis=1) == pytest.approx(np.ones(len(P)))
    neat = simplify(problem, point)
    assert neat.cost <= point.cost + 1e-9
    assert neat.weights.any(axis=0).all()
    assert np.all((neat.weights == 0.0) | (neat.weights >= 1e-12))


def test_the_descent_ends_where_no_small_step_helps(rng):
    P = chains.random_matrix("dense", 6, rng)
    for beta in (0.3, 0.5, 0.8):
        problem = soft_problem(P, beta)
        point, _ = projected_gradient_descent(problem, rng.dirichlet(np.ones(3), size=6), 2000)
        for _ in range(50):
            other = 0.999 * point.weights + 0.001 * rng.dirichlet(np.ones(3), size=6)
            assert problem.evaluate(other).cost >= point.cost - 1e-9


def test_duplicate_groups_are_averaged(rng):
    P = chains.random_matrix("dense", 5, rng)
    problem = soft_problem(P, 0.2)
    W = np.array([[0.7, 0.3, 0.0]] * 3 + [[0.0, 0.0, 1.0]] * 2)
    neat = simplify(problem, problem.evaluate(W))
    assert neat.weights[:3] == pytest.approx(np.array([[0.5, 0.5, 0.0]] * 3))
    assert neat.cost == pytest.approx(problem.evaluate(W).cost, abs=1e-12)
    without = simplify(problem, problem.evaluate(np.array([[1.0, 0.0, 0.0]] * 3 + [[0.0, 0.0, 1.0]] * 2)))
    assert without.weights.any(axis=0).all()
    assert without.cost == pytest.approx(neat.cost, abs=1e-12)


def test_a_row_keeps_its_largest_entry(rng):
    problem = soft_problem(chains.random_matrix("dense", 15, rng), 0.0)
    W = np.full((15, 12), 1 / 12)
    assert simplify(problem, problem.evaluate(W)).weights == pytest.approx(W)


# The method


def test_a_soft_map_beats_every_hard_one():
    hard = klump.aggregate(THREE_STATES, 2, beta=0.5)
    soft = klump.aggregate(THREE_STATES, 2, beta=0.5, method=METHOD)
    assert kept(hard) == pytest.approx(0.0715, abs=5e-5)
    assert kept(soft) >= 0.0814
    assert np.count_nonzero(soft.mapping.max(axis=1) < 1.0) == 1
    assert soft.trace[-1] == pytest.approx(soft.cost, abs=1e-12)
    assert kept(soft.harden()) <= kept(hard) + 1e-12


def test_at_beta_1_soft_equals_hard_on_50_random_chains(rng):
    for number in range(50):
        P = chains.random_matrix(chains.KINDS[number % 6], 6, rng)
        soft = klump.aggregate(P, 3, beta=1.0, n_init=3, method=METHOD)
        assert soft.map.labels is not None
        _, best_cost = reference.exhaustive(P, reference.stationary_law(P), 3, 1.0)
        assert soft.cost == pytest.approx(best_cost, abs=1e-12)
        problem = soft_problem(P, 1.0)
        best = problem.evaluate(soft.mapping).cost
        for _ in range(3):
            point, _ = projected_gradient_descent(problem, rng.dirichlet(np.ones(3), size=6), 100)
            assert point.cost >= best - 1e-9


@pytest.mark.slow
def test_never_costlier_than_the_best_hard_map_on_100_reversible_chains(rng):
    wins = 0
    for number in range(100):
        P = chains.random_matrix("reversible", 5, rng)
        mu, beta = reference.stationary_law(P), (0.2, 0.4, 0.5, 0.7)[number % 4]
        _, best = reference.exhaustive(P, mu, 2, beta)
        soft = klump.aggregate(P, 2, beta=beta, method=METHOD, n_init=5)
        assert soft.cost <= best + 1e-12
        wins += soft.cost < best - 1e-6
    assert wins > 5


@pytest.mark.parametrize("beta", [0.1, 0.3, 0.45, 0.5, 0.7])
def test_as_good_as_a_general_optimiser_with_many_starts(beta, rng):
    for kind in ("dense", "skewed", "sparse", "nonreversible"):
        P = chains.random_matrix(kind, 4, rng)
        best, cost = reference.best_stochastic_map(P, reference.stationary_law(P), 2, beta, 12, rng)
        assert klump.score(P, best).at(beta) == pytest.approx(cost, abs=1e-9)
        assert klump.aggregate(P, 2, beta=beta, method=METHOD).cost <= cost + 1e-7


def test_at_beta_0_the_cheapest_map_is_trivial_unless_a_hard_one_is_as_cheap(rng):
    trivial = klump.aggregate(chains.random_matrix("dense", 6, rng), 3, beta=0.0, method=METHOD)
    assert trivial.cost == pytest.approx(0.0, abs=1e-12)
    assert trivial.masses == pytest.approx(np.full(3, 1 / 3))
    assert any("nearly trivial" in note for note in trivial.notes)
    P = [[0.5, 0.4, 0.1], [0.4, 0.5, 0.1], [0.1, 0.1, 0.8]]
    assert klump.aggregate(P, 2, beta=0.0, method=METHOD).groups == [(0, 1), (2,)]


def test_a_hard_optimum_is_returned_as_a_hard_map():
    chain, labels = block_chain((6, 8), alpha=0.5, eps=0.05, random_state=0)
    answer = klump.aggregate(chain, 2, beta=0.5, method=METHOD)
    assert answer.map.labels is not None
    assert reference.same_partition(answer.labels, labels)
    assert answer.harden() is answer


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("beta", [0.2, 0.5])
def test_rows_are_distributions_and_every_group_has_mass(form, beta, rng):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for kind in ("skewed", "sparse", "decomposable", "periodic"):
            P = chains.random_matrix(kind, 8, rng)
            for k in (2, 7):
                answer = klump.aggregate(form(P), k, beta=beta, method=METHOD, n_init=4)
                weights = answer.map.weights
                assert weights.shape == (8, k)
                assert weights.data.min() >= 1e-12
                assert np.abs(weights.sum(axis=1) - 1.0).max() < 1e-15 * k
                assert answer.masses.min() > 0.0
                assert answer.cost <= klump.aggregate(form(P), k, beta=beta, n_init=4).cost + 1e-12
                assert np.diff(answer.trace).max(initial=0.0) <= 1e-12


def test_states_of_hardly_any_mass_do_no_harm():
    P = np.full((6, 6), 1e-300)
    np.fill_diagonal(P, 1.0)
    P[np.arange(6), (np.arange(6) + 1) % 6] = np.logspace(-150, -1, 6)
    chain = klump.MarkovChain(sparse.csr_array(P), normalize=True)
    for beta in (0.2, 0.5):
        answer = klump.aggregate(chain, 3, beta=beta, method=METHOD, n_init=3)
        assert answer.n_states == 3
        assert np.isfinite(answer.cost)


def test_the_engine_does_not_change_the_map():
    ask = {"n_states": 2, "beta": 0.5, "method": METHOD, "n_init": 6, "random_state": 3}
    expected = klump.aggregate(THREE_STATES, **ask, n_jobs=1).mapping
    assert np.array_equal(klump.aggregate(THREE_STATES, **ask, n_jobs=2).mapping, expected)
    with joblib.parallel_config(backend="loky", n_jobs=2):
        assert np.array_equal(klump.aggregate(THREE_STATES, **ask).mapping, expected)


@pytest.mark.parametrize("after", [3, 40])
def test_ctrl_c_keeps_the_best_so_far(after):
    calls = []

    def impatient(done, total, best):
        assert 0 < done <= total
        calls.append(best)
        if len(calls) == after:
            raise KeyboardInterrupt

    answer = klump.aggregate(
        THREE_STATES, 2, method=METHOD, n_init=200 if after > 3 else 20, progress=impatient
    )
    assert answer.interrupted
    assert answer.cost == pytest.approx(min(calls), abs=1e-12)


def test_progress_ends_at_its_total_and_never_goes_back():
    calls = []
    klump.aggregate(THREE_STATES, 2, method=METHOD, n_init=4, progress=lambda *call: calls.append(call))
    done = [call[0] for call in calls]
    assert done == sorted(done)
    assert calls[-1][0] == calls[-1][1]


# Hardening


@given(chains.seeds, st.integers(2, 8), st.data())
def test_hardened_maps_have_no_empty_group(seed, n, data):
    k = data.draw(st.integers(2, n))
    rng = np.random.default_rng(seed)
    weights = rng.dirichlet(np.full(k, 0.3), size=n)
    labels = harden(sparse.csr_array(weights))
    assert sorted(set(labels.tolist())) == list(range(k))
    likeliest = np.argmax(weights, axis=1)
    empty = k - len(set(likeliest.tolist()))
    assert np.count_nonzero(labels != likeliest) <= empty if empty else np.array_equal(labels, likeliest)


def test_an_empty_group_gets_the_state_that_favours_it_most():
    weights = [[0.9, 0.0, 0.1], [0.6, 0.0, 0.4], [0.4, 0.6, 0.0], [0.5, 0.05, 0.45]]
    assert harden(sparse.csr_array(weights)).tolist() == [0, 0, 1, 2]
    # Not the only member of another group, even if its probability is larger.
    weights = [[0.9, 0.0, 0.1], [0.6, 0.0, 0.4], [0.0, 0.51, 0.49]]
    assert harden(sparse.csr_array(weights)).tolist() == [0, 2, 1]


def test_hardening_keeps_what_was_asked():
    soft = klump.aggregate(THREE_STATES, 2, method=METHOD, random_state=5)
    hard = soft.harden()
    assert (hard.beta, hard.random_state, hard.method) == (soft.beta, 5, "stochastic, hardened")
    assert hard.map.labels is not None
    assert np.array_equal(hard.labels, soft.labels)
    assert hard.trace == ()
    assert hard.bisimulation.epsilon >= 0.0


def test_soft_answers_are_saved(tmp_path):
    soft = klump.aggregate(THREE_STATES, 2, method=METHOD)
    soft.save(tmp_path / "soft.npz")
    assert np.array_equal(klump.load(tmp_path / "soft.npz").mapping, soft.mapping)
