"""``-`` as FILE: standard input, of any format that its content tells or --format names."""

import gzip
import json
import tempfile
from hashlib import sha256

import numpy as np
import pytest
from click.testing import CliRunner

import klump
from klump.cli import main

P = np.array([[0.5, 0.5], [0.25, 0.75]])


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))

    def invoke(arguments, content, status=0):
        result = CliRunner().invoke(main, arguments.split(), input=content)
        assert result.exit_code == status, result.output
        assert not [path.name for path in tmp_path.iterdir() if path.name.startswith("klump-")]
        return result

    return invoke


@pytest.mark.parametrize(
    "suffix", [".npz", ".npy", ".mtx", ".csv", ".tra", ".drn", ".umb", ".graphml", ".parquet"]
)
@pytest.mark.parametrize("compress", [bytes, gzip.compress])
def test_every_format(run, tmp_path, suffix, compress):
    if compress is gzip.compress and suffix in (".npz", ".npy", ".parquet"):
        pytest.skip("binary formats are not compressed again")
    klump.write_chain(P, f"m{suffix}")
    content = compress((tmp_path / f"m{suffix}").read_bytes())
    lines = run("info -", content).stdout.splitlines()
    assert lines[0] == "-"
    assert lines[1].split() == ["states", "2"]


def test_format_and_options(run):
    found = json.loads(run("info - --format tra --json", b"2 2\n0 1 1\n1 0 1\n").stdout)
    assert (found["n_states"], found["input"]["path"]) == (2, "-")
    assert found["input"]["sha256"] == sha256(b"2 2\n0 1 1\n1 0 1\n").hexdigest()
    assert "to 0.75 (b)" in run("info - --normalize", b"from to\na b\nb a\nb b\nb b\n").stdout
    run("convert - out.npz --ctmc", b"ctmc\n0 1 2\n1 0 3\n")
    np.testing.assert_allclose(klump.read_chain("out.npz").stationary_distribution, [0.6, 0.4])


def test_commands(run):
    content = b"0.5,0.4,0.1\n0.4,0.5,0.1\n0.1,0.1,0.8\n"
    found = json.loads(run("aggregate - -k 2 --method sequential --json --quiet", content).stdout)
    assert found["labels"] in ([0, 0, 1], [1, 1, 0])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "standard input: there is nothing to read; pipe a chain to klump"),
        (b"1,0\n0.5,x\n", "standard input: line 2, column 2: 'x' is not a number"),
        (b"1,0\n0.5,0\n", "standard input: row 1 of the transition matrix sums to 0.5"),
        (b"\0\1", "standard input: the suffix '' is not known"),
    ],
)
def test_errors(run, content, message):
    assert run("info -", content, status=1).stderr.startswith(f"klump: error: {message}")


def test_unknown_format(run):
    assert (
        "'doc' is not one of npz, npy, mtx, csv, tsv, tra"
        in run("info - --format doc", b"1", status=2).stderr
    )
