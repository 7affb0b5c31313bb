"""Soft maps on the command line: shown as such, saved with their shares, and scored as what they are."""

import json

import numpy as np
import pytest
from click.testing import CliRunner

from klump.cli import main

P = "a,b,c\n0.4638,0.4871,0.0491\n0.3018,0.1419,0.5563\n0.0173,0.3155,0.6672\n"


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "chain.csv").write_text(P)

    def run(command):
        result = CliRunner().invoke(main, command.split())
        assert result.exit_code == 0, result.output
        return result.stdout

    return run


def test_shares_are_shown(run):
    shown = run("aggregate chain.csv -k 2 --method stochastic -q")
    assert "shared states\n  b  0.58 in 0, 0.42 in 1\n" in shown
    assert "soft: 1 of 3 states belong to several groups" in shown
    assert "certificate" not in shown
    assert "shared" not in run("aggregate chain.csv -k 2 -q")


@pytest.mark.parametrize("name", ["answer.json", "answer.csv", "answer.npz"])
def test_a_saved_soft_map_is_scored_as_one(run, name):
    found = json.loads(run(f"aggregate chain.csv -k 2 --method stochastic -q --json -o {name}"))
    mapping = np.array(found["mapping"])
    assert mapping.shape == (3, 2)
    np.testing.assert_allclose(mapping.sum(axis=1), 1)
    scored = json.loads(run(f"score chain.csv {name} --json"))
    assert scored["cost"] == pytest.approx(found["cost"], abs=1e-12)
    np.testing.assert_allclose(scored["mapping"], mapping)


def test_shares_follow_the_names_of_the_states(run, tmp_path):
    run("aggregate chain.csv -k 2 --method stochastic -q -o answer.csv")
    header, *rows = (tmp_path / "answer.csv").read_text().splitlines()
    (tmp_path / "turned.csv").write_text("\n".join([header, *rows[::-1]]) + "\n")
    assert (
        run("score chain.csv turned.csv --json").replace("turned", "answer").split('"at"')[1]
        == run("score chain.csv answer.csv --json").split('"at"')[1]
    )


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("state,group,share_0,share_1\na,0,1,0\nb,0,x,0\nc,1,0,1\n", "must be numbers"),
        ("state,group,share_0,share_1\na,0,1,0\nb,0,0.9,0\nc,1,0,1\n", "sums to 0.9 instead of 1"),
        ("state,group,share_0,share_1\na,0,1,0\nb,0,1,0\n", "the state 'c' has no label"),
    ],
)
def test_bad_shares(run, tmp_path, content, message):
    (tmp_path / "bad.csv").write_text(content)
    result = CliRunner().invoke(main, ["score", "chain.csv", "bad.csv"])
    assert result.exit_code == 1
    assert message in result.stderr
    assert result.stderr.count("\n") == 1


def test_trees_and_splits_are_in_the_json(run):
    tree = json.loads(run("aggregate chain.csv -k 2 --method agglomerative -q --json"))["tree"]
    assert len(tree["merges"]) == len(tree["merge_costs"]) == 2
    splits = json.loads(run("aggregate chain.csv -k 2 --method deterministic-annealing -q --json"))["splits"]
    assert splits[-1]["n_states"] == 2
    found = json.loads(run("aggregate chain.csv -k 2 -q --json"))
    assert found["tree"] is found["splits"] is found["mapping"] is None
