"""Restriction of a reducible chain to one of its communicating classes."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from klump.chain.connectivity import Classes, list_names
from klump.chain.parts import Parts
from klump.chain.rows import Matrix, entries, row_blocks, stack_row_blocks
from klump.chain.validation import downcast_indices, normalize_rows
from klump.chain.wording import Change, format_percent
from klump.choices import RESTRICTIONS
from klump.errors import InvalidArgumentError, ReducibleChainError, Setting, Symbol

_RESTART = ("pass ", Setting("restart", Symbol("p")), " to return to an initial distribution")


def restrict(parts: Parts, how: str) -> Parts:
    """Restrict a chain to its largest strongly connected set, or to its largest closed class."""
    if not isinstance(how, str) or how not in RESTRICTIONS:
        choices = [repr(name) for name in RESTRICTIONS]
        raise InvalidArgumentError(
            "is not known",
            argument="restrict",
            value=how,
            remedy=f"choose {', '.join(choices[:-1])} or {choices[-1]}",
        )
    classes = parts.classes()
    # A chain with restarts has one closed class, the states that they reach.
    connected = how == "connected" and not parts.is_restarted
    kept = (
        largest_connected(parts.matrix, classes, parts.counted)
        if connected
        else _largest_closed(parts, classes)
    )
    n = parts.matrix.shape[0]
    if len(kept) == n:
        return parts
    is_closed = bool(classes.closed[classes.component[kept[0]]])
    what = "connected set" if connected else "closed class"
    return parts._replace(
        matrix=restrict_matrix(parts.matrix, kept, is_closed=is_closed),
        names=tuple(parts.name(i) for i in kept.tolist()),
        original_index=parts.original_index[kept],
        attributes=parts.attributes.restrict(kept, n),
        counted=None if parts.counted is None else parts.counted[kept],
        applied=(
            *parts.applied,
            Change(
                f"restricted to the largest {what}, {len(kept)} of {n} states{_share(parts, kept)}"
                f"{_dropped(parts, kept)}",
                "restricted",
            ),
        ),
    )


def largest_connected(
    matrix: Matrix, classes: Classes, counted: NDArray[np.float64] | None
) -> NDArray[np.intp]:
    """Indices of the strongly connected set with most counts, or with most states where there are no counts.

    Counted are transitions between two states of the set. A state that never recurs is no such set. Ties go to the
    set with more states (more probability between its states), then to the first.

    Parameters
    ----------
    matrix
        Transition matrix; rows may be empty.
    classes
        Its communicating classes.
    counted
        Number of observed transitions out of each state, if the chain was estimated from counts.
    """
    inner = np.zeros(classes.n_classes)
    for row, col, probability in entries(matrix):
        here = classes.component[row]
        same = here == classes.component[col]
        weight = probability[same] if counted is None else probability[same] * counted[row[same]]
        inner += np.bincount(here[same], weights=weight, minlength=classes.n_classes)
    if not (inner > 0).any():
        raise ReducibleChainError(
            "no state of the chain recurs, so no part of it is connected", remedy=_RESTART
        )
    sizes = np.bincount(classes.component, minlength=classes.n_classes) * (inner > 0)
    first, second = (sizes, inner) if counted is None else (inner, sizes)
    return classes.members(int(np.lexsort((-np.arange(classes.n_classes), second, first))[-1]))


def _largest_closed(parts: Parts, classes: Classes) -> NDArray[np.intp]:
    if not classes.closed.any():
        dead = np.flatnonzero(~parts.has_transitions())
        raise ReducibleChainError(
            f"the chain has no closed class: all states lead to dead ends {list_names(dead, parts.all_names())}",
            remedy=(
                "pass ",
                Setting("restrict", "connected"),
                " to keep its largest connected set, or ",
                *_RESTART[1:],
            ),
        )
    return classes.largest_closed()


def _share(parts: Parts, kept: NDArray[np.intp]) -> str:
    """Share of the counted transitions that have both ends in the part, for a message."""
    counted = parts.counted
    if counted is None or parts.is_restarted or not np.isfinite(counted.sum()):
        return ""
    inside = np.zeros(parts.matrix.shape[0], dtype=bool)
    inside[kept] = True
    kept_counts = sum(
        float((probability * counted[row])[inside[row] & inside[col]].sum())
        for row, col, probability in entries(parts.matrix)
    )
    share = min(1.0, kept_counts / float(counted.sum()))
    almost_all = share < 1.0 and share > 0.9995
    return f" and {'more than 99.9 %' if almost_all else format_percent(share)} of the counts"


def _dropped(parts: Parts, kept: NDArray[np.intp]) -> str:
    dropped = np.setdiff1d(np.arange(parts.matrix.shape[0]), kept)
    return f"; dropped {list_names(dropped, parts.all_names(), brackets=False)}"


def restrict_matrix(matrix: Matrix, members: NDArray[np.intp], *, is_closed: bool) -> Matrix:
    """Submatrix of the members of a class; rows of one that is not closed are divided by their sums."""
    if isinstance(matrix, sparse.csr_array):
        blocks = _restrict_blocks(matrix, members)
        if not is_closed:
            blocks = (sparse.csr_array(normalize_rows(block)) for block in blocks)
        return downcast_indices(stack_row_blocks(blocks, matrix))
    part = np.ascontiguousarray(matrix[np.ix_(members, members)])
    return part if is_closed else normalize_rows(part)


def _restrict_blocks(matrix: sparse.csr_array, members: NDArray[np.intp]) -> Iterator[sparse.csr_array]:
    """Row blocks of that submatrix, with columns renumbered 0 .. len(members) - 1."""
    number = np.full(matrix.shape[0], -1, dtype=matrix.indices.dtype)
    number[members] = np.arange(len(members))
    for rows, block in row_blocks(matrix):
        kept = block[np.flatnonzero(number[rows] >= 0)]
        columns = number[kept.indices]
        inside = columns >= 0
        if not inside.all():
            lengths = np.add.reduceat(inside, kept.indptr[:-1], dtype=np.int64)
            indptr = np.concatenate([[0], np.cumsum(lengths)])
            parts = (kept.data[inside], columns[inside], indptr)
        else:
            parts = (kept.data, columns, kept.indptr)
        yield sparse.csr_array(parts, shape=(kept.shape[0], len(members)))
