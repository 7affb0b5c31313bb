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
