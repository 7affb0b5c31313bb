"""What pictures show: orders, borders, bins, positions, arrows, ribbons and colours."""

import numpy as np
import pytest
from scipy import sparse

import klump
from klump import views
from klump.sources.random_chains import block_chain


@pytest.fixture(scope="module")
def answer():
    chain, labels = block_chain((3, 5, 4, 2), alpha=0.7, eps=0.2, random_state=0)
    return klump.Aggregation.from_labels(chain, labels)


def from_labels(chain, labels):
    return klump.Aggregation.from_labels(chain, labels)


def ring(n):
    """A lazy walk on a ring of n states, sparse."""
    states = np.arange(n)
    entries = (np.full(n, 0.5), (states, states)), (np.full(n, 0.5), (states, (states + 1) % n))
    return sum(sparse.csr_array(entry, shape=(n, n)) for entry in entries)


def test_states_are_ordered_by_group_and_then_by_mass(answer):
    view = views.ordered_matrix(answer)
    assert sorted(view.order) == list(range(14))
    labels = answer.labels[view.order]
    assert (np.diff(labels) >= 0).all()
    mass = answer.original.stationary_distribution[view.order]
    assert all(mass[i] >= mass[i + 1] for i in range(13) if labels[i] == labels[i + 1])
    assert view.borders.tolist() == np.cumsum([0, *np.bincount(answer.labels)]).tolist()


def test_each_state_is_a_bin_of_a_small_chain(answer):
    view = views.ordered_matrix(answer)
    assert not view.is_binned
    expected = answer.original.transition_matrix[np.ix_(view.order, view.order)]
    assert view.density == pytest.approx(expected, abs=1e-14)


def test_bins_hold_mean_probabilities_and_keep_the_borders(answer):
    view = views.ordered_matrix(answer, n_bins=7)
    assert view.is_binned
    assert len(view.bins) == 8
    assert set(view.borders) <= set(view.bins)
    P, mu = answer.original.transition_matrix, answer.original.stationary_distribution
    for i in range(7):
        rows = view.order[view.bins[i] : view.bins[i + 1]]
        for j in range(7):
            columns = view.order[view.bins[j] : view.bins[j + 1]]
            expected = mu[rows] @ P[np.ix_(rows, columns)].mean(axis=1) / mu[rows].sum()
            assert view.density[i, j] == pytest.approx(expected, abs=1e-14)


