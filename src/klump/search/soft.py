"""Stochastic maps: their cost, its slope, and a descent among them that never goes up.

With A = J W, B = W' J W and nu = W' mu, up to a constant

    C(W) = into sum f(A) - flow sum f(B) + sum f(nu),    f(t) = t log2 t,  into = 1 - 2 beta + gamma,  flow = 1 - beta,

and the slope along W[x, y], divided by mu[x], is

    into sum_i p(i|x) log2 A[i, y] - flow sum_z (p(z|x) log2 B[y, z] + p'(z|x) log2 B[z, y]) + log2 nu[y]

with p(i|x) the law of the state before x, p(z|x) that of the group after x and p'(z|x) that of the group before x.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from klump import information
from klump.chain.validation import Matrix
from klump.search.method import EQUAL, Labels
from klump.search.objective import Objective

Floats = NDArray[np.float64]

# Where a mass is 0 the slope is infinite; a step needs a number that is merely steep. Below beta = 1/2 what opens a
# transition to a new group gains infinitely much at first and little after all, which makes for tiny steps: there
# shares of a state's mass below the first of these count as that much, then below the second, and so on.
_STEEP = 2.0**-100
_BLUNT = (2.0**-7, 2.0**-14, 2.0**-28, 0.0)
# States so light weigh nothing in any sum, and 1 / mu must not overflow.
_WEIGHTLESS = 1e-290
_ARMIJO, _SHORTEST, _LEAST_STEP, _LARGEST_STEP = 1e-4, 2.0**-30, 1e-3, 1e3
# A slope so flat that following it would gain no more than rounding.
_FLAT = 1e-13
# Shares that are tried as zeros once the descent is over, largest first; the last is cleared in any case.
_NEGLIGIBLE = (1e-1, 1e-3, 1e-6, 1e-12)
# Groups whose members differ by less in total variation are taken for one group that was split at random.
_ALIKE = 1e-3


class Point(NamedTuple):
    """A map with the sums that its cost and its slope are made of."""

    weights: Floats  # (n, k)
    into: Floats  # (n, k) A
    flow: Floats  # (k, k) B
    masses: Floats  # (k,) nu
    cost: float  # up to a constant


@dataclass(frozen=True, eq=False)
class SoftProblem:
    """What a stochastic map is judged by; plain data, so that it may be sent to another process."""

    joint: Matrix
    mu: Floats
    objective: Objective

    def at(self, weights: Floats) -> Point:
        """Evaluate a map."""
        into = np.asarray(self.joint @ weights)
        flow = weights.T @ into
        masses = self.mu @ weights
        of_sums = self.objective.weights
        cost = np.sum(information.xlog2x(masses)) - of_sums.flow * np.sum(information.xlog2x(flow))
        if of_sums.into != 0.0:
            cost += of_sums.into * np.sum(information.xlog2x(into))
        return Point(weights, into, flow, masses, float(cost))

    def slope(self, point: Point, blunt: float = 0.0) -> Floats:
        """Derivative of the cost along each entry of the map, divided by the mass of the state.

        Up to a constant for each state, which means nothing where probabilities sum to 1. Shares of a state's mass that
        lead to a group and are below ``blunt`` count as that much.
        """
        log_flow = _log2(point.flow)
        of_sums = self.objective.weights
        slope = -of_sums.flow * (
            point.into @ log_flow.T + np.asarray(self.joint.T @ point.weights) @ log_flow
        )
        if of_sums.into != 0.0:
            slope += of_sums.into * np.asarray(
                self.joint.T @ _log2(np.maximum(point.into, blunt * self.mu[:, None]))
            )
        heavy = self.mu > _WEIGHTLESS
        slope *= np.divide(1.0, self.mu, out=np.zeros_like(self.mu), where=heavy)[:, None]
        slope[heavy] += _log2(point.masses)
        return slope


def _log2(masses: Floats) -> Floats:
    return np.asarray(np.log2(np.maximum(masses, _STEEP)))


def descend_softly(problem: SoftProblem, weights: Floats, max_steps: int) -> tuple[Point, list[float]]:
    """Go down to a local optimum: projected gradients, steps of Barzilai and Borwein, and a line search.

    Lengths and angles are those of the rows weighted by mu, in which the slope of every state is of the same order
    however light it is. Returns the point and the cost after each step.
    """
    point = problem.at(weights)
    trace = [point.cost]
    for blunt in _BLUNT if problem.objective.traps_poor_starts else _BLUNT[-1:]:
        point, costs = _descend(problem, point, blunt, max_steps - len(trace) + 1)
        trace += costs
    return point, trace


def _descend(problem: SoftProblem, point: Point, blunt: float, max_steps: int) -> tuple[Point, list[float]]:
    slope = problem.slope(point, blunt)
    mass = problem.mu[:, None]
    costs: list[float] = []
    step = 1.0
    while len(costs) < max_steps:
        direction = project(point.weights - step * slope) - point.weights
        fall = float(np.sum(mass * slope * direction))
        lower = _lower(problem, point, direction, fall) if fall < -_FLAT else None
        if lower is None:
            break
        change, turn = lower.weights - point.weights, -slope
        point, slope = lower, problem.slope(lower, blunt)
        turn += slope
        costs.append(point.cost)
        length, curvature = float(np.sum(mass * change**2)), float(np.sum(mass * change * turn))
        wanted = length / curvature if curvature > 0.0 else 4.0 * step
        step = float(np.clip(wanted, _LEAST_STEP, _LARGEST_STEP))
    return point, costs


def _lower(problem: SoftProblem, point: Point, direction: Floats, fall: float) -> Point | None:
    """The first point on the way that lies lower by a fair share of what the slope promises."""
    share = 1.0
    while share >= _SHORTEST:
        other = problem.at(np.maximum(point.weights + share * direction, 0.0))
        if other.cost < point.cost + _ARMIJO * share * fall:
            return other
        share *= 0.5
    return None


def project(rows: Floats) -> Floats:
    """The nearest law to each row.

    >>> project(np.array([[0.5, 0.7], [3.0, 0.0]]))
    array([[0.4, 0.6], [1. , 0. ]])
    """
    n, k = rows.shape
    falling = -np.sort(-rows, axis=1)
    excess = (np.cumsum(falling, axis=1) - 1.0) / np.arange(1, k + 1)
    kept = np.count_nonzero(falling > excess, axis=1)
    return np.maximum(rows - excess[np.arange(n), kept - 1][:, None], 0.0)


def tidied(problem: SoftProblem, point: Point) -> Point:
    """The same map or a cheaper one without shares that mean nothing, every group with some mass.

    Two groups whose members are alike are one group split by the toss of a coin, and any coin costs the same: so they
    share evenly. A group that has run empty gets half of the heaviest one, which costs nothing either.
    """
    for least in _NEGLIGIBLE:
        # The largest share of a state stays, small as it may be among many groups.
        bounds = np.minimum(least, point.weights.max(axis=1, keepdims=True))
        weights = np.where(point.weights < bounds, 0.0, point.weights)
        other = problem.at(weights / weights.sum(axis=1, keepdims=True))
        if least == _NEGLIGIBLE[-1] or other.cost <= point.cost:
            point = other
    evened = problem.at(_evened(problem.mu, point))
    return evened if evened.cost <= point.cost + EQUAL or not point.weights.any(axis=0).all() else point


def _evened(mu: Floats, point: Point) -> Floats:
    weights, masses = point.weights.copy(), point.masses
    if not masses.all():
        # Groups of weightless states are left alone: nothing can be said about who is alike.
        for empty in np.flatnonzero(~weights.any(axis=0)):
            heaviest = int(np.argmax(mu @ weights))
            weights[:, heaviest] /= 2.0
            weights[:, empty] = weights[:, heaviest]
        masses = mu @ weights
        if not masses.all():
            return weights
    laws = weights * mu[:, None] / masses
    left = list(range(masses.size))
    while left:
        alike = [y for y in left if np.abs(laws[:, y] - laws[:, left[0]]).sum() < 2.0 * _ALIKE]
        weights[:, alike] = weights[:, alike].mean(axis=1, keepdims=True)
        left = [y for y in left if y not in alike]
    return weights


def as_sparse(weights: Floats) -> sparse.csr_array:
    """Rows that sum to 1, as nearly as possible, without stored zeros."""
    return sparse.csr_array(weights / weights.sum(axis=1, keepdims=True))


def hardened(weights: sparse.csr_array) -> Labels:
    """The most probable group of each state, and no group empty.

    A group that is nobody's most probable one gets the state that favours it most, among those that are not alone in
    their group.

    >>> hardened(sparse.csr_array([[0.8, 0.2], [0.7, 0.3], [0.9, 0.1]]))
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
