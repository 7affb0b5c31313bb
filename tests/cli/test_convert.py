"""``klump convert``."""

import json

import numpy as np
import pytest
from scipy import sparse

import klump


@pytest.mark.parametrize("output", ["b.mapped", "b.npz", "b.csv", "b.mtx"])
def test_convert(klump_cli, chain_file, chain, output):
    result = klump_cli(f"convert chain.csv {output} --normalize")
    assert result.stdout == "chain.csv: 8 states, 64 transitions\n"
    lost = "klump: b.mtx cannot hold, and lacks: state names\n" if output == "b.mtx" else ""
    assert result.stderr == f"klump: saved {output}\n{lost}"
    back = klump.read_chain(output)
    assert np.array_equal(back.transition_matrix.toarray(), chain.transition_matrix.toarray())
    assert back.states == (tuple(range(8)) if output == "b.mtx" else chain.states)
    result = klump_cli(f"convert chain.csv {output} --normalize")
    assert result.stderr == f"klump: replaced {output}\n{lost}"
    assert klump_cli(f"convert chain.csv {output} --normalize --quiet").stderr == ""


def test_mapped_folder_of_any_name(klump_cli, chain_file, chain):
    klump_cli("convert chain.csv big --mmap --normalize --stationary")
    back = klump.read_chain("big")
    assert np.array_equal(np.load("big/stationary.npy"), chain.stationary_distribution)
    assert back.states == chain.states
    klump_cli("convert big chain.npz")
    assert klump.read_chain("chain.npz").states == chain.states


def test_json(klump_cli, chain_file):
    found = json.loads(klump_cli("convert chain.csv a.mapped --normalize --json").stdout)
    assert found["schema"] == "klump/conversion/1"
    assert found["input"]["path"] == "chain.csv"
    assert found["input"]["n_transitions"] == 64
    assert found["output"]["path"] == "a.mapped"
    assert (found["output"]["mapped"], found["output"]["replaced"], found["stationary"]) == (
        True,
        False,
        False,
    )
    # Onto itself: the hash is that of what was read, and the law does not change what the chain is.
    again = json.loads(klump_cli("convert a.mapped a.mapped --stationary --json").stdout)
    assert again["input"]["sha256"] == again["output"]["sha256"] == found["output"]["sha256"]
    assert again["output"]["replaced"]
    changed = json.loads(klump_cli("convert a.mapped a.mapped --restart 0.5 --initial x --json").stdout)
    assert changed["input"]["sha256"] == found["output"]["sha256"] != changed["output"]["sha256"]
    assert changed["input"]["applied"] == ["restarted at state 'x' with probability 0.5"]


def test_other_commands_use_a_mapped_folder_like_any_file(klump_cli, chain_file):
    klump_cli("convert chain.csv chain.mapped --normalize --stationary")
    klump_cli("convert chain.csv chain.npz --normalize")
    labels = "\n".join("00001111") + "\n"
    with open("labels.txt", "w") as file:
        file.write(labels)
    for command in ("info {}", "score {} labels.txt", "aggregate {} -k 2 --method sequential"):
        mapped, plain = (
            json.loads(klump_cli(command.format(f"chain.{kind}") + " --json").stdout)
            for kind in ("mapped", "npz")
        )
        assert set(mapped) == set(plain)
        assert mapped["input"]["sha256"] != plain["input"]["sha256"]
        for document in (mapped, plain):
            document.pop("input")
        assert mapped == plain


def test_ways_out(klump_cli, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    sparse.save_npz("a.npz", sparse.csr_array(np.eye(3, k=1) + np.diag([0, 0, 1.0])), compressed=False)
    result = klump_cli("convert a.npz a.mapped --restart 0.25 --initial 0")
    assert result.stdout.splitlines()[1] == "restarted at state 0 with probability 0.25"
    assert klump.read_chain("a.mapped").is_irreducible
    result = klump_cli("convert a.npz b.mapped --stationary", status=1)
    assert result.stderr.startswith("klump: error: a.npz: the chain is not irreducible: absorbing state (2)")
    assert result.stderr.count("\n") == 1
    assert not (tmp_path / "b.mapped").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("a.foo", "OUT: the suffix '.foo' is not known"),
        ("nowhere/a.npz", "klump: error: nowhere/a.npz: there is no folder 'nowhere'"),
        ("a.csv --mmap", "--mmap writes a folder, but OUT ends in .csv"),
        ("a.npz --stationary", "--stationary needs a mapped folder"),
        ("a.npz --initial x", "--initial is the initial state of --restart"),
        ("", "Missing argument 'OUT'"),
    ],
)
def test_usage_errors(klump_cli, chain_file, arguments, message):
    result = klump_cli(f"convert chain.csv {arguments}", status=2)
    assert message in result.stderr
    assert result.stdout == ""


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("chain.csv a.mapped", "chain.csv: row 0 (state 'a') of the transition matrix sums to "),
        ("chain.csv thesis --mmap --normalize", "thesis: the folder holds files other than a chain"),
        ("missing.npz a.mapped", "missing.npz: cannot be read: No such file or directory"),
        ("missing.mapped a.npz", "missing.mapped: cannot be read: No such file or directory"),
        ("thesis a.npz", "thesis: the suffix '' is not known"),
    ],
)
def test_errors_are_one_line(klump_cli, chain_file, tmp_path, arguments, message):
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "page.tex").touch()
    result = klump_cli(f"convert {arguments}", status=1)
    assert result.stderr.startswith(f"klump: error: {message}")
    assert result.stderr.count("\n") == 1
    assert result.stdout == ""


