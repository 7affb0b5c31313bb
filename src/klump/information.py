"""Entropy, mutual information and Kullback-Leibler divergence, in bits, with 0 log2 0 = 0.

Arguments are NumPy arrays or SciPy sparse arrays of non-negative masses. The entropies, mutual informations and
divergences of chains, costs and guarantees are all computed here. The other logarithms of klump are: cost changes and
gradients in the search, the factor ln 2 of Pinsker's inequality in bounds, and gamma variates in resampling.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

# Smallest mass with a term in a sum: smaller ones are below any reported digit, and their ratios may overflow.
_NEGLIGIBLE = 1e-300


def _weighted_log_ratio(mass: Array, ratio_of: tuple[Array, Array], over: Array | float) -> float:
    """Sum of mass * log2(numerator / denominator / over) over the entries with mass > _NEGLIGIBLE."""
    numerator, denominator = ratio_of
    counts = mass > _NEGLIGIBLE
    if not counts.any():
        return 0.0
    scale = over if isinstance(over, float) else over[counts]
    with np.errstate(divide="ignore"):  # denominator 0 at positive mass: infinite divergence
        ratio = numerator[counts] / denominator[counts] / scale
    return float(np.sum(mass[counts] * np.log2(ratio)))


def xlog2x(t: Array) -> Array:
    """Elementwise ``t log2 t``, exactly 0 at 0.

    >>> xlog2x(np.array([0.0, 0.5, 1.0, 2.0]))
    array([ 0. , -0.5,  0. ,  2. ])
    """
    return np.asarray(t * np.log2(t, out=np.zeros_like(t), where=t > 0))


def entropy(p: Array) -> float:
    """Entropy -sum p log2 p of a distribution, given as an array of any shape.

    >>> entropy(np.array([0.5, 0.25, 0.25, 0.0]))
    1.5
    """
    mass = np.ravel(np.asarray(p, dtype=float))
    mass = mass[mass > _NEGLIGIBLE]
    return abs(float(np.sum(mass * np.log2(mass))))


def conditional_entropy(conditional: Array, weight: Array) -> float:
    """Conditional entropy -sum w p log2 p: entries ``p`` of conditional distributions, masses ``w`` of the conditions.

    >>> conditional_entropy(np.array([0.5, 0.5, 1.0]), np.array([0.8, 0.8, 0.2]))
    0.8
    """
    counts = conditional * weight > _NEGLIGIBLE
    return abs(float(np.sum(weight[counts] * (conditional[counts] * np.log2(conditional[counts])))))


def coordinates(matrix: Any) -> tuple[NDArray[np.intp], NDArray[np.intp], Array]:
    """Row indices, column indices and values of the non-zero entries of a dense or sparse matrix."""
    if hasattr(matrix, "tocoo"):
        coo = matrix.tocoo()
        return coo.row, coo.col, coo.data
    row, col = np.nonzero(matrix)
    return row, col, matrix[row, col]


def mutual_information(joint: Any) -> float:
    """Mutual information of two variables from their joint distribution, dense or sparse.

    >>> mutual_information(np.array([[0.5, 0.0], [0.0, 0.5]]))
    1.0
    """
    row_mass = np.asarray(joint.sum(axis=1)).ravel()
    col_mass = np.asarray(joint.sum(axis=0)).ravel()
    row, col, mass = coordinates(joint)
    return max(0.0, _weighted_log_ratio(mass, (mass, row_mass[row]), col_mass[col]))


def divergence(p: Array, q: Array, weight: Array | float = 1.0) -> float:
    """Kullback-Leibler divergence sum weight p log2(p / q), over aligned arrays of any shape.

    With conditional distributions in ``p`` and ``q`` and the masses of the conditions in ``weight`` this is the
    conditional divergence.

    >>> divergence(np.array([1.0, 0.0]), np.array([0.5, 0.5]))
    1.0
    >>> divergence(np.array([0.5, 0.5]), np.array([1.0, 0.0]))
    inf
    """
    mass = p * weight
    return max(0.0, _weighted_log_ratio(mass, (p, q), 1.0))
