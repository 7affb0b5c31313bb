"""Every partition of a few states, priced one by one."""

from __future__ import annotations

import numpy as np

from klump.compilation import inlined, kernel
from klump.search.kernels.logarithm import f
from klump.search.kernels.tables import Floats, Ints, Weights


@inlined
def _cost(joint: Floats, mu: Floats, weights: Weights, labels: Ints, work: Floats) -> float:
    """Cost of labels, up to a constant; ``work`` has room for A, B and nu."""
    n, k = mu.size, work.shape[1]
    work[:] = 0.0
    for i in range(n):
        work[n + k, labels[i]] += mu[i]
        for x in range(n):
            work[i, labels[x]] += joint[i, x]
        for y in range(k):
            work[n + labels[i], y] += work[i, y]
    into, flow, nu = 0.0, 0.0, 0.0
    for y in range(k):
        for i in range(n):
            into += f(work[i, y])
        for z in range(k):
            flow += f(work[n + z, y])
        nu += f(work[n + k, y])
    return weights.into * into - weights.flow * flow + nu


@inlined
def _complete(labels: Ints, most: Ints, begin: int, k: int) -> None:
    """Put the states from ``begin`` on into the first group, but for those at the end that k groups still need."""
    n = labels.size
    for x in range(begin, n):
        so_far = most[x - 1] if x > 0 else -1
        labels[x] = so_far + 1 if k - 1 - so_far == n - x else 0
        most[x] = max(so_far, labels[x])


@inlined
def _next(labels: Ints, most: Ints, k: int) -> bool:
    """Go on to the next partition into k groups, which are numbered as they appear; False after the last."""
    n = labels.size
    for x in range(n - 1, 0, -1):
        label = labels[x] + 1
        if max(most[x - 1], label) + (n - 1 - x) < k - 1:
            label = most[x - 1] + 1  # too few states are left for anything but a new group
        if labels[x] < label <= min(most[x - 1] + 1, k - 1):
            labels[x], most[x] = label, max(most[x - 1], label)
            _complete(labels, most, x + 1, k)
            return True
    return False


@kernel
def cheapest(
    joint: Floats,  # in: (n, n)
    mu: Floats,  # in
    weights: Weights,  # in
    equal: float,  # in: a partition must be cheaper by more than this to take the place of an earlier one
    labels: Ints,  # work: (n,)
    most: Ints,  # work: (n,)
    work: Floats,  # work: (n + k + 1, k)
    best: Ints,  # out: (n,)
) -> int:
    """Find the cheapest partition into exactly k groups; returns how many there are."""
    k = work.shape[1]
    least, seen = np.inf, 0
    _complete(labels, most, 0, k)
    going = True
    while going:
        cost = _cost(joint, mu, weights, labels, work)
        seen += 1
        if cost < least - equal:
            least = cost
            for x in range(labels.size):
                best[x] = labels[x]
        going = _next(labels, most, k)
    return seen