FORMATS = (
    ".npz",
    ".npy",
    ".mtx",
    ".csv",
    ".tsv.gz",
    ".tra",
    ".storm.tra",
    ".drn.xz",
    ".umb",
    ".graphml",
    ".parquet",
)


@pytest.fixture
def weather(tmp_path, monkeypatch):
    """A chain with names, a label, an initial state and rewards, in a file of every format."""
    monkeypatch.chdir(tmp_path)
    chain = klump.MarkovChain(
        sparse.csr_array([[0.5, 0.5], [0.25, 0.75]]),
        ["s=0", "s=1"],
        labels={"wet": ["s=1"]},
        initial="s=0",
        rewards={"cost": [1, 2]},
    )
    for suffix in (*FORMATS, ".mapped"):
        klump.write_chain(chain, f"a{suffix}")
    return chain


@pytest.mark.parametrize("target", [*FORMATS, ".mapped"])
@pytest.mark.parametrize("source", [*FORMATS, ".mapped"])
def test_every_pair_of_formats(klump_cli, weather, source, target):
    message = klump_cli(f"convert a{source} b{target}").stderr
    before, after = klump.read_chain(f"a{source}"), klump.read_chain(f"b{target}")
    matrices = [sparse.csr_array(chain.transition_matrix).toarray() for chain in (before, after)]
    assert np.array_equal(*matrices)
    plain, table = target in (".npy", ".mtx"), target in (".csv", ".tsv.gz", ".parquet")
    assert after.states == ((0, 1) if plain else before.states)
    for part in ("labels", "initial", "rewards"):
        kept = {} if part != "initial" else None
        expected = kept if plain or table else getattr(before, part)
        found = getattr(after, part)
        assert str(found) == str(expected), part
    is_rich = bool(before.labels)
    assert ("lacks" in message) == ((before.has_names and plain) or (is_rich and (plain or table)))
    if is_rich and table:
        assert message.splitlines()[-1] == (
            f"klump: b{target} cannot hold, and lacks: labels ('wet'), initial distribution, rewards ('cost')"
        )


def test_losses_in_json_and_siblings_in_the_message(klump_cli, weather):
    assert json.loads(klump_cli("convert a.drn.xz b.csv --json").stdout)["lost"] == [
        "labels ('wet')",
        "initial distribution",
        "rewards ('cost')",
    ]
    message = klump_cli("convert a.drn.xz b.tra").stderr
    assert message == "klump: saved b.tra, with b.sta, b.lab, b.srew\n"
    first = json.loads(klump_cli("info b.tra --json").stdout)["input"]["sha256"]
    with open("b.lab", "a") as file:
        file.write("1: 1\n")
    assert json.loads(klump_cli("info b.tra --json").stdout)["input"]["sha256"] != first


def test_rates_and_format(klump_cli, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rates.dat").write_text("2 2\n0 1 3\n1 0 1\n")
    error = klump_cli("convert rates.dat a.npz", status=1).stderr
    assert error.startswith("klump: error: rates.dat: row 0 of the transition matrix sums to 3")
    klump_cli("convert rates.dat a.npz --ctmc --format tra")
    np.testing.assert_allclose(klump.read_chain("a.npz").stationary_distribution, [0.25, 0.75])
    (tmp_path / "rates.tra").write_text("ctmc\n0 1 3\n1 0 1\n")
    error = klump_cli("convert rates.tra a.npz", status=1).stderr
    assert error == "klump: error: rates.tra: the file holds rates of a CTMC; pass --ctmc to uniformise it\n"
