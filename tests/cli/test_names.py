"""Names of groups on the command line."""

import json

import pytest
from click.testing import CliRunner

import klump
from klump.cli import main

RUNNER = CliRunner()


@pytest.fixture
def chain(tmp_path):
    path = tmp_path / "chain.csv"
    path.write_text(",sun,cloud,rain\nsun,0.5,0.4,0.1\ncloud,0.4,0.5,0.1\nrain,0.1,0.1,0.8\n")
    return str(path)


def run(*words):
    return RUNNER.invoke(main, list(words), catch_exceptions=False)


def test_default_names_are_in_the_document(chain):
    document = json.loads(run("aggregate", chain, "-k", "2", "--json").stdout)
    assert document["names"] == ["sun cloud", "rain"]


def test_given_names(chain, tmp_path):
    output = str(tmp_path / "answer.npz")
    result = run("aggregate", chain, "-k", "2", "--names", "dry, wet", "-o", output)
    assert "0  dry        2   0.6667  sun cloud" in result.stdout
    assert "0 dry  0.9000  0.1000" in result.stdout
    assert klump.load(output).names == ("dry", "wet")


@pytest.mark.parametrize("names", ["dry", "dry,wet,snow"])
def test_names_are_counted_before_the_search(chain, names):
    result = run("aggregate", chain, "-k", "2", "--names", names)
    assert result.exit_code == 2
    assert "for -k 2 groups; pass 2 names" in result.stderr


@pytest.mark.parametrize("names", ["dry,dry", "dry,", ""])
def test_names_must_differ(chain, names):
    assert run("aggregate", chain, "-k", "2", "--names", names).exit_code == 2


def test_text_labels_name_the_groups_of_score(chain, tmp_path):
    labels = tmp_path / "labels.txt"
    labels.write_text("dry\ndry\nwet\n")
    assert json.loads(run("score", chain, str(labels), "--json").stdout)["names"] == ["dry", "wet"]
    labels.write_text("0\n0\n1\n")
    assert json.loads(run("score", chain, str(labels), "--json").stdout)["names"] == ["sun cloud", "rain"]


def test_paths_count_moves(chain):
    header = run("path", chain, "-k", "2", "--betas", "1,0.5").stdout.splitlines()[3]
    assert header.split()[-1] == "moved"
