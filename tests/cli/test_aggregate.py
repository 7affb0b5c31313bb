"""``klump aggregate`` and ``klump path``: what is printed, saved and reported when interrupted."""

import csv
import json

import numpy as np
import pytest

import klump
from klump.cli.progress import SearchProgress

RUN = "aggregate chain.csv --normalize -k 2 --n-init 3"


def strict_json(text):
    def refuse(constant):
        raise AssertionError(f"{constant} is not JSON")

    return json.loads(text, parse_constant=refuse)


def test_json_is_the_aggregation(klump_cli, chain_file, chain):
    found = strict_json(klump_cli(f"{RUN} --beta 0.8 --seed 3 --json").stdout)
    agg = klump.aggregate(chain, 2, beta=0.8, n_init=3, random_state=3)
    assert found["schema"] == "klump/aggregation/1"
    assert found["input"]["n_states"] == 8
    assert found["input"]["normalize"] is True
    assert (found["seed"], found["beta"], found["n_groups"]) == (3, 0.8, 2)
    assert found["n_states"] == found["n_groups"]  # the old name, kept for one version
    assert found["method"] == agg.method
    assert found["states"] == list(chain.states)
    assert found["labels"] == agg.labels.tolist()
    assert found["groups"] == [list(group) for group in agg.groups]
    assert found["cost"] == found["costs"]["cost"] == pytest.approx(agg.cost, abs=1e-12)
    for name in ("lumpability", "predictability", "bottleneck", "kept"):
        assert found["costs"][name] == pytest.approx(getattr(agg.costs, name), abs=1e-12)
    for name in ("epsilon", "bound", "mean"):
        assert found["bisimulation"][name] == pytest.approx(getattr(agg.bisimulation, name), abs=1e-12)
    assert np.array_equal(found["transition_matrix"], agg.chain.transition_matrix)
    assert np.array_equal(found["stationary_distribution"], agg.masses)
    assert found["notes"] == list(agg.notes)
    assert found["interrupted"] is False


def test_same_seed_same_output(klump_cli, chain_file):
    assert klump_cli(f"{RUN} --json").stdout == klump_cli(f"{RUN} --json --jobs 2").stdout


