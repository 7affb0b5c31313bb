"""``"spectral"``: cut groups in two by eigenvectors, again and again (after Deng, Mehta and Meyn).

A group is seen as a chain of its own: the additive reversibilisation, which has the joint law ``(J + J^T) / 2``,
without the steps that leave the group. Its members are sorted by the second eigenvector, equal entries by their
number. Every cut of that order is a candidate, and the cut between the signs is one of them. Of all cuts of
all groups the one with the lowest cost is made, until there are k groups; among equals a cut between signs, then the
first. Nothing is drawn at random.

A group whose parts are not linked, to within rounding, has many second eigenvectors, all constant on each part.
The one taken has the parts in order of their mass, and the sign of the heaviest is its own.

``"spectral-sign"`` is the method as Deng, Mehta and Meyn published it: the only candidate of each group is the cut
between the signs, and the group whose cut has the lowest cost is cut.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from klump import information
from klump.chain.validation import Matrix
from klump.search.descent import scored
from klump.search.method import EQUAL, Found, Labels, Task, best_until_interrupted, better

Floats = NDArray[np.float64]
# Groups of up to so many members have their eigenvectors computed by a dense solver.
_DENSE = 200
# An eigenvector that only sorts states need not be exact.
_ACCURATE, _RESTARTS = 1e-5, 100
# Dimension of the space in which larger ones are sought, what is kept of it, and how little is nothing new.
_SPACE, _KEPT, _EXHAUSTED = 24, 8, 1e-12
# Entries of an eigenvector that agree to so many decimals (its largest is 1) are equal.
_DECIMALS = 9
# States are linked by steps that are more likely than rounding.
_LINKED = 1e-15
# Members with less than this share of the root of the heaviest one's mass have entries that are mostly rounding.
_LIGHT = 1e-8


def spectral(task: Task) -> Found:
    """Cut until there are k groups; a given map is returned if it is cheaper."""
    return best_until_interrupted(_Bisection(task))


def spectral_sign(task: Task) -> Found:
    """Cut between signs only, as published; a given map is returned if it is cheaper."""
    return best_until_interrupted(_Bisection(task, signs_only=True))


class _Bisection:
    """Where the cutting stands: all states in one order, the members of each group side by side."""

    def __init__(self, task: Task, *, signs_only: bool = False) -> None:
        self.task, self.signs_only = task, signs_only
        self.weights = task.objective.weights
        n = task.chain.n_states
        joint = task.chain.joint
        self.symmetric: Matrix = (
            sparse.csr_array((joint + joint.T) * 0.5) if sparse.issparse(joint) else (joint + joint.T) * 0.5
        )
        self.labels: Labels = np.zeros(n, dtype=np.int32)
        self.order = np.arange(n)
        self.begin, self.size = [0], [n]
        # Of each cut: what it costs apart from the flow between groups, which alone depends on other groups.
        self.price = np.full(n, np.inf)
        self.signs = np.zeros(n, dtype=np.bool_)
        self.best = None if task.initial is None else scored(task, task.initial)

    def run(self) -> None:
        """Cut until there are k groups."""
        task = self.task
        if task.n_groups > 1:
            self._sort(0)
        while len(self.begin) < task.n_groups:
            self._cut(self._cheapest())
            task.report(len(self.begin) - 1, task.n_groups, np.inf if self.best is None else self.best.cost)
        self.best = better(self.best, scored(task, self.labels))
        task.report(task.n_groups, task.n_groups, self.best.cost)

    def _sort(self, group: int) -> None:
        """Sort the members of a new group by their eigenvector, and price its cuts."""
        from klump.search.kernels import cuts

        task, begin, end = self.task, self.begin[group], self.begin[group] + self.size[group]
        part = slice(begin, end)
        if end - begin > 1:
            members = np.sort(self.order[part])
            ranks, negative = sorted_by_eigenvector(_within(self.symmetric, members))
            self.order[part] = members[ranks]
            self.signs[part] = False
            self.signs[begin + negative - 1] = True
            mass = task.problem.mu[self.order[part]]
            self.price[part] = 0.0
            if self.weights.into != 0.0:
                cuts.into_sums(task.problem, self.order, begin, end, self.price)
                self.price[part] *= self.weights.into
            self.price[part] += _changes_of_mass(mass)
            if self.signs_only:
                self.price[part][~self.signs[part]] = np.inf
        self.price[end - 1] = np.inf

    def _cheapest(self) -> int:
        """Place of the cut that leads to the lowest cost."""
        from klump.search.kernels import cuts

        task, change = self.task, self.price.copy()
        if self.weights.flow != 0.0:
            flow = np.zeros(change.size)
            cuts.flow_sums(
                task.problem, self.labels, self.order, np.array(self.begin), np.array(self.size), flow
            )
            change -= self.weights.flow * flow
        equal = change <= change.min() + EQUAL
        return int(np.argmax(equal & self.signs if (equal & self.signs).any() else equal))

    def _cut(self, place: int) -> None:
        """Make the members of a group up to that place a group of their own."""
        group, new = int(self.labels[self.order[place]]), len(self.begin)
        begin, size = self.begin[group], place + 1 - self.begin[group]
        self.labels[self.order[begin : place + 1]] = new
        self.begin.append(begin)
        self.size.append(size)
        self.begin[group] += size
        self.size[group] -= size
        if new + 1 < self.task.n_groups:
            self._sort(group)
            self._sort(new)


def _changes_of_mass(mass: Floats) -> Floats:
    """Change of sum f(nu) by each cut of a group whose members, in their order, have these masses."""
    cut_off, left = np.cumsum(mass), np.cumsum(mass[::-1])[::-1]
    left = np.append(left[1:], 0.0)
    return information.xlog2x(cut_off) + information.xlog2x(left) - information.xlog2x(cut_off[-1:])


def _within(symmetric: Matrix, members: NDArray[Any]) -> Matrix:
    if not sparse.issparse(symmetric):
        return np.asarray(symmetric[np.ix_(members, members)])
    within = sparse.csr_array(symmetric[members][:, members])
    return within.toarray() if members.size <= _DENSE else within


def sorted_by_eigenvector(mass: Matrix) -> tuple[NDArray[np.intp], int]:
    """Sort states by the second eigenvector of the walk whose steps have these masses (a symmetric matrix).

    Returns the order and the number of states that stand before the change of sign, at least one and not all.
    """
    size = mass.shape[0]
    normalized, root = _normalized(mass)
    n_parts, part = _parts(normalized)
    if n_parts > 1:
        entries = _by_parts(part, np.bincount(part, root**2).astype(np.float64))
    else:
        entries = _second(normalized, root) / np.maximum(root, _LIGHT * root.max())
        entries = np.round(entries / np.abs(entries).max(), _DECIMALS)
        # An eigenvector has no sign of its own: its first large entry is negative.
        if entries[np.argmax(np.abs(entries) > 0.5)] > 0.0:
            entries = -entries
    negative = int(np.count_nonzero(entries < 0.0))
    return np.argsort(entries, kind="stable"), min(max(negative, 1), size - 1)


def _normalized(mass: Matrix) -> tuple[Matrix, Floats]:
    """Symmetric matrix with the eigenvalues of the walk, and its first eigenvector: the roots of the row sums.

    A state that no step leads to stays where it is. Divided twice by a root, masses do not underflow.
    """
    row_sums = np.asarray(mass.sum(axis=1))
    alone = row_sums <= 0.0
    root = np.sqrt(np.where(alone, 1.0, row_sums))
    if sparse.issparse(mass):
        scaled = sparse.csr_array(mass, copy=True)
        scaled.data /= np.repeat(root, np.diff(scaled.indptr))
        scaled.data /= root[scaled.indices]
        normalized: Matrix = sparse.csr_array(scaled + sparse.diags_array(alone.astype(float)))
    else:
        normalized = mass / root[:, None] / root
        normalized[alone, alone] = 1.0
    root[alone] = 0.0
    if not alone.all():
        root /= root.max()
        root /= np.linalg.norm(root)
    return normalized, root


def _parts(normalized: Matrix) -> tuple[int, NDArray[Any]]:
    """Number of parts that are linked by steps more likely than rounding, and the part of each state."""
    linked = normalized > _LINKED
    if not sparse.issparse(linked) and linked.all(axis=1).any():
        return 1, np.zeros(linked.shape[0], dtype=np.int32)
    return sparse.csgraph.connected_components(sparse.csr_array(linked), directed=False)


def _by_parts(part: NDArray[Any], mass: Floats) -> Floats:
    """Entries that are equal on each part, by order of their masses, negative on the heaviest."""
    ranks = np.empty(mass.size)
    ranks[np.argsort(-mass, kind="stable")] = np.arange(mass.size)
    return np.asarray(ranks[part] - 0.5)


def _second(normalized: Matrix, first: Floats) -> Floats:
    """Eigenvector of the largest eigenvalue but one, the first one being known."""
    if first.size > _DENSE:
        return _second_of_many(normalized, first)
    # The first eigenvalue is made the last; else the two would be mixed up in a group that nearly falls apart.
    return np.asarray(np.linalg.eigh(normalized - 2.0 * np.outer(first, first))[1][:, -1])


def _second_of_many(normalized: Matrix, first: Floats) -> Floats:
    """Do the same with products alone: Krylov spaces, restarted from the best vectors of the last one.

    Unlike ARPACK it draws no numbers where a space is exhausted, and it gives what it has when time is up.
    """
    basis, image = np.zeros((_SPACE, first.size)), np.zeros((_SPACE, first.size))
    new = np.sin(np.arange(1.0, first.size + 1.0))
    kept, vector = 0, new
    for _ in range(_RESTARTS):
        used = kept
        while used < _SPACE:
            size = float(np.linalg.norm(new))
            for _ in range(2):
                new = new - (first @ new) * first
                new -= (basis[:used] @ new) @ basis[:used]
            if np.linalg.norm(new) <= _EXHAUSTED * size:
                break
            basis[used] = new / np.linalg.norm(new)
            image[used] = normalized @ basis[used]
            new = image[used]
            used += 1
        values, mixtures = np.linalg.eigh(basis[:used] @ image[:used].T)
        best = mixtures[:, : -_KEPT - 1 : -1].T
        kept = best.shape[0]
        basis[:kept], image[:kept] = best @ basis[:used], best @ image[:used]
        vector = basis[0]
        new = image[0] - values[-1] * vector
        if used < _SPACE or np.linalg.norm(new) <= _ACCURATE:
            break
    return vector
