"""Restart of a chain at an initial distribution, directly or through one more state."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from scipy import sparse

import klump
import reference
from klump import MarkovChain
from klump.chain.rows import folder_of
from klump.errors import InvalidArgumentError, ReducibleChainError

FORMS = pytest.mark.parametrize("form", [np.array, sparse.csr_array], ids=["dense", "sparse"])

# States 0, 1 and 5 are transient; {2, 3, 4} and {6} are closed classes.
MIXED = np.array(
    [
        [0.0, 0.5, 0.5, 0.0, 0.0, 0.0, 0.0],
        [0.5, 0.0, 0.0, 0.0, 0.0, 0.5, 0.0],
        [0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0],
        [0.0, 0.0, 0.0, 0.2, 0.8, 0.0, 0.0],
        [0.0, 0.0, 0.4, 0.6, 0.0, 0.0, 0.0],
        [0.0, 0.0, 0.3, 0.0, 0.0, 0.0, 0.7],
        [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0],
    ]
)
NAMES = "abcdefg"


def dense(matrix):
    return matrix.toarray() if sparse.issparse(matrix) else matrix


# Directly


@FORMS
@pytest.mark.parametrize("initial", ["a", [1, 0, 0, 0, 0, 0, 0], (1, 0, 0, 0, 0, 0, 0), np.eye(7)[0]])
def test_restart_at_one_state_by_name_or_vector(form, initial):
    chain = MarkovChain(form(MIXED), states=NAMES, restart=0.2, initial=initial)
    expected = 0.8 * MIXED
    expected[:, 0] += 0.2
    np.testing.assert_allclose(dense(chain.transition_matrix), expected, rtol=1e-15, atol=1e-17)
    assert chain.is_sparse == (form is sparse.csr_array)
    assert chain.is_irreducible
    assert chain.applied == ("restarted at state 'a' with probability 0.2",)
    assert chain.n_transitions == np.count_nonzero(expected)


@FORMS
def test_restart_from_the_uniform_distribution(form):
    chain = MarkovChain(form(MIXED), restart=0.1)
    np.testing.assert_allclose(dense(chain.transition_matrix), 0.9 * MIXED + 0.1 / 7, rtol=1e-14)
    assert chain.applied == ("restarted at 7 initial states with probability 0.1",)


@FORMS
def test_restart_at_a_distribution(form):
    law = np.array([0.25, 0.75, 0, 0, 0, 0, 0])
    chain = MarkovChain(form(MIXED), restart=0.5, initial=law)
    np.testing.assert_allclose(dense(chain.transition_matrix), 0.5 * MIXED + 0.5 * law, rtol=1e-14, atol=0)
    assert chain.applied == ("restarted at 2 initial states with probability 0.5",)
    assert chain.n_transitions == np.count_nonzero(0.5 * MIXED + 0.5 * law)


@FORMS
def test_restart_with_probability_one_is_independent_sampling(form):
    law = np.array([0.25, 0.75])
    chain = MarkovChain(form(np.eye(2)), restart=1, initial=law)
    np.testing.assert_allclose(dense(chain.transition_matrix), [law, law], rtol=1e-15)
    assert chain.redundancy_rate == pytest.approx(0.0, abs=1e-15)


def test_a_name_may_be_a_tuple():
    names = [(1.0, 0.0), (0.0, 1.0)]
    chain = MarkovChain(np.eye(2), states=names, restart=0.5, initial=(0.0, 1.0))
    assert chain.applied == ("restarted at state (0.0, 1.0) with probability 0.5",)
    assert chain.transition_matrix[0, 1] == 0.5


def test_a_state_without_a_name_goes_by_its_number():
    chain = MarkovChain(np.eye(3), restart=0.5, initial=np.int64(2))
    assert (chain.transition_matrix[:, 2] >= 0.5).all()


@pytest.mark.parametrize("restart", [0, -0.1, 1.1, np.nan, "often", [0.1]])
def test_bad_restarts(restart):
    with pytest.raises(InvalidArgumentError, match="restart"):
        MarkovChain(MIXED, restart=restart, initial=0)


@pytest.mark.parametrize(
    ("initial", "message"),
    [
        ("z", "initial='z' is not the name of a state"),
        (7, "initial=7 is not the name of a state"),
        (0.5, "initial=0.5 is not the name of a state"),
        ([0.5, 0.5], r"initial has shape \(2,\), but the chain has 7 states"),
        ([0.5] * 7, "initial must be a distribution, but it sums to 3.5"),
        ([2, -1, 0, 0, 0, 0, 0], "initial must be a distribution, but it has -1.0 at state 1"),
        ([np.nan, 1, 0, 0, 0, 0, 0], "it has nan at state 0"),
        ([[1], 0, 0, 0, 0, 0, 0], "initial must be the name of a state, a dict of masses"),
        (([1], 0), "initial must be the name of a state, a dict of masses"),
        (list("abcdefg"), "initial must be the name of a state, a dict of masses"),
    ],
)
def test_bad_initial_distributions(initial, message):
    with pytest.raises(InvalidArgumentError, match=message) as caught:
        MarkovChain(MIXED, restart=0.1, initial=initial)
    assert "\n" not in str(caught.value)


def test_initial_without_restart_is_only_kept():
    chain = MarkovChain(MIXED, initial=0)
    assert (chain.transition_matrix == MIXED).all()
    assert chain.initial.tolist() == [1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]
    assert chain.applied == ()


def test_a_restart_that_does_not_reach_every_state_names_the_remedy():
    chain = MarkovChain([[0.5, 0.5, 0.0], [0.0, 1.0, 0.0], [1.0, 0.0, 0.0]], restart=0.1, initial=0)
    with pytest.raises(ReducibleChainError, match="restarted already: pass restrict='closed' as well"):
        chain.stationary_distribution  # noqa: B018
    mended = MarkovChain(chain, restrict="largest")
    assert mended.states == (0, 1)
    assert [change.split()[0] for change in mended.applied] == ["restarted", "restricted"]


# Through a state


def ring(n, form=sparse.csr_array):
    state = np.arange(n)
    columns = np.concatenate([(state + 1) % n, (state + 2) % n])
    return form(sparse.csr_array((np.full(2 * n, 0.5), (np.tile(state, 2), columns)), shape=(n, n)).toarray())


@FORMS
@pytest.mark.parametrize("probability", [0.01, 0.5, 1.0])
def test_a_spread_restart_goes_through_one_more_state(form, probability, rng):
    n = 120
    initial = rng.dirichlet(np.ones(n))
    chain = MarkovChain(ring(n, form), restart=probability, initial=initial)
    assert chain.states == (*range(n), "(restart)")
    assert chain.original_index.tolist() == [*range(n), -1]
    assert chain.is_sparse == (form is sparse.csr_array)
    expected = reference.restart_through_state(ring(n, np.array), probability, initial)
    np.testing.assert_allclose(dense(chain.transition_matrix), expected, rtol=1e-14, atol=0)
    assert chain.n_transitions == np.count_nonzero(expected)
    assert chain.applied == (
        f"restarted at 120 initial states with probability {probability:g}, through the state (restart)",
    )
    assert chain.initial.tolist() == [*initial.tolist(), 0.0]
    if form is sparse.csr_array:
        matrix = chain.transition_matrix
        assert matrix.has_canonical_format
        assert matrix.data.all()
        assert matrix.indices.dtype == matrix.indptr.dtype == np.int32


def test_watched_outside_of_that_state_it_is_the_direct_restart(rng):
    """S = P'_11 + P'_12 P'_21 = (1 - p) P + p 1 a^T, so that masses differ by the factor 1 + p only."""
    n, p = 120, 0.05
    matrix = ring(n, np.array)
    initial = rng.dirichlet(np.ones(n))
    chain = MarkovChain(matrix, restart=p, initial=initial)
    larger = chain.transition_matrix
    direct = (1 - p) * matrix + p * initial
    np.testing.assert_allclose(larger[:n, :n] + larger[:n, n:] @ larger[n:, :n], direct, rtol=1e-13)
    mu = MarkovChain(direct).stationary_distribution
    np.testing.assert_allclose(chain.stationary_distribution[:n] * (1 + p), mu, rtol=1e-10)
    assert chain.stationary_distribution[n] == pytest.approx(p / (1 + p), rel=1e-12)


