"""The table of cliffs: rows, one true measurement, verdicts on made-up figures, and runs that are interrupted."""

import json
import math
import signal

import numpy as np
import pytest
from benchmarks import cliff_report, cliff_trial, cliffs
from benchmarks.cliffs import Cell, Figures, Row, Settings
from benchmarks.workloads import attachment_matrix
from scipy import sparse

import klump

SMALL, LARGE = Row("noisy", 100, 3, 0.5), Row("noisy", 300, 3, 0.5)


def test_rows_have_names_of_their_own_and_are_chosen_by_them():
    names = [row.name for row in cliffs.ROWS]
    assert len(set(names)) == len(names)
    assert Settings().chosen() == list(cliffs.TABLE)
    assert {row.name for row in Settings(rows="all").chosen()} == set(names)
    chosen = Settings(rows=r"metastable-\d+-k50-beta1$").chosen()
    assert [row.n_states for row in chosen] == [300, 1_000, 3_000, 10_000, 30_000, 100_000]
    # The rows of the table keep the figures from before among all others.
    assert (
        next(row for row in Settings(rows="all").chosen() if row.name == "noisy-1000-k50-beta1").before
        == "20"
    )


@pytest.mark.parametrize("kind", ["dense", "noisy", "metastable"])
def test_chains_of_rows_are_planted(kind):
    matrix, planted = Row(kind, 60, 3, 0.5).make()
    assert sparse.issparse(matrix) == (kind != "dense")
    assert np.bincount(planted).tolist() == [20, 20, 20]


def test_preferential_attachment_has_hubs_and_is_strongly_connected():
    matrix = attachment_matrix(2_000, 8.25)
    chain = klump.MarkovChain(matrix)
    assert chain.is_irreducible and 1_400 < chain.n_states < 2_000
    in_degree = np.diff(matrix.tocsc().indptr)
    assert in_degree.max() > 20 * np.median(in_degree)
    np.testing.assert_array_equal(matrix.data, attachment_matrix(2_000, 8.25).data)
    assert Row("attachment", 500, 3, 0.5).make()[1] is None


@pytest.mark.parametrize("kind", ["dense", "metastable"])
def test_a_measurement_is_of_the_answer_that_a_user_gets(monkeypatch, tmp_path, kind):
    monkeypatch.setattr(cliff_trial, "MEASURABLE", 0.0)
    answer = tmp_path / "answer.json"
    row = Row(kind, 60, 3, 0.5)
    cliff_trial.main(kind, "60", "3", "0.5", "annealing", "1", "1000", str(answer))
    assert signal.getitimer(signal.ITIMER_PROF) == (0.0, 0.0)
    found = Cell(row.name, "annealing", 1, **json.loads(answer.read_text()))
    matrix, planted = row.make()
    expected = klump.aggregate(klump.MarkovChain(matrix), 3, 0.5, "annealing", random_state=1)
    assert found.cost == pytest.approx(expected.cost, abs=1e-12)
    assert found.transitions == klump.MarkovChain(matrix).n_transitions
    assert (found.runs, found.error, found.limit) == (1, None, None)
    assert found.seconds > 0 and found.wall > 0
    cliff_trial.main(kind, "60", "3", "0.5", cliffs.PLANTED, "0", "1000", str(answer))
    assert json.loads(answer.read_text())["cost"] == klump.score(matrix, planted).at(0.5)


def figures(row, auto=1.0, annealing=1.0, *, cost=1.0, planted=1.0, **of_auto):
    """Medians of made-up rounds; ``None`` for over a limit of 100 s."""
    cells = [
        Cell(row.name, method, 0, 1000, seconds, cost=cost, limit=None if seconds else 100.0)
        for method, seconds in (("auto", auto), ("annealing", annealing))
    ]
    if of_auto:
        cells[0] = Cell(row.name, "auto", 0, **of_auto)
    return Figures(row, (*cells, Cell(row.name, cliffs.PLANTED, 0, cost=planted)))


def judge(*all_figures):
    found, missing = cliffs.judge(list(all_figures))
    return [verdict.measured for verdict in found], [verdict.kept for verdict in found], missing


def test_good_figures_keep_all_promises():
    measured, kept, missing = judge(figures(SMALL, 4.0), figures(LARGE, 5.0))
    assert (measured, kept, missing) == ([5.0, 0.0, 0.8], [True] * 3, [])


@pytest.mark.parametrize(
    ("broken", "number", "measured"),
    [
        (figures(SMALL, 6.0, 1.0), 0, 6.0),
        (figures(SMALL, None, 10.0), 0, 10.0),
        (figures(SMALL, 1.0, cost=1.0 + 2e-9), 1, 2e-9),
        (figures(SMALL, 6.1, 6.0), 2, 6.1 / 6.0),
        (figures(SMALL, error="MemoryError"), 1, math.inf),
    ],
)
def test_a_broken_promise_names_its_row(broken, number, measured):
    found, _ = cliffs.judge([broken, figures(LARGE, 6.0, 6.0)])
    assert found[number].measured == pytest.approx(measured)
    assert not found[number].kept
    assert SMALL.name in found[number].detail


def test_ratios_of_quick_answers_are_not_judged():
    measured, _, missing = judge(figures(SMALL, 0.4, 0.01))
    assert measured == [0.0]
    assert [what.rpartition(": ")[2] for what in missing] == ["all", "all"]


