"""Upper bounds of the change of sum f(B) when a state joins each group.

A state adds ``r`` to the entry ``b`` of a row of B (see ``Flow``). With ``d = log2 b - log2 r``::

    f(b + r) - f(b) = r (log2 r + G(d)),    G(d) = (1 + 2^d) log2(1 + 2^d) - 2^d d.

G is convex and increasing, from 0 to ``d + log2 e``, so it lies below its chords: a bound without a logarithm.
"""

from __future__ import annotations

import itertools
import math

import numpy as np

from klump.compilation import inlined
from klump.search.kernels.logarithm import LOG2_E, SMALLEST, f, fast_log2, least_log2
from klump.search.kernels.tables import IN, OUT, Flow, Group, Table, Weights, Work

# Largest entropy of three terms, in bits.
LOG2_3 = math.log2(3.0)
# Values of d between which G is replaced by chords; a constant below the first, slope 1 above the last.
_NODES = (-4.0, 1.5, 7.0)


def _g(d: float) -> float:
    u = 2.0**d
    return (1.0 + u) * math.log2(1.0 + u) - u * d


def _chords() -> list[tuple[float, float]]:
    """Slope and value at 0 of each line; the largest line is at least G for every d."""
    chords = [(0.0, _g(_NODES[0]))]
    for d, e in itertools.pairwise(_NODES):
        slope = (_g(e) - _g(d)) / (e - d)
        chords.append((slope, _g(d) - slope * d))
    return [*chords, (1.0, _g(_NODES[-1]) - _NODES[-1])]


CHORDS = _chords()
# The chords in float32; the slopes of the first and the last are 0 and 1.
_LEVEL0 = np.float32(CHORDS[0][1])
_SLOPE1 = np.float32(CHORDS[1][0])
_LEVEL1 = np.float32(CHORDS[1][1])
_SLOPE2 = np.float32(CHORDS[2][0])
_LEVEL2 = np.float32(CHORDS[2][1])
_LEVEL3 = np.float32(CHORDS[3][1])
# Twice the relative rounding error of a float32 operation.
_ROUNDING = 2.0**-23
# Float32 operations per term of a bound, at most.
_OPERATIONS = 8


@inlined
def bound_leaving(b: Flow, home: int, loop: float, work: Work) -> float:
    """Upper bound of the change of sum f(B) when the state leaves group ``home``.

    With ``u = r / b``: ``f(b - r) - f(b) <= -r (log2 b + log2(e) (1 - u / 2 - u^2 / 2))``.
    """
    k, total = b.counts.shape[0], 0.0
    for way in range(2):
        row = (1 - way) * k + home
        for q in range(work.n_linked[way]):
            z = np.int64(work.groups[way, q])
            if z != home:
                total -= _least_loss(b.mass[row, z], b.log[row, z], work.mass[way, z])
    within = work.mass[OUT, home] + work.mass[IN, home] + loop
    return total - _least_loss(b.mass[2 * k, home], b.log[2 * k, home], within)


@inlined
def _least_loss(b: float, log: float, r: float) -> float:
    """Lower bound of ``f(b) - f(b - r)``."""
    # Rounding errors may have made b smaller than r.
    u = min(r / max(b, SMALLEST), 1.0)
    return r * (log + LOG2_E * (1.0 - 0.5 * u - 0.5 * u * u))


@inlined
def bound_b(b: Flow, loop: float, work: Work) -> None:
    """Fill ``work.gain_b`` for every group: ``sum r log2 r + sum r G(d)``, the second sum in float32."""
    k, mass, log, size = b.counts.shape[0], work.buffer[0], work.buffer[1], 1
    mass[0] = loop
    for way in range(2):
        for q in range(work.n_linked[way]):
            mass[size] = work.mass[way, work.groups[way, q]]
            size += 1
    total, constant = 0.0, 0.0
    for j in range(size):
        log[j] = fast_log2(max(mass[j], SMALLEST))
        total += mass[j]
        # The slopes are at most 1, and 0 below d = -4; above, abs(d) <= max(4, -log2 r). So rounding errors of log2 r
        # and d change a line by less than _ROUNDING (8 - 2 log2 r).
        constant += mass[j] * (log[j] + _ROUNDING * (8.0 - 2.0 * log[j]))
    inverse = 1.0 / max(total, SMALLEST)
    work.rough[0] = np.float32(0.0)
    if loop > 0.0:
        _add_row(b, 2 * k, loop * inverse, log[0], work)
    j = 1
    for way in range(2):
        for q in range(work.n_linked[way]):
            _add_row(b, way * k + np.int64(work.groups[way, q]), mass[j] * inverse, log[j], work)
            j += 1
    # All terms are positive: the relative error of the sum is that of its terms and its additions.
    total *= 1.0 + (size + _OPERATIONS) * _ROUNDING
    for y in range(work.gain_b.size):
        work.gain_b[y] = constant + total * np.float64(work.rough[0, y])
    _correct_diagonal(b, loop, work)


