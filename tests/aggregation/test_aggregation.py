"""Aggregation and AggregationPath: derived properties and their text."""

from __future__ import annotations

import dataclasses
import itertools

import numpy as np
import pytest
from hypothesis import given
from scipy import sparse

import chains
from klump.aggregation.aggregation import Aggregation
from klump.aggregation.costs import next_group_distributions, score
from klump.aggregation.mapping import as_mapping
from klump.aggregation.path import AggregationPath
from klump.chain import MarkovChain
from klump.errors import InvalidArgumentError

P = np.array([[0.5, 0.4, 0.1], [0.4, 0.5, 0.1], [0.05, 0.05, 0.9]])
NAMES = ["sun", "cloud", "rain"]


def answer_for(labels=(0, 0, 1), beta=0.5, **facts):
    chain = MarkovChain(P, states=NAMES)
    return Aggregation(chain, as_mapping(list(labels), 3), beta, **facts)


@given(chains.matrices_and_labels(), chains.betas)
def test_cost_is_the_score_at_its_own_beta(drawn, beta):
    P, labels, k = drawn
    answer = Aggregation.from_labels(P, labels, beta)
    assert answer.cost == answer.costs.at(beta)
    assert answer.cost == pytest.approx(score(P, answer.mapping).at(beta), abs=1e-12)
    assert answer.cost == pytest.approx(score(P, answer).at(beta), abs=1e-12)
    assert answer.n_states == k
    assert answer.chain.n_states == k
    assert answer.kept == answer.costs.kept


@given(chains.matrices_and_labels())
def test_groups_hold_every_state_once_heaviest_first(drawn):
    P, labels, k = drawn
    chain = MarkovChain(P, states=[f"s{i}" for i in range(len(P))])
    answer = Aggregation.from_labels(chain, labels)
    assert len(answer.groups) == k
    assert sorted(itertools.chain(*answer.groups)) == sorted(chain.states)
    mass = dict(zip(chain.states, chain.stationary_distribution, strict=True))
    for number, group in enumerate(answer.groups):
        assert {labels[chain.states.index(name)] for name in group} == {number}
        assert all(mass[later] <= mass[sooner] * (1 + 1e-6) for sooner, later in itertools.pairwise(group))
        assert answer.masses[number] == pytest.approx(sum(mass[name] for name in group), abs=1e-15)


def test_groups_of_equal_mass_keep_the_order_of_the_states():
    # Seven states, because 1/7 is not a float.
    answer = Aggregation.from_labels(np.full((7, 7), 1 / 7), [1, 0, 1, 0, 0, 1, 1])
    assert answer.groups == [(1, 3, 4), (0, 2, 5, 6)]


def test_stochastic_map_shows_its_most_probable_groups():
    answer = Aggregation.from_labels(MarkovChain(P, states=NAMES), [[0.9, 0.1], [0.4, 0.6], [0.0, 1.0]])
    assert answer.labels.tolist() == [0, 1, 1]
    assert answer.groups[0] == ("sun",)
    np.testing.assert_array_equal(answer.mapping, [[0.9, 0.1], [0.4, 0.6], [0.0, 1.0]])


