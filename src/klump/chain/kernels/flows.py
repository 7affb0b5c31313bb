"""Kernels on the probability flows of a sparse chain: detailed balance, aggregation, Gauss-Seidel sweeps."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from klump.compilation import kernel

Floats = NDArray[np.float64]
Index = NDArray[Any]  # int32, or int64 in chains of more than 2**31 transitions

# Substitute for masses that underflow float64, so that their flows stay positive.
_MIN_MASS = 1e-300


@kernel(fastmath=False)
def solve_balance(
    indptr: Index,  # in
    indices: Index,  # in: increasing within each row
    jumps: Floats,  # in: transition probabilities of a chain without self-transitions
) -> tuple[Floats, NDArray[np.int64], float]:
    """Masses (mantissas and exponents) in detailed balance, and max |m_i p_ij / (m_j p_ji) - 1|.

    Masses follow from a breadth-first spanning tree; the residual is over all transitions, and infinite if one has no
    reverse.
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
                reverse = _find_entry(indptr, indices, j, i)
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
            reverse = _find_entry(indptr, indices, j, i)
            if reverse < 0:
                return mass, exponent, np.inf
            out, shift = math.frexp(mass[i] * jumps[e])
            home, shift_home = math.frexp(mass[j] * jumps[reverse])
            shift += exponent[i] - exponent[j] - shift_home
            worst = max(worst, abs(math.ldexp(out / home, int(min(max(shift, -9), 9))) - 1.0))
    return mass, exponent, worst


@kernel(fastmath=False)
def balance_residual(
    indptr: Index,  # in
    indices: Index,  # in: increasing within each row
    probability: Floats,  # in
    mass: Floats,  # in: (n,)
    limit: float,  # in
) -> float:
    """Sum of |m_i p_ij - m_j p_ji| over all ordered pairs; stops early once it exceeds ``limit``."""
    total = 0.0
    for i in range(len(mass)):
        for e in range(indptr[i], indptr[i + 1]):
            j = indices[e]
            flow = mass[i] * probability[e]
            reverse = _find_entry(indptr, indices, j, i)
            # A pair without a reverse transition is visited once, but has two terms.
            total += 2.0 * flow if reverse < 0 else abs(flow - mass[j] * probability[reverse])
        if total > limit:
            break
    return total


@kernel(fastmath=False)
def _find_entry(indptr: Index, indices: Index, row: int, column: int) -> int:
    """Position of entry (row, column) by binary search, or -1."""
    low, high = indptr[row], indptr[row + 1]
    while low < high:
        middle = (low + high) // 2
        if indices[middle] < column:
            low = middle + 1
        else:
            high = middle
    return low if low < indptr[row + 1] and indices[low] == column else -1


@kernel(fastmath=False)
def groups(
    indptr: Index,  # in
    indices: Index,  # in
    jumps: Floats,  # in: transition probabilities; those from i to a state of the same group are ignored
    mass: Floats,  # in: (n,)
    max_exit: float,  # in: probability per step
    rounds: int,  # in
    max_size: int,  # in: members of a group
) -> tuple[NDArray[np.int32], int]:
    """Agglomerate states along their largest flows; return group labels and the number of groups.

    In each round every group with an exit probability per step above ``max_exit`` is merged with the target of its
    largest single flow, unless the union has more than ``max_size`` members. After many rounds the groups are the
    nearly closed sets of the chain. Union-find with path halving.
    """
    n = len(mass)
    root = np.arange(n)
    for _ in range(rounds):
        inside, outflow, best = np.zeros(n), np.zeros(n), np.zeros(n)
        target, size = np.arange(n), np.zeros(n, np.int64)
        for i in range(n):
            here = root[i]
            held = max(mass[i], _MIN_MASS)
            inside[here] += held
            size[here] += 1
            for e in range(indptr[i], indptr[i + 1]):
                there = root[indices[e]]
                if there != here:
                    flow = held * jumps[e]
                    outflow[here] += flow
                    if flow > best[here]:
                        best[here] = flow
                        target[here] = there
        joined = False
        for here in range(n):
            if outflow[here] > max_exit * inside[here]:
                a, b = _find_root(root, here), _find_root(root, target[here])
                if a != b and size[a] + size[b] <= max_size:
                    size[min(a, b)] += size[max(a, b)]
                    root[max(a, b)] = min(a, b)
                    joined = True
        for i in range(n):
            root[i] = _find_root(root, i)
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


@kernel(fastmath=False)
def _find_root(root: NDArray[np.int64], i: int) -> int:
    """Representative of the set of ``i``, with path halving."""
    while root[i] != i:
        root[i] = root[root[i]]
        i = root[i]
    return i


@kernel
def gauss_seidel(
    indptr: Index,  # in: of the transpose, that is, transitions by target
    indices: Index,  # in
    jumps: Floats,  # in
    mass: Floats,  # in, out: (n,)
    n_sweeps: int,  # in
) -> None:
    """Symmetric Gauss-Seidel sweeps of mass = mass jumps: forwards, then backwards."""
    n = len(mass)
    for step in range(2 * n * n_sweeps):
        at = step % (2 * n)
        j = at if at < n else 2 * n - 1 - at
        inflow = 0.0
        for e in range(indptr[j], indptr[j + 1]):
            inflow += mass[indices[e]] * jumps[e]
        mass[j] = inflow
