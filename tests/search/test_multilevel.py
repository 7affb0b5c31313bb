"""Large sparse chains: planted groups are found, nothing is made dense, any number of groups works."""

import tracemalloc

import numpy as np
import pytest
from scipy import sparse

import klump
from klump.search.descent import random_labels
from klump.search.kernels import descent
from klump.search.method import Task
from klump.search.multilevel import multilevel
from klump.search.problem import make_problem, make_table, make_work
from klump.sources.random_chains import random_chain, sparse_block_chain


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["metastable", "cyclic", "noisy"])
@pytest.mark.parametrize("beta", [0.5, 0.3])
def test_at_most_the_planted_cost_on_large_sparse_chains(kind, beta):
    chain, planted = sparse_block_chain(40_000, 20, kind=kind, random_state=2)
    found = multilevel(Task(chain, 20, beta))
    assert found.cost <= klump.score(chain, planted).at(beta) * (1 + 1e-6)
    assert np.unique(found.labels).size == 20


def test_the_same_seed_gives_the_same_labels():
    chain, _ = sparse_block_chain(2000, 8, kind="noisy", random_state=1)
    first, second = (multilevel(Task(chain, 8, 0.5, seed=3)) for _ in range(2))
    assert np.array_equal(first.labels, second.labels)
    assert first.cost == pytest.approx(klump.score(chain, first.labels).at(0.5), abs=1e-10)


@pytest.mark.parametrize("k", [2, 150, 299, 300])
def test_exactly_k_groups_for_any_k(k):
    chain = random_chain(300, kind="sparse", random_state=0)
    labels = multilevel(Task(chain, k, 0.5)).labels
    assert sorted(set(labels.tolist())) == list(range(k))


def test_auto_keeps_what_restarts_find_when_starts_are_too_dear(monkeypatch):
    monkeypatch.setattr("klump.search.portfolio._AFFORDABLE", 10)
    chain = random_chain(60, kind="sparse", random_state=4)
    for beta in (0.0, 0.5, 1.0):
        best = klump.aggregate(chain, 6, beta=beta, n_init=5).cost
        for method in ("sequential", "annealing"):
            assert best <= klump.aggregate(chain, 6, beta=beta, n_init=5, method=method).cost + 1e-12


def test_a_sparse_chain_is_never_made_dense():
    """Peak memory stays under 3 times what A and the chain need (a dense P alone would need 800 times)."""
    n, k = 20_000, 20
    chain, _ = sparse_block_chain(n, k, kind="metastable", random_state=0)
    matrix = chain.transition_matrix
    assert isinstance(matrix, sparse.csr_array)
    need = n * k * 8 + matrix.data.nbytes + matrix.indices.nbytes + matrix.indptr.nbytes
    chain.stationary_distribution  # noqa: B018
    labels = random_labels(n, k, np.random.default_rng(0), allow_empty=False)
    tracemalloc.start()
    problem = make_problem(chain)
    table, work = make_table(problem, labels, k), make_work(k)
    descent.build(problem, table)
    descent.sweep(problem, table, work, 0.3, np.arange(n), 1e-13, False, False)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 3 * need
