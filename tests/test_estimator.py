"""The clusterer of scikit-learn: its own checks, pipelines and model selection, new points, and degenerate points."""

import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.datasets import load_iris, make_blobs, make_circles, make_moons
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator, parametrize_with_checks

import klump
from klump import MarkovAggregation
from klump.errors import InvalidArgumentError
from reference import adjusted_rand_index

AFFINITIES = pytest.mark.parametrize("affinity", ["rbf", "nearest_neighbors"])
CLOUDS, CLOUD = make_blobs([25, 30, 35], centers=[[0, 0], [7, 0], [0, 7]], random_state=0)
NOT_SQUARE = "feeds points of shape (50, 2), but precomputed affinities are a square matrix"


def expected_failures(model):
    return {"check_clustering": NOT_SQUARE} if model.affinity == "precomputed" else {}


def checks():
    models = [MarkovAggregation(affinity=kind) for kind in ("rbf", "nearest_neighbors", "precomputed")]
    try:
        return parametrize_with_checks(models, expected_failed_checks=expected_failures)
    except TypeError:  # scikit-learn before 1.6 has no expected failures but by a tag
        cases = [case for model in models for case in check_estimator(model, generate_only=True)]
        return pytest.mark.parametrize(("estimator", "check"), [mark(*case) for case in cases])


def mark(model, check):
    """Case of a check, by its name expected to fail or not."""
    name = getattr(check, "func", check).__name__
    reason = expected_failures(model).get(name)
    marks = () if reason is None else pytest.mark.xfail(reason=reason)
    return pytest.param(model, check, marks=marks, id=f"{model}-{name}")


@checks()
def test_checks_of_scikit_learn(estimator, check):
    check(estimator)


# Use as scikit-learn's other clusterers are used


def test_pipeline():
    stretched = CLOUDS * [1.0, 1000.0]
    labels = make_pipeline(StandardScaler(), MarkovAggregation(3)).fit_predict(stretched)
    assert adjusted_rand_index(CLOUD, labels) == 1.0


def test_features_for_the_next_step_of_a_pipeline():
    pipeline = make_pipeline(MarkovAggregation(3), KMeans(3, n_init=3, random_state=0))
    assert adjusted_rand_index(CLOUD, pipeline.fit_predict(CLOUDS)) == 1.0


def test_grid_search_with_true_labels_finds_the_number_of_clusters():
    search = GridSearchCV(
        MarkovAggregation(n_init=3),
        {"n_clusters": [2, 3, 4], "beta": [0.5, 1.0]},
        scoring="adjusted_rand_score",
        cv=3,
    )
    search.fit(CLOUDS, CLOUD)
    assert search.best_params_["n_clusters"] == 3
    assert search.best_score_ > 0.95


def test_grid_search_by_own_score():
    """The score is finite on held-out points, and grows with the number of clusters as that of k-means does."""
    search = GridSearchCV(MarkovAggregation(n_init=3), {"n_clusters": [1, 2, 3], "beta": [0.5, 1.0]}, cv=3)
    search.fit(CLOUDS)
    scores = search.cv_results_["mean_test_score"]
    of_number = {
        number: scores[search.cv_results_["param_n_clusters"] == number].min() for number in (1, 2, 3)
    }
    assert abs(of_number[1]) < 1e-9 < 0.5 < of_number[2] < of_number[3] < np.log2(3) + 0.05


def test_grid_search_of_precomputed_affinities_selects_rows_and_columns():
    search = GridSearchCV(MarkovAggregation(affinity="precomputed", n_init=3), {"n_clusters": [2, 3]}, cv=3)
    search.fit(rbf_kernel(CLOUDS, gamma=0.1))
    assert search.best_params_ == {"n_clusters": 3}
    assert search.n_features_in_ == len(CLOUDS)


def test_output_as_a_table():
    pytest.importorskip("pandas")
    table = MarkovAggregation(3).set_output(transform="pandas").fit_transform(CLOUDS)
    assert list(table.columns) == [f"markovaggregation{number}" for number in range(3)]


def test_clone_and_pickle():
    model = MarkovAggregation(3, affinity="nearest_neighbors", beta=0.7).fit(CLOUDS)
    assert clone(model).get_params() == model.get_params()
    restored = pickle.loads(pickle.dumps(model))
    assert np.array_equal(restored.transform(CLOUDS), model.transform(CLOUDS))


def test_the_constructor_only_stores():
    model = MarkovAggregation(n_clusters="many", affinity="psychic", beta="large")
    assert model.get_params()["affinity"] == "psychic"


