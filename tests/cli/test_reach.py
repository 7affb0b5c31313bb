"""``klump aggregate``: bounds on reaching labels, and quotients for model checkers."""

import csv
import json
import re
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

import klump
import models
from klump import aggregation
from klump.cli import quotients
from klump.cli.reaching import format_bound

RUN = "aggregate model.tra -k 3 --restart 0.05"


@pytest.fixture
def model(tmp_path, monkeypatch):
    """A retransmission protocol in model.tra, model.lab and model.srew, and its classes of labels."""
    monkeypatch.chdir(tmp_path)
    found = models.retransmission()
    chain = klump.MarkovChain(
        found.matrix,
        labels=found.labels,
        initial=0,
        rewards=found.rewards,
    )
    klump.write_chain(chain, "model.tra")
    classes = [
        int(i in found.labels["success"]) + 2 * int(i in found.labels["failure"])
        for i in range(chain.n_states)
    ]
    (tmp_path / "classes.json").write_text(json.dumps(classes))
    return chain


EXACT = "aggregate model.tra --method exact --initial-labels classes.json"


def test_lines_of_an_exact_quotient(model, klump_cli):
    result = klump_cli(f"{EXACT} --reach success --reach failure")
    lines = [line for line in result.stdout.splitlines() if line.startswith("reach")]
    assert lines == [
        "reach success ever: 0.9605960100 by the groups, between 0.9605960099 and 0.9605960101",
        "reach failure ever: 0.03940399000 by the groups, between 0.03940398999 and 0.03940399001",
    ]


def test_printed_bounds_are_rounded_outwards(model, klump_cli):
    """The printed interval contains the exact one."""
    text = klump_cli(f"{EXACT} --reach failure --within 5").stdout
    (line,) = [line for line in text.splitlines() if line.startswith("reach")]
    lower, upper = re.fullmatch(
        r"reach failure within 5 steps: \S+ by the groups, between (\S+) and (\S+)", line
    ).groups()
    record = json.loads(klump_cli(f"{EXACT} --reach failure --within 5 --json").stdout)["reachability"][0]
    assert Decimal(lower) <= Decimal(record["lower"]) <= Decimal(record["upper"]) <= Decimal(upper)


@pytest.mark.parametrize("value", [0.0, 1.0, 0.123456789, 1e-300, 1 - 2**-53, 5e-324])
def test_formatted_bounds(value):

    assert (
        Decimal(format_bound(value, 4, ROUND_FLOOR))
        <= Decimal(value)
        <= Decimal(format_bound(value, 4, ROUND_CEILING))
    )


def test_the_document(model, klump_cli):
    document = json.loads(klump_cli(f"{EXACT} --reach success --within 5 --json -q").stdout)
    (record,) = document["reachability"]
    classes = json.loads(Path("classes.json").read_text())
    found = klump.aggregate(klump.read_chain("model.tra"), method="exact", initial=classes).reachability(
        "success", 5
    )
    assert (record["label"], record["steps"]) == ("success", 5)
    assert (record["lower"], record["upper"], record["estimate"]) == (
        found.lower,
        found.upper,
        found.estimate,
    )
    assert record["upper_by_group"] == found.upper_by_group.tolist()
    assert json.loads(klump_cli(f"{EXACT} --json -q").stdout)["reachability"] is None


def test_a_label_that_splits_a_group_does_not_lose_the_result(model, klump_cli):
    result = klump_cli("aggregate model.tra -k 1 --restart 0.05 --reach success")
    assert (
        "reach success ever: no bound, as only a part of a group has the label; --respect-labels"
        in result.stdout
    )
    document = json.loads(klump_cli("aggregate model.tra -k 1 --restart 0.05 --reach success --json").stdout)
    assert document["reachability"][0]["lower"] is None
    assert any("'success' and 'failure'" in note for note in document["notes"])


@pytest.mark.parametrize(
    ("options", "status", "message"),
    [
        (
            "--reach goal",
            1,
            "model.tra: --reach goal is not a label of the model; choose one of success, failure",
        ),
        ("--within 5", 2, "--within is the number of steps of --reach"),
        ("--reach success --within -1", 2, "--within"),
        ("--reach success --method stochastic", 2, "--reach does not apply to --method stochastic"),
        ("-o model.tra", 2, "-o model.tra would replace model.tra, an input"),
        ("-o missing/q.drn", 2, "there is no folder 'missing'"),
        ("-o q.xyz", 2, "must end in .npz, .csv, .json, .parquet, .tra, .drn, .umb, .graphml, .png"),
    ],
)
def test_what_is_refused(model, klump_cli, options, status, message):
    result = klump_cli(f"{RUN} {options}", status=status)
    assert message in result.stderr
    assert not result.stdout


def test_a_restart_that_cannot_be_undone_is_refused_before_the_search(model, klump_cli, monkeypatch):
    monkeypatch.setattr(aggregation, "aggregate", lambda *arguments, **options: pytest.fail("searched"))
    result = klump_cli("aggregate model.tra -k 3 --restart 1 --reach success", status=1)
    assert "--restart 1.0 leaves no transition of the chain before it; pass a smaller" in result.stderr


def test_a_model_without_labels(chain_file, klump_cli):
    result = klump_cli("aggregate chain.csv --normalize -k 2 --reach goal", status=1)
    assert "--reach goal is not a label of the model; read a file with labels" in result.stderr
    result = klump_cli("aggregate chain.csv --normalize -k 2 --respect-labels", status=1)
    assert "needs labels, but the chain has none; read a file with labels, such as .tra" in result.stderr


