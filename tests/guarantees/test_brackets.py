"""Brackets of entropy, divergence and redundancy rates. Lemmas 3 and 4 are in test_theorems.py."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import chains
import reference
from klump.aggregation.aggregation import Aggregation
from klump.chain import MarkovChain
from klump.errors import InvalidArgumentError
from klump.guarantees import entropy_rate
from klump.guarantees.entropy_rate import blocks, hidden_markov_process

EXAMPLE = np.array([[0.4, 0.3, 0.3], [0.25, 0.3, 0.45], [0.15, 0.425, 0.425]])
ROUNDING = 1e-12

small_map = st.one_of(
    chains.matrices_and_labels(max_size=4, max_groups=3).map(lambda drawn: (drawn[0], drawn[1])),
    chains.matrices_and_maps(max_size=4),
)
any_map = st.one_of(
    chains.matrices_and_labels().map(lambda drawn: (drawn[0], drawn[1])), chains.matrices_and_maps()
)


def sparse_chain(n, rng, n_next=3):
    """Sparse chain with transitions from each state to the next one and to a few others."""
    others = rng.integers(n, size=(n, n_next - 1))
    columns = np.column_stack([(np.arange(n) + 1) % n, others]).ravel()
    rows = np.repeat(np.arange(n), n_next)
    return MarkovChain(sparse.csr_array((0.1 + rng.random(rows.size), (rows, columns))), normalize=True)


def expand_chain(between, labels, rng, n_next=3):
    """Sparse chain that is lumpable: group y goes to z with between[y, z], to a few members of z."""
    n, k = len(labels), len(between)
    rows, columns, data = [], [], []
    for z in range(k):
        members = np.flatnonzero(labels == z)
        share = rng.dirichlet(np.ones(n_next), size=n) * between[labels, z][:, None]
        first = members[np.arange(n) % members.size]  # every state of z has a predecessor
        others = rng.choice(members, size=(n, n_next - 1))
        rows.append(np.repeat(np.arange(n), n_next))
        columns.append(np.column_stack([first, others]).ravel())
        data.append(share.ravel())
    return sparse.csr_array(
        (np.concatenate(data), (np.concatenate(rows), np.concatenate(columns))), shape=(n, n)
    )


# The bounds themselves


@settings(max_examples=40)
@given(small_map, st.booleans())
def test_blocks_against_all_sequences_of_states(drawn, as_sparse):
    P, given_map = drawn
    answer = Aggregation.from_labels(sparse.csr_array(P) if as_sparse else P, given_map)
    mu = reference.stationary_law(P)
    found = list(itertools.islice(blocks(hidden_markov_process(answer.original, answer.map.weights), 1e6), 3))
    assert [block.length for block in found] == [2, 3, 4]
    for block in found:
        lower, upper = reference.entropy_rate_bounds(P, mu, answer.mapping, block.length)
        assert block.lower == pytest.approx(lower, abs=ROUNDING)
        assert block.upper == pytest.approx(upper, abs=ROUNDING)
        distributions = reference.laws_of_stationary_paths(P, mu, answer.mapping, block.length)
        assert block.total_variation == pytest.approx(
            reference.total_variation_of_paths(*distributions), abs=ROUNDING
        )


@given(any_map, st.booleans())
def test_longer_blocks_are_tighter(drawn, as_sparse):
    """H(Y_m|Y_1..m-1, X_1) grows with m, H(Y_m|Y_1..m-1) falls, and they never cross."""
    P, given_map = drawn
    answer = Aggregation.from_labels(sparse.csr_array(P) if as_sparse else P, given_map)
    found = list(itertools.islice(blocks(hidden_markov_process(answer.original, answer.map.weights), 2e5), 6))
    assert len(found) >= 4
    for shorter, longer in itertools.pairwise(found):
        assert shorter.lower - longer.rounding <= longer.lower <= longer.upper + longer.rounding
        assert longer.upper <= shorter.upper + longer.rounding
        assert shorter.operations < longer.operations


@pytest.mark.parametrize("soft", [False, True])
def test_pieces_and_storage_do_not_matter(rng, monkeypatch, soft):
    """Chunks, sparse or dense storage and the limit of stored probabilities do not change the bounds."""
    P = chains.random_matrix("sparse", 12, rng)
    given_map = chains.random_map(12, 3, rng) if soft else chains.random_labels(12, 3, rng)
    answer = Aggregation.from_labels(sparse.csr_array(P), given_map)

    def bounds(n):
        found = itertools.islice(blocks(hidden_markov_process(answer.original, answer.map.weights), 1e6), n)
        return np.array([(block.lower, block.upper, block.total_variation) for block in found])

    expected = bounds(6)
    for changes in (
        {"_DENSE_ABOVE_DENSITY": 2.0, "_SPARSE_CHUNK": 5, "_ENTRIES_PER_CHUNK": 5},
        {"_DENSE_ABOVE_DENSITY": 2.0, "_MAX_DENSE_GROUPS": 2},
        {"_DENSE_ABOVE_DENSITY": 0.0, "_DENSE_CHUNK": 5, "_MIN_CHUNK_COLUMNS": 1},
        {"_DENSE_ABOVE_DENSITY": 0.0, "_MAX_DENSE_GROUPS": 2},
    ):
        with monkeypatch.context() as changed:
            for name, value in changes.items():
                changed.setattr(entropy_rate, name, value)
            np.testing.assert_allclose(bounds(6), expected, rtol=0, atol=ROUNDING)
    monkeypatch.setattr(entropy_rate, "_MAX_STORED_PROBABILITIES", 12 * 3**2)
    shortened = bounds(6)
    assert 2 < len(shortened) < 6
    np.testing.assert_allclose(shortened, expected[: len(shortened)], rtol=0, atol=ROUNDING)


def test_words_that_cannot_be_seen_are_left_out():
    """A ring through three groups has only six words of every length: long blocks are cheap."""
    ring = sparse.csr_array(np.roll(np.eye(6), 1, axis=1))
    answer = Aggregation.from_labels(ring, [0, 0, 1, 1, 2, 2])
    *_, last = blocks(hidden_markov_process(answer.original, answer.map.weights), 1e6)
    assert last.length > 90
    assert last.upper == pytest.approx(0.0, abs=last.rounding)
    # H(Y_2|Y_1) > 0, but two successive groups determine the state of the ring.
    found = answer.guarantees
    assert found.entropy_rate.upper < ROUNDING
    assert found.divergence.lower == pytest.approx(1.0, abs=ROUNDING)


# Brackets


@settings(max_examples=40)
@given(small_map)
def test_brackets_are_within_the_bounds_of_all_blocks(drawn):
    """The bracket of H(Y) is within all bounds from blocks of up to its length."""
    P, given_map = drawn
    answer = Aggregation.from_labels(P, given_map)
    found = answer.guarantees_within(tolerance=0.0, budget=1e5)
    mu = reference.stationary_law(P)
    bounds = [reference.entropy_rate_bounds(P, mu, answer.mapping, m) for m in (2, 3)]
    assert found.block_length >= 3 or found.divergence.gap == 0.0
    assert max(lower for lower, _ in bounds) - ROUNDING <= found.entropy_rate.lower
    assert found.entropy_rate.upper <= min(upper for _, upper in bounds) + ROUNDING
    assert found.entropy_rate.lower <= found.entropy_rate.upper
    # H(Y) = H(Y2|Y1) - D and R(Y) = I(Y1;Y2) + D: the bracket of D determines the others.
    step = reference.conditional_entropy(reference.joint_of_groups(P, mu, answer.mapping))
    whole = reference.entropy(reference.group_law(mu, answer.mapping))
    for rate, divergence, redundancy in (
        (found.entropy_rate.lower, found.divergence.upper, found.redundancy_rate.upper),
        (found.entropy_rate.upper, found.divergence.lower, found.redundancy_rate.lower),
    ):
        assert step - rate == pytest.approx(divergence, abs=ROUNDING)
        assert whole - rate == pytest.approx(redundancy, abs=ROUNDING)


@given(any_map)
def test_more_budget_never_widens(drawn):
    answer = Aggregation.from_labels(*drawn)
    wide, narrow = (answer.guarantees_within(tolerance=0.0, budget=budget) for budget in (0, 1e5))
    assert wide.block_length == 2
    assert wide.operations == 0
    assert narrow.operations <= 1e5
    assert (
        wide.divergence.lower <= narrow.divergence.lower <= narrow.divergence.upper <= wide.divergence.upper
    )
    for beta in (0.0, 0.3, 0.5, 1.0):
        assert narrow.delta(beta).gap <= wide.delta(beta).gap


@given(chains.lumpable(), chains.betas, st.booleans())
def test_brackets_of_lumpable_maps_are_points(drawn, beta, as_sparse):
    """Y is Markov: D(Y||Y~) = 0, H(Y) = H(Y2|Y1) and delta_beta = beta C_P."""
    P, labels = drawn
    answer = Aggregation.from_labels(sparse.csr_array(P) if as_sparse else P, labels)
    found = answer.guarantees_within(tolerance=1e-12, budget=1e5)
    assert found.block_length == 2
    for bracket in (found.divergence, found.entropy_rate, found.redundancy_rate, found.delta(beta)):
        assert 0.0 <= bracket.gap <= 1e-12
    assert found.divergence.upper <= 1e-12
    assert found.entropy_rate.lower == pytest.approx(answer.chain.entropy_rate, abs=ROUNDING)
    assert found.redundancy_rate.lower == pytest.approx(answer.chain.redundancy_rate, abs=ROUNDING)
    assert found.delta(beta).lower == pytest.approx(beta * answer.costs.predictability, abs=ROUNDING)


def test_lumpable_large_and_sparse(rng):
    labels = chains.random_labels(20_000, 5, rng)
    P = expand_chain(rng.dirichlet(np.ones(5), size=5), labels, rng)
    answer = Aggregation.from_labels(P, labels)
    found = answer.guarantees_within(tolerance=1e-12)
    assert found.block_length == 2
    assert found.entropy_rate.gap <= 1e-12
    assert found.entropy_rate.lower == pytest.approx(answer.chain.entropy_rate, abs=ROUNDING)


def test_equal_rows_of_a_map_show_nothing(rng):
    """W = 1 alpha^T: Y is independent and identically distributed, its entropy rate is H(alpha)."""
    alpha = rng.dirichlet(np.ones(3))
    answer = Aggregation.from_labels(chains.random_matrix("dense", 6, rng), np.tile(alpha, (6, 1)))
    found = answer.guarantees_within(tolerance=1e-12)
    assert found.entropy_rate.gap <= 1e-12
    assert found.entropy_rate.lower == pytest.approx(reference.entropy(alpha), abs=ROUNDING)


def test_blocks_end_even_if_words_are_few():
    """With a tolerance of 0 the budget ends the blocks, although each takes hardly any operations."""
    rates = np.array([[0.1, 0.2, 0.7], [0.3, 0.3, 0.4], [0.6, 0.3, 0.1]])
    answer = Aggregation.from_labels(rates, [[0.1, 0.9]] * 3)
    found = answer.guarantees_within(tolerance=0.0, budget=1e6)
    assert found.block_length <= 100
    assert found.divergence.upper < ROUNDING


def test_tolerance_is_met_by_longer_blocks():
    answer = Aggregation.from_labels(EXAMPLE, [0, 1, 1])
    lengths = []
    for tolerance in (1e-3, 1e-6, 1e-9):
        found = answer.guarantees_within(tolerance)
        assert found.divergence.gap <= tolerance
        lengths.append(found.block_length)
    assert lengths == sorted(set(lengths))
    assert answer.guarantees is answer.guarantees
    assert answer.guarantees.divergence.gap <= 1e-6


@pytest.mark.parametrize("soft", [False, True])
def test_budget_on_a_large_sparse_chain(rng, soft):
    chain = sparse_chain(20_000, rng)
    labels = chains.random_labels(20_000, 10, rng)
    mapping = labels
    if soft:
        other = np.eye(10)[(labels + 1) % 10]
        mapping = sparse.csr_array(0.9 * np.eye(10)[labels] + 0.1 * other)
    answer = Aggregation.from_labels(chain, mapping)
    done = []
    found = answer.guarantees_within(budget=3e6, progress=lambda *step: done.append(step))
    assert found.block_length > 2
    assert found.operations <= 3e6
    assert done[-1][:2] == (found.operations, 3_000_000)
    alone = answer.guarantees_within(budget=0)
    assert alone.block_length == 2
    assert found.entropy_rate.gap < alone.entropy_rate.gap


def test_a_deterministic_chain_has_no_entropy(rng):
    """H(Y) <= H(X) for a deterministic map: if X is a cycle, H(Y) = 0 without any longer block."""
    ring = np.roll(np.eye(7), 1, axis=1)
    found = Aggregation.from_labels(ring, [0, 0, 1, 0, 1, 1, 0]).guarantees_within(budget=0)
    assert found.entropy_rate.upper < ROUNDING
    assert found.divergence.lower > 0.5


def test_vanishing_masses():
    rare = 1e-300
    P = [[0.7, 0.3 - rare, rare], [0.6, 0.4 - rare, rare], [0.25, 0.25, 0.5]]
    chain = MarkovChain(P, stationary_distribution=[2 / 3, 1 / 3, 2e-300])
    for given_map in ([0, 1, 1], [[1, 0], [0.5, 0.5], [0, 1]]):
        found = Aggregation.from_labels(chain, given_map).guarantees
        assert 0.0 <= found.divergence.lower <= found.divergence.upper
        assert found.entropy_rate.gap <= 1e-6


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tolerance": -1e-9}, r"tolerance=-1e-09 must be a finite number, 0 or more"),
        ({"tolerance": "small"}, r"tolerance='small' must be"),
        ({"budget": np.nan}, r"budget=nan must be"),
        ({"budget": True}, r"budget=True must be"),
        ({"budget": np.inf}, r"budget=inf must be a finite number"),
    ],
)
def test_impossible_limits(options, message):
    with pytest.raises(InvalidArgumentError, match=message):
        Aggregation.from_labels(EXAMPLE, [0, 1, 1]).guarantees_within(**options)


@pytest.mark.parametrize("beta", [-0.1, 1.1, np.nan, "half", None, True])
def test_impossible_beta(beta):
    found = Aggregation.from_labels(EXAMPLE, [0, 1, 1]).guarantees
    with pytest.raises(InvalidArgumentError, match=r"^beta=.* must be a number between 0 and 1$"):
        found.delta(beta)
