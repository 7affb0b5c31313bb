"""Deterministic annealing: critical temperatures, and the map at temperature 0."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import chains
import klump
import reference
from klump.search.deterministic_annealing import COOLING
from klump.sources.random_chains import block_chain

METHOD = "deterministic-annealing"


def nested_blocks(rng, own=0.6, shared=0.3, members=5):
    """Two super-blocks of two blocks each, with some noise, and the labels of the blocks."""
    labels = np.repeat(np.arange(4), members)
    block = labels[:, None] == labels
    above = labels[:, None] // 2 == labels // 2
    P = own * block / members + shared * above / (2 * members) + (1 - own - shared) / (4 * members)
    order = rng.permutation(labels.size)
    P = chains.normalized(P * rng.uniform(1.0, 1.2, size=P.shape))
    return P[np.ix_(order, order)], labels[order]


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_blocks_within_blocks_split_in_two_steps(form, rng):
    P, labels = nested_blocks(rng)
    answer = klump.aggregate(form(P), 4, method=METHOD)
    assert [split.n_states for split in answer.splits] == [2, 4]
    assert reference.same_partition(answer.labels, labels)
    first, second = (split.temperature for split in answer.splits)
    mu = reference.stationary_law(P)
    assert first == pytest.approx(reference.critical_temperatures(P, mu)[0], rel=1e-9)
    # By then the two groups are the super-blocks, nearly hard.
    values = [
        reference.critical_temperature_of_group(P, mu, np.flatnonzero(labels // 2 == y)) for y in (0, 1)
    ]
    assert second == pytest.approx(max(values), rel=1e-3)


@given(chains.matrices(kinds=("dense", "skewed", "sparse", "reversible"), min_size=3, max_size=8), st.data())
@settings(max_examples=40)
def test_the_first_split_is_at_the_critical_temperature(P, data):
    answer = klump.aggregate(P, data.draw(st.integers(2, len(P) - 1)), method=METHOD)
    critical = reference.critical_temperatures(P, reference.stationary_law(P))[0]
    assert COOLING * critical <= answer.splits[0].temperature <= critical * (1 + 1e-12)


def test_the_recorded_first_split_is_the_square_of_the_second_singular_value():
    """Not a temperature of the schedule, which begins at 0.9 of it. The power method is slow if the gap is small."""
    ratios = []
    for seed in range(10):
        for kind in ("dense", "skewed", "sparse", "reversible", "nonreversible"):
            P = chains.random_matrix(kind, 12, np.random.default_rng([seed, len(kind)]))
            critical = reference.critical_temperatures(P, reference.stationary_law(P))[0]
            ratios.append(klump.aggregate(P, 3, method=METHOD).splits[0].temperature / critical)
    assert max(ratios) <= 1 + 1e-12
    assert min(ratios) >= 0.99
    assert np.median(ratios) >= 1 - 1e-9


def test_the_first_split_of_the_letters():
    """The figures of docs/methods.md."""
    chain = klump.datasets.letter_bigrams()
    root = np.sqrt(chain.stationary_distribution)
    second = np.linalg.svd(chain.joint / np.outer(root, root), compute_uv=False)[1]
    splits = klump.aggregate(chain, 4, method=METHOD).splits
    assert splits[0].temperature == pytest.approx(second**2, rel=1e-9)
    assert [round(split.temperature, 4) for split in splits] == [0.7757, 0.6685, 0.3574]


@pytest.mark.parametrize("kind", ["dense", "sparse", "reversible", "nonreversible"])
def test_groups_coincide_above_the_critical_temperature_and_differ_below(kind, rng):
    """The theory itself, on the textbook iteration from random soft maps."""
    P = chains.random_matrix(kind, 6, rng)
    mu = reference.stationary_law(P)
    critical = reference.critical_temperatures(P, mu)[0]

    def spread(temperature):
        W = rng.dirichlet(np.ones(3), size=6)
        for _ in range(300):
            W = reference.deterministic_annealing_round(P, mu, W, temperature)
        return (W.max(axis=0) - W.min(axis=0)).max()

    assert spread(1.1 * critical) < 1e-6
    assert spread(0.9 * critical) > 0.05


def test_temperatures_fall_and_counts_rise_to_the_number_asked_for(rng):
    for seed in range(5):
        chain, _ = block_chain((10, 10, 20), eps=0.5, concentration=0.5, random_state=seed)
        splits = klump.aggregate(chain, 6, method=METHOD).splits
        temperatures = [split.temperature for split in splits]
        counts = [split.n_states for split in splits]
        assert temperatures == sorted(set(temperatures), reverse=True)
        assert counts == sorted(set(counts))
        assert counts[0] >= 2
        assert counts[-1] == 6


@given(chains.matrices(kinds=("dense", "skewed", "reversible"), min_size=4, max_size=8), st.integers(2, 3))
@settings(max_examples=40)
def test_each_state_ends_in_the_nearest_group(P, k):
    """At temperature 0 no row of P is closer to another group's mean, unless its state is alone in its group."""
    labels = klump.aggregate(P, k, method=METHOD).labels
    mu = reference.stationary_law(P)
    laws = reference.laws_of_groups(P, mu, reference.indicator(labels, k))
    for x, y in enumerate(labels):
        distances = [reference.divergence(P[x], laws[z]) if (laws[z] > 0).all() else np.inf for z in range(k)]
        assert distances[y] <= min(distances) + 1e-9 or list(labels).count(y) == 1


