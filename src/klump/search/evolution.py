"""Memetic search: a population of local optima, whose children are local optima again.

A child is the crossover of two members, or the perturbation of one, after local search. It replaces the costliest
member if it is cheaper and new. Unstructured chains have so many local optima that starts and perturbations of one
partition rarely reach the best of them; crossover keeps what two good partitions agree on.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from klump.search.descent import fill_empty_groups
from klump.search.method import Found, Labels
from klump.search.perturbation import merge_and_split, merge_and_split_off, relabel
from klump.search.strategies import StartContext

# Key of the random generators of ``evolve``.
_KEY = 8
# Members of a population, at most. Empirical, as are the shares; 15 to 60 members find about as many optima.
_SIZE = 60
# Share of children with two parents.
_CROSSOVER_SHARE = 0.75
# Kinds of perturbation of the other children, and their shares.
_PERTURBATIONS = (relabel, merge_and_split, merge_and_split_off)
_SHARES = (0.4, 0.2, 0.4)


class Population:
    """The cheapest distinct partitions of all that were added, at most ``_SIZE``."""

    def __init__(self) -> None:
        self._members: dict[bytes, Found] = {}

    def add(self, found: Found) -> None:
        """Add a partition, unless it is a member; drop the costliest member of a full population."""
        self._members.setdefault(canonical_key(found.labels), found)
        if len(self._members) > _SIZE:
            del self._members[max(self._members, key=lambda key: self._members[key].cost)]

    def cheapest(self, count: int | None = None) -> list[Found]:
        """The cheapest members, in order of cost; all by default."""
        return sorted(self._members.values(), key=lambda found: found.cost)[:count]


def evolve(context: StartContext, population: Population, number: int, n_children: int) -> Iterator[Found]:
    """Yield children of a population, one after another, so that each may join it as a parent of the next ones."""
    rng = np.random.default_rng([context.seed, _KEY, number])
    for _ in range(n_children):
        labels = _make_child([found.labels for found in population.cheapest()], context, rng)
        yield context.local_search(fill_empty_groups(labels, context.n_groups), rng)


def _make_child(parents: list[Labels], context: StartContext, rng: np.random.Generator) -> Labels:
    if len(parents) > 1 and rng.random() < _CROSSOVER_SHARE:
        a, b = rng.choice(len(parents), 2, replace=False)
        return cross_over(parents[a], parents[b], context.n_groups, rng)
    perturb = _PERTURBATIONS[rng.choice(len(_PERTURBATIONS), p=_SHARES)]
    return perturb(parents[rng.integers(len(parents))], context, rng)


def cross_over(a: Labels, b: Labels, n_groups: int, rng: np.random.Generator) -> Labels:
    """Each state's label from one parent or the other, at random, after the groups of b are matched to those of a.

    >>> a, b = np.array([0, 0, 1, 1, 2]), np.array([1, 1, 2, 2, 0])
    >>> cross_over(a, b, 3, np.random.default_rng(0)).tolist()
    [0, 0, 1, 1, 2]
    """
    from scipy.optimize import linear_sum_assignment

    shared = np.zeros((n_groups, n_groups))
    np.add.at(shared, (b, a), 1.0)
    _, match = linear_sum_assignment(shared, maximize=True)
    return np.where(rng.random(a.size) < 0.5, a, match[b]).astype(np.int32)


def canonical_key(labels: Labels) -> bytes:
    """Labels renumbered by first occurrence, as bytes: equal for equal partitions."""
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[inverse].astype(np.int32).tobytes()