@FORMS
def test_the_rule_looks_at_numbers_of_transitions_only(form):
    n = 120  # 240 transitions: 4 (240 + 120) = 1,440 < 10,000
    for n_initial, direct in ((83, True), (84, False)):  # 9,960 and 10,080 transitions
        initial = np.zeros(n)
        initial[:n_initial] = 1 / n_initial
        chain = MarkovChain(ring(n, form), restart=0.1, initial=initial)
        assert ("(restart)" in chain.states) != direct
    full = np.full((200, 200), 1 / 200)
    assert MarkovChain(form(full), restart=0.1).n_states == 200
    assert MarkovChain(ring(30, form), restart=0.1).n_states == 30


def test_a_large_sparse_chain_stays_sparse():
    n = 8000
    cycle = sparse.csr_array((np.ones(n), (np.arange(n), np.roll(np.arange(n), -1))), shape=(n, n))
    chain = MarkovChain(cycle, restart=0.1)
    assert chain.is_sparse
    assert chain.n_transitions == 3 * n
    one = MarkovChain(cycle, restart=0.1, initial=5)
    assert one.is_sparse
    assert one.n_transitions == 2 * n - 1


def test_memory_of_a_restart():
    """A chain with a restart, and its construction, take less than twice the memory of the chain."""
    n, per_row = 200_000, 8
    rng = np.random.default_rng(0)
    columns = (np.arange(n)[:, None] + np.arange(per_row) ** 3 + 1) % n
    weights = rng.random((n, per_row)) + 0.1
    weights /= weights.sum(axis=1, keepdims=True)
    matrix = sparse.csr_array((weights.ravel(), columns.ravel(), np.arange(0, n * per_row + 1, per_row)))
    chain = MarkovChain(matrix)
    own = chain.transition_matrix
    size = own.data.nbytes + own.indices.nbytes + own.indptr.nbytes + chain.original_index.nbytes
    tracemalloc.start()
    restarted = MarkovChain(chain, restart=0.01)
    now, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert restarted.n_transitions == n * per_row + 2 * n
    assert now < 2 * size
    assert peak < 2 * size