# The answer


@AFFINITIES
def test_attributes(affinity):
    model = MarkovAggregation(3, affinity=affinity, beta=0.8).fit(CLOUDS)
    answer = model.aggregation_
    assert np.array_equal(model.labels_, answer.labels)
    assert model.cost_ == answer.cost == klump.score(answer.original, model.labels_).at(0.8)
    assert model.n_features_in_ == 2
    weights = model.affinity_matrix_
    assert sparse.issparse(weights) == (affinity == "nearest_neighbors")
    assert abs(weights - weights.T).max() == 0
    walk = klump.MarkovChain(weights, normalize=True).power(model.relaxation_)
    difference = walk.transition_matrix - answer.original.transition_matrix
    assert abs(difference).max() < 1e-12


def test_affinities_are_those_of_from_points():
    model = MarkovAggregation(3, n_neighbors=7, relaxation=None).fit(CLOUDS)
    walk = klump.MarkovChain.from_points(CLOUDS, 7)
    assert np.allclose(model.aggregation_.original.transition_matrix, walk.transition_matrix, atol=1e-12)
    sparse_model = clone(model).set_params(affinity="nearest_neighbors").fit(CLOUDS)
    neighbors = klump.MarkovChain.from_points(CLOUDS, 7, walk="neighbors")
    difference = sparse_model.aggregation_.original.transition_matrix - neighbors.transition_matrix
    assert abs(difference).max() < 1e-15


def test_rbf_gamma_is_that_of_scikit_learn():
    model = MarkovAggregation(3, rbf_gamma=0.3).fit(CLOUDS)
    assert np.allclose(model.affinity_matrix_, rbf_kernel(CLOUDS, gamma=0.3), atol=2e-9)


@pytest.mark.parametrize("affinity", ["rbf", "nearest_neighbors", "precomputed"])
def test_same_seed_same_labels(affinity):
    X = rbf_kernel(CLOUDS) if affinity == "precomputed" else CLOUDS
    model = MarkovAggregation(6, affinity=affinity, random_state=3)
    first = model.fit_predict(X)
    assert np.array_equal(first, clone(model).fit_predict(X))
    assert np.array_equal(first, clone(model).set_params(n_jobs=2).fit_predict(X))
    generators = (np.random.RandomState(3), np.random.RandomState(3))
    again = [clone(model).set_params(random_state=each).fit_predict(X) for each in generators]
    assert np.array_equal(*again)


def test_relaxation_leaves_the_information_of_the_clusters():
    X, _ = make_moons(200, noise=0.05, random_state=0)
    model = MarkovAggregation(2).fit(X)
    assert model.relaxation_ >= 8
    information = model.aggregation_.original.redundancy_rate
    assert information >= 1.5 > model.aggregation_.original.power(2).redundancy_rate


# Soft memberships and new points


def textbook_memberships(model, rows):
    """2^-D(n(x) || Q[y]), normalised, with n(x) the rows of P^r W, state by state."""
    Q, memberships = model.aggregation_.chain.transition_matrix, []
    for row in rows:
        weights = []
        for y in range(len(Q)):
            divergence = sum(p * np.log2(p / q) for p, q in zip(row, Q[y], strict=True) if p > 0)
            weights.append(2.0**-divergence)
        memberships.append(np.array(weights) / sum(weights))
    return np.array(memberships)


@pytest.mark.parametrize("relaxation", [1, 2, 5])
def test_memberships_of_fitted_points(relaxation):
    X = np.random.default_rng(0).normal(size=(40, 2))
    model = MarkovAggregation(3, relaxation=relaxation).fit(X)
    rows = model.aggregation_.original.transition_matrix @ model.aggregation_.mapping
    assert np.allclose(model.memberships_, textbook_memberships(model, rows), atol=1e-6)


def test_memberships_by_nearest_neighbors():
    rng = np.random.default_rng(0)
    X, new = rng.normal(size=(40, 2)), rng.normal(size=(20, 2))
    model = MarkovAggregation(3, affinity="nearest_neighbors", n_neighbors=5, relaxation=1).fit(X)
    distance = ((new[:, None] - X) ** 2).sum(axis=2)
    nearest = model.labels_[np.argsort(distance, axis=1)[:, :5]]
    rows = np.array([[np.mean(labels == y) for y in range(3)] for labels in nearest])
    assert np.allclose(model.transform(new), textbook_memberships(model, rows), atol=1e-6)


