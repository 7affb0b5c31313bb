"""A slice of ``make fuzz``: other mutants than the default ones, few of each format."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

from fuzzing.formats import FORMATS, MUTATORS

# Mutants per format, and their seed: `make fuzz` has 0.
MUTANTS = 60
SEED = 20170913
NAMES = [each.name for each in FORMATS]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the operating system has no fork")
@pytest.mark.parametrize("start", range(4))
def test_no_mutant_breaks_a_reader(start):
    names = NAMES[start::4]
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(Path(__file__).parents[1]), *filter(None, sys.path)]),
    }
    command = [
        sys.executable,
        "-m",
        "fuzzing",
        "--json",
        "--mutants",
        str(MUTANTS),
        "--seed",
        str(SEED),
        *names,
    ]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    counts = json.loads(done.stdout or "[]")
    assert [count["format"] for count in counts] == names, done.stderr
    for count in counts:
        assert count["mutants"] == MUTANTS
        assert not count["failures"], count["examples"]
        # Damaged checkpoints are not refused: their pieces run again.
        tame = count["verdicts"].get("refused", 0) < MUTANTS / 10 and count["format"] != "checkpoints"
        assert not tame, f"{count['format']}: too few mutants are refused"


@pytest.mark.parametrize("name", ["mtx", "npz dense", "saved grid", "labels .json"])
def test_mutants_are_the_same_every_time_and_differ_from_the_seed(name):
    (one,) = (each for each in FORMATS if each.name == name)
    files = one.make_seeds()[0]
    first, again = ([one.mutant(files, random.Random(f"{seed}")) for seed in range(50)] for _ in range(2))
    assert first == again
    assert sum(mutant != files for mutant in first) > 40
    assert len({str(mutant) for mutant in first}) > 30


def test_every_format_of_chains_is_fuzzed():
    from klump.files.registry import MODULES

    fuzzed = {name for each in FORMATS for files in each.make_seeds() for name in files}
    for suffix in MODULES:
        # A .tsv.gz is read as a .csv.gz.
        assert suffix == ".tsv.gz" or any(suffix in name for name in fuzzed), f"no mutants of {suffix}"
    assert list(MUTATORS)[-1] == "", "the last entry is for all other names"
