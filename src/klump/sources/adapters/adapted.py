"""What an adapter finds in an object of another package."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any, NamedTuple

from klump.errors import InvalidChainError


class DeadEnds(NamedTuple):
    """Words for the error about a state without an outgoing transition."""

    problem: str
    """What is wrong, with ``{}`` for the state: ``"node {} has no outgoing edge"``."""
    remedy: str
    """What helps, besides a restriction and a restart."""


class Adapted(NamedTuple):
    """Parts of a chain, not validated."""

    matrix: Any
    """Probabilities, or weights if ``normalize``: a dense array or a SciPy sparse matrix."""
    states: Sequence[Hashable] | None = None
    """Names of the states; None for ``0 .. n-1``."""
    labels: Mapping[str, Any] | None = None
    """Per label a boolean mask of the states."""
    initial: Any = None
    """Distribution of the first state, one probability per state."""
    rewards: Mapping[str, Any] | None = None
    """Rewards by name, one number per state."""
    normalize: bool = False
    """Whether the rows are weights, to be divided by their sums."""
    dead_ends: DeadEnds | None = None
    """Words for rows of zeros; None where these are an error of their own."""
    restart: Any = None
    """Record of the restart that the matrix contains, of type :class:`klump.chain.restart_record.Restart`."""
    rate: float | None = None
    """Uniformisation rate, if the matrix was made of rates."""


def name_of(given: object) -> str:
    """Public name of an object's type.

    >>> name_of([])
    'list'
    """
    kind = type(given)
    package = kind.__module__.partition(".")[0]
    return kind.__qualname__ if package == "builtins" else f"{package}.{kind.__qualname__}"


def article_name_of(given: object) -> str:
    """Public name of an object's type after an indefinite article."""
    if given is None:
        return "None"
    name = name_of(given)
    return f"{'an' if name[0].lower() in 'aeiou' else 'a'} {name}"


def refuse(given: object, reason: str, remedy: str) -> InvalidChainError:
    """Error about an object that is no Markov chain, with the name of its type."""
    return InvalidChainError(f"{article_name_of(given)} {reason}", remedy=remedy)
