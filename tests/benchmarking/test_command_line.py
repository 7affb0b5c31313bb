"""``python -m benchmarks``: names and options."""

import pytest
from benchmarks import __main__ as command
from benchmarks import cliffs, contest, efforts, estimator, first_answer, many_machines
from benchmarks.measure import Verdict


def test_options_become_settings():
    words = ["peers", "--sizes", "1e4,100000", "--families", "noisy, cyclic", "--only", "klump,sib"]
    words += ["--rounds", "2", "--timeout", "7.5", "--threads", "2", "--output", "mine"]
    assert command.settings(command.parsed(words)) == contest.Settings(
        sizes=(10_000, 100_000),
        families=("noisy", "cyclic"),
        only=("klump", "sib"),
        rounds=2,
        limit=7.5,
        threads=2,
        name="mine",
    )


def test_defaults_are_careful_and_quick_ones_are_quick():
    assert command.settings(command.parsed([])) == contest.Settings()
    quick = command.settings(command.parsed(["--quick"]))
    assert (quick.quick, quick.rounds, quick.limit, quick.name) == (True, 1, 60.0, "peers-quick")


def test_options_of_cliffs():
    assert command.cliff_settings(command.parsed([])) == cliffs.Settings()
    words = ["cliffs", "--rows", "noisy", "--rounds", "3", "--timeout", "20", "--resume", "--output", "mine"]
    assert command.cliff_settings(command.parsed(words)) == cliffs.Settings("noisy", 3, 20.0, True, "mine")


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["cliffs", "--rows", "quiet"], "no row matches 'quiet'; choose from dense-1000-k10-beta0.5"),
        (["--output", "mine"], "--output names the files of one benchmark"),
    ],
)
def test_options_that_do_not_fit(capsys, words, problem):
    with pytest.raises(SystemExit) as left:
        command.parsed(words)
    assert left.value.code == 2
    assert problem in capsys.readouterr().err


def test_a_benchmark_that_is_not_there(capsys):
    with pytest.raises(SystemExit) as left:
        command.parsed(["sweeps", "sweep"])
    assert left.value.code == 2
    assert "there is no benchmark 'sweep'; choose from sweeps, settling" in capsys.readouterr().err


def test_chosen_benchmarks_run_in_order_and_are_written(monkeypatch, capsys):
    done = []
    for name in command.BENCHMARKS:
        verdicts = [Verdict(name, 1.0, 2.0, True)]
        monkeypatch.setitem(command.BENCHMARKS, name, lambda verdicts=verdicts: verdicts)
    monkeypatch.setattr(command, "write", lambda name, verdicts: done.append((name, verdicts[0].what)))
    monkeypatch.setattr(contest, "run", lambda settings: done.append(("peers", settings.rounds)))
    monkeypatch.setattr(cliffs, "run", lambda settings: done.append(("cliffs", settings.rounds)))
    monkeypatch.setattr(efforts, "run", lambda: done.append(("efforts", None)))
    monkeypatch.setattr(estimator, "run", lambda: done.append(("estimator", None)))
    monkeypatch.setattr(first_answer, "run", lambda: done.append(("first-answer", None)))
    command.main(command.parsed(["merging", "sweeps", "peers", "--rounds", "4"]))
    assert done == [("merging", "merging"), ("sweeps", "sweeps"), ("peers", 4)]
    assert "kept   merging: 1 (<= 2)" in capsys.readouterr().out
    done.clear()
    command.main(command.parsed([]))
    assert [name for name, _ in done] == list(command.NAMES)


def test_without_dask_many_machines_are_not_measured(monkeypatch, capsys):
    monkeypatch.setattr(many_machines, "find_spec", lambda name: None)
    assert many_machines.run() == []
    assert "dask is not installed" in capsys.readouterr().out
