"""The same chain with its states renumbered: how often, and by how much, the cost of the default changes.

Unstructured chains (independent Dirichlet rows) have the most local optima. A search that finds the global optimum does
not depend on the order of the states.
"""

from __future__ import annotations

import time

import numpy as np

import klump
from benchmarks.measure import Verdict

# States, groups, Dirichlet concentrations and betas that chains are drawn from.
STATES = (20, 56)
GROUPS = (2, 12)
CONCENTRATIONS = (0.1, 0.3, 1.0)
BETAS = (0.0, 0.25, 0.5, 0.75, 1.0)
# Chains per effort, and the promised share of them whose cost may change.
CHAINS = {"balanced": (120, 0.05), "thorough": (30, 0.01)}
# Largest relative change of a cost that is promised.
MOST = 0.003
# Relative difference of two costs above which they are those of different partitions.
DIFFERENT = 1e-9


def questions(count):
    """Transition matrix, number of groups, beta and a permutation, per chain."""
    rng = np.random.default_rng(2)
    for number in range(count):
        n, k = int(rng.integers(*STATES)), int(rng.integers(*GROUPS))
        concentration, beta = float(rng.choice(CONCENTRATIONS)), float(rng.choice(BETAS))
        rows = np.random.default_rng([2, number]).dirichlet(np.full(n, concentration), n)
        # No zeros, so that every chain is irreducible.
        yield rows * (1 - 1e-9) + 1e-9 / n, k, beta, rng.permutation(n)


def changes(effort, count):
    """Relative change of the cost per chain, and CPU seconds per search."""
    differences, seconds = [], []
    for matrix, k, beta, order in questions(count):
        begin = time.process_time()
        one = klump.aggregate(matrix, k, beta=beta, effort=effort).cost
        seconds.append(time.process_time() - begin)
        other = klump.aggregate(matrix[np.ix_(order, order)], k, beta=beta, effort=effort).cost
        differences.append(abs(one - other) / max(one, other))
    return np.array(differences), np.array(seconds)


def run():
    klump.aggregate(next(questions(1))[0], 5, beta=0.25)  # compile
    verdicts = []
    for effort, (count, promise) in CHAINS.items():
        differences, seconds = changes(effort, count)
        share = float(np.mean(differences > DIFFERENT))
        detail = f"{count} chains, {np.mean(seconds):.2f} CPU s on average, at most {seconds.max():.1f}"
        verdicts.append(Verdict(f"renumbered, {effort}: share that changes", share, promise, True, detail))
        largest = float(differences.max())
        verdicts.append(Verdict(f"renumbered, {effort}: largest change", largest, MOST, True))
    return verdicts
