"""Clouds, circles, and the scale of their random walks."""

import numpy as np
import pytest

from klump import MarkovChain
from klump.experiments import points


def test_clouds_are_drawn_as_the_paper_says():
    draws = [points.draw_points("clouds", seed) for seed in range(50)]
    found, truth = np.vstack([drawn for drawn, _ in draws]), np.hstack([truth for _, truth in draws])
    for group, (size, centre, spread) in enumerate(((40, -10, 2.5), (20, 0, 0.5), (40, 10, 1.5))):
        members = found[truth == group]
        assert len(members) == 50 * size
        assert members.mean(axis=0) == pytest.approx([centre, 0], abs=5 * spread / np.sqrt(len(members)))
        assert members.std(axis=0) == pytest.approx([spread, spread], rel=0.1)


def test_circles_are_drawn_as_the_paper_says():
    draws = [points.draw_points("circles", seed) for seed in range(50)]
    found, truth = np.vstack([drawn for drawn, _ in draws]), np.hstack([truth for _, truth in draws])
    for group, radius in enumerate((0.1, 7.0, 15.0)):
        members = found[truth == group]
        assert len(members) == 50 * 40
        # Noise of variance 0.09 in each of two coordinates.
        assert (members**2).sum(axis=1).mean() == pytest.approx(radius**2 + 0.18, rel=0.1)
        assert members.mean(axis=0) == pytest.approx([0, 0], abs=5 * max(radius, 0.3) / np.sqrt(len(members)))


def walk(coordinates, scale):
    """Transition matrix of the paper, from its formula."""
    squared = ((coordinates[:, None] - coordinates) ** 2).sum(axis=2)
    weights = np.exp(-squared / scale)
    return weights / weights.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("k", [2, 4, 11, 12])
def test_a_point_counts_among_its_own_neighbors(rng, k):
    coordinates = rng.normal(size=(12, 2))
    squared = ((coordinates[:, None] - coordinates) ** 2).sum(axis=2)
    # Sorted, each row begins with the distance of a point to itself.
    scale = np.sort(squared, axis=1)[:, :k].mean()
    found = points.chain_of(coordinates, k).transition_matrix
    np.testing.assert_allclose(found, walk(coordinates, scale), rtol=1e-12)


@pytest.mark.parametrize("k, others", [(2, 2), (4, 4), (11, 11), (12, 11)])
def test_in_the_other_reading_the_scale_is_that_of_from_points(rng, k, others):
    coordinates = rng.normal(size=(12, 2))
    squared = ((coordinates[:, None] - coordinates) ** 2).sum(axis=2)
    scale = np.sort(squared, axis=1)[:, 1 : others + 1].mean()
    found = points.chain_of(coordinates, k, points.ALTERNATIVE).transition_matrix
    np.testing.assert_allclose(found, walk(coordinates, scale), rtol=1e-12)
    same = MarkovChain.from_points(coordinates, n_neighbors=k)
    np.testing.assert_array_equal(found, same.transition_matrix)


def test_with_all_points_as_neighbors_the_scale_is_the_mean_over_all_pairs(rng):
    coordinates = rng.normal(size=(120, 2))
    squared = ((coordinates[:, None] - coordinates) ** 2).sum(axis=2)
    found = points.chain_of(coordinates, 120).transition_matrix
    np.testing.assert_allclose(found, walk(coordinates, squared.mean()), rtol=1e-12)
