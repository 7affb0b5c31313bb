"""Guaranteed and observed errors: against slow sums over all paths, and the verdicts on them."""

import dataclasses
import itertools
import json

import numpy as np
import pytest

from klump import Aggregation, aggregate
from klump.experiments import Settings, bisimulation, bisimulation_report, bisimulation_verdicts, points
from klump.experiments.bisimulation import marginal_errors, path_errors
from klump.sources.random_chains import block_chain, random_chain

SEED = 20170913


def quick(chain, n_states, beta, **options):
    """Fast replacement of the default, for tests of the bookkeeping."""
    return aggregate(chain, n_states, beta, method="annealing", n_init=1, **options)


@pytest.fixture(scope="module")
def result():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bisimulation, "aggregate", quick)
        return bisimulation_report.run(Settings(trials=20, seed=SEED))


@pytest.fixture(scope="module")
def certificates():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bisimulation, "aggregate", quick)
        fixed = bisimulation.run_chain("three-state", [], 0, 0)
        random = bisimulation.run_chain("quasi-lumpable", [0.5, 0.0], 1, 1)
    every = [*((record, None) for record in fixed), *((record, 1) for record in random)]
    return [bisimulation._certificate(record, draw) for record, draw in every]


def path_law(P, labels, n_groups, start, steps):
    """Probability of each sequence of groups, summed over all sequences of states."""
    law = dict.fromkeys(itertools.product(range(n_groups), repeat=steps), 0.0)
    for states in itertools.product(range(len(P)), repeat=steps):
        probability = 1.0
        for here, there in itertools.pairwise((start, *states)):
            probability *= P[here][there]
        law[tuple(int(labels[x]) for x in states)] += probability
    return law


def variation(first, second):
    return 0.5 * sum(abs(first[key] - second[key]) for key in first)


def last(law):
    """Law of the last group of a path."""
    groups = dict.fromkeys((path[-1] for path in law), 0.0)
    for path, probability in law.items():
        groups[path[-1]] += probability
    return groups


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_observed_errors_are_those_of_sums_over_all_paths(kind):
    chain = random_chain(6, kind, degree=3, random_state=SEED)
    labels = np.array([0, 1, 2, 0, 1, 0])
    answer = Aggregation.from_labels(chain, labels)
    P = chain.transition_matrix if kind == "dense" else chain.transition_matrix.toarray()
    Q = answer.chain.transition_matrix
    for steps in (1, 2, 3):
        laws = [
            (path_law(P, labels, 3, x, steps), path_law(Q, range(3), 3, labels[x], steps)) for x in range(6)
        ]
        together = max(variation(*pair) for pair in laws)
        alone = max(variation(last(first), last(second)) for first, second in laws)
        assert path_errors(answer, steps)[-1] == pytest.approx(together, abs=1e-14)
        assert marginal_errors(answer, steps)[-1] == pytest.approx(alone, abs=1e-14)


@pytest.mark.parametrize("seed", range(10))
def test_errors_of_paths_grow_from_epsilon_by_at_most_epsilon_per_step(seed):
    chain = random_chain(12, concentration=0.2, random_state=seed)
    answer = Aggregation.from_labels(chain, np.arange(12) % 3)
    epsilon = answer.bisimulation.epsilon
    paths, marginal = path_errors(answer, 5), marginal_errors(answer, 5)
    assert paths[0] == pytest.approx(epsilon, abs=1e-14)
    steps = np.diff(paths)
    assert (steps >= -1e-14).all()
    assert (steps <= epsilon + 1e-14).all()
    assert (np.array(marginal) <= np.array(paths) + 1e-14).all()


def test_the_proposition_is_the_bound_that_klump_reports():
    chain, planted = block_chain((5, 5, 8), eps=0.3, random_state=SEED)
    answer = Aggregation.from_labels(chain, planted)
    assert bisimulation._proposition(answer) == pytest.approx(answer.bisimulation.bound, rel=1e-12)
    assert answer.bisimulation.bound > answer.bisimulation.epsilon


def test_every_guarantee_holds(result):
    assert len(result.verdicts) == 9 + 9 + 2 + 1
    undecided = [verdict for verdict in result.verdicts if verdict.outcome != "agrees"]
    assert {verdict.outcome for verdict in undecided} == {"undecided"}
    # Two draws of the clouds, two of the circles, six lumpable chains: too few.
    few = [verdict for verdict in undecided if verdict.draws is not None]
    assert [verdict.draws for verdict in few] == [2] * 8 + [6]
    assert all(verdict.found == 1.0 for verdict in few[:-1])
    # One rare letter makes the bound larger than any total variation.
    unfailing = [verdict.what for verdict in undecided if verdict.draws is None]
    assert unfailing == ["bigrams: Proposition 1 holds (share of chains)"] * 2


