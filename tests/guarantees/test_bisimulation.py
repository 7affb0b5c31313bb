"""Certificates: exact numbers, extremes, refusals. Proposition 1: test_theorems.py; horizons: test_horizons.py."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from scipy import sparse

import chains
import reference
from klump.aggregation.aggregation import Aggregation
from klump.chain import MarkovChain
from klump.errors import InvalidArgumentError
from klump.guarantees import Bisimulation

EXAMPLE = np.array([[0.4, 0.3, 0.3], [0.25, 0.3, 0.45], [0.15, 0.425, 0.425]])


def test_three_states_of_the_paper_by_hand():
    certificate = Aggregation.from_labels(EXAMPLE, [0, 1, 1]).bisimulation
    mu = reference.stationary_law(EXAMPLE)
    # States 1 and 2 go to group 0 with probability 0.25 and 0.15; their group with the mean of these.
    mean = (mu[1] * 0.25 + mu[2] * 0.15) / (mu[1] + mu[2])
    assert certificate.epsilon == pytest.approx(max(0.25 - mean, mean - 0.15), abs=1e-15)
    assert certificate.mean == pytest.approx(mu[1] * (0.25 - mean) + mu[2] * (mean - 0.15), abs=1e-15)
    assert certificate.bound == pytest.approx(np.sqrt(np.log(2) * 0.0085602769 / 2 / mu.min()), abs=1e-9)


@given(chains.matrices_and_labels())
def test_mean_never_exceeds_epsilon(drawn):
    P, labels, _ = drawn
    certificate = Aggregation.from_labels(P, labels).bisimulation
    assert 0.0 <= certificate.mean <= certificate.epsilon + 1e-15
    assert certificate.epsilon <= 1.0


@given(chains.matrices_and_labels())
def test_mean_is_the_weighted_total_variation(drawn):
    P, labels, k = drawn
    mu = reference.stationary_law(P)
    W = reference.indicator(labels, k)
    Q = reference.aggregated_matrix(P, mu, W)
    distances = [reference.total_variation((P @ W)[x], Q[labels[x]]) for x in range(len(mu))]
    certificate = Aggregation.from_labels(P, labels).bisimulation
    assert certificate.mean == pytest.approx(mu @ distances, abs=1e-12)
    assert certificate.epsilon == pytest.approx(max(distances), abs=1e-12)


@given(chains.matrices_and_labels())
def test_dense_equals_sparse(drawn):
    P, labels, _ = drawn
    dense = Aggregation.from_labels(P, labels).bisimulation
    other = Aggregation.from_labels(sparse.csr_array(P), labels).bisimulation
    assert other.epsilon == pytest.approx(dense.epsilon, abs=1e-12)
    assert other.mean == pytest.approx(dense.mean, abs=1e-12)


@pytest.mark.parametrize("labels", [[0, 0, 0], [2, 0, 1]], ids=["one group", "all apart"])
def test_nothing_strays_from_one_group_or_from_the_chain_itself(labels):
    certificate = Aggregation.from_labels(EXAMPLE, labels).bisimulation
    assert certificate.epsilon < 1e-15
    assert certificate.horizon(10**6) < 1e-9


def test_horizon_is_one_minus_the_chance_of_staying_together():
    certificate = Bisimulation(epsilon=0.3, bound=0.5, mean=0.1)
    found = [certificate.horizon(t) for t in (0, 1, 2, 3)]
    assert found == pytest.approx([0.0, 0.3, 1 - 0.7**2, 1 - 0.7**3], abs=1e-15)
    assert certificate.horizon(10**6) == 1.0


def test_horizon_of_extreme_epsilons():
    """1 - (1 - epsilon)^t is t epsilon without cancellation if epsilon is tiny, and 0 or 1 if epsilon is 1."""
    assert Bisimulation(1e-18, 1.0, 0.0).horizon(1000) == pytest.approx(1e-15, rel=1e-12)
    assert [Bisimulation(1.0, 1.0, 1.0).horizon(t) for t in (0, 1, 7)] == [0.0, 1.0, 1.0]
    assert Bisimulation(0.0, 0.0, 0.0).horizon(10**9) == 0.0


@pytest.mark.parametrize("t", [-1, 1.5, "3", None, True])
def test_impossible_horizons(t):
    with pytest.raises(InvalidArgumentError, match=r"^t=.* must be a whole number between 0 and .*$"):
        Bisimulation(0.3, 0.5, 0.1).horizon(t)
    with pytest.raises(InvalidArgumentError, match=r"^t=.* must be a whole number between 0 and .*$"):
        Aggregation.from_labels(EXAMPLE, [0, 1, 1]).guarantees.horizon(t)


def test_exact_epsilon_can_be_far_below_the_bound(rng):
    """The bound diverges with 1 / sqrt(min mu), epsilon does not."""
    P = chains.random_matrix("dense", 8, rng)
    P[:, 0] *= 1e-4
    certificate = Aggregation.from_labels(chains.normalized(P), [0, 0, 0, 0, 1, 1, 1, 1]).bisimulation
    assert certificate.bound > 5 * certificate.epsilon


def test_vanishing_masses_leave_a_certificate():
    rare = 1e-300
    P = [[0.7, 0.3 - rare, rare], [0.6, 0.4 - rare, rare], [0.25, 0.25, 0.5]]
    chain = MarkovChain(P, stationary_distribution=[2 / 3, 1 / 3, 2e-300])
    certificate = Aggregation.from_labels(chain, [0, 1, 1]).bisimulation
    # The next-group distribution of the rare state differs from its group's: epsilon is large, the mean is not.
    assert certificate.epsilon == pytest.approx(0.35, abs=1e-12)
    assert certificate.mean == pytest.approx(0.0, abs=1e-15)
    assert certificate.bound >= certificate.epsilon


def test_stochastic_maps_have_no_such_certificate():
    answer = Aggregation.from_labels(EXAMPLE, [[1, 0], [0.5, 0.5], [0, 1]])
    with pytest.raises(InvalidArgumentError, match="deterministic map"):
        _ = answer.bisimulation
