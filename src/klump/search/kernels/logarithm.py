"""``f(t) = t log2 t``, and the logarithm that it is made of."""

from __future__ import annotations

from typing import Any

import numpy as np

from klump.compilation import inlined, kernel
from klump.search.kernels.tables import Floats

LOG2_E = 1.4426950408889634
# Smallest normal float64: the argument of the logarithm where a mass is zero.
SMALLEST = 2.2250738585072014e-308
# Bits of sqrt(1/2) as a float64.
_SQRT_HALF_BITS = 0x3FE6A09E667F3BCD
# Bits of the mantissa of a float64.
_MANTISSA = 52
# Unit in the last place of 1.
_LAST_BIT = 2.0**-52
# Bias of the exponent of a float64.
_BIAS = 1023.0
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
# The same coefficients in float32.
_R1 = np.float32(_C1)
_R3 = np.float32(_C3)
_R5 = np.float32(_C5)
_R7 = np.float32(_C7)
_R9 = np.float32(_C9)
_R11 = np.float32(_C11)
# Numbers as float32, because a float64 would make the operation one in float64.
_ONE = np.float32(1.0)
_TWO = np.float32(2.0)
# Bits of sqrt(1/2) as a float32.
_ROUGH_SQRT_HALF_BITS = np.int32(0x3F3504F3)
# Bits of the mantissa of a float32.
_ROUGH_MANTISSA = np.int32(23)
# Smallest normal float32: the argument of the logarithm where a mass is zero.
_ROUGH_NORMAL = np.float32(2.0**-126)
# Least ratio whose logarithm is taken, a normal float32 with a margin; v log2 v is negligible below.
_ROUGH_SMALLEST = np.float32(2.0**-120)
# Relative error of rough_gain: ten roundings of 2^-24, and the omitted term of z^13 of the series.
ROUGH_GAIN_ERROR = 2.0**-19


@inlined
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


@inlined
def least_log2(t: float) -> float:
    """``e + m - 1 <= log2 t`` for a positive normal ``t = 2^e m``, 1 <= m < 2; too low by at most 0.0861.

    That is the bit pattern of t as an integer, times 2^-52, minus the bias of the exponent.
    """
    return np.float64(np.float64(t).view(np.int64)) * _LAST_BIT - _BIAS


@inlined
def f(t: float) -> float:
    """``t log2 t``, exactly 0 at 0, and at negative t, which rounding may leave where a mass is taken out."""
    return max(t, 0.0) * fast_log2(max(t, SMALLEST))


@inlined
def sum_f(t: Floats, size: int) -> float:
    """Sum of f over the first ``size`` entries."""
    total = 0.0
    for j in range(size):
        total += f(t[j])
    return total


@inlined
def _rough_log2(t: Any) -> Any:
    """``fast_log2`` in float32."""
    bits = np.float32(t).view(np.int32)
    exponent = np.int32(np.int32(bits - _ROUGH_SQRT_HALF_BITS) >> _ROUGH_MANTISSA)
    m = np.int32(bits - np.int32(exponent << _ROUGH_MANTISSA)).view(np.float32)
    z = np.float32((m - _ONE) / (m + _ONE))
    s = np.float32(z * z)
    p = np.float32(np.float32(np.float32(_R7 * s + _R5) * s + _R3) * s + _R1)
    return np.float32(np.float32(exponent) + z * p)


@inlined
def rough_f(t: Any) -> Any:
    """``f`` in float32, for t >= 0 in float32."""
    return np.float32(t * _rough_log2(max(t, _ROUGH_NORMAL)))


@inlined
def _rough_log2_ratio(z: Any) -> Any:
    """``log2((1 + z) / (1 - z))`` in float32, for abs(z) up to 1/3."""
    s = np.float32(z * z)
    p = np.float32(_R11 * s + _R9)
    p = np.float32(p * s + _R7)
    p = np.float32(p * s + _R5)
    p = np.float32(p * s + _R3)
    return np.float32(z * np.float32(p * s + _R1))


@inlined
def rough_gain(u: Any) -> Any:
    """``f(1 + u) - f(u)`` in float32 for u >= 0, to a relative error of ``ROUGH_GAIN_ERROR``.

    With l the lesser of u and 1, m the other and v = l / m, a sum of positive terms:
    ``(l + m) log2(1 + v) - l log2 v``.
    """
    lesser, more = min(u, _ONE), max(u, _ONE)
    v = np.float32(lesser / more)
    log_1v = _rough_log2_ratio(np.float32(v / (v + _TWO)))
    return np.float32((lesser + more) * log_1v - lesser * _rough_log2(max(v, _ROUGH_SMALLEST)))


@kernel(allocates=False)
def f_array(
    t: Floats,  # in
    out: Floats,  # out
) -> None:
    """``f`` of each entry."""
    for i in range(t.size):
        out[i] = f(t[i])
