"""Dense GTH elimination (Grassmann, Taksar and Heyman) for stationary masses, free of subtractions.

Without subtractions there is no cancellation: every mass is accurate to a small multiple of the rounding unit. The
input is a matrix of *weights*, non-negative transition rates between distinct states. The diagonal is ignored, and
scaling row i by c divides the mass of state i by c, so large self-transition probabilities cost no accuracy.
Eliminating state k is censoring: a[i, j] += a[i, k] a[k, j] / sum_c a[k, c] over the remaining states.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from klump.compilation import kernel

Floats = NDArray[np.float64]

# States per panel of the blocked elimination; the unrolled loop of _update_trailing has this many terms.
_PANEL_ROWS = 8
# Largest inflow / pivot in back substitution; above it all masses are rescaled, as float64 overflows at 1e308.
MAX_RATIO = 1e150
# Smallest inflow, relative to the largest mass, that an underflow of 1e-308 in a product cannot have changed.
_MIN_FLOW = 1e-280
# A term this many bits below a sum cannot change it: float64 has 53 bits.
_NEGLIGIBLE_BITS = 60
_POWERS_OF_HALF = 0.5 ** np.arange(_NEGLIGIBLE_BITS)


@kernel
def solve_dense(weights: Floats) -> tuple[Floats, bool]:
    """Stationary masses (largest 1) by GTH elimination; overwrites ``weights``.

    The flag is False if an intermediate result left the range of float64: then the masses may be wrong, and
    :func:`solve_wide_range` is needed.
    """
    n = weights.shape[0]
    exit_rate = np.empty(n)
    pivot = np.ones(n)
    for i in range(n):
        weights[i, i] = 0.0
        exit_rate[i] = 0.0
        for c in range(n):
            exit_rate[i] += weights[i, c]
        if exit_rate[i] == 0.0:
            return exit_rate, False
        for c in range(n):
            weights[i, c] /= exit_rate[i]
    for first in range(0, n, _PANEL_ROWS):
        last = min(first + _PANEL_ROWS, n)
        _eliminate_panel(weights, first, last, pivot)
        if last < n:
            _update_trailing(weights, first, last)
    for k in range(n):
        if pivot[k] == 0.0:
            return pivot, False
    mass, min_flow = _substitute_back(weights, pivot)
    return quotient(mass, exit_rate), min_flow > _MIN_FLOW


@kernel
def _eliminate_panel(
    a: Floats,  # inout: rows first..last-1 become next-state distributions over the later states
    first: int,
    last: int,
    pivot: Floats,  # out: exit rate of each state to the later ones
) -> None:
    """Eliminate the states of one panel from each other, and normalise their rows."""
    n = a.shape[0]
    for k in range(first, last):
        _censor_row(a, k, first, k, n)
        if k < n - 1:
            total = 0.0
            for c in range(k + 1, n):
                total += a[k, c]
            pivot[k] = total
            if total > 0.0:
                for c in range(k + 1, n):
                    a[k, c] /= total


@kernel
def _censor_row(a: Floats, i: int, first: int, last: int, end: int) -> None:
    """Eliminate the states first..last-1 from row ``i``: a[i, j+1:end] += a[i, j] a[j, j+1:end] in turn."""
    for j in range(first, last):
        through = a[i, j]
        if through > 0.0:
            for c in range(j + 1, end):
                a[i, c] += through * a[j, c]


@kernel
def _update_trailing(a: Floats, first: int, last: int) -> None:
    """Rank-8 update of the rows below a full panel (the trailing submatrix)."""
    n = a.shape[0]
    # The copy cannot alias the rows that are written, so LLVM vectorises the loop; it fits in cache.
    u = a[first:last, last:].copy()
    for i in range(last, n):
        _censor_row(a, i, first, last, last)
        w0, w1, w2, w3 = a[i, first], a[i, first + 1], a[i, first + 2], a[i, first + 3]
        w4, w5, w6, w7 = a[i, first + 4], a[i, first + 5], a[i, first + 6], a[i, first + 7]
        if w0 + w1 + w2 + w3 + w4 + w5 + w6 + w7 > 0.0:
            row = a[i, last:]
            for c in range(n - last):
                row[c] += ((w0 * u[0, c] + w1 * u[1, c]) + (w2 * u[2, c] + w3 * u[3, c])) + (
                    (w4 * u[4, c] + w5 * u[5, c]) + (w6 * u[6, c] + w7 * u[7, c])
                )


@kernel
def _substitute_back(a: Floats, pivot: Floats) -> tuple[Floats, float]:
    """Back substitution: masses from the last state to the first (largest 1), and the smallest inflow."""
    n = a.shape[0]
    mass = np.zeros(n)
    mass[n - 1] = 1.0
    largest = 1.0
    min_flow = np.inf
    for i in range(n - 1, -1, -1):
        if i < n - 1:
            min_flow = min(min_flow, mass[i])
            if mass[i] / MAX_RATIO > pivot[i]:
                shrink = pivot[i] / mass[i]
                for c in range(n):
                    mass[c] *= shrink
                min_flow *= shrink
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
    return mass, min_flow / largest


@kernel(fastmath=False)
def quotient(mass: Floats, exit_rate: Floats) -> Floats:
    """Quotient mass / exit_rate, scaled so that the largest result is about 1."""
    n = len(mass)
    result = np.zeros(n)
    exponent = np.zeros(n, np.int64)
    for i in range(n):
        above, exponent_above = math.frexp(mass[i])
        below, exponent_below = math.frexp(exit_rate[i])
        result[i] = above / below
        exponent[i] = exponent_above - exponent_below
    return ldexp_to_largest(result, exponent)


@kernel(fastmath=False)
def ldexp_to_largest(mantissa: Floats, exponent: NDArray[np.int64]) -> Floats:
    """Values mantissa * 2^(exponent - top), with ``top`` the largest exponent of a positive mantissa."""
    top = np.int64(-(2**62))
    for i in range(len(mantissa)):
        if mantissa[i] > 0.0:
            top = max(top, exponent[i])
    result = np.empty(len(mantissa))
    for i in range(len(mantissa)):
        result[i] = math.ldexp(mantissa[i], int(max(exponent[i] - top, -2000)))
    return result


@kernel(fastmath=False)
def _add(m: float, e: int, other_m: float, other_e: int) -> tuple[float, int]:
    """Sum m 2^e + other_m 2^other_e as mantissa and exponent; the mantissa is not normalised."""
    if m == 0.0:
        return other_m, other_e
    shift = other_e - e
    if shift <= 0:
        return (m + other_m * _POWERS_OF_HALF[-shift], e) if shift > -_NEGLIGIBLE_BITS else (m, e)
    return (other_m + m * _POWERS_OF_HALF[shift], other_e) if shift < _NEGLIGIBLE_BITS else (other_m, other_e)


@kernel(fastmath=False)
def solve_wide_range(weights: Floats) -> Floats:
    """Stationary masses (largest about 1) by GTH elimination with a separate integer exponent per number.

    About 20 times slower than :func:`solve_dense`. For weights whose products underflow float64, such as two successive
    transitions of probability 1e-200.
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
                pivot[k], pivot_e[k] = _add(pivot[k], pivot_e[k], m[k, c], e[k, c])
        for c in range(k + 1, n):
            if m[k, c] > 0.0:
                m[k, c], shift = math.frexp(m[k, c] / pivot[k])
                e[k, c] += shift - pivot_e[k]
        for i in range(k + 1, n):
            if m[i, k] > 0.0:
                through, shift = math.frexp(m[i, k])
                for c in range(k + 1, n):
                    if m[k, c] > 0.0 and c != i:
                        m[i, c], e[i, c] = _add(
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
                mass[c], mass_e[c] = _add(mass[c], mass_e[c], mass[i] * m[i, c], mass_e[i] + e[i, c])
    return ldexp_to_largest(mass, mass_e)
