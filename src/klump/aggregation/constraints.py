"""Constraints as a user states them: labels to respect, fixed states, pairs of states, least mass of a group."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from klump.arguments import check_number, is_integer
from klump.chain import MarkovChain
from klump.chain.wording import format_count
from klump.documents import name
from klump.errors import InvalidArgumentError, Setting
from klump.files.explicit_labels import INIT
from klump.search.constraints import Constraints
from klump.search.feasibility import Infeasible, find_partition

Pairs = tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class GroupConstraints:
    """Validated constraints; states are indices."""

    labels: tuple[str, ...] = ()
    """Labels of the chain that are respected: states that differ in one of them are in different groups."""
    fixed: tuple[tuple[int, int | str], ...] = ()
    """States with the number of their group, or a name that all states of the group have in common."""
    must_link: Pairs = ()
    """Pairs of states in the same group."""
    cannot_link: Pairs = ()
    """Pairs of states in different groups."""
    min_mass: float = 0.0
    """Least stationary mass of a group."""

    def __bool__(self) -> bool:
        return bool(self.labels or self.fixed or self.must_link or self.cannot_link or self.min_mass > 0.0)

    @cached_property
    def group_keys(self) -> list[int | str]:
        """Numbers and names of fixed groups, each once."""
        return list(dict.fromkeys(key for _, key in self.fixed))

    def to_dict(self, chain: MarkovChain) -> dict[str, Any]:
        """The arguments of :func:`klump.aggregate`, with the names of states as JSON has them."""
        names = chain.states
        return {
            "respect_labels": list(self.labels),
            "fixed": [[name(names[state]), group] for state, group in self.fixed],
            "must_link": [[name(names[a]), name(names[b])] for a, b in self.must_link],
            "cannot_link": [[name(names[a]), name(names[b])] for a, b in self.cannot_link],
            "min_mass": self.min_mass,
        }

    def describe(self) -> str:
        """Describe the constraints in a clause for people.

        >>> GroupConstraints(labels=("goal",), must_link=((0, 1), (2, 3)), min_mass=0.01).describe()
        '1 label respected, 2 pairs linked, groups of mass 0.01 or more'
        """
        parts = [
            (self.labels, f"{format_count(len(self.labels), 'label')} respected"),
            (self.fixed, f"{format_count(len(self.fixed), 'state')} fixed"),
            (self.must_link, f"{format_count(len(self.must_link), 'pair')} linked"),
            (self.cannot_link, f"{format_count(len(self.cannot_link), 'pair')} kept apart"),
            (self.min_mass, f"groups of mass {self.min_mass:g} or more"),
        ]
        return ", ".join(text for given, text in parts if given)


NO_CONSTRAINTS = GroupConstraints()


def check_constraints(
    chain: MarkovChain, *, respect_labels: Any, fixed: Any, must_link: Any, cannot_link: Any, min_mass: Any
) -> GroupConstraints:
    """Validate constraints; states are given by name, or by index where that is no name."""
    index = _StateIndex(chain)
    return GroupConstraints(
        labels=_check_labels(respect_labels, chain),
        fixed=_check_fixed(fixed, index),
        must_link=_check_pairs("must_link", must_link, index),
        cannot_link=_check_pairs("cannot_link", cannot_link, index),
        min_mass=0.0 if min_mass is None else check_number("min_mass", min_mass, most=1.0),
    )


class _StateIndex:
    """Indices of states by name."""

    def __init__(self, chain: MarkovChain) -> None:
        self.chain = chain

    @cached_property
    def _by_name(self) -> dict[Hashable, int]:
        return {name: i for i, name in enumerate(self.chain.states)} if self.chain.has_names else {}

    def find(self, argument: str, state: Any) -> int:
        """Index of a state."""
        if isinstance(state, np.generic):
            state = state.item()
        if isinstance(state, Hashable) and state in self._by_name:
            return self._by_name[state]
        if is_integer(state) and 0 <= state < self.chain.n_states:
            return int(state)
        raise InvalidArgumentError(
            f"has {state!r}, which is neither the name nor the index of a state",
            argument=argument,
            remedy=f"pass names of states, or indices from 0 to {self.chain.n_states - 1}",
        )


def _check_labels(given: Any, chain: MarkovChain) -> tuple[str, ...]:
    if given is False or given is None:
        return ()
    if given is True:
        if not chain.labels:
            raise InvalidArgumentError(
                "needs labels, but the chain has none",
                argument="respect_labels",
                value=True,
                remedy=("pass ", Setting("labels"), " to MarkovChain, or read a file that has them"),
            )
        return tuple(label for label in chain.labels if not is_initial_label(label, chain))
    labels = [given] if isinstance(given, str) else given
    if not isinstance(labels, Iterable) or isinstance(labels, Mapping):
        raise InvalidArgumentError(
            "must be True, False or a list of labels", argument="respect_labels", value=given
        )
    labels = tuple(labels)
    unknown = [label for label in labels if label not in chain.labels]
    if unknown:
        raise InvalidArgumentError(
            f"has {unknown[0]!r}, which is no label of the chain",
            argument="respect_labels",
            remedy=f"choose from {', '.join(map(repr, chain.labels)) or 'none: the chain has no labels'}",
        )
    return labels


def is_initial_label(label: str, chain: MarkovChain) -> bool:
    """Whether a label is ``init``, which models of Storm have, and marks the initial states.

    It goes with the initial distribution, so that no group need be split for it.
    """
    if label != INIT or chain.initial is None:
        return False
    return np.array_equal(chain.labels[label], np.flatnonzero(chain.initial))


def _check_fixed(given: Any, index: _StateIndex) -> tuple[tuple[int, int | str], ...]:
    if given is None:
        return ()
    if not isinstance(given, Mapping):
        raise InvalidArgumentError(
            "must be a dict from states to groups",
            argument="fixed",
            value=given,
            remedy="pass {state: group}",
        )
    fixed: dict[int, int | str] = {}
    for state, group in given.items():
        number = index.find("fixed", state)
        if not isinstance(group, str) and not (is_integer(group) and group >= 0):
            raise InvalidArgumentError(
                f"has the group {group!r}",
                argument="fixed",
                remedy="pass its number from 0, or a name as text",
            )
        group = group if isinstance(group, str) else int(group)
        if fixed.setdefault(number, group) != group:
            raise InvalidArgumentError(
                f"has two groups for the state {state!r}, once by name and once by index", argument="fixed"
            )
    return tuple(fixed.items())


def _check_pairs(argument: str, given: Any, index: _StateIndex) -> Pairs:
    if given is None:
        return ()
    problem = "must be a list of pairs of states"
    if isinstance(given, str | Mapping) or not isinstance(given, Iterable):
        raise InvalidArgumentError(problem, argument=argument, value=given, remedy="pass [(a, b), ...]")
    pairs = []
    for pair in given:
        if isinstance(pair, str) or not isinstance(pair, Iterable) or len(both := list(pair)) != 2:
            raise InvalidArgumentError(
                f"{problem}, but has {pair!r}", argument=argument, remedy="pass [(a, b), ...]"
            )
        a, b = (index.find(argument, state) for state in both)
        if a == b and argument == "cannot_link":
            raise InvalidArgumentError(f"has {both[0]!r} twice in a pair", argument=argument)
        pairs.append((a, b))
    return tuple(pairs)


def build_constraints(
    chain: MarkovChain, given: GroupConstraints, n_groups: int | None
) -> Constraints | None:
    """The constraints as the search has them, with a partition that satisfies them; None if there are none.

    No such partition is looked for if the number of groups is not known.

    Raises InvalidArgumentError if they contradict each other.
    """
    if not given:
        return None
    numbers = [key for key in given.group_keys if isinstance(key, int)]
    if n_groups is not None and numbers and max(numbers) >= n_groups:
        raise InvalidArgumentError(
            (f"has the group {max(numbers)}, but ", Setting("n_states", n_groups)),
            argument="fixed",
            remedy="number groups from 0, or raise the number of groups",
        )
    unit = units_of(chain.n_states, given)
    colour = _unit_colours(chain, given, unit)
    apart = _units_apart(chain, given, unit)
    mu = chain.stationary_distribution if chain.is_irreducible else np.zeros(chain.n_states)
    mass = np.asarray(np.bincount(unit, weights=mu), dtype=np.float64)
    constraints = Constraints(unit, colour, apart, mass, given.min_mass)
    if n_groups is None:
        return constraints
    try:
        return replace(constraints, feasible=find_partition(constraints, n_groups))
    except Infeasible as reason:
        raise InvalidArgumentError(
            f"cannot be met: the constraints ({given.describe()}) {reason}",
            argument="n_states",
            value=n_groups,
            remedy="ask for another number of groups, or drop some of the constraints",
        ) from None


def colours_of(chain: MarkovChain, labels: tuple[str, ...]) -> NDArray[np.int32]:
    """A number per state that is equal for states with equal sets of labels.

    >>> colours_of(MarkovChain([[0.5, 0.5], [0.5, 0.5]], labels={"goal": [1]}), ("goal",))
    array([0, 1], dtype=int32)
    """
    colour = np.zeros(chain.n_states, dtype=np.int32)
    for label in labels:
        has_label = np.zeros(chain.n_states, dtype=np.int32)
        has_label[chain.labels[label]] = 1
        # Renumbered after every label: numbers stay below 2 n.
        _, numbers = np.unique(2 * colour + has_label, return_inverse=True)
        colour = numbers.ravel().astype(np.int32)
    return colour


def units_of(n_states: int, given: GroupConstraints) -> NDArray[np.int32]:
    """The unit of each state: states that are linked, or fixed to the same group, share one."""
    anchors: dict[int | str, int] = {}
    edges = [*given.must_link, *((anchors.setdefault(group, state), state) for state, group in given.fixed)]
    first, second = np.array(edges, dtype=np.int64).reshape(-1, 2).T
    graph = sparse.csr_array((np.ones(len(edges)), (first, second)), shape=(n_states, n_states))
    unit: NDArray[np.int32] = connected_components(graph, directed=False)[1].astype(np.int32)
    return unit


def _unit_colours(chain: MarkovChain, given: GroupConstraints, unit: NDArray[np.int32]) -> NDArray[np.int32]:
    colours = colours_of(chain, given.labels)
    colour = np.zeros(int(unit.max()) + 1, dtype=np.int32)
    colour[unit] = colours
    wrong = np.flatnonzero(colour[unit] != colours)
    if wrong.size:
        one = int(wrong[0])
        other = int(np.flatnonzero((unit == unit[one]) & (colours == colour[unit[one]]))[0])
        raise InvalidArgumentError(
            f"contradicts a link between the states {chain.states[one]!r} and {chain.states[other]!r}, whose labels "
            "differ",
            argument="respect_labels",
            remedy="drop the link, or list the labels to respect",
        )
    return colour


def _units_apart(chain: MarkovChain, given: GroupConstraints, unit: NDArray[np.int32]) -> NDArray[np.int64]:
    """Pairs of units: those of ``cannot_link``, and any two fixed groups."""
    anchors = {group: state for state, group in given.fixed}
    fixed = list(combinations(anchors.values(), 2))
    for argument, pairs in (("cannot_link", given.cannot_link), ("fixed", fixed)):
        for a, b in pairs:
            if unit[a] == unit[b]:
                raise InvalidArgumentError(
                    f"keeps the states {chain.states[a]!r} and {chain.states[b]!r} apart, which other constraints link",
                    argument=argument,
                    remedy="drop one of the two",
                )
    return unit[np.array([*given.cannot_link, *fixed], dtype=np.int64).reshape(-1, 2)].astype(np.int64)


def number_fixed_groups(
    labels: NDArray[np.int32], given: GroupConstraints, n_groups: int
) -> NDArray[np.int32]:
    """Labels renumbered so that groups with a fixed number have it; the others keep their order.

    >>> number_fixed_groups(np.array([0, 0, 1], dtype=np.int32), GroupConstraints(fixed=((2, 0),)), 2).tolist()
    [1, 1, 0]
    """
    number = np.full(n_groups, -1, dtype=np.int32)
    for state, group in given.fixed:
        if isinstance(group, int):
            number[labels[state]] = group
    free = np.setdiff1d(np.arange(n_groups, dtype=np.int32), number)
    number[number < 0] = free
    return number[labels]
