"""Kernels behind the stationary distribution. Nothing here ever subtracts, so nothing cancels.

All kernels work with *weights*: non-negative rates of leaving each state for each other one. The diagonal
plays no part and the scale of a row only divides the mass of its state, so a chain that hardly ever moves
costs no accuracy. Elimination is that of Grassmann, Taksar and Heyman (GTH): take a state out, and let the
others pass through it without stopping.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit
from numpy.typing import NDArray

Floats = NDArray[np.float64]

# Sums of non-negative numbers may be reordered and fused; NaN and infinity must not vanish.
FASTMATH = {"reassoc", "contract", "nsz"}
_PANEL = 8  # the unrolled loop of _pass_through has as many terms
HUGE = 1e150
_LEAST_FLOW = 1e-280
_BITS = 60  # a term this many bits below a sum cannot change it
_HALVES = 0.5 ** np.arange(_BITS)


@njit(cache=True, nogil=True, error_model="numpy", fastmath=FASTMATH)
def solve_dense(weights: Floats) -> tuple[Floats, bool]:
    """Stationary masses (largest 1) by GTH elimination; overwrites ``weights``.

    The flag tells whether all numbers on the way fit into double precision; if not, the masses are not to
    be trusted and :func:`solve_wide` is needed.
    """
    n = weights.shape[0]
    leaving = np.empty(n)
    pivot = np.ones(n)
    for i in range(n):
        weights[i, i] = 0.0
        leaving[i] = 0.0
        for c in range(n):
            leaving[i] += weights[i, c]
        if leaving[i] == 0.0:
            return leaving, False
        for c in range(n):
            weights[i, c] /= leaving[i]
    for first in range(0, n, _PANEL):
        last = min(first + _PANEL, n)
        _eliminate_panel(weights, first, last, pivot)
        if last < n:
            _pass_through(weights, first, last)
    for k in range(n):
        if pivot[k] == 0.0:
            return pivot, False
    mass, least_flow = _substitute_back(weights, pivot)
    # A product that underflows takes less than 1e-308 from a flow: nothing, unless the flow is as small.
    return quotient(mass, leaving), least_flow > _LEAST_FLOW


@njit(cache=True, nogil=True, error_model="numpy", fastmath=FASTMATH)
def _eliminate_panel(
    a: Floats,  # inout: rows first..last-1 become the laws of where their states lead
    first: int,
    last: int,
    pivot: Floats,  # out: the weight of leaving each state for those that remain
) -> None:
    n = a.shape[0]
    for k in range(first, last):
        for j in range(first, k):
            through = a[k, j]
            if through > 0.0:
                for c in range(j + 1, n):
                    a[k, c] += through * a[j, c]
        if k < n - 1:
            total = 0.0
            for c in range(k + 1, n):
                total += a[k, c]
            pivot[k] = total
            if total > 0.0:
                for c in range(k + 1, n):
                    a[k, c] /= total


@njit(cache=True, nogil=True, error_model="numpy", fastmath=FASTMATH)
def _pass_through(a: Floats, first: int, last: int) -> None:
    """Let the rows below a full panel pass through its states."""
    n = a.shape[0]
    # A copy cannot overlap the rows that are written, which lets the compiler vectorise; it stays in cache.
    u = a[first:last, last:].copy()
    for i in range(last, n):
        for j in range(first, last):
            through = a[i, j]
            if through > 0.0:
                for c in range(j + 1, last):
                    a[i, c] += through * a[j, c]
        w0, w1, w2, w3 = a[i, first], a[i, first + 1], a[i, first + 2], a[i, first + 3]
        w4, w5, w6, w7 = a[i, first + 4], a[i, first + 5], a[i, first + 6], a[i, first + 7]
        if w0 + w1 + w2 + w3 + w4 + w5 + w6 + w7 > 0.0:
            row = a[i, last:]
            for c in range(n - last):
                row[c] += ((w0 * u[0, c] + w1 * u[1, c]) + (w2 * u[2, c] + w3 * u[3, c])) + (
                    (w4 * u[4, c] + w5 * u[5, c]) + (w6 * u[6, c] + w7 * u[7, c])
                )


@njit(cache=True, nogil=True, error_model="numpy", fastmath=FASTMATH)
def _substitute_back(a: Floats, pivot: Floats) -> tuple[Floats, float]:
    """Masses from the last state to the first, and the smallest inflow met; the largest mass is 1."""
    n = a.shape[0]
    mass = np.zeros(n)
    mass[n - 1] = 1.0
    largest = 1.0
    least_flow = np.inf
    for i in range(n - 1, -1, -1):
        if i < n - 1:
            least_flow = min(least_flow, mass[i])
            if mass[i] / HUGE > pivot[i]:
                shrink = pivot[i] / mass[i]
                for c in range(n):
                    mass[c] *= shrink
                least_flow *= shrink
                largest *= shrink
                mass[i] = 1.0
            else:
                mass[i] /= pivot[i]
            largest = max(largest, mass[i])
        here = mass[i]
        for c in range(i):
            mass[c] += here * a[i, c]
    for c in range(n):
        mass[c] /= largest
    return mass, least_flow / largest


@njit(cache=True, nogil=True, error_model="numpy")
def quotient(mass: Floats, leaving: Floats) -> Floats:
    """Divide masses by the weights of leaving, scaled so that the largest result is about 1."""
    n = len(mass)
    result = np.zeros(n)
    exponent = np.zeros(n, np.int64)
    for i in range(n):
        above, exponent_above = math.frexp(mass[i])
        below, exponent_below = math.frexp(leaving[i])
        result[i] = above / below
        exponent[i] = exponent_above - exponent_below
    return scaled(result, exponent)


@njit(cache=True, nogil=True)
def scaled(mantissa: Floats, exponent: NDArray[np.int64]) -> Floats:
    """Numbers given by mantissa and binary exponent, divided by a power of two near the largest."""
    top = np.int64(-(2**62))
    for i in range(len(mantissa)):
        if mantissa[i] > 0.0:
            top = max(top, exponent[i])
    result = np.empty(len(mantissa))
    for i in range(len(mantissa)):
        result[i] = math.ldexp(mantissa[i], int(max(exponent[i] - top, -2000)))
    return result


@njit(cache=True, nogil=True)
def _plus(m: float, e: int, other_m: float, other_e: int) -> tuple[float, int]:
    """Add two numbers given by mantissa and exponent; the mantissa of the result is not normalised."""
    if m == 0.0:
        return other_m, other_e
    shift = other_e - e
    if shift <= 0:
        return (m + other_m * _HALVES[-shift], e) if shift > -_BITS else (m, e)
    return (other_m + m * _HALVES[shift], other_e) if shift < _BITS else (other_m, other_e)


@njit(cache=True, nogil=True, error_model="numpy")
def solve_wide(weights: Floats) -> Floats:
    """Stationary masses as :func:`solve_dense` finds them, with an unbounded range of exponents.

    Some twenty times slower. For weights whose products leave the range of a double, such as two rare
    steps in a row of 1e-200 each.
    """
    n = weights.shape[0]
    m = np.zeros((n, n))
    e = np.zeros((n, n), np.int32)
    mass, pivot = np.zeros(n), np.zeros(n)
    mass_e, pivot_e = np.zeros(n, np.int64), np.zeros(n, np.int64)
    for i in range(n):
        for c in range(n):
            if c != i and weights[i, c] > 0.0:
                m[i, c], e[i, c] = math.frexp(weights[i, c])
    for k in range(n - 1):
        for c in range(k + 1, n):
            if m[k, c] > 0.0:
                pivot[k], pivot_e[k] = _plus(pivot[k], pivot_e[k], m[k, c], e[k, c])
        for c in range(k + 1, n):
            if m[k, c] > 0.0:
                m[k, c], shift = math.frexp(m[k, c] / pivot[k])
                e[k, c] += shift - pivot_e[k]
        for i in range(k + 1, n):
            if m[i, k] > 0.0:
                through, shift = math.frexp(m[i, k])
                for c in range(k + 1, n):
                    if m[k, c] > 0.0 and c != i:
                        m[i, c], e[i, c] = _plus(
                            m[i, c], e[i, c], through * m[k, c], e[i, k] + shift + e[k, c]
                        )
    mass[n - 1] = 1.0
    for i in range(n - 1, -1, -1):
        if i < n - 1:
            mass[i] /= pivot[i]
            mass_e[i] -= pivot_e[i]
        mass[i], shift = math.frexp(mass[i])
        mass_e[i] += shift
        for c in range(i):
            if m[i, c] > 0.0:
                mass[c], mass_e[c] = _plus(mass[c], mass_e[c], mass[i] * m[i, c], mass_e[i] + e[i, c])
    return scaled(mass, mass_e)
