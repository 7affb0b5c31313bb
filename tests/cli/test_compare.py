"""``klump compare``: what is printed and saved, and what remains after Ctrl-C."""

import csv
import json
import sys

import numpy as np
import pytest

import klump
from klump.cli.progress import ComparisonProgress
from klump.comparison.outside import OUTSIDE, Tool
from klump.search.method import Found
from klump.search.registry import METHODS, Method

RUN = "compare chain.csv --normalize -k 2 --n-init 3 --methods auto,sequential"
COLUMNS = [
    *("name", "kind", "package", "version", "n_states", "as_asked", "soft", "cost", "lumpability"),
    *("predictability", "bottleneck", "generated", "kept", "epsilon", "seconds", "interrupted", "error"),
]


@pytest.fixture(autouse=True)
def tools(monkeypatch):
    """Three tools that need nothing installed: one that works, one that cannot count, one that fails."""

    def noisy(module, task):
        print("this is not JSON")
        return np.arange(8) // 4

    def broken(module, task):
        raise ValueError("no\nidea")

    for name in list(OUTSIDE):
        monkeypatch.delitem(OUTSIDE, name)
    for name, find in (("noisy", noisy), ("many", lambda *_: np.arange(8)), ("broken", broken)):
        monkeypatch.setitem(OUTSIDE, name, Tool("numpy", "math", find))
    monkeypatch.setitem(OUTSIDE, "lost", Tool("lost", "a_module_that_nobody_has", noisy))


def strict_json(text):
    def refuse(constant):
        raise AssertionError(f"{constant} is not JSON")

    return json.loads(text, parse_constant=refuse)


def without_seconds(found):
    for row in found["rows"]:
        assert row.pop("seconds") >= 0
    return found


def test_json_is_the_comparison(klump_cli, chain_file, chain):
    found = strict_json(klump_cli(f"{RUN} --beta 0.8 --seed 3 --json").stdout)
    compared = klump.compare(
        chain, 2, beta=0.8, methods=["auto", "sequential"], n_init=3, random_state=3
    ).to_dict()
    assert found["schema"] == "klump/comparison/1"
    assert found["states"] == list(chain.states)
    assert found["input"]["normalize"] is True
    assert (found["seed"], found["beta"], found["n_groups"], found["n_init"]) == (3, 0.8, 2, 3)
    assert found["n_states"] == found["n_groups"]  # the old name, kept for one version
    assert found["input"]["n_states"] == 8
    assert [row["name"] for row in found["rows"]][-2:] == ["many", "broken"]
    assert found["not_installed"] == ["lost"]
    found, expected = without_seconds(found), without_seconds(compared)
    assert {key: found[key] for key in expected} == strict_json(json.dumps(expected))


def test_same_keys_as_aggregate(klump_cli, chain_file):
    row = strict_json(klump_cli(f"{RUN} --json").stdout)["rows"][0]
    alone = strict_json(klump_cli("aggregate chain.csv --normalize -k 2 --n-init 3 --json").stdout)
    for key in ("n_groups", "n_states", "labels", "costs", "cost", "bisimulation", "interrupted"):
        assert row[key] == alone[key]


