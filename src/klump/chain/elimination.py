"""Dense GTH elimination, compiled: the states of one block, and chains whose probabilities exceed the range of float64.

See :mod:`klump.chain.block_elimination` for the recurrence. A matrix of *weights* has non-negative transition rates
between distinct states; its diagonal is ignored.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from klump.compilation import kernel

Floats = NDArray[np.float64]

# States per panel of eliminate_states; the unrolled loop of _update_trailing has this many terms.
_PANEL_ROWS = 8
# Largest inflow / pivot in back substitution; above it all masses are rescaled, as float64 overflows at 1e308.
MAX_RATIO = 1e150
# A term this many bits below a sum cannot change it: float64 has 53 bits.
_NEGLIGIBLE_BITS = 60
_POWERS_OF_HALF = 0.5 ** np.arange(_NEGLIGIBLE_BITS)


@kernel
def eliminate_states(
    a: Floats,  # inout: n columns of negated weights, which become L and U, and further ones x, which become L^-1 x
) -> None:
    """Factorise the generator of a block of n states, in panels of 8: see :mod:`klump.chain.block_elimination`."""
    n = a.shape[0]
    for first in range(0, n, _PANEL_ROWS):
        last = min(first + _PANEL_ROWS, n)
        _eliminate_panel(a, first, last)
        if last < n:
            _update_trailing(a, first, last)


@kernel
def _eliminate_panel(
    a: Floats,  # inout: rows first..last-1 become pivots and negated next-state distributions over the later states
    first: int,
    last: int,
) -> None:
    """Eliminate the states of one panel from each other, and normalise their rows."""
    end = a.shape[1]
    for k in range(first, last):
        _censor_row(a, k, first, k, end)
        total = 0.0
        for c in range(k + 1, end):
            total -= a[k, c]
        a[k, k] = total
        for c in range(k + 1, end):
            a[k, c] /= total


@kernel
def _censor_row(a: Floats, i: int, first: int, last: int, end: int) -> None:
    """Eliminate the states first..last-1 from row ``i``: a[i, j+1:end] -= a[i, j] a[j, j+1:end] in turn."""
    for j in range(first, last):
        through = a[i, j]
        if through < 0.0:
            for c in range(j + 1, end):
                a[i, c] -= through * a[j, c]


@kernel
def _update_trailing(a: Floats, first: int, last: int) -> None:
    """Rank-8 update of the rows below a full panel (the trailing submatrix)."""
    n, end = a.shape
    # The copy cannot alias the rows that are written, so LLVM vectorises the loop; it fits in cache.
    u = a[first:last, last:].copy()
    for i in range(last, n):
        _censor_row(a, i, first, last, last)
        w0, w1, w2, w3 = a[i, first], a[i, first + 1], a[i, first + 2], a[i, first + 3]
        w4, w5, w6, w7 = a[i, first + 4], a[i, first + 5], a[i, first + 6], a[i, first + 7]
        if w0 + w1 + w2 + w3 + w4 + w5 + w6 + w7 < 0.0:
            row = a[i, last:]
            for c in range(end - last):
                row[c] -= ((w0 * u[0, c] + w1 * u[1, c]) + (w2 * u[2, c] + w3 * u[3, c])) + (
                    (w4 * u[4, c] + w5 * u[5, c]) + (w6 * u[6, c] + w7 * u[7, c])
                )


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
def solve_wide_range(weights: Floats) -> tuple[Floats, NDArray[np.int64]]:
    """Mantissas and binary exponents of stationary masses, by GTH elimination with an integer exponent per number.

    About 20 times slower than :func:`klump.chain.block_elimination.solve_dense` at 1,000 states. For weights whose
    products underflow float64, such as two successive transitions of probability 1e-200.
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
    return mass, mass_e