@pytest.mark.parametrize("suffix", [".tra", ".storm.tra", ".drn", ".umb", ".graphml"])
def test_quotients_are_written_with_a_state_map(model, klump_cli, suffix, tmp_path):
    result = klump_cli(f"{EXACT} -o quotient{suffix}")
    assert result.stderr.startswith(f"klump: saved quotient{suffix}, with ")
    assert result.stderr.endswith("quotient.map.csv\n")
    with Path("quotient.map.csv").open(newline="") as file:
        header, *rows = csv.reader(file)
    assert header == ["state", "group"]
    quotient = klump.read_chain(f"quotient{suffix}")
    groups = np.array([int(group) for _, group in rows])
    assert [int(state) for state, _ in rows] == list(range(model.n_states))
    assert groups.max() + 1 == quotient.n_states
    for label, members in model.labels.items():
        np.testing.assert_array_equal(
            np.isin(groups, quotient.labels[label]), np.isin(np.arange(len(groups)), members)
        )
    assert quotient.initial[groups[0]] == 1.0
    W = np.eye(quotient.n_states)[groups]
    np.testing.assert_allclose(
        W @ sparse.csr_array(quotient.transition_matrix).toarray(),
        model.transition_matrix @ W,
        atol=1e-14,
    )


def test_what_is_left_out_is_said(model, klump_cli):
    result = klump_cli("aggregate model.tra -k 1 --restart 0.05 -o q.drn")
    assert result.stderr.splitlines()[1:] == [
        "klump: the quotient is without the restart",
        "klump: the quotient is without the labels 'success' and 'failure', which only a part of a group has; "
        "respect_labels=True, --respect-labels keeps them",
    ]
    assert klump_cli("aggregate model.tra -k 1 --restart 0.05 -o q.drn -q").stderr == ""


def test_initial_probabilities_that_a_format_cannot_hold(tmp_path, klump_cli, monkeypatch):
    monkeypatch.chdir(tmp_path)
    matrix = np.array([[0.5, 0.4, 0.1], [0.4, 0.5, 0.1], [0.1, 0.1, 0.8]])
    klump.write_chain(klump.MarkovChain(matrix, initial=[0.2, 0.2, 0.6]), "m.npz")
    result = klump_cli("aggregate m.npz -k 2 -o q.drn")
    assert "klump: q.drn cannot hold, and lacks: probabilities of the initial states" in result.stderr
    assert klump_cli("aggregate m.npz -k 2 -o q.graphml").stderr == "klump: saved q.graphml, with q.map.csv\n"


def test_the_state_of_a_restart_is_not_in_the_map(tmp_path, klump_cli, monkeypatch):
    monkeypatch.chdir(tmp_path)
    n = 150
    P = np.roll(np.eye(n), 1, axis=1) * 0.9 + np.roll(np.eye(n), 2, axis=1) * 0.1

    klump.write_chain(klump.MarkovChain(sparse.csr_array(P)), "m.npz")
    klump_cli("aggregate m.npz -k 3 --restart 0.05 --method sequential --n-init 1 -o q.drn")
    rows = Path("q.map.csv").read_text().splitlines()[1:]
    assert [row.split(",")[0] for row in rows] == [str(i) for i in range(n)]
    assert {int(row.split(",")[1]) for row in rows} == set(range(klump.read_chain("q.drn").n_states))


def test_a_table_in_parquet(model, klump_cli):
    pandas, _ = pytest.importorskip("pandas"), pytest.importorskip("pyarrow")
    result = klump_cli(f"{RUN} -o q.parquet")
    assert result.stderr == "klump: saved q.parquet\n"
    frame = pandas.read_parquet("q.parquet")
    expected = klump.aggregate(klump.read_chain("model.tra", restart=0.05), 3).to_frame()
    pandas.testing.assert_frame_equal(frame, expected, check_dtype=False)


def test_names_of_several_types_are_text_in_parquet(tmp_path):
    pandas, _ = pytest.importorskip("pandas"), pytest.importorskip("pyarrow")
    chain = klump.MarkovChain([[0.5, 0.5], [0.5, 0.5]], ["a", 1])
    quotients.write_table(klump.Aggregation.from_labels(chain, [0, 1]), str(tmp_path / "q.parquet"))
    assert pandas.read_parquet(tmp_path / "q.parquet")["state"].tolist() == ["a", "1"]


def test_a_soft_map_has_shares(tmp_path):
    chain = klump.MarkovChain([[0.5, 0.5], [0.5, 0.5]])
    answer = klump.Aggregation.from_labels(chain, [[0.75, 0.25], [0.5, 0.5]])
    quotients.write_quotient(answer, str(tmp_path / "q.drn"))
    assert (tmp_path / "q.map.csv").read_text() == "state,group,share_0,share_1\n0,0,0.75,0.25\n1,0,0.5,0.5\n"


def test_rates_stay_rates(tmp_path, klump_cli, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = models.queue()
    klump.write_chain(
        klump.MarkovChain.from_generator(found.matrix, labels=found.labels, initial=0), "queue.drn", ctmc=True
    )
    result = klump_cli("aggregate queue.drn --ctmc -k 3 -o groups.drn")
    assert "klump: the quotient is in continuous time, with rates" in result.stderr
    assert klump.read_chain("groups.drn", ctmc=True).n_states == 3
    result = klump_cli("aggregate queue.drn --ctmc -k 3 -o groups.graphml")
    assert "klump: the quotient is in discrete time, uniformised" in result.stderr