def test_printed(klump_cli, chain_file, chain, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    result = klump_cli(RUN)
    agg = klump.aggregate(chain, 2, n_init=3)
    lines = result.stdout.splitlines()
    assert lines[0] == "chain.csv: 8 states, 64 transitions"
    assert lines[1] == "2 groups at beta 0.5 (method auto, seed 0)"
    assert lines[3].split() == ["group", "states", "mass", "members,", "heaviest", "first"]
    for label, line in enumerate(lines[4:6]):
        number, size, mass, *_ = line.split()
        assert (int(number), int(size)) == (label, 4)
        assert float(mass) == pytest.approx(agg.masses[label], abs=1e-4)
    assert "' '" in result.stdout
    assert "[b]" in result.stdout
    assert "'long name'" in result.stdout
    assert f"lumpability     {agg.costs.lumpability:8.4f}" in result.stdout
    assert f"{100 * agg.costs.kept:.1f} %  of the " in result.stdout
    assert f"epsilon         {agg.bisimulation.epsilon:8.4f}" in result.stdout
    assert f"      0  {agg.chain.transition_matrix[0, 0]:.4f}  " in result.stdout
    assert max(map(len, lines)) <= 80


def test_long_groups_are_cut_unless_full(klump_cli, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "60")
    names = [f"state-{i}" for i in range(12)]
    klump.write_chain(klump.MarkovChain(np.full((12, 12), 1 / 12), names), "chain.npz")
    cut = klump_cli("aggregate chain.npz -k 1 --n-init 1").stdout
    assert " ... +" in cut
    full = klump_cli("aggregate chain.npz -k 1 --n-init 1 --full").stdout
    assert " ... +" not in full
    assert all(name in full.split() for name in names)
    assert max(map(len, full.splitlines())) <= 78


@pytest.mark.parametrize("n_groups", [1, 8])
def test_extreme_numbers_of_groups(klump_cli, chain_file, n_groups):
    found = strict_json(klump_cli(f"aggregate chain.csv --normalize -k {n_groups} --n-init 1 --json").stdout)
    assert sorted(set(found["labels"])) == list(range(n_groups))


@pytest.mark.parametrize("suffix", ["npz", "csv", "json"])
def test_saved_results_can_be_scored(klump_cli, chain_file, chain, suffix):
    result = klump_cli(f"{RUN} --beta 1 --json -o result.{suffix}")
    assert result.stderr.endswith(f"klump: saved result.{suffix}\n")
    found = strict_json(result.stdout)
    again = strict_json(klump_cli(f"score chain.csv result.{suffix} --normalize --beta 1 --json").stdout)
    assert again["labels"] == found["labels"]
    assert again["cost"] == pytest.approx(found["cost"], abs=1e-10)


def test_saved_csv_has_the_names(klump_cli, chain_file, chain):
    labels = strict_json(klump_cli(f"{RUN} --json -o result.csv").stdout)["labels"]
    with open("result.csv", encoding="utf-8", newline="") as stream:
        rows = list(csv.reader(stream))
    assert rows == [
        ["state", "group"],
        *([name, str(label)] for name, label in zip(chain.states, labels, strict=True)),
    ]


def test_names_that_json_does_not_have(klump_cli, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    klump.write_chain(klump.MarkovChain(np.full((3, 3), 1 / 3), [(0, 1), "a", 7]), "chain.npz")
    found = strict_json(klump_cli("aggregate chain.npz -k 1 --n-init 1 --json").stdout)
    assert found["states"] == ["(0, 1)", "a", 7]


def test_quiet(klump_cli, chain_file):
    assert klump_cli(f"{RUN} --quiet -o result.npz").stderr == ""


@pytest.fixture
def ctrl_c(monkeypatch):
    """Press Ctrl-C when the search has reported for the first time."""

    def press(self, name, done, total, best_cost=None):
        raise KeyboardInterrupt

    monkeypatch.setattr(SearchProgress, "update", press)


def test_interrupted_search_gives_the_best_so_far(klump_cli, chain_file, ctrl_c):
    result = klump_cli(f"{RUN} --json -o result.npz", status=130)
    assert strict_json(result.stdout)["interrupted"] is True
    assert result.stderr.endswith("klump: interrupted: this is what was found so far\n")
    assert len(klump.load("result.npz").labels) == 8


def test_an_interruption_is_announced_once(klump_cli, chain_file, ctrl_c):
    result = klump_cli(RUN, status=130)
    assert (result.stdout + result.stderr).count("interrupted") == 1
    result = klump_cli(f"{PATH} --betas 1,0", status=130)
    assert (result.stdout + result.stderr).count("interrupted") == 1


PATH = "path chain.csv --normalize -k 2 --n-init 3"


def test_path(klump_cli, chain_file, chain):
    found = strict_json(klump_cli(f"{PATH} --betas 1,0.5,0 --json").stdout)
    assert found["schema"] == "klump/path/1"
    assert found["betas"] == [1, 0.5, 0]
    assert found["n_groups"] == found["n_states"] == 2
    path = klump.beta_path(chain, 2, betas=[1, 0.5, 0], n_init=3)
    for record, agg in zip(found["aggregations"], path, strict=True):
        assert record["labels"] == agg.labels.tolist()
        assert record["beta"] == agg.beta
        assert record["n_groups"] == record["n_states"] == agg.n_states
        assert record["cost"] == pytest.approx(agg.cost, abs=1e-12)
    lines = klump_cli(f"{PATH} --betas 1,0.5,0").stdout.splitlines()
    assert lines[1] == "2 groups per beta (seed 0); costs in bits"
    assert lines[3].split() == ["beta", "cost", "lumpability", "predictability", "kept", "epsilon", "moved"]
    assert [line.split()[0] for line in lines[4:]] == ["1", "0.5", "0"]


def test_path_by_default(klump_cli, chain_file):
    assert len(strict_json(klump_cli(f"{PATH} --json").stdout)["aggregations"]) == 11


@pytest.mark.parametrize("suffix", ["npz", "csv", "json"])
def test_saved_path(klump_cli, chain_file, suffix):
    result = klump_cli(f"{PATH} --betas 1,0 --json -o path.{suffix}")
    labels = [record["labels"] for record in strict_json(result.stdout)["aggregations"]]
    if suffix == "npz":
        assert [agg.labels.tolist() for agg in klump.load("path.npz")] == labels
        assert "path.npz: this is a path of 2" in klump_cli("score chain.csv path.npz --normalize", 1).stderr
    elif suffix == "csv":
        with open("path.csv", encoding="utf-8", newline="") as stream:
            header, *rows = csv.reader(stream)
        assert header == ["state", "1", "0"]
        assert [[int(row[column]) for row in rows] for column in (1, 2)] == labels
    else:
        with open("path.json", encoding="utf-8") as stream:
            assert stream.read() == result.stdout


def test_the_published_algorithms(klump_cli, chain_file, chain):
    """Algorithm 2 with its own parameters: one start, groups that may run empty."""
    options = "--normalize -k 4 --n-init 1 --seed 0 --step 0.25 --max-sweeps 2 --allow-empty --json"
    ask = {
        "n_init": 1,
        "random_state": 0,
        "step": 0.25,
        "max_sweeps": 2,
        "allow_empty": True,
    }
    found = strict_json(klump_cli(f"aggregate chain.csv {options} --method annealing --beta 0").stdout)
    agg = klump.aggregate(chain, 4, beta=0.0, method="annealing", **ask)
    assert found["labels"] == agg.labels.tolist()
    assert found["n_states"] == agg.n_states < 4
    assert (found["step"], found["max_sweeps"], found["allow_empty"]) == (0.25, 2, True)
    found = strict_json(klump_cli(f"path chain.csv {options} --betas 1,0.5,0").stdout)
    path = klump.beta_path(chain, 4, betas=[1, 0.5, 0], **ask)
    assert [each["labels"] for each in found["aggregations"]] == [each.labels.tolist() for each in path]
    assert (found["step"], found["max_sweeps"], found["allow_empty"]) == (0.25, 2, True)
    assert [each["n_states"] for each in found["aggregations"]] == [4, 4, 3]
    printed = klump_cli(f"path chain.csv {options} --betas 1,0.5,0".replace("--json", "")).stdout.splitlines()
    assert printed[1] == "3 to 4 groups per beta (seed 0); costs in bits"
    assert printed[3].split()[:2] == ["beta", "groups"]
    assert [line.split()[:2] for line in printed[4:]] == [["1", "4"], ["0.5", "4"], ["0", "3"]]


def test_a_start_with_fewer_groups_needs_allow_empty(klump_cli, chain_file):
    with open("two.txt", "w") as stream:
        stream.write("a\na\na\na\nb\nb\nb\nb\n")
    run = "aggregate chain.csv --normalize -k 3 --method sequential --initial-labels two.txt"
    assert "has 2 groups" in klump_cli(run, status=1).stderr
    # Algorithm 1 fills the empty group, as that lowers the cost.
    assert "3 groups" in klump_cli(f"{run} --allow-empty --beta 0").stdout


def test_options_that_do_not_fit_the_method(klump_cli, chain_file):
    assert (
        "--allow-empty does not apply to --method auto, only to --method sequential"
        in klump_cli(f"{RUN} --allow-empty", status=2).stderr
    )
    refused = f"{RUN} --method deterministic-annealing --gamma 0.1"
    assert "--gamma does not apply to --method deterministic-annealing" in klump_cli(refused, status=2).stderr
    for option in ("--gamma -1", "--gamma inf", "--gamma nan", "--step 0", "--max-sweeps 0"):
        klump_cli(f"{RUN} {option}", status=2)


def test_gamma_is_in_every_result(klump_cli, chain_file, chain):
    found = strict_json(klump_cli(f"{RUN} --beta 0.3 --gamma 0.2 --json -o answer.npz").stdout)
    agg = klump.aggregate(chain, 2, beta=0.3, gamma=0.2, n_init=3)
    assert (found["gamma"], found["cost"]) == (0.2, pytest.approx(agg.cost, abs=1e-12))
    assert found["costs"]["generated"] == pytest.approx(agg.costs.generated, abs=1e-12)
    assert klump.load("answer.npz").gamma == 0.2
    printed = klump_cli(f"{RUN} --beta 0.3 --gamma 0.2").stdout
    assert "2 groups at beta 0.3, gamma 0.2" in printed
    assert "generated" in printed
    scored = strict_json(
        klump_cli("score chain.csv answer.npz --normalize --beta 0.3 --beta 1 --gamma 0.2 --json").stdout
    )
    assert [each["cost"] for each in scored["at"]] == pytest.approx(
        [agg.costs.at(0.3, 0.2), agg.costs.at(1, 0.2)], abs=1e-12
    )
    table = strict_json(
        klump_cli("grid chain.csv --normalize -k 2 --beta 0.3 --gamma 0.2 --n-init 3 --json").stdout
    )
    assert (table["gamma"], table["cells"][0]["cost"]) == (0.2, pytest.approx(agg.cost, abs=1e-12))
    compared = strict_json(
        klump_cli(
            "compare chain.csv --normalize -k 2 --beta 0.3 --gamma 0.2 --no-outside --methods auto,spectral --json"
        ).stdout
    )
    assert compared["gamma"] == 0.2
    assert compared["rows"][0]["cost"] == pytest.approx(agg.cost, abs=1e-12)
