"""Greedy merging merges the cheapest pair, and its merge tree can be cut at any level."""

import math

import numpy as np
import pytest
from scipy import sparse
from scipy.cluster import hierarchy

import klump
from klump.sources.random_chains import block_chain, random_chain, sparse_block_chain
from reference import greedy_merging, same_partition

KINDS = ("dense", "sparse", "decomposable")
BETAS = (0.0, 0.3, 0.5, 0.8, 1.0)


def dense(chain):
    matrix = chain.transition_matrix
    return matrix.toarray() if sparse.issparse(matrix) else matrix


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("relaxed", [False, True])
@pytest.mark.parametrize("beta", BETAS)
@pytest.mark.parametrize("kind", KINDS)
def test_merge_costs_are_those_of_a_naive_recomputation(kind, beta, relaxed, compiled, monkeypatch):
    if compiled:
        monkeypatch.setattr("klump.search.agglomerative.SMALL", 0)
    for seed in range(2):
        chain = random_chain(9, kind=kind, random_state=seed)
        tree = klump.aggregation_tree(chain, beta, relaxed=relaxed)
        costs, partitions = greedy_merging(dense(chain), chain.stationary_distribution, beta, relaxed=relaxed)
        np.testing.assert_allclose(tree.merge_costs, costs, atol=1e-10)
        for labels in partitions:
            assert same_partition(tree.labels(labels.max() + 1), labels)


def test_a_small_chain_is_merged_without_the_compiler(monkeypatch):
    """Compilation of the merging kernels would take more time than all else."""
    monkeypatch.setattr("klump.search.agglomerative.Merging", None)
    assert klump.aggregation_tree(random_chain(20)).n_leaves == 20


@pytest.mark.parametrize("beta", BETAS)
def test_prices_add_up_to_the_cost_of_every_cut(beta):
    chain, _ = block_chain((10, 10, 20), alpha=0.3, eps=0.3, random_state=1)
    tree = klump.aggregation_tree(chain, beta)
    alone = klump.score(chain, np.arange(40)).at(beta)
    for k in (1, 2, 3, 7, 39, 40):
        assert tree.cut(k).cost == pytest.approx(alone + tree.merge_costs[: 40 - k].sum(), abs=1e-11)


def test_the_relaxed_cost_is_the_bottleneck_of_the_reversed_chain():
    chain = random_chain(12, kind="dense", random_state=3)
    mu = chain.stationary_distribution
    backwards = klump.MarkovChain(np.array(chain.joint).T / mu[:, None], normalize=True)
    relaxed = klump.aggregation_tree(chain, relaxed=True)
    np.testing.assert_allclose(
        relaxed.merge_costs, klump.aggregation_tree(backwards, 1.0).merge_costs, atol=1e-12
    )
    reversible = klump.MarkovChain((chain.joint + chain.joint.T) / 2 / mu[:, None], normalize=True)
    same = klump.aggregation_tree(reversible, 1.0).merge_costs
    np.testing.assert_allclose(klump.aggregation_tree(reversible, relaxed=True).merge_costs, same, atol=1e-12)


@pytest.mark.parametrize("method", ["agglomerative", "agglomerative-relaxed"])
def test_planted_groups_are_found(method):
    chain, labels = block_chain((8, 12, 20), alpha=1.0, eps=0.05, random_state=4)
    for beta in (0.5, 0.8, 1.0):
        assert same_partition(klump.aggregate(chain, 3, beta=beta, method=method).labels, labels)


def test_an_answer_has_its_tree_and_saving_keeps_it(tmp_path):
    chain, _ = block_chain((4, 5, 6), alpha=0.5, eps=0.2, random_state=5)
    answer = klump.aggregate(chain, 3, beta=0.8, method="agglomerative")
    assert np.array_equal(answer.tree.labels(3), answer.labels)
    answer.save(tmp_path / "answer.npz")
    again = klump.load(tmp_path / "answer.npz").tree
    np.testing.assert_array_equal(again.merge_costs, answer.tree.merge_costs)
    np.testing.assert_array_equal(again.merges, answer.tree.merges)
    assert again.cut(5).cost == answer.tree.cut(5).cost
    assert again.cut(5).method == "agglomerative"
    assert not again.is_relaxed
    assert klump.aggregate(chain, 3, method="sequential").tree is None


@pytest.mark.parametrize("beta", (0.0, 0.5, 1.0))
def test_the_linkage_is_one_that_scipy_can_read(beta):
    chain, _ = block_chain((4, 5, 6), alpha=0.5, eps=0.2, random_state=6)
    tree = klump.aggregation_tree(chain, beta)
    assert hierarchy.is_valid_linkage(tree.linkage)
    assert hierarchy.is_monotonic(tree.linkage)
    assert tree.linkage[-1, 3] == 15
    if beta >= 0.5:
        for k in (2, 3, 6):
            assert same_partition(hierarchy.cut_tree(tree.linkage, n_clusters=k).ravel(), tree.labels(k))


def test_merging_may_begin_with_groups():
    chain, labels = sparse_block_chain(600, 6, random_state=7)
    finer = 5 * labels + np.arange(600) % 5
    tree = klump.aggregation_tree(chain, 0.5, initial=finer)
    assert tree.n_leaves == 30
    assert np.array_equal(tree.leaves, finer)
    assert same_partition(tree.labels(6), labels)
    assert hierarchy.is_valid_linkage(tree.linkage)
    assert tree.sizes[:30].tolist() == np.bincount(finer).tolist()
    assert tree.sizes[-1] == 600
    answer = klump.aggregate(chain, 6, beta=0.8, method="agglomerative", initial=finer)
    assert same_partition(answer.labels, labels)


def test_no_more_groups_than_leaves():
    tree = klump.aggregation_tree(np.full((4, 4), 0.25), initial=[0, 0, 1, 2])
    with pytest.raises(klump.errors.InvalidArgumentError, match="between 1 and the 3 leaves of the tree"):
        tree.cut(4)
    with pytest.raises(klump.errors.InvalidArgumentError, match="initial has 2 groups, but n_states=3"):
        klump.aggregate(np.full((4, 4), 0.25), 3, method="agglomerative", initial=[0, 0, 1, 1])


def test_a_merge_table_above_the_memory_limit_is_refused():
    n = 20_000
    ring = sparse.csr_array((np.ones(n), (np.arange(n) + 1) % n, np.arange(n + 1)), shape=(n, n))
    with pytest.raises(klump.errors.InvalidArgumentError, match=r"11\.2 GB; pass initial"):
        klump.aggregate(ring, 5, method="agglomerative")


def test_merging_identical_states_costs_nothing():
    quotient = random_chain(4, kind="dense", random_state=8).transition_matrix
    labels = np.repeat(np.arange(4), 3)
    expanded = quotient[np.ix_(labels, labels)] / 3.0
    tree = klump.aggregation_tree(expanded, 0.5)
    assert np.abs(tree.merge_costs[:8]).max() < 1e-14
    assert tree.merge_costs[8] > 1e-4
    assert same_partition(tree.labels(4), labels)


def test_progress_counts_the_mergers():
    chain, _ = block_chain((40, 40, 40), eps=0.3, random_state=9)
    calls = []
    answer = klump.aggregate(
        chain, 1, beta=0.5, method="agglomerative", progress=lambda *call: calls.append(call)
    )
    assert [done for done, _, _ in calls] == [50, 100, 119]
    assert {total for _, total, _ in calls} == {119}
    assert [math.isnan(cost) for _, _, cost in calls] == [True, True, False]
    assert calls[-1][2] == pytest.approx(answer.cost, abs=1e-11)
