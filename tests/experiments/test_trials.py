"""Pieces of an experiment: results in order, in parallel, each piece computed once."""

import json
import math

import joblib
import pytest

from klump.experiments import trials
from klump.experiments.trials import Settings, run_pieces

CALLS = [(i, 4) for i in range(9)]


class Recorder:
    """Function that records its calls, and fails at a given first argument."""

    __name__ = "counted"

    def __init__(self, fails_at=None):
        self.calls = []
        self.fails_at = fails_at

    def __call__(self, a, b):
        if a == self.fails_at:
            raise RuntimeError("interrupted")
        self.calls.append((a, b))
        return [a * b, a / (b + 2)]


@pytest.fixture
def settings(tmp_path):
    return Settings(directory=tmp_path / "pieces")


def written(settings):
    return settings.directory / "numbers.jsonl"


@pytest.mark.parametrize("n_jobs", [None, 1, 2])
def test_results_come_in_order(n_jobs):
    found = run_pieces("numbers", math.hypot, CALLS, Settings(n_jobs=n_jobs))
    assert found == [math.hypot(*call) for call in CALLS]


def test_number_of_workers_does_not_matter(tmp_path):
    def found(name, n_jobs):
        settings = Settings(n_jobs=n_jobs, directory=tmp_path / name)
        return run_pieces("numbers", Recorder(), CALLS, settings), written(settings).read_bytes()

    with joblib.parallel_config("threading"):
        assert found("one", 1) == found("three", 3)


def test_results_are_the_same_with_and_without_a_directory(settings):
    # A tuple is a list in JSON, and must be one without JSON too.
    alone = run_pieces("numbers", divmod, CALLS, Settings())
    assert alone == [list(divmod(*call)) for call in CALLS]
    assert run_pieces("numbers", divmod, CALLS, settings) == alone
    assert run_pieces("numbers", divmod, CALLS, settings) == alone


def test_finished_pieces_are_not_run_again(settings):
    with pytest.raises(RuntimeError):
        run_pieces("numbers", Recorder(fails_at=4), CALLS, settings)
    second = Recorder()
    found = run_pieces("numbers", second, CALLS, settings)
    assert second.calls == CALLS[4:]
    assert found == run_pieces("numbers", Recorder(), CALLS, Settings())
    third = Recorder()
    assert run_pieces("numbers", third, CALLS, settings) == found
    assert third.calls == []


def test_truncated_line_is_computed_again(settings):
    found = run_pieces("numbers", Recorder(), CALLS, settings)
    text = written(settings).read_text()
    written(settings).write_text(text[:-20])
    again = Recorder()
    assert run_pieces("numbers", again, CALLS, settings) == found
    assert again.calls == CALLS[-1:]
    assert run_pieces("numbers", Recorder(), CALLS, settings) == found


def test_lines_that_are_not_pieces_are_skipped(settings):
    settings.directory.mkdir()
    written(settings).write_text('nonsense\n[1, 2]\n{"key": "only"}\n7\nnull\n\n')
    function = Recorder()
    assert run_pieces("numbers", function, CALLS, settings) == [[a * b, a / (b + 2)] for a, b in CALLS]
    assert function.calls == CALLS


def test_pieces_of_other_calls_are_not_used(settings, monkeypatch):
    run_pieces("numbers", Recorder(), CALLS, settings)
    changed = [(a, b + 1) for a, b in CALLS]
    assert run_pieces("numbers", Recorder(), changed, settings)[1] == [5, 1 / 7]
    assert run_pieces("numbers", divmod, CALLS, settings)[5] == [1, 1]
    monkeypatch.setattr(trials, "__version__", "another")
    function = Recorder()
    run_pieces("numbers", function, CALLS, settings)
    assert function.calls == CALLS


def test_a_run_with_more_trials_reuses_pieces(settings):
    run_pieces("numbers", Recorder(), CALLS[:3], settings)
    function = Recorder()
    assert len(run_pieces("numbers", function, CALLS, settings)) == len(CALLS)
    assert function.calls == CALLS[3:]


def test_pieces_are_lines_of_json(settings):
    run_pieces("numbers", Recorder(), CALLS, settings)
    lines = [json.loads(line) for line in written(settings).read_text().splitlines()]
    assert [line["result"] for line in lines] == [[a * b, a / (b + 2)] for a, b in CALLS]
    assert len({line["key"] for line in lines}) == len(CALLS)


def test_progress_counts_stored_pieces(tmp_path):
    seen = []

    def bar(name):
        return lambda done, total, best_cost: seen.append((name, done, total, math.isnan(best_cost)))

    settings = Settings(directory=tmp_path, bar=bar)
    run_pieces("numbers", Recorder(), CALLS[:2], settings)
    assert seen == [("numbers", 0, 2, True), ("numbers", 1, 2, True), ("numbers", 2, 2, True)]
    seen.clear()
    run_pieces("numbers", Recorder(), CALLS[:3], settings)
    assert seen == [("numbers", 2, 3, True), ("numbers", 3, 3, True)]


def test_no_pieces(settings):
    assert run_pieces("numbers", Recorder(), [], settings) == []


def test_seeds_depend_on_seed_and_key_alone():
    seeds = [Settings(seed=seed).seed_of(i, j) for seed in range(3) for i in range(9) for j in range(9)]
    assert len(set(seeds)) == len(seeds)
    assert Settings(trials=3, n_jobs=2, seed=1).seed_of(0, 1) == Settings(seed=1).seed_of(0, 1)


def test_trials():
    assert Settings().trials_or(250) == 250
    assert Settings(trials=2).trials_or(250) == 2
