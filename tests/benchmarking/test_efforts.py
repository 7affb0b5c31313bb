"""The table of efforts, on a small chain."""

import re

from benchmarks import efforts
from benchmarks.cliffs import Row

from klump.search.registry import EFFORT_NAMES


def test_a_cell_per_effort_and_a_mark_for_ended_searches(monkeypatch, capsys):
    lines = efforts.run((Row("noisy", 400, 3, 0.5),))
    assert capsys.readouterr().out.splitlines() == lines
    assert all(line.count("|") == len(efforts.HEADER) + 1 for line in lines)
    assert lines[-1].startswith("| noisy, 400 states | 3 | 0.5 | ")
    assert len(re.findall(r"\d\.\d{6}, \d+\.\d\d \|", lines[-1])) == len(EFFORT_NAMES)
    monkeypatch.setattr(efforts, "LIMIT", 1e-9)
    assert efforts.run((Row("noisy", 400, 3, 0.5),))[-1].count("*") == len(EFFORT_NAMES)
