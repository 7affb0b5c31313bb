"""``klump score``: any partition, from any tool."""

import json

import numpy as np
import pytest

import klump


def test_the_paper_example(klump_cli, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "paper.csv").write_text("0.4,0.3,0.3\n0.25,0.3,0.45\n0.15,0.425,0.425\n")
    (tmp_path / "labels.txt").write_text("one\nrest\nrest\n")
    output = klump_cli("score paper.csv labels.txt --beta 0.2 --beta 0.7").stdout
    assert "labels.txt: 2 groups\n" in output
    found = json.loads(klump_cli("score paper.csv labels.txt --beta 0.2 --beta 0.7 --json").stdout)
    assert found["schema"] == "klump/score/1"
    assert found["labels"] == [0, 1, 1]
    assert round(found["costs"]["lumpability"], 6) == 0.008560
    assert round(found["costs"]["predictability"], 6) == 0.013547
    assert [entry["beta"] for entry in found["at"]] == [0.2, 0.7]
    assert found["at"][0]["cost"] > found["at"][1]["cost"]
    assert len(found["labels_input"]["sha256"]) == 64
    assert f"lumpability     {found['costs']['lumpability']:8.4f}" in output
    assert f"cost at 0.7     {found['at'][1]['cost']:8.4f}" in output


def test_by_name_in_any_order(klump_cli, chain_file, chain):
    labels = dict(zip(chain.states, "ppppqqqq", strict=True))
    rows = ['"' + name.replace('"', '""') + '",' + labels[name] for name in reversed(chain.states)]
    with open("labels.csv", "w", encoding="utf-8") as stream:
        stream.write("\n".join(["state,group", *rows]))
    found = json.loads(klump_cli("score chain.csv labels.csv --normalize --json").stdout)
    costs = klump.score(chain, [0, 0, 0, 0, 1, 1, 1, 1])
    assert found["labels"] == [0, 0, 0, 0, 1, 1, 1, 1]
    assert found["cost"] == pytest.approx(costs.at(0.5), abs=1e-12)
    assert found["costs"]["kept"] == pytest.approx(costs.kept, abs=1e-12)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("labels.txt", "0\n1\n", "labels.txt: 2 labels, but the chain has 8 states"),
        ("labels.json", "{}", "labels.json: the JSON document has no labels"),
        ("labels.csv", "state,group\nz,0\n", "labels.csv: the state 'a' has no label (8 such states)"),
        ("labels.npz", "hello", "labels.npz: "),
    ],
)
def test_wrong_labels(klump_cli, chain_file, name, content, message):
    with open(name, "w", encoding="utf-8") as stream:
        stream.write(content)
    error = klump_cli(f"score chain.csv {name} --normalize", status=1).stderr
    assert error.startswith(f"klump: error: {message}")
    assert error.count("\n") == 1


def test_wrong_map(klump_cli, chain_file):
    np.save("map.npy", np.full((8, 2), 0.7))
    error = klump_cli("score chain.csv map.npy --normalize", status=1).stderr
    assert error.startswith("klump: error: map.npy: row 0 of the map sums to 1.4 instead of 1")
    assert error.count("\n") == 1


def test_stochastic_map_has_costs_but_no_certificate(klump_cli, chain_file, chain):
    mapping = np.repeat([[0.9, 0.1], [0.2, 0.8]], 4, axis=0)
    np.save("map.npy", mapping)
    found = json.loads(klump_cli("score chain.csv map.npy --normalize --json").stdout)
    assert found["bisimulation"] is None
    assert found["cost"] == pytest.approx(klump.score(chain, mapping).at(0.5), abs=1e-12)
    output = klump_cli("score chain.csv map.npy --normalize").stdout
    assert "lumpability" in output
    assert "certificate" not in output


def test_guarantees(klump_cli, chain_file, chain):
    with open("labels.txt", "w", encoding="utf-8") as stream:
        stream.write("\n".join("ppppqqqq"))
    arguments = (
        "score chain.csv labels.txt --normalize --guarantees --horizon 3 --beta 0.2 --beta 0.8 --seed 4"
    )
    found = json.loads(klump_cli(f"{arguments} --json").stdout)
    answer = klump.Aggregation.from_labels(chain, [0, 0, 0, 0, 1, 1, 1, 1])
    expected, listed = answer.guarantees, found["guarantees"]
    for name in ("entropy_rate", "divergence", "redundancy_rate"):
        bracket = getattr(expected, name)
        assert listed[name] == pytest.approx({"lower": bracket.lower, "upper": bracket.upper}, abs=1e-12)
    assert [entry["beta"] for entry in listed["delta"]] == [0.2, 0.8]
    assert listed["delta"][1]["upper"] == pytest.approx(expected.delta(0.8).upper, abs=1e-12)
    assert listed["block_length"] == expected.block_length > 2
    simulated = listed["monte_carlo"]
    assert simulated["seed"] == 4
    assert simulated["entropy_rate"] == pytest.approx(answer.monte_carlo(random_state=4).entropy_rate)
    slack = 4 * simulated["standard_error"] + simulated["bias"]
    assert expected.entropy_rate.contains(simulated["entropy_rate"], slack)
    any_start = answer.bisimulation.horizon(3)
    assert list(found["horizon"]) == ["steps", "stationary", "any_start", "total_variation"]
    assert found["horizon"] == pytest.approx(
        {"steps": 3, "stationary": expected.horizon(3), "any_start": any_start, "total_variation": any_start},
        abs=1e-12,
    )
    assert 0.0 < found["horizon"]["stationary"] < any_start
    assert list(found["bisimulation"]) == ["mean", "epsilon", "bound"]

    output = klump_cli(arguments).stdout
    assert f"blocks of {expected.block_length}\n" in output
    lower, upper = (f"{listed['delta'][1][end]:.4f}" for end in ("lower", "upper"))
    assert f"delta at 0.8       {lower}   {upper}" in output
    stationary, worst = f"stationary      {expected.horizon(3):8.1e}", f"any start       {any_start:8.4f}"
    assert 0 < output.index(stationary) < output.index(worst)
    assert output.index("\nmean  ") < output.index("\nepsilon  ") < output.index("\nbound  ")
    assert f"entropy rate       {simulated['entropy_rate']:.4f}" in output.split("simulation")[1]
    assert max(map(len, output.splitlines())) <= 80


