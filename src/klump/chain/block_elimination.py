"""Dense GTH elimination (Grassmann, Taksar and Heyman) for stationary masses, in blocks and free of subtractions.

The input is a matrix of *weights*, non-negative transition rates between distinct states. The diagonal is ignored, and
scaling row i by c divides the mass of state i by c, so large self-transition probabilities cost no accuracy.
Eliminating state k is censoring: the chain is watched only while it is in a later state. With the exit rate
w_k = sum_{c>k} a[k, c] to the later states, a transition to k becomes one to where k leads:

    a[i, j] += a[i, k] a[k, j] / w_k    for all i, j > k.

This is an LU factorisation of the generator diag(exit rates) - a. Its pivots w_k are sums instead of the differences
of Gaussian elimination, so nothing cancels: every mass is accurate to a small multiple of the rounding unit, however
nearly the chain falls apart.

The same in blocks: split the states to 1 (first half) and 2. The pivots of half 1 need only its weights a11 and its
total exit rates from each state, not their targets: factorise a11 recursively, with w1 = a12 1 + (exit rates to
states outside both halves). Then, with a11 = L11 U11 as factors of the generator,

    a12 <- L11^-1 a12,   a21 <- a21 U11^-1,   a22 <- a22 + a21 a12,

and likewise for the exit rates to the states outside; factorise a22 recursively. Almost all work is in matrix
products and triangular solves (BLAS). The array holds the weights negated, as the generator does, so these
subtract products of one sign from numbers of the other: still no cancellation.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import blas

from klump.parallel import one_thread

Floats = NDArray[np.float64]

# Most states of a chain for which the loop over states is interpreted, so that nobody waits for the compiler: 1.4 ms.
_MAX_INTERPRETED = 128
# Most states of a chain that is compiled, but not divided into blocks: from here on, BLAS is faster.
_MAX_UNBLOCKED = 512
# Most states of a block.
_BLOCK = 128
# float64 numbers per cache line, of which the rows of a block are multiples, padded with zeros.
_LINE = 8
# Smallest inflow, relative to the largest mass, that an underflow of 1e-308 in a product cannot have changed.
_MIN_FLOW = 1e-280


def solve_dense(weights: Floats) -> tuple[Floats, bool]:
    """Stationary masses (largest about 1) by GTH elimination; overwrites ``weights``, a C-contiguous array.

    The flag is False if an intermediate result left the range of float64: then the masses may be wrong, and
    :func:`klump.chain.elimination.solve_wide_range` is needed.

    Examples
    --------
    >>> mass, fits = solve_dense(np.array([[0.9, 0.1], [0.3, 0.7]]))
    >>> (mass / mass.sum()).round(12), fits
    (array([0.75, 0.25]), True)
    """
    n = len(weights)
    weights.flat[:: n + 1] = 0.0
    exit_rate = weights.sum(axis=1)
    if not exit_rate.all():
        return exit_rate, False
    # Leaving the range of float64 gives NaN, and the flag False. Rounding of BLAS depends on its number of threads.
    with np.errstate(all="ignore"), one_thread() if n > _MAX_UNBLOCKED else nullcontext():
        weights *= (-1.0 / exit_rate)[:, None]
        _factorise_chain(weights)
        inflow = weights.diagonal().copy()
        # Back substitution: mass L = (0, ..., 0, 1).
        weights[-1, -1] = 1.0
        mass = np.zeros(n)
        mass[-1] = 1.0
        mass = blas.dtrsv(weights.T, mass, overwrite_x=True)
        inflow *= mass
        fits = inflow[:-1].min() > _MIN_FLOW * mass.max()
        return quotient(mass, exit_rate), bool(fits)


def factorise_killed(weights: Floats, exit_rate: Floats) -> Floats:
    """Factors L and U of the generator of a killed chain, diag(a 1 + exit_rate) - a; overwrites ``weights``.

    A killed chain ends at rate ``exit_rate``, which must be reachable from every state. L has the pivots on its
    diagonal; that of U is 1 and not stored. Inverses of L and U are non-negative and have small relative errors in
    every entry, as those of a generator without exits.

    >>> factorise_killed(np.array([[0.0, 0.1], [0.3, 0.0]]), np.array([0.0, 0.5])).round(12)
    array([[ 0.1, -1. ], [-0.3,  0.5]])
    """
    n = len(weights)
    weights.flat[:: n + 1] = 0.0
    with np.errstate(all="ignore"), one_thread() if n > _MAX_UNBLOCKED else nullcontext():
        if n > _MAX_UNBLOCKED:
            from klump.chain.elimination import eliminate_states

            np.negative(weights, out=weights)
            _factorise(weights, -exit_rate, eliminate_states)
            return weights
        rows = np.zeros((n, (n // _LINE + 1) * _LINE))
        rows[:, :n], rows[:, n] = -weights, -exit_rate
        if n <= _MAX_INTERPRETED:
            _eliminate_states(rows)
        else:
            from klump.chain.elimination import eliminate_states

            eliminate_states(rows)
        return rows[:, :n]


def _factorise_chain(a: Floats) -> None:
    """Factorise the generator of a chain, in place, from its negated weights."""
    if len(a) <= _MAX_INTERPRETED:
        _eliminate_states(a)
        return
    from klump.chain.elimination import eliminate_states

    if len(a) <= _MAX_UNBLOCKED:
        eliminate_states(a)
    else:
        _factorise(a, np.zeros(len(a)), eliminate_states)


def _factorise(
    a: Floats,  # inout: negated weights of a diagonal block; becomes L and U, whose unit diagonal is not stored
    outside: Floats,  # inout: negated exit rates to the later states outside the block; becomes L^-1 outside
    eliminate_states: Callable[[Floats], None],
) -> None:
    """Factorise the generator of a diagonal block by halves, as in the docstring of this module."""
    n = len(a)
    if n <= _BLOCK:
        rows = np.zeros((n, (n // _LINE + 1) * _LINE))
        rows[:, :n], rows[:, n] = a, outside
        eliminate_states(rows)
        a[:], outside[:] = rows[:, :n], rows[:, n]
        return
    half = -(-n // (2 * _BLOCK)) * _BLOCK
    a11, a12, a21, a22 = a[:half, :half], a[:half, half:], a[half:, :half], a[half:, half:]
    _factorise(a11, outside[:half] + a12.sum(axis=1), eliminate_states)
    # BLAS stores matrices by columns and NumPy by rows: what is an array to one is its transpose to the other.
    exits = np.empty((half, n - half + 1))
    exits[:, :-1], exits[:, -1] = a12, outside[:half]
    exits = blas.dtrsm(1.0, a11.T, exits.T, side=1, overwrite_b=True).T  # L11^-1 (a12, outside)
    entries = blas.dtrsm(1.0, a11.T, a21.T, lower=1, diag=1).T  # a21 U11^-1
    a12[:], outside[:half], a21[:] = exits[:, :-1], exits[:, -1], entries
    product = blas.dgemm(1.0, exits.T, entries.T).T
    a22 -= product[:, :-1]
    outside[half:] -= product[:, -1]
    del exits, entries, product
    _factorise(a22, outside[half:], eliminate_states)


def _eliminate_states(a: Floats) -> None:
    """Eliminate states as :func:`klump.chain.elimination.eliminate_states` does, without the compiler."""
    for k in range(len(a)):
        row, later = a[k, k + 1 :], a[k + 1 :, k + 1 :]
        a[k, k] = pivot = -np.add.reduce(row)
        row /= pivot
        later -= a[k + 1 :, k, None] * row


def quotient(mass: Floats, exit_rate: Floats) -> Floats:
    """Quotient mass / exit_rate, scaled so that the largest result is about 1.

    >>> quotient(np.array([1e200, 1e150]), np.array([2.0**-1000, 2.0**-1000])).round(3)
    array([1.306, 0.   ])
    """
    above, exponent_above = np.frexp(mass)
    below, exponent_below = np.frexp(exit_rate)
    return ldexp_to_largest(above / below, exponent_above - exponent_below)


def ldexp_to_largest(mantissa: Floats, exponent: NDArray[np.integer]) -> Floats:
    """Values mantissa * 2^(exponent - top), with ``top`` the largest exponent of a positive mantissa."""
    shift = exponent - np.where(mantissa > 0.0, exponent, exponent.min()).max()
    return np.ldexp(mantissa, np.maximum(shift, -2000).astype(np.int32))
