"""The table of clusterers, on few points."""

import re

from benchmarks import estimator


def test_a_cell_per_contestant(capsys):
    lines = estimator.run((estimator.blobs, estimator.no_structure, estimator.iris), seeds=(0,), n=60)
    assert capsys.readouterr().out.splitlines() == lines
    assert all(line.count("|") == len(estimator.HEADER) + 1 for line in lines)
    for line in lines[2:-1]:
        assert len(re.findall(r" -?\d\.\d\d \(-?\d\.\d\d\) \|", line)) == len(estimator.CONTESTANTS)
