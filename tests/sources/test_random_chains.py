"""Random chains have the structure that they promise."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from klump.errors import InvalidArgumentError
from klump.sources.random_chains import block_chain, random_chain, sparse_block_chain


def indicator(labels):
    return np.eye(labels.max() + 1)[labels]


def spread_within_groups(P, labels):
    """Largest difference between rows of P W of the same group."""
    between = P @ indicator(labels)
    return max(np.ptp(between[labels == group], axis=0).max() for group in np.unique(labels))


@pytest.mark.parametrize("concentration", [None, 1.0, 0.1])
@pytest.mark.parametrize("alpha", [0.0, 0.5, 0.95])
def test_exactly_lumpable_without_noise(alpha, concentration):
    chain, labels = block_chain(alpha=alpha, concentration=concentration, random_state=1)
    assert chain.n_states == 100
    np.testing.assert_array_equal(np.bincount(labels), [25, 25, 50])
    assert spread_within_groups(chain.transition_matrix, labels) < 1e-14


def test_noise_breaks_lumpability():
    chain, labels = block_chain(eps=0.4)
    assert spread_within_groups(chain.transition_matrix, labels) > 0.01
    assert chain.is_irreducible


def test_alpha_and_eps_mix_the_same_draws():
    def matrix(alpha, eps):
        return block_chain((2, 3), alpha, eps, random_state=5)[0].transition_matrix

    # Linear in eps, and the diagonal blocks grow with alpha as A = (1 - alpha) A' + alpha I says.
    np.testing.assert_allclose(matrix(0, 0.3), 0.7 * matrix(0, 0) + 0.3 * matrix(0, 1), atol=1e-15)
    W = np.repeat(np.eye(2), (2, 3), axis=0)
    np.testing.assert_allclose(matrix(0.25, 0) @ W, 0.75 * matrix(0, 0) @ W + 0.25 * W, atol=1e-15)


def test_fully_decomposable_is_not_irreducible():
    chain, labels = block_chain((3, 4), alpha=1.0)
    assert chain.classes.n_classes == 2
    assert spread_within_groups(chain.transition_matrix, labels) < 1e-14


def test_entries_are_uniform_before_normalising():
    # With one group of n states the row sums of uniform entries concentrate at n / 2.
    P = block_chain((400,), random_state=3)[0].transition_matrix
    assert abs((P * 200 <= 0.5).mean() - 0.5) < 0.02
    assert (P * 200).max() < 1.2


@pytest.mark.parametrize("concentration", [0.03, 0.5, 5.0])
def test_dirichlet_rows_have_the_right_moments_in_every_column(concentration):
    n = 20
    rows = np.concatenate(
        [
            block_chain((n,), eps=1.0, concentration=concentration, random_state=s)[0].transition_matrix
            for s in range(200)
        ]
    )
    variance = (1 / n) * (1 - 1 / n) / (n * concentration + 1)
    np.testing.assert_allclose(rows.mean(axis=0), 1 / n, atol=6 * np.sqrt(variance / len(rows)))
    np.testing.assert_allclose(rows.var(), variance, rtol=0.1)
    assert (rows > 0).all()


@pytest.mark.parametrize("concentration", [None, 0.03])
@pytest.mark.parametrize("n", [1, 2, 30])
@pytest.mark.parametrize("kind", ["dense", "sparse", "decomposable", "reversible"])
def test_random_chains_are_irreducible(kind, n, concentration):
    for seed in range(3):
        chain = random_chain(n, kind, concentration=concentration, n_blocks=min(2, n), random_state=seed)
        assert chain.n_states == n
        assert chain.is_irreducible
        assert chain.is_sparse == (kind == "sparse")


def test_sparse_chain_has_at_most_degree_successors():
    P = random_chain(500, "sparse", degree=4).transition_matrix
    assert np.diff(P.indptr).max() == 4
    assert random_chain(50, "sparse", degree=1).n_transitions == 50


@pytest.mark.parametrize("coupling", [1e-8, 1e-3])
def test_decomposable_blocks_have_small_exit_probability(coupling):
    chain = random_chain(31, "decomposable", n_blocks=3, coupling=coupling)
    labels = np.arange(31) * 3 // 31
    inside = (chain.transition_matrix * (labels[:, None] == labels)).sum(axis=1)
    assert (1 - inside <= coupling).all()
    assert (1 - inside > 0).all()


def test_reversible_chain_satisfies_kolmogorovs_criterion():
    P = random_chain(12, "reversible").transition_matrix
    # Kolmogorov's criterion: both directions around every triangle have equal probability.
    there = np.einsum("ij,jk,ki->ijk", P, P, P)
    np.testing.assert_allclose(there, there.transpose(2, 1, 0), rtol=1e-12)
    dense = random_chain(12, "dense").transition_matrix
    there = np.einsum("ij,jk,ki->ijk", dense, dense, dense)
    assert np.abs(there / there.transpose(2, 1, 0) - 1).max() > 0.1


@pytest.mark.parametrize(
    ("kind", "own", "following"), [("metastable", 0.9, 0.02), ("cyclic", 0.02, 0.9), ("noisy", 0.6, 0.1)]
)
def test_planted_transitions_reach_their_target_group(kind, own, following):
    k = 5
    chain, labels = sparse_block_chain(2000, k, kind=kind, random_state=4)
    assert chain.is_irreducible
    assert chain.is_sparse
    P = chain.transition_matrix
    assert np.diff(P.indptr).max() <= 10
    assert chain.n_transitions > 0.97 * 20_000
    between = np.array([(P @ indicator(labels))[labels == group].mean(axis=0) for group in range(k)])
    # Successors that are not planted are uniform: 1/5 of them fall in each group.
    np.testing.assert_allclose(np.diag(between).mean(), own, atol=0.04)
    np.testing.assert_allclose(np.diag(np.roll(between, -1, axis=1)).mean(), following, atol=0.04)


def test_planted_groups_are_equal_in_size_and_in_random_order():
    labels = sparse_block_chain(103, 4)[1]
    assert sorted(np.bincount(labels)) == [25, 26, 26, 26]
    assert (np.diff(labels) < 0).sum() > 10


@pytest.mark.parametrize("kind", ["metastable", "cyclic", "noisy"])
@pytest.mark.parametrize(("n", "k", "degree"), [(1, 1, 2), (7, 7, 2), (60, 3, 3), (40, 1, 10)])
def test_small_planted_chains_are_valid(kind, n, k, degree):
    chain, labels = sparse_block_chain(n, k, degree, kind)
    assert chain.is_irreducible
    assert len(np.unique(labels)) == k
    assert isinstance(chain.transition_matrix, sparse.csr_array)


@pytest.mark.parametrize(
    "make",
    [
        lambda seed: block_chain(eps=0.1, concentration=0.3, random_state=seed)[0],
        lambda seed: random_chain(20, "sparse", random_state=seed),
        lambda seed: sparse_block_chain(200, 4, random_state=seed)[0],
    ],
)
def test_the_seed_determines_the_chain(make):
    def matrix(seed):
        return sparse.csr_array(make(seed).transition_matrix).toarray()

    np.testing.assert_array_equal(matrix(7), matrix(7))
    np.testing.assert_array_equal(matrix(7), matrix(np.random.default_rng(7)))
    assert not np.array_equal(matrix(7), matrix(8))


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: block_chain(()), "sizes is empty"),
        (lambda: block_chain((2, 0)), "sizes=0 must be a whole number"),
        (lambda: block_chain(alpha=1.5), "alpha=1.5"),
        (lambda: block_chain(eps=-0.1), "eps=-0.1"),
        (lambda: block_chain(eps=float("nan")), "eps=nan"),
        (lambda: block_chain(concentration=0.0), "concentration=0.0"),
        (lambda: random_chain(0), "n=0 must be"),
        (lambda: random_chain(3, "odd"), "kind='odd'"),
        (lambda: random_chain(3, "sparse", degree=0), "degree=0 must be"),
        (lambda: random_chain(3, "decomposable", n_blocks=4), "n_blocks=4"),
        (lambda: random_chain(3, "decomposable", coupling=0.0), "coupling=0"),
        (lambda: sparse_block_chain(3, 4), "n_groups=4"),
        (lambda: sparse_block_chain(3, 2, 1), "degree=1"),
        (lambda: sparse_block_chain(3, 2, kind="odd"), "kind='odd'"),
    ],
)
def test_wrong_arguments_are_refused_by_name(call, words):
    with pytest.raises(InvalidArgumentError, match=words):
        call()
