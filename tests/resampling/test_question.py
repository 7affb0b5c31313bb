"""What can be asked of ``bootstrap`` and ``posterior``, on every engine, and what Ctrl-C leaves."""

import joblib
import numpy as np
import pandas
import pytest
from sklearn.metrics import adjusted_rand_score

import klump
from counted import COUNTS, FEW, LABELS
from klump.errors import InvalidArgumentError, InvalidChainError, ReducibleChainError
from klump.resampling.draws import estimate_chain
from klump.search.method import Found
from klump.search.registry import METHODS, Method


def test_the_estimate_is_what_aggregate_finds(found):
    chain = klump.MarkovChain.from_counts(COUNTS, states="abcdefg")
    alone = klump.aggregate(chain, 3, **FEW)
    np.testing.assert_array_equal(found.estimate.labels, alone.labels)
    assert (found.estimate.cost, found.estimate.trace) == (alone.cost, alone.trace)
    assert (found.estimate.method, found.estimate.random_state) == ("sequential", 0)


def test_samples_are_what_aggregate_finds(found):
    _, draws = estimate_chain(COUNTS, None, 0.0, None, 0)
    reference = found.estimate.labels
    for number in (0, 7):
        alone = klump.aggregate(draws.chain(number), 3, **FEW)
        assert found.costs[number] == pytest.approx(alone.cost, abs=1e-12)
        assert found.kept[number] == pytest.approx(alone.kept, abs=1e-12)
        assert adjusted_rand_score(found.labels[number], alone.labels) == 1.0
        assert found.agreement[number] == pytest.approx(adjusted_rand_score(reference, alone.labels))
        fixed = klump.score(draws.chain(number), reference).at(0.5)
        assert found.regret[number] == pytest.approx(fixed - alone.cost, abs=1e-12)


@pytest.mark.parametrize(("backend", "n_jobs"), [("threading", 3), ("loky", 2)])
def test_engines_do_not_change_the_answer(found, backend, n_jobs):
    with joblib.parallel_config(backend=backend, n_jobs=n_jobs):
        again = klump.bootstrap(COUNTS, 3, n_samples=30, states="abcdefg", **FEW)
    np.testing.assert_array_equal(again.labels, found.labels)
    np.testing.assert_array_equal(again.costs, found.costs)
    np.testing.assert_array_equal(again.posterior.transition_matrices, found.posterior.transition_matrices)


def test_more_samples_begin_with_the_same(found):
    again = klump.bootstrap(COUNTS, 3, n_samples=5, states="abcdefg", n_jobs=2, **FEW)
    np.testing.assert_array_equal(again.labels, found.labels[:5])


def test_names_come_with_tables():
    table = pandas.DataFrame(COUNTS, index=[*"abcdefg"], columns=[*"abcdefg"])
    assert klump.bootstrap(table, 2, n_samples=1, **FEW).estimate.original.states == tuple("abcdefg")


def test_models_with_a_count_matrix():
    class Model:
        count_matrix = COUNTS

    found = klump.posterior(Model(), LABELS, n_samples=2)
    np.testing.assert_array_equal(
        found.transition_matrices, klump.posterior(COUNTS, LABELS, n_samples=2).transition_matrices
    )


def test_counts_that_fall_apart():
    counts = np.zeros((9, 9))
    counts[:7, :7], counts[7, :2], counts[8, 8] = COUNTS, 3, 5
    with pytest.raises(ReducibleChainError):
        klump.bootstrap(counts, 3, **FEW)
    found = klump.bootstrap(counts, 3, n_samples=5, restrict="largest", **FEW)
    plain = klump.bootstrap(COUNTS, 3, n_samples=5, **FEW)
    assert found.estimate.original.states == tuple(range(7))
    np.testing.assert_array_equal(found.labels, plain.labels)


