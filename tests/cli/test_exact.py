"""``klump aggregate --method exact``: groups and quotient of chains that need not be irreducible."""

import hashlib
import json
from pathlib import Path

import numpy as np
import pytest

import klump

RUN = "aggregate die.csv --method exact"


@pytest.fixture
def die(tmp_path, monkeypatch):
    """A die made of coins (Knuth and Yao), and who has finished."""
    monkeypatch.chdir(tmp_path)
    ways = {"a": "bc", "b": "de", "c": "fg", "d": "b1", "e": "23", "f": "45", "g": "c6"}
    lines = [f"{state},{way},0.5" for state, two in ways.items() for way in two]
    lines += [f"{number},{number},1" for number in "123456"]
    (tmp_path / "die.csv").write_text("\n".join(["from,to,probability", *lines]) + "\n")
    labels = [f"{state},{'tossing' if state in ways else 'shown'}" for state in "abcdefg123456"]
    (tmp_path / "labels.csv").write_text("\n".join(["state,group", *labels]) + "\n")
    return klump.read_chain("die.csv")


def test_printed(klump_cli, die, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    lines = klump_cli(f"{RUN} --initial-labels labels.csv --tolerance 1e-8").stdout.splitlines()
    assert lines[1] == "5 groups (method exact, tolerance 1e-08)"
    assert lines[3].split() == ["group", "states", "members"]
    members = {frozenset(line.split()[2:]) for line in lines[4:9]}
    assert members == set(map(frozenset, (["a"], ["b", "c"], ["d", "g"], ["e", "f"], "123456")))
    assert not any(word in "\n".join(lines) for word in ("lumpability", "kept", "bound", "mass "))
    assert any(line.startswith("epsilon ") for line in lines)
    assert sum(line.split()[1:].count("1.0000") for line in lines) == 3
    assert lines[-1] == (
        "note: the chain is not irreducible: there are no stationary masses, hence no costs in bits"
    )


def test_json(klump_cli, die):
    result = klump_cli(f"{RUN} --initial-labels labels.csv --json -o found.npz")
    found = json.loads(result.stdout)
    agg = klump.load("found.npz")
    assert found["n_states"] == agg.n_states == 5
    assert found["labels"] == agg.labels.tolist()
    assert np.array_equal(found["transition_matrix"], agg.chain.transition_matrix)
    assert found["costs"] is found["cost"] is found["stationary_distribution"] is None
    assert found["bisimulation"] == {"epsilon": 0.0, "bound": None, "mean": None}
    assert found["notes"] == list(agg.notes)


def test_an_irreducible_chain_has_everything(klump_cli, die):
    run = f"{RUN} --initial-labels labels.csv --restart 0.1"
    found = json.loads(klump_cli(f"{run} --json").stdout)
    assert found["n_states"] > 1
    assert found["costs"]["lumpability"] < 1e-12
    assert sum(found["stationary_distribution"]) == pytest.approx(1)
    assert "lumpability" in klump_cli(run).stdout


def test_without_labels(klump_cli, die):
    printed = klump_cli(RUN).stdout
    assert "\n1 group (method exact, tolerance 1e-10)\n" in printed
    assert "note: trivial: one group of all states is always an exact lumping" in printed


def test_large_quotients_are_written_as_their_entries(klump_cli, die, monkeypatch):
    monkeypatch.setattr("klump.aggregation.costs._MAX_DENSE_GROUPS", 4)
    found = json.loads(klump_cli(f"{RUN} --initial-labels labels.csv --json").stdout)
    entries = found["transition_matrix"]
    matrix = np.zeros((5, 5))
    matrix[entries["row"], entries["column"]] = entries["probability"]
    monkeypatch.undo()
    assert np.array_equal(matrix, klump.Aggregation.from_labels(die, found["labels"]).chain.transition_matrix)


def test_a_start_for_other_methods(klump_cli, chain_file, chain):
    Path("start.txt").write_text("0\n1\n" * 4)
    run = "aggregate chain.csv --normalize -k 2 --method sequential --json --initial-labels start.txt"
    expected = klump.aggregate(chain, 2, method="sequential", initial=[0, 1] * 4)
    assert json.loads(klump_cli(run).stdout)["labels"] == expected.labels.tolist()


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        ("-k 3", 2, "-k does not apply to --method exact"),
        ("--tolerance 2", 2, "--tolerance"),
        ("--initial-labels missing.csv", 1, "missing.csv: cannot be read"),
        ("--initial-labels short.txt", 1, "short.txt: 1 label, but the chain has 13 states"),
    ],
)
def test_bad_arguments(klump_cli, die, arguments, status, message):
    Path("short.txt").write_text("0\n")
    result = klump_cli(f"{RUN} {arguments}", status)
    assert message in result.stderr
    assert result.stdout == ""


