"""The chain before its restart: exact entries and zeros, from a record that copies and files keep."""

import copy
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import klump
from klump import MarkovChain
from klump.chain.rows import folder_of
from klump.errors import FileFormatError, InvalidArgumentError

FORMS = pytest.mark.parametrize("form", [np.array, sparse.csr_array], ids=["dense", "sparse"])
# Rounding error of one operation.
UNIT = 2.0**-53


def dense(chain):
    return chain.transition_matrix.toarray() if chain.is_sparse else chain.transition_matrix


def random_weights(rng, n, density=0.1):
    """Weights with dead ends: rows 3 and n - 1."""
    weights = rng.random((n, n)) * (rng.random((n, n)) < density)
    weights[np.arange(n), (np.arange(n) + 1) % n] += 0.1
    weights[[3, n - 1]] = 0.0
    return weights


def absorb(weights):
    """Stochastic matrix, in which rows without weights are absorbing."""
    sums = weights.sum(axis=1, keepdims=True)
    return np.where(sums > 0, weights / np.where(sums > 0, sums, 1.0), np.eye(len(weights)))


@FORMS
@pytest.mark.parametrize(("n", "initial"), [(8, 0), (8, None), (8, {1: 0.25, 4: 0.75}), (150, None)])
@pytest.mark.parametrize("probability", [1e-6, 0.01, 0.5, 0.99])
def test_the_matrix_before_the_restart(form, n, initial, probability, rng):
    weights = random_weights(rng, n)
    chain = MarkovChain.from_counts(form(weights), restart=probability, initial=initial)
    assert ("(restart)" in chain.states) == (n == 150)
    before = chain.without_restart()
    expected = absorb(weights)
    found = dense(before)
    assert before.is_sparse == chain.is_sparse
    assert before.states == tuple(range(n))
    assert not before.has_names
    assert before.applied == ()
    np.testing.assert_array_equal(found == 0, expected == 0)
    np.testing.assert_allclose(found, expected, rtol=0, atol=8 * UNIT / (1 - probability))
    np.testing.assert_allclose(found.sum(axis=1), 1.0, rtol=0, atol=1e-12)
    np.testing.assert_allclose(before.initial, chain.initial[:n], rtol=1e-15)


@settings(deadline=None, max_examples=50)
@given(st.integers(0, 10_000), st.floats(1e-8, 0.999), st.booleans())
def test_zeros_stay_zero_and_small_probabilities_positive(seed, probability, is_sparse):
    rng = np.random.default_rng(seed)
    weights = rng.random((6, 6)) ** rng.integers(1, 30) * (rng.random((6, 6)) < 0.5) + np.eye(6)
    matrix = weights / weights.sum(axis=1, keepdims=True)
    chain = MarkovChain(sparse.csr_array(matrix) if is_sparse else matrix, restart=probability)
    found = dense(chain.without_restart())
    assert (found[matrix == 0] == 0).all()
    resolved = matrix > 4 * UNIT * probability / (1 - probability)
    assert (found[resolved] > 0).all()
    np.testing.assert_allclose(found, matrix, rtol=0, atol=8 * UNIT / (1 - probability))


@FORMS
@pytest.mark.parametrize("n", [8, 150])
def test_two_restarts_are_undone_together(form, n, rng):
    weights = random_weights(rng, n)
    once = MarkovChain.from_counts(form(weights), restart=0.3)
    for initial in (2, None):
        twice = MarkovChain(once, restart=0.2, initial=initial)
        found = dense(twice.without_restart())
        np.testing.assert_array_equal(found == 0, absorb(weights) == 0)
        np.testing.assert_allclose(found, absorb(weights), rtol=0, atol=1e-15)


@FORMS
def test_a_restricted_chain(form):
    matrix = np.array([[0.5, 0.5, 0.0], [0.0, 1.0, 0.0], [1.0, 0.0, 0.0]])
    chain = MarkovChain(form(matrix), ["a", "b", "c"], restart=0.1, initial="a", restrict="closed")
    before = chain.without_restart()
    assert before.states == ("a", "b")
    assert before.original_index.tolist() == [0, 1]
    np.testing.assert_allclose(dense(before), matrix[:2, :2], rtol=0, atol=1e-15)
    assert [change.split()[0] for change in before.applied] == ["restricted"]