@pytest.mark.parametrize(
    "epsilon, proposition, outcomes",
    [
        (0.05, 0.9, ["agrees", "agrees"]),
        (0.05, 1.0, ["undecided", "agrees"]),
        (0.9, 2.0, ["undecided", "agrees"]),
        (0.9, 0.8, ["differs", "agrees"]),
        (1.0, 2.0, ["undecided", "undecided"]),
    ],
)
def test_a_trivial_bound_is_undecided(certificates, epsilon, proposition, outcomes):
    errors = (epsilon,) * 3
    changed = dataclasses.replace(
        certificates[0], epsilon=epsilon, proposition=proposition, marginal=errors, paths=errors
    )
    verdicts = [
        v for v in bisimulation_verdicts.verdicts([changed, *certificates[1:]]) if "three-state" in v.what
    ]
    assert [verdict.outcome for verdict in verdicts] == outcomes
    for verdict in verdicts:
        assert ("no total variation can exceed" in verdict.obstacle) == (verdict.outcome == "undecided")


def test_ten_draws_are_enough(certificates):
    three_states, planted, *found = certificates
    for count in (9, 10):
        every = [three_states, *(dataclasses.replace(planted, draw=draw) for draw in range(count)), *found]
        outcomes = {
            v.what: v.outcome for v in bisimulation_verdicts.verdicts(every) if v.mode == "as published"
        }
        expected = "agrees" if count == 10 else "undecided"
        assert outcomes["quasi-lumpable: Proposition 1 holds (share of chains)"] == expected
        assert outcomes["lumpable chains (eps = 0) in their planted groups: largest epsilon"] == expected
        assert outcomes["three-state: Proposition 1 holds (share of chains)"] == "agrees"
        tables = bisimulation_report.tables(every)
        assert [len(table.rows) for table in tables] == ([1, 1] if count == 10 else [1])
        assert ("9 chains: too few to show" in tables[0].note) == (count == 9)


def test_points_are_walked_on_as_published():
    (planted, *_) = bisimulation._ANSWERS["circles"]([120, points.PUBLISHED], 5, 0)
    expected = points.chain_of(points.draw_points("circles", 5)[0], 120)
    np.testing.assert_array_equal(planted[-1].original.transition_matrix, expected.transition_matrix)
    calls = [call for call in bisimulation._calls(Settings()) if call[0] in ("clouds", "circles")]
    assert {call[1][1] for call in calls} == {"self counts"}


def test_there_are_tables_pictures_and_data(result):
    assert [len(table.rows) for table in result.tables] == [1 + 8]
    assert all(len(row) == len(table.columns) for table in result.tables for row in table.rows)
    assert [picture.name for picture in result.pictures] == ["errors", "bounds"]
    assert len(result.data["certificates"]) == 1 + 9 * 2 * 3 + 8 + 4 * 2 * 3
    assert len(result.data["examples"]) == 4
    assert json.loads(json.dumps(result.data, allow_nan=False)) == result.data
    assert len(result.text) == 4


@pytest.mark.parametrize("which, n_axes", [(0, 4), (1, 1)])
def test_pictures_can_be_drawn(result, tmp_path, which, n_axes):
    figure = result.pictures[which].draw()
    assert len(figure.axes) == n_axes
    figure.savefig(tmp_path / "picture.png", dpi=40)


def test_no_more_chains_are_drawn_than_a_theorem_needs():
    assert len(bisimulation._calls(Settings(trials=1000))) == 1 + 9 * 10 + 1 + 4 * 10
    assert bisimulation._calls(Settings(trials=1000)) == bisimulation._calls(Settings())


@pytest.mark.parametrize(
    "change, what",
    [
        ({"proposition": 0.01}, "Proposition 1 holds"),
        ({"marginal": (0.05, 0.2)}, "above 1 - (1 - epsilon)^t"),
        ({"paths": (0.05, 0.05, 0.2)}, "above 1 - (1 - epsilon)^t"),
        ({"paths": (0.04, 0.05, 0.05)}, "exactly epsilon"),
    ],
)
def test_a_broken_guarantee_is_seen(certificates, change, what):
    change = {"epsilon": 0.05, "marginal": (0.05, 0.05), "paths": (0.05, 0.05), **change}
    broken = [dataclasses.replace(certificates[0], **change), *certificates[1:]]
    verdicts = list(bisimulation_verdicts.verdicts(broken))
    (differs,) = (verdict.what for verdict in verdicts if verdict.outcome == "differs")
    assert what in differs


def test_an_error_in_a_lumpable_chain_is_seen(certificates):
    planted = certificates[1]
    assert planted.groups == "planted"
    assert planted.epsilon < 1e-12
    broken = dataclasses.replace(planted, epsilon=1e-9, proposition=1e-8)
    verdicts = list(bisimulation_verdicts.verdicts([certificates[0], broken, *certificates[2:]]))
    assert verdicts[-1].outcome == "differs"