@pytest.mark.parametrize("affinity", ["rbf", "nearest_neighbors", "precomputed"])
@pytest.mark.parametrize("method", ["auto", "stochastic"])
def test_rows_of_memberships_sum_to_one(affinity, method):
    X = np.random.default_rng(1).normal(size=(50, 2))
    new = np.array([[0.0, 0.0], [1e9, -1e9], [3.0, 3.0]])
    if affinity == "precomputed":
        X, new = rbf_kernel(X), rbf_kernel(new, X)
    model = MarkovAggregation(4, affinity=affinity, method=method).fit(X)
    for memberships in (model.memberships_, model.transform(new)):
        assert (memberships >= 0).all()
        assert np.allclose(memberships.sum(axis=1), 1.0, atol=1e-12)
    assert np.array_equal(model.predict(new), model.transform(new).argmax(axis=1))


@AFFINITIES
def test_new_points_join_the_cluster_they_lie_in(affinity):
    model = MarkovAggregation(3, affinity=affinity).fit(CLOUDS)
    assert np.array_equal(model.predict(CLOUDS), model.labels_)
    new, truth = make_blobs([5, 5, 5], centers=[[0, 0], [7, 0], [0, 7]], random_state=1)
    expected = [model.labels_[cloud == CLOUD][0] for cloud in truth]
    assert np.array_equal(model.predict(new), expected)


def test_groups_that_the_chain_leaves_in_every_step():
    """Memberships follow where a point leads to, not where it is: P W alone would assign the next group."""
    cycle = np.kron(np.roll(np.eye(3), 1, axis=1), np.ones((4, 4))) + 0.01
    model = MarkovAggregation(3, affinity="precomputed").fit(cycle)
    assert np.array_equal(model.predict(cycle), model.labels_)
    assert adjusted_rand_index(np.repeat(range(3), 4), model.labels_) == 1.0


def test_a_row_of_zeros_has_no_cluster():
    model = MarkovAggregation(2, affinity="precomputed").fit(np.kron(np.eye(2), np.ones((4, 4))))
    assert np.allclose(model.transform(np.zeros((1, 8))), 0.5)


def test_score_of_fitted_points_is_the_information_between_clusters():
    X, _ = make_circles(60, factor=0.4, random_state=0)
    weights = rbf_kernel(X)
    weights /= np.sqrt(np.outer(weights.sum(axis=1), weights.sum(axis=1)))
    for _ in range(200):  # a doubly stochastic matrix, so that all masses are equal
        weights /= weights.sum(axis=1, keepdims=True)
        weights /= weights.sum(axis=0, keepdims=True)
    model = MarkovAggregation(2, affinity="precomputed").fit(weights)
    assert np.array_equal(model.predict(weights), model.labels_)
    kept = model.aggregation_.kept * model.aggregation_.original.redundancy_rate
    assert model.score(weights) == pytest.approx(kept, abs=1e-6)


# Degenerate points and affinities


