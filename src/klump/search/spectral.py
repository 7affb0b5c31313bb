"""``"spectral"``: recursive bisection of groups by eigenvectors (after Deng, Mehta and Meyn).

The walk within a group is the additive reversibilisation, with joint distribution ``(J + J^T) / 2``, restricted to the
group. Its members are sorted by the second eigenvector; the tie-break is the state's number. Every cut of that order is
a candidate, the cut between the signs among them. Of all cuts of all groups the cheapest is made, until there are k
groups; the tie-break is a cut between signs, then the first. The method is deterministic.

A group that is disconnected, to within rounding, has a second eigenvalue of multiplicity greater than one, with
eigenvectors constant on each component. The one used orders the components by mass, and only the heaviest is negative.

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
from klump.search.descent import score
from klump.search.method import EQUAL, Found, Labels, Task, better, run_interruptible

Floats = NDArray[np.float64]
# Members up to which a dense solver computes the eigenvectors of a group.
_MAX_DENSE = 200
# Residual norm at which the Lanczos method stops; the eigenvalues are at most 1, and the vector only sorts states.
_RESIDUAL = 1e-5
# Restarts of the Lanczos method, at most.
_MAX_RESTARTS = 100
# Dimension of the Krylov subspace, and Ritz vectors kept at a restart.
_KRYLOV_DIMENSION = 24
_N_RITZ = 8
# Norm after orthogonalisation, relative to that before, below which the Krylov subspace is invariant.
_INVARIANT = 1e-12
# Decimals to which entries of an eigenvector, scaled to a largest entry of 1, are compared.
_DECIMALS = 9
# Entry of the normalised matrix above which two states are connected: rounding error.
_CONNECTED = 1e-15
# Lower bound of sqrt(mass), relative to the largest, that an entry is divided by: sqrt of the machine epsilon.
_LEAST_ROOT = 1e-8


def spectral(task: Task) -> Found:
    """Bisect until there are k groups; an initial map is returned if it is cheaper."""
    return run_interruptible(_Bisection(task))


def spectral_sign(task: Task) -> Found:
    """Bisect between signs only, as published; an initial map is returned if it is cheaper."""
    return run_interruptible(_Bisection(task, signs_only=True))


class _Bisection:
    """State of the bisection: all states in one order, the members of each group contiguous."""

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
        # Price per cut without the change of sum f(B), the only term that depends on other groups.
        self.price = np.full(n, np.inf)
        self.signs = np.zeros(n, dtype=np.bool_)
        self.best = None if task.initial is None else score(task, task.initial)

    def run(self) -> None:
        """Bisect until there are k groups."""
        task = self.task
        if task.n_groups > 1:
            self._sort(0)
        while len(self.begin) < task.n_groups:
            self._cut(self._cheapest())
            task.report(len(self.begin) - 1, task.n_groups, np.inf if self.best is None else self.best.cost)
        self.best = better(self.best, score(task, self.labels))
        task.report(task.n_groups, task.n_groups, self.best.cost)

    def _sort(self, group: int) -> None:
        """Sort the members of a new group by their eigenvector, and price its cuts."""
        from klump.search.kernels import cuts

        task, begin, end = self.task, self.begin[group], self.begin[group] + self.size[group]
        part = slice(begin, end)
        if end - begin > 1:
            members = np.sort(self.order[part])
            ranks, negative = sort_by_eigenvector(_submatrix(self.symmetric, members))
            self.order[part] = members[ranks]
            self.signs[part] = False
            self.signs[begin + negative - 1] = True
            mass = task.problem.mu[self.order[part]]
            self.price[part] = 0.0
            if self.weights.into != 0.0:
                work = np.zeros((2, self.order.size))
                cuts.into_sums(task.problem, self.order, begin, end, work, self.price)
                self.price[part] *= self.weights.into
            self.price[part] += _mass_changes(mass)
            if self.signs_only:
                self.price[part][~self.signs[part]] = np.inf
        self.price[end - 1] = np.inf

    def _cheapest(self) -> int:
        """Position of the cheapest cut."""
        from klump.search.kernels import cuts

        task, change = self.task, self.price.copy()
        if self.weights.flow != 0.0:
            k, flow = len(self.begin), np.zeros(change.size)
            groups = self.order, np.array(self.begin), np.array(self.size)
            cuts.flow_sums(task.problem, self.labels, *groups, cuts.make_links(k), np.zeros((2, k)), flow)
            change -= self.weights.flow * flow
        equal = change <= change.min() + EQUAL
        return int(np.argmax(equal & self.signs if (equal & self.signs).any() else equal))

    def _cut(self, place: int) -> None:
        """Move the members of a group up to that position to a new group."""
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


def _mass_changes(mass: Floats) -> Floats:
    """Change of sum f(nu) per cut, f(head) + f(tail) - f(head + tail), from the members' masses in their order."""
    head, tail = np.cumsum(mass), np.cumsum(mass[::-1])[::-1]
    tail = np.append(tail[1:], 0.0)
    return information.xlog2x(head) + information.xlog2x(tail) - information.xlog2x(head[-1:])


