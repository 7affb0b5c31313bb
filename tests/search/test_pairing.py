"""Nearly as many groups as states: pairs are priced exactly, in memory that does not grow with k^2."""

import tracemalloc

import numpy as np
import pytest
from benchmarks.degenerate import CHAINS

import klump
from klump.search import portfolio
from klump.search.descent import cost_by_definition
from klump.search.method import Task
from klump.search.pairing import _compute_prices, _make_groups, _Pairs, is_nearly_all_states, merge_pairs
from klump.sources.random_chains import random_chain


@pytest.mark.parametrize("gamma", [0.0, 0.7])
@pytest.mark.parametrize("beta", [0.0, 0.3, 0.5, 1.0])
def test_prices_are_changes_of_the_cost(beta, gamma, rng):
    """Of all pairs, with and without common neighbours and transitions between them, also of groups of several."""
    chain = random_chain(24, kind="sparse", random_state=3)
    task = Task(chain, 12, beta, gamma=gamma)
    labels = np.concatenate([np.arange(15), rng.integers(0, 15, 9)])
    first, second = np.triu_indices(15, k=1)
    prices = _compute_prices(
        _make_groups(task, labels, 15), task.objective.weights, _Pairs(np.array(first), np.array(second))
    )
    before = cost_by_definition(chain, labels.astype(np.int32), task.objective)
    for a, b, price in zip(first, second, prices, strict=True):
        merged = np.unique(np.where(labels == b, a, labels), return_inverse=True)[1].astype(np.int32)
        assert price == pytest.approx(cost_by_definition(chain, merged, task.objective) - before, abs=1e-12)


@pytest.mark.parametrize("beta", [0.0, 0.5, 0.8, 1.0])
@pytest.mark.parametrize(("n", "k"), [(400, 390), (400, 330), (2_000, 1_990)])
def test_exactly_k_groups_at_the_cost_that_is_reported(n, k, beta):
    chain = klump.MarkovChain(CHAINS["unstructured"](n))
    found = merge_pairs(Task(chain, k, beta))
    assert np.array_equal(np.unique(found.labels), np.arange(k))
    assert found.cost == pytest.approx(klump.score(chain, found.labels).at(beta), abs=1e-10)


@pytest.mark.parametrize("beta", [0.0, 0.5, 1.0])
def test_an_assignment_is_cheaper_than_greedy_merging(beta):
    chain = klump.MarkovChain(CHAINS["unstructured"](600))
    greedy = klump.aggregate(chain, 590, beta, method="agglomerative").cost
    assert merge_pairs(Task(chain, 590, beta)).cost < greedy


def test_copies_of_a_state_are_merged_first():
    """Of 300 states that occur thrice each, 600 mergers cost nothing."""
    chain = klump.MarkovChain(CHAINS["duplicates"](900))
    for beta in (0.0, 0.5, 1.0):
        assert merge_pairs(Task(chain, 850, beta)).cost == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("name", ["star", "ring", "permutation", "tiny"])
def test_degenerate_chains(name):
    chain = klump.MarkovChain(CHAINS[name](501))
    for k in (300, 495, 500):
        assert np.unique(merge_pairs(Task(chain, k, 0.5)).labels).size == k


def test_an_initial_map_is_never_made_worse():
    chain = klump.MarkovChain(CHAINS["unstructured"](400))
    best = merge_pairs(Task(chain, 395, 0.5))
    worse = np.minimum(np.arange(400), 394).astype(np.int32)
    assert merge_pairs(Task(chain, 395, 0.5, initial=worse)).cost == best.cost
    assert merge_pairs(Task(chain, 395, 1.0, initial=best.labels)).cost <= klump.score(chain, best.labels).at(
        1.0
    )


@pytest.mark.long
def test_memory_does_not_grow_with_the_square_of_the_groups():
    """Tables of 48 k^2 bytes would take 1.7 GB."""
    chain = klump.MarkovChain(CHAINS["unstructured"](6_000))
    assert is_nearly_all_states(Task(chain, 5_950, 0.5))
    chain.stationary_distribution  # noqa: B018
    tracemalloc.start()
    answer = klump.aggregate(chain, 5_950, beta=0.3)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert np.unique(answer.labels).size == 5_950
    assert peak < 200e6


def test_other_searches_where_tables_fit_and_many_pairs_are_merged():
    chain = klump.MarkovChain(CHAINS["unstructured"](2_000))
    assert not is_nearly_all_states(Task(chain, 1_500, 0.5))
    assert not is_nearly_all_states(Task(klump.MarkovChain(CHAINS["dirichlet"](310)), 300, 0.5))
    assert merge_pairs in portfolio.component_methods(
        Task(klump.MarkovChain(CHAINS["unstructured"](400)), 390, 0.5)
    )
