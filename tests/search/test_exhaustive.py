"""Exhaustive search returns the global optimum."""

import numpy as np
import pytest
from scipy import sparse

import klump
from klump.search.constraints import no_pairs
from klump.search.exhaustive import exhaustive, n_partitions
from klump.search.kernels.enumeration import cheapest_partition
from klump.search.method import Task
from klump.search.objective import MIDDLE
from klump.sources.random_chains import random_chain
from reference import costs_of_all_partitions, partitions

BETAS = (0.0, 0.3, 0.5, 0.8, 1.0)


@pytest.mark.parametrize("kind", ["dense", "sparse", "decomposable", "reversible"])
@pytest.mark.parametrize("beta", BETAS)
def test_it_is_the_least_of_all_costs(kind, beta):
    for k in (2, 3, 5):
        chain = random_chain(7, kind=kind, random_state=k)
        matrix = chain.transition_matrix
        matrix = matrix.toarray() if sparse.issparse(matrix) else matrix
        _, lumpability, predictability, _ = costs_of_all_partitions(matrix, chain.stationary_distribution, k)
        least = ((1 - 2 * beta) * lumpability + beta * predictability).min()
        found = exhaustive(Task(chain, k, beta))
        assert found.cost == pytest.approx(least, abs=1e-12)
        assert len(set(found.labels.tolist())) == k
        assert klump.aggregate(chain, k, beta=beta).cost == pytest.approx(found.cost, abs=1e-12)


@pytest.mark.parametrize(("n", "k"), [(4, 1), (5, 2), (7, 3), (6, 5), (6, 6), (8, 6)])
def test_every_partition_is_seen_once(n, k):
    chain = random_chain(n, kind="dense", random_state=0)
    best, labels, most = (np.zeros(n, dtype=np.int64) for _ in range(3))
    mu, joint = chain.stationary_distribution.copy(), np.array(chain.joint)
    work = np.zeros((n + k + 1, k))
    seen = cheapest_partition(joint, mu, MIDDLE.weights, no_pairs(), 0.0, labels, most, work, best)
    assert seen == len(list(partitions(n, k))) == n_partitions(n, k, 10**6)


def test_many_states_in_nearly_as_many_groups():
    """Few such partitions exist; the enumeration must not visit all partitions to find them."""
    chain = random_chain(30, kind="dense", random_state=1)
    found = exhaustive(Task(chain, 29, 0.5))
    assert found.cost <= klump.aggregate(chain, 29, method="agglomerative").cost + 1e-12
    assert len(set(found.labels.tolist())) == 29


def test_counting_stops_at_the_limit():
    assert n_partitions(10, 3, 10**6) == 9330
    assert n_partitions(1000, 30, 5000) == 5000
    assert n_partitions(3, 4, 100) == 0


def test_ties_go_to_the_first_partition():
    """All partitions of three identical states cost the same."""
    assert klump.aggregate(np.full((3, 3), 1 / 3), 2).labels.tolist() == [0, 0, 1]