def test_its_own_cost_is_no_higher_than_that_of_planted_blocks():
    for seed in range(5):
        chain, labels = block_chain((8, 12, 20), alpha=0.5, eps=0.3, concentration=0.5, random_state=seed)
        P, mu = chain.transition_matrix, chain.stationary_distribution
        found = klump.aggregate(chain, 3, method=METHOD).labels
        costs = [reference.relaxed_cost(P, mu, reference.indicator(each, 3), 0.0) for each in (found, labels)]
        assert costs[0] <= costs[1] + 1e-9


def test_the_search_does_not_depend_on_beta():
    chain, _ = block_chain((8, 12, 20), alpha=0.2, eps=0.4, random_state=0)
    answers = [klump.aggregate(chain, 3, beta=beta, method=METHOD) for beta in (0.0, 0.5, 1.0)]
    assert len({answer.labels.tobytes() for answer in answers}) == 1
    assert len({answer.splits for answer in answers}) == 1
    assert len({answer.cost for answer in answers}) == 3


def test_a_cheaper_start_is_the_answer():
    chain, _ = block_chain((8, 12, 20), eps=0.9, random_state=1)
    plain = klump.aggregate(chain, 3, beta=0.0, method=METHOD)
    start = klump.aggregate(chain, 3, beta=0.0)
    assert start.cost < plain.cost
    answer = klump.aggregate(chain, 3, beta=0.0, method=METHOD, initial=start.labels)
    assert reference.same_partition(answer.labels, start.labels)


def test_groups_that_always_coincide_are_separated_at_the_end():
    """All rows of P are equal: no group ever splits, and yet there are k groups."""
    answer = klump.aggregate(np.full((5, 5), 0.2), 3, method=METHOD)
    assert sorted(set(answer.labels.tolist())) == [0, 1, 2]
    assert answer.splits == ((0.0, 3),)
    assert answer.cost == pytest.approx(0.0, abs=1e-12)


def test_a_lumpable_chain_splits_as_far_as_it_can(rng):
    """Rows of P are equal within the groups, so only the third of three splits has to be forced."""
    laws = rng.dirichlet(np.ones(9), size=2)
    labels = np.arange(9) % 2
    answer = klump.aggregate(laws[labels], 3, beta=1.0, method=METHOD)
    assert [split.n_states for split in answer.splits] == [2, 3]
    assert answer.splits[-1].temperature == 0.0
    assert all(len({labels[x] for x in group}) == 1 for group in answer.groups)


def test_probabilities_that_underflow_give_no_nan():
    P = np.full((6, 6), 1e-300)
    P[np.arange(6), (np.arange(6) + 1) % 6] = 1.0
    P[:3, :3] += 1e-160
    answer = klump.aggregate(P, 3, method=METHOD)
    assert np.isfinite(answer.cost)
    assert sorted(set(answer.labels.tolist())) == [0, 1, 2]


def test_splits_are_saved_and_others_have_none(tmp_path):
    chain, _ = block_chain((4, 5), eps=0.2, random_state=0)
    answer = klump.aggregate(chain, 2, method=METHOD)
    answer.save(tmp_path / "answer.npz")
    assert klump.load(tmp_path / "answer.npz").splits == answer.splits != ()
    assert klump.aggregate(chain, 2, method="sequential").splits == ()
