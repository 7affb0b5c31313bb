"""Continuous-time chains, made discrete by uniformisation, or by sampling at multiples of a lag."""

from __future__ import annotations

import math
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from klump.errors import InvalidArgumentError
from klump.sources.exponential import LARGEST_STEP, MOST_ENTRIES, Matrix, TooManyEntriesError, exponential

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
    away, exit_rates = _read(rates)
    clock = _EXCESS * float(exit_rates.max()) or 1.0
    _entries(away)[...] /= clock
    return _with_diagonal(away, 1.0 - exit_rates / clock)


def transition_matrix(rates: Any, lag: float) -> Matrix:
    """Transition matrix ``exp(lag G)`` over a time ``lag`` of the chain with rates ``R`` and generator ``G``.

    Entries are non-negative and rows sum to 1 to within rounding. The entries of a dense matrix are accurate to 1e-12.
    In a sparse one the smallest entries are dropped: each row is within 1e-12 of the exact one in total variation,
    and every transition that has a rate is kept. So a sparse chain does not resolve exits that have a probability of
    1e-12 or less over the lag; a dense one does.

    Parameters
    ----------
    rates
        As for :func:`uniformized`.
    lag
        A positive time, in the unit in which the rates are per time.

    Returns
    -------
    ndarray or csr_array
        Row-stochastic matrix, sparse if the rates are; then with at most 25,000,000 entries.

    Examples
    --------
    >>> transition_matrix([[0.0, 3.0], [1.0, 0.0]], lag=0.5).round(4)
    array([[0.3515, 0.6485],
           [0.2162, 0.7838]])
    """
    time = _positive_time(lag)
    away, exit_rates = _read(rates)
    clock = float(exit_rates.max())
    if not math.isfinite(clock * time):
        raise InvalidArgumentError(
            f"lag={time!r} is too large: times the largest exit rate, {clock:g}, it is infinite; take a smaller lag"
        )
    # frexp(x)[1] squarings halve x to below 1.
    squarings = max(0, math.frexp(clock * time / LARGEST_STEP)[1])
    scale = math.ldexp(time, -squarings)
    _require_no_underflow(away, scale, time)
    _entries(away)[...] *= scale
    step = _with_diagonal(away, (clock - exit_rates) * scale)
    try:
        return exponential(step, squarings)
    except TooManyEntriesError:
        raise InvalidArgumentError(
            f"lag={time!r} is too large: the sparse transition matrix of {step.shape[0]:,} states would have more than "
            f"{MOST_ENTRIES:,} entries; take a smaller lag, or leave it out for the uniformised chain"
        ) from None


def _positive_time(lag: Any) -> float:
    try:
        time = float(lag) if isinstance(lag, Real) and not isinstance(lag, bool) else math.nan
    except OverflowError:
        time = math.inf
    if not 0.0 < time < math.inf:
        raise InvalidArgumentError(
            f"lag={lag!r} must be a positive, finite number, in the unit of time of the rates"
        )
    return time


def _read(rates: Any) -> tuple[Matrix, NDArray[np.float64]]:
    """Check the rates; return a copy of those off the diagonal, and the exit rates."""
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
    return away, exit_rates


def _entries(matrix: Matrix) -> NDArray[np.float64]:
    """Stored entries, to be read and changed in place."""
    return matrix.data if isinstance(matrix, sparse.csr_array) else matrix


def _with_diagonal(away: Matrix, diagonal: NDArray[np.float64]) -> Matrix:
    if isinstance(away, sparse.csr_array):
        return sparse.csr_array(away + sparse.dia_array((diagonal[None, :], [0]), shape=away.shape))
    np.fill_diagonal(away, diagonal)
    return away


def _require_no_underflow(away: Matrix, scale: float, lag: float) -> None:
    values = _entries(away)
    smallest = float(np.min(values, initial=np.inf, where=values > 0.0))
    if smallest * scale < np.finfo(np.float64).tiny:
        raise InvalidArgumentError(
            f"lag={lag!r}: transitions at the smallest rate, {smallest:g}, have a probability that underflows; take a "
            "larger lag, or set rates to 0 that are 1e300 times smaller than others"
        )


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
    if not np.isfinite(_entries(matrix)).all():
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
