"""Numbers of groups: in order of decreasing mass, and constant along a path."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from klump.aggregation.costs import group_masses
from klump.aggregation.mapping import Mapping
from klump.chain import MarkovChain

Labels = NDArray[np.int32]

# Decimals to which masses are compared: equal masses differ by rounding.
_MASS_DECIMALS = 12


def rank_by_mass(chain: MarkovChain, mapping: Mapping) -> Labels:
    """Rank of each group by decreasing mass, ties and chains without a stationary distribution by first state."""
    weights = mapping.weights
    first = np.full(mapping.n_groups, chain.n_states)
    np.minimum.at(first, weights.indices, np.repeat(np.arange(chain.n_states), np.diff(weights.indptr)))
    mass = group_masses(chain, mapping) if chain.is_irreducible else np.zeros(mapping.n_groups)
    order = np.lexsort((first, -np.round(mass, _MASS_DECIMALS)))
    numbers = np.empty(mapping.n_groups, dtype=np.int32)
    numbers[order] = np.arange(mapping.n_groups)
    return numbers


def number_along_path(steps: Sequence[NDArray[Any]], rank: Labels) -> list[Labels]:
    """Renumber the groups of successive partitions, so that a group keeps its number and numbers are consecutive.

    Groups are ordered by the step at which they become empty, the last first, then by ``rank``. A group that gets
    members again after it was empty is a new group, with the next free number. If an older group becomes empty before
    such a new one, the groups with higher numbers move up by one: numbers change only then.

    >>> steps = [np.array([0, 1, 1, 2]), np.array([2, 1, 1, 2])]
    >>> number_along_path(steps, rank=np.array([0, 1, 2], dtype=np.int32))
    [array([2, 0, 0, 1], dtype=int32), array([1, 0, 0, 1], dtype=int32)]
    """
    members = np.array([np.bincount(labels, minlength=rank.size) > 0 for labels in steps])
    numbered: list[Labels] = []
    current: list[int] = []  # the group that has each number
    for step, labels in enumerate(steps):
        current = [group for group in current if members[step, group]]
        born = [group for group in np.flatnonzero(members[step]).tolist() if group not in current]
        current += sorted(born, key=lambda group: (-_lifetime(members[step:, group]), rank[group]))
        number = np.full(rank.size, -1, dtype=np.int32)
        number[current] = np.arange(len(current))
        numbered.append(number[labels])
    return numbered


def _lifetime(has_members: NDArray[np.bool_]) -> int:
    """Number of steps until a group first becomes empty."""
    return has_members.size if has_members.all() else int(np.argmin(has_members))
