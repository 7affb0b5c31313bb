"""klump dynamics: what it prints is what the library computes."""

import json

import numpy as np
import pytest

import klump


@pytest.fixture
def files(tmp_path, monkeypatch):
    """A path of 30 states, a double well of 60, a chain that is absorbed, and maps."""
    monkeypatch.chdir(tmp_path)
    P = np.diag(np.full(29, 0.25), 1) + np.diag(np.full(29, 0.25), -1)
    P += np.diag(1 - P.sum(axis=1))
    klump.write_chain(klump.MarkovChain(P), "path.csv")
    energy = 6 * (np.linspace(-1.5, 1.5, 60) ** 2 - 1) ** 2
    up = 0.5 * np.exp(np.minimum(0, energy[:-1] - energy[1:]))
    down = 0.5 * np.exp(np.minimum(0, energy[1:] - energy[:-1]))
    well = np.diag(up, 1) + np.diag(down, -1)
    klump.write_chain(klump.MarkovChain(well + np.diag(1 - well.sum(axis=1))), "well.csv")
    for name, groups in (("halves", np.arange(30) // 15), ("thirds", np.arange(60) // 20)):
        rows = "".join(f"{i},{y}\n" for i, y in enumerate(groups))
        (tmp_path / f"{name}.csv").write_text("state,group\n" + rows)
    (tmp_path / "soft.json").write_text(json.dumps({"mapping": [[0.9, 0.1]] * 15 + [[0.2, 0.8]] * 15}))
    (tmp_path / "dull.json").write_text(json.dumps({"mapping": [[0.5, 0.5]] * 30}))
    fate = klump.MarkovChain([[0.5, 0.3, 0.2], [0, 1, 0], [0, 0, 1]], states=["stem", "red", "white"])
    klump.write_chain(fate, "fate.csv")
    return klump.read_chain("path.csv")


def read(klump_cli, arguments):
    return json.loads(klump_cli(f"dynamics {arguments} --json -q").stdout)


def test_times_are_those_of_the_library(files, klump_cli):
    document = read(klump_cli, "path.csv halves.csv --timescales 3 --steps 1,4 --committor 0 28,29")
    answer = klump.Aggregation.from_labels(files, np.arange(30) // 15)
    late = answer.long_time_chain
    for name, chain in (("original", files), ("aggregated", answer.chain), ("long_time", late)):
        np.testing.assert_allclose(document["timescales"][name], chain.timescales(3))
    times = document["first_passage_times"]
    np.testing.assert_allclose(times["original"], answer.first_passage_times())
    np.testing.assert_allclose(times["aggregated"], answer.chain.first_passage_times())
    np.testing.assert_allclose(times["long_time"], late.first_passage_times())
    np.testing.assert_allclose(document["long_time_chain"]["transition_matrix"], late.transition_matrix)
    rows = answer.chapman_kolmogorov([1, 4]).table()
    found = [
        (row["steps"], row["difference"], row["aggregated"], row["long_time"])
        for row in document["chapman_kolmogorov"]
    ]
    np.testing.assert_allclose(found, rows)
    np.testing.assert_allclose(document["committor"]["probabilities"], files.committor(0, [28, 29]))
    assert document["labels_input"]["path"] == "halves.csv"


def test_tables(files, klump_cli):
    text = klump_cli("dynamics path.csv halves.csv --committor 0 29 --steps 1,50").stdout
    assert "timescale  original  aggregated  long-time" in text
    assert text.count("first-passage times, ") == 3
    assert "Chapman-Kolmogorov" in text
    assert "committor: probability to get to 29 before 0" in text
    rows = [line.split() for line in text.splitlines()]
    assert ["1", "364.6", "29.4972", "300.2"] in rows
    assert "note" not in text


def test_a_chain_alone(files, klump_cli):
    text = klump_cli("dynamics path.csv --timescales 2 --committor 0 29").stdout
    assert "timescale  original\n        1     364.6" in text
    assert "... +10; --json has all" in text
    document = read(klump_cli, "path.csv")
    assert document["first_passage_times"] is document["long_time_chain"] is document["labels"] is None


def test_absorption(files, klump_cli):
    for targets in ("--absorption closed", "--absorption red --absorption white"):
        document = read(klump_cli, f"fate.csv {targets}")
        np.testing.assert_allclose(document["absorption"]["probabilities"], [[0.6, 0.4], [1, 0], [0, 1]])
        assert document["timescales"]["original"][0] is None  # infinite
    text = klump_cli("dynamics fate.csv --absorption closed").stdout
    assert " stem        0.6000          0.4000" in text
    assert "class of white" in text


def test_negative_entries_are_noted(files, klump_cli):
    document = read(klump_cli, "well.csv thirds.csv")
    assert not document["long_time_chain"]["is_stochastic"]
    assert any("most negative entry" in note for note in document["notes"])
    assert "no Markov chain" in klump_cli("dynamics well.csv thirds.csv").stdout


def test_soft_maps(files, klump_cli):
    document = read(klump_cli, "path.csv soft.json")
    assert set(document["first_passage_times"]) == {"aggregated", "long_time"}
    document = read(klump_cli, "path.csv dull.json")
    assert document["long_time_chain"] is None
    assert any("linearly dependent" in note for note in document["notes"])


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        ("fate.csv --committor x red", 1, "--committor x is neither the name nor the index of a state"),
        ("fate.csv --absorption red --absorption red", 1, "--absorption has the state 'red' twice"),
        ("fate.csv --steps 0,3", 2, "write numbers from 1"),
        ("fate.csv --steps a", 2, "write numbers from 1"),
        ("fate.csv missing.csv", 1, "missing.csv"),
    ],
)
def test_errors_are_one_line(files, klump_cli, arguments, status, message):
    result = klump_cli(f"dynamics {arguments}", status=status)
    assert message in result.stderr


def test_aggregate_at_a_lag(files, klump_cli):
    document = json.loads(klump_cli("aggregate path.csv -k 2 --lag 50 --json -q").stdout)
    assert document["lag"] == 50
    assert document["labels"] == klump.aggregate(files, 2, lag=50).labels.tolist()
    assert "lag 50" in klump_cli("aggregate path.csv -k 2 --lag 50 -q").stdout
