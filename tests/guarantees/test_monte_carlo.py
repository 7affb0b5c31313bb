"""Monte Carlo estimates of the entropy rate against the proven brackets."""

from __future__ import annotations

from dataclasses import astuple

import numpy as np
import pytest
from scipy import sparse

import chains
from klump.aggregation.aggregation import Aggregation
from klump.chain import MarkovChain
from klump.dynamics.simulation import draw_from_columns
from klump.errors import InvalidArgumentError
from klump.guarantees.monte_carlo import _affordable_size

EXAMPLE = np.array([[0.4, 0.3, 0.3], [0.25, 0.3, 0.45], [0.15, 0.425, 0.425]])


@pytest.mark.parametrize("kind", chains.KINDS)
@pytest.mark.parametrize("soft", [False, True], ids=["hard", "soft"])
def test_brackets_contain_the_estimate(rng, kind, soft):
    """The error is at most 4 standard errors plus the bias."""
    for n, k in ((4, 2), (8, 3)):
        P = chains.random_matrix(kind, n, rng)
        given_map = chains.random_map(n, k, rng) if soft else chains.random_labels(n, k, rng)
        answer = Aggregation.from_labels(sparse.csr_array(P) if kind == "sparse" else P, given_map)
        estimate = answer.monte_carlo(n_steps=300, random_state=1)
        bracket = answer.guarantees_within(budget=1e6).entropy_rate
        slack = 4 * estimate.standard_error + estimate.bias + 1e-9
        assert bracket.contains(estimate.entropy_rate, slack)
        assert estimate.standard_error < 0.1
        assert estimate.bias < 0.05


def test_standard_errors_are_what_they_say():
    """Over many seeds the error, in standard errors, has mean zero and variance one."""
    answer = Aggregation.from_labels(EXAMPLE, [0, 1, 1])
    truth = answer.guarantees.entropy_rate.lower
    found = [answer.monte_carlo(n_steps=50, random_state=seed) for seed in range(100)]
    scores = np.array([(each.entropy_rate - truth) / each.standard_error for each in found])
    assert abs(scores.mean()) < 0.4
    assert 0.8 < scores.std() < 1.3


def test_rare_parts_of_the_chain_are_not_missed():
    """Two parts that are hardly ever left, of which the rarer, with 2 % of the mass, has nearly all the entropy."""
    there, back = 1e-9, 49e-9
    P = [
        [1e-4, 1 - 1e-4 - there, there, 0],
        [1 - 1e-4 - there, 1e-4, 0, there],
        [back, 0, 0.5, 0.5 - back],
        [0, back, 0.5 - back, 0.5],
    ]
    answer = Aggregation.from_labels(P, [0, 1, 0, 1])
    assert answer.original.stationary_distribution[2:].sum() == pytest.approx(0.02)
    often = 1e-4 * np.log2(1e4) + 1e-4 / np.log(2)
    for seed in range(6):
        found = answer.monte_carlo(n_steps=100, random_state=seed)
        assert abs(found.entropy_rate - 0.98 * often - 0.02) < 4 * found.standard_error + 1e-4
        assert 1e-4 < found.standard_error < 0.02


def test_bias_is_seen_before_the_start_is_forgotten():
    """One step without burn-in: the entropies of the two filters are H(Y_1|X_1) = 0 and H(Y_1)."""
    answer = Aggregation.from_labels(EXAMPLE, [0, 1, 1])
    found = answer.monte_carlo(n_steps=1, burn_in=0)
    whole = -answer.masses @ np.log2(answer.masses)
    assert found.bias == pytest.approx(whole / 2, abs=1e-12)
    assert found.entropy_rate == pytest.approx(whole / 2, abs=1e-12)
    assert answer.monte_carlo(n_steps=50, burn_in=50).bias < 1e-12


