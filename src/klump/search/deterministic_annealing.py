"""``"deterministic-annealing"``: groups that split one by one while a temperature falls (Xu, Salapaka and Beck).

At temperature gamma it minimises I(X1;X2) - I(X2;Y1) - gamma H(Y1|X1) over stochastic maps:
p(y|x) is proportional to exp(-D(x, y) / gamma), where D(x, y) is the Kullback-Leibler divergence, in nats, of row
P[x, :] from the mean row of group y. (In bits and powers of 2 the same gamma results: it is dimensionless.)

At high temperature all groups coincide. A group splits when gamma falls below its critical temperature, the largest
eigenvalue of the covariance of its members' rows, weighted by the inverse of their mean; for the group of all states
that is the squared second singular value of diag(mu)^(-1/2) J diag(mu)^(-1/2). So coinciding groups are stored as one,
the power method tracks the eigenvalue of each, and a group splits along its eigenvector at the critical temperature,
which the record holds. At temperature 0 the map is deterministic.

The search does not depend on beta: at temperature 0 its cost is C_1 of the time-reversed chain. The answer is scored
under the task's objective. Only the initial vectors of the power method are random, so there is one run whatever
``n_init`` is. An initial map is not annealed; it is the answer if it is cheaper.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from klump import information
from klump.chain.validation import Matrix
from klump.search.deadline import check_deadline
from klump.search.descent import fill_empty_groups, score
from klump.search.method import Found, Labels, Record, Task, better, report_result

Floats = NDArray[np.float64]

_KEY = 7
# Ratio of successive temperatures.
COOLING = 0.8
# Temperature relative to the critical temperature of the next split, when the schedule jumps there.
_BELOW_CRITICAL = 0.9
# Temperatures at most: 0.8^80 = 2e-8 of the first.
_MAX_TEMPERATURES = 80
# Fixed-point iterations per temperature, at most.
_MAX_ITERATIONS = 30
# Change of the map, as mass, at which the fixed-point iteration has converged.
_CONVERGED = 1e-4
# Power iterations per temperature, and for the first eigenvalue, at most.
_POWER_ITERATIONS = 5
_MAX_FIRST_POWER_ITERATIONS = 300
# Relative growth in _POWER_ITERATIONS at which the first eigenvalue has converged: for the schedule, for the record.
_SCHEDULE_ACCURACY = 1e-4
_RECORD_ACCURACY = 1e-9
# Softness, mu (1 - max_y p(y|x)), below which the map counts as deterministic.
_HARD = 1e-3
# Groups y, z coincide if |p(y|x) - p(z|x)| <= _EVEN (p(y|x) + p(z|x)) wherever p(y|x) + p(z|x) > _BELONGS.
_BELONGS = 0.01
_EVEN = 0.05
# Rounding error of eigenvalues, temperatures and divergences: below it, all members of a group have equal rows.
_ROUNDING = 1e-12
# Lloyd iterations at temperature 0, at most.
_MAX_HARD_ITERATIONS = 100
# Lower bound of probabilities that are divided by or whose logarithm is taken: keeps 0 log 0 = 0.
_LEAST_PROBABILITY = 1e-300
# Lower bound of probabilities in the power method: their inverse, squared, must not overflow.
_LEAST_INVERTED = 1e-100


def deterministic_annealing(task: Task) -> Found:
    """Anneal from one group to ``n_groups``."""
    chain, k = task.chain, task.n_groups
    annealing = _Annealing(chain.transition_matrix, chain.stationary_distribution, k, task.rng(_KEY))
    labels, splits = annealing.run()
    record = Record(
        "splits",
        {
            "temperature": np.array([split.temperature for split in splits], dtype=np.float64),
            "groups": np.array([split.n_states for split in splits], dtype=np.int64),
        },
    )
    best = score(task, labels, record)
    if task.initial is not None:
        best = better(best, score(task, task.initial, record))
    return report_result(task, best)


class Split(NamedTuple):
    """A phase transition of deterministic annealing.

    Examples
    --------
    >>> import klump
    >>> P = [[0.5, 0.4, 0.1, 0.0], [0.4, 0.5, 0.0, 0.1], [0.1, 0.0, 0.4, 0.5], [0.0, 0.1, 0.5, 0.4]]
    >>> answer = klump.aggregate(P, 3, method="deterministic-annealing")
    >>> [(round(split.temperature, 4), split.n_states) for split in answer.splits]
    [(0.64, 2), (0.1111, 3)]
    """

    temperature: float
    """The critical temperature: the eigenvalue of the group that splits; 0 for groups separated at the end.

    The eigenvalue of a soft group depends on the temperature: it is evaluated at the first temperature of the schedule
    below the split. That of the group of all states does not, so the first split has no such error.
    """
    n_states: int
    """The number of distinct groups after the split."""


@dataclass(frozen=True, eq=False)
class _Groups:
    """The distinct groups, one column each."""

    weights: Floats  # (n, m) p(y|x)
    means: Floats  # (n, m) mean row of P, weighted by p(x|y)
    vectors: Floats  # (n, m) iterates of the power method

    @property
    def size(self) -> int:
        return int(self.weights.shape[1])


class _Annealing:
    """State of one run: the splits so far."""

    def __init__(self, matrix: Matrix, mu: Floats, n_groups: int, rng: np.random.Generator) -> None:
        self.matrix, self.mu, self.n_groups, self.rng = matrix, mu, n_groups, rng
        self.splits: list[Split] = []
        # Temperature at the last recorded split, an upper bound of the next critical temperature.
        self.last_temperature = np.inf

    def run(self) -> tuple[Labels, list[Split]]:
        """Anneal, then run Lloyd iterations at temperature 0."""
        n = self.mu.size
        if self.n_groups in (1, n):  # there is only one map
            return np.arange(n, dtype=np.int32) % self.n_groups, []
        one = np.ones((n, 1))
        groups = _Groups(one, self._means(self._members(one)), self.rng.standard_normal((n, 1)))
        groups, eigenvalues = self._first_eigenvalue(groups, _SCHEDULE_ACCURACY)
        temperature = _BELOW_CRITICAL * float(eigenvalues[0])
        for _ in range(_MAX_TEMPERATURES):
            if temperature < _ROUNDING or self._is_done(groups):
                break
            check_deadline()
            groups = self._equilibrate(groups, temperature)
            groups, eigenvalues = self._eigenvalues(groups)
            groups = self._split_unstable(groups, eigenvalues, temperature)
            temperature = self._next_temperature(groups, eigenvalues, temperature)
        if groups.size < self.n_groups:
            self.splits.append(Split(0.0, self.n_groups))
        return self._harden(groups), self.splits

    def _is_done(self, groups: _Groups) -> bool:
        return groups.size == self.n_groups and self._softness(groups) < _HARD

    def _softness(self, groups: _Groups) -> float:
        return float(self.mu @ (1.0 - groups.weights.max(axis=1)))

    def _next_temperature(self, groups: _Groups, eigenvalues: Floats, temperature: float) -> float:
        """``COOLING * temperature``; below the next critical temperature if the map is deterministic until then."""
        cooler = COOLING * temperature
        if groups.size < self.n_groups and self._softness(groups) < _HARD:
            return min(cooler, _BELOW_CRITICAL * float(eigenvalues.max()))
        return cooler

    # One temperature

    def _split_unstable(self, groups: _Groups, eigenvalues: Floats, temperature: float) -> _Groups:
        """Split groups whose eigenvalue exceeds the temperature, the largest first, and equilibrate again."""
        unstable = [int(y) for y in np.argsort(-eigenvalues) if eigenvalues[y] > temperature]
        unstable = unstable[: self.n_groups - groups.size]
        if not unstable:
            return groups
        critical = float(eigenvalues[unstable[0]])
        if groups.size == 1:
            critical = float(self._first_eigenvalue(groups, _RECORD_ACCURACY)[1][0])
        # In descending order, so that the remaining indices stay valid.
        for y in sorted(unstable, reverse=True):
            groups = self._split(groups, y)
        groups = self._merge_coinciding(self._equilibrate(groups, temperature))
        if groups.size > max((split.n_states for split in self.splits), default=1):
            self.splits.append(Split(min(critical, self.last_temperature), groups.size))
            self.last_temperature = temperature
        return groups

    def _split(self, groups: _Groups, y: int) -> _Groups:
        """Replace a group by two, with members weighted by 1 + v and 1 - v, v the scaled eigenvector."""
        members = self._members(groups.weights)[:, y]
        vector = self.matrix @ groups.vectors[:, y]
        vector = vector - members @ vector
        vector /= max(float(np.abs(vector[members > 0.0]).max(initial=0.0)), _LEAST_PROBABILITY)
        vector = np.clip(vector, -1.0, 1.0)
        halves = members[:, None] * np.stack([1.0 + vector, 1.0 - vector], axis=1)
        means = self._means(halves / np.maximum(halves.sum(axis=0), _LEAST_PROBABILITY))
        others = np.delete(np.arange(groups.size), y)
        random_vectors = self.rng.standard_normal((self.mu.size, 2))
        return _Groups(
            weights=np.column_stack([groups.weights[:, others], groups.weights[:, [y, y]] / 2.0]),
            means=np.column_stack([groups.means[:, others], means]),
            vectors=np.column_stack([groups.vectors[:, others], random_vectors]),
        )

    def _equilibrate(self, groups: _Groups, temperature: float) -> _Groups:
        """Fixed-point iteration of p(y|x) and the group means at one temperature."""
        weights, means = groups.weights, groups.means
        for _ in range(_MAX_ITERATIONS):
            before = weights
            exponent = self._similarity(means) / temperature
            exponent -= exponent.max(axis=1, keepdims=True)
            weights = np.exp(exponent)
            weights /= weights.sum(axis=1, keepdims=True)
            means = self._means(self._members(weights))
            if self.mu @ np.abs(weights - before).max(axis=1) < _CONVERGED:
                break
        return _Groups(weights, means, groups.vectors)

    def _merge_coinciding(self, groups: _Groups) -> _Groups:
        """Merge groups that coincide: that have nearly equal p(y|x) for every state."""
        weights = groups.weights.copy()
        kept: list[int] = []
        for y in range(groups.size):
            same = next((z for z in kept if _coincide(weights[:, y], groups.weights[:, z])), None)
            if same is None:
                kept.append(y)
            else:
                weights[:, same] += weights[:, y]
        if len(kept) == groups.size:
            return groups
        weights = weights[:, kept]
        return _Groups(weights, self._means(self._members(weights)), groups.vectors[:, kept])

    # Means and eigenvalues

    def _members(self, weights: Floats) -> Floats:
        """p(x|y), one column per group."""
        mass = weights * self.mu[:, None]
        mass /= np.maximum(mass.max(axis=0), _LEAST_PROBABILITY)  # first, against underflow
        return np.asarray(mass / np.maximum(mass.sum(axis=0), _LEAST_PROBABILITY))

    def _means(self, members: Floats) -> Floats:
        return np.asarray(self.matrix.T @ members)

    def _similarity(self, means: Floats) -> Floats:
        """Minus the cross-entropy of row P[x, :] and each mean, in nats: -D(x, y) up to a constant per state."""
        return np.asarray(self.matrix @ np.log(np.maximum(means, _LEAST_PROBABILITY)))

    def _first_eigenvalue(self, groups: _Groups, growth: float) -> tuple[_Groups, Floats]:
        """Power method for the group of all states, until the eigenvalue's relative growth is below ``growth``."""
        last = -1.0
        for _ in range(_MAX_FIRST_POWER_ITERATIONS // _POWER_ITERATIONS):
            groups, eigenvalues = self._eigenvalues(groups)
            if eigenvalues[0] <= (1.0 + growth) * last:
                break
            last = float(eigenvalues[0])
        return groups, eigenvalues

    def _eigenvalues(self, groups: _Groups) -> tuple[_Groups, Floats]:
        """A few power iterations for all groups; the Rayleigh quotients are lower bounds of the eigenvalues.

        The covariance of the rows P[x, :] of a group, weighted by the inverse of their mean q, maps v to
        sum_x p(x) P[x, :] (P v - mean)[x] / q, and is symmetric in the inner product weighted by q.
        """
        members, means, vectors = self._members(groups.weights), groups.means, groups.vectors
        inverse = np.divide(1.0, means, out=np.zeros_like(means), where=means > _LEAST_INVERTED)
        for _ in range(_POWER_ITERATIONS):
            norm = np.sqrt(np.sum(means * vectors**2, axis=0))
            vectors = vectors / np.maximum(norm, _LEAST_INVERTED)
            product = np.asarray(self.matrix @ vectors)
            product -= np.sum(members * product, axis=0)
            eigenvalues = np.sum(members * product**2, axis=0)
            vectors = self._means(members * product) * inverse
        return _Groups(groups.weights, means, vectors), eigenvalues

    # Temperature 0

    def _harden(self, groups: _Groups) -> Labels:
        """Lloyd iterations from the most probable groups, by Kullback-Leibler divergence."""
        labels = self._fill_empty(np.argmax(groups.weights, axis=1).astype(np.int32))
        for _ in range(_MAX_HARD_ITERATIONS):
            before = labels
            nearest = np.argmax(self._similarity(self._label_means(labels)), axis=1)
            labels = self._fill_empty(nearest.astype(np.int32))
            if np.array_equal(labels, before):
                break
        return labels

    def _fill_empty(self, labels: Labels) -> Labels:
        """Move the farthest state of the group with the largest divergence to each empty group."""
        k = self.n_groups
        for _ in range(k):
            size = np.bincount(labels, minlength=k)
            if size.min() > 0:
                return labels
            distance = self._divergences(labels)
            spread = np.bincount(labels, weights=self.mu * distance, minlength=k)
            spread[size < 2] = -1.0
            donor = int(np.argmax(spread))
            farthest = int(np.argmax(np.where(labels == donor, distance, -1.0)))
            if distance[farthest] < _ROUNDING:
                break
            labels = labels.copy()
            labels[farthest] = np.argmin(size)
        return fill_empty_groups(labels, k)

    def _divergences(self, labels: Labels) -> Floats:
        """Kullback-Leibler divergence of each row of P from the mean of its group, in nats."""
        similarity = self._similarity(self._label_means(labels))
        return np.maximum(self._negative_entropy - similarity[np.arange(labels.size), labels], 0.0)

    def _label_means(self, labels: Labels) -> Floats:
        weights = np.zeros((labels.size, self.n_groups))
        weights[np.arange(labels.size), labels] = 1.0
        return self._means(self._members(weights))

    @cached_property
    def _negative_entropy(self) -> Floats:
        """Minus the entropy of each row of P, in nats."""
        matrix = self.matrix
        if isinstance(matrix, sparse.csr_array):
            terms = sparse.csr_array(
                (information.xlog2x(matrix.data), matrix.indices, matrix.indptr), matrix.shape
            )
        else:
            terms = information.xlog2x(matrix)
        return np.asarray(terms.sum(axis=1)).ravel() * np.log(2.0)


def _coincide(one: Floats, other: Floats) -> bool:
    both = one + other
    return bool(np.all(np.abs(one - other)[both > _BELONGS] <= _EVEN * both[both > _BELONGS]))
