"""Entropy, mutual information and divergence, in bits.

Outside the search kernels this is the only place with a logarithm. Arguments are NumPy arrays or SciPy
sparse arrays of non-negative masses; zeros contribute exactly nothing.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

# Masses below this cannot change a sum that is reported to 1e-12, and their ratios may overflow.
_NEGLIGIBLE = 1e-300


def _weighted_log_ratio(mass: Array, ratio_of: tuple[Array, Array], over: Array | float) -> float:
    """Sum ``mass * log2(a / b / over)`` over the entries whose mass counts."""
    numerator, denominator = ratio_of
    counts = mass > _NEGLIGIBLE
    if not counts.any():
        return 0.0
    scale = over if isinstance(over, float) else over[counts]
    with np.errstate(divide="ignore"):  # mass where there should be none is infinitely surprising
        ratio = numerator[counts] / denominator[counts] / scale
    return float(np.sum(mass[counts] * np.log2(ratio)))


def xlog2x(t: Array) -> Array:
    """``t log2 t`` of each entry, exactly 0 at 0.

    >>> xlog2x(np.array([0.0, 0.5, 1.0, 2.0]))
    array([ 0. , -0.5,  0. ,  2. ])
    """
    return np.asarray(t * np.log2(t, out=np.zeros_like(t), where=t > 0))


def entropy(p: Array) -> float:
    """Entropy of a probability vector (or of a joint law given as an array).

    >>> entropy(np.array([0.5, 0.25, 0.25, 0.0]))
    1.5
    """
    mass = np.ravel(np.asarray(p, dtype=float))
    mass = mass[mass > _NEGLIGIBLE]
    return abs(float(np.sum(mass * np.log2(mass))))


def conditional_entropy(conditional: Array, weight: Array) -> float:
    """Mean entropy of conditional laws: entries ``conditional`` whose conditions have mass ``weight``.

    >>> conditional_entropy(np.array([0.5, 0.5, 1.0]), np.array([0.8, 0.8, 0.2]))
    0.8
    """
    counts = conditional * weight > _NEGLIGIBLE
    return abs(float(np.sum(weight[counts] * (conditional[counts] * np.log2(conditional[counts])))))


def coordinates(matrix: Any) -> tuple[NDArray[np.intp], NDArray[np.intp], Array]:
    """Rows, columns and values of the non-zero entries of a dense or sparse matrix."""
    if hasattr(matrix, "tocoo"):
        coo = matrix.tocoo()
        return coo.row, coo.col, coo.data
    row, col = np.nonzero(matrix)
    return row, col, matrix[row, col]


def mutual_information(joint: Any) -> float:
    """Mutual information of the two variables whose joint law is given, dense or sparse.

    >>> mutual_information(np.array([[0.5, 0.0], [0.0, 0.5]]))
    1.0
    """
    row_mass = np.asarray(joint.sum(axis=1)).ravel()
    col_mass = np.asarray(joint.sum(axis=0)).ravel()
    row, col, mass = coordinates(joint)
    return max(0.0, _weighted_log_ratio(mass, (mass, row_mass[row]), col_mass[col]))


def divergence(p: Array, q: Array, weight: Array | float = 1.0) -> float:
    """Kullback-Leibler divergence of ``p`` from ``q``, entry by entry, each entry times ``weight``.

    Aligned arrays of any shape: with conditional laws in ``p`` and ``q`` and the mass of the condition
    in ``weight`` this is the mean divergence.

    >>> divergence(np.array([1.0, 0.0]), np.array([0.5, 0.5]))
    1.0
    >>> divergence(np.array([0.5, 0.5]), np.array([1.0, 0.0]))
    inf
    """
    mass = p * weight
    return max(0.0, _weighted_log_ratio(mass, (p, q), 1.0))
