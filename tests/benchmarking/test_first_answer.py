"""Processes with an empty and a full cache, on questions that take no time."""

import json

import pytest
from benchmarks import cliff_report, first_answer
from benchmarks.first_answer import README, Figure, Question

ANNOUNCED = """
import klump, logging
logging.getLogger("klump").warning("compiling kernels for this machine: about 7 s, once")
"""
KERNEL = """
import numpy as np
from klump.search.kernels.logarithm import f_array

f_array(np.ones(3), np.ones(3))
"""


@pytest.fixture(autouse=True)
def results(monkeypatch, tmp_path):
    monkeypatch.setattr(cliff_report, "RESULTS", tmp_path / "results")
    return tmp_path / "results" / "first-answer.json"


def test_the_second_process_finds_what_the_first_one_compiled(tmp_path, monkeypatch):
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")
    cold, warm = first_answer.measure(Question("logarithms", KERNEL), tmp_path)
    assert [key.partition("-")[0] for key, _ in cold.kernels] == ["search.kernels.logarithm.f_array"]
    assert cold.compilation > 0 and warm.compilation == 0
    assert (cold.warm, warm.warm, warm.kernels) == (False, True, ())
    assert cold.seconds > cold.compilation


def test_announcements_are_read(tmp_path):
    for figure in first_answer.measure(Question("announces", ANNOUNCED), tmp_path):
        assert (figure.estimates, figure.kernels) == ((7,), ())
        assert figure.seconds > 0


def test_a_run_shows_a_table_and_keeps_every_figure(results, capsys):
    questions = (
        Question("no question", "import klump"),
        Question("a command", words=("info", "weather.csv"), before="5"),
    )
    assert first_answer.run(questions) == []
    shown = capsys.readouterr().out
    assert "no question" in shown and "not measured: README's example" in shown
    kept = json.loads(results.read_text())
    assert [figure["question"] for figure in kept["figures"]] == ["no question"] * 2 + ["a command"] * 2
    assert kept["machine"] and kept["packages"]["numba"]


def test_a_question_that_fails_is_named(tmp_path):
    with pytest.raises(RuntimeError, match="asks nonsense failed: ZeroDivisionError"):
        first_answer.measure(Question("asks nonsense", "1 / 0"), tmp_path)


def test_only_the_first_answer_of_the_readme_is_judged():
    figures = [
        Figure(name, warm, 20.0, (("descent.sweep", 18.0),), (3, 4))
        for name in (README, "other")
        for warm in (0, 1)
    ]
    (verdict,) = first_answer.verdicts(figures)
    assert not verdict.kept and verdict.measured == 20.0
    assert verdict.detail == "18.0 s of them compilation, announced as 3 + 4 s"
    assert sum(question.name == README for question in first_answer.QUESTIONS) == 1
