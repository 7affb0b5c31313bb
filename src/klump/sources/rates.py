"""Discrete-time chains of continuous-time ones: uniformisation, or P = exp(lag G)."""

from __future__ import annotations

import math
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from klump.errors import InvalidArgumentError
from klump.sources.exponential import MAX_ENTRIES, MAX_STEP, Matrix, TooManyEntriesError, exponential

# Uniformisation rate q per largest exit rate, as in PRISM. With 1 the fastest state would have no self-transition, and
# the discrete chain could be periodic although no continuous-time chain is.
_CLOCK_FACTOR = 1.02

# Largest |diagonal + exit rate| per exit rate that is taken for rounding, per precision of the input.
_TOLERANCE = {"double": 1e-8, "single": 1e-5}


def uniformize(rates: Any) -> Matrix:
    """Uniformised transition matrix ``P = I + G / q`` of the chain with generator ``G``.

    The uniformisation rate ``q`` is 1.02 times the largest exit rate, so that every self-transition has probability
    0.0196 or more and the discrete chain is aperiodic. For every ``q``, the stationary distribution is that of the
    continuous-time chain, and a partition is exactly lumpable for the one if and only if it is for the other. States
    with exit rate 0 are absorbing and get a self-transition of probability 1.

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
    >>> uniformize([[0.0, 51.0], [25.5, 0.0]]).round(4)
    array([[0.0196, 0.9804],
           [0.4902, 0.5098]])
    """
    return uniformize_with_rate(rates)[0]


def uniformize_with_rate(rates: Any) -> tuple[Matrix, float]:
    """Uniformised transition matrix, and the uniformisation rate q.

    >>> uniformize_with_rate([[0.0, 51.0], [25.5, 0.0]])[1]
    52.02
    """
    off_diagonal, exit_rates = _read_rates(rates)
    clock = _CLOCK_FACTOR * float(exit_rates.max()) or 1.0
    _entries(off_diagonal)[...] /= clock
    return _set_diagonal(off_diagonal, 1.0 - exit_rates / clock), clock


