"""Greedy merging: lower bounds of the kernel hold and are tight enough to be useful; NumPy makes the same mergers."""

import numpy as np
import pytest

import klump
from klump.search.agglomerative import groups_after
from klump.search.kernels import merging as kernels
from klump.search.merging import Merging, NumpyMerging
from klump.search.objective import Objective
from klump.sources.random_chains import random_chain
from reference import same_partition

OBJECTIVES = [Objective(beta, gamma) for beta in (0.0, 0.3, 0.5, 0.8, 1.0) for gamma in (0.0, 1.5)]


def assert_bounds_hold(chain, objective, lefts, looseness):
    """Bounds are at most prices, after mergers that changed everything else too, and at first not much less.

    Their rounding error is in proportion to the weight of A.
    """
    n = chain.n_states
    looseness *= max(1.0, abs(objective.weights.into))
    merging = Merging(
        chain.joint, chain.stationary_distribution, np.arange(n, dtype=np.int32), objective.weights
    )
    groups, weights = merging.groups, (merging.weight_into, merging.weight_flow)
    for left in (n, *lefts):
        merging.run(left)
        for a in range(left):
            for b in range(a + 1, left):
                price = kernels.price_pair(groups, *weights, a, b)
                assert groups.bound[a, b] <= price + 1e-15
                if left == n:
                    assert groups.bound[a, b] > price - looseness * (groups.nu[a] + groups.nu[b])


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("spread", (1.0, 0.03))
def test_bounds_never_exceed_prices(objective, spread, rng):
    n = 30
    chain = klump.MarkovChain(rng.dirichlet(np.full(n, spread), size=n) + 1e-12, normalize=True)
    assert_bounds_hold(chain, objective, (n - 1, n - 5, n // 2, 5), looseness=3e-4)


def test_few_pairs_are_priced_exactly(rng):
    """Pricing all pairs at every merger would take O(n^4)."""
    n = 40
    chain = klump.MarkovChain(rng.dirichlet(np.full(n, 0.3), size=n) + 1e-9, normalize=True)
    for objective in (Objective(0.3), Objective(0.5)):
        merging = Merging(
            chain.joint, chain.stationary_distribution, np.arange(n, dtype=np.int32), objective.weights
        )
        merging.run(1)
        assert merging.priced < 20 * n


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("kind", ("dense", "sparse"))
def test_merging_without_the_compiler_is_the_same(kind, objective):
    n = 16
    chain = random_chain(n, kind, random_state=1)
    for leaf in (np.arange(n), np.arange(n)[::-1] // 2):
        arguments = chain.joint, chain.stationary_distribution, leaf.astype(np.int32), objective.weights
        compiled, in_numpy = Merging(*arguments), NumpyMerging(*arguments)
        for left in (7, 6, 1):
            compiled.run(left)
            in_numpy.run(left)
        np.testing.assert_array_equal(in_numpy.pairs, compiled.pairs)
        np.testing.assert_allclose(in_numpy.prices, compiled.prices, atol=1e-13)


def test_groups_after_some_mergers():
    pairs = np.array([[1, 3], [0, 2], [4, 5]])
    assert groups_after(pairs, 0).tolist() == [0, 1, 2, 3]
    assert groups_after(pairs, 1).tolist() == [0, 2, 1, 2]
    assert same_partition(groups_after(pairs, 2), [0, 1, 0, 1])
    assert groups_after(pairs, 3).tolist() == [0, 0, 0, 0]


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_few_links_are_followed_instead_of_pricing_all_pairs(objective, rng):
    """A sparse chain whose groups have few links at first and many in the end: bounds hold all along."""
    n = 60
    matrix = np.roll(np.eye(n), 1, axis=1) * 0.5
    matrix[np.arange(n), rng.permutation(n)] += 0.3
    matrix[np.arange(n), np.arange(n)] += 0.2
    assert_bounds_hold(klump.MarkovChain(matrix), objective, (n - 1, n - 20, 10), looseness=1e-6)
