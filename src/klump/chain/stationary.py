"""The stationary distribution of an irreducible chain, with small relative error in every component.

Chains of up to 2,000 states, and of up to 10,000 with few zeros, are solved by dense GTH elimination in blocks, in the
time of an LU factorisation. The others by the first of these methods that succeeds, cheapest first: detailed balance,
if the chain is reversible; power iteration, if its spectral gap is large; sparse elimination with a small work limit;
aggregation-disaggregation, if it is nearly completely decomposable; sparse elimination with the full work limit;
multilevel aggregation. None of them subtracts masses, so small masses have the same relative accuracy as large ones.
All work on the jump chain, whose rows are the transitions to other states divided by the exit rate, so that large
self-transition probabilities do not slow convergence.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse import csgraph

from klump.chain.block_elimination import ldexp_to_largest, quotient, solve_dense
from klump.chain.rows import Matrix, folder_of, row_blocks, stack_row_blocks, total
from klump.chain.validation import row_sums
from klump.errors import ConvergenceError

Floats = NDArray[np.float64]

# Largest chain for dense elimination, in states: 32 MB and 2/3 n^3 = 5e9 operations.
_DENSE_LIMIT = 2000
# The same for a chain with few zeros, whose iterations would cost as much: 800 MB and 7e11 operations.
_FULL_LIMIT = 10_000
# Smallest share of positive entries in a chain with few zeros.
_FULL_SHARE = 0.25
# Largest relative residual of detailed balance, |m_i p_ij / (m_j p_ji) - 1|, that is taken for rounding.
_BALANCE_TOLERANCE = 1e-11
# Relative change, or estimated relative error, at which an iteration has converged: some hundred rounding units.
_TOLERANCE = 1e-13
# Largest residual sum |mu P - mu| of a result.
_MAX_RESIDUAL = 1e-10
# Smallest mass in the convergence test; smaller ones are close to float64 underflow and have lost digits.
_MIN_MASS = 1e-290
# Self-transition probability of the lazy chain in power iteration, which makes periodic chains converge.
_DAMPING = 0.1
# Power-iteration steps per iterate of the fixed-point iteration.
_POWER_STEPS = 3
# Iterates per reduced rank extrapolation.
_WINDOW = 6
# Most rounds of agglomeration; each at least halves the number of groups that can still merge.
_MAX_ROUNDS = 64
# Largest exit probability per step of a nearly closed block.
_MAX_EXIT = 0.01
# Work limit of sparse elimination, in row entries visited: some seconds.
_MAX_WORK = 2_000_000_000
# Most transitions of a memory-mapped chain that sparse elimination and multilevel aggregation may copy to memory.
_MAX_COPIED = 20_000_000
# Largest coarse chain that is solved directly in multilevel aggregation, in states.
_COARSEST = 200


def stationary_distribution(matrix: Matrix) -> Floats:
    """Compute the distribution mu with mu P = mu of an irreducible transition matrix.

    Raises
    ------
    ConvergenceError
        If the chain is too large for elimination and no iteration converges.

    Examples
    --------
    >>> stationary_distribution(np.array([[0.9, 0.1], [0.3, 0.7]])).round(12)
    array([0.75, 0.25])
    """
    mass = _solve(matrix)
    return _verify(mass / mass.sum(), matrix)


def _solve(weights: Matrix) -> Floats:
    """Stationary masses, up to a factor, of the chain with these transition rates; NaN on failure."""
    n = weights.shape[0]
    if n == 1:
        return np.ones(1)
    if n <= _DENSE_LIMIT or _is_full(weights):
        found, fits = solve_dense(_to_dense(weights))
        if fits:
            return found
    jumps, exit_rate = _jump_chain(weights)
    if not (exit_rate > 0.0).all():  # underflow
        return np.full(n, np.nan)
    mass = _solve_balance(jumps)
    if mass is None and n <= _DENSE_LIMIT:
        from klump.chain.elimination import solve_wide_range

        return ldexp_to_largest(*solve_wide_range(_to_dense(weights)))
    return quotient(_solve_iteratively(jumps) if mass is None else mass, exit_rate)


def _is_full(weights: Matrix) -> bool:
    """Whether a large chain has few zeros and a dense copy of it fits in memory."""
    n = weights.shape[0]
    if n > _FULL_LIMIT or folder_of(weights) is not None:
        return False
    n_positive = weights.nnz if isinstance(weights, sparse.csr_array) else np.count_nonzero(weights)
    return bool(n_positive >= _FULL_SHARE * n**2)


def _to_dense(weights: Matrix) -> Floats:
    """Copy to a C-contiguous array that may be overwritten."""
    return weights.toarray() if isinstance(weights, sparse.csr_array) else np.array(weights, order="C")


def _jump_chain(weights: Matrix) -> tuple[sparse.csr_array, Floats]:
    """Jump chain: transitions to other states divided by the exit rate, and the exit rates."""
    matrix = sparse.csr_array(weights)
    exit_rate = np.empty(matrix.shape[0])
    return stack_row_blocks(_jump_blocks(matrix, exit_rate), matrix), exit_rate


def _jump_blocks(matrix: sparse.csr_array, exit_rate: Floats) -> Iterator[sparse.csr_array]:
    """Row blocks of the jump chain; fills ``exit_rate``."""
    for rows, block in row_blocks(matrix):
        degree = np.diff(block.indptr)
        row = np.repeat(np.arange(rows.start, rows.stop), degree)
        moves = block
        if (row == block.indices).any():
            keep = row != block.indices
            indptr = np.concatenate(
                ([0], np.cumsum(np.bincount(row[keep] - rows.start, minlength=len(degree))))
            )
            parts = (block.data[keep], block.indices[keep], indptr.astype(block.indptr.dtype))
            moves = sparse.csr_array(parts, shape=block.shape)
        exit_rate[rows] = row_sums(moves)
        data = moves.data / np.repeat(exit_rate[rows], np.diff(moves.indptr))
        yield sparse.csr_array((data, moves.indices, moves.indptr), shape=moves.shape)


def _solve_balance(jumps: sparse.csr_array) -> Floats | None:
    """Masses in detailed balance, m_i p_ij = m_j p_ji; None if the chain is not reversible."""
    from klump.chain.kernels.flows import solve_balance

    # Most non-reversible chains have transitions without a reverse; a sample of 100 detects them cheaply.
    for position in np.linspace(0, jumps.nnz - 1, 100).astype(int):
        row = int(np.searchsorted(jumps.indptr, position, side="right")) - 1
        col = jumps.indices[position]
        if row not in jumps.indices[jumps.indptr[col] : jumps.indptr[col + 1]]:
            return None
    if not jumps.has_sorted_indices:
        jumps = jumps.sorted_indices()
    mass, exponent, residual = solve_balance(jumps.indptr, jumps.indices, jumps.data)
    return ldexp_to_largest(mass, exponent) if residual <= _BALANCE_TOLERANCE else None


def _solve_iteratively(jumps: sparse.csr_array) -> Floats:
    """Stationary masses of a non-reversible chain by the first method that converges; NaN on failure."""
    n = jumps.shape[0]
    step = partial(_power_iteration, jumps, _POWER_STEPS)
    mass, converged = _fixed_point(step, np.full(n, 1.0 / n), 300, 20, _WINDOW)
    if converged:
        corrected, converged = _correct_block_masses(jumps, mass)
        if converged:
            return corrected
    exact = _eliminate_sparse(jumps, _MAX_WORK // 10)
    if exact is not None:
        return exact
    corrected, converged = _solve_decomposable(jumps, mass)
    if converged:
        return corrected
    exact = _eliminate_sparse(jumps, _MAX_WORK)
    if exact is not None:
        return exact
    mass, converged = _iterate_slowly(jumps, mass)
    if converged:
        mass, converged = _correct_block_masses(jumps, mass)
    return mass if converged else np.full(n, np.nan)


def _iterate_slowly(jumps: sparse.csr_array, mass: Floats) -> tuple[Floats, bool]:
    """Multilevel aggregation, or long power iteration if the chain does not fit in memory."""
    if _fits_in_memory(jumps):
        try:
            return _fixed_point(partial(_multilevel_cycle, jumps, 1), mass, 300, patience=50)
        except MemoryError:
            pass
    return _fixed_point(partial(_power_iteration, jumps, 10 * _POWER_STEPS), mass, 2000, 50, _WINDOW)


def _fits_in_memory(jumps: sparse.csr_array) -> bool:
    return jumps.nnz <= _MAX_COPIED or folder_of(jumps) is None


def _fixed_point(
    step: Callable[[Floats], Floats], mass: Floats, max_steps: int, patience: int = 10, window: int = 0
) -> tuple[Floats, bool]:
    """Iterate ``step`` until the relative error, extrapolated from the decay of the changes, is below ``_TOLERANCE``.

    Stops without convergence after ``max_steps``, or after ``patience`` steps if the convergence rate predicts that
    ``max_steps`` will not suffice. A positive ``window`` replaces every window of iterates by their reduced rank
    extrapolation; its rounding error does not persist, since ``step`` follows.
    """
    changes = [math.inf]
    iterates: list[Floats] = []
    for steps_left in range(max_steps, 0, -1):
        iterates = [*iterates, mass] if window else []
        if len(iterates) == window > 0:
            mass, iterates = _extrapolate(iterates), []
        new = step(mass)
        counts = new > _MIN_MASS
        if not counts.any():
            break
        changes.append(float(np.abs(mass[counts] / new[counts] - 1.0).max()))
        mass = new
        # The larger of two ratios: with complex eigenvalues the changes decay unevenly.
        rate = max(changes[-1] / changes[-2], changes[-2] / changes[-3]) if len(changes) > 3 else math.inf
        if changes[-1] <= _TOLERANCE or (rate < 0.9 and changes[-1] * rate / (1.0 - rate) <= _TOLERANCE):
            return mass, True
        if len(changes) > patience:
            mean_rate = (changes[-1] / changes[-patience // 2]) ** (2.0 / patience)
            if mean_rate >= 1.0 or changes[-1] * mean_rate**steps_left > _TOLERANCE:
                break
    return mass, False


def _extrapolate(iterates: list[Floats]) -> Floats:
    """Reduced rank extrapolation: the affine combination of iterates with the smallest combined change.

    Returns the last iterate instead if a component would change by more than a factor of 2.
    """
    last = iterates[-1]
    root = np.sqrt(np.maximum(last, _MIN_MASS))
    changes = np.array([(later - earlier) / root for earlier, later in pairwise(iterates)])
    products = changes @ changes.T
    if not products.max() > 0.0:
        return last
    weights = np.linalg.lstsq(products / products.max(), np.ones(len(changes)), rcond=1e-12)[0]
    if not weights.sum() > 0.0:
        return last
    limit = sum(weight * later for weight, later in zip(weights / weights.sum(), iterates[1:], strict=True))
    is_plausible = np.isfinite(limit).all() and (limit >= 0.5 * last).all() and (limit <= 2.0 * last).all()
    return np.asarray(limit / limit.sum()) if is_plausible else last


def _power_iteration(jumps: sparse.csr_array, steps: int, mass: Floats) -> Floats:
    """Steps of power iteration on the lazy chain _DAMPING I + (1 - _DAMPING) jumps."""
    transposed = jumps.T
    for _ in range(steps):
        mass = _DAMPING * mass + (1.0 - _DAMPING) * (transposed @ mass)
    return np.asarray(mass / mass.sum())


def _solve_decomposable(jumps: sparse.csr_array, mass: Floats) -> tuple[Floats, bool]:
    """Stationary masses of a nearly completely decomposable chain by aggregation-disaggregation."""
    for labels, n_blocks in _candidate_blocks(jumps, mass):
        if 1 < n_blocks <= len(mass) // 3:
            corrected, converged = _fixed_point(partial(_disaggregate, jumps, labels, n_blocks), mass, 100)
            if converged:
                return _correct_block_masses(jumps, corrected)
    return mass, False


def _correct_block_masses(jumps: sparse.csr_array, mass: Floats) -> tuple[Floats, bool]:
    """Correct the total masses of nearly closed blocks, after an iteration that converged within each of them.

    Any masses of blocks whose exchange is below rounding have a residual of zero.
    """
    labels, n_blocks = _blocks_by_flow(jumps, mass)
    if n_blocks == 1:
        return mass, True
    if n_blocks > len(mass) // 3:
        return mass, False
    return _fixed_point(partial(_disaggregate, jumps, labels, n_blocks), mass, 100)


def _blocks_by_flow(jumps: sparse.csr_array, mass: Floats) -> tuple[NDArray[np.int32], int]:
    """Labels and number of the nearly closed blocks: exit probability at most ``_MAX_EXIT`` per step."""
    from klump.chain.kernels.flows import groups

    labels, n_blocks = groups(
        jumps.indptr, jumps.indices, jumps.data, mass, _MAX_EXIT, _MAX_ROUNDS, len(mass)
    )
    return labels, n_blocks


def _candidate_blocks(jumps: sparse.csr_array, mass: Floats) -> Iterator[tuple[NDArray[np.int32], int]]:
    """Candidate partitions to nearly closed blocks: by flows, then as components without the rare transitions."""
    yield _blocks_by_flow(jumps, mass)
    for rare in (1e-2, 1e-5, 1e-9):
        common = stack_row_blocks((_drop_rare(block, rare) for _, block in row_blocks(jumps)), jumps)
        if common.nnz < jumps.nnz:
            n_blocks, labels = csgraph.connected_components(common, directed=True, connection="strong")
            yield labels, n_blocks


def _drop_rare(block: sparse.csr_array, rare: float) -> sparse.csr_array:
    """Row block without transitions below ``rare`` times the largest of their row."""
    likeliest = np.maximum.reduceat(block.data, block.indptr[:-1])
    relative = block.data / np.repeat(likeliest, np.diff(block.indptr))
    common = sparse.csr_array(
        (relative * (relative >= rare), block.indices.copy(), block.indptr.copy()), shape=block.shape
    )
    common.eliminate_zeros()
    return common


def _disaggregate(jumps: sparse.csr_array, labels: NDArray[np.int32], n_blocks: int, mass: Floats) -> Floats:
    """One aggregation-disaggregation step: solve the chain of blocks for their masses, then power iteration."""
    return _power_iteration(jumps, 10 * _POWER_STEPS, _reweight_groups(jumps, mass, labels, n_blocks, _solve))


def _reweight_groups(
    jumps: sparse.csr_array,
    mass: Floats,
    labels: NDArray[np.int32],
    n_groups: int,
    solve: Callable[[sparse.csr_array], Floats],
) -> Floats:
    """Scale the mass of each group by the stationary solution of the aggregated flows."""
    between = total(_group_flows(jumps, mass, labels, n_groups))
    between.eliminate_zeros()
    mass = mass * solve(between)[labels]
    return mass / mass.sum()


def _group_flows(
    jumps: sparse.csr_array, mass: Floats, labels: NDArray[np.int32], n_groups: int
) -> Iterator[sparse.csr_array]:
    """Flow matrix between distinct groups, one summand per row block."""
    for rows, block in row_blocks(jumps):
        degree = np.diff(block.indptr)
        source, target = np.repeat(labels[rows], degree), labels[block.indices]
        apart = source != target
        flow = (block.data * np.repeat(mass[rows], degree))[apart]
        yield sparse.csr_array((flow, (source[apart], target[apart])), shape=(n_groups, n_groups))


def _eliminate_sparse(jumps: sparse.csr_array, max_work: int) -> Floats | None:
    """Stationary masses by sparse elimination; None if work or memory do not suffice."""
    if not _fits_in_memory(jumps):
        return None
    from klump.chain.kernels.sparse_elimination import reduce_chain, substitute_back

    try:
        reduction = reduce_chain(jumps, _DENSE_LIMIT, max_work)
    except MemoryError:
        return None
    if not reduction.weights.size or not reduction.pivot.all():
        return None
    mass = np.asarray(substitute_back(reduction, _solve(reduction.weights)))
    return mass if np.isfinite(mass).all() else None


def _multilevel_cycle(jumps: sparse.csr_array, visits: int, mass: Floats) -> Floats:
    """One cycle of multilevel aggregation: V-cycle for ``visits`` = 1, W-cycle for 2."""
    from klump.chain.kernels.flows import gauss_seidel, groups

    back = sparse.csr_array(jumps.T)
    mass = mass.copy()
    gauss_seidel(back.indptr, back.indices, back.data, mass, 2)
    for _ in range(visits):
        labels, n_groups = groups(jumps.indptr, jumps.indices, jumps.data, mass, 0.0, 3, 6)
        if 4 * n_groups > 3 * len(mass):
            break  # coarsening by less than 1/4 gives no hierarchy
        mass = _reweight_groups(jumps, mass, labels, n_groups, _solve_coarse)
        gauss_seidel(back.indptr, back.indices, back.data, mass, 2)
        if 3 * n_groups > len(mass):
            break  # coarsening by less than 2/3: a second visit would double the work of every level
    return mass / mass.sum()


def _solve_coarse(flow: sparse.csr_array) -> Floats:
    if flow.shape[0] <= _COARSEST:
        return _solve(flow)
    jumps, exit_rate = _jump_chain(flow)
    return quotient(_multilevel_cycle(jumps, 2, exit_rate), exit_rate)


def _verify(mu: Floats, matrix: Matrix) -> Floats:
    """Return ``mu`` if it is finite, non-negative and has a small residual; else raise."""
    remedy = "pass stationary_distribution= if it is known, or merge the most strongly connected states"
    if not np.isfinite(mu).all():
        raise ConvergenceError(
            f"the stationary distribution of {len(mu)} states did not converge: the chain mixes too slowly",
            remedy=remedy,
        )
    residual = float(np.abs(mu @ matrix - mu).sum())
    if residual > _MAX_RESIDUAL or (mu < 0.0).any():
        raise ConvergenceError(
            f"the stationary distribution of {len(mu)} states is not accurate (mu P differs from mu by "
            f"{residual:.3g})",
            remedy=remedy,
        )
    return mu
