"""The transition matrix with states ordered by group, as density over bins if there are many states."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from klump.aggregation.costs import aggregated_matrix
from klump.aggregation.mapping import from_labels

if TYPE_CHECKING:
    from klump.aggregation import Aggregation

# Bins per side unless the caller says otherwise; up to this number of states, each state is a bin.
DEFAULT_BINS = 240


@dataclass(frozen=True, eq=False)
class OrderedMatrix:
    """A transition matrix with states ordered by group; positions count states from the top left."""

    order: NDArray[np.intp]
    """State at each position: group by group, the heaviest first."""
    borders: NDArray[np.intp]
    """First position of each group, and the number of states."""
    bins: NDArray[np.intp]
    """First position of each bin, and the number of states. Every border is one of them if k <= number of bins."""
    density: NDArray[np.float64]
    """Mean transition probability from the states of one bin, weighted by mass, to a state of another bin."""

    @property
    def is_binned(self) -> bool:
        """Whether some bin has several states."""
        return len(self.bins) <= len(self.order)


def ordered_matrix(answer: Aggregation, n_bins: int = DEFAULT_BINS) -> OrderedMatrix:
    """Order the states of an answer by group, and average the transition matrix over at most ``n_bins`` bins.

    The matrix is read in row blocks, and no array is larger than ``n_bins`` x ``n_bins`` or the number of states.

    Examples
    --------
    >>> from klump import Aggregation
    >>> answer = Aggregation.from_labels([[0.5, 0.1, 0.4], [0.1, 0.8, 0.1], [0.4, 0.1, 0.5]], [0, 1, 0])
    >>> view = ordered_matrix(answer)
    >>> view.order, view.borders
    (array([0, 2, 1]), array([0, 2, 3]))
    >>> view.density.round(12)
    array([[0.5, 0.4, 0.1], [0.4, 0.5, 0.1], [0.1, 0.1, 0.8]])
    """
    order = _order_states(answer)
    sizes = np.bincount(answer.labels, minlength=answer.n_states)
    borders = np.concatenate(([0], np.cumsum(sizes)))
    bins = _choose_bins(sizes, n_bins)
    lengths = np.diff(bins)
    bin_of_state = np.empty(len(order), dtype=np.int32)
    bin_of_state[order] = np.repeat(np.arange(len(lengths)), lengths)
    mapping = from_labels(bin_of_state, len(lengths))
    between: Any = aggregated_matrix(answer.state_weights, mapping, answer.original.transition_matrix)
    dense = between.toarray() if hasattr(between, "toarray") else between
    return OrderedMatrix(order, borders, bins, dense / lengths)


def _order_states(answer: Aggregation) -> NDArray[np.intp]:
    """States group by group, the heaviest first; states of equal mass keep their order."""
    # float32 hides the rounding differences between equal masses.
    weights = answer.state_weights.astype(np.float32)
    return np.lexsort((-weights, answer.labels))


def _choose_bins(sizes: NDArray[np.intp], n_bins: int) -> NDArray[np.intp]:
    """First position of each bin, and the number of states: bins of a group differ by at most one state.

    >>> _choose_bins(np.array([6, 2]), 4)
    array([0, 2, 4, 6, 8])
    """
    n, k = int(sizes.sum()), len(sizes)
    if n <= n_bins:
        return np.arange(n + 1)
    if k >= n_bins:
        positions = np.concatenate(([0], np.cumsum(sizes)))
        return np.unique(positions[np.linspace(0, k, n_bins + 1).round().astype(np.intp)])
    # One bin per non-empty group, and the others in proportion to the sizes, by largest remainders.
    present = np.minimum(sizes, 1)
    wanted = (sizes - present) * (n_bins - present.sum()) / (sizes - present).sum()
    counts = present + np.floor(wanted).astype(np.intp)
    short = n_bins - counts.sum()
    counts[np.argsort(np.floor(wanted) - wanted, kind="stable")[:short]] += 1
    counts = np.minimum(counts, sizes)
    starts = np.concatenate(([0], np.cumsum(sizes)))
    parts = [
        start + np.arange(count) * size // count
        for start, size, count in zip(starts.tolist(), sizes.tolist(), counts.tolist(), strict=False)
        if count
    ]
    return np.concatenate([*parts, [n]])
