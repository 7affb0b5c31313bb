"""Kernels on the flows of probability between the states of a sparse chain: balance, groups, sweeps."""

# mypy: disallow-untyped-decorators=False

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

Floats = NDArray[np.float64]
_LEAST = 1e-300  # stands for masses that a double cannot hold
Index = NDArray[Any]  # int32, or int64 in chains of more than 2**31 transitions


@njit(cache=True, nogil=True)
def balanced(
    indptr: Index,
    indices: Index,  # in: increasing within each row
    jumps: Floats,
) -> tuple[Floats, NDArray[np.int64], float]:
    """Masses (mantissas and exponents) that balance every flow with its reverse, and the worst misfit.

    Masses follow from a spanning tree of the graph; the other transitions tell whether they fit. The misfit is
    infinite if a transition has no reverse.
    """
    n = len(indptr) - 1
    mass, exponent = np.zeros(n), np.zeros(n, np.int64)
    queue = np.zeros(n, np.int64)
    mass[0] = 0.5
    found = 1
    for head in range(n):
        i = queue[head]
        for e in range(indptr[i], indptr[i + 1]):
            j = indices[e]
            if mass[j] == 0.0:
                reverse = _place(indptr, indices, j, i)
                if reverse < 0:
                    return mass, exponent, np.inf
                ratio, shift = math.frexp(jumps[e])
                below, shift_below = math.frexp(jumps[reverse])
                mass[j], carry = math.frexp(mass[i] * (ratio / below))
                exponent[j] = exponent[i] + shift - shift_below + carry
                queue[found] = j
                found += 1
    worst = 0.0
    for i in range(n):
        for e in range(indptr[i], indptr[i + 1]):
            j = indices[e]
            reverse = _place(indptr, indices, j, i)
            if reverse < 0:
                return mass, exponent, np.inf
            out, shift = math.frexp(mass[i] * jumps[e])
            home, shift_home = math.frexp(mass[j] * jumps[reverse])
            shift += exponent[i] - exponent[j] - shift_home
            worst = max(worst, abs(math.ldexp(out / home, int(min(max(shift, -9), 9))) - 1.0))
    return mass, exponent, worst


@njit(cache=True, nogil=True)
def imbalance(
    indptr: Index,
    indices: Index,  # in: increasing within each row
    probability: Floats,
    mass: Floats,
    most: float,
) -> float:
    """How far flows differ from their reverses, summed over all pairs of states; stops when that is too far."""
    total = 0.0
    for i in range(len(mass)):
        for e in range(indptr[i], indptr[i + 1]):
            j = indices[e]
            flow = mass[i] * probability[e]
            reverse = _place(indptr, indices, j, i)
            # What has no reverse counts from both sides.
            total += 2.0 * flow if reverse < 0 else abs(flow - mass[j] * probability[reverse])
        if total > most:
            break
    return total


@njit(cache=True, nogil=True)
def _place(indptr: Index, indices: Index, row: int, column: int) -> int:
    """Where a row holds a column, or -1."""
    low, high = indptr[row], indptr[row + 1]
    while low < high:
        middle = (low + high) // 2
        if indices[middle] < column:
            low = middle + 1
        else:
            high = middle
    return low if low < indptr[row + 1] and indices[low] == column else -1


@njit(cache=True, nogil=True)
def groups(
    indptr: Index,
    indices: Index,
    jumps: Floats,
    mass: Floats,
    enough: float,
    rounds: int,
    most: int,
) -> tuple[NDArray[np.int32], int]:
    """Join states along their largest flows, and number the groups that result.

    In each round every group that a step leaves with a probability above ``enough`` joins the one that its
    largest single flow leads to, unless together they have more than ``most`` members. What remains apart
    after many rounds are the sets that hold a walker for long.
    """
    n = len(mass)
    root = np.arange(n)
    for _ in range(rounds):
        inside, leaving, best = np.zeros(n), np.zeros(n), np.zeros(n)
        target, size = np.arange(n), np.zeros(n, np.int64)
        for i in range(n):
            here = root[i]
            held = max(mass[i], _LEAST)
            inside[here] += held
            size[here] += 1
            for e in range(indptr[i], indptr[i + 1]):
                there = root[indices[e]]
                if there != here:
                    flow = held * jumps[e]
                    leaving[here] += flow
                    if flow > best[here]:
                        best[here] = flow
                        target[here] = there
        joined = False
        for here in range(n):
            if leaving[here] > enough * inside[here]:
                a, b = _top(root, here), _top(root, target[here])
                if a != b and size[a] + size[b] <= most:
                    size[min(a, b)] += size[max(a, b)]
                    root[max(a, b)] = min(a, b)
                    joined = True
        for i in range(n):
            root[i] = _top(root, i)
        if not joined:
            break
    n_groups = 0
    number = np.zeros(n, np.int32)
    for i in range(n):
        if root[i] == i:
            number[i] = n_groups
            n_groups += 1
        else:
            number[i] = number[root[i]]
    return number, n_groups


@njit(cache=True, nogil=True)
def _top(root: NDArray[np.int64], i: int) -> int:
    while root[i] != i:
        root[i] = root[root[i]]
        i = root[i]
    return i


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract", "nsz"})
def sweep(
    indptr: Index,  # in: the transitions by target, that is the transpose
    indices: Index,
    jumps: Floats,
    mass: Floats,  # inout
    times: int,
) -> None:
    """Replace each mass in turn by the inflow, there and back again (symmetric Gauss-Seidel)."""
    n = len(mass)
    for step in range(2 * n * times):
        at = step % (2 * n)
        j = at if at < n else 2 * n - 1 - at
        inflow = 0.0
        for e in range(indptr[j], indptr[j + 1]):
            inflow += mass[indices[e]] * jumps[e]
        mass[j] = inflow
