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
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse import csgraph

from klump.chain.rows import Matrix, assembled, folder_of, row_blocks, total
from klump.chain.validation import row_sums
from klump.errors import ConvergenceError

Floats = NDArray[np.float64]

_DENSE_LIMIT = 2000
_BALANCED = 1e-11  # misfit of detailed balance that is put down to rounding
_ACCURATE = 1e-13  # relative change, or estimated relative error, at which an iteration is done
_RESIDUAL = 1e-10
_COUNTS = 1e-290  # smaller masses have lost digits, and cannot settle
_DAMPING = 0.1  # part of the mass that stays in a step of power iteration, against periodicity
_STEPS, _MEMORY = 3, 6
_MANY = 64  # rounds of joining groups, each of which at least halves those that join
_HOLDS = 0.01  # a set is a part of its own if a step leaves it with a smaller probability
_WORK = 2_000_000_000  # entries touched in sparse elimination, some seconds
_COPIED = 20_000_000  # most transitions of a mapped chain that are copied to memory if all else fails


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
    matrix = sparse.csr_array(weights)
    leaving = np.empty(matrix.shape[0])
    return assembled(_jumps(matrix, leaving), matrix), leaving


def _jumps(matrix: sparse.csr_array, leaving: Floats) -> Iterator[sparse.csr_array]:
    """Rows of the jump chain, block by block; their sums are noted."""
    for rows, block in row_blocks(matrix):
        degree = np.diff(block.indptr)
        row = np.repeat(np.arange(rows.start, rows.stop), degree)
        moves = block
        if (row == block.indices).any():
            keep = row != block.indices
            ends = np.concatenate(
                ([0], np.cumsum(np.bincount(row[keep] - rows.start, minlength=len(degree))))
            )
            parts = (block.data[keep], block.indices[keep], ends.astype(block.indptr.dtype))
            moves = sparse.csr_array(parts, shape=block.shape)
        leaving[rows] = row_sums(moves)
        data = moves.data / np.repeat(leaving[rows], np.diff(moves.indptr))
        yield sparse.csr_array((data, moves.indices, moves.indptr), shape=moves.shape)


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
    if not jumps.has_sorted_indices:
        jumps = jumps.sorted_indices()
    mass, exponent, misfit = balanced(jumps.indptr, jumps.indices, jumps.data)
    return np.asarray(scaled(mass, exponent)) if misfit <= _BALANCED else None


def _iterated(jumps: sparse.csr_array) -> Floats:
    """Stationary masses of a chain that is not reversible, by the first method that is sure of its result."""
    n = jumps.shape[0]
    mass, settled = _fixed_point(partial(_mixed, jumps, _STEPS), np.full(n, 1.0 / n), 300, 20, _MEMORY)
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
    mass, settled = _settled_slowly(jumps, mass)
    if settled:
        mass, settled = _confirmed(jumps, mass)
    return mass if settled else np.full(n, np.nan)


def _settled_slowly(jumps: sparse.csr_array, mass: Floats) -> tuple[Floats, bool]:
    """Multilevel aggregation, or as much power iteration as it takes if there is no room for that."""
    if _may_be_copied(jumps):
        try:
            return _fixed_point(partial(_cycle, jumps, 1), mass, 300, patience=50)
        except MemoryError:
            pass
    return _fixed_point(partial(_mixed, jumps, 10 * _STEPS), mass, 2000, 50, _MEMORY)


def _may_be_copied(jumps: sparse.csr_array) -> bool:
    return jumps.nnz <= _COPIED or folder_of(jumps) is None


def _fixed_point(
    step: Callable[[Floats], Floats], mass: Floats, most: int, patience: int = 10, memory: int = 0
) -> tuple[Floats, bool]:
    """Repeat a step until the error that is left, judged by how the changes decay, is negligible.

    Gives up after ``most`` steps, or after ``patience`` of them if the pace says that these will not do. With a
    ``memory`` of so many results it jumps to where these lead; a step from there is as accurate as any other.
    """
    changes = [math.inf]
    seen: list[Floats] = []
    for left in range(most, 0, -1):
        seen = [*seen, mass] if memory else []
        if len(seen) == memory > 0:
            mass, seen = _extrapolated(seen), []
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


def _extrapolated(seen: list[Floats]) -> Floats:
    """Combine successive results so that their last changes cancel as well as possible (reduced rank extrapolation).

    The last of them if that gave away more than half of some state's mass, or doubled it.
    """
    last = seen[-1]
    root = np.sqrt(np.maximum(last, _COUNTS))
    changes = np.array([(later - earlier) / root for earlier, later in pairwise(seen)])
    products = changes @ changes.T
    if not products.max() > 0.0:
        return last
    weights = np.linalg.lstsq(products / products.max(), np.ones(len(changes)), rcond=1e-12)[0]
    if not weights.sum() > 0.0:
        return last
    jump = sum(weight * later for weight, later in zip(weights / weights.sum(), seen[1:], strict=True))
    is_sane = np.isfinite(jump).all() and (jump >= 0.5 * last).all() and (jump <= 2.0 * last).all()
    return np.asarray(jump / jump.sum()) if is_sane else last


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
    for rare in (1e-2, 1e-5, 1e-9):
        common = assembled((_common(block, rare) for _, block in row_blocks(jumps)), jumps)
        if common.nnz < jumps.nnz:
            n_parts, labels = csgraph.connected_components(common, directed=True, connection="strong")
            yield labels, n_parts


def _common(block: sparse.csr_array, rare: float) -> sparse.csr_array:
    """Transitions that are not rare beside the likeliest of their row."""
    likeliest = np.maximum.reduceat(block.data, block.indptr[:-1])
    relative = block.data / np.repeat(likeliest, np.diff(block.indptr))
    common = sparse.csr_array(
        (relative * (relative >= rare), block.indices.copy(), block.indptr.copy()), shape=block.shape
    )
    common.eliminate_zeros()
    return common


def _disaggregated(jumps: sparse.csr_array, labels: NDArray[np.int32], n_parts: int, mass: Floats) -> Floats:
    """One round of aggregation-disaggregation: weigh the parts against each other, then mix again."""
    return _mixed(jumps, 10 * _STEPS, _reweighted(jumps, mass, labels, n_parts, _solve))


def _reweighted(
    jumps: sparse.csr_array,
    mass: Floats,
    labels: NDArray[np.int32],
    n_groups: int,
    solve: Callable[[sparse.csr_array], Floats],
) -> Floats:
    """Scale the mass of each group so that the flows between groups balance."""
    between = total(_flows(jumps, mass, labels, n_groups))
    between.eliminate_zeros()
    mass = mass * solve(between)[labels]
    return mass / mass.sum()


def _flows(
    jumps: sparse.csr_array, mass: Floats, labels: NDArray[np.int32], n_groups: int
) -> Iterator[sparse.csr_array]:
    """Flows between groups, those of one block of states after the other."""
    for rows, block in row_blocks(jumps):
        degree = np.diff(block.indptr)
        source, target = np.repeat(labels[rows], degree), labels[block.indices]
        apart = source != target
        flow = (block.data * np.repeat(mass[rows], degree))[apart]
        yield sparse.csr_array((flow, (source[apart], target[apart])), shape=(n_groups, n_groups))


def _thinned(jumps: sparse.csr_array, most_work: int) -> Floats | None:
    """Sparse elimination, if that is affordable."""
    if not _may_be_copied(jumps):
        return None
    from klump.chain.kernels.sparse_elimination import reduced, restored

    try:
        reduction = reduced(jumps, _DENSE_LIMIT, most_work)
    except MemoryError:  # that is not affordable either
        return None
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
