"""Constraints on the command line: flags, and files of groups and pairs."""

import csv
import json

import pytest

import klump
from klump.sources.random_chains import block_chain


@pytest.fixture
def model(tmp_path, monkeypatch):
    """A chain with names and a label in the working folder, and a function that writes a file beside it."""
    monkeypatch.chdir(tmp_path)
    found, _ = block_chain((3, 4, 5), alpha=0.4, eps=0.3, random_state=0)
    names = [f"s{i}" for i in range(12)]
    klump.write_chain(
        klump.MarkovChain(found.transition_matrix, names, labels={"odd": names[1::2]}), "chain.npz"
    )
    return lambda name, text: (tmp_path / name).write_text(text)


def run_json(klump_cli, options):
    result = klump_cli(f"aggregate chain.npz -k 4 --json {options}")
    document = json.loads(result.stdout)
    return dict(zip(document["states"], document["labels"], strict=True)), document


def test_every_constraint(klump_cli, model):
    model("fixed.csv", "state,group\ns0,2\ns2,2\n")
    model("must.csv", "a,b\ns1,s11\n")
    model("cannot.csv", "s3,s5\n")
    files = "--fixed fixed.csv --must-link must.csv --cannot-link cannot.csv"
    group, document = run_json(klump_cli, f"{files} --respect-labels --min-mass 0.05")
    assert group["s0"] == group["s2"] == 2
    assert group["s1"] == group["s11"]
    assert group["s3"] != group["s5"]
    assert all(group[f"s{i}"] != group[f"s{j}"] for i in range(0, 12, 2) for j in range(1, 12, 2))
    assert min(document["stationary_distribution"]) >= 0.05
    assert document["constraints"]["must_link"] == [["s1", "s11"]]
    assert document["constraints_input"]["cannot_link"]["path"] == "cannot.csv"


def test_numbers_of_states_without_names(klump_cli, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found, _ = block_chain((3, 4, 5), alpha=0.4, eps=0.3, random_state=0)
    klump.write_chain(found, "chain.npz")
    (tmp_path / "pairs.csv").write_text("0;11\n1;10\n")
    group, _ = run_json(klump_cli, "--cannot-link pairs.csv")
    assert group[0] != group[11]
    assert group[1] != group[10]


@pytest.mark.parametrize(
    ("option", "text", "message"),
    [
        ("--must-link", "s0,s1\ns1,nobody\n", "pairs.csv: --must-link has 'nobody'"),
        ("--must-link", "s0,s1,s2\n", "pairs.csv: line 1 has 3 fields"),
        ("--fixed", "state,group\ns0,1\ns0,2\n", "pairs.csv: the state 's0' has two groups"),
        ("--fixed", "state,group\ns0,7\n", "pairs.csv: --fixed has the group 7, but -k 4"),
        ("--cannot-link", "s0,s1\ns0,s0\n", "pairs.csv: --cannot-link has 's0' twice"),
    ],
)
def test_errors_name_the_file_and_the_option(klump_cli, model, option, text, message):
    model("pairs.csv", text)
    result = klump_cli(f"aggregate chain.npz -k 4 {option} pairs.csv", status=1)
    assert message in result.stderr
    assert result.stderr.count("\n") == 1


def test_labels_that_need_more_groups_are_refused(klump_cli, model):
    result = klump_cli("aggregate chain.npz -k 1 --respect-labels", status=1)
    assert "-k 1 cannot be met" in result.stderr
    assert "need at least 2 groups" in result.stderr


def test_exact_respects_labels(klump_cli, model):
    klump_cli("aggregate chain.npz --method exact --respect-labels -o groups.csv")
    with open("groups.csv", newline="") as file:
        group = {row["state"]: row["group"] for row in csv.DictReader(file)}
    assert all(group[f"s{i}"] != group[f"s{j}"] for i in range(0, 12, 2) for j in range(1, 12, 2))