@FORMS
def test_dead_ends_restart_with_probability_one(form):
    counts = ring(120, np.array)
    counts[[3, 7]] = 0
    through = MarkovChain.from_counts(form(counts), restart=0.1)
    expected = reference.restart_through_state(counts, 0.1, np.full(120, 1 / 120))
    np.testing.assert_allclose(dense(through.transition_matrix), expected, rtol=1e-14)
    assert through.applied[0].endswith("through the state (restart); 2 dead ends with probability 1")
    directly = MarkovChain.from_counts(form(counts), restart=0.1, initial=3)
    rows = dense(directly.transition_matrix)
    np.testing.assert_allclose(rows[[3, 7]], np.eye(120)[[3, 3]], rtol=1e-14)
    np.testing.assert_allclose(rows[0], 0.9 * counts[0] + 0.1 * np.eye(120)[3], rtol=1e-14)
    assert directly.applied[0].endswith("probability 0.1; 2 dead ends with probability 1")


def test_a_state_may_have_the_name_already():
    n = 120
    names = [*range(n - 1), "(restart)"]
    chain = MarkovChain(ring(n), names, restart=0.1)
    assert chain.states[-2:] == ("(restart)", "(restart 2)")
    again = MarkovChain(MarkovChain(ring(n), restart=0.1), restart=0.2)
    assert again.states[-2:] == ("(restart)", "(restart 2)")
    assert again.is_irreducible


def test_attributes_fit_the_larger_chain():
    n = 120
    given = {"labels": {"goal": [5]}, "rewards": {"cost": np.arange(n), "toll": sparse.eye_array(n)}}
    chain = MarkovChain(ring(n), restart=0.1, **given)
    assert chain.labels["goal"].tolist() == [5]
    assert chain.rewards["cost"].tolist() == [*range(n), 0]
    assert chain.rewards["toll"].shape == (n + 1, n + 1)
    assert chain.rewards["toll"].nnz == n
    assert klump.aggregate(chain, 2, method="sequential", n_init=1).n_states == 2


@pytest.mark.parametrize("suffix", [".npz", ".mapped", ".csv"])
def test_files_keep_the_larger_chain(tmp_path, suffix):
    chain = MarkovChain(ring(120), [f"s{i}" for i in range(120)], restart=0.1)
    klump.write_chain(chain, tmp_path / f"model{suffix}")
    back = klump.read_chain(tmp_path / f"model{suffix}")
    assert back.states == chain.states
    np.testing.assert_allclose(dense(back.transition_matrix), dense(chain.transition_matrix), rtol=1e-15)


def test_a_mapped_chain_restarts_on_disk(tmp_path):
    klump.write_chain(MarkovChain(ring(120)), tmp_path / "a.mapped")
    mapped = klump.read_chain(tmp_path / "a.mapped", restart=0.1)
    assert folder_of(mapped.transition_matrix) == tmp_path / "a.mapped"
    np.testing.assert_array_equal(
        mapped.transition_matrix.toarray(), MarkovChain(ring(120), restart=0.1).transition_matrix.toarray()
    )