def test_nothing_is_said_of_all_times_unless_asked(klump_cli, chain_file):
    with open("labels.txt", "w", encoding="utf-8") as stream:
        stream.write("\n".join("ppppqqqq"))
    output = klump_cli("score chain.csv labels.txt --normalize").stdout
    assert "entropy rate" not in output
    assert "horizon" not in output
    assert "guarantees" not in json.loads(klump_cli("score chain.csv labels.txt --normalize --json").stdout)


def test_horizon_without_guarantees_is_that_from_any_start(klump_cli, chain_file, chain):
    with open("labels.txt", "w", encoding="utf-8") as stream:
        stream.write("\n".join("ppppqqqq"))
    any_start = klump.Aggregation.from_labels(chain, [0, 0, 0, 0, 1, 1, 1, 1]).bisimulation.horizon(5)
    found = json.loads(klump_cli("score chain.csv labels.txt --normalize --horizon 5 --json").stdout)
    assert found["horizon"]["stationary"] is None
    assert found["horizon"]["any_start"] == found["horizon"]["total_variation"] == pytest.approx(any_start)
    output = klump_cli("score chain.csv labels.txt --normalize --horizon 5").stdout
    assert "--guarantees adds this bound" in output
    assert f"any start       {any_start:8.4f}" in output


def test_stochastic_map_has_the_horizon_of_stationary_chains_only(klump_cli, chain_file, chain):
    mapping = np.repeat([[0.9, 0.1], [0.2, 0.8]], 4, axis=0)
    np.save("map.npy", mapping)
    found = json.loads(klump_cli("score chain.csv map.npy --normalize --guarantees --json").stdout)
    bracket = found["guarantees"]["divergence"]
    assert 0.0 < bracket["lower"] <= bracket["upper"] < found["costs"]["lumpability"]
    found = json.loads(
        klump_cli("score chain.csv map.npy --normalize --guarantees --horizon 2 --json").stdout
    )
    bound = klump.Aggregation.from_labels(chain, mapping).guarantees.horizon(2)
    assert bound > 0.0
    assert found["horizon"] == {
        "steps": 2,
        "stationary": pytest.approx(bound, abs=1e-12),
        "any_start": None,
        "total_variation": None,
    }
    output = klump_cli("score chain.csv map.npy --normalize --guarantees --horizon 2").stdout
    assert f"stationary      {bound:8.4f}" in output
    assert "any start" not in output
    error = klump_cli("score chain.csv map.npy --normalize --horizon 2", status=1).stderr
    assert error.startswith(
        "klump: error: map.npy: --horizon 2 needs a partition for the bound from any start, and the map is soft; pass "
        "--guarantees"
    )
    assert error.count("\n") == 1


def test_a_seed_needs_something_to_draw(klump_cli, chain_file):
    with open("labels.txt", "w", encoding="utf-8") as stream:
        stream.write("\n".join("ppppqqqq"))
    error = klump_cli("score chain.csv labels.txt --normalize --seed 3", status=2).stderr
    assert "--seed applies to the simulation of --guarantees" in error


def test_no_advice_on_beta_for_given_labels(klump_cli, chain_file):
    with open("labels.txt", "w", encoding="utf-8") as stream:
        stream.write("\n".join("pqpqpqpq"))
    printed = klump_cli("score chain.csv labels.txt --normalize --beta 0.2").stdout
    assert "nearly trivial" in printed
    assert "larger beta" not in printed


def test_aggregate_prints_the_same_certificate(klump_cli, chain_file):
    printed = klump_cli("aggregate chain.csv --normalize -k 2 -q -o found.npz").stdout
    scored = klump_cli("score chain.csv found.npz --normalize").stdout
    assert printed.index("\nmean  ") < printed.index("\nepsilon  ") < printed.index("\nbound  ")
    certificate = printed[printed.index("\nmean  ") : printed.index("\nbound  ")]
    assert certificate in scored
