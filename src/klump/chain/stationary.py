"""The stationary distribution of an irreducible chain, to full relative accuracy wherever that is possible.

Small chains are solved by elimination. A large one goes through what is cheapest first: detailed balance,
if the chain is reversible; power iteration, if it mixes; aggregation-disaggregation, if it consists of parts
that are hardly connected; sparse elimination, if its graph is thin; multilevel aggregation otherwise. None
of these ever subtracts, so that small masses are as accurate as large ones. Before any of them, transitions
are made relative to those that leave a state (the jump chain), so that lingering costs nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse import csgraph

from klump.chain.validation import Matrix, row_sums
from klump.errors import ConvergenceError

Floats = NDArray[np.float64]

_DENSE_LIMIT = 2000
_BALANCED = 1e-11  # misfit of detailed balance that is put down to rounding
_ACCURATE = 1e-13  # relative change, or estimated relative error, at which an iteration is done
_RESIDUAL = 1e-10
_COUNTS = 1e-290  # smaller masses have lost digits, and cannot settle
_DAMPING = 0.2  # part of the mass that stays in a step of power iteration, against periodicity
_STEPS = 8
_MANY = 64  # rounds of joining groups, each of which at least halves those that join
_HOLDS = 0.01  # a set is a part of its own if a step leaves it with a smaller probability
_WORK = 2_000_000_000  # entries touched in sparse elimination, some seconds


def stationary_distribution(matrix: Matrix) -> Floats:
    """Compute the law mu with mu P = mu of an irreducible transition matrix.

    Raises
    ------
    ConvergenceError
        If the chain is too large for elimination and mixes too slowly for everything else.

    Examples
    --------
    >>> stationary_distribution(np.array([[0.9, 0.1], [0.3, 0.7]])).round(12)
    array([0.75, 0.25])
    """
    mass = _solve(matrix)
    return _verified(mass / mass.sum(), matrix)


def _solve(weights: Matrix) -> Floats:
    """Stationary masses, up to a factor, for weights of leaving each state for each other (of any scale).

    They are not numbers if all fails.
    """
    from klump.chain.elimination import quotient, solve_dense, solve_wide

    n = weights.shape[0]
    if n == 1:
        return np.ones(1)
    if n <= _DENSE_LIMIT:
        found, fits = solve_dense(_dense(weights))
        if fits:
            return np.asarray(found)
    jumps, leaving = _jump_chain(weights)
    if not (leaving > 0.0).all():  # flows that underflowed
        return np.full(n, np.nan)
    mass = _balanced(jumps)
    if mass is None and n <= _DENSE_LIMIT:
        return np.asarray(solve_wide(_dense(weights)))
    return np.asarray(quotient(_iterated(jumps) if mass is None else mass, leaving))


def _dense(weights: Matrix) -> Floats:
    """Copy to an array that may be overwritten."""
    return np.array(weights.toarray() if isinstance(weights, sparse.csr_array) else weights)


def _jump_chain(weights: Matrix) -> tuple[sparse.csr_array, Floats]:
    """Chain of the moves to another state, and the weight of making one."""
    moves = sparse.csr_array(weights)
    if moves.diagonal().any():
        row = np.repeat(np.arange(moves.shape[0], dtype=np.int32), np.diff(moves.indptr))
        keep = row != moves.indices
        ends = np.concatenate(([0], np.cumsum(np.bincount(row[keep], minlength=moves.shape[0]))))
        parts = (moves.data[keep], moves.indices[keep], ends.astype(moves.indptr.dtype))
        moves = sparse.csr_array(parts, shape=moves.shape)
    leaving = row_sums(moves)
    data = moves.data / np.repeat(leaving, np.diff(moves.indptr))
    return sparse.csr_array((data, moves.indices, moves.indptr), shape=moves.shape), leaving


def _balanced(jumps: sparse.csr_array) -> Floats | None:
    """Masses that balance every transition with its reverse, if there are such."""
    from klump.chain.elimination import scaled
    from klump.chain.kernels.flows import balanced

    # Most chains that are not reversible lack the reverse of some transition; a few of them tell.
    for place in np.linspace(0, jumps.nnz - 1, 100).astype(int):
        row = int(np.searchsorted(jumps.indptr, place, side="right")) - 1
        col = jumps.indices[place]
        if row not in jumps.indices[jumps.indptr[col] : jumps.indptr[col + 1]]:
            return None
    jumps = jumps.sorted_indices()
    back = sparse.csr_array(jumps.T)
    if not (np.array_equal(jumps.indptr, back.indptr) and np.array_equal(jumps.indices, back.indices)):
        return None
    mass, exponent, misfit = balanced(jumps.indptr, jumps.indices, jumps.data, back.data)
    return np.asarray(scaled(mass, exponent)) if misfit <= _BALANCED else None


def _iterated(jumps: sparse.csr_array) -> Floats:
    """Stationary masses of a chain that is not reversible, by the first method that is sure of its result."""
    n = jumps.shape[0]
    mass, settled = _fixed_point(partial(_mixed, jumps, _STEPS), np.full(n, 1.0 / n), 150)
    if settled:
        weighted, settled = _confirmed(jumps, mass)
        if settled:
            return weighted
    exact = _thinned(jumps, _WORK // 10)
    if exact is not None:
        return exact
    weighted, settled = _parts_weighted(jumps, mass)
    if settled:
        return weighted
    exact = _thinned(jumps, _WORK)
    if exact is not None:
        return exact
    mass, settled = _fixed_point(partial(_cycle, jumps, 1), mass, 300, patience=50)
    if settled:
        mass, settled = _confirmed(jumps, mass)
    return mass if settled else np.full(n, np.nan)


def _fixed_point(
    step: Callable[[Floats], Floats], mass: Floats, most: int, patience: int = 10
) -> tuple[Floats, bool]:
    """Repeat a step until the error that is left, judged by how the changes decay, is negligible.

    Gives up after ``most`` steps, or after ``patience`` of them if the pace says that these will not do.
    """
    changes = [math.inf]
    for left in range(most, 0, -1):
        new = step(mass)
        counts = new > _COUNTS
        if not counts.any():
            break
        changes.append(float(np.abs(mass[counts] / new[counts] - 1.0).max()))
        mass = new
        # The slower of two decays, since errors that go round in circles shrink unevenly.
        rate = max(changes[-1] / changes[-2], changes[-2] / changes[-3]) if len(changes) > 3 else math.inf
        if changes[-1] <= _ACCURATE or (rate < 0.9 and changes[-1] * rate / (1.0 - rate) <= _ACCURATE):
            return mass, True
        if len(changes) > patience:
            pace = (changes[-1] / changes[-patience // 2]) ** (2.0 / patience)
            if pace >= 1.0 or changes[-1] * pace**left > _ACCURATE:
                break
    return mass, False


def _mixed(jumps: sparse.csr_array, steps: int, mass: Floats) -> Floats:
    """Take some steps of power iteration."""
    transposed = jumps.T
    for _ in range(steps):
        mass = _DAMPING * mass + (1.0 - _DAMPING) * (transposed @ mass)
    return np.asarray(mass / mass.sum())


def _parts_weighted(jumps: sparse.csr_array, mass: Floats) -> tuple[Floats, bool]:
    """Find the stationary masses of a chain whose parts mix well, but are hardly connected."""
    for labels, n_parts in _partitions(jumps, mass):
        if 1 < n_parts <= len(mass) // 3:
            weighted, settled = _fixed_point(partial(_disaggregated, jumps, labels, n_parts), mass, 100)
            if settled:
                return _confirmed(jumps, weighted)
    return mass, False


def _confirmed(jumps: sparse.csr_array, mass: Floats) -> tuple[Floats, bool]:
    """Correct masses that have settled, if they did so only within parts that are hardly connected.

    Parts that exchange less than rounding look stationary whatever their weights are.
    """
    labels, n_parts = _parts_by_flow(jumps, mass)
    if n_parts == 1:
        return mass, True
    if n_parts > len(mass) // 3:
        return mass, False
    return _fixed_point(partial(_disaggregated, jumps, labels, n_parts), mass, 100)


def _parts_by_flow(jumps: sparse.csr_array, mass: Floats) -> tuple[NDArray[np.int32], int]:
    from klump.chain.kernels.flows import groups

    labels, n_parts = groups(jumps.indptr, jumps.indices, jumps.data, mass, _HOLDS, _MANY, len(mass))
    return labels, n_parts


def _partitions(jumps: sparse.csr_array, mass: Floats) -> Iterator[tuple[NDArray[np.int32], int]]:
    """Candidates for the parts of a chain: by its flows, and by which transitions are rare."""
    yield _parts_by_flow(jumps, mass)
    likeliest = np.maximum.reduceat(jumps.data, jumps.indptr[:-1])
    relative = jumps.data / np.repeat(likeliest, np.diff(jumps.indptr))
    for rare in (1e-2, 1e-5, 1e-9):
        common = sparse.csr_array(
            (relative * (relative >= rare), jumps.indices.copy(), jumps.indptr.copy()), shape=jumps.shape
        )
        common.eliminate_zeros()
        if common.nnz < jumps.nnz:
            n_parts, labels = csgraph.connected_components(common, directed=True, connection="strong")
            yield labels, n_parts


def _disaggregated(jumps: sparse.csr_array, labels: NDArray[np.int32], n_parts: int, mass: Floats) -> Floats:
    """One round of aggregation-disaggregation: weigh the parts against each other, then mix again."""
    return _mixed(jumps, 4 * _STEPS, _reweighted(jumps, mass, labels, n_parts, _solve))


def _reweighted(
    jumps: sparse.csr_array,
    mass: Floats,
    labels: NDArray[np.int32],
    n_groups: int,
    solve: Callable[[sparse.csr_array], Floats],
) -> Floats:
    """Scale the mass of each group so that the flows between groups balance."""
    degree = np.diff(jumps.indptr)
    source, target = np.repeat(labels, degree), labels[jumps.indices]
    apart = source != target
    flow = (jumps.data * np.repeat(mass, degree))[apart]
    between = sparse.csr_array((flow, (source[apart], target[apart])), shape=(n_groups, n_groups))
    between.eliminate_zeros()
    mass = mass * solve(between)[labels]
    return mass / mass.sum()


def _thinned(jumps: sparse.csr_array, most_work: int) -> Floats | None:
    """Sparse elimination, if that is affordable."""
    from klump.chain.kernels.sparse_elimination import reduced, restored

    reduction = reduced(jumps, _DENSE_LIMIT, most_work)
    if not reduction.weights.size or not reduction.pivot.all():
        return None
    mass = np.asarray(restored(reduction, _solve(reduction.weights)))
    return mass if np.isfinite(mass).all() else None


def _cycle(jumps: sparse.csr_array, visits: int, mass: Floats) -> Floats:
    """One cycle of multilevel aggregation."""
    from klump.chain.kernels.flows import groups, sweep

    back = sparse.csr_array(jumps.T)
    mass = mass.copy()
    sweep(back.indptr, back.indices, back.data, mass, 2)
    for _ in range(visits):
        labels, n_groups = groups(jumps.indptr, jumps.indices, jumps.data, mass, 0.0, 3, 6)
        if 4 * n_groups > 3 * len(mass):
            break  # no hierarchy of groups to speak of
        mass = _reweighted(jumps, mass, labels, n_groups, _coarse)
        sweep(back.indptr, back.indices, back.data, mass, 2)
        if 3 * n_groups > len(mass):
            break  # so little was gained that a second visit would double the work of every level
    return mass / mass.sum()


def _coarse(flow: sparse.csr_array) -> Floats:
    from klump.chain.elimination import quotient

    if flow.shape[0] <= 200:
        return _solve(flow)
    jumps, leaving = _jump_chain(flow)
    return np.asarray(quotient(_cycle(jumps, 2, leaving), leaving))


def _verified(mu: Floats, matrix: Matrix) -> Floats:
    """Return the result if it is one."""
    remedy = "pass stationary_distribution= if it is known, or merge states that are connected most strongly"
    if not np.isfinite(mu).all():
        raise ConvergenceError(
            f"the stationary distribution of {len(mu)} states did not converge: the chain mixes too slowly; "
            + remedy
        )
    residual = float(np.abs(mu @ matrix - mu).sum())
    if residual > _RESIDUAL or (mu < 0.0).any():
        raise ConvergenceError(
            f"the stationary distribution of {len(mu)} states is not accurate (mu P differs from mu by "
            f"{residual:.3g}); {remedy}"
        )
    return mu
