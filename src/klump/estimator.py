"""A scikit-learn clusterer: points, or affinities between them, to groups of a random walk."""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from klump.aggregation.question import aggregate
from klump.arguments import check_choice, check_count, check_number, check_seed
from klump.chain import MarkovChain
from klump.clustering import check_relaxation, relax
from klump.errors import InvalidArgumentError
from klump.search.registry import DEFAULT_EFFORT, EFFORT_NAMES, METHODS, names_of
from klump.sources.affinities import AFFINITIES, Affinity, Weights, build_affinity

# Weight of the masses in the rows of the aggregated chain that points are compared with: keeps logarithms finite.
_SMOOTHING = 1e-9
# Information above log2(n_clusters) that relaxation="auto" leaves in the walk, in bits: 0.3 to 1 did equally well.
_SPARE_INFORMATION = 0.5


class MarkovAggregation(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, BaseEstimator):
    """Cluster points by aggregating a random walk between them.

    The walk goes from point i to point j with probability A[i, j] / sum_j A[i, j], A being the affinities. Its states
    are grouped such that C_beta is least (:func:`klump.aggregate`). A clusterer and a transformer of scikit-learn.

    Parameters
    ----------
    n_clusters
        The number of clusters, at most the number of points. No cluster is empty.
    beta
        1/2 (Alush, Friedman and Goldberger) maximises I(Y1;Y2), the mutual information between successive clusters;
        1 (Tishby and Slonim) maximises I(X1;Y2); 0 prefers clusters that are a Markov chain.
    affinity
        ``"rbf"``: A[i, j] = exp(-rbf_gamma d(i, j)**2), a dense matrix. ``"nearest_neighbors"``: 1 between points that
        are each other's nearest neighbours, 1/2 if only one is the other's, 1 to the point itself, a sparse matrix.
        ``"precomputed"``: X is A, a square matrix of non-negative weights, dense or sparse, symmetric or not.
    rbf_gamma
        Inverse squared length scale of ``"rbf"``; None: 1 / s with s the mean squared distance of a point to its
        ``n_neighbors`` nearest neighbours. (Not the gamma of :func:`klump.aggregate`.)
    n_neighbors
        Number of nearest neighbours; with fewer points, all other points.
    relaxation
        Steps of the walk that are taken as one: more steps forget the point within a cluster, but not the cluster. A
        number; None for one step; ``"plateau"`` (:func:`klump.relaxation_curve`); or ``"auto"``: 1 for
        ``"precomputed"``, else the largest power of two at which I(X1;X2) is at least log2(n_clusters) + 1/2 bits, or
        less if a plateau comes before. That is a dense matrix in the end, so
        ``"auto"`` stops before one with more than 4,000,000 entries: walks of more than 2,000 points are relaxed less,
        and those with ``"rbf"`` not at all.
    method
        As in :func:`klump.aggregate`; not ``"exact"``. ``"stochastic"`` may split points between clusters.
    n_init
        Number of restarts of the search.
    effort
        ``"quick"``, ``"balanced"`` or ``"thorough"``: how long the method ``"auto"`` searches; other methods ignore
        it. The default is the quickest, as model selection fits often; :func:`klump.aggregate` has ``"balanced"``.
    random_state
        Seed, a RandomState, or None for a new seed in every fit.
    n_jobs
        Parallel starts, as in joblib; the answer does not depend on it.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Cluster of each fitted point; 0 has the largest stationary mass.
    memberships_ : ndarray of shape (n_samples, n_clusters)
        :meth:`transform` of the fitted points.
    affinity_matrix_ : ndarray or csr_array of shape (n_samples, n_samples)
        A, with the weights that link its connected components.
    aggregation_ : Aggregation
        The answer, with its chain, costs, guarantees and notes.
    relaxation_ : int
        Steps of the walk that are taken as one.
    cost_ : float
        C_beta of the clusters, in bits.
    n_features_in_ : int
        Number of features; for ``"precomputed"`` the number of fitted points.
    feature_names_in_ : ndarray of str
        Names of the features, if X has names.

    Notes
    -----
    *Soft memberships and new points.* Let n(x) be the distribution of the cluster after a step from x, to the fitted
    points: the row of x in P W, relaxed as the walk is. The membership of x in cluster y is proportional to
    2^-D(n(x) || Q[y]), Q[y] being the row of the aggregated chain and D the Kullback-Leibler divergence in bits;
    :meth:`predict` returns the cluster of least divergence. Any point has a membership, a fitted one too: ``labels_``
    minimises the cost of all points together, so ``predict`` on the fitted points may differ from it in some.

    *Disconnected affinities.* Connected components of the nearest-neighbour graph are linked by the minimum spanning
    tree between them with weight 1/100; clouds whose similarities are all below 1e-9 likewise, with weight 1e-9. Of a
    precomputed matrix, classes that do not reach each other are linked in a ring through their heaviest points, with
    1/100 of the mean weight, and a row of zeros gets the weight of its point to itself. There may be more such
    components than clusters, and fewer.

    *Choosing parameters.* :meth:`score` compares betas, but grows with ``n_clusters``, as that of k-means does, and
    with a finer scale. To choose these, pass ``scoring=`` to GridSearchCV: the silhouette, or a score with true labels.

    Examples
    --------
    >>> from klump import MarkovAggregation
    >>> X = [[0.0], [0.1], [0.3], [5.0], [5.1], [5.3]]
    >>> model = MarkovAggregation(n_clusters=2, n_neighbors=2).fit(X)
    >>> model.labels_
    array([0, 0, 0, 1, 1, 1], dtype=int32)
    >>> model.predict([[0.2], [6.0]]), model.transform([[2.6]]).shape
    (array([0, 1], dtype=int32), (1, 2))
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        beta: float = 0.5,
        affinity: Literal["rbf", "nearest_neighbors", "precomputed"] = "rbf",
        rbf_gamma: float | None = None,
        n_neighbors: int = 10,
        relaxation: int | Literal["auto", "plateau"] | None = "auto",
        method: str = "auto",
        n_init: int = 20,
        effort: str = "quick",
        random_state: Any = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.beta = beta
        self.affinity = affinity
        self.rbf_gamma = rbf_gamma
        self.n_neighbors = n_neighbors
        self.relaxation = relaxation
        self.method = method
        self.n_init = n_init
        self.effort = effort
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any = None) -> MarkovAggregation:
        """Find the clusters.

        Parameters
        ----------
        X
            Points of shape (n_samples, n_features), dense or sparse; affinities of shape (n_samples, n_samples) if
            ``affinity="precomputed"``.
        y
            Ignored.
        """
        points = self._validate(X, reset=True)
        n_clusters = self._check_clusters(points.shape[0])
        affinity = self._build_affinity(points)
        weights = affinity.weights()
        walk = _build_walk(weights)
        relaxed, steps = self._relax(walk, n_clusters)
        answer = aggregate(
            relaxed,
            n_clusters,
            self.beta,
            self.method,
            self.n_init,
            check_seed(self._seed()),
            self.n_jobs,
            effort=self._check_effort(),
        )
        self.labels_ = np.array(answer.labels)
        self.aggregation_ = answer
        self.affinity_matrix_ = weights
        self.relaxation_ = steps
        self.cost_ = float(answer.cost)
        self._affinity = affinity
        self._propagated = _propagate(walk, answer.map.weights, steps - 1)
        self._log_rows = _log_rows(answer.chain.transition_matrix, answer.masses)
        self._n_features_out = answer.n_states
        self.memberships_ = self._memberships(points)
        return self

    def transform(self, X: Any) -> NDArray[np.float64]:
        """Soft memberships of points, new ones too: a row per point and a column per cluster; rows sum to 1.

        Parameters
        ----------
        X
            Points of shape (n_samples, n_features); affinities to the fitted points, of shape (n_samples, n_fitted),
            if ``affinity="precomputed"``.
        """
        check_is_fitted(self)
        return self._memberships(self._validate(X, reset=False))

    def predict(self, X: Any) -> NDArray[np.int32]:
        """Cluster of points, new ones too: the one with the largest membership.

        Parameters
        ----------
        X
            As in :meth:`transform`.
        """
        check_is_fitted(self)
        log_likelihood, _ = self._log_likelihood(self._validate(X, reset=False))
        return np.argmax(log_likelihood, axis=1).astype(np.int32)

    def score(self, X: Any, y: Any = None) -> float:
        """Bits that the predicted cluster of a point holds on the cluster after a step, on average; larger is better.

        mean over x of sum_z n(x)[z] log2(Q[y, z] / nu[z]) with y = predict(x), nu the masses of the clusters. For the
        fitted points with equal masses that is I(Y1;Y2), if ``predict`` agrees with ``labels_``.

        Parameters
        ----------
        X
            As in :meth:`transform`.
        y
            Ignored.
        """
        check_is_fitted(self)
        log_likelihood, following = self._log_likelihood(self._validate(X, reset=False))
        independent = following @ np.log2(self.aggregation_.masses)
        return float(np.mean(log_likelihood.max(axis=1) - independent))

    def _memberships(self, points: Any) -> NDArray[np.float64]:
        log_likelihood, _ = self._log_likelihood(points)
        shares = np.exp2(log_likelihood - log_likelihood.max(axis=1, keepdims=True))
        return shares / shares.sum(axis=1, keepdims=True)

    def _log_likelihood(self, points: Any) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Per point x and cluster y: sum_z n(x)[z] log2 Q[y, z], which is -D(n(x) || Q[y]) - H(n(x)); and n(x)."""
        weights = self._affinity.weights_from(points)
        total = np.asarray(weights.sum(axis=1))
        following = np.asarray(weights @ self._propagated)
        # A precomputed row of zeros says nothing about the point: it goes where the chain goes.
        known = total > 0.0
        following[known] /= total[known, None]
        following[~known] = self.aggregation_.masses
        return following @ self._log_rows.T, following

    def _validate(self, X: Any, *, reset: bool) -> Any:
        points = _validate_data(self, X, reset=reset)
        if self.affinity != "precomputed":
            return points
        if reset and points.shape[0] != points.shape[1]:
            raise InvalidArgumentError(
                f"has shape {points.shape}, but precomputed affinities are a square matrix",
                argument="X",
                remedy="pass affinities between all points",
            )
        values = points.data if sparse.issparse(points) else points
        if values.size and values.min() < 0.0:
            # The words in which scikit-learn's checks look for this error.
            raise InvalidArgumentError(
                f"has {values.min():.3g}: Negative values in data passed to {type(self).__name__}",
                argument="X",
                remedy="pass affinities of 0 or more",
            )
        return points

    def _build_affinity(self, points: Any) -> Affinity:
        kind = check_choice("affinity", self.affinity, AFFINITIES)
        n_neighbors = check_count("n_neighbors", self.n_neighbors, most=None)
        if self.rbf_gamma is None:
            return build_affinity(kind, points, n_neighbors, None)
        gamma = check_number("rbf_gamma", self.rbf_gamma)
        if gamma == 0.0:
            raise InvalidArgumentError("must be above 0", argument="rbf_gamma", value=self.rbf_gamma)
        return build_affinity(kind, points, n_neighbors, gamma)

    def _check_clusters(self, n_points: int) -> int:
        check_choice("method", self.method, names_of(lambda method: not method.finds_number))
        n_clusters = check_count("n_clusters", self.n_clusters, most=None)
        if n_clusters > n_points:
            raise InvalidArgumentError(
                f"is more than n_samples={n_points}",
                argument="n_clusters",
                value=n_clusters,
                remedy="pass fewer clusters, or more points",
            )
        return n_clusters

    def _check_effort(self) -> str:
        effort = check_choice("effort", self.effort, EFFORT_NAMES)
        return effort if METHODS[self.method].takes_effort else DEFAULT_EFFORT

    def _relax(self, walk: MarkovChain, n_clusters: int) -> tuple[MarkovChain, int]:
        if isinstance(self.relaxation, str) and self.relaxation == "auto":
            if self.affinity == "precomputed":
                return walk, 1
            return relax(walk, math.log2(n_clusters) + _SPARE_INFORMATION)
        steps = check_relaxation(walk, self.relaxation, "'auto', 'plateau'")
        return walk.power(steps), steps

    def _seed(self) -> Any:
        # None is the global generator, which np.random.seed sets, as elsewhere in scikit-learn.
        return check_random_state(None) if self.random_state is None else self.random_state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = self.affinity == "precomputed"
        tags.input_tags.positive_only = self.affinity == "precomputed"
        return tags

    def _more_tags(self) -> dict[str, Any]:
        """Tags for scikit-learn before 1.6."""
        precomputed = self.affinity == "precomputed"
        return {"pairwise": precomputed, "requires_positive_X": precomputed}


