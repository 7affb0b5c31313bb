"""``klump select``: what is printed and saved, held-out data, and what happens on Ctrl-C."""

import csv
import json

import pytest

import klump
from klump.cli.progress import GuaranteeProgress
from klump.documents import plain

RUN = "select chain.csv --normalize -k 2..4 --beta 0.5 --beta 1 --method sequential --n-init 3 --resamples 2"
OPTIONS = {"method": "sequential", "n_init": 3, "n_resamples": 2}


@pytest.fixture
def choice(chain):
    return klump.select(chain, range(2, 5), [0.5, 1.0], **OPTIONS)


def test_json_is_the_selection(klump_cli, chain_file, chain, choice):
    found = json.loads(klump_cli(f"{RUN} --json").stdout)
    assert found["schema"] == "klump/selection/1"
    assert (found["n_groups"], found["beta"]) == (2, choice.beta)
    assert (found["n_restarts"], found["n_shuffles"]) == (2, 9)
    expected = plain(choice.to_dict())
    assert {name: found[name] for name in expected} == json.loads(json.dumps(expected))


def test_printed(klump_cli, chain_file, choice):
    lines = klump_cli(RUN).stdout.splitlines()
    assert lines[0] == "chain.csv: 8 states, 64 transitions"
    assert lines[1] == "method sequential, seed 0; costs in bits"
    header = ["groups", "beta", "cost", "gain", "bend", "kept", "mean", "TV", "epsilon", "restarts"]
    assert lines[3].split() == [*header, "resamples", "gap"]
    assert [line.split()[:2] for line in lines[4:10]] == [
        [str(r.n_states), f"{r.beta:g}"] for r in choice.table
    ]
    text = " ".join(lines[11:])
    assert choice.reason in text
    assert all(f"note: {note}" in text for note in choice.notes)


@pytest.mark.parametrize("suffix", ["csv", "json"])
def test_saved(klump_cli, chain_file, choice, suffix):
    result = klump_cli(f"{RUN} --json -o out.{suffix}")
    assert result.stderr.endswith(f"klump: saved out.{suffix}\n")
    with open(f"out.{suffix}", encoding="utf-8", newline="") as stream:
        if suffix == "json":
            assert stream.read() == result.stdout
            return
        rows = list(csv.DictReader(stream))
    assert [int(row["n_groups"]) for row in rows] == [row.n_states for row in choice.table]
    assert [float(row["cost"]) for row in rows] == [row.cost for row in choice.table]
    assert rows[0]["held_out"] == ""


def test_held_out_lines(klump_cli, chain_file, tmp_path, chain):
    (tmp_path / "walks.txt").write_text("a x y a a\n\nx [b] unknown x\n")
    found = json.loads(klump_cli(f"{RUN} --held-out walks.txt --json").stdout)
    held_out = [["a", "x", "y", "a", "a"], ["x", "[b]", "unknown", "x"]]
    expected = klump.select(chain, range(2, 5), [0.5, 1.0], held_out=held_out, **OPTIONS)
    assert [row["held_out"] for row in found["rows"]] == [row.held_out for row in expected.table]
    assert any("2 held-out transitions of 7" in note for note in found["notes"])


def test_held_out_table_of_events(klump_cli, tmp_path, monkeypatch):
    pytest.importorskip("duckdb")
    monkeypatch.chdir(tmp_path)
    for name, shift in (("events.csv", 0), ("later.csv", 3)):
        rows = (f"{v},{t},{(v * t * t + v + shift) % 5}\n" for v in range(1, 30) for t in range(8))
        (tmp_path / name).write_text("visit,time,page\n" + "".join(rows))
    run = "select events.csv --session visit --time time --state page -k 2..3 --beta 0.5 --json --held-out later.csv"
    found = json.loads(klump_cli(run).stdout)
    assert all(2 < row["held_out"] < 8 for row in found["rows"])


def test_interrupted(klump_cli, chain_file, monkeypatch):
    def press(self, name, done, total, best_cost=None):
        if done == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr(GuaranteeProgress, "update", press)
    result = klump_cli(RUN, status=130)
    assert result.stdout.splitlines()[-1] == "interrupted: this is what was found so far"
    found = json.loads(klump_cli(f"{RUN} --json", status=130).stdout)
    assert (found["n_groups"], found["interrupted"], len(found["rows"])) == (None, True, 2)


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        ("-k 4..2", 2, "'4..2' must ascend, from 1 or more"),
        ("-k 1..2", 1, "chain.csv: -k 1 is a single group of all states"),
        ("--method stochastic", 2, "'stochastic' is not one of auto, sequential"),
        ("-o out.npz", 2, "must end in .csv, .json, .png, .svg or .pdf"),
        ("--held-out missing.txt", 1, "missing.txt: No such file or directory"),
        ("--held-out short.txt", 1, "short.txt: has no line with two states; write one sequence"),
        ("--held-out other.txt", 1, "--held-out has no transition between states of the chain"),
    ],
)
def test_errors(klump_cli, chain_file, tmp_path, arguments, status, message):
    (tmp_path / "short.txt").write_text("a\nx\n")
    (tmp_path / "other.txt").write_text("1 2 3\n")
    result = klump_cli(f"select chain.csv --normalize {arguments}", status)
    assert message in result.stderr
    assert result.stdout == ""


def test_resamples_need_counts(klump_cli, chain_file, chain):
    klump.write_chain(klump.MarkovChain(chain.transition_matrix), "chain.npz")
    result = klump_cli("select chain.npz -k 2 --resamples 3", 1)
    assert result.stderr == (
        "klump: error: chain.npz: --resamples 3 needs the numbers of observed transitions, which this chain does not "
        "have; leave it out, or pass a chain that is estimated from counts\n"
    )
