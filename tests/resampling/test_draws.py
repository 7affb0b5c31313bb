"""What the resampling draws: Dirichlet rows, weighted pieces of sequences, what is counted and restricted."""

import numpy as np
import pytest
from scipy import sparse, stats

import klump
from counted import COUNTS, LABELS
from klump.resampling.draws import Draws, estimate_chain


def drawn(counts, n_samples, prior=0.0):
    _, draws = estimate_chain(counts, None, prior, None, 0)
    return np.stack([draws.chain(number).transition_matrix for number in range(n_samples)])


@pytest.mark.parametrize("prior", [0.0, 2.0])
def test_entries_follow_beta_laws(prior):
    """A row of Dirichlet law has entries of beta laws, with the counts as parameters."""
    counts = np.array([[1.0, 5.0, 0.25], [3.0, 0.5, 40.0], [7.0, 1.0, 2.0]])
    samples, shape = drawn(counts, 400, prior), counts + prior
    for i in range(3):
        for j in range(3):
            law = stats.beta(shape[i, j], shape[i].sum() - shape[i, j])
            assert stats.kstest(samples[:, i, j], law.cdf).pvalue > 1e-3
            # Another count would be noticed.
            other = stats.beta(3 * shape[i, j], 3 * (shape[i].sum() - shape[i, j]))
            assert stats.kstest(samples[:, i, j], other.cdf).pvalue < 1e-3


def test_what_was_seen_stays_possible_and_nothing_else_becomes_it():
    for number in range(20):
        chain = Draws(sparse.csr_array(COUNTS / 1e5), False, 3).chain(number)
        np.testing.assert_array_equal(chain.transition_matrix > 0, COUNTS > 0)
        assert chain.is_irreducible


def test_sparse_counts_stay_sparse_and_give_the_same_samples():
    dense, full = estimate_chain(COUNTS, None, 0.5, None, 1)
    chain, thin = estimate_chain(sparse.coo_matrix(COUNTS), None, 0.5, None, 1)
    assert (dense.is_sparse, chain.is_sparse) == (False, True)
    assert chain.n_transitions == np.count_nonzero(COUNTS)
    assert thin.chain(4).is_sparse
    np.testing.assert_allclose(
        thin.chain(4).transition_matrix.toarray(), full.chain(4).transition_matrix, rtol=1e-14
    )


def test_the_prior_moves_the_estimate_too():
    plain = klump.posterior(COUNTS, LABELS, n_samples=1).estimate.original.transition_matrix
    np.testing.assert_allclose(plain, COUNTS / COUNTS.sum(axis=1, keepdims=True), atol=1e-15)
    moved = klump.posterior(COUNTS, LABELS, n_samples=1, prior=3).estimate.original.transition_matrix
    shape = COUNTS + 3 * (COUNTS > 0)
    np.testing.assert_allclose(moved, shape / shape.sum(axis=1, keepdims=True), atol=1e-15)


def test_samples_weigh_whole_pieces():
    """What only one piece tells of a state never changes, however it is weighed."""
    walks = ["abababa", "aab", "cacaca"]
    counts = klump.SequenceCounts(walks)
    found = klump.posterior(counts, [0, 1, 2], n_samples=20)
    _, draws = estimate_chain(counts, None, 0.0, None, 0)
    samples = np.stack([draws.chain(number).transition_matrix for number in range(20)])
    b, c = counts.states.index("b"), counts.states.index("c")
    np.testing.assert_allclose(samples[:, [b, c], 0], 1.0)
    assert samples[:, 0, b].std() > 0.05
    np.testing.assert_array_equal(samples > 0, np.broadcast_to(counts.count_matrix > 0, samples.shape))
    np.testing.assert_allclose(found.transition_matrices, samples)


def test_restricted_sequences():
    """Pieces outside the class that is kept play no part, and its own keep their transitions."""
    counts = klump.SequenceCounts(["xxabab", "abba", "xbaa"])
    chain, draws = estimate_chain(counts, None, 0.0, "largest", 0)
    assert chain.states == ("a", "b")
    np.testing.assert_array_equal(draws.counts.toarray(), counts.count_matrix[:2, :2])
    np.testing.assert_array_equal(draws.by_piece.sum(axis=0), draws.counts.data)
    assert draws.chain(0).n_states == 2


def test_sequences_restricted_to_the_connected_set():
    """Counts of transitions out of the set are dropped, in every piece."""
    counts = klump.SequenceCounts(["ababx", "abbay", "xyx"])
    chain, draws = estimate_chain(counts, None, 0.0, "connected", 0)
    assert chain.states == ("a", "b")
    np.testing.assert_array_equal(draws.counts.toarray(), counts.count_matrix[:2, :2])
    np.testing.assert_array_equal(draws.by_piece.sum(axis=0), draws.counts.data)
    np.testing.assert_array_equal(draws.by_piece.sum(axis=1), [3, 3, 0])
    assert draws.chain(0).n_states == 2


@pytest.mark.parametrize("form", [np.array, sparse.csr_array])
def test_samples_restart_as_the_estimate_does(form):
    """Dead ends restart with probability 1 in every sample, and other rows have the Dirichlet draw times 1 - p."""
    counts = form([[5.0, 4.0, 1.0], [3.0, 0.0, 2.0], [0.0, 0.0, 0.0]])
    chain, draws = estimate_chain(counts, "abc", 0.0, None, 0, restart=0.25, initial={"a": 1, "b": 1})
    for number in range(5):
        matrix = draws.chain(number).transition_matrix
        matrix = matrix.toarray() if sparse.issparse(matrix) else matrix
        np.testing.assert_allclose(matrix[2], [0.5, 0.5, 0.0])
        assert (matrix[:2, :2] >= 0.125).all()
        assert matrix[1, 1] == pytest.approx(0.125)
    mean = np.mean([draws.chain(number).stationary_distribution for number in range(300)], axis=0)
    np.testing.assert_allclose(mean, chain.stationary_distribution, atol=0.02)


def test_samples_restart_through_the_same_state():
    n = 120
    counts = sparse.csr_array(np.roll(np.eye(n), 1, axis=1) * 3 + np.roll(np.eye(n), 2, axis=1))
    chain, draws = estimate_chain(counts, None, 0.0, None, 0, restart=0.1)
    assert chain.states[-1] == "(restart)"
    assert draws.counts.shape == (n, n)
    sample = draws.chain(0)
    assert sample.states == chain.states
    found = klump.bootstrap(counts, 2, n_samples=2, restart=0.1, method="sequential", n_init=1)
    assert found.labels.shape == (2, n + 1)


def test_restart_and_restriction_together():
    counts = np.array([[1, 2, 0, 0], [3, 0, 1, 0], [0, 0, 0, 0], [4, 0, 0, 5]])
    chain, draws = estimate_chain(counts, "abcd", 0.0, "connected", 0, restart=0.1, initial="a")
    assert chain.states == ("a", "b", "c")
    assert draws.initial.tolist() == [1.0, 0.0, 0.0]
    assert draws.chain(3).is_irreducible


def test_counts_of_one_are_no_probabilities():
    """A permutation that was seen once: every row sums to 1, but these are counts."""
    found = klump.posterior(np.roll(np.eye(4), 1, axis=1), [0, 1, 0, 1], n_samples=3)
    np.testing.assert_array_equal(found.transition_matrices, np.stack([[[0, 1], [1, 0]]] * 3))
