"""Memetic search: the population, crossover, children, and what the default gains by them."""

from itertools import islice

import numpy as np
import pytest

import klump
from klump.search.evolution import Population, canonical_key, cross_over, evolve
from klump.search.method import Found, Task
from klump.search.perturbation import merge_and_split, merge_and_split_off, relabel
from klump.search.portfolio import _context, search


def dirichlet_chain(n, concentration, seed):
    """Unstructured: independent Dirichlet rows."""
    return np.random.default_rng(seed).dirichlet(np.full(n, concentration), n) * (1 - 1e-9) + 1e-9 / n


@pytest.fixture(scope="module")
def context():
    chain = klump.MarkovChain(dirichlet_chain(20, 1.0, 0))
    return _context(Task(chain, 4, 0.3), with_embeddings=False)


def test_the_population_keeps_the_cheapest_distinct_partitions():
    rng, population = np.random.default_rng(0), Population()
    costs = {}
    for cost in rng.permutation(200):
        labels = rng.integers(0, 3, 12).astype(np.int32)
        population.add(Found(labels, float(cost)))
        costs.setdefault(canonical_key(labels), float(cost))
    kept = [found.cost for found in population.cheapest()]
    assert kept == sorted(costs.values())[: len(kept)]
    assert 1 < len(kept) < len(costs)
    # The same partition with other numbers is not another one.
    best = population.cheapest(1)[0]
    population.add(Found((best.labels + 1) % 3, -1.0))
    assert population.cheapest(1)[0].cost == best.cost


def test_children_inherit_groups_of_both_parents():
    rng = np.random.default_rng(1)
    a, b = (rng.integers(0, 4, 30).astype(np.int32) for _ in range(2))
    child = cross_over(a, b, 4, rng)
    largest = a == np.argmax(np.bincount(a))
    assert (child[largest] == 0).all()
    # The second group is the largest of those that are left in the other parent.
    second = ~largest & (b == np.argmax(np.bincount(b[~largest])))
    assert (child[second] == 1).all()
    assert second.sum() > 3


def test_equal_parents_have_equal_children():
    labels = np.random.default_rng(2).integers(0, 4, 30).astype(np.int32)
    child = cross_over(labels, (labels + 1) % 4, 4, np.random.default_rng(3))
    assert canonical_key(child) == canonical_key(labels)


@pytest.mark.parametrize("perturb", [relabel, merge_and_split, merge_and_split_off])
def test_perturbations_change_some_labels_and_name_only_groups(context, perturb):
    rng = np.random.default_rng(2)
    labels = np.arange(20, dtype=np.int32) % 4
    before = labels.copy()
    changed = 0
    for _ in range(20):
        other = perturb(labels, context, rng)
        assert other.min() >= 0
        assert other.max() < 4
        changed += canonical_key(other) != canonical_key(labels)
    np.testing.assert_array_equal(labels, before)
    assert changed >= 10


@pytest.mark.parametrize("n_steps", [0, 50])
def test_children_are_local_optima_with_their_cost(context, n_steps):
    chain = klump.MarkovChain(dirichlet_chain(20, 1.0, 0))
    population, rng = Population(), np.random.default_rng(3)
    for _ in range(5):
        population.add(context.local_search(rng.permutation(np.arange(20, dtype=np.int32) % 4), rng))
    for child in islice(evolve(context, population, 0, n_steps), 10):
        population.add(child)
        assert child.cost == pytest.approx(klump.score(chain, child.labels).at(0.3), abs=1e-10)
        again = context.local_search(child.labels, rng)
        assert again.cost == pytest.approx(child.cost, abs=1e-12)


def test_the_search_stops_at_cost_zero(monkeypatch):
    """Rank one: every partition costs nothing, so that the first method is the last."""
    calls = []
    monkeypatch.setattr("klump.search.portfolio.run_start", lambda *_: calls.append(1))
    answer = klump.aggregate(np.tile(dirichlet_chain(30, 1.0, 0)[0], (30, 1)), 5)
    assert answer.cost == pytest.approx(0.0, abs=1e-12)
    assert calls == []


@pytest.mark.slow
def test_renumbering_the_states_changes_the_cost_little():
    """Unstructured chains: in at least 90 % of the cases not at all, and on average by at most 0.1 %."""
    rng, differences = np.random.default_rng(1), []
    for seed in range(20):
        n, k = int(rng.integers(20, 45)), int(rng.integers(2, 9))
        matrix = dirichlet_chain(n, rng.choice([0.1, 0.3, 1.0]), seed)
        beta, order = float(rng.choice([0.0, 0.25, 0.5, 0.75, 1.0])), rng.permutation(n)
        one = klump.aggregate(matrix, k, beta=beta).cost
        other = klump.aggregate(matrix[np.ix_(order, order)], k, beta=beta).cost
        differences.append(abs(one - other) / max(one, other))
    assert np.mean(np.array(differences) < 1e-9) >= 0.9
    assert np.mean(differences) <= 0.001


def test_dense_and_sparse_input_give_the_same_cost():
    from scipy import sparse

    for seed, n in ((0, 40), (1, 320)):
        matrix = dirichlet_chain(n, 1.0, seed)
        dense = klump.aggregate(matrix, 4, beta=0.5, effort="quick")
        given_sparse = klump.aggregate(sparse.csr_array(matrix), 4, beta=0.5, effort="quick")
        assert given_sparse.cost == pytest.approx(dense.cost, abs=1e-12)


def test_the_search_of_larger_chains_is_deterministic_in_its_rounds():
    chain = klump.MarkovChain(dirichlet_chain(25, 0.3, 5))
    one, other = (search(Task(chain, 5, 0.25, n_jobs=jobs)) for jobs in (1, 2))
    np.testing.assert_array_equal(one.labels, other.labels)
