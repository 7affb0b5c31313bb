"""Degenerate chains: valid answers, quickly, where partitions cost the same or the bound 0 is reached."""

import numpy as np
import pytest
from benchmarks.degenerate import CHAINS

import klump
from klump.search.kernels import descent as kernels

# Sweeps that the search of one degenerate chain may take: a few seconds at these sizes.
MOST_SWEEPS = 20_000


SIZES = {
    "rank_one": 400,
    "uniform": 350,
    "permutation": 400,
    "ring": 2001,
    "star": 500,
    "duplicates": 450,
    "heavy": 310,
    "tiny": 363,
}


@pytest.mark.parametrize("beta", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("name", SIZES)
def test_degenerate_chains_have_answers_of_bounded_effort(name, beta, monkeypatch):
    sweeps, plain = [], kernels.sweep
    monkeypatch.setattr(kernels, "sweep", lambda *arguments: sweeps.append(1) or plain(*arguments))
    chain = klump.MarkovChain(CHAINS[name](SIZES[name]))
    answer = klump.aggregate(chain, 4, beta=beta)
    assert set(answer.labels.tolist()) == {0, 1, 2, 3}
    assert answer.cost == pytest.approx(klump.score(chain, answer.labels).at(beta), abs=1e-10)
    assert len(sweeps) < MOST_SWEEPS


@pytest.mark.parametrize("name", ["rank_one", "uniform", "heavy"])
def test_independent_chains_cost_nothing(name):
    for beta in (0.0, 0.5, 1.0):
        assert klump.aggregate(CHAINS[name](SIZES[name]), 3, beta=beta).cost == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("k", [1, 2, 59, 60])
def test_extreme_numbers_of_groups(k):
    matrix = np.random.default_rng(1).dirichlet(np.full(60, 0.3), 60)
    for beta in (0.0, 0.5, 1.0):
        answer = klump.aggregate(matrix, k, beta=beta)
        assert answer.n_states == k
        assert np.unique(answer.labels).size == k


@pytest.mark.parametrize("beta", [0.5, 1.0])
@pytest.mark.parametrize("k", [330, 399])
def test_many_groups_are_found_by_merging(k, beta):
    """Above 300 states, where groups are too small to split, "auto" includes greedy merging."""
    matrix = np.random.default_rng(2).dirichlet(np.full(400, 1.0), 400)
    merged = klump.aggregate(matrix, k, beta=beta, method="agglomerative")
    assert klump.aggregate(matrix, k, beta=beta).cost <= merged.cost + 1e-12


@pytest.mark.parametrize("beta", [0.0, 0.5, 1.0])
def test_the_search_of_large_chains_without_structure_ends_early(beta, monkeypatch):
    """Where a sweep is expensive, each local search has few of them, and cycles end when they gain little."""
    visits, plain = [], kernels.sweep

    def sweep(problem, table, work, weights, order, *others):
        visits.append(order.size)
        return plain(problem, table, work, weights, order, *others)

    monkeypatch.setattr(kernels, "sweep", sweep)
    chain = klump.MarkovChain(CHAINS["unstructured"](100_000))
    answer = klump.aggregate(chain, 2, beta=beta)
    assert np.unique(answer.labels).size == 2
    assert sum(visits) < 60 * chain.n_states
