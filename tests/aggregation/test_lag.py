"""Groups at a lag, and the note on aggregated chains that are too fast."""

from __future__ import annotations

import json

import numpy as np
import pytest

import klump
from klump.aggregation import lagged
from klump.chain import powers
from klump.documents import plain
from klump.errors import InvalidArgumentError, ReducibleChainError
from klump.sources.random_chains import block_chain, sparse_block_chain


def two_speeds():
    """Two common states that alternate slowly, and two rare ones that are left even more slowly.

    The rare ones have little entropy: one step keeps more information about the common ones.
    """
    return np.array(
        [[0.7995, 0.2, 0.0005, 0], [0.2, 0.7995, 0, 0.0005], [0.01, 0, 0.49, 0.5], [0, 0.01, 0.5, 0.49]]
    )


def test_groups_at_a_lag_are_those_of_the_power():
    P = two_speeds()
    fast, slow = klump.aggregate(P, 2), klump.aggregate(P, 2, lag=21)
    assert sorted(map(sorted, slow.groups)) == [[0, 1], [2, 3]]
    assert sorted(map(sorted, fast.groups)) != sorted(map(sorted, slow.groups))
    power = klump.MarkovChain(P).power(21)
    assert (fast.lag, slow.lag, slow.microstates) == (1, 21, None)
    assert slow.cost == pytest.approx(klump.score(power, slow.mapping).at(0.5), abs=1e-12)
    expected = klump.Aggregation.from_labels(power, slow.labels).chain.transition_matrix
    np.testing.assert_allclose(slow.chain.transition_matrix, expected, atol=1e-14)
    assert slow.original.applied == ("every 21 steps taken as one",)
    assert "lag = 21" in str(slow)
    assert "lag" not in str(fast).splitlines()[0]


def test_the_lag_is_saved_and_exported(tmp_path):
    answer = klump.aggregate(two_speeds(), 2, lag=5)
    answer.save(tmp_path / "answer.npz")
    again = klump.load(tmp_path / "answer.npz")
    assert (again.lag, again.microstates) == (5, None)
    assert json.loads(json.dumps(plain(answer.to_dict())))["lag"] == 5


@pytest.mark.parametrize("lag", [0, -2, 1.5, "2", None])
def test_lags_that_make_no_sense(lag):
    with pytest.raises(InvalidArgumentError, match="lag"):
        klump.aggregate(two_speeds(), 2, lag=lag)


def test_a_lag_that_shares_a_factor_with_the_period():
    P = [[0, 0.5, 0, 0.5], [0.3, 0, 0.7, 0], [0, 0.2, 0, 0.8], [0.9, 0, 0.1, 0]]
    with pytest.raises(InvalidArgumentError, match="lag=4 shares a factor with the period 2"):
        klump.aggregate(P, 2, lag=4)
    assert klump.aggregate(P, 2, lag=3).lag == 3


def test_a_reducible_chain_has_no_lag():
    with pytest.raises(ReducibleChainError):
        klump.aggregate([[0.5, 0.5], [0, 1]], 2, lag=2)


@pytest.fixture
def small_powers(monkeypatch):
    """Powers of a chain of 600 states are too large, and there are 40 microstates."""
    monkeypatch.setattr(powers, "MAX_DENSE_STATES", 100)
    monkeypatch.setattr(powers, "MAX_TRANSITIONS", 5000)
    monkeypatch.setattr(lagged, "MAX_DENSE_STATES", 100)
    monkeypatch.setattr(lagged, "_MICROSTATES", (40, 100))


def test_groups_of_a_power_that_is_not_formed(small_powers, tmp_path):
    chain, planted = sparse_block_chain(600, 4, 6, "metastable", 0)
    answer = klump.aggregate(chain, 4, lag=6, effort="quick")
    assert (answer.lag, answer.microstates, answer.n_states) == (6, 40, 4)
    assert answer.original is chain
    assert answer.cost == pytest.approx(klump.score(chain, answer.labels).at(0.5), abs=1e-12)
    pairs = {(int(a), int(b)) for a, b in zip(planted, answer.labels, strict=True)}
    agree = max(np.mean(planted[answer.labels == y] == x) for x in range(4) for y in range(4))
    assert agree > 0.95, pairs
    (note,) = [note for note in answer.notes if note.kind == "lag"]
    assert "lag 6 on 40 microstates" in note
    answer.save(tmp_path / "answer.npz")
    assert klump.load(tmp_path / "answer.npz").microstates == 40
    again = klump.aggregate(chain, 4, lag=6, effort="quick")
    np.testing.assert_array_equal(again.labels, answer.labels)


