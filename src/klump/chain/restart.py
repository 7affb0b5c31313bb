"""Restart: return to an initial distribution with some probability at every step.

Where few states are initial, or the chain is dense, every state returns directly: P' = (1 - p) P + p 1 a^T. Else the
sum would store up to n^2 transitions, so the return goes through one explicit state: with probability p to
``(restart)``, and from there to the initial distribution a. That stores n_transitions + n_states + n_initial, and
solvers, searches, certificates and files need to know nothing about it; a term of rank one beside the matrix would
have to be carried through all of them. A restart then takes one more step, and the chain has one more state.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from numbers import Real

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from klump.chain.parts import NumberedStates, Parts
from klump.chain.restart_record import Restart, record_restart, undo_blocks
from klump.chain.rows import Matrix, empty_array, folder_of, row_blocks, stack_row_blocks
from klump.chain.validation import downcast_indices
from klump.chain.wording import Change, format_count, free_name, kind_of
from klump.errors import InvalidArgumentError

# Name of the explicit state between the end and the start.
RESTART_STATE = "(restart)"
# Transitions up to which a restart is direct however few the chain has: 120 kB at 12 bytes per transition.
_ALWAYS_DIRECT = 10_000
# Ratio n_states n_initial / (n_transitions + n_states) up to which a restart is direct.
_MAX_RATIO = 4


def restart(parts: Parts, probability: float) -> Parts:
    """Add restarts to a chain, at its initial distribution if that is known, else at all states alike.

    A dead end, whose row is empty, restarts with probability 1.
    """
    if not isinstance(probability, Real) or not 0.0 < float(probability) <= 1.0:
        raise InvalidArgumentError("must be a probability in (0, 1]", argument="restart", value=probability)
    probability = float(probability)
    n = parts.matrix.shape[0]
    initial = parts.attributes.initial
    if initial is None:
        initial = np.full(n, 1.0 / n)
        parts = parts._replace(attributes=parts.attributes.with_initial(initial))
    support = np.flatnonzero(initial)
    goal = format_count(support.size, "initial state")
    if support.size == 1:
        goal = f"state {parts.name(int(support[0]))!r}"
    change = f"restarted at {goal} with probability {probability:g}"
    dead_ends = np.flatnonzero(~parts.has_transitions())
    dead = f"; {format_count(dead_ends.size, 'dead end')} with probability 1" if dead_ends.size else ""
    before = parts.attributes.restart
    if is_direct(parts.matrix, support.size):
        record = record_restart(before, probability, initial, None, dead_ends)
        return parts._replace(
            matrix=_restart_directly(parts.matrix, probability, initial),
            attributes=parts.attributes.with_restart(record),
            applied=(*parts.applied, Change(change + dead, "restarted")),
        )
    name = free_name(RESTART_STATE, parts.all_names())
    record = record_restart(before, probability, np.append(np.zeros(n), 1.0), n, dead_ends)
    return Parts(
        matrix=_restart_through_state(parts.matrix, probability, initial),
        names=parts.add_name(name),
        original_index=np.append(parts.original_index, -1),
        attributes=parts.attributes.append_state().with_restart(record),
        counted=None if parts.counted is None else np.append(parts.counted, 0.0),
        applied=(*parts.applied, Change(f"{change}, through the state {name}{dead}", "restarted")),
    )


def undo(parts: Parts) -> Parts:
    """Chain before its restarts: without the states that they added; dead ends become absorbing."""
    record = require_record(parts.attributes.restart, parts.applied)
    if record is None:
        return parts
    known = [change for change in parts.applied if kind_of(change) == "restarted"]
    n = parts.matrix.shape[0]
    # Added states are the last ones, also in a part of the chain.
    n_kept = n - record.added.size
    kept = np.arange(n_kept)
    blocks = (
        block[: max(0, n_kept - rows.start), :n_kept] for rows, block in undo_blocks(parts.matrix, record)
    )
    if isinstance(parts.matrix, sparse.csr_array):
        matrix: Matrix = downcast_indices(stack_row_blocks(map(sparse.csr_array, blocks), parts.matrix))
    else:
        matrix = np.concatenate(list(blocks))
    undone = () if known else (Change("restart undone", "undone"),)
    return Parts(
        matrix=matrix,
        names=_names_without(parts, record.added.size),
        original_index=parts.original_index[kept],
        attributes=parts.attributes.restrict(kept, n).with_restart(None),
        counted=None if parts.counted is None else parts.counted[kept],
        applied=(*(change for change in parts.applied if change not in known), *undone),
    )


def require_record(record: Restart | None, applied: Sequence[str]) -> Restart | None:
    """Record of the restart of a chain, None if it has no restart; raise if it has lost the record."""
    known = [change for change in applied if kind_of(change) == "restarted"]
    if record is None and known:
        raise InvalidArgumentError(
            f"the chain was {known[0]}, and then changed so that its restart cannot be undone",
            remedy="build the chain again, without a restart",
        )
    return record


def _names_without(parts: Parts, n_added: int) -> Sequence[Hashable] | None:
    """Names without those of the last states; None if these are 0 .. n-1."""
    if parts.names is None or not n_added:
        return parts.names
    kept = len(parts.names) - n_added
    if isinstance(parts.names, NumberedStates) and parts.names.n_numbers == kept:
        return None
    return tuple(parts.names[i] for i in range(kept))


def is_direct(matrix: Matrix, n_initial: int) -> bool:
    """Whether a restart stores no more than a few times the transitions of the chain."""
    n = matrix.shape[0]
    n_transitions = matrix.nnz if isinstance(matrix, sparse.csr_array) else np.count_nonzero(matrix)
    return n * n_initial <= max(_ALWAYS_DIRECT, _MAX_RATIO * (int(n_transitions) + n))


def _restart_directly(matrix: Matrix, probability: float, initial: NDArray[np.float64]) -> Matrix:
    if not isinstance(matrix, sparse.csr_array):
        mixed = np.asarray((1.0 - probability) * matrix + probability * initial)
        mixed[~matrix.any(axis=1)] = initial
        return mixed
    support = np.flatnonzero(initial)
    blocks = (_mix_restart(block, probability, support, initial[support]) for _, block in row_blocks(matrix))
    return downcast_indices(stack_row_blocks(blocks, matrix))


def _mix_restart(
    block: sparse.csr_array, probability: float, support: NDArray[np.intp], masses: NDArray[np.float64]
) -> sparse.csr_array:
    """Row block (1 - p) block + p 1 a^T, with a given by its support and its masses there; dead ends get the row a.

    Rows are not normalised: klump.chain.restart_record relies on p a in the entries where the block has none.
    """
    n, size = block.shape[0], support.size
    is_dead = np.diff(block.indptr) == 0
    jumps = np.where(is_dead[:, None], masses, probability * masses)
    ends = np.arange(n + 1, dtype=np.int64) * size
    added = sparse.csr_array((jumps.ravel(), np.tile(support, n), ends), shape=block.shape)
    scaled = sparse.csr_array(
        ((1.0 - probability) * block.data, block.indices, block.indptr), shape=block.shape
    )
    mixed = sparse.csr_array(scaled + added)
    mixed.sort_indices()
    return mixed


def _restart_through_state(matrix: Matrix, probability: float, initial: NDArray[np.float64]) -> Matrix:
    """Matrix with one more state: every row leads there with ``probability``, and its own row is ``initial``."""
    n = matrix.shape[0]
    if not isinstance(matrix, sparse.csr_array):
        larger = np.zeros((n + 1, n + 1))
        larger[:n, :n] = (1.0 - probability) * matrix
        larger[:n, n] = np.where(matrix.any(axis=1), probability, 1.0)
        larger[n, :n] = initial
        return larger
    support = np.flatnonzero(initial)
    size = matrix.nnz + n + support.size
    folder, dtype = folder_of(matrix), np.int32 if size < 2**31 - 1 else np.int64
    data, indices = empty_array(size, np.float64, folder), empty_array(size, dtype, folder)
    # The new transition is the last of each row, so that row i starts i places later than before.
    indptr = np.empty(n + 2, dtype=dtype)
    indptr[: n + 1] = matrix.indptr
    indptr[: n + 1] += np.arange(n + 1, dtype=dtype)
    indptr[n + 1] = size
    for rows, block in row_blocks(matrix):
        first, last = int(indptr[rows.start]), int(indptr[rows.stop])
        ends = indptr[rows.start + 1 : rows.stop + 1] - first - 1
        old = np.ones(last - first, dtype=bool)
        old[ends] = False
        data[first:last][old] = (1.0 - probability) * block.data
        indices[first:last][old] = block.indices
        data[first:last][ends] = np.where(np.diff(block.indptr) > 0, probability, 1.0)
        indices[first:last][ends] = n
    data[size - support.size :], indices[size - support.size :] = initial[support], support
    larger = sparse.csr_array((data, indices, indptr), shape=(n + 1, n + 1))
    if folder is None and not data.all():  # restart=1, or a probability that underflows
        larger.eliminate_zeros()
    return larger