def _validate_data(model: MarkovAggregation, X: Any, *, reset: bool) -> Any:
    options = {"accept_sparse": "csr", "dtype": np.float64, "reset": reset}
    try:
        from sklearn.utils.validation import validate_data
    except ImportError:  # scikit-learn before 1.6
        points = model._validate_data(X, **options)
    else:
        points = validate_data(model, X, **options)
    return sparse.csr_array(points) if sparse.issparse(points) else points


def _build_walk(weights: Weights) -> MarkovChain:
    """Random walk with given weights, whose stationary distribution is known if they are symmetric."""
    total = np.asarray(weights.sum(axis=1))
    mu = total / total.sum() if _is_symmetric(weights) else None
    return MarkovChain(weights, normalize=True, stationary_distribution=mu)


def _is_symmetric(weights: Any) -> bool:
    difference = weights - weights.T
    return (
        difference.nnz == 0 or not difference.data.any() if sparse.issparse(weights) else not difference.any()
    )


def _propagate(walk: MarkovChain, mapping: Any, steps: int) -> NDArray[np.float64]:
    """P^steps W, dense."""
    found = mapping.toarray()
    n, k = found.shape
    # A power takes up to 2 log2(steps) products of n x n matrices, dense in the end.
    if steps * k > 2 * n * steps.bit_length():
        return np.asarray(walk.power(steps).transition_matrix @ found)
    for _ in range(steps):
        found = np.asarray(walk.transition_matrix @ found)
    return found


def _log_rows(matrix: Any, masses: NDArray[np.float64]) -> NDArray[np.float64]:
    rows = matrix.toarray() if sparse.issparse(matrix) else np.asarray(matrix)
    return np.asarray(np.log2((1.0 - _SMOOTHING) * rows + _SMOOTHING * masses))
