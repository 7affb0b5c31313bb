"""The third objective, gamma times the loss of generated information: costs, searches, refusals."""

import numpy as np
import pytest
from scipy import sparse

import chains
import klump
import reference
from klump.errors import InvalidArgumentError
from klump.search.method import Task
from klump.search.multilevel import multilevel
from klump.search.portfolio import search
from klump.search.registry import METHODS, names_of
from klump.sources.random_chains import block_chain, random_chain, sparse_block_chain

BETAS = (0.0, 0.3, 0.5, 0.8, 1.0)
GAMMAS = (0.1, 0.5, 1.0, 2.5)
FORMS = (np.asarray, sparse.csr_array)
BY_COST = names_of(lambda method: method.by_cost)


def dense(chain):
    matrix = chain.transition_matrix
    return matrix.toarray() if sparse.issparse(matrix) else np.asarray(matrix)


@pytest.mark.parametrize("kind", chains.KINDS)
def test_algorithms_1_and_2_take_the_steps_of_the_pseudocode(kind, rng):
    for _ in range(4):
        P, start = chains.random_matrix(kind, 6, rng), chains.random_labels(6, 3, rng)
        beta, gamma = float(rng.choice(BETAS)), float(rng.choice(GAMMAS))
        law = P, klump.MarkovChain(P).stationary_distribution
        ask = {"initial": start, "allow_empty": True, "max_sweeps": 2, "gamma": gamma}
        one = klump.aggregate(P, 3, beta=beta, method="sequential", **ask)
        theirs = reference.algorithm_1(*law, start, 3, beta, 2, gamma=gamma)
        assert one.cost == pytest.approx(reference.cost_of_labels(*law, theirs, 3, beta, gamma), abs=1e-11)
        path = klump.beta_path(P, 3, betas=[1, 0.5, 0], step=0.5, **ask)
        for answer, (beta, theirs) in zip(
            path, reference.algorithm_2(*law, start, 3, 0.0, 0.5, 2, gamma=gamma), strict=True
        ):
            expected = reference.cost_of_labels(*law, theirs, 3, beta, gamma)
            assert (answer.beta, answer.gamma) == (beta, gamma)
            assert answer.cost == pytest.approx(expected, abs=1e-11)


@pytest.mark.parametrize("method", BY_COST)
@pytest.mark.parametrize("form", FORMS)
def test_the_tracked_cost_is_the_recomputed_one(method, form, rng):
    for kind in ("dense", "sparse", "skewed"):
        P = chains.random_matrix(kind, 14, rng)
        for beta in BETAS:
            for gamma in (0.3, 1.0):
                answer = klump.aggregate(form(P), 3, beta=beta, gamma=gamma, method=method, n_init=3)
                mu, W = answer.original.stationary_distribution, answer.mapping
                assert answer.n_states == 3
                assert answer.cost == pytest.approx(reference.cost(P, mu, W, beta, gamma), abs=1e-12)
                assert answer.trace[-1] == pytest.approx(answer.cost, abs=1e-10)
                assert all(a >= b - 1e-12 for a, b in zip(answer.trace, answer.trace[1:], strict=False))


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["dense", "sparse", "decomposable", "reversible"])
def test_global_optimum(kind):
    """The default finds the optimum of 100 small chains, and so does the search that larger chains need (99 %)."""
    hits = []
    for seed in range(25):
        chain = random_chain(5 + seed % 5, kind=kind, random_state=2000 + seed)
        law = dense(chain), chain.stationary_distribution
        for k in (2, 3):
            for beta in BETAS:
                gamma = GAMMAS[(seed + k) % len(GAMMAS)]
                _, optimum = reference.exhaustive(*law, k, beta, gamma)
                found = klump.aggregate(chain, k, beta=beta, gamma=gamma, random_state=seed).cost
                assert found == pytest.approx(optimum, abs=1e-10)
                if seed % 3 == 0:
                    searched = search(Task(chain, k, beta, seed=seed, gamma=gamma)).cost
                    assert searched >= optimum - 1e-10
                    hits.append(searched <= optimum + 1e-10)
    assert np.mean(hits) >= 0.99


def test_the_default_is_never_costlier_than_a_single_method(rng):
    for gamma in (0.2, 1.0):
        chain, planted = block_chain((10, 10, 20), alpha=0.5, eps=0.3, random_state=3)
        for beta in (0.0, 0.5, 0.9):
            auto = klump.aggregate(chain, 3, beta=beta, gamma=gamma, n_init=5)
            assert auto.cost <= klump.score(chain, planted).at(beta, gamma) + 1e-12
            for method in set(BY_COST) - {"auto", "stochastic"}:
                other = klump.aggregate(chain, 3, beta=beta, gamma=gamma, method=method, n_init=5)
                assert auto.cost <= other.cost + 1e-12


def test_prices_of_mergers_are_those_of_a_naive_recomputation(rng):
    for beta in BETAS:
        chain = random_chain(9, kind="dense", random_state=int(100 * beta))
        tree = klump.aggregation_tree(chain, beta, gamma=0.7)
        costs, partitions = reference.greedy_merging(
            dense(chain), chain.stationary_distribution, beta, gamma=0.7
        )
        np.testing.assert_allclose(tree.merge_costs, costs, atol=1e-12)
        assert all(
            reference.same_partition(tree.cut(8 - step).labels, labels)
            for step, labels in enumerate(partitions)
        )
        assert tree.cut(4).cost == pytest.approx(klump.score(chain, tree.cut(4).labels).at(beta, 0.7))


