"""Memetic search: a population of local optima, whose children are improved by tabu search.

A child is the crossover of two members, or the perturbation of one, after local search and tabu search. It replaces
the costliest member if it is cheaper and new. Unstructured chains have so many local optima that starts and
perturbations of one partition rarely reach the best of them; crossover keeps the groups of good partitions, and tabu
search crosses the barriers between neighbouring optima.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import numpy as np

from klump.checkpoints import Once, always
from klump.search.descent import fill_empty_groups
from klump.search.method import Found, Labels
from klump.search.perturbation import merge_and_split, merge_and_split_off, relabel
from klump.search.strategies import StartContext
from klump.search.tabu import tabu_search

# Key of the random generators of ``evolve``.
_KEY = 8
# Members of a population, at most. Empirical, as are the shares: 12 find fewer optima in the same time.
_SIZE = 6
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


def evolve(
    context: StartContext, population: Population, number: int, n_steps: int, once: Once = always
) -> Iterator[Found]:
    """Yield the members of a population after tabu search, then children of it without end.

    One after another, so that each may join the population as a parent of the next ones. ``n_steps`` are those of the
    tabu search; without any only children are yielded, as local optima. ``once`` runs each as a unit of a checkpoint.
    """
    rng = np.random.default_rng([context.seed, _KEY, number])
    for member in population.cheapest() if n_steps > 0 else ():
        improve = partial(_improve, member, context, n_steps, rng)
        yield once(f"member of {number}", improve, rng, (member.labels, n_steps))
    while True:
        parents = [found.labels for found in population.cheapest()]
        breed = partial(_breed, parents, context, n_steps, rng)
        yield once(f"child of {number}", breed, rng, (parents, n_steps))


def _breed(parents: list[Labels], context: StartContext, n_steps: int, rng: np.random.Generator) -> Found:
    """A child after local search, and after tabu search if there are steps of it."""
    labels = _make_child(parents, context, rng)
    child = context.local_search(fill_empty_groups(labels, context.n_groups), rng)
    return _improve(child, context, n_steps, rng) if n_steps > 0 else child


def _improve(found: Found, context: StartContext, n_steps: int, rng: np.random.Generator) -> Found:
    """Tabu search from a local optimum, and local search from the cheapest partition on its way."""
    labels = tabu_search(
        context.dense_problem, found.labels, context.n_groups, context.objective, n_steps, rng
    )
    improved = context.local_search(labels, rng)
    return replace(improved, sweeps=improved.sweeps + found.sweeps, steps=n_steps)


def _make_child(parents: list[Labels], context: StartContext, rng: np.random.Generator) -> Labels:
    if len(parents) > 1 and rng.random() < _CROSSOVER_SHARE:
        a, b = rng.choice(len(parents), 2, replace=False)
        return cross_over(parents[a], parents[b], context.n_groups, rng)
    perturb = _PERTURBATIONS[rng.choice(len(_PERTURBATIONS), p=_SHARES)]
    return perturb(parents[rng.integers(len(parents))], context, rng)


def cross_over(a: Labels, b: Labels, n_groups: int, rng: np.random.Generator) -> Labels:
    """Take the largest remaining group of each parent in turn; states that remain join random groups.

    >>> a, b = np.array([0, 0, 1, 1, 1]), np.array([2, 2, 2, 2, 0])
    >>> cross_over(a, b, 2, np.random.default_rng(0)).tolist()
    [1, 1, 0, 0, 0]
    """
    labels = rng.integers(0, n_groups, a.size).astype(np.int32)
    free = np.ones(a.size, dtype=bool)
    for y in range(n_groups):
        parent = (a, b)[y % 2]
        taken = free & (parent == np.argmax(np.bincount(parent[free], minlength=n_groups)))
        labels[taken] = y
        free &= ~taken
    return labels


def canonical_key(labels: Labels) -> bytes:
    """Labels renumbered by first occurrence, as bytes: equal for equal partitions."""
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[inverse].astype(np.int32).tobytes()
