"""The benchmark of event tables, on a small one."""

import json

import pytest
from benchmarks import events

pytest.importorskip("duckdb")
pytest.importorskip("pandas")
pytest.importorskip("pyarrow")


def test_both_count_the_same(tmp_path):
    for file in events.write_events(tmp_path, rows=2_000, sessions=100, pages=7):
        found = {name: count(str(file)) for name, count in events.READERS.items()}
        assert found["klump"] == found["pandas"]
        assert found["klump"] == (1_900, 49)


def test_one_measurement_leaves_its_figures(tmp_path):
    file = events.write_events(tmp_path, rows=500, sessions=50, pages=3)[0]
    events.main("klump", str(file), str(tmp_path / "answer.json"))
    assert json.loads((tmp_path / "answer.json").read_text()).keys() >= {"seconds", "gigabytes", "counted"}


def test_without_duckdb_nothing_is_measured(monkeypatch, capsys):
    monkeypatch.setattr(events, "find_spec", lambda name: None)
    assert events.run() == []
    assert "duckdb is not installed" in capsys.readouterr().out
