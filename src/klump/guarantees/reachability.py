"""Bounds on the probability of reaching a label, for every state of every group.

Within t steps: with l_0 = u_0 = 1 on the target and 0 elsewhere,

    l_t(y) = min over x in y of ((P W) l_t-1)(x),    u_t(y) = max over x in y of ((P W) u_t-1)(x),

and 1 on the target. By induction the probability from every state of y is in [l_t(y), u_t(y)]; so is that of the
aggregated chain, whose rows are means of rows of P W. The interval is never wider than by the coupling bound,
1 - (1 - epsilon)^t, but it takes the target into account.

Ever: the limits l and u are the smallest and the largest probability of reaching the target in a Markov decision
process (:mod:`klump.guarantees.group_rows`). Strategy iteration solves for them with a small relative margin in every
equation, and the solution is verified: w >= max over x of ((P W) w)(x) bounds u from above, and
v <= min over x of ((P W) v)(x) bounds l from below if no strategy avoids the target where v > 0. Transitions within a
group, and within an end component for u, are eliminated before, so that it does not matter how long the chain stays
there.

All bounds are rounded outwards, and hold for the chain with rows divided by their sums.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from klump.guarantees.group_rows import UNIT, GroupRows, can_avoid, can_reach, end_components, sort_rows

Vector = NDArray[np.float64]

# Number of steps from which on the probability of ever reaching the target limits that of reaching it in time.
_MANY_STEPS = 1000
# Operations after which the bounds of later steps are those of this step, and of ever reaching the target.
_MAX_OPERATIONS = 1e11
# Operations per step beside those of the product, about 10 microseconds.
_STEP_OPERATIONS = 1e4
# Relative and absolute margins of the equations, per rounding error of a row; the first that can be verified.
_MARGINS = ((8.0, 0.0), (8.0, 8.0), (1e3, 1e3), (1e6, 1e6))
# Largest number of improvements of a strategy; mostly a few suffice.
_MAX_IMPROVEMENTS = 200
# Groups up to which linear systems and powers are dense.
_MAX_DENSE = 1500
# Steps of the lower bound of reaching the target ever, if no solution can be verified.
_FALLBACK_STEPS = 10_000


@dataclass(frozen=True, eq=False)
class Reachability:
    """Probability of reaching a label: bounds, and the value of the aggregated chain.

    Examples
    --------
    >>> from klump import Aggregation, MarkovChain
    >>> P = [[0.0, 0.5, 0.4, 0.1], [0.0, 0.3, 0.5, 0.2], [0, 0, 1, 0], [0, 0, 0, 1]]
    >>> chain = MarkovChain(P, labels={"goal": [2]}, initial=0, restart=0.1)
    >>> found = Aggregation.from_labels(chain, [0, 0, 1, 2]).reachability("goal")
    >>> print(f"{found.lower:.4f} {found.estimate:.4f} {found.upper:.4f}")
    0.7143 0.7603 0.8000
    """

    label: str
    """The label."""
    steps: int | None
    """Number of steps; None: ever."""
    lower: float
    """Lower bound from the initial distribution, or from every one if it is not known."""
    upper: float
    """Upper bound."""
    estimate: float
    """Probability of the aggregated chain; NaN without an initial or a stationary distribution."""
    lower_by_group: Vector = field(repr=False)
    """Lower bound from every state of each group."""
    upper_by_group: Vector = field(repr=False)
    """Upper bound from every state of each group."""
    estimate_by_group: Vector = field(repr=False)
    """Probability of the aggregated chain from each group."""

    def __post_init__(self) -> None:
        for array in (self.lower_by_group, self.upper_by_group, self.estimate_by_group):
            array.flags.writeable = False


class Bounds(NamedTuple):
    """Lower and upper bounds per group."""

    lower: Vector
    upper: Vector


def bound_within(rows: GroupRows, target: NDArray[np.bool_], steps: int) -> Bounds:
    """Bound the probability of reaching the target within a number of steps, per group."""
    slack = rows.rounding + 1.01 * rows.defect
    most = int(min(steps, _MAX_OPERATIONS / (rows.matrix.nnz + _STEP_OPERATIONS)))
    ceiling = _upper_ever(rows, target) if steps > min(most, _MANY_STEPS) else np.ones(rows.n_groups)
    lower = upper = target.astype(np.float64)
    for _ in range(most):
        next_lower = np.minimum.reduceat(rows.matrix @ lower, rows.starts) * (1.0 - slack)
        next_upper = np.maximum.reduceat(rows.matrix @ upper, rows.starts) * (1.0 + slack)
        # Both increase in the number of steps; only rounding may keep them from it.
        next_lower = np.where(target, 1.0, np.maximum(next_lower, lower))
        next_upper = np.where(target, 1.0, np.minimum(next_upper, ceiling))
        if np.array_equal(next_lower, lower) and np.array_equal(next_upper, upper):
            return Bounds(lower, upper)
        lower, upper = next_lower, next_upper
    return Bounds(lower, upper if most == steps else ceiling)


def bound_ever(rows: GroupRows, target: NDArray[np.bool_]) -> Bounds:
    """Bound the probability of ever reaching the target, per group."""
    return Bounds(_lower_ever(rows, target), _upper_ever(rows, target))


def reach(matrix: sparse.csr_array, target: NDArray[np.bool_], steps: int | None) -> Vector:
    """Probability of reaching the target in a chain within a number of steps, or ever; not rounded outwards."""
    k = matrix.shape[0]
    rows = sort_rows(matrix, np.arange(k), k, 1)
    if steps is not None and steps > _MANY_STEPS and k <= _MAX_DENSE:
        absorbing = np.where(target[:, None], np.eye(k), matrix.toarray())
        return np.asarray(np.linalg.matrix_power(absorbing, steps)[:, target].sum(axis=1))
    if steps is not None:
        return bound_within(rows._replace(rounding=0.0, defect=0.0), target, steps).lower
    reached = can_reach(rows, target)
    jumps = _jump_rows(rows, np.arange(k), reached & ~target, target)
    solution = None if jumps is None else _evaluate(jumps, jumps.starts, 1.0, 0.0)
    if jumps is None or solution is None:
        found = bound_ever(rows, target)
        return np.asarray((found.lower + found.upper) / 2.0)
    return np.clip(jumps.expand(solution, target), 0.0, 1.0)


class _JumpRows(NamedTuple):
    """Rows conditioned on leaving their component: J[x, z] = A[x, z] / sum of A[x, :] outside of the own component."""

    matrix: sparse.csr_array
    """J, one row per action, sorted by component, one column per component that is neither target nor of value 0."""
    gain: Vector
    """Conditional probability of the target, per action."""
    component: NDArray[np.intp]
    """Component of each action."""
    starts: NDArray[np.intp]
    """First action of each component."""
    number: NDArray[np.intp]
    """Component of each group; -1 for others."""
    rounding: float
    """Bound on the relative rounding error of J v + gain for v >= 0."""

    def expand(self, values: Vector, target: NDArray[np.bool_]) -> Vector:
        """Values per group from those per component."""
        inner = self.number >= 0
        result = target.astype(np.float64)
        result[inner] = values[self.number[inner]]
        return result


def _jump_rows(
    rows: GroupRows, component: NDArray[np.intp], inner: NDArray[np.bool_], target: NDArray[np.bool_]
) -> _JumpRows | None:
    """Rows of the groups ``inner``, whose values are unknown; None if there are none."""
    if not inner.any():
        return None
    number = np.full(rows.n_groups, -1, dtype=np.intp)
    number[inner] = np.unique(component[inner], return_inverse=True)[1].ravel()
    entries = sparse.coo_array(rows.matrix)
    own, other = number[rows.group[entries.row]], number[entries.col]
    used = (own >= 0) & (own != other)
    row, col, data = entries.row[used], entries.col[used], entries.data[used]
    leaving = np.bincount(row, data, minlength=len(rows.group))
    actions = np.flatnonzero(leaving > 0.0)
    actions = actions[np.argsort(number[rows.group[actions]], kind="stable")]
    place = np.full(len(rows.group), -1, dtype=np.intp)
    place[actions] = np.arange(len(actions))
    share = data / leaving[row]
    gain = np.bincount(place[row], share * target[col], minlength=len(actions)).astype(np.float64)
    unknown = number[col] >= 0
    m = int(number.max()) + 1
    matrix = sparse.csr_array(
        (share[unknown], (place[row[unknown]], number[col[unknown]])), shape=(len(actions), m)
    )
    of_action = number[rows.group[actions]]
    starts = np.searchsorted(of_action, np.arange(m)).astype(np.intp)
    rounding = 2.0 * rows.rounding + 8.0 * UNIT
    return _JumpRows(matrix, gain, of_action, starts, number, rounding)


def _upper_ever(rows: GroupRows, target: NDArray[np.bool_]) -> Vector:
    inner = can_reach(rows, target) & ~target
    jumps = _jump_rows(rows, end_components(rows, inner), inner, target)
    if jumps is None:
        return target.astype(np.float64)
    for relative, absolute in _MARGINS:
        scale, shift = 1.0 + relative * jumps.rounding, absolute * jumps.rounding
        values = _iterate_strategies(jumps, np.maximum, scale, shift)
        if values is None or (values < 0.0).any():
            continue
        values = np.minimum(values, 1.0)
        after = (jumps.matrix @ values + jumps.gain) * (1.0 + jumps.rounding)
        if (np.minimum(after, 1.0) <= values[jumps.component]).all():
            return jumps.expand(values, target)
    return jumps.expand(np.ones(len(jumps.starts)), target)


def _lower_ever(rows: GroupRows, target: NDArray[np.bool_]) -> Vector:
    inner = ~can_avoid(rows, target) & ~target
    jumps = _jump_rows(rows, np.arange(rows.n_groups), inner, target)
    if jumps is None:
        return target.astype(np.float64)
    for relative, absolute in _MARGINS:
        scale, shift = 1.0 - relative * jumps.rounding, -absolute * jumps.rounding
        values = _iterate_strategies(jumps, np.minimum, scale, shift)
        if values is None:
            continue
        values = np.clip(values, 0.0, 1.0)
        after = (jumps.matrix @ values + jumps.gain) * (1.0 - jumps.rounding)
        if (after >= values[jumps.component]).all():
            return jumps.expand(values, target)
    return _fall_back(jumps, target)


def _fall_back(jumps: _JumpRows, target: NDArray[np.bool_]) -> Vector:
    """Lower bound on ever reaching the target: that of a number of jumps."""
    values = np.zeros(len(jumps.starts))
    for _ in range(_FALLBACK_STEPS):
        after = (jumps.matrix @ values + jumps.gain) * (1.0 - jumps.rounding)
        values = np.maximum(values, np.minimum.reduceat(after, jumps.starts))
    return jumps.expand(values, target)


def _iterate_strategies(jumps: _JumpRows, best: np.ufunc, scale: float, shift: float) -> Vector | None:
    """Solve w(c) = scale (best over actions x of c of (J w + gain)(x)) + shift; None if it cannot be solved.

    Every strategy leaves the unknown components with probability 1, so that any one may be the first.
    """
    sign = 1.0 if best is np.maximum else -1.0
    strategy = _choose(jumps, jumps.gain, best)
    for _ in range(_MAX_IMPROVEMENTS):
        values = _evaluate(jumps, strategy, scale, shift)
        if values is None:
            return None
        after = jumps.matrix @ values + jumps.gain
        chosen = _choose(jumps, after, best)
        improves = sign * (after[chosen] - after[strategy]) > jumps.rounding * after[strategy]
        if not improves.any():
            return values
        strategy = np.where(improves, chosen, strategy)
    return values


def _choose(jumps: _JumpRows, after: Vector, best: np.ufunc) -> NDArray[np.intp]:
    """First of the best actions of each component."""
    optimal = best.reduceat(after, jumps.starts)
    ties = np.flatnonzero(after == optimal[jumps.component])
    return ties[np.searchsorted(jumps.component[ties], np.arange(len(jumps.starts)))]


def _evaluate(jumps: _JumpRows, strategy: NDArray[np.intp], scale: float, shift: float) -> Vector | None:
    """Solve w = scale (J w + gain) + shift for the actions of a strategy; None if the system is singular."""
    m = len(strategy)
    system = sparse.csc_array(sparse.eye_array(m) - scale * jumps.matrix[strategy])
    right = scale * jumps.gain[strategy] + shift
    try:
        solve = _factorize(system)
        values = solve(right)
        # One step of iterative refinement makes small values accurate, too.
        values = values + solve(right - system @ values)
    except (np.linalg.LinAlgError, RuntimeError):
        return None
    return values if np.isfinite(values).all() else None


def _factorize(system: sparse.csc_array) -> Callable[[Vector], Vector]:
    """Solver of a linear system; raise LinAlgError or RuntimeError if it is singular."""
    if system.shape[0] <= _MAX_DENSE:
        inverse = np.linalg.inv(system.toarray())
        return lambda right: np.asarray(inverse @ right)
    from scipy.sparse.linalg import splu

    solve: Callable[[Vector], Vector] = splu(system).solve
    return solve
