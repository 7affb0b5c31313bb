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
Floats = NDArray[np.float64]


def find_set(chain: MarkovChain, given: Any, argument: str) -> Indices:
    """Sorted indices of a state or of a list of states, each by its name or index, or of a label of the chain.

    Indices stand for states unless a name is a number; a name goes before a label. A list of n bools is a mask.

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
        members = _find_members(chain, list(_items(given)), argument)
    else:
        raise _unknown(chain, given, argument)
    if not members.size:
        raise InvalidArgumentError("has no state", argument=argument, value=given, remedy="name at least one")
    return np.unique(members)


def _find_members(chain: MarkovChain, items: list[Any], argument: str) -> Indices:
    if items and all(map(_is_bool, items)) and not any(map(_is_bool, chain.states)):
        if len(items) == chain.n_states:
            return np.flatnonzero(items)
        raise InvalidArgumentError(
            f"is a mask of length {len(items)}, but the chain has {chain.n_states} states",
            argument=argument,
            remedy="pass one bool per state, or names or indices",
        )
    places = [_find_state(chain, state) for state in items]
    for place, state in zip(places, items, strict=True):
        if place is None:
            raise _unknown(chain, state, argument)
    return np.array(places, dtype=np.intp)


def stationary_within(chain: MarkovChain, members: Indices, argument: str) -> Floats:
    """Stationary distribution within a set of states; an error if the mass of the set underflows."""
    if len(members) == 1:
        return np.ones(1)
    mass = chain.stationary_distribution[members]
    total = float(mass.sum())
    if total < np.finfo(np.float64).tiny:
        raise InvalidArgumentError(
            f"has a stationary mass below the range of float64, so that its {len(members)} states "
            f"({list_names(members, chain.states)}) have no weights",
            argument=argument,
            remedy="pass one state, or a set with more mass",
        )
    return np.asarray(mass / total)


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
    # True equals 1, but stands for a state only as its name.
    if _is_bool(given) and not any(map(_is_bool, chain.states)):
        return None
    try:
        return chain._index_of.get(given)
    except TypeError:  # not hashable
        return None


def _is_bool(value: Any) -> bool:
    return isinstance(value, bool | np.bool_)


def _unknown(chain: MarkovChain, state: Any, argument: str) -> InvalidArgumentError:
    names = chain.states
    return InvalidArgumentError(
        "is neither the name nor the index of a state",
        argument=argument,
        value=state,
        remedy=f"name one of the {chain.n_states} states, like {list_names(np.arange(min(4, len(names))), names)}",
    )
