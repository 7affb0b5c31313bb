"""Repair labels that violate constraints: split groups, merge them back to k, and fill those that are too light."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from klump.search.agglomerative import groups_after
from klump.search.constraints import Constraints
from klump.search.feasibility import split_to
from klump.search.kernels.tables import DenseProblem, Ints, Problem
from klump.search.merging import Merging, NumpyMerging
from klump.search.method import Labels
from klump.search.objective import MIDDLE
from klump.search.problem import SMALL

# Groups up to which they are merged: that takes cubic time.
_MAX_GROUPS = 3000
# Light groups dissolved per repair, in multiples of the number of groups, before the partition known to be feasible
# is taken instead.
_MAX_DISSOLVED = 2


@dataclass(frozen=True, eq=False)
class Repair:
    """Constraints, and what a repair needs to know about the chain."""

    constraints: Constraints
    joint: Any
    """Joint distribution of two successive states, dense or sparse."""
    n_groups: int

    @property
    def feasible(self) -> Ints:
        """The group of each unit in some partition that satisfies the constraints."""
        assert self.constraints.feasible is not None
        return self.constraints.feasible

    @property
    def n_units(self) -> int:
        """Number of units, which a local search visits."""
        return self.constraints.n_units

    def __call__(self, labels: Labels) -> Labels:
        """Labels of exactly ``n_groups`` groups that satisfy the constraints, near the given ones."""
        if int(labels.max()) < self.n_groups and self.constraints.are_satisfied(labels):
            size = np.bincount(labels, minlength=self.n_groups)
            if size.all():
                return labels
        return self.labels_of(self.merge(self.constraints.refine(labels)))

    def labels_of(self, group: Ints) -> Labels:
        """Labels of the states from the groups of the units."""
        return group[self.constraints.unit].astype(np.int32)

    def refine(self, labels: Labels) -> Labels:
        """Split groups until the constraints are satisfied, but for the least mass; to no more than can be merged."""
        group = self.constraints.refine(labels)
        return self.labels_of(group if int(group.max()) < _MAX_GROUPS else self.feasible)

    def draw(self, n_groups: int, rng: np.random.Generator) -> Labels:
        """Random labels: units are distributed between the groups of their colour in the feasible partition, split."""
        group = split_to(self.feasible, max(n_groups, int(self.feasible.max()) + 1))
        colour = self.constraints.colour
        drawn = group.copy()
        for units in np.split(np.argsort(colour, kind="stable"), np.cumsum(np.bincount(colour))[:-1]):
            drawn[units] = rng.choice(np.unique(group[units]), units.size)
        return self.labels_of(self.constraints.refine(self.labels_of(drawn)))

    def merge(self, group: Ints) -> Ints:
        """Merge groups of units greedily to ``n_groups``, or split them; then fill light groups."""
        count = int(group.max()) + 1
        if count > max(self.n_groups, _MAX_GROUPS):
            return self.feasible
        if count > self.n_groups:
            merged = self._merge_greedily(group)
            if merged is None:
                return self.feasible
            group = merged[group]
        elif count < self.n_groups:
            group = split_to(group, self.n_groups)
        return group if self.constraints.min_mass == 0.0 else self._fill(group)

    def _merge_greedily(self, group: Ints) -> Ints | None:
        """Merge groups at beta = 1/2; the new number of each, or None if those apart leave too many."""
        flow, apart = self._flow(group), self.constraints.groups_apart(group)
        count = len(flow)
        # As in agglomerative search: small chains do without the kernels, which take seconds to compile.
        kind = NumpyMerging if self.constraints.unit.size <= SMALL else Merging
        merging = kind(flow, flow.sum(axis=1), np.arange(count, dtype=np.int32), MIDDLE.weights, apart)
        if not merging.run(self.n_groups):
            return None
        return groups_after(merging.pairs, count - self.n_groups).astype(np.int64)

    def _flow(self, group: Ints) -> NDArray[np.float64]:
        """B, the mass from each group to each group."""
        n = self.constraints.unit.size
        map_ = sparse.csr_array((np.ones(n), group[self.constraints.unit], np.arange(n + 1)))
        flow = map_.T @ (self.joint @ map_)
        return np.asarray(flow.toarray() if sparse.issparse(flow) else flow)

    def _fill(self, group: Ints) -> Ints:
        """Move units to groups that are too light; dissolve those that cannot be filled, and split others."""
        constraints = self.constraints
        for _ in range(_MAX_DISSOLVED * self.n_groups):
            group = self._fill_each(group)
            mass = self._masses(group)
            light = int(np.argmin(mass))
            if mass[light] >= constraints.min_mass:
                return group
            dissolved = self._dissolve(group, light, mass)
            if dissolved is None:
                break
            group = dissolved
        return self.feasible

    def _masses(self, group: Ints) -> NDArray[np.float64]:
        return np.asarray(np.bincount(group, self.constraints.mass, self.n_groups), dtype=np.float64)

    def _fill_each(self, group: Ints) -> Ints:
        """Fill every light group with the units that have most flow from and to it, as far as the others can spare."""
        constraints, group = self.constraints, group.copy()
        unit_mass, least = constraints.mass, constraints.min_mass
        mass, size = np.bincount(group, weights=unit_mass), np.bincount(group)
        for light in np.flatnonzero(mass < least).tolist():
            for unit in self._nearest_units(group, light):
                home = group[unit]
                if size[home] > 1 and mass[home] - unit_mass[unit] >= least:
                    group[unit] = light
                    mass[home], mass[light] = mass[home] - unit_mass[unit], mass[light] + unit_mass[unit]
                    size[home], size[light] = size[home] - 1, size[light] + 1
                if mass[light] >= least:
                    break
        return group

    def _nearest_units(self, group: Ints, light: int) -> list[int]:
        """Units that may join a group, most flow per mass first."""
        constraints = self.constraints
        member = (group == light)[constraints.unit].astype(np.float64)
        flow = np.asarray(self.joint @ member) + np.asarray(self.joint.T @ member)
        per_mass = np.bincount(constraints.unit, weights=flow) / np.maximum(constraints.mass, 1e-300)
        members = np.flatnonzero(group == light)
        allowed = (constraints.colour == constraints.colour[members[0]]) & (group != light)
        for unit in members.tolist():
            allowed[constraints.neighbours[unit]] = False
        return [unit for unit in np.argsort(-per_mass, kind="stable").tolist() if allowed[unit]]

    def _dissolve(self, group: Ints, light: int, mass: NDArray[np.float64]) -> Ints | None:
        """Merge a light group with the lightest one that it may join, and split the heaviest group; None if stuck."""
        apart = self.constraints.groups_apart(group)[light]
        apart[light] = True
        if apart.all():
            return None
        joined = int(np.argmin(np.where(apart, np.inf, mass)))
        group = np.where(group == light, joined, group)
        splittable = np.bincount(group, minlength=self.n_groups) > 1
        heaviest = int(
            np.argmax(np.where(splittable, np.bincount(group, self.constraints.mass, mass.size), -1))
        )
        members = np.flatnonzero(group == heaviest)
        order = members[np.argsort(-self.constraints.mass[members], kind="stable")]
        group[order[1::2]] = light
        return group


def make_repair(
    constraints: Constraints | None,
    problem: Problem,
    n_groups: int,
    order: NDArray[np.int64] | None = None,
) -> Repair | None:
    """Repair for labels of a problem, whose states may be renumbered by ``order``; None without constraints."""
    if constraints is None:
        return None
    constraints = constraints if order is None else constraints.permute(order)
    if isinstance(problem, DenseProblem):
        return Repair(constraints, problem.rows, n_groups)
    n = problem.mu.size
    rows = problem.out_mass, problem.out_indices, problem.out_indptr
    return Repair(constraints, sparse.csr_array(rows, shape=(n, n)), n_groups)
