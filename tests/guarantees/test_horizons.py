"""Horizons: both bounds against enumerated distributions of paths, and their tightness."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

import chains
import klump
import reference
from klump.aggregation.aggregation import Aggregation
from klump.guarantees.entropy_rate import hidden_markov_process
from klump.guarantees.horizons import one_step_variations, total_variation_bound

any_map = st.one_of(
    chains.matrices_and_labels().map(lambda drawn: (drawn[0], drawn[1])), chains.matrices_and_maps()
)
# Paths of t + 1 groups; blocks of every length are stopped early as well, so that both kinds of bounds are checked.
STEPS = (0, 1, 2, 3, 4, 5)
BUDGETS = (0.0, 2.5e4, 2e5)


def partitions(rng):
    """Three chains of each kind with labels."""
    for kind in chains.KINDS:
        for number in range(3):
            P = chains.random_matrix(kind, 4, rng)
            yield P, chains.random_labels(4, 2 + number % 2, rng)


def test_stationary_horizon_of_partitions_holds(rng):
    """126 triples of a chain, a partition and t, each with three lengths of blocks."""
    checked = 0
    for P, labels in partitions(rng):
        answer = Aggregation.from_labels(P, labels)
        mu, k = reference.stationary_law(P), answer.n_states
        Q = reference.aggregated_matrix(P, mu, answer.mapping)
        found = [answer.guarantees_within(tolerance=0.0, budget=budget) for budget in BUDGETS]
        assert found[0].block_length == 2
        for t in STEPS:
            original = reference.law_of_paths(P, mu, labels, t)
            model = reference.law_of_paths(Q, mu @ answer.mapping, range(k), t)
            distance = reference.total_variation_of_paths(original, model)
            for guarantees in found:
                assert distance <= guarantees.horizon(t) + 1e-15
                if t < guarantees.block_length:
                    assert distance == pytest.approx(guarantees.horizon(t), abs=1e-12)
            checked += 1
    assert checked == 126


def test_stationary_horizon_of_stochastic_maps_holds(rng):
    """70 triples of a chain, a stochastic map and t, each with three lengths of blocks."""
    checked = 0
    for kind in chains.KINDS:
        for _ in range(2):
            n = 4 if kind == "periodic" else 3
            P = chains.random_matrix(kind, n, rng)
            answer = Aggregation.from_labels(P, chains.random_map(n, 2, rng))
            mu = reference.stationary_law(P)
            found = [answer.guarantees_within(tolerance=0.0, budget=budget) for budget in BUDGETS]
            for t in STEPS[:5]:
                distributions = reference.laws_of_stationary_paths(P, mu, answer.mapping, t + 1)
                distance = reference.total_variation_of_paths(*distributions)
                for guarantees in found:
                    assert distance <= guarantees.horizon(t) + 1e-15
                checked += 1
    assert checked == 70


def test_horizon_from_any_start_holds(rng):
    """126 triples of a chain, a partition and t, each from a random distribution and from every single state."""
    checked = 0
    for P, labels in partitions(rng):
        answer = Aggregation.from_labels(P, labels)
        Q = reference.aggregated_matrix(P, reference.stationary_law(P), answer.mapping)
        for t in STEPS:
            for initial in (rng.dirichlet(np.ones(4)), *np.eye(4)):
                original = reference.law_of_paths(P, initial, labels, t)
                model = reference.law_of_paths(Q, initial @ answer.mapping, range(answer.n_states), t)
                distance = reference.total_variation_of_paths(original, model)
                assert distance <= answer.bisimulation.horizon(t) + 1e-14
            checked += 1
    assert checked == 126


def test_horizon_from_any_start_is_exact_for_one_step():
    """At t = 1 the bound is attained: from the state of the largest total variation it is epsilon."""
    P = np.array([[0.4, 0.3, 0.3], [0.25, 0.3, 0.45], [0.15, 0.425, 0.425]])
    answer = Aggregation.from_labels(P, [0, 1, 1])
    Q = np.asarray(answer.chain.transition_matrix)
    distances = [
        reference.total_variation_of_paths(
            reference.law_of_paths(P, initial, [0, 1, 1], 1),
            reference.law_of_paths(Q, initial @ answer.mapping, range(2), 1),
        )
        for initial in np.eye(3)
    ]
    assert max(distances) == pytest.approx(answer.bisimulation.horizon(1), abs=1e-15)


@given(any_map, st.sampled_from(BUDGETS[:2]))
def test_stationary_horizon_never_decreases(drawn, budget):
    found = Aggregation.from_labels(*drawn).guarantees_within(tolerance=0.0, budget=budget)
    values = [found.horizon(t) for t in (*range(40), 100, 10**4, 10**9)]
    assert values[:2] == [0.0, 0.0]
    assert all(earlier <= later for earlier, later in itertools.pairwise(values))
    assert values[-1] <= 1.0
    assert len(found.path_variations) == len(found.path_divergences) == found.block_length


@given(any_map, st.booleans())
def test_one_step(drawn, as_sparse):
    """Mean and maximum of TV((P W)[i], Q[y]) over states i and their groups y."""
    P, given_map = drawn
    answer = Aggregation.from_labels(sparse.csr_array(P) if as_sparse else P, given_map)
    mu, W = reference.stationary_law(P), answer.mapping
    Q = reference.aggregated_matrix(P, mu, W)
    distances = {
        (i, y): reference.total_variation((P @ W)[i], Q[y]) for i, y in zip(*np.nonzero(W), strict=True)
    }
    mean, largest = one_step_variations(hidden_markov_process(answer.original, answer.map.weights))
    expected = math.fsum(mu[i] * W[i, y] * distance for (i, y), distance in distances.items())
    assert mean == pytest.approx(expected, abs=1e-12)
    assert largest == pytest.approx(max(distances.values()), abs=1e-12)
    if answer.map.labels is not None:
        assert mean == pytest.approx(answer.bisimulation.mean, abs=1e-15)
        assert largest == pytest.approx(answer.bisimulation.epsilon, abs=1e-15)


@given(chains.lumpable())
def test_exact_lumpings_stay_together_for_ever(drawn):
    found = Aggregation.from_labels(*drawn).guarantees_within(budget=1e5)
    assert found.horizon(1000) <= 1e-10


@given(chains.seeds, st.integers(2, 6))
def test_divergence_bounds_total_variation(seed, n):
    """TV <= min(sqrt(KL ln(2) / 2), sqrt(1 - 2^-KL)), and Bretagnolle-Huber stays below 1."""
    rng = np.random.default_rng(seed)
    p, q = rng.dirichlet(np.full(n, 0.3), size=2)
    bits = reference.divergence(p, q)
    assert reference.total_variation(p, q) <= total_variation_bound(bits) + 1e-15
    assert total_variation_bound(bits) == pytest.approx(
        min(math.sqrt(bits * math.log(2) / 2), math.sqrt(1 - 2**-bits)), abs=1e-12
    )


@pytest.mark.parametrize(("beta", "observed"), [(0.8, 0.0739), (0.5, 0.0500)])
def test_letter_bigrams(beta, observed):
    """Three steps of the stationary letters: some hundredths, where nothing is known from any start."""
    answer = klump.aggregate(klump.datasets.letter_bigrams(), 4, beta)
    found = answer.guarantees
    P, W = np.asarray(answer.original.transition_matrix), answer.mapping
    Q, mu = np.asarray(answer.chain.transition_matrix), answer.original.stationary_distribution
    distance = 0.0
    for word in itertools.product(range(4), repeat=4):
        joint, model = mu * W[:, word[0]], answer.masses[word[0]]
        for here, there in itertools.pairwise(word):
            joint, model = (joint @ P) * W[:, there], model * Q[here, there]
        distance += abs(joint.sum() - model) / 2
    assert found.horizon(3) == pytest.approx(distance, abs=1e-12)
    assert round(found.horizon(3), 4) == observed
    assert found.horizon(3) < 0.5 < answer.bisimulation.horizon(3)
    # Beyond the blocks, and better than Pinsker's inequality alone.
    assert found.block_length < 20
    assert found.horizon(20) < math.sqrt(20 * found.divergence.upper * math.log(2) / 2)