def test_names_labels_and_rewards():
    n = 150
    names = [f"s{i}" for i in range(n)]
    ring = np.roll(np.eye(n), 1, axis=1)
    jumps = sparse.csr_array(ring) * 3
    chain = MarkovChain(
        sparse.csr_array(ring), names, restart=0.1, labels={"x": ["s3"]}, rewards={"r": range(n), "t": jumps}
    )
    before = chain.without_restart()
    assert before.states == tuple(names)
    assert before.labels["x"].tolist() == [3]
    assert before.rewards["r"].tolist() == list(range(n))
    assert before.rewards["t"].shape == (n, n)
    np.testing.assert_allclose(dense(before), ring, rtol=0, atol=1e-15)


def test_another_initial_distribution_does_not_confuse_the_record():
    matrix = np.array([[0.5, 0.5], [0.0, 1.0]])
    chain = MarkovChain(MarkovChain(matrix, restart=0.1, initial=0), initial=1)
    before = chain.without_restart()
    np.testing.assert_allclose(before.transition_matrix, matrix, rtol=0, atol=1e-15)
    assert before.initial.tolist() == [0.0, 1.0]


def test_a_chain_without_restart_is_itself():
    chain = MarkovChain([[0.5, 0.5], [0.0, 1.0]], initial=0)
    assert chain.without_restart() is chain


def test_a_restart_with_probability_one_cannot_be_undone():
    chain = MarkovChain([[0.5, 0.5], [0.0, 1.0]], restart=1, initial=0)
    with pytest.raises(
        InvalidArgumentError, match=r"restart=1.0 leaves no transition .* smaller probability"
    ):
        chain.without_restart()


def test_a_power_cannot_be_undone():
    chain = MarkovChain([[0.5, 0.5], [0.1, 0.9]], restart=0.1, initial=0).power(2)
    with pytest.raises(InvalidArgumentError, match=r"restarted at state 0 .*, and then changed"):
        chain.without_restart()


def restarted(n, rng):
    weights = random_weights(rng, n)
    return MarkovChain.from_counts(sparse.csr_array(weights), restart=0.2), absorb(weights)


COPIES = {
    "copy": lambda chain, folder: copy.copy(chain),
    "deepcopy": lambda chain, folder: copy.deepcopy(chain),
    "pickle": lambda chain, folder: pickle.loads(pickle.dumps(chain)),
    "chain": lambda chain, folder: MarkovChain(chain, labels={"x": [0]}),
    "npz": lambda chain, folder: write_and_read(chain, folder / "c.npz"),
    "mapped": lambda chain, folder: write_and_read(chain, folder / "c.mapped"),
    "converted": lambda chain, folder: write_and_convert(chain, folder),
    "archive": lambda chain, folder: save_and_load(chain, folder / "a.npz"),
}


def write_and_read(chain, path):
    klump.write_chain(chain, path)
    return klump.read_chain(path)


def write_and_convert(chain, folder):
    from klump.files.conversion import convert_chain

    klump.write_chain(chain, folder / "c.npz")
    convert_chain(folder / "c.npz", folder / "d.mapped")
    return klump.read_chain(folder / "d.mapped")


def save_and_load(chain, path):
    klump.Aggregation.from_labels(chain, np.arange(chain.n_states) % 2).save(path)
    return klump.load(path).original


@pytest.mark.parametrize("n", [8, 150])
@pytest.mark.parametrize("way", COPIES)
def test_copies_and_files_keep_the_record(way, n, rng, tmp_path):
    chain, expected = restarted(n, rng)
    back = COPIES[way](chain, tmp_path)
    before = back.without_restart()
    np.testing.assert_array_equal(dense(before), dense(chain.without_restart()))
    np.testing.assert_array_equal(dense(before) == 0, expected == 0)
    assert before.n_states == n
    assert not any("(restart)" in str(state) for state in before.states)
    with pytest.raises(klump.errors.ReducibleChainError, match="or restart=p"):
        before.stationary_distribution  # noqa: B018
    if way in ("mapped", "converted"):
        assert folder_of(back.transition_matrix) is not None


def test_a_damaged_record_is_one_error(rng, tmp_path):
    chain, _ = restarted(8, rng)
    klump.write_chain(chain, tmp_path / "c.npz")
    arrays = dict(np.load(tmp_path / "c.npz"))
    for key, value in {"probability": np.array(2.0), "masses": np.ones(8), "targets": np.arange(9)}.items():
        np.savez(tmp_path / "d.npz", **{**arrays, f"attribute_restart_{key}": value})
        with pytest.raises(FileFormatError, match="restart are damaged"):
            klump.read_chain(tmp_path / "d.npz")