def test_soft_maps_are_as_good_as_those_of_a_general_optimiser(rng):
    for number in range(8):
        P, beta, gamma = rng.dirichlet(np.ones(4), size=4), (0.3, 0.5, 0.8, 1.0)[number % 4], 0.2
        _, cost = reference.best_stochastic_map(P, reference.stationary_law(P), 2, beta, 8, rng, gamma)
        soft = klump.aggregate(P, 2, beta=beta, gamma=gamma, method="stochastic")
        assert soft.cost <= cost + 1e-6
        assert soft.cost <= klump.aggregate(P, 2, beta=beta, gamma=gamma).cost + 1e-12


@pytest.mark.parametrize("method", names_of(lambda method: not method.by_cost))
def test_methods_with_a_cost_of_their_own_refuse_it(method):
    P = [[0.5, 0.4, 0.1], [0.4, 0.5, 0.1], [0.1, 0.1, 0.8]]
    n_states = None if method == "exact" else 2
    with pytest.raises(InvalidArgumentError, match=rf"gamma=0.5 is not for method='{method}'.*auto"):
        klump.aggregate(P, n_states, method=method, gamma=0.5)
    assert klump.aggregate(P, n_states, method=method, gamma=0.0).gamma == 0.0


@pytest.mark.parametrize("gamma", [-0.1, np.nan, np.inf, "much", None])
def test_a_gamma_that_is_no_weight_is_refused(gamma):
    with pytest.raises(InvalidArgumentError, match="gamma="):
        klump.aggregate([[0.9, 0.1], [0.2, 0.8]], 2, gamma=gamma)
    with pytest.raises(InvalidArgumentError, match="gamma="):
        klump.score([[0.9, 0.1], [0.2, 0.8]], [0, 1]).at(0.5, gamma)


def test_every_question_takes_a_gamma():
    chain, _ = block_chain((4, 4, 8), alpha=0.3, eps=0.3, random_state=0)
    table = klump.compare(chain, 3, beta=0.3, gamma=0.4, outside=False, n_init=3)
    assert table.gamma == table.to_dict()["gamma"] == 0.4
    assert {row.name for row in table} == {name for name in METHODS if name != "exact"}
    for row in table:
        assert row.cost == pytest.approx(klump.score(chain, row.aggregation.mapping).at(0.3, 0.4), abs=1e-12)
    assert "gamma 0.4" in str(table)
    grid = klump.grid(chain, [2, 3], [0.3], gamma=0.4, n_init=3)
    alone = klump.aggregate(chain, 3, beta=0.3, gamma=0.4, n_init=3)
    assert (grid.gamma, grid[3, 0.3].cost) == (0.4, alone.cost)
    found = klump.bootstrap(100 * np.asarray(chain.joint), 3, 0.3, gamma=0.4, n_samples=3, n_init=2)
    assert found.estimate.gamma == 0.4
    assert found.posterior.costs == pytest.approx(
        [costs.at(0.3, 0.4) for costs in found.posterior.sampled_costs], abs=0
    )


def test_weights_that_cancel_are_zero_and_give_the_same_search():
    """At beta = 0.7 and gamma = 0.4 the rounding error of 1 - 1.4 + 0.4 is no weight: A is not needed."""
    chain, planted = sparse_block_chain(3000, 5, random_state=0)
    found = multilevel(Task(chain, 5, 0.7, gamma=0.4))
    assert found.cost <= klump.score(chain, planted).at(0.7, 0.4) + 1e-9
    assert found.cost == pytest.approx(klump.score(chain, found.labels).at(0.7, 0.4), abs=1e-10)


@pytest.mark.parametrize("kind", ["metastable", "cyclic", "noisy"])
def test_large_chains_reach_the_planted_cost(kind):
    chain, planted = sparse_block_chain(4000, 8, kind=kind, random_state=1)
    for beta, gamma in ((0.5, 0.2), (0.9, 0.2), (0.3, 0.1)):
        found = multilevel(Task(chain, 8, beta, gamma=gamma))
        assert found.cost <= klump.score(chain, planted).at(beta, gamma) + 1e-9


def test_bigrams_where_it_helps_and_where_it_harms():
    """The bold numbers of docs/generated_information.md, and what notes advise."""
    chain = klump.datasets.letter_bigrams()

    def found(beta, gamma=0.0):
        answer = klump.aggregate(chain, 4, beta=beta, gamma=gamma)
        return round(answer.costs.lumpability, 3), round(answer.kept, 3), answer.notes

    lumpability, kept, notes = found(0.2)
    assert (lumpability, kept) == (0.002, 0.015)
    assert any("larger beta than 0.2, or a small gamma, like 0.05" in note for note in notes)
    # Between these two values of beta the answer jumps, and gamma reaches what lies between.
    assert found(0.205) == (0.064, 0.207, ())
    assert found(0.1, 0.03) == (0.030, 0.078, ())
    assert found(0.15, 0.08) == (0.056, 0.105, ())
    assert found(0.5)[1] == 0.270
    _, kept, notes = found(0.5, 1)
    assert kept == 0.049
    assert any("smaller gamma than 1" in note for note in notes)
