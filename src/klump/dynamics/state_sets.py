"""States and sets of states that users name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from klump.chain import MarkovChain
from klump.chain.connectivity import list_names
from klump.errors import InvalidArgumentError

Indices = NDArray[np.intp]


def find_set(chain: MarkovChain, given: Any, argument: str) -> Indices:
    """Sorted indices of a state or of a list of states, each by its name or index, or of a label of the chain.

    Indices stand for states unless a name is a number; a name goes before a label.

    >>> chain = MarkovChain([[0.5, 0.5], [0.2, 0.8]], states=["sun", "rain"], labels={"wet": ["rain"]})
    >>> find_set(chain, ["sun", 1], "target"), find_set(chain, "wet", "target")
    (array([0, 1]), array([1]))
    """
    found = _find_state(chain, given)
    if found is None and isinstance(given, str) and given in chain.labels:
        members = np.asarray(chain.labels[given], dtype=np.intp)
    elif found is not None:
        members = np.array([found], dtype=np.intp)
    elif isinstance(given, Iterable) and not isinstance(given, str | bytes | Mapping):
        places = [(_find_state(chain, state), state) for state in _items(given)]
        for place, state in places:
            if place is None:
                raise _unknown(chain, state, argument)
        members = np.array([place for place, _ in places], dtype=np.intp)
    else:
        raise _unknown(chain, given, argument)
    if not members.size:
        raise InvalidArgumentError("has no state", argument=argument, value=given, remedy="name at least one")
    return np.unique(members)


def find_sets(chain: MarkovChain, given: Any, argument: str) -> list[Indices]:
    """Disjoint sets of states: one per item of a list, or per value of a dict."""
    if isinstance(given, str | bytes) or not isinstance(given, Iterable):
        given = [given]
    items = list(given.values()) if isinstance(given, Mapping) else list(_items(given))
    if not items:
        raise InvalidArgumentError("has no target", argument=argument, remedy="name at least one state")
    sets = [find_set(chain, item, argument) for item in items]
    members, counts = np.unique(np.concatenate(sets), return_counts=True)
    if (counts > 1).any():
        raise InvalidArgumentError(
            f"has the state {chain.states[int(members[counts > 1][0])]!r} twice",
            argument=argument,
            remedy="name each state in one target only",
        )
    return sets


def _items(given: Iterable[Any]) -> Iterable[Any]:
    return given.tolist() if isinstance(given, np.ndarray) else given


def _find_state(chain: MarkovChain, given: Any) -> int | None:
    """Index of a state by its name or index; None if there is neither."""
    try:
        return chain._index_of.get(given)
    except TypeError:  # not hashable
        return None


def _unknown(chain: MarkovChain, state: Any, argument: str) -> InvalidArgumentError:
    names = chain.states
    return InvalidArgumentError(
        "is neither the name nor the index of a state",
        argument=argument,
        value=state,
        remedy=f"name one of the {chain.n_states} states, like {list_names(np.arange(min(4, len(names))), names)}",
    )