def test_the_chain_of_microstates_is_exact(small_powers):
    chain, labels = sparse_block_chain(300, 5, 5, "cyclic", 1)
    answer = klump.Aggregation.from_labels(chain, labels)
    power = np.linalg.matrix_power(chain.transition_matrix.toarray(), 7)
    expected = klump.Aggregation.from_labels(power, labels).chain.transition_matrix
    np.testing.assert_allclose(lagged._lagged_matrix(chain, answer.map, 7), expected, atol=1e-12)


def test_lags_beyond_the_limit_are_errors(small_powers, monkeypatch):
    chain, labels = sparse_block_chain(600, 4, 6, "metastable", 0)
    with pytest.raises(InvalidArgumentError, match="initial is about states"):
        klump.aggregate(chain, 4, lag=6, initial=labels)
    monkeypatch.setattr(lagged, "_MAX_PRODUCTS", 1000)
    with pytest.raises(InvalidArgumentError, match=r"lag=6 is too large: .*smaller lag"):
        klump.aggregate(chain, 4, lag=6)


def slow_notes(answer):
    return [note for note in answer.notes if note.kind == "timescale"]


def test_a_note_on_chains_that_are_too_fast():
    P = np.diag(np.full(39, 0.25), 1) + np.diag(np.full(39, 0.25), -1)
    P += np.diag(1 - P.sum(axis=1))
    answer = klump.Aggregation.from_labels(P, np.arange(40) // 20)
    (note,) = slow_notes(answer)
    assert "648 steps in the original chain and 39.5 steps in the aggregated one" in note
    assert "long_time_chain" in note
    assert "lag=" in note
    assert str(note) in str(answer)
    # More groups, and the whole chain.
    assert not slow_notes(klump.Aggregation.from_labels(P, np.arange(40)))
    assert not slow_notes(klump.Aggregation.from_labels(P, np.zeros(40, int)))


@pytest.mark.parametrize(("n", "expected"), [(150, True), (300, True)])
def test_the_note_on_larger_chains(n, expected):
    P = np.diag(np.full(n - 1, 0.25), 1) + np.diag(np.full(n - 1, 0.25), -1)
    P += np.diag(1 - P.sum(axis=1))
    assert bool(slow_notes(klump.Aggregation.from_labels(P, np.arange(n) // (n // 2)))) == expected


def test_no_note_without_a_slow_process():
    chain, labels = block_chain((20, 20, 20), alpha=0.3, random_state=0)
    assert not slow_notes(klump.Aggregation.from_labels(chain, labels))
    # The groups keep the slow process of a metastable chain.
    chain, labels = block_chain((20, 20, 20), alpha=0.99, random_state=0)
    assert chain.timescales(1)[0] > 50
    assert not slow_notes(klump.Aggregation.from_labels(chain, labels))


def test_no_note_where_timescales_take_too_long(monkeypatch):
    from klump.dynamics import timescales

    monkeypatch.setattr(timescales, "_SMALL", 10)
    monkeypatch.setattr(timescales, "_MAX_ESTIMATED", 10)
    P = np.diag(np.full(39, 0.25), 1) + np.diag(np.full(39, 0.25), -1)
    P += np.diag(1 - P.sum(axis=1))
    assert not slow_notes(klump.Aggregation.from_labels(P, np.arange(40) // 20))


@pytest.mark.parametrize("lag", [True, 1.0])
def test_a_lag_of_one_is_a_whole_number(lag):
    with pytest.raises(InvalidArgumentError, match="lag"):
        klump.aggregate(two_speeds(), 2, lag=lag)


def test_microstates_have_no_checkpoint(small_powers, tmp_path):
    chain, _ = sparse_block_chain(600, 4, 6, "metastable", 0)
    file = tmp_path / "run.checkpoint"
    with pytest.raises(InvalidArgumentError, match=r"checkpoint=.* is not for lag=6 .*; leave it out"):
        klump.aggregate(chain, 4, lag=6, checkpoint=file)
    assert not file.exists()


def test_both_searches_share_the_time_limit(small_powers, monkeypatch):
    chain, _ = sparse_block_chain(600, 4, 6, "metastable", 0)
    clock = iter([100.0, 400.0])
    monkeypatch.setattr(lagged, "monotonic", lambda: next(clock))
    limits = []

    def record(chain, *arguments, **options):
        limits.append(options["time_limit"])
        return klump.aggregate(chain, *arguments, **options)

    options = {"n_states": 4, "beta": 0.5, "effort": "quick", "time_limit": 1000.0}
    options |= {"random_state": 0, "n_jobs": None, "seed": klump.errors.UNSET}
    answer = lagged.aggregate_at_lag(record, {"chain": chain, "lag": 6, **options})
    assert limits == [1000.0, 700.0]
    assert (answer.interrupted, answer.interrupted_after) == (False, None)
