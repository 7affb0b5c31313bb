"""Random constraints, and what they mean, by definition."""

from __future__ import annotations

from itertools import combinations

import numpy as np


def random_constraints(n, k, rng, *, most_mass=0.25):
    """Arguments of ``aggregate``, each of them present in about half of the cases, and labels of the states."""
    given, labels = {}, None
    if rng.random() < 0.4:
        given["must_link"] = random_pairs(n, rng, int(rng.integers(1, 3)))
    if rng.random() < 0.5:
        given["cannot_link"] = random_pairs(n, rng, int(rng.integers(1, 4)))
    if rng.random() < 0.4:
        given["fixed"] = {int(x): int(rng.integers(k)) for x in rng.choice(n, 2, replace=False)}
    if rng.random() < 0.4:
        given["min_mass"] = float(rng.uniform(0.01, most_mass))
    if rng.random() < 0.4 or not given:
        labels = {"a": rng.random(n) < 0.4, "b": rng.random(n) < 0.2}
        given["respect_labels"] = ["a"] if rng.random() < 0.7 else True
    return given, labels


def random_pairs(n, rng, count):
    return [tuple(rng.choice(n, 2, replace=False).tolist()) for _ in range(count)]


def satisfies(labels, mu, given, label_masks):
    """Whether a partition satisfies the constraints."""
    labels = np.asarray(labels)
    if any(labels[a] != labels[b] for a, b in given.get("must_link", ())):
        return False
    if any(labels[a] == labels[b] for a, b in given.get("cannot_link", ())):
        return False
    for (a, group), (b, other) in combinations(given.get("fixed", {}).items(), 2):
        if (labels[a] == labels[b]) != (group == other):
            return False
    if np.bincount(labels, weights=mu).min() < given.get("min_mass", 0.0) - 1e-12:
        return False
    respected = given.get("respect_labels", ())
    respected = list(label_masks) if respected is True else respected
    return all(
        len(set(label_masks[label][labels == y].tolist())) == 1
        for label in respected
        for y in np.unique(labels)
    )
