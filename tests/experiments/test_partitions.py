"""Partitions of characters: read, matched and written."""

import itertools

import numpy as np
import pytest

from klump.experiments.partitions import align, format_groups, mismatches, parse_groups


@pytest.mark.parametrize("n_groups", [1, 2, 4])
def test_matching_leaves_over_as_few_as_any_renumbering(rng, n_groups):
    for _ in range(30):
        labels, target = rng.integers(n_groups, size=(2, 12))
        fewest = min(
            np.count_nonzero(np.array(numbers)[labels] != target)
            for numbers in itertools.permutations(range(n_groups))
        )
        assert mismatches(labels, target).sum() == fewest


def test_partitions_with_different_numbers_of_groups_can_be_matched():
    assert mismatches(np.array([0, 0, 0, 0]), np.array([0, 1, 2, 2])).sum() == 2
    assert mismatches(np.array([0, 1, 2, 2]), np.array([0, 0, 0, 0])).sum() == 2


def test_numbers_of_groups_do_not_matter(rng):
    labels, target = rng.integers(5, size=(2, 30))
    renumbered = rng.permutation(5)[labels]
    assert mismatches(renumbered, target).sum() == mismatches(labels, target).sum()
    np.testing.assert_array_equal(align(renumbered, labels), labels)


def test_equal_partitions_have_no_marks():
    symbols = list("␣ab[")
    labels = parse_groups("[a ␣b", symbols)
    assert str(format_groups(labels, labels, symbols)) == "{a[} {␣b}"


def test_marks_are_the_characters_that_differ(rng):
    symbols = [chr(ord("a") + number) for number in range(26)]
    labels, target = rng.integers(3, size=(2, 26))
    pieces = format_groups(labels, target, symbols).pieces
    marked = "".join(text for text, is_marked in pieces if is_marked)
    assert sorted(marked) == [symbols[i] for i in np.flatnonzero(mismatches(labels, target))]
    assert sorted("".join(text for text, _ in pieces).translate({ord(c): None for c in "{} "})) == symbols
