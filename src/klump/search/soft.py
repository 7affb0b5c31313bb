"""Stochastic maps: their cost, its gradient, and projected gradient descent with a monotone line search.

With A = J W, B = W' J W and nu = W' mu, up to a constant

    C(W) = into sum f(A) - flow sum f(B) + sum f(nu),    f(t) = t log2 t,  into = 1 - 2 beta + gamma,  flow = 1 - beta,

and the derivative with respect to W[x, y], divided by mu[x] and up to a constant per row, is

    into sum_i p(i|x) log2 A[i, y] - flow sum_z (p(z|x) log2 B[y, z] + p'(z|x) log2 B[z, y]) + log2 nu[y]

with p(i|x) the distribution of the state before x, p(z|x) of the group after x and p'(z|x) of the group before x.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from klump import information
from klump.chain.validation import Matrix
from klump.search.deadline import check_deadline
from klump.search.method import EQUAL, Labels
from klump.search.objective import Objective

Floats = NDArray[np.float64]

# Lower bound of a mass inside a logarithm: keeps the gradient finite, at most 100 bits, where a mass is 0.
_LEAST_MASS = 2.0**-100
# Continuation in the floor of A[i, y] / mu[i] inside the gradient, used if the objective traps poor starts: there
# the derivative of f(A) at A = 0 is -inf, which forces tiny steps although the gain is small.
_FLOORS = (2.0**-7, 2.0**-14, 2.0**-28, 0.0)
# Mass below which a state has gradient 0: it adds nothing to any sum, and 1 / mu must not overflow.
_LEAST_STATE_MASS = 1e-290
# Armijo constant of the line search: decrease required, as a share of the directional derivative (textbook value).
_ARMIJO = 1e-4
# Fraction of the direction below which backtracking gives up.
_LEAST_FRACTION = 2.0**-30
# Bounds of the Barzilai-Borwein step length.
_MIN_STEP = 1e-3
_MAX_STEP = 1e3
# Directional derivative, in bits, below which the descent has converged: rounding error of the cost.
_CONVERGED = 1e-13
# Thresholds of entries that are tried as zeros after the descent; those below the last are always set to zero.
_NEGLIGIBLE = (1e-1, 1e-3, 1e-6, 1e-12)
# Total variation between the member distributions of two groups below which the groups count as duplicates.
_DUPLICATE = 1e-3


class Point(NamedTuple):
    """A map, its cost, and the sums that cost and gradient depend on."""

    weights: Floats  # (n, k)
    into: Floats  # (n, k) A
    flow: Floats  # (k, k) B
    masses: Floats  # (k,) nu
    cost: float  # up to a constant


@dataclass(frozen=True, eq=False)
class SoftProblem:
    """Joint distribution, stationary distribution and objective; picklable."""

    joint: Matrix
    mu: Floats
    objective: Objective

    def evaluate(self, weights: Floats) -> Point:
        """Cost of a map, with the sums behind it."""
        into = np.asarray(self.joint @ weights)
        flow = weights.T @ into
        masses = self.mu @ weights
        weight = self.objective.weights
        cost = np.sum(information.xlog2x(masses)) - weight.flow * np.sum(information.xlog2x(flow))
        if weight.into != 0.0:
            cost += weight.into * np.sum(information.xlog2x(into))
        return Point(weights, into, flow, masses, float(cost))

    def gradient(self, point: Point, floor: float = 0.0) -> Floats:
        """Gradient, divided by mu[x] and up to a constant per row: the constant is normal to the simplex.

        ``floor`` is a lower bound of A[i, y] / mu[i] inside the logarithm.
        """
        log_flow = _log2(point.flow)
        weight = self.objective.weights
        gradient = -weight.flow * (
            point.into @ log_flow.T + np.asarray(self.joint.T @ point.weights) @ log_flow
        )
        if weight.into != 0.0:
            gradient += weight.into * np.asarray(
                self.joint.T @ _log2(np.maximum(point.into, floor * self.mu[:, None]))
            )
        heavy = self.mu > _LEAST_STATE_MASS
        gradient *= np.divide(1.0, self.mu, out=np.zeros_like(self.mu), where=heavy)[:, None]
        gradient[heavy] += _log2(point.masses)
        return gradient


def _log2(masses: Floats) -> Floats:
    return np.asarray(np.log2(np.maximum(masses, _LEAST_MASS)))


def projected_gradient_descent(
    problem: SoftProblem, weights: Floats, max_steps: int
) -> tuple[Point, list[float]]:
    """Projected gradient descent with Barzilai-Borwein steps and an Armijo line search.

    The inner product is that of rows weighted by mu, in which the gradient of light states is not small. Returns the
    last point and the cost after each step, which never increases.
    """
    point = problem.evaluate(weights)
    trace = [point.cost]
    for floor in _FLOORS if problem.objective.traps_poor_starts else _FLOORS[-1:]:
        point, costs = _descend(problem, point, floor, max_steps - len(trace) + 1)
        trace += costs
    return point, trace


def _descend(problem: SoftProblem, point: Point, floor: float, max_steps: int) -> tuple[Point, list[float]]:
    gradient = problem.gradient(point, floor)
    mass = problem.mu[:, None]
    costs: list[float] = []
    step = 1.0
    while len(costs) < max_steps:
        check_deadline()
        direction = project_to_simplex(point.weights - step * gradient) - point.weights
        derivative = float(np.sum(mass * gradient * direction))
        lower = _line_search(problem, point, direction, derivative) if derivative < -_CONVERGED else None
        if lower is None:
            break
        point_change, gradient_change = lower.weights - point.weights, -gradient
        point, gradient = lower, problem.gradient(lower, floor)
        gradient_change += gradient
        costs.append(point.cost)
        length = float(np.sum(mass * point_change**2))
        curvature = float(np.sum(mass * point_change * gradient_change))
        barzilai_borwein = length / curvature if curvature > 0.0 else 4.0 * step
        step = float(np.clip(barzilai_borwein, _MIN_STEP, _MAX_STEP))
    return point, costs


def _line_search(problem: SoftProblem, point: Point, direction: Floats, derivative: float) -> Point | None:
    """Backtrack from the full direction until the Armijo condition holds; None if it never does."""
    fraction = 1.0
    while fraction >= _LEAST_FRACTION:
        other = problem.evaluate(np.maximum(point.weights + fraction * direction, 0.0))
        if other.cost < point.cost + _ARMIJO * fraction * derivative:
            return other
        fraction *= 0.5
    return None


def project_to_simplex(rows: Floats) -> Floats:
    """Euclidean projection of each row onto the probability simplex.

    >>> project_to_simplex(np.array([[0.5, 0.7], [3.0, 0.0]]))
    array([[0.4, 0.6], [1. , 0. ]])
    """
    n, k = rows.shape
    descending = -np.sort(-rows, axis=1)
    thresholds = (np.cumsum(descending, axis=1) - 1.0) / np.arange(1, k + 1)
    support = np.count_nonzero(descending > thresholds, axis=1)
    return np.maximum(rows - thresholds[np.arange(n), support - 1][:, None], 0.0)


def simplify(problem: SoftProblem, point: Point) -> Point:
    """Round negligible entries to 0 and average duplicate groups, unless that costs more; fill empty groups.

    Any split of a group into duplicates has the same cost; the even split is canonical. An empty group becomes a
    duplicate of the heaviest one, at no cost.
    """
    for threshold in _NEGLIGIBLE:
        # Every row keeps its largest entry, however small that is among many groups.
        bounds = np.minimum(threshold, point.weights.max(axis=1, keepdims=True))
        weights = np.where(point.weights < bounds, 0.0, point.weights)
        other = problem.evaluate(weights / weights.sum(axis=1, keepdims=True))
        if threshold == _NEGLIGIBLE[-1] or other.cost <= point.cost:
            point = other
    averaged = problem.evaluate(_average_duplicates(problem.mu, point))
    has_empty_group = not point.weights.any(axis=0).all()
    return averaged if averaged.cost <= point.cost + EQUAL or has_empty_group else point


def _average_duplicates(mu: Floats, point: Point) -> Floats:
    weights, masses = point.weights.copy(), point.masses
    if not masses.all():
        # A group of states whose masses underflow to 0 has no member distribution to compare.
        for empty in np.flatnonzero(~weights.any(axis=0)):
            heaviest = int(np.argmax(mu @ weights))
            weights[:, heaviest] /= 2.0
            weights[:, empty] = weights[:, heaviest]
        masses = mu @ weights
        if not masses.all():
            return weights
    members = weights * mu[:, None] / masses  # p(x|y)
    remaining = list(range(masses.size))
    while remaining:
        first = members[:, remaining[0]]
        duplicates = [y for y in remaining if np.abs(members[:, y] - first).sum() < 2.0 * _DUPLICATE]
        weights[:, duplicates] = weights[:, duplicates].mean(axis=1, keepdims=True)
        remaining = [y for y in remaining if y not in duplicates]
    return weights


def as_sparse(weights: Floats) -> sparse.csr_array:
    """CSR matrix without explicit zeros, rows normalised to sum 1."""
    return sparse.csr_array(weights / weights.sum(axis=1, keepdims=True))


def harden(weights: sparse.csr_array) -> Labels:
    """The most probable group of each state, and no group empty.

    An empty group gets the state with the largest probability in it, among states that are not alone in their group.

    >>> harden(sparse.csr_array([[0.8, 0.2], [0.7, 0.3], [0.9, 0.1]]))
    array([0, 1, 0], dtype=int32)
    """
    columns = sparse.csc_array(weights)
    labels = np.asarray(weights.sorted_indices().argmax(axis=1)).ravel().astype(np.int32)
    size = np.bincount(labels, minlength=weights.shape[1])
    for group in np.flatnonzero(size == 0):
        column = slice(columns.indptr[group], columns.indptr[group + 1])
        share = np.zeros(labels.size)
        share[columns.indices[column]] = columns.data[column]
        share[size[labels] == 1] = -1.0
        chosen = int(np.argmax(share))
        size[labels[chosen]] -= 1
        size[group] += 1
        labels[chosen] = group
    return labels
