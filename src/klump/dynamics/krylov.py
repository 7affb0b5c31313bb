"""BiCGSTAB for several right-hand sides in one pass over the matrix, with a coarse correction as preconditioner."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

Floats = NDArray[np.float64]
Operator = Callable[[Floats], Floats]

# Rounding unit of float64.
_EPSILON = float(np.finfo(float).eps)
# Most iterations per solve, and solves for the residual of the one before.
_ITERATIONS, _REFINEMENTS = 200, 4
# Reduction of the residual per solve: beyond it the recurrences of BiCGSTAB lose contact with the true residual.
_REDUCTION = 1e-11
# Residual at which a solution is accepted, relative to the right-hand side.
_TOLERANCE = 1e-12
# Columns that are solved together: bounds the memory to nine n x 16 arrays.
_COLUMNS = 16
# Largest number of blocks of the coarse correction: 32 MB.
_MAX_BLOCKS = 2000
# Largest exit probability per step of a nearly closed block.
_MAX_EXIT = 0.1
# Rounds of agglomeration; each at least halves the number of groups that can still merge.
_ROUNDS = 64


class System(NamedTuple):
    """The matrix A = I - P, or A = I - P + 1 mu^T if ``mean`` is mu."""

    matrix: Any
    mean: Floats | None = None

    def apply(self, x: Floats) -> Floats:
        """Product A x."""
        found = x - self.matrix @ x
        return np.asarray(found if self.mean is None else found + self.mean @ x)


def solve(apply: Operator, precondition: Operator, rhs: Floats) -> Floats:
    """Solve A x = rhs for all columns of ``rhs``; the caller checks the residual.

    Examples
    --------
    >>> A = np.array([[2.0, 1.0], [0.0, 3.0]])
    >>> solve(lambda x: A @ x, lambda r: r, np.array([[3.0], [3.0]])).ravel().round(12)
    array([1., 1.])
    """
    found = np.zeros_like(rhs)
    for begin in range(0, rhs.shape[1], _COLUMNS):
        part = slice(begin, begin + _COLUMNS)
        b = np.ascontiguousarray(rhs[:, part])
        x, residual, before = np.zeros_like(b), b.copy(), np.inf
        goal = _TOLERANCE * np.sqrt(_dots(b, b))
        for _ in range(_REFINEMENTS):
            x += _bicgstab(apply, precondition, residual, goal)
            residual = b - apply(x)
            largest = float(np.abs(residual).max())
            floor = max(_TOLERANCE * float(np.abs(b).max()), 4.0 * _EPSILON * float(np.abs(x).max()))
            if not largest < 0.1 * before or largest <= floor:
                break
            before = largest
        found[:, part] = x
    return found


def _bicgstab(apply: Operator, precondition: Operator, b: Floats, goal: Floats) -> Floats:
    """Approximate solution of A x = b, per column with a residual norm of ``goal`` or 1e-11 |b|, or stagnation."""
    x, r = np.zeros_like(b), b.copy()
    shadow = b.copy()
    goal = np.maximum(goal, _REDUCTION * np.sqrt(_dots(b, b)))
    rho = alpha = omega = np.ones(b.shape[1])
    p, v = np.zeros_like(b), np.zeros_like(b)
    best, least = x.copy(), np.full(b.shape[1], np.inf)
    for _ in range(_ITERATIONS):
        new_rho = _dots(shadow, r)
        p = r + _quotient(new_rho, rho) * _quotient(alpha, omega) * (p - omega * v)
        rho = new_rho
        direction = precondition(p)
        v = apply(direction)
        alpha = _quotient(rho, _dots(shadow, v))
        r -= alpha * v
        x += alpha * direction
        direction = precondition(r)
        t = apply(direction)
        omega = _quotient(_dots(t, r), _dots(t, t))
        x += omega * direction
        r -= omega * t
        norm = np.sqrt(_dots(r, r))
        better = norm < least
        best[:, better], least = x[:, better], np.minimum(norm, least)
        if (least <= goal).all() or not np.isfinite(norm).any():
            break
    return best


def _dots(a: Floats, b: Floats) -> Floats:
    return np.asarray(np.einsum("ij,ij->j", a, b))


def _quotient(a: Floats, b: Floats) -> Floats:
    """Quotient a / b, 0 where b is 0: such a column has converged."""
    return np.divide(a, b, out=np.zeros_like(a), where=b != 0.0)


def nearly_closed_blocks(jumps: sparse.csr_array, mass: Floats) -> NDArray[np.int32]:
    """Labels of blocks with exit probability at most 0.1 per step; one block if there are more than 2,000."""
    from klump.chain.kernels.flows import groups

    labels, n_blocks = groups(
        jumps.indptr, jumps.indices, jumps.data, mass, _MAX_EXIT, _ROUNDS, jumps.shape[0]
    )
    return np.asarray(labels) if n_blocks <= _MAX_BLOCKS else np.zeros_like(labels)


def coarse_correction(system: System, labels: NDArray[np.int32], mass: Floats) -> Operator:
    """Two-level preconditioner: solve on blocks of states, then one Richardson step.

    The slow modes of a nearly decomposable chain are nearly constant on its blocks; Krylov iterations alone would need
    many vectors for them. Test vectors are the indicators of the blocks, weighted with ``mass``.
    """
    from scipy.linalg import lu_factor, lu_solve

    n, n_blocks = len(labels), int(labels.max()) + 1
    blocks = sparse.csr_array((np.ones(n), labels, np.arange(n + 1)), shape=(n, n_blocks))
    weighted = sparse.csr_array(sparse.diags_array(mass) @ blocks).T
    applied = blocks - sparse.csr_array(system.matrix @ blocks)  # A blocks, without the term of rank one
    means = None if system.mean is None else system.mean @ blocks
    coarse = (weighted @ applied).toarray()
    if means is not None:
        coarse += np.outer(np.asarray(weighted.sum(axis=1)).ravel(), means)
    factors = lu_factor(coarse, check_finite=False)

    def precondition(residual: Floats) -> Floats:
        on_blocks = lu_solve(factors, weighted @ residual, check_finite=False)
        guess = on_blocks[labels] - applied @ on_blocks
        if means is not None:
            guess -= means @ on_blocks
        return np.asarray(guess + residual)

    return precondition
