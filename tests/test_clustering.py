"""Clusters of points by random walks, powers of chains, and plateaus of relaxation curves."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.datasets import make_blobs, make_circles, make_moons

import klump
from chains import matrices
from klump.chain import powers
from klump.errors import InvalidArgumentError
from klump.sources.points import neighbor_graph
from klump.sources.random_chains import block_chain, random_chain
from reference import adjusted_rand_index, entropy, joint_of_states, mutual_information

WALKS = pytest.mark.parametrize("walk", ["neighbors", "similarity"])
CLOUDS, CLOUD = make_blobs([25, 30, 35], centers=[[0, 0], [7, 0], [0, 7]], random_state=0)


# Front ends


@WALKS
@pytest.mark.parametrize("relaxation", [None, 4, "plateau"])
@pytest.mark.parametrize("beta", [0.5, 1.0])
def test_well_separated_clouds_are_found(walk, relaxation, beta):
    answer = klump.cluster(CLOUDS, 3, beta=beta, walk=walk, n_neighbors=10, relaxation=relaxation)
    assert adjusted_rand_index(CLOUD, answer.labels) == 1.0
    assert answer.original.applied == () if relaxation is None else len(answer.original.applied) == 1


@pytest.mark.parametrize("beta", [0.3, 0.5, 1.0])
@pytest.mark.parametrize("relaxation", [8, 64, "plateau"])
def test_circles_are_found_by_the_relaxed_walk_between_neighbors(beta, relaxation):
    X, circle = make_circles(200, noise=0.04, factor=0.4, random_state=0)
    answer = klump.cluster(X, 2, beta=beta, n_neighbors=8, relaxation=relaxation)
    assert adjusted_rand_index(circle, answer.labels) == 1.0


def test_relaxation_forgets_all_but_the_clusters():
    """The kept share of the moons grows with the number of steps, until they are the answer."""
    X, moon = make_moons(300, noise=0.08, random_state=0)
    walk = klump.MarkovChain.from_points(X, 10, walk="neighbors")
    shares = []
    for steps in (1, 8, 64):
        relaxed = walk.power(steps)
        shares.append(1 - klump.score(relaxed, moon).predictability / relaxed.redundancy_rate)
    assert 1.3**2 * shares[0] < 1.3 * shares[1] < shares[2]
    answer = klump.cluster(X, 2, n_neighbors=10, relaxation=8)
    assert adjusted_rand_index(moon, answer.labels) > 0.95


def test_options_reach_the_search():
    answer = klump.cluster(CLOUDS, 3, beta=0.8, method="sequential", n_init=2, random_state=7)
    same = klump.aggregate(
        klump.MarkovChain.from_points(CLOUDS, 15, walk="neighbors"),
        3,
        beta=0.8,
        method="sequential",
        n_init=2,
        random_state=7,
    )
    assert (answer.method, answer.beta, answer.random_state) == ("sequential", 0.8, 7)
    assert np.array_equal(answer.labels, same.labels)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_clusters": 0}, "n_clusters=0"),
        ({"n_clusters": 91}, "n_clusters=91 must lie between 1 and the 90 points"),
        ({"n_clusters": 2.0}, "n_clusters=2.0"),
        ({"n_clusters": True}, "n_clusters=True"),
        ({"walk": "drunken"}, "walk='drunken'"),
        ({"n_neighbors": 0}, "n_neighbors=0"),
        ({"n_neighbors": 91}, "n_neighbors=91"),
        ({"relaxation": 0}, "relaxation=0"),
        ({"relaxation": True}, "relaxation=True"),
        ({"relaxation": 2.0}, "relaxation=2.0"),
        ({"relaxation": "slow"}, "relaxation='slow'"),
        ({"beta": 2}, "beta=2"),
        ({"points": [1.0, 2.0]}, r"^points must have two dimensions .* pass points\.reshape\(-1, 1\)$"),
        ({"points": [[1.0], [np.nan], [2.0]]}, "^points has a coordinate .* in row 1"),
        (
            {"points": CLOUDS * [1e4, 1] + CLOUD[:, None] * [1e9, 0], "walk": "similarity"},
            "n_neighbors=15 .* walk='n",
        ),
        ({"points": np.random.default_rng(0).random((60, 2)), "relaxation": "plateau"}, "no plateau"),
    ],
)
def test_bad_questions_get_one_clear_error(arguments, message):
    with pytest.raises(InvalidArgumentError, match=message) as caught:
        klump.cluster(**{"points": CLOUDS, "n_clusters": 3, **arguments})
    assert "\n" not in str(caught.value)


@WALKS
def test_the_index_of_a_table_names_the_points(walk):
    pandas = pytest.importorskip("pandas")
    names = [f"point {number}" for number in range(90)]
    answer = klump.cluster(pandas.DataFrame(CLOUDS, index=names), 3, walk=walk, n_init=2)
    assert answer.original.states == tuple(names)
    assert {name for group in answer.groups for name in group} == set(names)
    assert np.array_equal(answer.labels, klump.cluster(CLOUDS, 3, walk=walk, n_init=2).labels)


@pytest.mark.parametrize("index", [range(90), [0] * 90], ids=["numbers", "duplicates"])
def test_an_index_that_names_nothing_is_left_out(index):
    pandas = pytest.importorskip("pandas")
    answer = klump.cluster(pandas.DataFrame(CLOUDS, index=list(index)), 3, n_init=1)
    assert not answer.original.has_names


# The walk between neighbours


@settings(max_examples=30)
@given(n=st.integers(2, 25), k=st.integers(1, 6), seed=st.integers(0, 100))
def test_neighbors_are_those_of_the_definition(n, k, seed):
    X = np.random.default_rng(seed).normal(size=(n, 2))
    k = min(k, n - 1)
    distance = np.linalg.norm(X[:, None] - X, axis=2)
    np.fill_diagonal(distance, np.inf)
    mine = np.zeros((n, n))
    for x in range(n):
        mine[x, np.argsort(distance[x])[:k]] = 0.5
    weights = neighbor_graph(X, k).toarray()
    near = mine + mine.T > 0
    np.testing.assert_array_equal(weights[near], (mine + mine.T)[near])
    np.testing.assert_array_equal(weights, weights.T)
    assert (np.diag(weights) == 1).all()
    n_clouds = sparse.csgraph.connected_components(near)[0]
    links = np.triu(weights * ~near, 1)
    assert np.count_nonzero(links) == n_clouds - 1
    assert set(links[links > 0]) <= {0.01}
    assert sparse.csgraph.connected_components(weights)[0] == 1


def test_clouds_are_linked_by_their_nearest_points():
    X = np.array([0.0, 1, 2, 10, 11, 12, 30, 31, 32])[:, None]
    links = neighbor_graph(X, 1).toarray() == 0.01
    assert np.argwhere(np.triu(links)).tolist() == [[2, 3], [5, 6]]


def test_duplicates_are_neighbors():
    chain = klump.MarkovChain.from_points([[0.0]] * 4 + [[1.0]] * 4, 2, walk="neighbors")
    assert chain.is_sparse
    assert chain.is_irreducible
    assert klump.cluster([[0.0]] * 4 + [[1.0]] * 4, 2, n_neighbors=2).groups == [(0, 1, 2, 3), (4, 5, 6, 7)]


def test_the_law_of_the_walk_is_known():
    chain = klump.MarkovChain.from_points(CLOUDS, 5, walk="neighbors")
    solved = klump.MarkovChain(chain.transition_matrix).stationary_distribution
    np.testing.assert_allclose(chain.stationary_distribution, solved, rtol=1e-9)
    assert chain.is_reversible
    again = klump.MarkovChain.from_points(CLOUDS, 5, walk="neighbors", restart=0.1)
    assert not np.allclose(again.stationary_distribution, solved)


# Powers


@settings(max_examples=40)
@given(
    P=matrices(kinds=("dense", "skewed", "sparse", "decomposable")),
    steps=st.integers(1, 40),
    dense=st.booleans(),
)
def test_powers_keep_the_law_and_are_stochastic(P, steps, dense):
    P = P + 0.1 * np.eye(len(P))
    chain = klump.MarkovChain(P if dense else sparse.csr_array(P), normalize=True)
    mu = chain.stationary_distribution
    power = chain.power(steps)
    found = power.transition_matrix.toarray() if power.is_sparse else power.transition_matrix
    start = chain.transition_matrix if dense else chain.transition_matrix.toarray()
    np.testing.assert_allclose(found, np.linalg.matrix_power(start, steps), atol=1e-12)
    np.testing.assert_allclose(found.sum(axis=1), 1.0, rtol=1e-14)
    np.testing.assert_array_equal(power.stationary_distribution, mu)
    np.testing.assert_allclose(mu @ found, mu, rtol=1e-12)
    assert power.redundancy_rate <= chain.redundancy_rate + 1e-12


def test_rounding_does_not_double_with_every_squaring():
    chain, blocks = block_chain((10, 10), alpha=1.0, eps=1e-13, random_state=0)
    power = chain.power(2**30)
    mu = chain.stationary_distribution
    np.testing.assert_allclose(mu @ power.transition_matrix, mu, rtol=1e-13)
    nu = np.bincount(blocks, mu)
    assert power.redundancy_rate == pytest.approx(entropy(nu), rel=0.01)


def test_names_and_history_are_kept():
    chain = klump.MarkovChain([[0.5, 0.5, 0], [0, 0.5, 0.5], [0, 1, 0]], states="abc", restrict="largest")
    power = chain.power(3)
    assert power.states == ("b", "c")
    assert power.applied == (*chain.applied, "every 3 steps taken as one")
    assert power.original_index.tolist() == [1, 2]
    assert chain.power(1) is chain


def test_sparse_powers_stay_sparse_until_they_are_full():
    chain = random_chain(200, "sparse", degree=2, random_state=0)
    assert chain.power(2).is_sparse
    assert not chain.power(30).is_sparse


def test_powers_by_row_blocks(monkeypatch):
    chain = random_chain(50, "sparse", degree=3, random_state=1)
    monkeypatch.setattr(powers, "_BLOCK_PRODUCTS", 7)
    monkeypatch.setattr(powers, "_DENSE_FROM", 1.0)
    power = chain.power(4).transition_matrix.toarray()
    np.testing.assert_allclose(
        power, np.linalg.matrix_power(chain.transition_matrix.toarray(), 4), atol=1e-14
    )


def test_powers_with_too_much_fill_in_are_refused(monkeypatch):
    monkeypatch.setattr(powers, "MAX_DENSE_STATES", 20)
    monkeypatch.setattr(powers, "MAX_TRANSITIONS", 500)
    with pytest.raises(
        InvalidArgumentError, match=r"steps=16 .* 500 transitions between 50 states; take fewer"
    ):
        random_chain(50, "sparse", degree=3, random_state=1).power(16)


@pytest.mark.parametrize("steps", [0, -1, 1.5, True, 2**61])
def test_bad_numbers_of_steps(steps):
    with pytest.raises(InvalidArgumentError, match=f"steps={steps}"):
        klump.MarkovChain([[0.9, 0.1], [0.3, 0.7]]).power(steps)


def test_a_periodic_chain_has_no_even_power():
    ring = klump.MarkovChain(np.roll(np.eye(4), 1, axis=1))
    assert ring.power(3).is_irreducible
    with pytest.raises(InvalidArgumentError, match=r"steps=2 gives .* 2 communicating classes, .* periodic"):
        ring.power(2)


# Relaxation


def test_the_curve_is_the_information_of_the_powers():
    chain, _ = block_chain((4, 6), alpha=0.9, random_state=0)
    curve = klump.relaxation_curve(chain)
    P, mu = chain.transition_matrix, chain.stationary_distribution
    for steps, kept in zip(curve.steps[:5], curve.information, strict=False):
        joint = joint_of_states(np.linalg.matrix_power(P, steps), mu)
        assert kept == pytest.approx(mutual_information(joint), abs=1e-12)
    assert np.diff(curve.information).max() <= 0
    assert curve.information[-1] <= 1e-5
    with pytest.raises(ValueError, match="read-only"):
        curve.information[0] = 0


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("k", [2, 3, 5])
@pytest.mark.parametrize("coupling", [1e-3, 1e-6, 1e-14])
def test_the_plateau_is_as_high_as_the_entropy_of_the_blocks(form, k, coupling):
    chain, blocks = block_chain((12,) * k, alpha=1.0, eps=coupling, random_state=1)
    chain = klump.MarkovChain(form(chain.transition_matrix))
    curve = klump.relaxation_curve(chain)
    height = curve.information[curve.steps == curve.plateau]
    assert height == pytest.approx(entropy(np.bincount(blocks, chain.stationary_distribution)), rel=0.05)


def test_a_chain_without_groups_has_no_plateau():
    ring = 0.5 * np.roll(np.eye(40), 1, axis=1) + 0.25 * np.roll(np.eye(40), -1, axis=1) + 0.25 * np.eye(40)
    for chain in (ring, random_chain(40, random_state=0), 0.99 * np.eye(40) + 0.01 * ring):
        assert klump.relaxation_curve(chain).plateau is None


def test_curves_have_a_short_repr():
    chain, _ = block_chain((10, 10, 10, 10), alpha=0.9999, random_state=1)
    curve = klump.relaxation_curve(chain)
    assert len(repr(curve)) < 90
    assert f"after {curve.steps[-1]:,}, plateau=4)" in repr(curve)


def test_curves_are_for_small_chains():
    with pytest.raises(InvalidArgumentError, match=r"6,000 states, .* at most 5,000"):
        klump.relaxation_curve(random_chain(6000, "sparse"))


@pytest.mark.parametrize("n", [2, 4])
def test_a_cycle_forgets_nothing_and_so_has_no_plateau(n):
    assert klump.relaxation_curve(np.roll(np.eye(n), 1, axis=1)).plateau is None