@AFFINITIES
@pytest.mark.parametrize("n_clusters", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("size", [1e-200, 1.0, 1e200])
def test_clouds_far_apart_in_fewer_and_in_more_clusters(affinity, n_clusters, size):
    far = np.concatenate([CLOUDS[CLOUD == 0] + shift for shift in (0.0, 1e3, 1e7)])
    truth = np.repeat(range(3), (CLOUD == 0).sum())
    model = MarkovAggregation(n_clusters, affinity=affinity, n_init=2).fit(far * size)
    assert set(model.labels_) == set(range(n_clusters))
    if n_clusters == 3:
        assert adjusted_rand_index(truth, model.labels_) == 1.0


@AFFINITIES
@pytest.mark.parametrize(
    ("points", "n_clusters"),
    [
        ([[1.0, 2.0]], 1),
        ([[1.0], [2.0]], 2),
        (np.ones((12, 3)), 3),
        (np.repeat([[0.0], [1.0]], 20, axis=0), 2),
        (np.repeat([[0.0], [1.0]], 20, axis=0), 3),
    ],
    ids=["one point", "two points", "identical", "duplicates", "more clusters than points that differ"],
)
def test_few_or_coinciding_points(affinity, points, n_clusters):
    model = MarkovAggregation(n_clusters, affinity=affinity).fit(points)
    assert set(model.labels_) == set(range(n_clusters))
    assert np.allclose(model.transform(points).sum(axis=1), 1.0)


@AFFINITIES
def test_sparse_points(affinity):
    X = sparse.random(60, 30, 0.2, format="coo", random_state=0)
    dense, same = (MarkovAggregation(4, affinity=affinity).fit(each) for each in (X.toarray(), X))
    assert np.array_equal(dense.labels_, same.labels_)
    assert np.allclose(dense.transform(X.toarray()[:9]), same.transform(X.tocsr()[:9]))


@pytest.mark.parametrize("n_clusters", [1, 2, 3, 4])
@pytest.mark.parametrize("form", [np.array, sparse.csr_array, sparse.csc_matrix])
def test_precomputed_blocks_that_do_not_touch(n_clusters, form):
    blocks = np.kron(np.eye(3), np.ones((5, 5)))
    model = MarkovAggregation(n_clusters, affinity="precomputed").fit(form(blocks))
    assert set(model.labels_) == set(range(n_clusters))
    if n_clusters == 3:
        assert adjusted_rand_index(np.repeat(range(3), 5), model.labels_) == 1.0


def test_precomputed_absorbing_and_isolated_points():
    walk = np.diag([0.5] * 7, 1) + np.diag([0.5] * 7, -1)
    walk[[0, 7]] = 0.0
    walk[0, 0] = 1.0  # point 0 is absorbing, point 7 has no affinities of its own
    model = MarkovAggregation(3, affinity="precomputed").fit(walk)
    assert set(model.labels_) == {0, 1, 2}
    assert model.aggregation_.original.is_irreducible


def test_connected_precomputed_affinities_are_not_changed():
    X = np.random.default_rng(0).random((12, 12))
    model = MarkovAggregation(3, affinity="precomputed").fit(X)
    assert np.array_equal(model.affinity_matrix_, X)
    expected = klump.aggregate(klump.MarkovChain(X, normalize=True), 3, effort="quick")
    assert np.array_equal(model.labels_, expected.labels)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_clusters": 91}, "n_clusters=91 is more than n_samples=90"),
        ({"n_clusters": 0}, "n_clusters=0"),
        ({"n_clusters": 2.5}, "n_clusters=2.5"),
        ({"beta": 2}, "beta=2"),
        ({"affinity": "psychic"}, "affinity='psychic' is not known; choose one of rbf, "),
        ({"affinity": "precomputed"}, r"X has shape \(90, 2\), but precomputed affinities are a square"),
        ({"rbf_gamma": 0}, "rbf_gamma=0 must be above 0"),
        ({"rbf_gamma": "auto"}, "rbf_gamma='auto'"),
        ({"n_neighbors": 0}, "n_neighbors=0"),
        ({"relaxation": "slow"}, "relaxation='slow' must be a number of steps, 'auto', 'plateau' or None"),
        ({"method": "exact"}, "method='exact'"),
        ({"effort": "much"}, "effort='much'"),
        ({"n_init": 0}, "n_init=0"),
        ({"random_state": "x"}, "random_state='x'"),
        ({"n_jobs": 0}, "n_jobs=0"),
    ],
)
def test_bad_parameters_get_one_clear_error_in_fit(parameters, message):
    with pytest.raises(InvalidArgumentError, match=message) as caught:
        MarkovAggregation(**{"n_clusters": 3, **parameters}).fit(CLOUDS)
    assert "\n" not in str(caught.value)


def test_negative_affinities_are_refused():
    with pytest.raises(ValueError, match="X has -1: Negative values"):
        MarkovAggregation(2, affinity="precomputed").fit(-np.eye(4))


# Quality; the whole table is made by `python -m benchmarks estimator`


@pytest.mark.parametrize(
    ("make", "n_clusters", "affinity", "least"),
    [
        (lambda: make_circles(300, noise=0.05, factor=0.5, random_state=0), 2, "rbf", 1.0),
        (lambda: make_circles(300, noise=0.05, factor=0.5, random_state=0), 2, "nearest_neighbors", 1.0),
        (lambda: make_moons(300, noise=0.05, random_state=0), 2, "rbf", 1.0),
        (lambda: make_moons(300, noise=0.05, random_state=0), 2, "nearest_neighbors", 1.0),
        (lambda: load_iris(return_X_y=True), 3, "rbf", 0.7),
        (lambda: load_iris(return_X_y=True), 3, "nearest_neighbors", 0.7),
    ],
    ids=["circles-rbf", "circles-neighbors", "moons-rbf", "moons-neighbors", "iris-rbf", "iris-neighbors"],
)
def test_clusters_of_any_shape(make, n_clusters, affinity, least):
    X, truth = make()
    labels = MarkovAggregation(n_clusters, affinity=affinity).fit_predict(X)
    assert adjusted_rand_index(truth, labels) >= least