@pytest.mark.parametrize(
    ("counts", "options", "error", "message"),
    [
        (COUNTS / COUNTS.sum(axis=1, keepdims=True), {}, InvalidArgumentError, "looks like probabilities"),
        (klump.MarkovChain.from_counts(COUNTS), {}, InvalidArgumentError, "counts is a chain"),
        (1e-9 * COUNTS, {}, InvalidArgumentError, "less than 1e-06 of an observation"),
        (-COUNTS, {}, InvalidChainError, "count matrix has -"),
        (COUNTS[:3], {}, InvalidChainError, "count matrix must be square"),
        (COUNTS, {"prior": -1}, InvalidArgumentError, "prior=-1 must be a finite number, 0 or more"),
        (COUNTS, {"prior": "1"}, InvalidArgumentError, "prior='1' must be a finite number"),
        (COUNTS, {"n_samples": 0}, InvalidArgumentError, "n_samples=0 must be a whole number"),
        (COUNTS, {"n_states": 8}, InvalidArgumentError, "n_states=8 must lie between 1 and the 7 states"),
        (COUNTS, {"beta": 2}, InvalidArgumentError, "beta=2 must lie between"),
        (COUNTS, {"method": "exact"}, InvalidArgumentError, "method='exact' finds the number"),
        (COUNTS, {"progress": 1}, InvalidArgumentError, "progress=1 must be a function"),
        (COUNTS, {"n_samples": 900_000, "n_states": 7}, InvalidArgumentError, None),
    ],
)
def test_bad_questions(counts, options, error, message, monkeypatch):
    if message is None:
        monkeypatch.setattr("klump.resampling.question._MAX_STORED_ENTRIES", 490)
        message = "n_samples=900000 with 7 groups would store 44,100,000 numbers; pass n_samples=10 or less"
    with pytest.raises(error, match=message):
        klump.bootstrap(counts, **{"n_states": 2, **FEW, **options})


# Ctrl-C


def press_after(samples):
    def progress(done, total, best_cost):
        if done == samples:
            raise KeyboardInterrupt

    return progress


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_ctrl_c_keeps_the_finished_samples(found, n_jobs):
    stopped = klump.bootstrap(COUNTS, 3, n_samples=30, n_jobs=n_jobs, progress=press_after(4), **FEW)
    assert stopped.interrupted
    assert stopped.n_samples == len(stopped.costs) == 4
    np.testing.assert_array_equal(stopped.labels, found.labels[:4])
    assert str(stopped).splitlines()[-1] == "interrupted: these are fewer samples than were asked for"
    assert repr(stopped).endswith(", interrupted)")
    fixed = klump.posterior(COUNTS, LABELS, n_samples=30, n_jobs=n_jobs, progress=press_after(4))
    assert fixed.interrupted
    assert repr(fixed) == "Posterior(7 states in 3 groups, 4 samples, interrupted)"


def test_half_a_search_is_no_sample(monkeypatch):
    asked = []

    def cut_short(task):
        asked.append(task)
        labels = np.arange(task.chain.n_states, dtype=np.int32) % task.n_groups
        return Found(labels, 0.0, interrupted=len(asked) == 4)

    monkeypatch.setitem(METHODS, "cut short", Method("cut short", cut_short, "for a test"))
    stopped = klump.bootstrap(COUNTS, 2, method="cut short")
    # The estimate, two whole samples, and the one that Ctrl-C spoiled.
    assert (len(asked), stopped.n_samples, stopped.interrupted) == (4, 2, True)


@pytest.mark.parametrize("pressed_at", [1, 2])
def test_ctrl_c_before_there_is_a_sample(monkeypatch, pressed_at):
    asked = []

    def cut_short(task):
        asked.append(task)
        labels = np.arange(task.chain.n_states, dtype=np.int32) % task.n_groups
        return Found(labels, 0.0, interrupted=len(asked) == pressed_at)

    monkeypatch.setitem(METHODS, "cut short", Method("cut short", cut_short, "for a test"))
    with pytest.raises(KeyboardInterrupt):
        klump.bootstrap(COUNTS, 2, method="cut short")
    assert len(asked) == pressed_at
