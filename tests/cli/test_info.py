"""``klump info``."""

import json

import numpy as np
import pytest

import klump
from klump.choices import RESTRICTIONS


def test_irreducible_chain(klump_cli, chain_file, chain):
    lines = klump_cli("info chain.csv --normalize").stdout.splitlines()
    assert lines[0] == "chain.csv"
    facts = {line[:14].strip(): line[14:] for line in lines[1:]}
    assert facts["states"] == "8"
    assert facts["transitions"] == "64, 8.0 per state; stored sparse"
    assert facts["irreducible"] == "yes, aperiodic"
    assert facts["reversible"] == "no"
    assert facts["entropy rate"] == f"{chain.entropy_rate:.4f} bits per step, H(X2|X1)"
    assert facts["redundancy"] == f"{chain.redundancy_rate:.4f} bits per step, I(X1;X2)"
    assert facts["stationary"].startswith(f"from {chain.stationary_distribution.min():.3g} (")


def test_json(klump_cli, chain_file, chain):
    found = json.loads(klump_cli("info chain.csv --normalize --json").stdout)
    assert found["schema"] == "klump/info/1"
    assert found["klump"] == klump.__version__
    assert set(found["versions"]) == {"python", "numpy", "scipy", "numba"}
    assert found["input"]["path"] == "chain.csv"
    assert len(found["input"]["sha256"]) == 64
    assert found["input"]["applied"] == []
    assert found["irreducible"] is True
    assert found["redundancy_rate"] == pytest.approx(chain.redundancy_rate, abs=1e-12)
    assert found["stationary_range"][1]["probability"] == chain.stationary_distribution.max()


@pytest.mark.parametrize(
    ("matrix", "period"),
    [
        ([[0, 1], [1, 0]], 2),
        ([[0, 1, 0], [0, 0, 1], [1, 0, 0]], 3),
        ([[0, 1, 0], [0.5, 0, 0.5], [0, 1, 0]], 2),
        ([[0, 1, 0], [0, 0, 1], [0.5, 0.5, 0]], 1),
        ([[1]], 1),
    ],
)
def test_period(klump_cli, tmp_path, monkeypatch, matrix, period):
    monkeypatch.chdir(tmp_path)
    np.savez("chain.npz", P=matrix)
    assert json.loads(klump_cli("info chain.npz --json").stdout)["period"] == period
    assert ("aperiodic" if period == 1 else f"with period {period}") in klump_cli("info chain.npz").stdout


@pytest.fixture
def absorbing(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = "from,to,weight\nstart,work,1\nwork,work,0.5\nwork,done,0.5\ndone,done,1\nx,y,1\ny,x,1\n"
    (tmp_path / "model.csv").write_text(text)


def test_reducible_chain_is_described(klump_cli, absorbing):
    assert klump_cli("info model.csv").stdout.splitlines()[3:] == [
        "irreducible   no: 2 closed classes, 2 transient states",
        "  closed      2 states: x y",
        "  absorbing   1 state: done",
        "  transient   2 states: start work",
        "remedies      --restrict connected         keep the largest connected set, 2 states",
        "              --restrict closed            keep the largest closed class, 2 states",
        "              --restart P --initial STATE  return to STATE with probability P at every step",
    ]
    found = json.loads(klump_cli("info model.csv --json").stdout)
    assert found["irreducible"] is False
    assert found["closed_classes"] == [2, 1]
    assert found["transient_states"] == 2
    assert found["entropy_rate"] is None


def test_many_closed_classes(klump_cli, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.savez("model.npz", P=np.eye(7))
    output = klump_cli("info model.npz").stdout
    assert output.count("absorbing") == 5
    assert "and 2 more closed classes" in output


def test_ways_out(klump_cli, absorbing):
    output = klump_cli("info model.csv --restrict largest").stdout
    assert "restricted to the largest closed class, 2 of 5 states; dropped 'start', 'work', 'done'" in output
    assert "irreducible   yes, with period 2" in output
    assert klump_cli("info model.csv --restrict closed").stdout == output
    found = json.loads(
        klump_cli("info model.csv --restart 0.1 --initial start --restrict largest --json").stdout
    )
    assert found["irreducible"] is True
    assert found["n_states"] == 3
    assert len(found["input"]["applied"]) == 2


def test_counts_that_end_in_a_tail(klump_cli, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lines = ["a,b,50", "b,c,60", "c,a,49", "c,b,10", "a,x,1", "x,y,1", "y,x,1", "y,end,1"]
    (tmp_path / "log.csv").write_text("from,to,count\n" + "\n".join(lines) + "\n")
    assert "row 5 (state 'end')" in klump_cli("info log.csv --normalize", status=1).stderr
    (tmp_path / "log.csv").write_text("from,to,count\n" + "\n".join(lines[:-1]) + "\n")
    output = klump_cli("info log.csv --normalize").stdout
    assert "--restrict connected         keep the largest connected set, 3 states" in output
    assert "--restrict closed            keep the largest closed class, 2 states" in output
    found = klump_cli("info log.csv --normalize --restrict connected").stdout
    assert (
        "restricted to the largest connected set, 3 of 5 states and 98.3 % of the counts; dropped 'x', 'y'"
        in found
    )
    failed = klump_cli("aggregate log.csv --normalize -k 2", status=1)
    assert "pass --restrict connected to keep its largest connected set, or --restart P" in failed.stderr


def test_help_lists_the_parts_to_keep(klump_cli):
    text = " ".join(klump_cli("info --help").stdout.split())
    for name in RESTRICTIONS:
        assert f"{name}, " in text


def test_concentrated_mass_is_noted(klump_cli, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    n = 640
    matrix = np.roll(np.eye(n), 1, axis=1)
    matrix[:15] = 0.01 * matrix[:15]
    matrix[:15, :15] += 0.99 / 15
    np.savez("model.npz", P=matrix)
    text = " ".join(klump_cli("info model.npz").stdout.split())
    assert "note: concentrated: 11 of 640 states hold half of the stationary mass" in text
    assert "restart=0.01, --restart 0.01" in text
    assert json.loads(klump_cli("info model.npz --json").stdout)["half_mass_states"] == 11
    restarted = " ".join(klump_cli("info model.npz --restart 0.05").stdout.split())
    assert "concentrated" not in restarted
    assert "through the state (restart)" in restarted
