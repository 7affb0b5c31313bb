"""Scores of maps: known numbers, definitions, extremes. The paper's theorems are in test_theorems.py."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

import chains
import reference
from klump.aggregation.aggregation import Aggregation
from klump.aggregation.costs import Costs, score
from klump.arguments import check_beta
from klump.chain import MarkovChain
from klump.errors import InvalidArgumentError, InvalidChainError

SOFT = np.array([[0.4638, 0.4871, 0.0491], [0.3018, 0.1419, 0.5563], [0.0173, 0.3155, 0.6672]])


def test_accepts_whatever_a_chain_can_be_made_from():
    P = [[0.4, 0.3, 0.3], [0.25, 0.3, 0.45], [0.15, 0.425, 0.425]]

    class Model:
        transition_matrix = np.array(P)

    for chain in (P, np.array(P), sparse.csc_matrix(P), MarkovChain(P, states="abc"), Model()):
        costs = score(chain, ["x", "y", "y"])
        assert round(costs.lumpability, 6) == 0.008560
        assert round(costs.predictability, 6) == 0.013547


def test_best_hard_map_of_the_design_keeps_0_0715_bits_and_a_soft_one_more():
    """A soft map can beat every hard one at beta = 1/2."""
    mu = reference.stationary_law(SOFT)
    labels, cost = reference.exhaustive(SOFT, mu, 2, 0.5)
    hard = score(SOFT, labels)
    assert hard.at(0.5) == pytest.approx(cost, abs=1e-12)
    assert hard.redundancy_rate - hard.predictability == pytest.approx(0.0715, abs=5e-5)
    shares = np.linspace(0.0, 1.0, 51)
    soft = [score(SOFT, [[1, 0], [1 - a, a], [0, 1]]) for a in shares]
    assert max(costs.kept for costs in soft) > hard.kept + 0.01


@given(chains.matrices_and_maps(), chains.betas)
def test_stochastic_maps_against_explicit_sums(drawn, beta):
    P, W = drawn
    costs, mu = score(P, W), reference.stationary_law(P)
    assert costs.at(beta) == pytest.approx(reference.cost(P, mu, W, beta), abs=1e-12)
    assert costs.bottleneck == pytest.approx(reference.bottleneck(P, mu, W), abs=1e-12)


def test_hard_map_written_as_soft_one_costs_the_same(rng):
    """The formulas for deterministic and for stochastic maps agree on deterministic ones."""
    P, labels = chains.random_matrix("dense", 6, rng), chains.random_labels(6, 3, rng)
    hard = score(P, labels)
    for speck in (1e-9, 1e-12):
        W = np.clip(reference.indicator(labels, 3), speck, None)
        soft = score(P, chains.normalized(W))
        assert soft.lumpability == pytest.approx(hard.lumpability, abs=1e-6)
        assert soft.predictability == pytest.approx(hard.predictability, abs=1e-6)


def test_lumpable_maps_cost_exactly_nothing():
    # C_L is a mean divergence, not a difference of entropies: exactly 0.
    P = [[0.5, 0.25, 0.25], [0.25, 0.5, 0.25], [0.125, 0.125, 0.75]]
    assert score(P, [0, 0, 1]).lumpability == 0.0


def test_one_step_chains():
    assert score([[1.0]], [0]) == Costs(0.0, 0.0, 0.0, 0.0)
    assert score([[0.0, 1.0], [1.0, 0.0]], [0, 1]).kept == 1.0


def test_weights_down_to_1e_300_are_scored_without_a_warning():
    rare = 1e-300
    P = np.array([[0.7, 0.3 - rare, rare], [0.6, 0.4 - rare, rare], [0.25, 0.25, 0.5]])
    chain = MarkovChain(P, stationary_distribution=[2 / 3, 1 / 3, 2e-300])
    for labels in ([0, 1, 1], [0, 0, 1], [0, 1, 0]):
        costs = score(chain, labels)
        expected = reference.cost_of_labels(P, chain.stationary_distribution, labels, 2, 0.0)
        assert costs.lumpability == pytest.approx(expected, abs=1e-14)
        answer = Aggregation.from_labels(chain, labels)
        np.testing.assert_allclose(
            np.asarray(answer.chain.transition_matrix).sum(axis=1), 1.0, rtol=0, atol=1e-12
        )
        np.testing.assert_allclose(
            answer.chain.transition_matrix,
            reference.aggregated_matrix(P, chain.stationary_distribution, reference.indicator(labels, 2)),
            rtol=1e-12,
        )


@given(st.floats(0, 1), st.floats(0, 2), chains.betas)
def test_costs_at_beta_and_the_kept_share(lumpability, bottleneck, beta):
    costs = Costs(lumpability, lumpability + bottleneck, 4.0)
    assert costs.at(beta) == pytest.approx(
        (1 - 2 * beta) * costs.lumpability + beta * costs.predictability, abs=1e-14
    )
    assert costs.bottleneck == pytest.approx(bottleneck, abs=1e-15)
    assert costs.kept == pytest.approx(1 - costs.predictability / 4.0, abs=1e-15)


@given(
    st.one_of(chains.matrices_and_labels().map(lambda drawn: drawn[:2]), chains.matrices_and_maps()),
    chains.betas,
    chains.gammas,
    st.sampled_from([np.asarray, sparse.csr_array]),
)
def test_the_cost_with_gamma_is_its_definition(drawn, beta, gamma, form):
    """C_beta + gamma C_G for partitions and stochastic maps, dense and sparse."""
    P, given_map = drawn
    answer = Aggregation.from_labels(form(P), given_map, beta, gamma)
    mu, W = reference.stationary_law(P), answer.mapping
    assert answer.costs.generated == pytest.approx(reference.generated(P, mu, W), abs=1e-12)
    assert answer.cost == pytest.approx(reference.cost(P, mu, W, beta, gamma), abs=1e-12)
    assert answer.cost == answer.costs.at(beta, gamma)


def test_single_states_lose_nothing_that_is_generated(rng):
    for kind in chains.KINDS:
        P = chains.random_matrix(kind, 8, rng)
        assert score(P, np.arange(8)).generated == pytest.approx(0.0, abs=1e-14)
        chain = MarkovChain(P)
        assert score(chain, np.zeros(8, dtype=int)).generated == pytest.approx(chain.entropy_rate, abs=1e-14)


def test_nothing_to_keep_is_kept_entirely():
    assert Costs(0.0, 0.0, 0.0).kept == 1.0
    assert score(np.full((3, 3), 1 / 3), [0, 1, 1]).kept == 1.0


@pytest.mark.parametrize("beta", [-0.1, 1.1, np.nan, np.inf, "much", None, [0.5, 0.6]])
def test_beta_outside_its_range_is_refused(beta):
    with pytest.raises(InvalidArgumentError, match="beta="):
        Costs(0.1, 0.2, 1.0).at(beta)


@pytest.mark.parametrize("beta", [0, 1, 0.5, "0.25", np.float32(0.75), True])
def test_beta_may_be_any_number(beta):
    assert check_beta(beta) == float(beta)


def test_bad_chain_is_reported_before_the_map():
    with pytest.raises(InvalidChainError, match="row 0"):
        score([[0.5, 0.4], [0.5, 0.5]], [0])


def test_exhaustive_reference_agrees_with_scores(rng):
    """The exhaustive reference visits every partition once, with its true cost."""
    P = chains.random_matrix("sparse", 6, rng)
    mu = reference.stationary_law(P)
    labels, *costs_of_all = reference.costs_of_all_partitions(P, mu, 3)
    assert len(labels) == 90  # Stirling number of the second kind, S(6, 3)
    assert len({tuple(row) for row in labels.tolist()}) == 90
    for row, *expected in zip(labels[::7], *(values[::7] for values in costs_of_all), strict=True):
        costs = score(P, row)
        found = costs.lumpability, costs.predictability, costs.generated
        assert found == pytest.approx(expected, abs=1e-12)
