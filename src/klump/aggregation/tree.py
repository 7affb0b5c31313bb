"""Dendrograms of greedy merging: aggregations to any number of groups, from one run."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from klump.aggregation.aggregation import Aggregation
from klump.aggregation.mapping import from_labels
from klump.aggregation.numbering import rank_by_mass
from klump.aggregation.options import Options
from klump.aggregation.question import versions
from klump.arguments import Progress, check_beta, check_groups
from klump.chain import ChainLike, MarkovChain, as_chain
from klump.search.agglomerative import labels_after, merge_tree
from klump.search.method import Record

if TYPE_CHECKING:
    from os import PathLike

    from matplotlib.figure import Figure


@dataclass(frozen=True, eq=False)
class AggregationTree:
    """A dendrogram: groups merged in pairs, the cheapest merge first, down to one group.

    Made by :func:`aggregation_tree`; an answer of ``method="agglomerative"`` has it as ``answer.tree``.

    Examples
    --------
    >>> P = [[0.5, 0.4, 0.1, 0.0], [0.4, 0.5, 0.0, 0.1], [0.1, 0.0, 0.4, 0.5], [0.0, 0.1, 0.5, 0.4]]
    >>> tree = aggregation_tree(P, beta=0.5)
    >>> [tree.cut(k).groups for k in (1, 2)]
    [[(0, 1, 2, 3)], [(0, 1), (2, 3)]]
    >>> tree.merge_costs.round(4)
    array([0.052 , 0.002 , 0.2655])
    """

    original: MarkovChain
    """The chain that was aggregated."""
    beta: float
    """The beta of the costs."""
    record: Record
    """The merges as the search recorded them."""
    gamma: float = 0.0
    """The weight of generated information in the costs."""

    @property
    def is_relaxed(self) -> bool:
        """Whether merges minimise I(X1;X2) - I(X2;Y1) instead of the cost at beta."""
        return self.record.kind == "relaxed merges"

    @property
    def n_leaves(self) -> int:
        """Number of groups at the start: the states, unless an initial map was given."""
        return len(self.record.columns["cost"]) + 1

    @property
    def leaves(self) -> NDArray[np.int32]:
        """The leaf that each state is in."""
        return self.record.columns["leaf"]

    @cached_property
    def merges(self) -> NDArray[np.int64]:
        """The two nodes merged per step: leaves are numbered from 0, the result of step i is ``n_leaves + i``."""
        return np.stack([self.record.columns["first"], self.record.columns["second"]], axis=1)

    @property
    def merge_costs(self) -> NDArray[np.float64]:
        """Increase of the cost (of I(X1;X2) - I(X2;Y1) in a relaxed tree) per merge, in bits.

        Below beta = 1/2 a merge may lower the cost.
        """
        return self.record.columns["cost"]

    @property
    def linkage(self) -> NDArray[np.float64]:
        """Linkage matrix as in :mod:`scipy.cluster.hierarchy`; the height of a merge is the cumulative cost.

        Heights are non-decreasing: a merge that lowers the cost has the height of the previous merge.
        """
        height = np.maximum.accumulate(np.maximum(np.cumsum(self.merge_costs), 0.0))
        leaves = self._sum_over_leaves(np.ones(self.n_leaves))
        return np.column_stack([self.merges, height, leaves[self.n_leaves :]])

    @property
    def sizes(self) -> NDArray[np.int64]:
        """Number of states per leaf, then per merged node."""
        return self._sum_over_leaves(np.bincount(self.leaves)).astype(np.int64)

    def _sum_over_leaves(self, values: NDArray[Any]) -> NDArray[Any]:
        """Sum of the values of the leaves below each node."""
        sums = np.concatenate([values, np.zeros(self.n_leaves - 1)])
        for step, pair in enumerate(self.merges):
            sums[self.n_leaves + step] = sums[pair].sum()
        return sums

    def labels(self, n_states: int) -> NDArray[np.int32]:
        """Group of each state in the cut to ``n_states`` groups, the heaviest group first.

        Examples
        --------
        >>> import klump
        >>> P = [[0.5, 0.4, 0.1, 0.0], [0.4, 0.5, 0.0, 0.1], [0.1, 0.0, 0.4, 0.5], [0.0, 0.1, 0.5, 0.4]]
        >>> klump.aggregation_tree(P).labels(2)
        array([0, 0, 1, 1], dtype=int32)
        """
        return self.cut(n_states).labels

    def cut(self, n_states: int) -> Aggregation:
        """Cut the dendrogram to ``n_states`` groups.

        Examples
        --------
        >>> import klump
        >>> P = [[0.5, 0.4, 0.1, 0.0], [0.4, 0.5, 0.0, 0.1], [0.1, 0.0, 0.4, 0.5], [0.0, 0.1, 0.5, 0.4]]
        >>> klump.aggregation_tree(P).cut(2).groups
        [(0, 1), (2, 3)]
        """
        n_groups = check_groups(n_states, self.n_leaves, "leaves of the tree")
        mapping = from_labels(labels_after(self.record, n_groups), n_groups)
        labels = rank_by_mass(self.original, mapping)[mapping.labels]
        method = "agglomerative-relaxed" if self.is_relaxed else "agglomerative"
        return Aggregation(
            self.original,
            from_labels(labels, n_groups),
            self.beta,
            method,
            made_with=versions(),
            record=self.record,
            gamma=self.gamma,
        )

    def plot(self, path: str | PathLike[str] | None = None, *, n_states: int | None = None) -> Figure:
        """Draw the dendrogram; needs matplotlib (the extra ``klump[plots]``).

        Parameters
        ----------
        path
            File to save the figure to; its suffix (.png, .svg, .pdf) sets the format.
        n_states
            Colour the groups of this cut.

        Returns
        -------
        matplotlib.figure.Figure
        """
        from klump.plots.dendrogram import draw_figure

        return draw_figure(self, n_states, path)

    def _repr_html_(self) -> str:
        """HTML for notebooks."""
        from klump import notebooks

        return notebooks.tree_html(self)

    def __repr__(self) -> str:
        by = "relaxed" if self.is_relaxed else f"beta={self.beta:g}"
        return f"AggregationTree({self.original.n_states:,} states, {self.n_leaves:,} leaves, {by})"


def aggregation_tree(
    chain: ChainLike,
    beta: float = 0.5,
    *,
    gamma: float = 0.0,
    relaxed: bool = False,
    initial: Any = None,
    progress: Progress | None = None,
) -> AggregationTree:
    """Merge greedily from single states to one group, and keep the whole tree.

    Parameters
    ----------
    chain
        A MarkovChain, a transition matrix (dense or sparse), or an object with one.
    beta
        The cost to merge by, as in :func:`aggregate`; 1/2 is Vidyasagar's aggregation.
    gamma
        Weight of generated information in that cost, as in :func:`aggregate`; not with ``relaxed``.
    relaxed
        Merge by I(X1;X2) - I(X2;Y1) instead: the agglomerative information bottleneck as Geiger et al. use it.
    initial
        Initial groups (labels for each state) instead of single states. Needed for chains of more than about 8,000
        states, because memory is quadratic in the number of initial groups.
    progress
        Called with ``(done, total, best_cost)``: the number of finished and of planned merges, and the cost of one
        group at the last call, NaN before.

    Examples
    --------
    >>> aggregation_tree([[0.8, 0.2, 0.0], [0.2, 0.7, 0.1], [0.0, 0.1, 0.9]]).cut(2).groups
    [(0, 1), (2,)]
    """
    chain = as_chain(chain)
    method = "agglomerative-relaxed" if relaxed else "agglomerative"
    options = Options(initial=initial, progress=progress, gamma=gamma)
    task = options.task(chain, 1, check_beta(beta), method)
    return AggregationTree(chain, task.beta, merge_tree(task, relaxed=relaxed), task.gamma)