def test_what_a_limit_leaves_open_is_not_judged():
    # At least 100 s beside 30 s, and beside more than 100 s: the ratio may be above 5 or not.
    for annealing in (30.0, None):
        found, missing = cliffs.judge([figures(SMALL, None, annealing, cost=None)])
        assert found == []
        assert [SMALL.name in what for what in missing] == [True, True, False]
    # The larger chain takes at least 100 s, the smaller one 90 s; or more than that too.
    measured, kept, _ = judge(figures(SMALL, 90.0, 90.0), figures(LARGE, None, 90.0))
    assert (measured[2], kept[2]) == (0.9, True)
    _, missing = cliffs.judge([figures(SMALL, None, 90.0), figures(LARGE, None, 90.0)])
    assert missing[-1].endswith(f"{SMALL.name} over 300")


def test_sizes_within_a_factor_of_three_are_not_compared():
    near = Row("noisy", 299, 3, 0.5)
    assert cliffs.slowdowns([figures(SMALL, 9.0), figures(near, 1.0)]) == ({}, [])
    other = Row("noisy", 300, 4, 0.5)
    assert cliffs.slowdowns([figures(SMALL, 9.0), figures(other, 1.0)]) == ({}, [])


def test_rounds_give_medians_of_time_and_the_worst_cost():
    rounds = [(1.0, 2.0), (9.0, 2.5), (2.0, 2.0)]
    cells = [Cell(SMALL.name, "auto", i, 10, t, cost=c) for i, (t, c) in enumerate(rounds)]
    cells += [Cell(SMALL.name, "annealing", 0, 10, 1.0), Cell(SMALL.name, cliffs.PLANTED, 0, cost=2.0)]
    found = Figures(SMALL, tuple(cells))
    assert (found.ratio, found.excess) == (2.0, 0.25)


@pytest.fixture
def made_up(monkeypatch, tmp_path):
    """Two rows, and measurements that are made up; returns what was measured, in order."""
    asked = []

    def measure(row, method, seed, limit, answer):
        asked.append((row.n_states, method, seed))
        if row is LARGE and method == "auto":
            return Cell(row.name, method, seed, limit=limit)
        return Cell(row.name, method, seed, 10 * row.n_states, row.n_states / 100, 0.1, cost=1.0)

    monkeypatch.setattr(cliffs, "TABLE", (SMALL, LARGE))
    monkeypatch.setattr(cliffs, "ROWS", (SMALL, LARGE))
    monkeypatch.setattr(cliffs, "measure", measure)
    monkeypatch.setattr(cliffs, "source_digest", lambda: "this code")
    monkeypatch.setattr(cliff_report, "RESULTS", tmp_path)
    before = signal.getsignal(signal.SIGTERM)
    yield asked
    signal.signal(signal.SIGTERM, before)


def test_a_run_takes_turns_shows_a_table_and_keeps_every_figure(made_up, tmp_path, capsys):
    cliffs.run(Settings(rounds=2, limit=50.0))
    turns = [("planted", 0), ("auto", 0), ("annealing", 0), ("auto", 1), ("annealing", 1)]
    assert made_up[:5] == [(100, *turn) for turn in turns]
    # A method that exceeds the limit is not tried again.
    assert made_up[5:] == [(300, *turn) for turn in turns if turn != ("auto", 1)]
    shown = capsys.readouterr().out
    assert "> 50" in shown and "0.1" in shown
    kept = json.loads((tmp_path / "cliffs.json").read_text())
    assert len(kept["cells"]) == 9 and kept["packages"]["numpy"] and kept["machine"]
    assert (tmp_path / "cliffs.png").stat().st_size > 0


def test_an_interrupted_run_is_resumed(made_up, monkeypatch, tmp_path):
    measure = cliffs.measure

    def interrupted(row, method, *rest):
        if row is LARGE:
            raise KeyboardInterrupt
        return measure(row, method, *rest)

    monkeypatch.setattr(cliffs, "measure", interrupted)
    with pytest.raises(KeyboardInterrupt):
        cliffs.run(Settings())
    assert len(json.loads((tmp_path / "cliffs.json").read_text())["cells"]) == 3
    monkeypatch.setattr(cliffs, "measure", measure)
    made_up.clear()
    cliffs.run(Settings(resume=True))
    assert {n for n, *_ in made_up} == {300}
    # A higher limit, other code, or no wish to resume: measured anew.
    made_up.clear()
    cliffs.run(Settings(resume=True, limit=400.0))
    assert made_up == [(300, "auto", 0)]
    monkeypatch.setattr(cliffs, "source_digest", lambda: "other code")
    for resume in (True, False):
        made_up.clear()
        cliffs.run(Settings(resume=resume))
        assert len(made_up) == 6


def test_every_row_can_be_drawn(tmp_path, monkeypatch):
    monkeypatch.setattr(cliff_report, "RESULTS", tmp_path)
    cliff_report.draw("all", [figures(row) for row in (*cliffs.TABLE, *cliffs.DEGENERATE)])
    assert (tmp_path / "all.png").stat().st_size > 0


def test_only_auto_is_measured_where_tables_of_other_methods_would_fill_the_memory():
    alone = {row.kind: row.n_groups for row in cliffs.DEGENERATE if row.methods == ("auto",)}
    assert alone == {"unstructured": 11_900}
