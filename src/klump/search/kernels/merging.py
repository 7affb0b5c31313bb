"""Greedy merging of groups at beta = 1/2, where the cost of a merge follows from B and nu alone."""

from __future__ import annotations

import numpy as np
from numba import njit

from klump.search.kernels.options import KERNEL
from klump.search.kernels.tables import Floats, Shorts


@njit(**KERNEL)
def _f(t: float) -> float:
    return t * np.log2(t) if t > 0.0 else 0.0


@njit(**KERNEL)
def _meeting(flow: Floats, fs: Floats, a: int, b: int, z: int) -> float:
    """Change of sum f(B) in the entries that groups a and b share with a third one when they become one."""
    change = _f(flow[a, z] + flow[b, z]) - fs[a, z] - fs[b, z]
    return change + _f(flow[z, a] + flow[z, b]) - fs[z, a] - fs[z, b]


@njit(**KERNEL)
def _price(flow: Floats, fs: Floats, nu: Floats, alive: Shorts, n_alive: int, a: int, b: int) -> float:
    """Loss of I(Y1;Y2) when groups a and b become one; ``fs`` holds f of each entry of ``flow``."""
    change = 0.0
    for q in range(n_alive):
        z = alive[q]
        if z != a and z != b:
            change += _meeting(flow, fs, a, b, z)
    change += _f(flow[a, a] + flow[a, b] + flow[b, a] + flow[b, b])
    change -= fs[a, a] + fs[a, b] + fs[b, a] + fs[b, b]
    change -= 2.0 * (_f(nu[a] + nu[b]) - _f(nu[a]) - _f(nu[b]))
    return -change


@njit(**KERNEL)
def _join(flow: Floats, fs: Floats, alive: Shorts, n_alive: int, a: int, b: int) -> None:
    """Add row and column b of B to a."""
    for q in range(n_alive):
        flow[a, alive[q]] += flow[b, alive[q]]
    for q in range(n_alive):
        flow[alive[q], a] += flow[alive[q], b]
    for q in range(n_alive):
        z = alive[q]
        fs[a, z], fs[z, a] = _f(flow[a, z]), _f(flow[z, a])


@njit(**KERNEL)
def merge_groups(flow: Floats, nu: Floats, target: int, group: Shorts) -> None:
    """Merge the cheapest pair until ``target`` groups are left; ``flow`` and ``nu`` are used up.

    ``group[y]`` (in: y itself) becomes the group that y ended in. A merge changes the price of another pair only
    where that pair meets the merged groups, so that all prices stay exact at a constant effort for each.
    """
    k = nu.size
    fs, price, alive = np.zeros((k, k)), np.full((k, k), np.inf), np.zeros(k, np.int32)
    for a in range(k):
        alive[a] = a
        for b in range(k):
            fs[a, b] = _f(flow[a, b])
    n_alive = k
    for a in range(k):
        for b in range(a + 1, k):
            price[a, b] = _price(flow, fs, nu, alive, n_alive, a, b)
    while n_alive > target:
        a, b = alive[0], alive[1]
        for p in range(n_alive):
            for q in range(p + 1, n_alive):
                if price[alive[p], alive[q]] < price[a, b]:
                    a, b = alive[p], alive[q]
        for sign in (
            1.0,
            -1.0,
        ):  # what other pairs shared with a and b, then what they share with both in one
            for p in range(n_alive):
                for q in range(p + 1, n_alive):
                    c, d = alive[p], alive[q]
                    if c != a and c != b and d != a and d != b:
                        price[c, d] += sign * _meeting(flow, fs, c, d, a)
                        if sign > 0.0:
                            price[c, d] += _meeting(flow, fs, c, d, b)
            if sign > 0.0:
                _join(flow, fs, alive, n_alive, a, b)
        nu[a] += nu[b]
        kept = 0
        for p in range(n_alive):
            if alive[p] != b:
                alive[kept] = alive[p]
                kept += 1
        n_alive = kept
        for y in range(k):
            if group[y] == b:
                group[y] = a
        for p in range(n_alive):
            z = alive[p]
            if z != a:
                price[min(a, z), max(a, z)] = _price(flow, fs, nu, alive, n_alive, min(a, z), max(a, z))
