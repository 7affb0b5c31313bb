"""Weighted k-means: the draws choose the seeds, and Lloyd's algorithm ends at centres that are means."""

import numpy as np
import pytest

from klump.search.kmeans import seed_centres, weighted_kmeans
from reference import seed_centres as slow_seed_centres


@pytest.fixture
def points(rng):
    return rng.standard_normal((50, 3)) + 4.0 * rng.integers(0, 3, (50, 1))


def test_seeds_are_those_of_the_textbook(points, rng):
    weight = rng.random(50)
    for _ in range(20):
        draws = rng.random(6)
        np.testing.assert_array_equal(
            seed_centres(points, weight, draws), slow_seed_centres(points, weight, draws)
        )


def test_more_seeds_than_distinct_points(rng):
    """Squared distances that are zero, or rounding errors, draw a point all the same."""
    points = np.repeat(rng.standard_normal((2, 3)), 3, axis=0)
    centres = seed_centres(points, np.full(6, 1 / 6), rng.random(4))
    assert np.isin(centres, points).all()


def test_labels_are_nearest_centres_and_centres_are_means(points, rng):
    weight = rng.random(50)
    labels, inertia = weighted_kmeans(points, weight, rng.random(4), 100)
    centres = np.array(
        [np.average(points[labels == y], axis=0, weights=weight[labels == y]) for y in range(4)]
    )
    distance = ((points[:, None] - centres) ** 2).sum(axis=2)
    np.testing.assert_array_equal(labels, distance.argmin(axis=1))
    assert inertia == pytest.approx(weight @ distance.min(axis=1))


def test_separate_clouds_are_found(rng):
    planted = np.repeat(np.arange(3), 10)
    points = 100.0 * planted[:, None] + rng.random((30, 2))
    labels, _ = weighted_kmeans(points, np.ones(30), rng.random(3), 50)
    assert len(set(zip(planted.tolist(), labels.tolist(), strict=True))) == 3


def test_one_iteration_assigns_points_to_the_seeds(points, rng):
    draws = rng.random(4)
    labels, inertia = weighted_kmeans(points, np.ones(50), draws, 1)
    distance = ((points[:, None] - seed_centres(points, np.ones(50), draws)) ** 2).sum(axis=2)
    np.testing.assert_array_equal(labels, distance.argmin(axis=1))
    assert inertia == pytest.approx(distance.min(axis=1).sum())
