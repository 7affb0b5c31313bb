"""``klump grid``: what is printed and saved, and what happens on Ctrl-C."""

import csv
import json

import numpy as np
import pytest

import klump
from klump.cli.progress import GuaranteeProgress

RUN = "grid chain.csv --normalize -k 2..3,5 --beta 0.5 --beta 1 --method sequential --n-init 3"


@pytest.fixture
def grid(chain):
    return klump.grid(chain, [2, 3, 5], [0.5, 1.0], "sequential", n_init=3)


def test_json_is_the_grid(klump_cli, chain_file, chain, grid):
    found = json.loads(klump_cli(f"{RUN} --json").stdout)
    assert found["schema"] == "klump/grid/1"
    assert found["n_init"] == 3
    assert found["states"] == list(chain.states)
    assert found["input"]["n_states"] == 8
    expected = grid.to_dict()
    assert {name: found[name] for name in expected} == json.loads(json.dumps(expected))
    assert found["n_groups"] == found["n_states"] == [2, 3, 5]
    assert [cell["n_groups"] for cell in found["cells"]] == [cell["n_states"] for cell in found["cells"]]


def test_jobs_change_nothing(klump_cli, chain_file):
    assert klump_cli(f"{RUN} --json").stdout == klump_cli(f"{RUN} --json --jobs 2").stdout


def test_printed(klump_cli, chain_file, grid):
    lines = klump_cli(RUN).stdout.splitlines()
    assert lines[0] == "chain.csv: 8 states, 64 transitions"
    assert lines[1] == "method sequential, seed 0; costs in bits"
    assert lines[3].split() == ["groups", "beta", "cost", "kept", "epsilon"]
    rows = [line.split() for line in lines[4:]]
    assert [row[:2] for row in rows] == [[str(k), beta] for k in (2, 3, 5) for beta in ("0.5", "1")]
    for row, answer in zip(rows, grid, strict=True):
        assert float(row[2]) == pytest.approx(answer.cost, abs=1e-4)
        assert float(row[3]) == pytest.approx(100 * answer.kept, abs=0.05)
        assert float(row[5]) == pytest.approx(answer.bisimulation.epsilon, abs=1e-4)


def test_soft_groups_have_no_certificate(klump_cli, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    matrix = [[0.4638, 0.4871, 0.0491], [0.3018, 0.1419, 0.5563], [0.0173, 0.3155, 0.6672]]
    klump.write_chain(klump.MarkovChain(matrix), "chain.npz")
    assert klump_cli("grid chain.npz -k 2 --method stochastic").stdout.splitlines()[-1].split()[-1] == "soft"


@pytest.mark.parametrize("suffix", ["npz", "csv", "json", "png"])
def test_saved(klump_cli, chain_file, grid, suffix):
    if suffix == "png":
        pytest.importorskip("matplotlib")
    result = klump_cli(f"{RUN} --json -o grid.{suffix}")
    assert result.stderr.endswith(f"klump: saved grid.{suffix}\n")
    if suffix == "npz":
        np.testing.assert_array_equal(klump.load("grid.npz").costs, grid.costs)
        message = "grid.npz: this is a grid of 6 aggregations; save the one that is to be scored"
        assert message in klump_cli("score chain.csv grid.npz --normalize", 1).stderr
    elif suffix == "csv":
        with open("grid.csv", encoding="utf-8", newline="") as stream:
            rows = list(csv.DictReader(stream))
        assert [float(row["cost"]) for row in rows] == grid.costs.ravel().tolist()
        assert [int(row["n_states"]) for row in rows] == [2, 2, 3, 3, 5, 5]
    elif suffix == "json":
        with open("grid.json", encoding="utf-8") as stream:
            assert stream.read() == result.stdout
    else:
        with open("grid.png", "rb") as stream:
            assert stream.read(4) == b"\x89PNG"


def test_interrupted(klump_cli, chain_file, monkeypatch):
    def press(self, name, done, total, best_cost=None):
        if done == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr(GuaranteeProgress, "update", press)
    result = klump_cli(RUN, status=130)
    assert result.stdout.splitlines()[-1] == "interrupted: 4 cells not run"
    assert result.stderr == ""
    result = klump_cli(f"{RUN} --json", status=130)
    assert len(json.loads(result.stdout)["cells"]) == 2
    assert result.stderr == "klump: interrupted: this is what was found so far\n"


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        ("-k 4..2", 2, "'4..2' must ascend, from 1 or more"),
        ("-k 0..2", 2, "'0..2' must ascend, from 1 or more"),
        ("-k 2..99999999999", 2, "must ascend, from 1 or more to 1,000,000 or less"),
        ("-k two", 2, "'two' is not a list of numbers of groups like 2..10 or 2,4,8"),
        ("-k 2,", 2, "'2,' is not a list of numbers of groups"),
        ("--method exact", 2, "'exact' is not one of auto, sequential"),
        ("--beta 2", 2, "2.0 is not in the range"),
        ("-o grid.txt", 2, "must end in .npz, .json, .csv, .png, .svg, .pdf or .html"),
        ("-k 2..9", 1, "chain.csv: -k 9 must lie between 1 and the 8 states of the chain"),
    ],
)
def test_errors(klump_cli, chain_file, arguments, status, message):
    result = klump_cli(f"grid chain.csv --normalize {arguments}", status)
    assert message in result.stderr
    assert result.stdout == ""


def test_help_says_how_it_differs_from_path(klump_cli):
    words = " ".join(klump_cli("grid --help").stdout.split())
    assert "Each cell, a number of groups and a beta, is an independent run of klump aggregate" in words
    assert "klump path has one number of groups, and one annealing run for all values of beta" in words