def transition_matrix(rates: Any, lag: float) -> Matrix:
    """Transition matrix ``exp(lag G)`` over a time ``lag`` of the chain with rates ``R`` and generator ``G``.

    Entries are non-negative and rows sum to 1 to within rounding. The entries of a dense matrix are accurate to 1e-12.
    In a sparse one the smallest entries are dropped: each row is within 1e-12 of the exact one in total variation,
    and every transition with a positive rate is kept. A sparse chain does not resolve exit probabilities of 1e-12 or
    less over the lag; a dense one does.

    Parameters
    ----------
    rates
        As for :func:`uniformize`.
    lag
        A positive time, in the unit of time of the rates.

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
    off_diagonal, exit_rates = _read_rates(rates)
    clock = float(exit_rates.max())
    if not math.isfinite(clock * time):
        raise InvalidArgumentError(
            f"is too large: lag times the largest exit rate, {clock:g}, overflows",
            argument="lag",
            value=time,
            remedy="take a smaller lag",
        )
    # frexp(x)[1] squarings halve x to below 1.
    squarings = max(0, math.frexp(clock * time / MAX_STEP)[1])
    scale = math.ldexp(time, -squarings)
    _require_no_underflow(off_diagonal, scale, time)
    _entries(off_diagonal)[...] *= scale
    step = _set_diagonal(off_diagonal, (clock - exit_rates) * scale)
    try:
        return exponential(step, squarings)
    except TooManyEntriesError:
        raise InvalidArgumentError(
            f"is too large: the sparse transition matrix of {step.shape[0]:,} states would have more than "
            f"{MAX_ENTRIES:,} entries",
            argument="lag",
            value=time,
            remedy="take a smaller lag, or leave it out for the uniformised chain",
        ) from None


def _positive_time(lag: Any) -> float:
    try:
        time = float(lag) if isinstance(lag, Real) and not isinstance(lag, bool) else math.nan
    except OverflowError:
        time = math.inf
    if not 0.0 < time < math.inf:
        raise InvalidArgumentError(
            "must be a positive, finite number, in the unit of time of the rates", argument="lag", value=lag
        )
    return time


def _read_rates(rates: Any) -> tuple[Matrix, NDArray[np.float64]]:
    """Validate the rates; return a copy of the off-diagonal ones, and the exit rates."""
    matrix, tolerance = _to_square(rates)
    diagonal = matrix.diagonal()
    off_diagonal = _off_diagonal(matrix)
    _require_non_negative(off_diagonal)
    with np.errstate(over="ignore"):
        exit_rates = np.asarray(off_diagonal.sum(axis=1), dtype=np.float64).ravel()
        clock = _CLOCK_FACTOR * float(exit_rates.max())
    if not np.isfinite(clock):
        raise InvalidArgumentError(
            "has rows whose sum overflows", argument="rates", remedy="choose a larger unit of time"
        )
    _require_consistent(diagonal, exit_rates, tolerance)
    return off_diagonal, exit_rates


def _entries(matrix: Matrix) -> NDArray[np.float64]:
    """View of the stored entries."""
    return matrix.data if isinstance(matrix, sparse.csr_array) else matrix


def _set_diagonal(off_diagonal: Matrix, diagonal: NDArray[np.float64]) -> Matrix:
    if isinstance(off_diagonal, sparse.csr_array):
        return sparse.csr_array(
            off_diagonal + sparse.dia_array((diagonal[None, :], [0]), shape=off_diagonal.shape)
        )
    np.fill_diagonal(off_diagonal, diagonal)
    return off_diagonal


def _require_no_underflow(off_diagonal: Matrix, scale: float, lag: float) -> None:
    values = _entries(off_diagonal)
    smallest = float(np.min(values, initial=np.inf, where=values > 0.0))
    if smallest * scale < np.finfo(np.float64).tiny:
        raise InvalidArgumentError(
            f"is too small: the probability of transitions at the smallest rate, {smallest:g}, underflows",
            argument="lag",
            value=lag,
            remedy="take a larger lag, or set rates to 0 that are 1e300 times smaller than others",
        )


def _to_square(rates: Any) -> tuple[Matrix, float]:
    """Copy of the rates in float64, dense or CSR, and the tolerance of their precision."""
    try:
        given = rates if sparse.issparse(rates) else np.asarray(rates)
    except ValueError as error:
        raise InvalidArgumentError(
            "is not a matrix: its rows differ in length",
            argument="rates",
            remedy="give every row one rate per state",
        ) from error
    if given.dtype.kind not in "biuf":
        try:
            given = given.astype(np.float64, casting="safe" if given.dtype.kind == "c" else "unsafe")
        except (TypeError, ValueError) as error:
            raise InvalidArgumentError(
                f"must hold real numbers, but it holds {given.dtype} values", argument="rates"
            ) from error
    if sparse.issparse(given):
        summed = sparse.csr_array(given, dtype=np.float64, copy=True)
        summed.sum_duplicates()
        matrix: Matrix = summed
    else:
        matrix = np.array(given, dtype=np.float64, order="C")
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or matrix.shape[0] == 0:
        raise InvalidArgumentError(
            f"must be a square matrix, but its shape is {tuple(matrix.shape)}", argument="rates"
        )
    if not np.isfinite(_entries(matrix)).all():
        raise InvalidArgumentError(
            "has entries that are NaN or infinite", argument="rates", remedy="make every rate a finite number"
        )
    single = given.dtype in (np.dtype(np.float32), np.dtype(np.float16))
    return matrix, _TOLERANCE["single" if single else "double"]


def _off_diagonal(matrix: Matrix) -> Matrix:
    if isinstance(matrix, sparse.csr_array):
        coo = matrix.tocoo()
        mask = coo.row != coo.col
        return sparse.csr_array(
            sparse.coo_array((coo.data[mask], (coo.row[mask], coo.col[mask])), shape=matrix.shape)
        )
    off_diagonal = matrix.copy()
    np.fill_diagonal(off_diagonal, 0.0)
    return off_diagonal


def _require_non_negative(off_diagonal: Matrix) -> None:
    coo = sparse.coo_array(off_diagonal)
    bad = np.flatnonzero(coo.data < 0)
    if bad.size:
        row, col = int(coo.row[bad[0]]), int(coo.col[bad[0]])
        more = f" (and {bad.size - 1} more)" if bad.size > 1 else ""
        raise InvalidArgumentError(
            f"has {float(coo.data[bad[0]])} at row {row}, column {col}{more}: "
            "rates off the diagonal cannot be negative",
            argument="rates",
            row=row,
        )


def _require_consistent(
    diagonal: NDArray[np.float64], exit_rates: NDArray[np.float64], tolerance: float
) -> None:
    """Require that the diagonal is all zero, or minus the exit rates."""
    if not diagonal.any():
        return
    wrong = np.flatnonzero(np.abs(diagonal + exit_rates) > tolerance * exit_rates)
    if wrong.size:
        row = int(wrong[0])
        more = f" ({wrong.size} such rows)" if wrong.size > 1 else ""
        raise InvalidArgumentError(
            f"has {diagonal[row]:.12g} on the diagonal of row {row}{more}, "
            f"but the other rates there sum to {exit_rates[row]:.12g}",
            argument="rates",
            row=row,
            remedy="make the diagonal minus that sum, or all zero",
        )
