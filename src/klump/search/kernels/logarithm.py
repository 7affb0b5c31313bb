"""``f(t) = t log2 t``, and the logarithm that it is made of."""

from __future__ import annotations

import numpy as np
from numba import njit

from klump.search.kernels.options import INLINED, KERNEL
from klump.search.kernels.tables import Floats

LOG2_E = 1.4426950408889634
# Smallest normal float64: the argument of the logarithm where a mass is zero.
SMALLEST = 2.2250738585072014e-308
# Bits of sqrt(1/2) as a float64.
_SQRT_HALF_BITS = 0x3FE6A09E667F3BCD
# Bits of the mantissa of a float64.
_MANTISSA = 52
# log2(m) = 2 log2(e) atanh(z), z = (m - 1) / (m + 1): coefficients of z, z^3, ..., z^19.
_C1 = 2.0 * LOG2_E
_C3 = _C1 / 3.0
_C5 = _C1 / 5.0
_C7 = _C1 / 7.0
_C9 = _C1 / 9.0
_C11 = _C1 / 11.0
_C13 = _C1 / 13.0
_C15 = _C1 / 15.0
_C17 = _C1 / 17.0
_C19 = _C1 / 19.0


@njit(**INLINED)
def fast_log2(t: float) -> float:
    """Logarithm of a positive normal number, without branches so that loops over it vectorise.

    ``t = 2^e m`` with m between sqrt(1/2) and sqrt(2); ``log2 t = e + log2 m``.
    """
    bits = np.float64(t).view(np.int64)
    exponent = (bits - np.int64(_SQRT_HALF_BITS)) >> np.int64(_MANTISSA)
    m = np.int64(bits - (exponent << np.int64(_MANTISSA))).view(np.float64)
    z = (m - 1.0) / (m + 1.0)
    s = z * z
    p = _C19 * s + _C17
    p = p * s + _C15
    p = p * s + _C13
    p = p * s + _C11
    p = p * s + _C9
    p = p * s + _C7
    p = p * s + _C5
    p = p * s + _C3
    return np.float64(exponent) + z * (_C1 + s * p)


@njit(**INLINED)
def f(t: float) -> float:
    """``t log2 t``, exactly 0 at 0, and at negative t, which rounding may leave where a mass is taken out."""
    return max(t, 0.0) * fast_log2(max(t, SMALLEST))


@njit(**KERNEL)
def f_array(
    t: Floats,  # in
    out: Floats,  # out
) -> None:
    """``f`` of each entry."""
    for i in range(t.size):
        out[i] = f(t[i])
