"""Bundled chains, against numbers from the paper and from the table itself."""

from __future__ import annotations

import string

import numpy as np
import pytest

from klump import datasets


def stationary_law(P):
    n = len(P)
    system = np.vstack([P.T - np.eye(n), np.ones(n)])
    return np.linalg.lstsq(system, np.append(np.zeros(n), 1.0), rcond=None)[0]


def mutual_information(joint):
    outer = np.outer(joint.sum(axis=1), joint.sum(axis=0))
    some = joint > 1e-15
    return float((joint[some] * np.log2(joint[some] / outer[some])).sum())


@pytest.fixture(scope="module")
def letters():
    return datasets.letter_bigrams()


def test_letters_are_the_characters_of_the_book(letters):
    assert letters.n_states == 76
    assert letters.n_transitions == 1146
    assert letters.is_irreducible
    assert letters.states == tuple(sorted(letters.states))
    # X never occurs as a capital; the paper's alphabet lacks it too.
    expected = set(string.ascii_letters) - {"X"} | set(string.digits) | set(" !\"$'(),-.:;?[]")
    assert set(letters.states) == expected


def test_letters_have_about_one_bit_of_mutual_information(letters):
    P = letters.transition_matrix
    law = stationary_law(P)
    assert mutual_information(law[:, None] * P) == pytest.approx(0.95, abs=0.02)
    # The chain is estimated from one text, so its stationary distribution is that of the letter frequencies.
    assert law[letters.states.index(" ")] == pytest.approx(0.18, abs=0.02)
    assert P[letters.states.index("q"), letters.states.index("u")] > 0.95


def test_three_state_example_has_the_costs_of_the_paper():
    chain, labels = datasets.three_state_example()
    P = chain.transition_matrix
    law = stationary_law(P)
    joint = law[:, None] * P
    W = np.eye(2)[labels]
    predictability = mutual_information(joint) - mutual_information(W.T @ joint @ W)
    lumpability = mutual_information(joint @ W) - mutual_information(W.T @ joint @ W)
    assert lumpability == pytest.approx(0.008560, abs=5e-7)
    assert predictability == pytest.approx(0.013547, abs=5e-7)
    assert not np.allclose(joint, joint.T)


def test_datasets_are_reached_from_the_package():
    import klump

    assert klump.datasets is datasets