@pytest.mark.parametrize("suffix", ["npz", "csv", "json"])
def test_what_was_found_can_be_scored(klump_cli, die, suffix):
    klump_cli(f"{RUN} --initial-labels labels.csv -q -o found.{suffix}")
    printed = klump_cli(f"score die.csv found.{suffix} --horizon 3").stdout
    assert "\nlumpable             yes  " in printed
    assert "\nepsilon           0.0000  " in printed
    assert "\nany start         0.0000  " in printed
    assert "\nstationary" not in printed
    assert "note: the chain is not irreducible" in printed
    assert "lumpability" not in printed
    scored = json.loads(klump_cli(f"score die.csv found.{suffix} --horizon 3 --beta 0.2 --json").stdout)
    assert scored["lumpable"] is True
    assert scored["n_states"] == 5
    assert scored["horizon"] == {"steps": 3, "stationary": None, "any_start": 0.0, "total_variation": 0.0}
    assert scored["at"] == [{"beta": 0.2, "cost": None}]
    assert scored["costs"] is scored["cost"] is scored["stationary_distribution"] is None


def test_a_partition_that_is_not_lumpable_needs_a_stationary_distribution(klump_cli, die):
    error = klump_cli("score die.csv labels.csv", status=1).stderr
    assert error.startswith("klump: error: die.csv: the chain is not irreducible")
    assert error.count("\n") == 1
    printed = klump_cli("score die.csv labels.csv --restart 0.5").stdout
    assert "\nlumpable              no  " in printed
    assert json.loads(klump_cli("score die.csv labels.csv --restart 0.5 --json").stdout)["lumpable"] is False


def test_json_says_all_that_is_needed_to_repeat_it(klump_cli, die):
    found = json.loads(klump_cli(f"{RUN} --initial-labels labels.csv --n-init 7 --json").stdout)
    assert (found["n_init"], found["tolerance"]) == (7, 1e-10)
    digest = hashlib.sha256(Path("labels.csv").read_bytes()).hexdigest()
    assert found["initial_labels_input"] == {"path": "labels.csv", "sha256": digest}
    assert json.loads(klump_cli(f"{RUN} --tolerance 0.01 --json").stdout)["tolerance"] == 0.01
    found = json.loads(klump_cli("aggregate die.csv --restart 0.5 -k 2 --method spectral --json").stdout)
    assert (found["n_init"], found["tolerance"], found["initial_labels_input"]) == (20, None, None)


def test_only_exact_has_a_tolerance(klump_cli, die):
    error = klump_cli("aggregate die.csv -k 2 --tolerance 1e-3", status=2).stderr
    assert "--tolerance does not apply to --method auto, only to --method exact" in error
    with pytest.raises(
        klump.errors.InvalidArgumentError, match=r"tolerance=0\.001 is not for method='auto'.*exact"
    ):
        klump.aggregate(np.full((2, 2), 0.5), 1, tolerance=0.001)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("-k 2 --initial-labels nope.csv", "nope.csv: cannot be read: No such file or directory"),
        (
            "-k 4 --initial-labels start.txt",
            "start.txt: --initial-labels has 13 groups, but -k 4; pass labels of 4 groups",
        ),
        (
            "-k 2 --method agglomerative --initial-labels one.txt",
            "one.txt: --initial-labels has 1 group, but -k 2; pass labels of at least 2 groups",
        ),
        (
            "-k 2 --initial-labels soft.npy",
            "soft.npy: --initial-labels must be a deterministic map; pass one group for each state",
        ),
        (
            "-k 2 --method agglomerative",
            "die.csv: merging 13 groups one by one would take 0.0 GB; pass --initial-labels with at most a few "
            "thousand groups, as another method finds them",
        ),
    ],
)
def test_errors_about_the_labels_to_start_from(klump_cli, die, monkeypatch, arguments, message):
    monkeypatch.setattr("klump.search.agglomerative._MAX_MEMORY", 100)
    Path("start.txt").write_text("".join(f"{place}\n" for place in range(13)))
    Path("one.txt").write_text("0\n" * 13)
    np.save("soft.npy", np.full((13, 2), 0.5))
    result = klump_cli(f"aggregate die.csv --restart 0.5 {arguments}", status=1)
    assert result.stderr == f"klump: error: {message}\n"


def test_initial_is_still_the_state_of_a_restart(klump_cli, die):
    error = klump_cli(
        "aggregate die.csv --restart 0.5 --initial z -k 2 --initial-labels labels.csv", 1
    ).stderr
    assert error.startswith("klump: error: die.csv: --initial z is not the name of a state")