def test_a_map_that_shows_everything_or_nothing(rng):
    P = chains.random_matrix("dense", 5, rng)
    nothing = Aggregation.from_labels(P, np.zeros(5, dtype=int)).monte_carlo(n_steps=20)
    assert nothing.entropy_rate < 1e-12
    assert nothing.standard_error < 1e-12
    everything = Aggregation.from_labels(P, range(5))
    found = everything.monte_carlo(n_steps=200)
    assert abs(found.entropy_rate - everything.original.entropy_rate) < 4 * found.standard_error


def test_seeds_and_counts(rng):
    P = chains.random_matrix("sparse", 20, rng)
    labels = chains.random_labels(20, 3, rng)
    answer = Aggregation.from_labels(P, labels)
    found = answer.monte_carlo(n_replicas=8, n_steps=30, random_state=5)
    assert (found.n_replicas, found.n_steps) == (8, 30)
    assert answer.monte_carlo(n_replicas=8, n_steps=30, random_state=5) == found
    assert answer.monte_carlo(n_replicas=8, n_steps=30, random_state=6) != found
    as_sparse = Aggregation.from_labels(sparse.csr_array(P), labels)
    other = as_sparse.monte_carlo(n_replicas=8, n_steps=30, random_state=5)
    assert astuple(other) == pytest.approx(astuple(found), abs=1e-9)


def test_large_chains_get_fewer_steps_and_report_progress(rng):
    n = 50_000
    columns = np.column_stack([(np.arange(n) + 1) % n, rng.integers(n, size=(n, 9))]).ravel()
    matrix = sparse.csr_array((0.1 + rng.random(10 * n), (np.repeat(np.arange(n), 10), columns)))
    answer = Aggregation.from_labels(MarkovChain(matrix, normalize=True), chains.random_labels(n, 4, rng))
    done = []
    found = answer.monte_carlo(n_replicas=2, n_steps=2, burn_in=1, progress=lambda *step: done.append(step))
    assert [step[:2] for step in done] == [(1, 3), (2, 3), (3, 3)]
    assert 0.0 < found.entropy_rate <= 2.0
    assert found.standard_error < 0.1
    assert _affordable_size(answer.original) == (27, 20)
    assert _affordable_size(MarkovChain(EXAMPLE)) == (64, 1000)


def test_only_possible_transitions_are_drawn():
    distributions = np.array([[0.0, 0.0, 0.3], [0.5, 1.0, 0.0], [0.5, 0.0, 0.7], [0.0, 0.0, 0.0]])
    below_one = np.nextafter(1.0, 0.0)
    assert draw_from_columns(distributions, np.zeros(3)).tolist() == [1, 1, 0]
    assert draw_from_columns(distributions, np.full(3, below_one)).tolist() == [2, 1, 2]
    assert draw_from_columns(distributions, np.ones(3)).tolist() == [2, 1, 2]


def test_rare_states_leave_no_warning():
    rare = 1e-300
    P = [[0.7, 0.3 - rare, rare], [0.6, 0.4 - rare, rare], [0.25, 0.25, 0.5]]
    chain = MarkovChain(P, stationary_distribution=[2 / 3, 1 / 3, 2e-300])
    answer = Aggregation.from_labels(chain, [[1, 0], [0.5, 0.5], [1e-300, 1]])
    found = answer.monte_carlo(n_steps=50)
    slack = 4 * found.standard_error + found.bias
    assert answer.guarantees.entropy_rate.contains(found.entropy_rate, slack)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_replicas": 1}, r"n_replicas=1 must be a whole number, 2 or more"),
        ({"n_steps": 0}, r"n_steps=0 must be a whole number, 1 or more"),
        ({"burn_in": -1}, r"burn_in=-1 must be a whole number, 0 or more"),
        ({"n_steps": 2.5}, r"n_steps=2.5 must be a whole number"),
        ({"random_state": "x"}, r"random_state='x' is not a seed"),
    ],
)
def test_impossible_settings(options, message):
    with pytest.raises(InvalidArgumentError, match=message):
        Aggregation.from_labels(EXAMPLE, [0, 1, 1]).monte_carlo(**options)
