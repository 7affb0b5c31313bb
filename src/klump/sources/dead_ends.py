"""States without an outgoing transition in the data (dead ends): an error, or a restart."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from klump.errors import InvalidArgumentError, Setting, Symbol

# Upper bound on n_dead * n_initial, the transitions stored for restarts in a sparse matrix: 0.6 GB at 12 bytes each.
_MAX_RESTART_TRANSITIONS = 50_000_000


def fill_dead_ends(
    weights: Any,
    states: Sequence[Hashable],
    restart_distribution: NDArray[np.float64] | None,
    *,
    problem: str,
    remedy: str,
) -> Any:
    """Replace all-zero rows by the restart distribution; without one they are an error that names a state.

    Parameters
    ----------
    weights
        Counts or weights of the transitions, dense or ``csr_array``.
    states
        Names of the states.
    restart_distribution
        Distribution over the states that a restart draws from; ``None`` if there are no restarts.
    problem
        Start of the error message, with ``{}`` for the state, e.g. ``"node {} has no outgoing edge"``.
    remedy
        Remedy in the error message, besides a restart.

    Returns
    -------
    ndarray or csr_array
        The weights, of the same kind as given, with no all-zero row.

    Examples
    --------
    >>> words = {"problem": "{} has no transition", "remedy": "drop it"}
    >>> fill_dead_ends(np.array([[1, 2], [0, 0]]), "ab", np.array([0.5, 0.5]), **words)
    array([[1. , 2. ], [0.5, 0.5]])
    """
    dead = np.flatnonzero(_row_sums(weights) == 0)
    if dead.size == 0:
        return weights
    if restart_distribution is None:
        more = f" ({dead.size} such states)" if dead.size > 1 else ""
        raise InvalidArgumentError(
            f"{problem.format(repr(states[int(dead[0])]))}{more}, so its transition probabilities are unknown",
            remedy=(
                f"{remedy}, or pass ",
                Setting("restart", Symbol("p")),
                " to restart there from an initial distribution",
            ),
        )
    if not sparse.issparse(weights):
        filled = np.array(weights, dtype=np.float64)
        filled[dead] = restart_distribution
        return filled
    support = np.flatnonzero(restart_distribution)
    if dead.size * support.size > _MAX_RESTART_TRANSITIONS:
        raise InvalidArgumentError(
            f"restarting {dead.size} states without transitions at {support.size} initial states would store "
            f"{dead.size * support.size} transitions",
            remedy=("pass ", Setting("initial"), " with one state or a few"),
        )
    jumps = sparse.coo_array(
        (
            np.tile(restart_distribution[support], dead.size),
            (np.repeat(dead, support.size), np.tile(support, dead.size)),
        ),
        shape=weights.shape,
    )
    return sparse.csr_array(weights + jumps)


def _row_sums(weights: Any) -> NDArray[Any]:
    # Absolute values, so that weights of both signs (an error that validation reports) do not cancel here.
    return np.asarray(abs(weights).sum(axis=1)).ravel()