def test_a_large_sparse_chain_is_binned_without_a_dense_matrix():
    n = 100_000  # a dense matrix would take 80 GB
    view = views.ordered_matrix(from_labels(ring(n), np.arange(n) * 4 // n), n_bins=100)
    assert view.density.shape == (100, 100)
    assert view.borders.tolist() == [0, 25_000, 50_000, 75_000, 100_000]
    # Every row of a bin leads somewhere: probabilities times sizes of the bins sum to 1.
    assert (view.density * np.diff(view.bins)).sum(axis=1) == pytest.approx(np.ones(100))


def test_more_groups_than_bins():
    view = views.ordered_matrix(from_labels(ring(300), np.arange(300)), n_bins=50)
    assert view.density.shape == (50, 50)
    assert view.bins[0] == 0
    assert view.bins[-1] == 300


@pytest.mark.parametrize("k", [1, 2, 3, 7, 30])
def test_groups_do_not_overlap_and_their_area_is_their_mass(k):
    chain = klump.MarkovChain(np.random.default_rng(k).dirichlet(np.full(60, 0.3), size=60))
    answer = from_labels(chain, np.arange(60) * k // 60)
    view = views.graph(answer)
    distance = np.linalg.norm(view.positions[:, None] - view.positions[None], axis=2)
    np.fill_diagonal(distance, np.inf)
    assert (distance > view.radii[:, None] + view.radii[None]).all()
    assert view.radii**2 / view.radii.max() ** 2 == pytest.approx(answer.masses / answer.masses.max())
    assert view.staying == pytest.approx(np.diagonal(answer.chain.transition_matrix))


def test_widths_are_proportional_to_probabilities(answer):
    edges = views.graph(answer).edges
    assert len(edges) == 12
    largest = edges[-1]
    for edge in edges:
        assert edge.probability == answer.chain.transition_matrix[edge.source, edge.target]
        assert edge.width / largest.width == pytest.approx(edge.probability / largest.probability)


def test_arrows_lead_from_their_source_to_their_target(answer):
    view = views.graph(answer)
    for edge in view.edges:
        to_source, to_target = (
            np.linalg.norm(edge.outline - view.positions[group], axis=1) - view.radii[group]
            for group in (edge.source, edge.target)
        )
        assert 0.0 < to_source.min() < 0.1
        assert 0.0 < to_target.min() < 0.1


def test_improbable_arrows_are_counted_instead_of_drawn():
    P = np.array([[0.5, 0.499, 0.001], [0.5, 0.4, 0.1], [0.3, 0.3, 0.4]])
    view = views.graph(from_labels(P, [0, 1, 2]))
    assert (len(view.edges), view.n_left_out) == (5, 1)


def test_neighbours_on_the_circle_exchange_much():
    """A walk along a ring of groups in shuffled order: neighbours of the ring are neighbours on the circle."""
    shuffled = np.array([0, 4, 2, 5, 1, 3])
    P = np.zeros((6, 6))
    for place in range(6):
        P[shuffled[place], shuffled[place]] = 0.5
        P[shuffled[place], shuffled[(place + 1) % 6]] = 0.5
    view = views.graph(from_labels(P, np.arange(6)))
    for edge in view.edges:
        assert np.linalg.norm(view.positions[edge.source] - view.positions[edge.target]) == pytest.approx(1.0)


def test_a_group_keeps_its_identity_when_another_splits(answer):
    finer = np.where((answer.labels == 1) & (np.arange(14) % 2 == 0), 4, answer.labels)
    permuted = np.array([3, 0, 4, 1, 2])[finer]
    identities = views.track_groups([answer, from_labels(answer.original, permuted)])[1]
    for group in (0, 2, 3):
        assert identities[[3, 0, 4, 1, 2][group]] == group
    assert sorted(identities) == [0, 1, 2, 3, 4]


def test_a_grid_gives_matching_groups_one_colour_in_every_picture(answer):
    grid = klump.grid(answer.original, [2, 3, 4], [0.5, 1.0], method="sequential", n_init=3)
    coarse, fine = grid[3, 0.5], grid[4, 0.5]
    shared = np.array(
        [[np.sum((coarse.labels == a) & (fine.labels == b)) for b in range(4)] for a in range(3)]
    )
    # Groups that did not change have the same colour in pictures of either answer alone.
    for a, b in np.argwhere((shared == shared.sum(axis=1, keepdims=True)) & (shared == shared.sum(axis=0))):
        assert views.group_colours([coarse])[0][a] == views.group_colours([fine])[0][b]
    assert views.group_colours([fine])[0] == views.group_colours(list(grid))[4]
    again = klump.AggregationGrid(grid.n_states, grid.betas, grid.aggregations)
    assert [found.identities for found in again] == [found.identities for found in grid]


def test_groups_keep_their_colours_along_a_path(answer):
    path = klump.beta_path(answer.original, 4, betas=[1, 0.5, 0])
    assert len(set(views.group_colours(path))) == 1


def test_ribbons_carry_all_mass(answer):
    coarser = from_labels(answer.original, np.minimum(answer.labels, 2))
    found = views.flow([answer, coarser, answer])
    for number in (0, 1):
        assert sum(r.mass for r in found.ribbons if r.answer == number) == pytest.approx(1.0)
    for bar in found.bars:
        mass = [answer, coarser, answer][bar.answer].masses[bar.group]
        assert bar.top - bar.bottom == pytest.approx(mass)
    merged = {(r.source, r.target) for r in found.ribbons if r.answer == 0}
    assert merged == {(0, 0), (1, 1), (2, 2), (3, 2)}
