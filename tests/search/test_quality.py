"""The search is not trapped: exhaustive optima on small chains, planted partitions on larger ones."""

import numpy as np
import pytest

import klump
from klump.search.method import Task
from klump.search.portfolio import search
from klump.sources import datasets
from klump.sources.random_chains import block_chain, random_chain
from reference import costs_of_all_partitions

BETAS = (0.0, 0.3, 0.5, 0.8, 1.0)


def exhaustive_minima(chain, k):
    """Least C_beta over all partitions into exactly k groups, for each beta."""
    matrix = chain.transition_matrix
    matrix = matrix.toarray() if hasattr(matrix, "toarray") else matrix
    _, lumpability, predictability, _ = costs_of_all_partitions(matrix, chain.stationary_distribution, k)
    return {beta: ((1 - 2 * beta) * lumpability + beta * predictability).min() for beta in BETAS}


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["dense", "sparse", "decomposable", "reversible"])
def test_global_optimum(kind):
    """The default finds the global optimum of 200 small chains (50 of each kind), all of whose partitions it sees.

    The search that larger chains need finds it in at least 99 % of the cases, too.
    """
    hits = []
    for seed in range(50):
        n = 5 + seed % 5
        chain = random_chain(n, kind=kind, random_state=1000 + seed)
        for k in (2, 3):
            optimum = exhaustive_minima(chain, k)
            for beta in BETAS:
                found = klump.aggregate(chain, k, beta=beta, random_state=seed).cost
                assert found == pytest.approx(optimum[beta], abs=1e-10)
                if seed % 3 == 0:
                    searched = search(Task(chain, k, beta, seed=seed)).cost
                    assert searched >= optimum[beta] - 1e-10
                    hits.append(searched <= optimum[beta] + 1e-10)
    assert np.mean(hits) >= 0.99


@pytest.mark.long
@pytest.mark.parametrize("concentration", [1, 0.3, 0.1, 0.03])
def test_never_trapped_above_the_planted_partition(concentration):
    """At most the planted cost in at least 95 % of the runs (Algorithm 2 alone: far fewer)."""
    hits, published = [], []
    for seed in range(2):
        for alpha in (0, 0.5):
            for eps in (0.01, 0.2):
                chain, planted = block_chain(
                    (25, 25, 50), alpha=alpha, eps=eps, concentration=concentration, random_state=seed
                )
                costs = klump.score(chain, planted)
                for beta in BETAS:
                    found = klump.aggregate(chain, 3, beta=beta, random_state=seed)
                    hits.append(found.cost <= costs.at(beta) + 1e-9)
                annealed = klump.aggregate(chain, 3, beta=0.0, method="annealing", random_state=seed)
                published.append(annealed.cost <= costs.at(0.0) + 1e-9)
    assert np.mean(hits) >= 0.95
    if concentration < 1:
        assert np.mean(published) < np.mean(hits)


def test_letter_bigrams_reach_the_known_costs():
    """Costs of the published algorithm, and of the better answers that it misses."""
    chain = datasets.letter_bigrams()
    published = {1.0: 0.4138, 0.8: 0.3966, 0.5: 0.3464, 0.0: 0.0708}
    for beta, cost in published.items():
        path = klump.aggregate(chain, 4, beta=beta, method="annealing")
        assert path.cost <= cost + 1e-4
        assert klump.aggregate(chain, 4, beta=beta).cost <= path.cost + 1e-12
    assert klump.aggregate(chain, 7, beta=0.5).cost <= 0.2475


def test_a_nearly_trivial_answer_says_so():
    chain = datasets.letter_bigrams()
    trivial = klump.aggregate(chain, 4, beta=0.0)
    assert trivial.kept < 0.05
    assert any("larger beta" in note for note in trivial.notes)
    assert klump.aggregate(chain, 4, beta=0.8).notes == ()


@pytest.mark.parametrize("seed", [1, 3, 4])
@pytest.mark.parametrize("beta", [0.5, 1.0])
def test_slow_chains_do_not_trap_the_search(seed, beta):
    """Two noisy circles: a walk between neighbours goes round each for long before it changes to the other."""
    from sklearn.datasets import make_circles

    points, truth = make_circles(300, noise=0.08, factor=0.5, random_state=seed)
    chain = klump.MarkovChain.from_points(points, n_neighbors=15, walk="neighbors")
    assert klump.aggregate(chain, 2, beta=beta).cost <= klump.score(chain, truth).at(beta) + 1e-9
