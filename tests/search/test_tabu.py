"""Tabu search: prices, the rule against undoing moves, and what it finds beyond local optima."""

import numpy as np
import pytest

import klump
from klump.search.kernels.tabu import tabu_search as kernel
from klump.search.method import Task
from klump.search.portfolio import _context
from klump.search.tabu import _make_table, tabu_search


def random_task(n, k, beta, seed, *, zeros=False):
    """Dirichlet rows; with loops and, where asked for, many missing transitions."""
    rng = np.random.default_rng(seed)
    matrix = rng.dirichlet(np.full(n, 0.3), n)
    if zeros:
        matrix[rng.random((n, n)) < 0.6] = 0.0
    matrix += np.eye(n) * 0.1 + np.roll(np.eye(n), 1, axis=1) * 0.1
    return Task(klump.MarkovChain(matrix, normalize=True), k, beta)


def random_labels(n, k, seed):
    labels = np.random.default_rng(seed).integers(0, k, n).astype(np.int32)
    labels[:k] = np.arange(k)
    return labels


def slow_tabu_search(task, labels, tenures):
    """The same walk with every cost computed anew: the costs of all partitions on the way."""
    n, k = labels.size, task.n_groups

    def cost(labels):
        return klump.score(task.chain, labels).at(task.beta)

    labels, tabu_until = labels.copy(), np.zeros((n, k), dtype=int)
    costs = [cost(labels)]
    for step, tenure in enumerate(tenures):
        moves = []
        for x in range(n):
            for y in range(k):
                if y != labels[x] and np.sum(labels == labels[x]) > 1:
                    other = labels.copy()
                    other[x] = y
                    moves.append((cost(other), x, y))
        allowed = [move for move in moves if tabu_until[move[1:]] <= step or move[0] < min(costs) - 1e-12]
        if allowed:
            least, x, y = min(allowed)
            tabu_until[x, labels[x]] = step + tenure
            labels[x] = y
            costs.append(least)
    return costs


@pytest.mark.parametrize("beta", [0.0, 0.25, 0.5, 1.0])
@pytest.mark.parametrize("zeros", [False, True])
def test_the_walk_is_that_of_the_definition(beta, zeros):
    task = random_task(9, 3, beta, seed=4, zeros=zeros)
    context, labels = _context(task, with_embeddings=False), random_labels(9, 3, 5)
    tenures = np.random.default_rng(6).integers(2, 5, 25)
    table = _make_table(context.dense_problem, labels, 3)
    change = kernel(context.dense_problem, table, task.objective.weights, tenures)
    costs = slow_tabu_search(task, labels, tenures)
    assert costs[0] + change == pytest.approx(min(costs), abs=1e-12)
    assert klump.score(task.chain, table.best).at(beta) == pytest.approx(min(costs), abs=1e-12)
    # It went uphill on the way, else any descent would pass.
    assert (np.diff(costs) > 1e-9).any()


def test_no_group_becomes_empty():
    task = random_task(12, 8, 0.25, seed=1)
    problem, labels = _context(task, with_embeddings=False).dense_problem, random_labels(12, 8, 2)
    table = _make_table(problem, labels, 8)
    kernel(problem, table, task.objective.weights, np.full(200, 3))
    np.testing.assert_array_equal(np.bincount(table.labels, minlength=8), table.size)
    assert table.size.min() >= 1
    assert np.bincount(table.best, minlength=8).min() >= 1


def test_sums_do_not_drift():
    task = random_task(30, 4, 0.25, seed=3)
    problem = _context(task, with_embeddings=False).dense_problem
    table = _make_table(problem, random_labels(30, 4, 7), 4)
    kernel(problem, table, task.objective.weights, np.full(500, 10))
    fresh = _make_table(problem, table.labels, 4)
    for name in ("into", "back", "flow", "nu"):
        np.testing.assert_allclose(getattr(table, name), getattr(fresh, name), atol=1e-13)


def test_it_leaves_local_optima():
    """From 20 local optima: never costlier, mostly cheaper."""
    task = random_task(30, 5, 0.25, seed=8)
    context, rng, cheaper = _context(task, with_embeddings=False), np.random.default_rng(9), 0
    for seed in range(20):
        found = context.local_search(random_labels(30, 5, seed), rng)
        labels = tabu_search(context.dense_problem, found.labels, 5, task.objective, 300, rng)
        cost = klump.score(task.chain, labels).at(0.25)
        assert cost <= found.cost + 1e-12
        cheaper += cost < found.cost - 1e-9
    assert cheaper >= 15


def test_a_sparse_chain_gives_the_same_problem():
    from scipy import sparse

    task = random_task(20, 3, 0.5, seed=0, zeros=True)
    sparse_task = Task(klump.MarkovChain(sparse.csr_array(task.chain.transition_matrix)), 3, 0.5)
    dense, other = (_context(t, with_embeddings=False).dense_problem for t in (task, sparse_task))
    for a, b in zip(dense, other, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-15)
