"""How the time of the coarsest exact lumping grows with the number of transitions: near-linearly, up to a million."""

from __future__ import annotations

import math

import numpy as np
from scipy import sparse

from benchmarks.measure import Verdict, interleaved, timed
from klump.search.exact import refine

TRANSITIONS = (10_000, 30_000, 100_000, 300_000, 1_000_000)
DEGREE = 4
# A logarithm more than linear is an exponent of 1.09 over these two decades; the rest is for memory that gets slower.
PROMISE = 1.3


def quotient(n_transitions, seed=0):
    """A random quotient, expanded to 20 states a group; half of the groups are marked."""
    rng = np.random.default_rng(seed)
    n = n_transitions // (2 * DEGREE)
    k = n // 20
    labels = np.sort(np.concatenate([np.arange(k), rng.integers(k, size=n - k)]))
    size = np.bincount(labels)
    targets = rng.integers(k, size=(k, DEGREE))[labels]
    weights = rng.dirichlet(np.ones(DEGREE), size=k)[labels]
    share = rng.random(targets.shape)
    data, columns = [], []
    for part in (share, 1 - share):
        member = (rng.random(targets.shape) * size[targets]).astype(int)
        data.append((weights * part).ravel())
        columns.append((np.cumsum(size)[targets] - 1 - member).ravel())
    rows = np.repeat(np.arange(n), DEGREE)
    order = rng.permutation(n)
    places = np.tile(order[rows], 2), order[np.concatenate(columns)]
    initial = np.empty(n, dtype=np.int32)
    initial[order] = labels % 2
    return sparse.csr_array((np.concatenate(data), places), shape=(n, n)), initial


def walk(n_transitions, seed=0):
    """A walk whose ends are marked, in random order: it falls into pairs, one split at a time."""
    n = n_transitions // 2
    matrix = sparse.diags_array([np.full(n - 1, 0.5)] * 2, offsets=[-1, 1]).tocsr()
    matrix.data[[0, -1]] = 1
    order = np.random.default_rng(seed).permutation(n)
    initial = np.zeros(n, dtype=np.int32)
    initial[np.isin(order, (0, n - 1))] = 1
    return sparse.csr_array(matrix[order][:, order]), initial


def cube(n_transitions):
    """Identical switches, one turned at a time, all off marked: only how many are off tells states apart."""
    switches = round(math.log2(n_transitions) - math.log2(math.log2(n_transitions / 16)))
    states = np.arange(2**switches)
    columns = (states[:, None] ^ (1 << np.arange(switches))).ravel()
    indptr = np.arange(len(states) + 1) * switches
    data = np.full(len(columns), 1 / switches)
    return sparse.csr_array((data, columns, indptr)), (states == 0).astype(np.int32)


def growth(name, family, rounds=5):
    """Exponent of time over transitions, and what a transition costs at the largest size."""
    models = {size: family(size) for size in TRANSITIONS}
    refine(*models[TRANSITIONS[0]], 1e-10)
    median = interleaved(
        {size: lambda model=model: timed(lambda: refine(*model, 1e-10)) for size, model in models.items()},
        rounds,
    )
    stored = [models[size][0].nnz for size in TRANSITIONS]
    exponent = np.polyfit(np.log(stored), np.log(list(median.values())), 1)[0]
    matrix, initial = models[TRANSITIONS[-1]]
    found = refine(matrix, initial, 1e-10)
    seconds = median[TRANSITIONS[-1]]
    return [
        Verdict(
            f"exact lumping, {name}, exponent of the time in transitions",
            float(exponent),
            PROMISE,
            True,
            f"{seconds:.2f} s for {matrix.nnz} transitions, {matrix.shape[0]} states, "
            f"{found.labels.max() + 1} groups",
        ),
        Verdict(
            f"exact lumping, {name}, looks at a transition over log2(states)",
            found.visits / matrix.nnz / math.log2(matrix.shape[0]),
            1,
            True,
        ),
    ]


def run():
    families = {"expanded quotient": quotient, "walk": walk, "switches": cube}
    return [verdict for name, family in families.items() for verdict in growth(name, family)]
