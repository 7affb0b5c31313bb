"""``"deterministic-annealing"``: groups that split one by one while a temperature falls (Xu, Salapaka and Beck).

At temperature gamma it minimises I(X1;X2) - I(X2;Y1) - gamma H(Y1|X1) over stochastic maps: a state x belongs to a
group y with a probability proportional to exp(-D(x, y) / gamma), where D(x, y) is the divergence, in nats, of the next
state's law given x from its mean over y. (Bits and powers of 2 make no difference: gamma is a pure number.)

While it is hot all groups coincide. A group splits when gamma falls below the largest eigenvalue of the covariance of
its members' laws, weighted by the inverse of their mean: for all states together that is the square of the second
singular value of diag(mu)^(-1/2) J diag(mu)^(-1/2). So groups that coincide are kept as one, the eigenvalue of
each is followed, and a group is split, along its eigenvector, when its time has come. The record has that eigenvalue.
At temperature 0 the map is deterministic.

The search does not depend on beta: it minimises a cost of its own, which is C_1 of the chain run backwards when it has
cooled down. The answer is scored at the beta asked for. Nothing is drawn but the first guess of the eigenvectors, so
there is one run whatever ``n_init`` is. A map to start from cannot be heated up; it is the answer if it is cheaper.
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
from klump.search.descent import scored, without_empty_groups
from klump.search.method import Found, Labels, Record, Task, better

Floats = NDArray[np.float64]

_KEY = 7
# Each temperature is that much of the one before; the first is just below the point where the groups split.
COOLING, _JUST_BELOW = 0.8, 0.9
_TEMPERATURES = 80
# Rounds at each temperature, and how much of the mass may still change its group when it has settled.
_ROUNDS, _SETTLED = 30, 1e-4
# Rounds of the first eigenvector, those at each temperature, and how exact the first eigenvalue must be.
_FIRST_ROUNDS, _EIGEN_ROUNDS, _EXACT = 300, 5, 1e-4
# The same for the critical temperature of the first split, as it is recorded: relative growth in _EIGEN_ROUNDS rounds.
_EXACT_RECORDED = 1e-9
# Less of the mass than this between groups: the map is hard.
_HARD = 1e-3
# Groups are one if they share evenly, up to the second of these, every state that belongs to them with more than the
# first as its probability.
_BELONGS, _EVEN = 0.01, 0.05
# Eigenvalues below are rounding: all members of the group lead on alike.
_NOTHING = 1e-12
_HARD_ROUNDS = 100
# Laws may be zero where a state leads; that is very far, but no infinity that could meet a zero.
_TINY = 1e-300
# What is less likely than this has no place in an eigenvector: its inverse, squared, must not overflow.
_UNHEARD_OF = 1e-100


def deterministic_annealing(task: Task) -> Found:
    """Cool down from one group to ``n_groups``."""
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
    best = scored(task, labels, record)
    if task.initial is not None:
        best = better(best, scored(task, task.initial, record))
    task.report(1, 1, best.cost)
    return best


class Split(NamedTuple):
    """A phase transition of deterministic annealing."""

    temperature: float
    """The critical temperature: the eigenvalue of the group that splits; 0 for groups told apart at the end.

    The eigenvalue of a soft group changes with the temperature: it is that at the first step of the schedule below the
    split. All states together have one eigenvalue at all temperatures, so that of the first split has no such error.
    """
    n_states: int
    """The number of distinct groups from there on."""


@dataclass(frozen=True, eq=False)
class _Groups:
    """The distinct groups: how likely each state is in each, and the law of what comes next."""

    weights: Floats  # (n, m)
    laws: Floats  # (n, m) one column a group
    guess: Floats  # (n, m) of the eigenvector of each group

    @property
    def size(self) -> int:
        return int(self.weights.shape[1])


class _Annealing:
    def __init__(self, matrix: Matrix, mu: Floats, n_groups: int, rng: np.random.Generator) -> None:
        self.matrix, self.mu, self.n_groups, self.rng = matrix, mu, n_groups, rng
        self.splits: list[Split] = []
        # Step of the schedule at the last split that was recorded: the next critical temperature is not above it.
        self.last_step = np.inf

    def run(self) -> tuple[Labels, list[Split]]:
        """Cool down, then go on without heat."""
        n = self.mu.size
        if self.n_groups in (1, n):  # there is only one map
            return np.arange(n, dtype=np.int32) % self.n_groups, []
        one = np.ones((n, 1))
        groups = _Groups(one, self._means(self._members(one)), self.rng.standard_normal((n, 1)))
        groups, eigenvalues = self._first_eigenvalue(groups, _EXACT)
        temperature = _JUST_BELOW * float(eigenvalues[0])
        for _ in range(_TEMPERATURES):
            if temperature < _NOTHING or self._is_over(groups):
                break
            groups = self._settled(groups, temperature)
            groups, eigenvalues = self._eigenvalues(groups)
            groups = self._divided(groups, eigenvalues, temperature)
            temperature = self._next_temperature(groups, eigenvalues, temperature)
        if groups.size < self.n_groups:
            self.splits.append(Split(0.0, self.n_groups))
        return self._hard(groups), self.splits

    def _is_over(self, groups: _Groups) -> bool:
        return groups.size == self.n_groups and self._softness(groups) < _HARD

    def _softness(self, groups: _Groups) -> float:
        return float(self.mu @ (1.0 - groups.weights.max(axis=1)))

    def _next_temperature(self, groups: _Groups, eigenvalues: Floats, temperature: float) -> float:
        """Cool a little; straight to the next split if nothing can change until then."""
        cooler = COOLING * temperature
        if groups.size < self.n_groups and self._softness(groups) < _HARD:
            return min(cooler, _JUST_BELOW * float(eigenvalues.max()))
        return cooler

    # One temperature

    def _divided(self, groups: _Groups, eigenvalues: Floats, temperature: float) -> _Groups:
        """Split what has become unstable, most of all first, and let all groups settle again."""
        ripe = [int(y) for y in np.argsort(-eigenvalues) if eigenvalues[y] > temperature]
        ripe = ripe[: self.n_groups - groups.size]
        if not ripe:
            return groups
        critical = float(eigenvalues[ripe[0]])
        if groups.size == 1:
            critical = float(self._first_eigenvalue(groups, _EXACT_RECORDED)[1][0])
        # From the last on: those before keep their numbers.
        for y in sorted(ripe, reverse=True):
            groups = self._split(groups, y)
        groups = self._distinct(self._settled(groups, temperature))
        if groups.size > max((split.n_states for split in self.splits), default=1):
            self.splits.append(Split(min(critical, self.last_step), groups.size))
            self.last_step = temperature
        return groups

    def _split(self, groups: _Groups, y: int) -> _Groups:
        """Two groups instead of one: its members by their place along the eigenvector, the middle in both."""
        members = self._members(groups.weights)[:, y]
        place = self.matrix @ groups.guess[:, y]
        place = place - members @ place
        place /= max(float(np.abs(place[members > 0.0]).max(initial=0.0)), _TINY)
        place = np.clip(place, -1.0, 1.0)
        halves = members[:, None] * np.stack([1.0 + place, 1.0 - place], axis=1)
        laws = self._means(halves / np.maximum(halves.sum(axis=0), _TINY))
        others = np.delete(np.arange(groups.size), y)
        drawn = self.rng.standard_normal((self.mu.size, 2))
        return _Groups(
            np.column_stack([groups.weights[:, others], groups.weights[:, [y, y]] / 2.0]),
            np.column_stack([groups.laws[:, others], laws]),
            np.column_stack([groups.guess[:, others], drawn]),
        )

    def _settled(self, groups: _Groups, temperature: float) -> _Groups:
        """Assign states to groups, and groups the mean law of their members, until little changes."""
        weights, laws = groups.weights, groups.laws
        for _ in range(_ROUNDS):
            before = weights
            closeness = self._closeness(laws) / temperature
            closeness -= closeness.max(axis=1, keepdims=True)
            weights = np.exp(closeness)
            weights /= weights.sum(axis=1, keepdims=True)
            laws = self._means(self._members(weights))
            if self.mu @ np.abs(weights - before).max(axis=1) < _SETTLED:
                break
        return _Groups(weights, laws, groups.guess)

    def _distinct(self, groups: _Groups) -> _Groups:
        """Put groups together that have become the same: that share every state about evenly."""
        weights = groups.weights.copy()
        kept: list[int] = []
        for y in range(groups.size):
            same = next((z for z in kept if _are_alike(weights[:, y], groups.weights[:, z])), None)
            if same is None:
                kept.append(y)
            else:
                weights[:, same] += weights[:, y]
        if len(kept) == groups.size:
            return groups
        weights = weights[:, kept]
        return _Groups(weights, self._means(self._members(weights)), groups.guess[:, kept])

    # Laws and eigenvalues

    def _members(self, weights: Floats) -> Floats:
        """Law of the state in each group, one column a group."""
        mass = weights * self.mu[:, None]
        mass /= np.maximum(mass.max(axis=0), _TINY)  # first, so that nothing light vanishes
        return np.asarray(mass / np.maximum(mass.sum(axis=0), _TINY))

    def _means(self, members: Floats) -> Floats:
        return np.asarray(self.matrix.T @ members)

    def _closeness(self, laws: Floats) -> Floats:
        """Minus the divergence of each state's law from each mean, up to a constant for each state, in nats."""
        return np.asarray(self.matrix @ np.log(np.maximum(laws, _TINY)))

    def _first_eigenvalue(self, groups: _Groups, growth: float) -> tuple[_Groups, Floats]:
        """Follow the eigenvalue of all states together until it grows by less than that share of itself."""
        last = -1.0
        for _ in range(_FIRST_ROUNDS // _EIGEN_ROUNDS):
            groups, eigenvalues = self._eigenvalues(groups)
            if eigenvalues[0] <= (1.0 + growth) * last:
                break
            last = float(eigenvalues[0])
        return groups, eigenvalues

    def _eigenvalues(self, groups: _Groups) -> tuple[_Groups, Floats]:
        """A few rounds of the power method for all groups at once; eigenvalues from below.

        The covariance of the laws P[x, :] of a group, weighted by the inverse of their mean q, takes v to
        sum_x p(x) P[x, :] (P v - mean)[x] / q, and is symmetric in the inner product weighted by q.
        """
        members, laws, vectors = self._members(groups.weights), groups.laws, groups.guess
        inverse = np.divide(1.0, laws, out=np.zeros_like(laws), where=laws > _UNHEARD_OF)
        for _ in range(_EIGEN_ROUNDS):
            length = np.sqrt(np.sum(laws * vectors**2, axis=0))
            vectors = vectors / np.maximum(length, _UNHEARD_OF)
            ahead = np.asarray(self.matrix @ vectors)
            ahead -= np.sum(members * ahead, axis=0)
            eigenvalues = np.sum(members * ahead**2, axis=0)
            vectors = self._means(members * ahead) * inverse
        return _Groups(groups.weights, laws, vectors), eigenvalues

    # Without heat

    def _hard(self, groups: _Groups) -> Labels:
        """Each state goes to the nearest group, each group to the mean of its members, until nothing changes."""
        labels = self._with_all_groups(np.argmax(groups.weights, axis=1).astype(np.int32))
        for _ in range(_HARD_ROUNDS):
            before = labels
            nearest = np.argmax(self._closeness(self._means_of(labels)), axis=1)
            labels = self._with_all_groups(nearest.astype(np.int32))
            if np.array_equal(labels, before):
                break
        return labels

    def _with_all_groups(self, labels: Labels) -> Labels:
        """Give each empty group the farthest state of the group that is spread most, as long as any is spread."""
        k = self.n_groups
        for _ in range(k):
            size = np.bincount(labels, minlength=k)
            if size.min() > 0:
                return labels
            distance = self._distances(labels)
            spread = np.bincount(labels, weights=self.mu * distance, minlength=k)
            spread[size < 2] = -1.0
            donor = int(np.argmax(spread))
            farthest = int(np.argmax(np.where(labels == donor, distance, -1.0)))
            if distance[farthest] < _NOTHING:
                break
            labels = labels.copy()
            labels[farthest] = np.argmin(size)
        return without_empty_groups(labels, k)

    def _distances(self, labels: Labels) -> Floats:
        """Divergence of each state's law from the mean of its group, in nats."""
        closeness = self._closeness(self._means_of(labels))
        return np.maximum(self._own_entropy - closeness[np.arange(labels.size), labels], 0.0)

    def _means_of(self, labels: Labels) -> Floats:
        weights = np.zeros((labels.size, self.n_groups))
        weights[np.arange(labels.size), labels] = 1.0
        return self._means(self._members(weights))

    @cached_property
    def _own_entropy(self) -> Floats:
        """Minus the entropy of each state's law, in nats."""
        matrix = self.matrix
        if isinstance(matrix, sparse.csr_array):
            terms = sparse.csr_array(
                (information.xlog2x(matrix.data), matrix.indices, matrix.indptr), matrix.shape
            )
        else:
            terms = information.xlog2x(matrix)
        return np.asarray(terms.sum(axis=1)).ravel() * np.log(2.0)


def _are_alike(one: Floats, other: Floats) -> bool:
    both = one + other
    return bool(np.all(np.abs(one - other)[both > _BELONGS] <= _EVEN * both[both > _BELONGS]))
