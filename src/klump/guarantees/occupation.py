"""Bounds on reaching a label from the initial distribution, by how often the chain visits each state.

With v_j any guess of the probability of reaching the target within j steps, per group, and v_j = 1 on the target, the
error of the guess from the initial distribution a is a sum over the states x outside of the target:

    P(target within t steps) - v_t(a) = sum over s < t of sum over x of pi_s(x) r_t-s(x),
    r_j(x) = ((P W) v_j-1)(x) - v_j(g(x)),

with pi_s(x) the probability of being in x at time s without having reached the target. The stationary distribution of
a chain that restarts at a with probability p is the discounted occupation of the states: y = mu / p solves
y = a + (1 - p) y P, so that pi_s(x) summed over s with the weights (1 - p)^s is at most y(x). Hence the error is at
most the sum of y(x) max over s of (1 - p)^-s r_t-s(x). States that are rarely visited hardly count, unlike in
:mod:`klump.guarantees.reachability`, where an adversary chooses the states. Any y >= a + (1 - p) y P will do, which is
verified.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from klump.chain.restart_record import Restart
from klump.guarantees.group_rows import UNIT, GroupRows, can_reach

Vector = NDArray[np.float64]

# Relative margins of the discount 1 - p, for the rounding errors of the stationary distribution; the first that holds.
_MARGINS = (1e-9, 1e-6)
# Largest weight (1 - p)^-t: beyond it the bound is void.
_MAX_WEIGHT = 1e4
# Numbers of steps after which the tail is cut off, in units of 1 / p.
_HORIZONS = (0.3, 0.6, 1.2, 2.5)
# Largest number of steps after which the tail is cut off.
_MAX_HORIZON = 2000


class Occupation(NamedTuple):
    """Upper bounds on the discounted number of visits from the initial distribution."""

    visits: Vector
    """Bound per state on the sum over s of discount^s P(X_s = x)."""
    discount: float
    """Slightly less than 1 - p."""


def bound_occupation(
    mass: Vector, initial: Vector, restart: Restart, blocks: Iterable[tuple[slice, Any]]
) -> Occupation | None:
    """Bound the visits by the stationary distribution of the restarted chain; None if it does not restart at initial.

    Parameters
    ----------
    mass
        Stationary distribution.
    initial
        Initial distribution.
    restart
        The restart.
    blocks
        Row blocks of the transition matrix before the restart.
    """
    visits, n = mass.copy(), len(mass)
    visits[restart.added] = 0.0
    dead, p = restart.dead_ends, restart.probability
    visits[dead] /= p  # absorbing before the restart, but left at once after it
    arrivals = np.zeros(n)
    for rows, block in blocks:
        arrivals += visits[rows] @ block
    arrivals *= 1.0 + 4.0 * n * UNIT
    support = initial > 0.0
    for margin in _MARGINS:
        discount = (1.0 - p) * (1.0 - margin)
        injected = visits - discount * arrivals
        scale = float((injected[support] / initial[support]).min()) * (1.0 - 8.0 * UNIT)
        if scale > 0.0 and (injected[~support] >= 0.0).all():
            return Occupation(visits / scale * (1.0 + 4.0 * UNIT), discount)
    return None


def bound_from_initial(
    rows: GroupRows,
    matrix: Any,
    target: NDArray[np.bool_],
    steps: int | None,
    initial: Vector,
    occupation: Occupation,
) -> tuple[float, float]:
    """Bound the probability of reaching the target from the initial distribution.

    Parameters
    ----------
    rows
        P W; ``occupation`` has the states in the same order.
    matrix
        Transition matrix of the aggregated chain, which makes the guesses.
    target
        Groups of the target.
    steps
        Number of steps; None: ever.
    initial
        Initial distribution of the groups.
    occupation
        Bounds on the visits of each state.
    """
    rate = 1.0 - occupation.discount
    if steps is not None and occupation.discount**-steps <= _MAX_WEIGHT:
        return _within(rows, matrix, target, steps, initial, occupation)
    decided = target | ~can_reach(rows, target)
    lower, upper = 0.0, 1.0
    horizons = {min(int(factor / rate), _MAX_HORIZON) for factor in _HORIZONS}
    for horizon in sorted(horizons):
        if horizon < 1 or (steps is not None and horizon > steps):
            continue
        least, most = _within(rows, matrix, target, horizon, initial, occupation)
        # What is not decided by then may still reach the target.
        open_mass = 1.0 - _within(rows, matrix, decided, horizon, initial, occupation)[0]
        lower, upper = max(lower, least), min(upper, most + open_mass)
    return lower, upper


def _within(
    rows: GroupRows,
    matrix: Any,
    target: NDArray[np.bool_],
    steps: int,
    initial: Vector,
    occupation: Occupation,
) -> tuple[float, float]:
    slack = rows.rounding + 1.01 * rows.defect + 4.0 * UNIT
    outside = ~target[rows.group]
    most, least = np.zeros(len(rows.group)), np.zeros(len(rows.group))
    guess = target.astype(np.float64)
    for step in range(1, steps + 1):
        following = np.where(target, 1.0, matrix @ guess)
        residual = rows.matrix @ guess - following[rows.group]
        weight = occupation.discount ** (step - steps) * (1.0 + 8.0 * UNIT)
        np.maximum(most, (residual + slack) * weight, out=most)
        np.maximum(least, (slack - residual) * weight, out=least)
        guess = following
    rounding = 1.0 + 4.0 * len(rows.group) * UNIT
    value = float(initial @ guess)
    margin = 4.0 * len(initial) * UNIT
    visits = np.where(outside, occupation.visits, 0.0)
    return (
        max(0.0, value - margin - float(visits @ least) * rounding),
        min(1.0, value + margin + float(visits @ most) * rounding),
    )
