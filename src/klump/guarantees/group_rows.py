"""Next-group distributions of all states, sorted by group: a Markov decision process on the groups.

Whoever knows only the group y of the chain may let an adversary pick the state of y: group y with one action per member
x, which leads to the groups by (P W)[x]. The smallest and the largest probability of reaching a label over all
strategies of the adversary are bounds for every state of the group.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse import csgraph

# Unit roundoff of float64.
UNIT = 2.0**-53


class GroupRows(NamedTuple):
    """Rows of P W, those of each group together; no row and no group is empty."""

    matrix: sparse.csr_array
    """P W, one row per state, sorted by group."""
    group: NDArray[np.intp]
    """Group of each row."""
    starts: NDArray[np.intp]
    """First row of each group."""
    rounding: float
    """Bound on the relative rounding error of (P W) v for v >= 0."""
    defect: float
    """Largest |row sum - 1|."""
    order: NDArray[np.intp]
    """Row of the given matrix that each row was."""

    @property
    def n_groups(self) -> int:
        """Number of groups."""
        return len(self.starts)

    def leave(self, inside: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Whether each row leads out of a set of groups with positive probability."""
        return np.logical_or.reduceat(~inside[self.matrix.indices], self.matrix.indptr[:-1])


def sort_rows(
    next_group: sparse.csr_array, labels: NDArray[np.integer], n_groups: int, n_terms: int
) -> GroupRows:
    """Sort the rows of P W by group.

    Parameters
    ----------
    next_group
        P W, one row per state.
    labels
        Group of each state.
    n_groups
        Number of groups.
    n_terms
        Largest number of terms of a sum in P W: transitions per state.
    """
    order = np.argsort(labels, kind="stable")
    matrix = sparse.csr_array(next_group[order])
    group = np.asarray(labels)[order].astype(np.intp)
    starts = np.searchsorted(group, np.arange(n_groups)).astype(np.intp)
    sums = np.asarray(matrix.sum(axis=1)).ravel()
    longest = int(np.diff(matrix.indptr).max())
    # n additions and one multiplication have a relative error of (n + 1) u / (1 - (n + 1) u).
    rounding = 1.01 * (n_terms + longest + 2) * UNIT
    return GroupRows(matrix, group, starts, rounding, float(np.abs(sums - 1.0).max()), order)


def can_reach(rows: GroupRows, target: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Groups from which some strategy reaches the target with positive probability."""
    k = rows.n_groups
    matrix = rows.matrix
    source = np.repeat(rows.group, np.diff(matrix.indptr))
    goals = np.flatnonzero(target)
    # Reversed transitions, and one more node that leads to the target.
    ends = (np.append(matrix.indices, np.full(goals.size, k)), np.append(source, goals))
    graph = sparse.csr_array((np.ones(len(ends[0]), dtype=np.int8), ends), shape=(k + 1, k + 1))
    graph.data[:] = 1  # sums of duplicates may overflow
    found = csgraph.breadth_first_order(graph, k, return_predecessors=False)
    reached = np.zeros(k + 1, dtype=bool)
    reached[found] = True
    return reached[:k]


def can_avoid(rows: GroupRows, target: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Groups from which some strategy avoids the target with probability 1.

    Removed from the set of all other groups are, level by level, those of which every row leads to a removed one.
    """
    avoiding = ~target
    columns = sparse.csc_array(rows.matrix)
    leaves = np.zeros(len(rows.group), dtype=bool)
    n_staying = np.bincount(rows.group, minlength=rows.n_groups)
    removed = np.flatnonzero(target)
    while removed.size:
        reaching = np.unique(columns[:, removed].indices)
        reaching = reaching[~leaves[reaching]]
        leaves[reaching] = True
        n_staying -= np.bincount(rows.group[reaching], minlength=rows.n_groups)
        removed = np.flatnonzero(avoiding & (n_staying == 0))
        avoiding[removed] = False
    return avoiding


def end_components(rows: GroupRows, inside: NDArray[np.bool_]) -> NDArray[np.intp]:
    """Number groups such that those of a maximal end component of the set ``inside`` have the same number.

    An end component is a set of groups in which some strategy stays forever and visits every group. Rows that leave the
    strongly connected component of their group are dropped until there are none.
    """
    k, matrix = rows.n_groups, rows.matrix
    stays = inside[rows.group] & ~rows.leave(inside)
    lengths = np.diff(matrix.indptr)
    source = np.repeat(rows.group, lengths)
    while True:
        used = np.repeat(stays, lengths)
        ends = (source[used], matrix.indices[used])
        graph = sparse.csr_array((np.ones(len(ends[0]), dtype=np.int32), ends), shape=(k, k))
        component = csgraph.connected_components(graph, connection="strong")[1].astype(np.intp)
        crosses = component[source] != component[matrix.indices]
        leaving = stays & np.logical_or.reduceat(crosses, matrix.indptr[:-1])
        if not leaving.any():
            return component
        stays &= ~leaving
