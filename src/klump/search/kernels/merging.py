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
def _price(flow: Floats, fs: Floats, nu: Floats, alive: Shorts, n_alive: int, a: int, b: int) -> float:
    """Loss of I(Y1;Y2) when groups a and b become one; ``fs`` holds f of each entry of ``flow``."""
    change = 0.0
    for q in range(n_alive):
        z = alive[q]
        if z not in (a, b):
            change += _f(flow[a, z] + flow[b, z]) - fs[a, z] - fs[b, z]
            change += _f(flow[z, a] + flow[z, b]) - fs[z, a] - fs[z, b]
    change += _f(flow[a, a] + flow[a, b] + flow[b, a] + flow[b, b])
    change -= fs[a, a] + fs[a, b] + fs[b, a] + fs[b, b]
    change -= 2.0 * (_f(nu[a] + nu[b]) - _f(nu[a]) - _f(nu[b]))
    return -change


@njit(**KERNEL)
def merge_groups(flow: Floats, nu: Floats, target: int, group: Shorts) -> None:
    """Merge the cheapest pair until ``target`` groups are left; ``flow`` and ``nu`` are used up.

    ``group[y]`` (in: y itself) becomes the group that y ended in. Prices are re-evaluated only when they come
    to the top: a merge elsewhere changes them little, and what is cheapest is always evaluated anew.
    """
    k = nu.size
    fs = np.zeros((k, k))
    alive = np.zeros(k, np.int32)
    price = np.full((k, k), np.inf)
    fresh = np.zeros((k, k), np.int32)
    for a in range(k):
        alive[a] = a
        for b in range(k):
            fs[a, b] = _f(flow[a, b])
    n_alive = k
    for a in range(k):
        for b in range(a + 1, k):
            price[a, b] = _price(flow, fs, nu, alive, n_alive, a, b)
    round_number = 0
    while n_alive > target:
        best_a, best_b = -1, -1
        while True:
            least = np.inf
            for p in range(n_alive):
                for q in range(p + 1, n_alive):
                    if price[alive[p], alive[q]] < least:
                        best_a, best_b = alive[p], alive[q]
                        least = price[best_a, best_b]
            if fresh[best_a, best_b] == round_number:
                break
            price[best_a, best_b] = _price(flow, fs, nu, alive, n_alive, best_a, best_b)
            fresh[best_a, best_b] = round_number
        a, b = best_a, best_b
        for p in range(n_alive):
            flow[a, alive[p]] += flow[b, alive[p]]
        for p in range(n_alive):
            flow[alive[p], a] += flow[alive[p], b]
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
        round_number += 1
        for p in range(n_alive):
            z = alive[p]
            fs[a, z], fs[z, a] = _f(flow[a, z]), _f(flow[z, a])
        for p in range(n_alive):
            z = alive[p]
            if z != a:
                low, high = min(a, z), max(a, z)
                price[low, high] = _price(flow, fs, nu, alive, n_alive, low, high)
                fresh[low, high] = round_number