@inlined
def _add_row(b: Flow, row: int, share: float, log: float, work: Work) -> None:
    """Add the bound of ``share G(d)`` for each entry of a row of B, with ``share = r / total`` and ``log = log2 r``."""
    rough_share, rough_log, log_b, rough = np.float32(share), np.float32(log), b.rough_log[row], work.rough[0]
    for y in range(rough.size):
        d = log_b[y] - rough_log
        low = max(_SLOPE1 * d + _LEVEL1, _LEVEL0)
        high = max(_SLOPE2 * d + _LEVEL2, d + _LEVEL3)
        rough[y] += rough_share * max(low, high)


@inlined
def _correct_diagonal(b: Flow, loop: float, work: Work) -> None:
    """Correct the bounds where links in both directions and the loop add to the same entry ``b = B[y, y]``.

    By the curvature ``log2(e) / b`` of f, their sum exceeds the separate changes by at most
    ``log2(e) (OUT IN + OUT loop + IN loop) / b``, and by ``log2(3) (OUT + IN + loop)`` if b is zero.
    """
    diagonal = 2 * b.counts.shape[0]
    for way in range(2):
        for q in range(work.n_linked[way]):
            y = np.int64(work.groups[way, q])
            out, into = work.mass[OUT, y], work.mass[IN, y]
            if way == IN and work.counts[OUT, y] > 0:
                continue
            product = loop * (out + into) + out * into
            if product > 0.0:
                curvature = LOG2_E * product / max(b.mass[diagonal, y], SMALLEST)
                work.gain_b[y] += min(curvature, LOG2_3 * (out + into + loop))


@inlined
def bound_join_nu(table: Table, y: int, mu: float, least_rise: float) -> float:
    """Lower bound of the change of sum f(nu) when a state joins group y; ``least_rise`` is that of an empty group.

    With ``u = mu / nu``: ``f(nu + mu) - f(nu) >= mu (log2 nu + log2(e) (1 + u / 2 - u^2 / 6))``, which grows up to 1.
    """
    u = min(mu * table.inverse_nu[y], 1.0)
    return max(mu * (table.nu_log[y] + LOG2_E * (1.0 + u * (0.5 - u * (1.0 / 6.0)))), least_rise)


@inlined
def bound_joining_linked(
    table: Table, weights: Weights, leave: float, mu: float, home: int, loop: float, work: Work
) -> float:
    """Bound the price of moving to each group that the state has links with, for ``NoA``.

    Returns a lower bound of the price of joining any group without links, that is, without the change on leaving. The
    time does not depend on the number of groups.
    """
    b, k = table.b, table.b.counts.shape[0]
    # f(b + r) - f(b) increases with b: the largest entry of a row bounds the row.
    elsewhere = f(b.most[2 * k] + loop) - f(b.most[2 * k])
    for way in range(2):
        for q in range(work.n_linked[way]):
            z = np.int64(work.groups[way, q])
            most = b.most[way * k + z]
            elsewhere += f(most + work.mass[way, z]) - f(most)
    _price_linked(b, loop, work)
    _correct_diagonal(b, loop, work)
    least_rise = mu * least_log2(mu)
    for way in range(2):
        for q in range(work.n_linked[way]):
            y = np.int64(work.groups[way, q])
            rise = bound_join_nu(table, y, mu, least_rise)
            work.bound[y] = leave + rise - weights.flow * work.gain_b[y]
    work.bound[home] = np.inf
    return f(table.lightest[0] + mu) - f(table.lightest[0]) - weights.flow * elsewhere


@inlined
def _price_linked(b: Flow, loop: float, work: Work) -> None:
    """Fill ``work.gain_b`` for the groups with links: exact if no entry of B changes twice."""
    k = b.counts.shape[0]
    for side in range(2):
        for s in range(work.n_linked[side]):
            y = np.int64(work.groups[side, s])
            if side == IN and work.counts[OUT, y] > 0:
                continue
            argument, size, before = work.buffer[0], 0, b.mass[2 * k, y] * b.log[2 * k, y]
            for way in range(2):
                for q in range(work.n_linked[way]):
                    z = np.int64(work.groups[way, q])
                    before += b.mass[way * k + z, y] * b.log[way * k + z, y]
                    argument[size] = b.mass[way * k + z, y] + work.mass[way, z]
                    size += 1
            gain = f(b.mass[2 * k, y] + loop) - before
            for j in range(size):
                gain += f(argument[j])
            work.gain_b[y] = gain


@inlined
def least_linked(work: Work) -> tuple[float, Group]:
    """Find the lowest bound among the groups with links, and its group; the lowest number in a tie."""
    bound, at = np.inf, np.int64(-1)
    for way in range(2):
        for q in range(work.n_linked[way]):
            y = np.int64(work.groups[way, q])
            if work.bound[y] < bound or (work.bound[y] == bound and y < at):
                bound, at = work.bound[y], y
    return bound, at
