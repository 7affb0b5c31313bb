"""States without an outgoing transition in the data (dead ends): an error, unless a remedy is asked for."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from klump.errors import InvalidArgumentError, Setting, Symbol, Text


def require_successors(
    weights: Any,
    states: Sequence[Hashable],
    options: Mapping[str, Any],
    *,
    problem: str,
    remedy: Text,
) -> None:
    """Refuse all-zero rows with an error that names a state; with ``restart`` or ``restrict`` the chain mends them.

    Parameters
    ----------
    weights
        Counts or weights of the transitions, dense or ``csr_array``.
    states
        Names of the states.
    options
        Options of the chain.
    problem
        Start of the error message, with ``{}`` for the state, e.g. ``"node {} has no outgoing edge"``.
    remedy
        Start of the remedy in the error message, before a restriction and a restart, e.g. ``"remove it, or pass "``.

    Examples
    --------
    >>> words = {"problem": "{} has no transition", "remedy": "drop it, or pass "}
    >>> require_successors(np.array([[1, 2], [0, 0]]), "ab", {"restart": 0.1}, **words)
    >>> require_successors(np.array([[1, 2], [0, 0]]), "ab", {}, **words)
    Traceback (most recent call last):
    klump.errors.InvalidArgumentError: 'b' has no transition, so its transition probabilities are unknown; drop it, or
    pass restrict='connected' to keep the largest connected set, or restart=p to restart there
    """
    if options.get("restart") is not None or options.get("restrict") is not None:
        return
    dead = np.flatnonzero(_row_sums(weights) == 0)
    if dead.size == 0:
        return
    more = f" ({dead.size} such states)" if dead.size > 1 else ""
    raise InvalidArgumentError(
        f"{problem.format(repr(states[int(dead[0])]))}{more}, so its transition probabilities are unknown",
        remedy=(
            *(remedy if isinstance(remedy, tuple) else (remedy,)),
            Setting("restrict", "connected"),
            " to keep the largest connected set, or ",
            Setting("restart", Symbol("p")),
            " to restart there",
        ),
    )


def _row_sums(weights: Any) -> NDArray[Any]:
    # Absolute values, so that weights of both signs (an error that validation reports) do not cancel here.
    return np.asarray(abs(weights).sum(axis=1)).ravel()
