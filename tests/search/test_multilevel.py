"""Large sparse chains: planted groups are found, nothing is made dense, any number of groups works."""

import itertools
import tracemalloc

import numpy as np
import pytest
from scipy import sparse

import klump
from klump.search.descent import LocalSearch, random_labels
from klump.search.kernels import descent
from klump.search.method import Task
from klump.search.multilevel import _MultilevelRun, multilevel
from klump.search.objective import Objective
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


def test_auto_is_at_most_the_restarts():
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
    descent.sweep(problem, table, work, Objective(0.3).weights, np.arange(n), 1e-13, False)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 3 * need


@pytest.mark.parametrize("beta", [0.5, 0.2, 1.0])
def test_the_last_sweep_proves_the_local_optimum(beta):
    """The queue holds only states with a neighbour that moved; no improving move may be missed."""
    chain, _ = sparse_block_chain(3000, 10, kind="noisy", random_state=5)
    found = multilevel(Task(chain, 10, beta))
    problem = make_problem(chain)
    table = make_table(problem, found.labels, 10)
    descent.build(problem, table)
    moves, _ = descent.sweep(
        problem, table, make_work(10), Objective(beta).weights, np.arange(3000), 1e-12, False
    )
    assert moves == 0
    assert all(later <= earlier + 1e-12 for earlier, later in itertools.pairwise(found.trace))


def grid(length, rng):
    """A walk on a square lattice: slow, and without planted groups."""
    index = np.arange(length * length).reshape(length, length)
    pairs = [(index[:-1], index[1:]), (index[:, :-1], index[:, 1:])]
    pairs += [(end, start) for start, end in pairs]
    rows, columns = (np.concatenate([pair[side].ravel() for pair in pairs]) for side in range(2))
    weights = rng.uniform(0.5, 1.5, rows.size)
    return klump.MarkovChain.from_counts(sparse.csr_array((weights, (rows, columns))))


def test_an_unstable_first_start_leads_to_other_starts(rng):
    chain = grid(50, rng)
    search = _MultilevelRun(Task(chain, 12, 0.5))
    search.run()
    assert not search.is_stable
    assert search.best.cost <= 1.02 * klump.aggregate(chain, 12, method="spectral").cost


def test_a_stable_first_start_is_recognised():
    chain, planted = sparse_block_chain(4000, 50, random_state=3)
    search = _MultilevelRun(Task(chain, 50, 0.5))
    search.run()
    assert search.is_stable
    assert search.best.cost <= klump.score(chain, planted).at(0.5) * (1 + 1e-6)


def test_two_hundred_planted_groups():
    chain, planted = sparse_block_chain(10_000, 200, random_state=3)
    found = multilevel(Task(chain, 200, 0.5))
    assert found.cost <= klump.score(chain, planted).at(0.5) * (1 + 1e-6)


def test_below_one_half_the_nearly_trivial_optimum_is_found():
    """At beta = 0 the cheapest groups keep nearly nothing; the planted ones are not the answer."""
    chain, planted = sparse_block_chain(2000, 6, kind="noisy", random_state=1)
    assert multilevel(Task(chain, 6, 0.0)).cost < 0.1 * klump.score(chain, planted).at(0.0)


def test_an_initial_map_is_never_made_worse():
    chain, planted = sparse_block_chain(2000, 6, kind="noisy", random_state=1)
    found = multilevel(Task(chain, 6, 0.5, initial=planted.astype(np.int32)))
    assert found.cost <= klump.score(chain, planted).at(0.5) + 1e-12


@pytest.mark.parametrize(("n", "k"), [(600, 5), (1000, 12)])
def test_below_one_half_few_large_groups_and_singletons_are_tried(n, k):
    """The cheapest partition of a noisy chain has a few merged groups and k - m of one state."""
    chain, planted = sparse_block_chain(n, k, kind="noisy", random_state=2)
    found = multilevel(Task(chain, k, 0.3))
    assert found.cost < (1 - 1e-3) * klump.score(chain, planted).at(0.3)
    assert np.count_nonzero(np.bincount(found.labels) == 1) >= k // 2


def test_sweeps_end_when_they_gain_little():
    chain, _ = sparse_block_chain(2000, 6, kind="noisy", random_state=1)
    labels = random_labels(2000, 6, np.random.default_rng(0), allow_empty=False)
    traces = [
        LocalSearch(make_problem(chain), labels, 6, Objective(0.5), np.arange(2000)).descend(
            100, min_gain=min_gain
        )
        for min_gain in (0.0, 1e-3)
    ]
    full, short = (-np.diff(trace) for trace in traces)
    assert len(short) < len(full)
    assert np.allclose(short, full[: len(short)])
    assert all(short[:-1] >= 1e-3) and short[-1] < 1e-3
