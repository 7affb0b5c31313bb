"""Continuous-time chains, made discrete by uniformisation."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from klump.errors import InvalidArgumentError

Matrix: TypeAlias = NDArray[np.float64] | sparse.csr_array

# The clock ticks a little faster than the busiest state leaves, as in PRISM. At exactly its rate that state
# would never stay, and the discrete chain could be periodic although no continuous-time chain is.
_EXCESS = 1.02

# How far a diagonal may be from minus the row's sum, as a share of that sum.
_TOLERANCE = {"double": 1e-8, "single": 1e-5}


def uniformized(rates: Any) -> Matrix:
    """Transition matrix ``I + R / q`` of the chain with rates ``R``, watched at the ticks of a clock.

    The rate ``q`` of the clock is 1.02 times the largest exit rate, so that every state stays with a
    probability of at least 0.0196 and the discrete chain is never periodic. Whatever ``q``, the
    stationary distribution is that of the continuous-time chain, and a partition is exactly lumpable for
    the one if it is for the other. States without a rate out of them are absorbing and get a
    self-transition.

    Parameters
    ----------
    rates
        Square matrix, dense or sparse, of the rates from row to column. The diagonal is all zero, or minus
        the sum of the other rates in each row (a generator).

    Returns
    -------
    ndarray or csr_array
        Row-stochastic matrix, sparse if the rates are.

    Examples
    --------
    >>> uniformized([[0.0, 51.0], [25.5, 0.0]]).round(4)
    array([[0.0196, 0.9804],
           [0.4902, 0.5098]])
    """
    matrix, tolerance = _square(rates)
    diagonal = matrix.diagonal()
    away = _without_diagonal(matrix)
    _require_non_negative(away)
    with np.errstate(over="ignore"):
        exit_rates = np.asarray(away.sum(axis=1), dtype=np.float64).ravel()
        clock = _EXCESS * float(exit_rates.max())
    if not np.isfinite(clock):
        raise InvalidArgumentError("rates has rows whose sum is too large; choose a larger unit of time")
    _require_consistent(diagonal, exit_rates, tolerance)
    if clock == 0:
        clock = 1.0
    stay = 1.0 - exit_rates / clock
    if isinstance(away, sparse.csr_array):
        away.data /= clock
        return sparse.csr_array(away + sparse.dia_array((stay[None, :], [0]), shape=away.shape))
    away /= clock
    np.fill_diagonal(away, stay)
    return away


def _square(rates: Any) -> tuple[Matrix, float]:
    """Copy the rates to float64, dense or CSR, and tell how exact they can be."""
    try:
        given = rates if sparse.issparse(rates) else np.asarray(rates)
    except ValueError as error:
        raise InvalidArgumentError("rates is not a matrix: its rows differ in length") from error
    if given.dtype.kind not in "biuf":
        try:
            given = given.astype(np.float64, casting="safe" if given.dtype.kind == "c" else "unsafe")
        except (TypeError, ValueError) as error:
            raise InvalidArgumentError(
                f"rates must hold real numbers, but it holds {given.dtype} values"
            ) from error
    if sparse.issparse(given):
        summed = sparse.csr_array(given, dtype=np.float64, copy=True)
        summed.sum_duplicates()
        matrix: Matrix = summed
    else:
        matrix = np.array(given, dtype=np.float64, order="C")
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or matrix.shape[0] == 0:
        raise InvalidArgumentError(f"rates must be a square matrix, but its shape is {tuple(matrix.shape)}")
    values = matrix.data if isinstance(matrix, sparse.csr_array) else matrix
    if not np.isfinite(values).all():
        raise InvalidArgumentError(
            "rates has entries that are NaN or infinite; every rate must be a finite number"
        )
    single = given.dtype in (np.dtype(np.float32), np.dtype(np.float16))
    return matrix, _TOLERANCE["single" if single else "double"]


def _without_diagonal(matrix: Matrix) -> Matrix:
    if isinstance(matrix, sparse.csr_array):
        coo = matrix.tocoo()
        away = coo.row != coo.col
        return sparse.csr_array(
            sparse.coo_array((coo.data[away], (coo.row[away], coo.col[away])), shape=matrix.shape)
        )
    away = matrix.copy()
    np.fill_diagonal(away, 0.0)
    return away


def _require_non_negative(away: Matrix) -> None:
    coo = sparse.coo_array(away)
    bad = np.flatnonzero(coo.data < 0)
    if bad.size:
        row, col = int(coo.row[bad[0]]), int(coo.col[bad[0]])
        more = f" (and {bad.size - 1} more)" if bad.size > 1 else ""
        raise InvalidArgumentError(
            f"rates has {float(coo.data[bad[0]])} at row {row}, column {col}{more}: "
            "rates off the diagonal cannot be negative"
        )


def _require_consistent(
    diagonal: NDArray[np.float64], exit_rates: NDArray[np.float64], tolerance: float
) -> None:
    """Insist that the diagonal is all zero or that of a generator."""
    if not diagonal.any():
        return
    wrong = np.flatnonzero(np.abs(diagonal + exit_rates) > tolerance * exit_rates)
    if wrong.size:
        row = int(wrong[0])
        more = f" ({wrong.size} such rows)" if wrong.size > 1 else ""
        raise InvalidArgumentError(
            f"rates has {diagonal[row]:.12g} on the diagonal of row {row}{more}, "
            f"but the other rates there sum to {exit_rates[row]:.12g}: "
            "the diagonal must be minus that sum, or all zero"
        )
