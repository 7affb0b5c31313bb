"""Steps, spectrum, held-out bits and the table, each against its definition."""

import itertools
import math

import numpy as np
import pytest
from scipy import sparse

import klump
from counted import COUNTS, LABELS
from klump.errors import InvalidArgumentError
from klump.selection.held_out import read_held_out
from klump.selection.rule import Candidate, ChanceTest, explain_choice
from klump.selection.spectrum import eigenvalue_moduli
from klump.selection.steps import compute_steps
from klump.selection.table import SelectionRow
from klump.sources.random_chains import random_chain, sparse_block_chain


def test_gains_are_per_added_group():
    steps = compute_steps(1.0, (2, 4, 5), {2: 0.8, 4: 0.4, 5: 0.35}, single=1.0)
    assert [step.previous for step in steps] == [1, 2, 4]
    np.testing.assert_allclose([step.gain for step in steps], [0.2, 0.2, 0.05])
    np.testing.assert_allclose([step.next_gain for step in steps], [0.2, 0.05, math.nan])
    np.testing.assert_allclose([step.bend for step in steps], [1.0, 4.0, math.nan])


def test_a_bend_compares_with_all_later_steps():
    costs = {2: 0.7, 3: 0.65, 4: 0.4, 5: 0.39}
    bends = [step.bend for step in compute_steps(0.5, (2, 3, 4, 5), costs, single=1.0)]
    np.testing.assert_allclose(bends, [0.3 / 0.25, 0.05 / 0.25, 0.25 / 0.01, math.nan])


def test_tiny_steps_do_not_stand_out():
    costs = {2: 0.5, 3: 0.5 - 1e-6, 4: 0.5 - 1e-6 - 1e-12}
    bends = [step.bend for step in compute_steps(0.5, (2, 3, 4), costs, single=1.0)]
    assert bends[0] == pytest.approx(500)
    assert bends[1] == pytest.approx(1e-3)


def test_moduli_are_those_of_all_eigenvalues():
    chain = random_chain(40, random_state=2)
    expected = np.sort(np.abs(np.linalg.eigvals(chain.transition_matrix)))[::-1]
    np.testing.assert_allclose(eigenvalue_moduli(chain, 6), expected[:6], atol=1e-10)


def test_moduli_of_a_large_sparse_chain():
    chain, _ = sparse_block_chain(1_200, 4, kind="metastable", random_state=0)
    expected = np.sort(np.abs(np.linalg.eigvals(chain.transition_matrix.toarray())))[::-1]
    found = eigenvalue_moduli(chain, 5)
    np.testing.assert_allclose(found, expected[:5], atol=1e-5)
    np.testing.assert_array_equal(found, eigenvalue_moduli(chain, 5))


def test_held_out_bits_by_the_definition():
    chain = klump.MarkovChain.from_counts(COUNTS, states="abcdefg")
    answer = klump.Aggregation.from_labels(chain, LABELS)
    sequences = [list("abcgf"), list("gdz"), list("ca")]
    found = read_held_out(sequences, chain)
    assert (found.n_transitions, found.n_unknown) == (6, 1)
    bits = []
    for sequence in sequences:
        for x, y in itertools.pairwise(sequence):
            if "z" in (x, y):
                continue
            i, j = "abcdefg".index(x), "abcdefg".index(y)
            g, h = LABELS[i], LABELS[j]
            mu = chain.stationary_distribution
            nu = np.array([mu[group == LABELS].sum() for group in range(3)])
            within = [
                mu[s] / nu[g] * chain.transition_matrix[s, h == LABELS].sum()
                for s in range(7)
                if LABELS[s] == g
            ]
            n = COUNTS[g == LABELS].sum()
            bits.append(-math.log2((n * sum(within) + nu[h]) / (n + 1) * mu[j] / nu[h]))
    assert found.bits_per_step(answer) == pytest.approx(np.mean(bits), abs=1e-12)


def test_held_out_bits_are_infinite_for_what_a_model_excludes():
    P = np.kron([[0.0, 1.0], [1.0, 0.0]], [[0.5, 0.5], [0.5, 0.5]])
    chain = klump.MarkovChain(P)
    answer = klump.Aggregation.from_labels(chain, [0, 0, 1, 1])
    assert read_held_out([[0, 2, 1, 3]], chain).bits_per_step(answer) == pytest.approx(1.0)
    assert read_held_out([[0, 1]], chain).bits_per_step(answer) == math.inf


def test_held_out_counts_may_have_a_lag():
    chain = klump.MarkovChain.from_counts(COUNTS, states="abcdefg")
    counts = klump.SequenceCounts(["abcdefg", "gfedcba"], lag=2)
    found = read_held_out(counts, chain)
    assert found.n_transitions == 10
    assert set(np.abs(found.source - found.target)) == {2}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["xyz"], "held_out has no transition between states of the chain"),
        (["a"], "held_out hold no transition"),
    ],
)
def test_held_out_without_transitions_is_refused(given, message):
    with pytest.raises(InvalidArgumentError, match=message):
        read_held_out(given, klump.MarkovChain.from_counts(COUNTS, states="abcdefg"))


def test_sparse_and_dense_spectra_are_equal():
    chain, _ = sparse_block_chain(100, 3, random_state=0)
    dense = klump.MarkovChain(chain.transition_matrix.toarray())
    assert sparse.issparse(chain.transition_matrix)
    np.testing.assert_allclose(eigenvalue_moduli(chain, 4), eigenvalue_moduli(dense, 4), atol=1e-10)


@pytest.mark.parametrize(
    ("shuffled", "words"),
    [
        ((0.01, 0.03), "no more than chance (0.0200)"),
        ((0.017, 0.019), "hardly more than chance (0.0180)"),
        ((0.001, 0.003), "more than chance: finer groups are there, too (0.0020)"),
    ],
)
def test_words_about_the_next_step(shuffled, words):
    step = compute_steps(0.5, (2, 3, 4), {2: 0.5, 3: 0.3, 4: 0.28}, single=1.0)[1]
    row = SelectionRow(3, 0.5, 0.3, 0.1, 0.6, 0.5, 0.2, 10.0, 0.4, 0.01, 0.02, None, 0.97, None, None)
    reason = explain_choice(
        Candidate(step, row), ChanceTest(0.2, (0.02, 0.03)), ChanceTest(step.next_gain, shuffled)
    )
    assert reason == (
        "3 groups at beta 0.5: the step from 2 lowers the cost by 0.2000 bits, 10 times as much as any later step and "
        f"8.0 times as much as on shuffled chains (0.0250 bits, mean of 2); the next step gains 0.0200 bits, {words}; "
        "resamples agree (adjusted Rand index 0.97); the groups keep 40.0 % of the mutual information"
    )
