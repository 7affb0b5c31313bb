"""Counts of sequences, in pieces that are weighed as a whole."""

import numpy as np
import pytest

import klump
from klump.errors import InvalidArgumentError


def test_sequences_are_counted_as_chains_count_them():
    walks = ["abcabca", "aab", "c", "bbca"]
    for lag in (1, 2):
        counts = klump.SequenceCounts(walks, lag)
        plain = klump.MarkovChain.from_sequences(walks, lag=lag)
        assert counts.states == plain.states
        sums = counts.count_matrix.sum(axis=1, keepdims=True)
        np.testing.assert_allclose(counts.count_matrix / sums, plain.transition_matrix)
        np.testing.assert_array_equal(
            counts.by_piece.sum(axis=0), counts.count_matrix[counts.count_matrix > 0]
        )
    assert repr(klump.SequenceCounts(walks)) == "SequenceCounts(3 states, 11 transitions in 3 pieces)"
    assert repr(klump.SequenceCounts(walks, block_length=2)).endswith("in 6 pieces)")


def test_a_piece_has_the_transitions_of_its_block():
    counts = klump.SequenceCounts(["aabb", "bba"], block_length=2)
    # ab and ba are in one piece each; aa, ab | bb || bb, ba.
    np.testing.assert_array_equal(counts.count_matrix, [[1, 1], [1, 2]])
    np.testing.assert_array_equal(counts.by_piece.toarray(), [[1, 1, 0, 0], [0, 0, 0, 1], [0, 0, 1, 1]])


def test_first_symbols_are_where_a_restart_leads():
    walks = ["abcab", "bca", "acb", "caab"]
    counts = klump.SequenceCounts(walks)
    assert counts.initial.tolist() == [0.5, 0.25, 0.25]
    found = klump.bootstrap(counts, 2, n_samples=3, restart=0.2)
    plain = klump.MarkovChain.from_sequences(walks, restart=0.2)
    np.testing.assert_allclose(found.estimate.original.transition_matrix, plain.transition_matrix)


def test_joined_sequences():
    walks = [["a", "b"], ["b", "b", "a"], ["a"]]
    counts = klump.SequenceCounts(walks, ends="join")
    assert counts.states == ("a", "b", "(start/end)")
    np.testing.assert_array_equal(counts.count_matrix, [[0, 1, 2], [1, 1, 1], [2, 1, 0]])
    np.testing.assert_array_equal(counts.by_piece.sum(axis=1), [3, 4, 2])
    assert klump.bootstrap(counts, 2, n_samples=3).estimate.original.states == counts.states
    with pytest.raises(InvalidArgumentError, match="ends='join' does not go with lag=2"):
        klump.SequenceCounts(walks, 2, ends="join")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("abcab",), "sequences make 1 piece, .*; pass block_length to cut sequences"),
        ((["abcab", "ab"], 7), "sequences hold no transition at lag=7"),
        ((["abcab", "ab"], 1, 0), "block_length=0 must be a whole number"),
    ],
)
def test_sequences_that_cannot_be_weighed(arguments, message):
    with pytest.raises(InvalidArgumentError, match=message):
        klump.SequenceCounts(*arguments)
