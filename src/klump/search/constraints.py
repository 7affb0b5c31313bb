"""Constraints on a partition: states that share a group, states that must not, and the least mass of a group.

States that must share a group form a *unit*. Units of different *colours* must not share a group (states with different
labels); nor must pairs of units that are listed as *apart*.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from klump.checkpoints.values import storable
from klump.search.kernels.tables import Ints, Labels, Pairs, Units

# Tolerance of the least mass of a group: masses are sums of rounded numbers.
_ROUNDING = 1e-12


@storable
@dataclass(frozen=True, eq=False)
class Constraints:
    """Units, their colours, pairs of units that are apart, and the least mass of a group."""

    unit: Labels
    """The unit of each state; units are numbered from 0."""
    colour: Labels
    """The colour of each unit, numbered from 0."""
    apart: Ints
    """Pairs of units that must not share a group, (p, 2)."""
    mass: NDArray[np.float64]
    """Stationary mass of each unit."""
    min_mass: float = 0.0
    """Least mass of a group."""
    feasible: Ints | None = None
    """The group of each unit in some partition that satisfies the constraints, if one was looked for."""

    @property
    def n_units(self) -> int:
        """Number of units."""
        return self.colour.size

    @cached_property
    def neighbours(self) -> list[Ints]:
        """Units apart from each unit."""
        begin, units = _adjacency(self.apart, self.n_units)
        return np.split(units, begin[1:-1])

    @cached_property
    def kernel_units(self) -> Units:
        """The constraints in the memory layout of the kernels."""
        sizes = np.bincount(self.unit, minlength=self.n_units)
        apart_begin, apart = _adjacency(self.apart, self.n_units)
        return Units(
            begin=np.concatenate([[0], np.cumsum(sizes)]),
            states=np.argsort(self.unit, kind="stable"),
            mass=self.mass,
            colour=self.colour,
            apart_begin=apart_begin,
            apart=apart,
            least=np.array([self.min_mass - _ROUNDING]),
        )

    def permute(self, order: NDArray[np.int64]) -> Constraints:
        """The same constraints on states renumbered by ``order``."""
        return replace(self, unit=self.unit[order])

    def are_satisfied(self, labels: Labels) -> bool:
        """Whether a partition satisfies all constraints.

        >>> pair = Constraints(np.array([0, 0, 1]), np.array([0, 0]), np.array([[0, 1]]), np.array([0.7, 0.3]))
        >>> pair.are_satisfied(np.array([0, 0, 1])), pair.are_satisfied(np.array([0, 0, 0]))
        (True, False)
        """
        group = np.zeros(self.n_units, dtype=np.int64)
        group[self.unit] = labels
        if not np.array_equal(group[self.unit], labels):
            return False
        together = group[self.apart[:, 0]] == group[self.apart[:, 1]]
        n_colours = len(np.unique(group * (int(self.colour.max()) + 1) + self.colour))
        masses = np.bincount(group, weights=self.mass)
        return bool(
            not together.any()
            and n_colours == len(np.unique(group))
            and (masses[np.bincount(group) > 0] >= self.min_mass - _ROUNDING).all()
        )

    def groups_of_units(self, labels: Labels) -> Ints:
        """The group of each unit: the one with most of its states, the lowest number in a tie."""
        if self.n_units == self.unit.size:
            group = np.empty(self.n_units, dtype=np.int64)
            group[self.unit] = labels
            return group
        n_groups = int(labels.max()) + 1
        pair, count = np.unique(self.unit * np.int64(n_groups) + labels, return_counts=True)
        unit, group = np.divmod(pair, n_groups)
        order = np.lexsort((group, -count, unit))
        first = np.searchsorted(unit[order], np.arange(self.n_units))
        return np.asarray(group[order][first])

    def refine(self, labels: Labels) -> Ints:
        """Split groups until units that are apart share none; the group of each unit.

        Groups are numbered from 0 without gaps. Their least mass is not considered.
        """
        group = self.groups_of_units(labels)
        n_colours = int(self.colour.max()) + 1
        _, group = np.unique(group * n_colours + self.colour, return_inverse=True)
        group = group.astype(np.int64).ravel()
        count = int(group.max()) + 1
        spare: dict[int, list[int]] = {}  # groups split off each group
        for unit in np.unique(self.apart).tolist():
            others = self.neighbours[unit]
            taken = set(group[others[others < unit]].tolist())
            if int(group[unit]) not in taken:
                continue
            candidates = spare.setdefault(int(group[unit]), [])
            free = [other for other in candidates if other not in taken]
            if not free:
                free = [count]
                candidates.append(count)
                count += 1
            group[unit] = free[0]
        return _renumber(group)

    def groups_apart(self, group: Ints) -> NDArray[np.bool_]:
        """Whether each two groups must not be merged, (count, count)."""
        count = int(group.max()) + 1
        colour = np.zeros(count, dtype=np.int64)
        colour[group] = self.colour
        apart = np.asarray(colour[:, None] != colour)
        first, second = group[self.apart[:, 0]], group[self.apart[:, 1]]
        apart[first, second] = apart[second, first] = True
        return apart

    @property
    def pairs(self) -> Pairs:
        """The constraints as pairs of states; for few states."""
        is_apart = np.asarray(self.colour[:, None] != self.colour)
        is_apart[self.apart[:, 0], self.apart[:, 1]] = is_apart[self.apart[:, 1], self.apart[:, 0]] = True
        first, second = np.triu_indices(self.unit.size, 1)
        together = self.unit[first] == self.unit[second]
        apart = is_apart[self.unit[first], self.unit[second]]
        both = np.stack([first, second], axis=1).astype(np.int64)
        return Pairs(both[together], both[apart], self.kernel_units.least)


def no_pairs() -> Pairs:
    """No constraints, for the same kernel."""
    return Pairs(np.zeros((0, 2), np.int64), np.zeros((0, 2), np.int64), np.zeros(1))


def _adjacency(pairs: Ints, n_units: int) -> tuple[Ints, Ints]:
    """Adjacency lists of an undirected graph in compressed format."""
    both = np.unique(np.concatenate([pairs, pairs[:, ::-1]]), axis=0) if len(pairs) else pairs.reshape(0, 2)
    counts = np.bincount(both[:, 0], minlength=n_units)
    return np.concatenate([[0], np.cumsum(counts)]), np.ascontiguousarray(both[:, 1])


def _renumber(group: Ints) -> Ints:
    return np.asarray(np.unique(group, return_inverse=True)[1], dtype=np.int64).ravel()
