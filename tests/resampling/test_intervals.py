"""Intervals for given groups: they contain the truth as often as they say."""

import numpy as np
import pytest
from scipy import sparse

import klump
from counted import COUNTS, LABELS, counts_of, simulated
from klump.errors import InvalidArgumentError
from klump.resampling.draws import estimate_chain
from klump.resampling.intervals import interval, reflected_interval
from klump.sources.random_chains import block_chain


def test_samples_are_aggregations_of_drawn_chains():
    found = klump.posterior(COUNTS, LABELS, beta=0.8, n_samples=5, random_state=2)
    _, draws = estimate_chain(COUNTS, None, 0.0, None, 2)
    for number in range(5):
        alone = klump.Aggregation.from_labels(draws.chain(number), LABELS, beta=0.8)
        np.testing.assert_allclose(
            found.transition_matrices[number], alone.chain.transition_matrix, atol=1e-14
        )
        np.testing.assert_allclose(found.masses[number], alone.masses, atol=1e-14)
        assert found.costs[number] == pytest.approx(alone.cost, abs=1e-12)
        assert found.kept[number] == pytest.approx(alone.kept, abs=1e-12)
    assert found.estimate.cost == pytest.approx(
        klump.score(found.estimate.original, LABELS).at(0.8), abs=1e-12
    )
    assert not found.transition_matrices.flags.writeable
    assert repr(found) == "Posterior(7 states in 3 groups, 5 samples)"


def test_intervals_contain_the_truth_as_often_as_they_say(rng):
    """Walks of a known chain; 90 % and 50 % intervals of 16 entries of Q each time.

    The shares of 640 entries have standard errors of 0.012 and 0.02, a little more as entries of a row are linked.
    """
    chain, labels = block_chain((3, 2, 3, 2), alpha=0.7, eps=0.4, random_state=5)
    truth = klump.Aggregation.from_labels(chain, labels)
    Q = truth.chain.transition_matrix
    inside, masses, costs = {0.9: [], 0.5: []}, [], []
    for number, walk in enumerate(simulated(chain.transition_matrix, 3000, 40, rng)):
        found = klump.posterior(counts_of(walk, 10), labels, n_samples=80, random_state=number)
        for level, hits in inside.items():
            lower, upper = found.transition_matrix_interval(level)
            hits.append((lower <= Q) & (upper >= Q))
        lower, upper = found.masses_interval(0.9)
        masses.append((lower <= truth.masses) & (truth.masses <= upper))
        lower, upper = found.cost_interval(0.9)
        costs.append(lower <= truth.cost <= upper)
    assert 0.86 < np.mean(inside[0.9]) < 0.94
    assert 0.44 < np.mean(inside[0.5]) < 0.56
    assert 0.80 < np.mean(masses) < 0.97
    # Costs have a bias; without the reflection the interval would hardly ever contain them.
    assert np.mean(costs) > 0.75


def test_more_data_are_surer():
    def width(counts):
        lower, upper = klump.posterior(counts, LABELS, n_samples=200).transition_matrix_interval(0.9)
        return np.mean(upper - lower)

    assert width(COUNTS) / width(100 * COUNTS) == pytest.approx(10, rel=0.15)


def test_soft_maps_and_aggregations_as_groups(found):
    soft = np.eye(3)[LABELS]
    soft[0] = [0.5, 0.25, 0.25]
    again = klump.posterior(COUNTS, soft, n_samples=3)
    assert again.estimate.map.labels is None
    assert np.abs(again.transition_matrices.sum(axis=2) - 1).max() < 1e-12
    same = klump.posterior(COUNTS, found.estimate, n_samples=4, states="abcdefg")
    np.testing.assert_array_equal(same.transition_matrices, found.posterior.transition_matrices[:4])


def test_intervals_cut_off_as_much_on_both_sides():
    samples = np.arange(1.0, 100.0)
    assert interval(samples, 0.9) == (pytest.approx(5), pytest.approx(95))
    assert interval(samples, 0.999) == (1.0, 99.0)
    assert reflected_interval(samples, 40.0, 0.9, 0.0, 70.0) == (0.0, 70.0)
    assert reflected_interval(samples, 50.0, 0.5, 0.0, 100.0) == (pytest.approx(25), pytest.approx(75))
    for level in (0, 1, 95, "0.9", None):
        with pytest.raises(InvalidArgumentError, match=r"level=.* must lie between 0 and 1"):
            interval(samples, level)


def test_a_million_pairs_are_never_stored():
    """A sparse ring of 3,000 states: nothing is as large as a table of all pairs."""
    n = 3000
    ring = sparse.diags_array([30.0, 20.0, 10.0], offsets=[-1, 0, 1], shape=(n, n)).tolil()
    ring[0, n - 1], ring[n - 1, 0] = 30.0, 10.0
    labels = np.arange(n) * 4 // n
    found = klump.posterior(ring.tocsr(), labels, n_samples=3)
    assert found.estimate.original.is_sparse
    assert found.transition_matrices.shape == (3, 4, 4)


def test_overlapping_windows_are_not_more_data(rng):
    """At lag 8 windows overlap: bare counts are too sure, blocks are not; at lag 1 both say the same."""
    chain, labels = block_chain((2, 2), alpha=0.85, eps=0.2, random_state=1)
    (walk,) = simulated(chain.transition_matrix, 6000, 1, rng)

    def width(counts):
        lower, upper = klump.posterior(counts, labels, n_samples=150).transition_matrix_interval(0.9)
        return np.mean(upper - lower)

    ratios = []
    for lag in (1, 8):
        blocks = klump.SequenceCounts([walk], lag, block_length=60)
        ratios.append(width(blocks) / width(blocks.count_matrix))
    assert 0.75 < ratios[0] < 1.3
    assert ratios[1] > 1.6
