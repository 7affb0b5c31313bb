"""The restart of a chain as a record, and the transition matrix before it.

With p the probability of a restart and c the distribution that it leads to, a row of the restarted chain is
P'[i, :] = (1 - p) P[i, :] + p c, so that P[i, :] = (P'[i, :] - p c) / (1 - p). Of one through a state ``(restart)``
c is that state, which is not in P. Two restarts are one with 1 - p = (1 - p1) (1 - p2). The record keeps p c as the
floating-point numbers that were added: where P[i, j] = 0, the difference is exactly 0.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from klump.chain.rows import Matrix, row_blocks
from klump.errors import InvalidArgumentError

# Largest |row sum - 1| that is left as it is, as where a chain is validated.
_ROUNDING = 1e-12


@dataclass(frozen=True, eq=False)
class Restart:
    """Probability and target of a restart, and the states that it added or that had no transition before."""

    probability: float
    """Probability p of a restart per step."""
    targets: NDArray[np.intp]
    """Sorted indices of the states that a restart leads to."""
    masses: NDArray[np.float64]
    """Probabilities p c of a restart to each of these."""
    added: NDArray[np.intp]
    """Indices of the states ``(restart)``."""
    dead_ends: NDArray[np.intp]
    """Indices of the states that had no transition, and restart with probability 1."""

    def __post_init__(self) -> None:
        self._freeze()

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._freeze()  # copies and pickles of read-only arrays are writeable

    def _freeze(self) -> None:
        for array in (self.targets, self.masses, self.added, self.dead_ends):
            array.flags.writeable = False

    def restrict(self, number: NDArray[np.intp]) -> Restart | None:
        """The record for a part of the states, given their new numbers (-1: dropped); None if a target is dropped."""
        if (number[self.targets] < 0).any():
            return None
        added, dead_ends = number[self.added], number[self.dead_ends]
        return Restart(
            self.probability,
            number[self.targets],
            self.masses,
            added[added >= 0],
            dead_ends[dead_ends >= 0],
        )

    def jumps(self, n_states: int) -> NDArray[np.float64]:
        """The row p c."""
        row = np.zeros(n_states)
        row[self.targets] = self.masses
        return row


def record_restart(
    before: Restart | None,
    probability: float,
    target: NDArray[np.float64],
    added: int | None,
    dead_ends: NDArray[np.intp],
) -> Restart:
    """Record a restart, on top of an earlier one if there is one.

    Parameters
    ----------
    before
        Record of the chain that the restart is applied to.
    probability
        Probability of the restart.
    target
        Distribution over the states after the restart that it leads to.
    added
        Index of the state that it adds, if it does.
    dead_ends
        States without a transition.
    """
    jumps, states = probability * target, [] if added is None else [added]
    if before is not None:
        # The operations of klump.chain.restart, in the same order.
        jumps = (1.0 - probability) * before.jumps(len(target)) + jumps
        probability = 1.0 - (1.0 - probability) * (1.0 - before.probability)
        states = [*before.added.tolist(), *states]
        dead_ends = np.union1d(before.dead_ends, dead_ends)
    targets = np.flatnonzero(jumps)
    return Restart(probability, targets, jumps[targets], np.array(states, dtype=np.intp), dead_ends)


def undo_blocks(matrix: Matrix, restart: Restart | None) -> Iterator[tuple[slice, Any]]:
    """Row blocks of the transition matrix before the restart, as :func:`klump.chain.rows.row_blocks` yields them.

    States keep their numbers: rows and columns of those that the restart added are empty. A state that had no
    transition is absorbing, as in PRISM. Entries are exact up to rounding errors of 2 u P'[i, j] / (1 - p), u = 2^-53.
    """
    if restart is None:
        yield from row_blocks(matrix)
        return
    if restart.probability >= 1.0:
        raise InvalidArgumentError(
            "leaves no transition of the chain before it",
            argument="restart",
            value=restart.probability,
            remedy="pass a smaller probability",
        )
    n = matrix.shape[0]
    jumps, is_added, is_dead = restart.jumps(n), np.zeros(n, dtype=bool), np.zeros(n, dtype=bool)
    is_added[restart.added] = True
    is_dead[restart.dead_ends] = True
    for rows, block in row_blocks(matrix):
        undo = _undo_sparse if isinstance(block, sparse.csr_array) else _undo_dense
        yield rows, undo(block, rows, jumps, 1.0 - restart.probability, is_added, is_dead)


def _undo_dense(
    block: NDArray[np.float64],
    rows: slice,
    jumps: NDArray[np.float64],
    share: float,
    is_added: NDArray[np.bool_],
    is_dead: NDArray[np.bool_],
) -> NDArray[np.float64]:
    """Dense rows before the restart."""
    before = np.maximum(block - jumps, 0.0) / share
    before[:, is_added] = 0.0
    before[is_added[rows] | is_dead[rows]] = 0.0
    before /= _divisors(before.sum(axis=1))[:, None]
    dead = np.flatnonzero(is_dead[rows])
    before[dead, rows.start + dead] = 1.0
    return before


def _undo_sparse(
    block: sparse.csr_array,
    rows: slice,
    jumps: NDArray[np.float64],
    share: float,
    is_added: NDArray[np.bool_],
    is_dead: NDArray[np.bool_],
) -> sparse.csr_array:
    """Sparse rows before the restart, in canonical format."""
    n_rows, n = block.shape
    lengths = np.diff(block.indptr)
    data = np.maximum(block.data - jumps[block.indices], 0.0) / share
    data[is_added[block.indices] | np.repeat(is_added[rows] | is_dead[rows], lengths)] = 0.0
    before = sparse.csr_array((data, block.indices.copy(), block.indptr.copy()), shape=block.shape)
    sums = np.asarray(before.sum(axis=1)).ravel()
    before.data /= np.repeat(_divisors(sums), lengths)
    before.eliminate_zeros()
    dead = np.flatnonzero(is_dead[rows])
    if dead.size:
        loops = sparse.csr_array((np.ones(dead.size), (dead, rows.start + dead)), shape=(n_rows, n))
        before = sparse.csr_array(before + loops)
    return before


def _divisors(sums: NDArray[np.float64]) -> NDArray[np.float64]:
    """Row sums that differ from 1 by more than rounding, and from 0; else 1."""
    return np.where((np.abs(sums - 1.0) > _ROUNDING) & (sums > 0.0), sums, 1.0)