def _submatrix(symmetric: Matrix, members: NDArray[Any]) -> Matrix:
    if not sparse.issparse(symmetric):
        return np.asarray(symmetric[np.ix_(members, members)])
    submatrix = sparse.csr_array(symmetric[members][:, members])
    return submatrix.toarray() if members.size <= _MAX_DENSE else submatrix


def sort_by_eigenvector(mass: Matrix) -> tuple[NDArray[np.intp], int]:
    """Sort states by the second eigenvector of the reversible walk with this symmetric joint matrix.

    Returns the order and the number of negative entries, clipped to 1 ... n - 1.
    """
    size = mass.shape[0]
    normalized, root = _normalise(mass)
    n_components, component = _components(normalized)
    if n_components > 1:
        entries = _component_vector(component, np.bincount(component, root**2).astype(np.float64))
    else:
        entries = _second_eigenvector(normalized, root) / np.maximum(root, _LEAST_ROOT * root.max())
        entries = np.round(entries / np.abs(entries).max(), _DECIMALS)
        # Sign convention: the first entry above 1/2 in modulus is negative.
        if entries[np.argmax(np.abs(entries) > 0.5)] > 0.0:
            entries = -entries
    negative = int(np.count_nonzero(entries < 0.0))
    return np.argsort(entries, kind="stable"), min(max(negative, 1), size - 1)


def _normalise(mass: Matrix) -> tuple[Matrix, Floats]:
    """D^(-1/2) M D^(-1/2) with D the row sums of M, and its first eigenvector, sqrt(D) normalised.

    An isolated state becomes absorbing. Dividing twice by sqrt(D) avoids underflow.
    """
    row_sums = np.asarray(mass.sum(axis=1))
    isolated = row_sums <= 0.0
    root = np.sqrt(np.where(isolated, 1.0, row_sums))
    if sparse.issparse(mass):
        scaled = sparse.csr_array(mass, copy=True)
        scaled.data /= np.repeat(root, np.diff(scaled.indptr))
        scaled.data /= root[scaled.indices]
        normalized: Matrix = sparse.csr_array(scaled + sparse.diags_array(isolated.astype(float)))
    else:
        normalized = mass / root[:, None] / root
        normalized[isolated, isolated] = 1.0
    root[isolated] = 0.0
    if not isolated.all():
        root /= root.max()
        root /= np.linalg.norm(root)
    return normalized, root


def _components(normalized: Matrix) -> tuple[int, NDArray[Any]]:
    """Number of connected components, ignoring entries of the size of rounding errors, and the component per state."""
    connected = normalized > _CONNECTED
    if not sparse.issparse(connected) and connected.all(axis=1).any():
        return 1, np.zeros(connected.shape[0], dtype=np.int32)
    return sparse.csgraph.connected_components(sparse.csr_array(connected), directed=False)


def _component_vector(component: NDArray[Any], mass: Floats) -> Floats:
    """Vector that is constant on components, increasing in the order of falling mass, negative on the heaviest."""
    ranks = np.empty(mass.size)
    ranks[np.argsort(-mass, kind="stable")] = np.arange(mass.size)
    return np.asarray(ranks[component] - 0.5)


def _second_eigenvector(normalized: Matrix, first: Floats) -> Floats:
    """Eigenvector of the second largest eigenvalue, the first eigenvector being known."""
    if first.size > _MAX_DENSE:
        return _thick_restart_lanczos(normalized, first)
    # Deflation moves the eigenvalue 1 to -1; a solver could mix the first two eigenvectors if they are nearly equal.
    return np.asarray(np.linalg.eigh(normalized - 2.0 * np.outer(first, first))[1][:, -1])


def _thick_restart_lanczos(normalized: Matrix, first: Floats) -> Floats:
    """Second eigenvector by the Lanczos method with deflation, full reorthogonalisation and thick restarts.

    Unlike ARPACK it draws no random vector when the Krylov subspace is invariant, and without convergence it returns
    the last Ritz vector.
    """
    shape = (_KRYLOV_DIMENSION, first.size)
    basis, image = np.zeros(shape), np.zeros(shape)
    new = np.sin(np.arange(1.0, first.size + 1.0))
    n_kept, ritz_vector = 0, new
    for _ in range(_MAX_RESTARTS):
        size = n_kept
        while size < _KRYLOV_DIMENSION:
            norm = float(np.linalg.norm(new))
            for _ in range(2):  # Gram-Schmidt twice is enough
                new = new - (first @ new) * first
                new -= (basis[:size] @ new) @ basis[:size]
            if np.linalg.norm(new) <= _INVARIANT * norm:
                break
            basis[size] = new / np.linalg.norm(new)
            image[size] = normalized @ basis[size]
            new = image[size]
            size += 1
        values, vectors = np.linalg.eigh(basis[:size] @ image[:size].T)
        leading = vectors[:, : -_N_RITZ - 1 : -1].T
        n_kept = leading.shape[0]
        basis[:n_kept], image[:n_kept] = leading @ basis[:size], leading @ image[:size]
        ritz_vector = basis[0]
        new = image[0] - values[-1] * ritz_vector  # residual
        if size < _KRYLOV_DIMENSION or np.linalg.norm(new) <= _RESIDUAL:
            break
    return ritz_vector
