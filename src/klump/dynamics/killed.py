"""Linear systems of a killed chain, with small relative error in every component of the solution.

A killed chain moves between the n states at the rates ``weights`` (the diagonal is ignored) and ends at the rates
``exit_rate``. With its generator G = diag(weights 1 + exit_rate) - weights, the solution x = G^-1 b of a non-negative b
is what is collected until the end if state i pays b[i] per unit of time: b = 1 gives the expected time to the end, and
the rates to a target give the probability of ending there.

Up to 2,000 states, and up to 10,000 with few zeros, G is factorised by dense GTH elimination. Larger sparse chains are
reduced by sparse GTH elimination if that has little fill-in, else solved by BiCGSTAB, whose residual is checked. Both
eliminations are free of subtractions, so that nearly decomposable chains cost no accuracy; the relative error of an
expected time by BiCGSTAB is at most 1e-9.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.linalg import solve_triangular

from klump.chain.block_elimination import factorise_killed
from klump.chain.rows import Matrix, folder_of
from klump.dynamics import krylov
from klump.errors import ConvergenceError

if TYPE_CHECKING:
    from klump.chain.kernels.sparse_elimination import Reduction

Floats = NDArray[np.float64]

# Largest chain for dense elimination, in states: 32 MB.
DENSE_LIMIT = 2000
# The same for a chain with few zeros: 800 MB.
_FULL_LIMIT = 10_000
# Smallest share of positive entries in a chain with few zeros.
_FULL_SHARE = 0.25
# Work limits of sparse elimination before and after BiCGSTAB, in row entries visited: a second, some seconds.
_WORK = (200_000_000, 2_000_000_000)
# Most transitions of a memory-mapped chain that sparse elimination may copy to memory.
_MAX_COPIED = 20_000_000
# Largest residual max|G x - b| of a solution by BiCGSTAB, relative to max|b|: a bound on the relative error if b = 1.
_MAX_RESIDUAL = 1e-9
# Steps of power iteration that approximate the quasi-stationary distribution.
_POWER_STEPS = 50


class DenseFactors(NamedTuple):
    """LU factors of the generator of a killed chain."""

    lu: Floats

    def solve(self, rhs: Floats) -> Floats:
        """Solve G x = rhs for the columns of ``rhs``, n x m and non-negative."""
        with np.errstate(all="ignore"):
            forward = solve_triangular(self.lu, rhs, lower=True, check_finite=False)
            return np.asarray(solve_triangular(self.lu, forward, unit_diagonal=True, check_finite=False))


class SparseFactors(NamedTuple):
    """Sparse elimination of most states, and LU factors of the generator of the others."""

    reduction: Reduction
    rest: DenseFactors

    def solve(self, rhs: Floats) -> Floats:
        """Solve G x = rhs for the columns of ``rhs``, n x m and non-negative."""
        from klump.chain.kernels.sparse_elimination import carry_back, carry_forward

        x = np.concatenate([rhs, np.zeros((1, rhs.shape[1]))])  # the last state is the end
        carry_forward(self.reduction, x)
        others = self.reduction.remaining[:-1]
        x[others] = self.rest.solve(x[others])
        carry_back(self.reduction, x)
        return x[:-1]


Factors: TypeAlias = DenseFactors | SparseFactors


def solve_killed(weights: Matrix, exit_rate: Floats, rhs: Floats) -> Floats:
    """Solve G x = rhs for the columns of ``rhs``, n x m and non-negative; every state must reach the end.

    Raises
    ------
    ConvergenceError
        If the chain is too large for elimination and BiCGSTAB does not converge, or if a result exceeds the range of
        float64.

    Examples
    --------
    >>> weights, exit_rate = np.array([[0.0, 0.5], [0.5, 0.0]]), np.array([0.5, 0.0])
    >>> solve_killed(weights, exit_rate, np.ones((2, 1))).ravel()
    array([4., 6.])
    """
    if weights.shape[0] == 0:
        return np.zeros_like(rhs)
    factors = factorise(weights, exit_rate, _WORK[0])
    found = None if factors is None else factors.solve(rhs)
    if found is None:
        found = _solve_iteratively(sparse.csr_array(weights), exit_rate, rhs)
    if found is None:
        factors = factorise(weights, exit_rate, _WORK[1])
        found = None if factors is None else factors.solve(rhs)
    if found is None or not np.isfinite(found).all():
        raise ConvergenceError(
            f"a linear system of {weights.shape[0]:,} states was not solved: elimination has too much fill-in and "
            "BiCGSTAB did not converge"
            if found is None
            else f"a linear system of {weights.shape[0]:,} states has a solution beyond the range of float64",
            remedy="aggregate the chain first, and ask its aggregated or long-time chain",
        )
    return found


def factorise(weights: Matrix, exit_rate: Floats, max_work: int = _WORK[1]) -> Factors | None:
    """Factorise the generator of a killed chain; None if that takes too much work or memory."""
    n = weights.shape[0]
    if n <= DENSE_LIMIT or _is_full(weights):
        dense = weights.toarray() if isinstance(weights, sparse.csr_array) else np.array(weights, order="C")
        return DenseFactors(factorise_killed(dense, exit_rate))
    from klump.chain.kernels.sparse_elimination import reduce_chain

    moves = _with_end(sparse.csr_array(weights), exit_rate)
    if folder_of(weights) is not None and moves.nnz > _MAX_COPIED:
        return None
    try:
        reduction = reduce_chain(moves, DENSE_LIMIT, max_work, n_kept=1, with_rows=True)
    except MemoryError:
        return None
    if not reduction.weights.size or not reduction.pivot.all():
        return None
    rest = np.ascontiguousarray(reduction.weights[:-1, :-1])
    return SparseFactors(reduction, DenseFactors(factorise_killed(rest, reduction.weights[:-1, -1])))


def _is_full(weights: Matrix) -> bool:
    n = weights.shape[0]
    if n > _FULL_LIMIT or folder_of(weights) is not None:
        return False
    return not isinstance(weights, sparse.csr_array) or bool(weights.nnz >= _FULL_SHARE * n**2)


def _with_end(weights: sparse.csr_array, exit_rate: Floats) -> sparse.csr_array:
    """Transitions between distinct states, and to the end as a further, last state with an empty row."""
    n = weights.shape[0]
    moves = weights.tocoo()
    apart = (moves.row != moves.col) & (moves.data > 0.0)
    leaving = np.flatnonzero(exit_rate > 0.0)
    row = np.concatenate([moves.row[apart], leaving])
    col = np.concatenate([moves.col[apart], np.full(len(leaving), n)])
    data = np.concatenate([moves.data[apart], exit_rate[leaving]])
    found = sparse.csr_array((data, (row, col)), shape=(n + 1, n + 1))
    found.sum_duplicates()
    return found


def _solve_iteratively(weights: sparse.csr_array, exit_rate: Floats, rhs: Floats) -> Floats | None:
    """Solve by BiCGSTAB on the jump chain; None without convergence."""
    jumps, leaving_rate = _jumps(weights, exit_rate)
    mass, back = np.full(len(exit_rate), 1.0 / len(exit_rate)), sparse.csr_array(jumps.T)
    for _ in range(_POWER_STEPS):
        mass = mass + back @ mass  # lazy, so that periodic chains converge
        mass /= mass.sum()

    system = krylov.System(jumps)
    correct = krylov.coarse_correction(system, krylov.nearly_closed_blocks(jumps, mass), mass)
    found = krylov.solve(system.apply, correct, rhs / leaving_rate[:, None])
    residual = np.abs(rhs - leaving_rate[:, None] * system.apply(found)).max(axis=0)
    return found if (residual <= _MAX_RESIDUAL * np.abs(rhs).max(axis=0)).all() else None


def _jumps(weights: sparse.csr_array, exit_rate: Floats) -> tuple[sparse.csr_array, Floats]:
    """Transitions between distinct states divided by the total rate of leaving, and that rate."""
    moves = sparse.csr_array(weights - sparse.diags_array(weights.diagonal()))
    moves.eliminate_zeros()
    leaving_rate = np.asarray(moves.sum(axis=1)).ravel() + exit_rate
    return sparse.csr_array(sparse.diags_array(1.0 / leaving_rate) @ moves), leaving_rate
