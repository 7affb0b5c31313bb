"""States that the data never shows being left: a clear error, or a restart."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from klump.errors import InvalidArgumentError

# The rows are filled with ordinary transitions; beyond this many a sparse matrix would no longer be sparse.
_MOST_STORED = 50_000_000


def continued(
    weights: Any,
    states: Sequence[Hashable],
    restart_law: NDArray[np.float64] | None,
    *,
    seen: str,
    remedy: str,
) -> Any:
    """Replace all-zero rows by the law of a restart; without one they are an error that names a state.

    Parameters
    ----------
    weights
        Counts or weights of the transitions, dense or ``csr_array``.
    states
        Names of the states.
    restart_law
        Where a restart leads, as a distribution over the states; ``None`` if there are no restarts.
    seen
        How to say of a state that it is never left, e.g. ``"node {} has no outgoing edge"``.
    remedy
        What to do about it, besides restarting.

    Returns
    -------
    ndarray or csr_array
        The weights, of the same kind as given, with no all-zero row.

    Examples
    --------
    >>> words = {"seen": "{} is never left", "remedy": "drop it"}
    >>> continued(np.array([[1, 2], [0, 0]]), "ab", np.array([0.5, 0.5]), **words)
    array([[1. , 2. ], [0.5, 0.5]])
    """
    dead = np.flatnonzero(_row_sums(weights) == 0)
    if dead.size == 0:
        return weights
    if restart_law is None:
        more = f" ({dead.size} such states)" if dead.size > 1 else ""
        raise InvalidArgumentError(
            f"{seen.format(repr(states[int(dead[0])]))}{more}, so nothing says where to go from there: "
            f"{remedy}, or pass restart=p to return to an initial distribution from there"
        )
    if not sparse.issparse(weights):
        filled = np.array(weights, dtype=np.float64)
        filled[dead] = restart_law
        return filled
    goals = np.flatnonzero(restart_law)
    if dead.size * goals.size > _MOST_STORED:
        raise InvalidArgumentError(
            f"restarting {dead.size} states that are never left at {goals.size} initial states would store "
            f"{dead.size * goals.size} transitions; pass initial= with one state or a few"
        )
    jumps = sparse.coo_array(
        (np.tile(restart_law[goals], dead.size), (np.repeat(dead, goals.size), np.tile(goals, dead.size))),
        shape=weights.shape,
    )
    return sparse.csr_array(weights + jumps)


def _row_sums(weights: Any) -> NDArray[Any]:
    # Of magnitudes, so that weights of both signs, an error that is reported later, do not cancel here.
    return np.asarray(abs(weights).sum(axis=1)).ravel()
