"""A contest on a small chain, in which some contestants misbehave: that is their answer, not the end of the run."""

import json
import signal
from pathlib import Path

import numpy as np
import pytest
from benchmarks import contest, process, report, workloads
from benchmarks.contest import Score, Settings
from benchmarks.peers import CONTESTANTS
from benchmarks.workloads import Workload
from scipy import sparse

import failing
from klump import MarkovChain, score

TINY = Workload("metastable", 120, 3)


@pytest.fixture
def made_up(monkeypatch, tmp_path):
    """Only contestants of ``failing`` take part, and only one small chain is left."""
    monkeypatch.setattr(contest, "TRIAL", "failing")
    monkeypatch.setattr(contest, "WORKLOADS", (TINY,))
    monkeypatch.setattr(report, "RESULTS", tmp_path / "results")
    # All at once: put back one by one, they would be in another order.
    everyone = dict(CONTESTANTS)
    CONTESTANTS.clear()
    CONTESTANTS.update(failing.MADE_UP)
    folders = (process.ROOT, process.ROOT / "src", Path(failing.__file__).parent)
    monkeypatch.setenv("PYTHONPATH", ":".join(map(str, folders)))
    before = signal.getsignal(signal.SIGTERM)
    yield
    signal.signal(signal.SIGTERM, before)
    CONTESTANTS.clear()
    CONTESTANTS.update(everyone)


def outcome(name, tmp_path, **settings):
    place = tmp_path / TINY.name
    workloads.write(TINY, place)
    found = Score(TINY, name, 1)
    contest.trial(found, place, 0, Settings(**{"limit": 100.0, **settings}))
    return found


@pytest.mark.parametrize(
    ("name", "error"),
    [
        ("fails", "ValueError: this chain is not to my liking"),
        ("crashes", "killed by SIGSEGV"),
        ("leaves", "I have had enough"),
        ("absent", "a_module_that_nobody_has is not installed"),
        ("small-only", "not tried: it is lazy"),
    ],
)
def test_a_failure_stands_in_the_table(made_up, tmp_path, name, error):
    found = outcome(name, tmp_path)
    assert (found.error, found.rounds, found.timed_out) == (error, [], False)


def test_who_does_not_answer_in_time_has_timed_out(made_up, tmp_path):
    found = outcome("hangs", tmp_path, limit=0.5)
    assert found.error == "no answer within 0.5 s"
    assert found.timed_out


def test_who_is_not_even_ready_in_time_has_timed_out_too(made_up, tmp_path, monkeypatch):
    monkeypatch.setattr(contest, "PREPARATION", 0.0)
    found = outcome("first-come", tmp_path, limit=0.01)
    assert found.timed_out


def test_a_run_goes_on_after_failures_and_keeps_every_figure(made_up, tmp_path, capsys):
    contest.run(Settings(rounds=2, limit=100.0, only=("first-come", "fails", "small-only"), name="tiny"))
    kept = json.loads((tmp_path / "results" / "tiny.json").read_text())
    scores = {each["contestant"]: each for each in kept["scores"]}
    assert list(scores) == ["first-come", "fails", "small-only", "planted"]
    assert [len(each["rounds"]) for each in scores.values()] == [2, 0, 0, 1]
    matrix = TINY.make()[0]
    expected = score(MarkovChain(matrix), np.arange(120) % 3).at(0.5)
    for found in scores["first-come"]["rounds"]:
        assert found["cost"] == pytest.approx(expected, abs=1e-12)
        assert found["groups"] == 3
        assert found["seconds"] > 0 and found["peak"] > 1
    assert scores["planted"]["rounds"][0]["ari"] == 1
    assert scores["planted"]["transitions"] == matrix.nnz
    assert (tmp_path / "results" / "tiny.png").stat().st_size > 0
    shown = capsys.readouterr().out
    assert "this chain is not to my liking" in shown
    assert "not measured: 1e6 metastable, seconds" in shown


@pytest.mark.slow
def test_klump_takes_part_and_finds_the_planted_groups(tmp_path):
    found = outcome("klump", tmp_path)
    assert found.error is None
    assert found.median("ari") == 1


@pytest.mark.parametrize("workload", [TINY, Workload("blocks", 100, 3), Workload("bigrams", 76, 4)], ids=str)
def test_results_are_read_as_written(tmp_path, workload):
    n_transitions = workloads.write(workload, tmp_path / "chain")
    matrix, planted = workload.make()
    read, read_planted = workloads.read(tmp_path / "chain")
    assert sparse.issparse(read) == sparse.issparse(matrix) == workload.is_sparse
    dense, read_dense = (each.toarray() if workload.is_sparse else each for each in (matrix, read))
    np.testing.assert_array_equal(read_dense, dense)
    assert n_transitions == np.count_nonzero(dense)
    if planted is None:
        assert read_planted is None
    else:
        np.testing.assert_array_equal(read_planted, planted)
        assert len(np.unique(planted)) == workload.n_groups


def made(family, n, contestant, seconds, degree=10):
    return Score(Workload(family, n, 5), contestant, degree * n, [{"seconds": value} for value in seconds])


def test_growth_is_the_exponent_of_the_median_time():
    sizes = (1_000, 10_000, 100_000)
    scores = [made("noisy", n, "square", (1e-9 * n**2, 1e-9 * n**2, 1e9)) for n in sizes]
    scores += [made("noisy", n, "linear", (3e-6 * n,)) for n in sizes]
    scores += [made("cyclic", 1_000, "linear", (1.0,)), made("blocks", 100, "linear", (1.0,))]
    scores += [made("blocks", 1000, "linear", (2.0,)), made("noisy", 1_000, "absent", ())]
    found = contest.growth(scores)
    assert found == {"noisy": {"square": pytest.approx(2), "linear": pytest.approx(1)}}


def test_settings_choose_workloads_and_contestants():
    chosen = Settings(quick=True, families=("noisy", "blocks")).workloads()
    assert {workload.name for workload in chosen} == {
        "blocks-100",
        "blocks-1000",
        "blocks-4000",
        "noisy-10000",
    }
    assert [workload.name for workload in Settings(sizes=(1_000_000,), families=("cyclic",)).workloads()] == [
        "cyclic-1000000"
    ]
    assert Settings(only=("leiden", "sib")).contestants("noisy") == [
        "igraph-leiden",
        "igraph-leiden-settled",
        "networkit-leiden",
        "sib",
        "sib-10",
    ]
    assert "klump-path" in Settings(only=("klump",)).contestants("blocks")
    assert "klump-path" not in Settings(only=("klump",)).contestants("noisy")
