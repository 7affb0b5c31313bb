"""The quotient: transition probabilities before the restart, labels, initial distribution and rewards of the groups."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import klump
import models
import reference
from klump import Aggregation, MarkovChain
from klump.errors import InvalidArgumentError, ReducibleChainError

P = np.array(
    [
        [0.0, 0.5, 0.4, 0.1, 0.0],
        [0.2, 0.0, 0.3, 0.2, 0.3],
        [0.0, 0.0, 1.0, 0.0, 0.0],
        [0.0, 0.0, 0.0, 1.0, 0.0],
        [0.1, 0.1, 0.4, 0.4, 0.0],
    ]
)
LABELS = {"goal": [2], "end": [2, 3], "odd": [1, 3]}


def dense(chain):
    return chain.transition_matrix.toarray() if chain.is_sparse else chain.transition_matrix


@pytest.mark.parametrize("form", [np.array, sparse.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("initial", [0, None])
def test_the_weights_are_those_of_the_restarted_chain(form, initial):
    labels = [0, 0, 1, 2, 0]
    chain = MarkovChain(form(P), restart=0.1, initial=initial)
    quotient = Aggregation.from_labels(chain, labels).quotient
    W = reference.indicator(labels, 3)
    expected = reference.aggregated_matrix(P, chain.stationary_distribution, W)
    np.testing.assert_allclose(dense(quotient), expected, rtol=1e-13, atol=1e-15)
    assert quotient.applied == ("without the restart",)
    assert quotient.states == (0, 1, 2)
    np.testing.assert_allclose(quotient.initial, chain.initial @ W, rtol=1e-14)


@settings(max_examples=40)
@given(st.integers(0, 10**6), st.floats(1e-4, 0.9), st.sampled_from([20, 120]))
def test_any_restart_gives_the_same_quotient_of_a_lumping(seed, probability, n):
    """For 120 states the restart goes through a state of its own, which belongs to no group of the quotient."""
    rng = np.random.default_rng(seed)
    k = 4
    labels = np.concatenate([np.arange(k), rng.integers(k, size=n - k)])
    Q = rng.dirichlet(np.ones(k), size=k)
    matrix = np.zeros((n, n))
    for x in range(n):
        for y in range(k):
            members = rng.permutation(np.flatnonzero(labels == y))[:3]
            matrix[x, members] = Q[labels[x], y] * rng.dirichlet(np.ones(len(members)))
    chain = MarkovChain(sparse.csr_array(matrix), restart=probability, restrict="closed")
    kept = chain.original_index[chain.original_index >= 0]
    groups = labels[kept]
    if "(restart)" in chain.states:
        groups = np.append(groups, k)
    answer = Aggregation.from_labels(chain, groups)
    np.testing.assert_allclose(answer.quotient.transition_matrix, Q, rtol=0, atol=1e-13)
    assert answer.quotient.n_states == k


def test_labels_of_groups():
    chain = MarkovChain(P, labels={**LABELS, "none": [], "all": range(5)}, restart=0.1)
    quotient = Aggregation.from_labels(chain, [0, 0, 1, 2, 0]).quotient
    found = {label: groups.tolist() for label, groups in quotient.labels.items()}
    assert found == {"goal": [1], "end": [1, 2], "none": [], "all": [0, 1, 2]}


def test_labels_that_split_groups_are_left_out_with_a_note():
    chain = MarkovChain(P, labels=LABELS, restart=0.1)
    answer = Aggregation.from_labels(chain, [0, 0, 1, 1, 0])
    words = (
        "without the labels 'goal' and 'odd', which only a part of a group has; "
        "respect_labels=True, --respect-labels keeps them"
    )
    assert answer.quotient.applied == ("without the restart", words)
    assert [note for note in answer.notes if note.kind == "labels"] == [f"the quotient is {words}"]
    assert list(answer.quotient.labels) == ["end"]
    whole = Aggregation.from_labels(chain, [0, 4, 1, 2, 3])
    assert not [note for note in whole.notes if note.kind == "labels"]


def test_the_label_of_the_initial_states_goes_with_the_initial_distribution():
    """Models of Storm have it; it would split the group of the initial state."""
    chain = MarkovChain(P, labels={"init": [0], "end": [2, 3]}, initial=0, restart=0.1)
    answer = Aggregation.from_labels(chain, [0, 0, 1, 1, 0])
    assert list(answer.quotient.labels) == ["end"]
    assert answer.quotient.initial.tolist() == [1.0, 0.0]
    assert not [note for note in answer.notes if note.kind == "labels"]
    with pytest.raises(
        InvalidArgumentError, match="label='init' is the label of 1 of the 3 states of group 0"
    ):
        answer.reachability("init")
    other = MarkovChain(P, labels={"init": [1]}, initial=0, restart=0.1)
    assert [note.kind for note in Aggregation.from_labels(other, [0, 0, 1, 1, 0]).notes] == [
        "applied",
        "labels",
    ]


def test_a_soft_map():
    chain = MarkovChain(P, labels=LABELS, restart=0.1, initial=1)
    W = np.array([[0.7, 0.3, 0.0], [0.2, 0.8, 0.0], [0.0, 0.0, 1.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]])
    quotient = Aggregation.from_labels(chain, W).quotient
    expected = reference.aggregated_matrix(P, chain.stationary_distribution, W)
    np.testing.assert_allclose(quotient.transition_matrix, expected, rtol=1e-13, atol=1e-15)
    assert {label: groups.tolist() for label, groups in quotient.labels.items()} == {"end": [2]}
    np.testing.assert_allclose(quotient.initial, W[1], rtol=1e-15)


def test_the_initial_distribution_of_several_states():
    initial = [0.1, 0.2, 0.0, 0.3, 0.4]
    chain = MarkovChain(P, initial=initial, restart=0.2)
    quotient = Aggregation.from_labels(chain, [0, 1, 2, 1, 0]).quotient
    np.testing.assert_allclose(quotient.initial, [0.5, 0.5, 0.0], rtol=1e-15)
    assert Aggregation.from_labels(MarkovChain(0.9 * P + 0.02), [0, 1, 2, 1, 0]).quotient.initial is None


def test_rewards_are_right_in_expectation():
    rng = np.random.default_rng(0)
    of_states, of_transitions = rng.random(5), rng.random((5, 5)) * (P > 0)
    chain = MarkovChain(P, rewards={"s": of_states, "t": of_transitions}, restart=0.1)
    labels = np.array([0, 0, 1, 2, 0])
    answer = Aggregation.from_labels(chain, labels)
    mu, quotient = chain.stationary_distribution, answer.quotient
    expected = (P * of_transitions).sum(axis=1)
    Q, jumps = quotient.transition_matrix, quotient.rewards["t"].toarray()
    for y in range(3):
        members = labels == y
        weights = mu[members] / mu[members].sum()
        assert quotient.rewards["s"][y] == pytest.approx(weights @ of_states[members], rel=1e-13)
        assert Q[y] @ jumps[y] == pytest.approx(weights @ expected[members], rel=1e-13)


def test_exact_lumpings_of_reducible_chains():
    model = models.crowds()
    chain = MarkovChain(model.matrix, labels=model.labels, initial=0)
    classes = [f"{i in model.labels['observed']}, {i in model.labels['over']}" for i in range(chain.n_states)]
    answer = klump.aggregate(chain, method="exact", initial=classes)
    assert not chain.is_irreducible
    W = reference.indicator(answer.labels, answer.n_states)
    matrix = models.dense(model)
    np.testing.assert_allclose(W @ dense(answer.quotient), matrix @ W, rtol=0, atol=1e-14)
    assert answer.quotient.initial.argmax() == answer.labels[0]
    assert answer.quotient.applied == ()


def test_partitions_of_reducible_chains_that_are_no_lumpings_need_a_restart():
    answer = Aggregation.from_labels(MarkovChain(P), [0, 0, 1, 2, 0])
    with pytest.raises(ReducibleChainError, match="restart=p"):
        answer.quotient  # noqa: B018


def test_the_group_of_the_restart_state_is_left_out():
    n = 150
    ring = sparse.csr_array(np.roll(np.eye(n), 1, axis=1))
    chain = MarkovChain(ring, restart=0.1, labels={"x": range(75)})
    labels = np.append(np.where(np.arange(n) < 75, 0, 2), 1)
    quotient = Aggregation.from_labels(chain, labels).quotient
    assert quotient.states == (0, 2)
    assert quotient.original_index.tolist() == [0, 2]
    assert quotient.applied == ("without the restart", "without group 1, the added state (restart)")
    assert quotient.labels["x"].tolist() == [0]
    np.testing.assert_allclose(quotient.transition_matrix.sum(axis=1), 1.0, rtol=1e-15)
    assert quotient.initial.sum() == pytest.approx(1.0)
    mixed = Aggregation.from_labels(chain, np.append(np.arange(n) // 75, 0))
    assert mixed.quotient.states == (0, 1)
    assert mixed.quotient.labels["x"].tolist() == [0]
    found = Aggregation.from_labels(chain, labels).reachability("x", 3)
    assert np.isnan(found.lower_by_group).tolist() == [False, True, False]


def test_dead_ends_are_absorbing():
    counts = np.array([[0, 1, 1], [1, 0, 0], [0, 0, 0]])
    chain = MarkovChain.from_counts(counts, restart=0.1, initial=0)
    quotient = Aggregation.from_labels(chain, [0, 1, 2]).quotient
    np.testing.assert_allclose(quotient.transition_matrix, [[0, 0.5, 0.5], [1, 0, 0], [0, 0, 1]], atol=1e-15)


def test_a_power_of_a_restarted_chain_has_no_quotient():
    chain = MarkovChain(P, restart=0.1).power(2)
    with pytest.raises(InvalidArgumentError, match="its restart cannot be undone"):
        Aggregation.from_labels(chain, [0, 0, 1, 2, 0]).quotient  # noqa: B018


def test_many_groups_stay_sparse():
    n = 2500
    ring = sparse.csr_array((np.ones(n), (np.arange(n), np.roll(np.arange(n), -1))), shape=(n, n))
    answer = Aggregation.from_labels(MarkovChain(ring, labels={"x": [7]}), np.arange(n))
    assert answer.quotient.is_sparse
    assert abs(answer.quotient.transition_matrix - ring).max() < 1e-14
    assert answer.quotient.labels["x"].tolist() == [7]


def test_a_loaded_answer_has_the_same_quotient(tmp_path):
    answer = Aggregation.from_labels(MarkovChain(P, labels=LABELS, restart=0.1, initial=0), [0, 0, 1, 2, 0])
    answer.save(tmp_path / "a.npz")
    back = klump.load(tmp_path / "a.npz")
    assert np.array_equal(back.quotient.transition_matrix, answer.quotient.transition_matrix)
    assert back.reachability("goal").upper == answer.reachability("goal").upper


@pytest.mark.parametrize("suffix", [".tra", ".storm.tra", ".drn", ".umb", ".graphml", ".npz"])
def test_files_keep_the_quotient(suffix, tmp_path):
    chain = MarkovChain(P, labels=LABELS, restart=0.1, initial=0, rewards={"r": np.arange(5)})
    quotient = Aggregation.from_labels(chain, [0, 1, 2, 3, 1]).quotient
    klump.write_chain(quotient, tmp_path / f"q{suffix}")
    back = klump.read_chain(tmp_path / f"q{suffix}")
    np.testing.assert_array_equal(dense(back), dense(quotient))
    assert {k: v.tolist() for k, v in back.labels.items()} == {
        k: v.tolist() for k, v in quotient.labels.items()
    }
    assert np.array_equal(back.initial, quotient.initial)
    np.testing.assert_array_equal(back.rewards["r"], quotient.rewards["r"])