def test_printed(klump_cli, chain_file, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    result = klump_cli(RUN)
    lines = result.stdout.splitlines()
    assert lines[0] == "chain.csv: 8 states, 64 transitions"
    assert lines[1] == "2 groups of 8 states at beta 0.5, seed 0, 3 restarts; costs in bits"
    assert lines[3].split()[:3] == ["method", "groups", "cost"]
    assert [line.split()[0] for line in lines[4:7]] == ["auto", "sequential", "noisy"]
    assert lines[7] == "another number of groups:"
    assert lines[8].split()[:2] == ["many", "8"]
    assert lines[9:11] == ["failed:", "broken      ValueError: no idea"]
    assert lines[-1] == "not installed: lost; pip install 'klump[compare]'"
    assert "this is not JSON" not in result.output
    assert max(map(len, lines)) <= 80


def test_a_narrow_terminal(klump_cli, chain_file, monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    printed = klump_cli(RUN).stdout
    assert "costs in bits" in " ".join(printed.split())
    assert max(map(len, printed.splitlines())) <= 60


def test_only_some(klump_cli, chain_file):
    def names(options):
        rows = strict_json(klump_cli(f"{RUN} --json {options}").stdout)["rows"]
        return sorted(row["name"] for row in rows)

    assert names("--no-outside") == ["auto", "sequential"]
    assert names("--outside noisy,many --methods sequential") == ["many", "noisy", "sequential"]


def test_saved_table(klump_cli, chain_file):
    result = klump_cli(f"{RUN} --json -o table.csv")
    assert result.stderr.endswith("klump: saved table.csv\n")
    with open("table.csv", encoding="utf-8", newline="") as stream:
        reader = csv.DictReader(stream)
        rows = list(reader)
    assert reader.fieldnames == COLUMNS
    found = strict_json(result.stdout)["rows"]
    assert [row["name"] for row in rows] == [row["name"] for row in found]
    assert float(rows[0]["lumpability"]) == found[0]["costs"]["lumpability"]
    assert rows[-1]["cost"] == ""
    assert rows[-1]["error"] == "ValueError: no idea"


def test_saved_json(klump_cli, chain_file):
    result = klump_cli(f"{RUN} --json -o table.json")
    with open("table.json", encoding="utf-8") as stream:
        assert stream.read() == result.stdout


@pytest.mark.parametrize(("suffix", "start"), [("png", b"\x89PNG"), ("svg", b"<?xml"), ("pdf", b"%PDF")])
def test_saved_picture(klump_cli, chain_file, suffix, start):
    pytest.importorskip("matplotlib")
    klump_cli(f"{RUN} --quiet -o picture.{suffix}")
    with open(f"picture.{suffix}", "rb") as stream:
        assert stream.read(len(start)) == start


def test_no_picture_without_matplotlib(klump_cli, chain_file, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    for run in (RUN, "grid chain.csv --normalize"):
        result = klump_cli(f"{run} -o picture.png", status=1)
        assert result.stderr == "klump: error: pictures need matplotlib; pip install 'klump[plots]'\n"
        assert result.stdout == ""


def test_what_cannot_be_written_is_refused_before_the_search(klump_cli, chain_file, tmp_path, monkeypatch):
    monkeypatch.setattr("klump.comparison.compare", None)
    for suffix in ("csv", "json", "png"):
        (tmp_path / f"folder.{suffix}").mkdir()
        error = klump_cli(f"{RUN} --quiet -o folder.{suffix}", status=2).stderr
        assert f"folder.{suffix}: this is a folder, not a regular file; choose another name" in error


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("compare chain.csv --normalize", "Missing option '-k'"),
        (f"{RUN},magic", "'magic' is not one of auto, "),
        (f"{RUN} --outside magic", "'magic' is not one of noisy, many, broken, lost"),
        (f"{RUN} --outside noisy --no-outside", "leave one of them out"),
        (f"{RUN} -o out.npz", "'out.npz' must end in .json, .csv, .png, .svg or .pdf"),
    ],
)
def test_wrong_usage(klump_cli, chain_file, arguments, message):
    assert message in klump_cli(arguments, status=2).stderr


def test_bad_data(klump_cli, chain_file):
    error = klump_cli(f"{RUN} -k 9", status=1).stderr
    assert error.startswith("klump: error: chain.csv: -k 9 must lie between 1 and ")


def test_an_interrupted_comparison_shows_the_finished_rows(klump_cli, chain_file, monkeypatch):
    def press(self, name, done, total, best_cost):
        if done == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr(ComparisonProgress, "update", press)
    result = klump_cli(f"{RUN} --json -o table.csv", status=130)
    found = strict_json(result.stdout)
    assert [row["name"] for row in found["rows"]] == ["auto", "sequential"]
    assert found["not_run"] == ["noisy", "many", "broken"]
    assert found["interrupted"] is True
    assert result.stderr.endswith("klump: interrupted: this is what was found so far\n")
    with open("table.csv", encoding="utf-8") as stream:
        assert len(stream.readlines()) == 3


def test_an_interruption_is_announced_once(klump_cli, chain_file, monkeypatch):
    def interrupted(task):
        n = task.chain.n_states
        return Found(np.arange(n, dtype=np.int32) % task.n_groups, 0.0, (0.0,), interrupted=n == 8)

    monkeypatch.setitem(METHODS, "auto", Method("auto", interrupted, "for a test"))
    result = klump_cli("compare chain.csv --normalize -k 2 --methods auto --no-outside", status=130)
    assert "auto!" in result.stdout
    assert (result.stdout + result.stderr).count("interrupted") == 1


def test_when_every_method_fails_so_does_the_comparison(klump_cli, chain_file, monkeypatch):
    monkeypatch.setattr("klump.search.agglomerative._MAX_MEMORY", 100)
    monkeypatch.setenv("COLUMNS", "120")
    run = "compare chain.csv --normalize -k 2 --methods agglomerative --outside broken -o table.csv"
    result = klump_cli(f"{run} --quiet", status=1)
    assert result.stderr == "klump: error: every method failed; the rows have the reasons\n"
    # A comparison has no labels to start from, so there is nothing to advise.
    assert "agglomerative  merging 8 groups one by one would take 0.0 GB\n" in result.stdout
    assert len(strict_json(klump_cli(f"{run} --json", status=1).stdout)["rows"]) == 2
    with open("table.csv", encoding="utf-8") as stream:
        assert len(stream.readlines()) == 3


def test_tools_that_are_asked_for_must_be_there(klump_cli, chain_file):
    result = klump_cli(f"{RUN} --outside noisy,lost", status=1)
    assert result.stderr == (
        "klump: error: --outside lost needs lost, which is not installed; pip install lost\n"
    )
    assert result.stdout == ""


def test_interrupted_before_anything_is_finished(klump_cli, chain_file, monkeypatch):
    def press(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(ComparisonProgress, "update", press)
    assert klump_cli(RUN, status=130).stderr == "klump: interrupted\n"


def test_progress_on_a_terminal_names_the_method():
    import io

    from rich.console import Console

    terminal = Console(file=io.StringIO(), force_terminal=True, width=100)
    with ComparisonProgress(["auto", "sib"], quiet=False, delay=0.0, console=terminal) as progress:
        progress._timer.join()
        progress.update("comparing", 0, 2)
        progress.update("comparing", 1, 2)
    shown = terminal.file.getvalue()
    assert "sib" in shown
    assert "1/2" in shown


def test_progress_where_there_is_no_terminal(capsys):
    with ComparisonProgress(["auto", "sib"], quiet=False, delay=0.0) as progress:
        for done in range(3):
            progress.update("comparing", done, 2)
    lines = capsys.readouterr().err.splitlines()
    assert [line.split(" done in ")[0] for line in lines] == ["klump: auto:", "klump: sib:"]
    with ComparisonProgress(["auto"], quiet=False, delay=1000.0) as progress:
        progress.update("comparing", 0, 1)
    assert capsys.readouterr().err == ""