def test_sparse_chains_are_never_densified(rng):
    n = 3000
    ring = sparse.csr_array((np.ones(n), (np.arange(n), (np.arange(n) + 1) % n)), shape=(n, n))
    chain = MarkovChain(0.5 * ring + 0.5 * sparse.eye_array(n), stationary_distribution=np.full(n, 1 / n))
    answer = Aggregation.from_labels(chain, np.arange(n) // 1000)
    assert answer.chain.n_states == 3
    np.testing.assert_allclose(np.diag(answer.chain.transition_matrix), 1 - 0.5 / 1000, rtol=1e-12)
    # P W has one entry per state, and a second one for the last state of each group.
    assert sum(len(p) for _, _, p in next_group_distributions(chain.transition_matrix, answer.map)) == n + 3
    # Only the last state of a group can leave it, with probability 1/2.
    assert answer.bisimulation.epsilon == pytest.approx(0.5 - 0.5 / 1000, rel=1e-12)


def test_nearly_trivial_answers_say_so():
    P = np.full((4, 4), 0.25) + 0.2 * np.array([[1, -1, 0, 0], [-1, 1, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0]])
    plain, trivial = Aggregation.from_labels(P, [0, 1, 1, 1]), Aggregation.from_labels(P, [0, 0, 1, 1], 0.1)
    assert plain.kept > 0.05
    assert plain.notes == ()
    assert trivial.kept < 0.05
    (note,) = trivial.notes
    assert note.startswith("nearly trivial")
    assert f"note: {note}" in str(trivial)
    # One group always keeps 0 %: no note.
    assert Aggregation.from_labels(P, [0, 0, 0, 0]).notes == ()


@pytest.mark.parametrize(
    ("method", "beta", "helps"),
    [
        ("auto", 0.1, True),
        ("stochastic", 0.0, True),
        ("auto", 1.0, False),
        ("given", 0.1, False),
        ("deterministic-annealing", 0.1, False),
        ("agglomerative-relaxed", 0.1, False),
        ("sklearn-spectral", 0.1, False),
    ],
)
def test_a_larger_beta_is_advised_where_beta_steers_the_method(method, beta, helps):
    P = np.full((4, 4), 0.25) + 0.2 * np.array([[1, -1, 0, 0], [-1, 1, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0]])
    (note,) = Aggregation(MarkovChain(P), as_mapping([0, 0, 1, 1], 4), beta, method).notes
    small_gamma = ", or a small gamma, like 0.05" * (method == "auto")
    advice = f"; try a larger beta than {beta:g}{small_gamma}" if helps else ""
    assert note.endswith(f"successive groups are almost independent{advice}")


def test_names_that_would_be_misread_are_quoted():
    text = str(Aggregation.from_labels(MarkovChain(P, states=[" ", "a b", "c"]), [0, 0, 0]))
    assert text.startswith("3 states in 1 group, ")
    assert all(name in text for name in ("' '", "'a b'", " c"))


def test_notes_tell_what_was_applied_and_what_was_interrupted():
    absorbing = MarkovChain([[0.5, 0.5, 0.0], [0.0, 0.4, 0.6], [0.0, 0.7, 0.3]], restrict="largest")
    answer = Aggregation(absorbing, as_mapping([0, 1], 2), interrupted=True)
    assert answer.notes == (*absorbing.applied, "interrupted: this is the best found so far")
    assert "restricted to the largest closed class" in str(answer)


@pytest.mark.parametrize(
    ("n", "few", "noted"), [(640, 15, True), (99, 2, False), (2000, 60, False), (120, 7, False)]
)
def test_concentrated_mass_is_noted(n, few, noted):
    """Fewer than 5 % of at least 100 states, and fewer than 50, hold half of the mass."""
    mu = np.r_[np.full(few, 0.55 / few), np.full(n - few, 0.45 / (n - few))]
    chain = MarkovChain(np.tile(mu, (n, 1)))
    notes = [
        note
        for note in Aggregation(chain, as_mapping(np.arange(n) % 2, n)).notes
        if note.kind == "concentrated"
    ]
    assert len(notes) == noted
    if noted:
        assert notes[0].startswith("concentrated: 14 of 640 states hold half of the stationary mass")
        assert notes[0].endswith("restart=0.01, --restart 0.01")
        restarted = Aggregation(MarkovChain(chain, restart=0.01), as_mapping(np.arange(n) % 2, n)).notes
        (after,) = (note for note in restarted if note.kind == "concentrated")
        assert "restart=" not in after


def test_text_shows_masses_groups_and_costs():
    text = str(answer_for(beta=0.8, method="annealing"))
    first, header, heavy, *_ = text.splitlines()
    assert first == "3 states in 2 groups, beta = 0.8, annealing"
    assert header.split() == ["group", "states", "mass", "members,", "heaviest", "first"]
    assert heavy.split()[3:] == ["sun", "cloud"]
    assert "cost 0.0" in text
    assert "kept" in text


def test_text_of_many_states_is_cut():
    answer = Aggregation.from_labels(np.full((30, 30), 1 / 30), np.zeros(30, dtype=int))
    listed = str(answer).splitlines()[2]
    assert listed.endswith("17 18 ... +11")
    assert len(listed) <= 80


def test_answers_are_frozen():
    answer = answer_for()
    with pytest.raises(dataclasses.FrozenInstanceError):
        answer.beta = 0.1
    soft = Aggregation.from_labels(P, [[0.5, 0.5], [1, 0], [0, 1]])
    for array in (answer.labels, answer.mapping, answer.masses, soft.labels):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1


def test_beta_is_checked():
    with pytest.raises(InvalidArgumentError, match="beta=2 must lie between 0"):
        Aggregation.from_labels(P, [0, 0, 1], beta=2)


def test_path_is_a_sequence_that_finds_its_betas():
    path = AggregationPath(tuple(answer_for(beta=beta) for beta in (1.0, 0.7, 0.1 * 3, 0.0)))
    assert len(path) == 4
    assert [answer.beta for answer in path] == path.betas.tolist()
    assert path[1].beta == 0.7
    assert [answer.beta for answer in path[:2]] == [1.0, 0.7]
    # 0.1 * 3 != 0.3 in floating point.
    assert path.at(0.3) is path[2]
    np.testing.assert_array_equal(path.costs, [answer.cost for answer in path])
    assert not path.interrupted
    with pytest.raises(InvalidArgumentError, match=r"beta=0.35 is not on this path; it has 1.0, 0.7"):
        path.at(0.35)


def test_path_is_interrupted_if_one_of_its_steps_was():
    assert AggregationPath((answer_for(), answer_for(interrupted=True))).interrupted
