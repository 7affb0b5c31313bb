"""The progress bar and the announcement of compilation."""

import io

import numba
import pytest
from rich.console import Console

from klump.cli.progress import ExperimentProgress, GuaranteeProgress, SearchProgress, announce_compilation
from klump.compilation import announcement, kernel


@pytest.fixture(autouse=True)
def empty_cache(monkeypatch, tmp_path):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    # As in a new process: neither announced nor timed before.
    monkeypatch.setattr(announcement, "_announced", set())
    monkeypatch.setattr(announcement, "_used", [])


@pytest.fixture
def terminal():
    return Console(file=io.StringIO(), force_terminal=True, width=80)


def test_bar_shows_the_best_cost(terminal):
    with SearchProgress(quiet=False, delay=0.0, console=terminal) as progress:
        progress.update("searching", 1, 4, 0.5)
        progress._timer.join()
        progress.update("searching", 2, 4, 0.25)
    output = terminal.file.getvalue()
    assert "searching" in output
    assert "best cost 0.250000" in output
    assert " 50 %" in output


def test_no_bar_for_quick_work(terminal):
    with SearchProgress(quiet=False, delay=1000.0, console=terminal) as progress:
        progress.update("searching", 4, 4, 0.5)
    assert terminal.file.getvalue() == ""


def test_quiet(terminal, capsys):
    with SearchProgress(quiet=True, delay=0.0, console=terminal) as progress:
        progress.update("searching", 4, 4, 0.5)
        progress.say("hello")
    assert terminal.file.getvalue() == ""
    assert capsys.readouterr() == ("", "")


def test_one_line_where_there_is_no_terminal(capsys):
    with SearchProgress(quiet=False, delay=0.0) as progress:
        progress.update("searching", 4, 4, 0.5)
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("klump: searched for 0.0 s, 4 steps, best cost 0.500000\n")


def test_one_step_is_not_several(capsys):
    with SearchProgress(quiet=False, delay=0.0) as progress:
        progress.update("searching", 1, 1, 0.5)
    assert ", 1 step, best" in capsys.readouterr().err


@pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="nothing is compiled")
def test_time_that_went_into_compilation_is_called_so(capsys):
    with SearchProgress(quiet=False, delay=0.0) as progress, announce_compilation(progress):
        kernel(lambda x: x + 1)(1)
    assert " s (with compilation), 0 steps, " in capsys.readouterr().err


def test_no_summary_of_a_failure(capsys):
    with pytest.raises(RuntimeError), SearchProgress(quiet=False, delay=0.0):
        raise RuntimeError
    assert capsys.readouterr().err == ""


def test_remarks_stand_above_the_bar(terminal):
    with SearchProgress(quiet=False, delay=0.0, console=terminal) as progress:
        progress._timer.join()
        progress.say("a remark")
    assert "a remark\n" in terminal.file.getvalue()


def test_one_bar_for_each_experiment(terminal):
    with ExperimentProgress(quiet=False, delay=0.0, console=terminal) as progress:
        with progress.show_experiment("first"):
            progress.update("first", 1, 4)
            progress._timer.join()
        with progress.show_experiment("second"):
            progress.update("second", 3, 6)
    *_, last = terminal.file.getvalue().split("first")
    assert "100 %" in last
    assert "4/4" in last
    assert "second" in last
    assert "6/6" in last


def test_experiment_without_pieces(terminal):
    with ExperimentProgress(quiet=False, delay=0.0, console=terminal) as progress:
        progress._timer.join()
        with progress.show_experiment("first"):
            pass
    assert "1/1" in terminal.file.getvalue()


def test_one_line_for_each_experiment_where_there_is_no_terminal(capsys):
    with ExperimentProgress(quiet=False, delay=1000.0) as progress:
        for name in ("first", "second"):
            with progress.show_experiment(name):
                progress.update(name, 1, 2)
    lines = capsys.readouterr().err.splitlines()
    assert [line.split(" done in ")[0] for line in lines] == ["klump: first:", "klump: second:"]


def test_quiet_experiments(capsys):
    with ExperimentProgress(quiet=True) as progress, progress.show_experiment("first"):
        progress.update("first", 1, 2)
    assert capsys.readouterr() == ("", "")


@pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="nothing is compiled")
def test_compilation_is_announced_once(capsys):
    function = kernel(lambda x: x + 1)
    with announce_compilation(SearchProgress(quiet=False)):
        assert capsys.readouterr().err == ""
        function(1)
        function(1)
    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith("klump: compiling kernels for this machine: about ")
    # The code is in the cache now.
    with announce_compilation(SearchProgress(quiet=False)):
        kernel(function.py_func)(1)
    assert capsys.readouterr().err == ""


def test_compilation_is_not_announced_if_quiet(capsys):
    with announce_compilation(SearchProgress(quiet=True)):
        kernel(lambda x: x + 2)(1)
    assert capsys.readouterr() == ("", "")


def test_bounds_and_simulation_have_a_bar_each(terminal, capsys):
    with GuaranteeProgress(quiet=False, delay=0.0, console=terminal) as progress:
        progress.update("bounds", 1, 4)
        progress._timer.join()
        progress.update("simulation", 1, 2)
    assert " 25 %" in terminal.file.getvalue()
    assert " 50 %" in terminal.file.getvalue()
    with GuaranteeProgress(quiet=False, delay=0.0) as progress:
        progress.update("bounds", 4, 4)
        progress.update("simulation", 2, 2)
    assert capsys.readouterr().err == "klump: bounds and simulation took 0.0 s\n"
