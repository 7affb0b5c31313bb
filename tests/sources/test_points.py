"""Similarities and nearest-neighbour graphs of points, against the paper's formula and SciPy."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from klump import MarkovChain
from klump.errors import InvalidArgumentError
from klump.sources.points import neighbor_graph, similarities


def similarities_by_definition(X, k):
    n = len(X)
    squared = [[sum((a - b) ** 2 for a, b in zip(x, y, strict=True)) for y in X] for x in X]
    nearest = [sorted(squared[i][j] for j in range(n) if j != i)[:k] for i in range(n)]
    sigma = sum(sum(row) / len(row) for row in nearest) / n
    return np.array([[math.exp(-squared[i][j] / sigma) for j in range(n)] for i in range(n)])


@given(n=st.integers(2, 12), k=st.integers(1, 12), seed=st.integers(0, 100))
def test_weights_follow_the_paper(n, k, seed):
    X = np.random.default_rng(seed).normal(size=(n, 2))
    k = min(k, n)
    np.testing.assert_allclose(
        similarities(X, k), similarities_by_definition(X.tolist(), k), rtol=1e-10, atol=1e-300
    )


def test_n_points_neighbours_means_all_other_points():
    X = np.random.default_rng(0).normal(size=(9, 3))
    np.testing.assert_array_equal(similarities(X, 9), similarities(X, 8))


@pytest.mark.parametrize("unit", [1e-180, 1e-3, 1e180])
def test_unit_of_length_does_not_matter(unit):
    X = np.random.default_rng(1).normal(size=(20, 2))
    np.testing.assert_allclose(similarities(X * unit, 5), similarities(X, 5), rtol=1e-9)


def test_symmetric_with_ones_on_the_diagonal_and_input_untouched():
    X = np.random.default_rng(2).normal(size=(15, 2))
    before = X.copy()
    weights = similarities(X, 3)
    np.testing.assert_array_equal(weights, weights.T)
    np.testing.assert_array_equal(np.diag(weights), 1.0)
    np.testing.assert_array_equal(X, before)


def test_duplicates_of_some_points_are_fine():
    weights = similarities([[0.0], [0.0], [1.0]], 1)
    assert weights[0, 1] == 1.0


def test_chain_from_points():
    X = np.random.default_rng(3).normal(size=(30, 2))
    chain = MarkovChain.from_points(X, n_neighbors=4)
    weights = similarities_by_definition(X.tolist(), 4)
    np.testing.assert_allclose(
        chain.transition_matrix, weights / weights.sum(axis=1, keepdims=True), rtol=1e-9
    )
    assert chain.is_irreducible


@pytest.mark.parametrize(
    ("X", "k", "words"),
    [
        ([1.0, 2.0, 3.0], 1, r"reshape\(-1, 1\)"),
        (np.zeros((2, 2, 2)), 1, "two dimensions"),
        ([[1.0]], 1, "at least two points"),
        (np.zeros((3, 0)), 1, "at least one feature"),
        ([[1.0], [np.nan], [np.inf]], 1, r"row 1 \(2 such rows\)"),
        ([["a"], ["b"]], 1, "array of numbers"),
        ([[1.0], [2.0, 3.0]], 1, "array of numbers"),
        ([[1.0], [2.0]], 0, "n_neighbors=0"),
        ([[1.0], [2.0]], 1.5, "n_neighbors=1.5"),
        ([[1.0], [2.0]], True, "n_neighbors=True"),
        ([[1.0], [2.0]], 3, "more than the 2 points"),
        ([[1.0], [1.0], [1.0]], 2, "3 identical points"),
        ([[1.0], [1.0], [2.0], [2.0]], 1, "only duplicates"),
        ([[1e308], [-1e308]], 1, "too large"),
    ],
)
def test_unusable_points_are_refused_by_name(X, k, words):
    with pytest.raises(InvalidArgumentError, match=words):
        similarities(X, k)


def test_components_are_linked_by_a_minimum_spanning_tree(rng):
    """The total length of the links equals that of a minimum spanning tree between the components."""
    from scipy.sparse.csgraph import connected_components, minimum_spanning_tree
    from scipy.spatial.distance import cdist

    for n, n_neighbors in ((60, 2), (200, 1), (150, 5)):
        points = rng.random((n, 2))
        weights = neighbor_graph(points, n_neighbors).toarray()
        distance = cdist(points, points)
        links = weights == 0.01
        assert connected_components(weights)[0] == 1
        _, cloud = connected_components(np.where(links, 0.0, weights))
        # A tiny weight within a component (csgraph drops edges below 1e-8), the distance between components.
        between = np.where(cloud[:, None] == cloud[None, :], 1e-6, distance)
        tree = minimum_spanning_tree(between).toarray()
        assert distance[links].sum() / 2 == pytest.approx(tree[tree > 1e-5].sum(), abs=1e-9)


def test_complex_points_are_refused():
    with pytest.raises(InvalidArgumentError, match="array of numbers"):
        MarkovChain.from_points(np.eye(3) + 1j)
