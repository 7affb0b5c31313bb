"""Perturbations of a local optimum, and iterated local search: perturb, local search, keep if cheaper."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from klump.search.descent import fill_empty_groups, split_off_singletons
from klump.search.method import EQUAL, Found, Labels
from klump.search.strategies import StartContext

# Key of the random generators of iterated local searches.
_KEY = 5
# Share of large perturbations in iterated local search: merge two groups and split one. The others relabel states.
_MERGING_SHARE = 0.3
# Shares of the states that a small perturbation relabels: between these.
_LEAST_RELABELLED = 0.02
_MOST_RELABELLED = 0.3


def iterate_local_search(
    context: StartContext,
    found: Found,
    number: int,
    max_failures: int,
    max_sweeps: float,
    max_returns: float,
) -> Found:
    """Perturb the incumbent and run local search, until ``max_failures`` perturbations in a row do not improve it.

    Also ends after ``max_returns`` large perturbations from which local search returns to the incumbent's cost.
    """
    rng = np.random.default_rng([context.seed, _KEY, number])
    failures, returns, sweeps = 0, 0, 0.0
    while failures < max_failures and returns < max_returns and sweeps < max_sweeps:
        merges = context.n_groups > 1 and rng.random() < _MERGING_SHARE
        perturbed = (
            merge_and_split(found.labels, context, rng) if merges else relabel(found.labels, context, rng)
        )
        other = context.local_search(fill_empty_groups(perturbed, context.n_groups), rng)
        sweeps += other.sweeps
        if other.cost < found.cost - EQUAL:
            found, failures, returns = other, 0, 0
        else:
            failures += 1
            returns += merges and other.cost <= found.cost + EQUAL
    return replace(found, sweeps=sweeps)


def merge_and_split(labels: Labels, context: StartContext, rng: np.random.Generator) -> Labels:
    """Merge two groups and split another, or the merged one, at random."""
    labels, k = labels.copy(), context.n_groups
    a, b = rng.choice(k, 2, replace=False)
    labels[labels == a] = b
    members = np.flatnonzero(labels == rng.choice(np.delete(np.arange(k), a)))
    labels[members[rng.random(members.size) < 0.5]] = a
    return labels


def merge_and_split_off(labels: Labels, context: StartContext, rng: np.random.Generator) -> Labels:
    """Merge two groups, and split off the single state that is cheapest to split off."""
    a, b = rng.choice(context.n_groups, 2, replace=False)
    _, merged = np.unique(np.where(labels == a, b, labels), return_inverse=True)
    return split_off_singletons(context.problem, context.n_groups, context.objective, merged.astype(np.int32))


def relabel(labels: Labels, context: StartContext, rng: np.random.Generator) -> Labels:
    """Relabel 2 to 30 % of the states at random."""
    labels = labels.copy()
    chosen = rng.random(labels.size) < rng.uniform(_LEAST_RELABELLED, _MOST_RELABELLED)
    chosen[rng.integers(labels.size)] = True
    labels[chosen] = rng.integers(0, context.n_groups, int(chosen.sum()))
    return labels
