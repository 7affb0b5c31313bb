"""Exhaustive enumeration of the partitions of few states, as restricted growth strings.

``labels[0] = 0`` and ``labels[x] <= 1 + max(labels[:x])``: groups are numbered in order of their first member, so that
each partition has one string. ``most[x] = max(labels[:x + 1])``.
"""

from __future__ import annotations

import numpy as np

from klump.compilation import inlined, kernel
from klump.search.kernels.logarithm import f
from klump.search.kernels.tables import Floats, Ints, Pairs, Weights


@inlined
def _cost(joint: Floats, mu: Floats, weights: Weights, labels: Ints, work: Floats) -> float:
    """Cost of labels, up to a constant; the rows of ``work`` are A (n), B (k) and nu (1)."""
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
    """Complete the string from ``begin`` on with zeros, and with new groups at its end if there are fewer than k."""
    n = labels.size
    for x in range(begin, n):
        before = most[x - 1] if x > 0 else -1
        labels[x] = before + 1 if k - 1 - before == n - x else 0
        most[x] = max(before, labels[x])


@inlined
def _next(labels: Ints, most: Ints, k: int) -> bool:
    """Replace the string by the next one with k groups in lexicographic order; False after the last."""
    n = labels.size
    for x in range(n - 1, 0, -1):
        label = labels[x] + 1
        if max(most[x - 1], label) + (n - 1 - x) < k - 1:
            # The states after x are too few to open all missing groups.
            label = most[x - 1] + 1
        if labels[x] < label <= min(most[x - 1] + 1, k - 1):
            labels[x], most[x] = label, max(most[x - 1], label)
            _complete(labels, most, x + 1, k)
            return True
    return False


@inlined
def _is_allowed(labels: Ints, mu: Floats, pairs: Pairs, mass: Floats) -> bool:
    """Whether labels satisfy the constraints; ``mass`` is scratch space."""
    for p in range(pairs.together.shape[0]):
        if labels[pairs.together[p, 0]] != labels[pairs.together[p, 1]]:
            return False
    for p in range(pairs.apart.shape[0]):
        if labels[pairs.apart[p, 0]] == labels[pairs.apart[p, 1]]:
            return False
    mass[:] = 0.0
    for x in range(labels.size):
        mass[labels[x]] += mu[x]
    lightest = np.inf
    for y in range(mass.size):
        lightest = min(lightest, mass[y])
    return lightest >= pairs.least[0]


@kernel
def cheapest_partition(
    joint: Floats,  # in: (n, n)
    mu: Floats,  # in
    weights: Weights,  # in
    pairs: Pairs,  # in: constraints
    equal: float,  # in: tie tolerance, in bits: among partitions whose costs differ by less, the first wins
    labels: Ints,  # work: (n,)
    most: Ints,  # work: (n,)
    work: Floats,  # work: (n + k + 1, k)
    best: Ints,  # out: (n,)
) -> int:
    """Find the cheapest partition into exactly k groups; returns the number of those that satisfy the constraints."""
    k = work.shape[1]
    least, seen = np.inf, 0
    _complete(labels, most, 0, k)
    more = True
    while more:
        if _is_allowed(labels, mu, pairs, work[0]):
            cost = _cost(joint, mu, weights, labels, work)
            seen += 1
            if cost < least - equal:
                least = cost
                for x in range(labels.size):
                    best[x] = labels[x]
        more = _next(labels, most, k)
    return seen
