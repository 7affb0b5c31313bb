"""``-o picture``: every command that has an answer draws it; matplotlib is looked for before the search."""

import json
import sys

import numpy as np
import pytest

import klump

STARTS = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}
COMMANDS = {
    "aggregate": "aggregate chain.csv --normalize -k 2",
    "path": "path chain.csv --normalize -k 2 --betas 1,0.5",
    "grid": "grid chain.csv --normalize -k 2..3 --method sequential",
    "select": "select chain.csv --normalize -k 2..3 --beta 0.5 --restarts 0",
    "score": "score chain.csv labels.json --normalize",
    "dynamics": "dynamics chain.csv labels.json --normalize",
    "compare": "compare chain.csv --normalize -k 2 --methods sequential --no-outside",
}


@pytest.fixture
def labels(chain_file):
    with open("labels.json", "w", encoding="utf-8") as stream:
        json.dump([0, 0, 0, 0, 1, 1, 1, 1], stream)


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("suffix", STARTS)
def test_every_command_draws(klump_cli, labels, command, suffix):
    pytest.importorskip("matplotlib")
    result = klump_cli(f"{COMMANDS[command]} -o picture.{suffix}")
    assert result.stdout and f"klump: saved picture.{suffix}\n" in result.stderr
    with open(f"picture.{suffix}", "rb") as stream:
        assert stream.read().startswith(STARTS[suffix])
    assert "matplotlib.pyplot" not in sys.modules or not sys.modules["matplotlib.pyplot"].get_fignums()


@pytest.mark.parametrize("command", COMMANDS)
def test_matplotlib_is_missing(klump_cli, labels, command, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    result = klump_cli(f"{COMMANDS[command]} -o picture.png", status=1)
    assert result.stderr == "klump: error: pictures need matplotlib; pip install 'klump[plots]'\n"
    assert result.stdout == "", "before the search"


@pytest.mark.parametrize("command", ["score", "dynamics"])
def test_documents_of_commands_that_only_print(klump_cli, labels, command):
    printed = klump_cli(f"{COMMANDS[command]} --json").stdout
    klump_cli(f"{COMMANDS[command]} -o out.json")
    with open("out.json", encoding="utf-8") as stream:
        assert json.load(stream) == json.loads(printed)
    klump_cli(f"{COMMANDS[command]} -o out.csv", status=2)


@pytest.mark.parametrize("command", ["score", "dynamics"])
def test_labels_are_not_replaced(klump_cli, labels, command):
    result = klump_cli(f"{COMMANDS[command]} -o labels.json", status=2)
    assert "-o labels.json would replace labels.json, an input" in result.stderr


def test_dynamics_without_labels(klump_cli, chain_file):
    pytest.importorskip("matplotlib")
    klump_cli("dynamics chain.csv --normalize -o picture.png")
    with open("picture.png", "rb") as stream:
        assert stream.read().startswith(STARTS["png"])


def test_several_files(klump_cli, chain_file, tmp_path):
    pytest.importorskip("matplotlib")
    (tmp_path / "other.csv").write_text((tmp_path / chain_file).read_text())
    klump_cli("aggregate chain.csv other.csv --normalize -k 2 -o {}.png")
    assert (tmp_path / "chain.png").exists() and (tmp_path / "other.png").exists()


def test_characters_without_a_font(klump_cli, tmp_path, monkeypatch):
    """One message instead of warnings of matplotlib, whose own font has neither of these characters."""
    pytest.importorskip("matplotlib")
    monkeypatch.setattr("klump.plots.text._installed_fonts", tuple)
    monkeypatch.chdir(tmp_path)
    chain = klump.MarkovChain([[0.5, 0.5], [0.4, 0.6]], ["\U0001f9ff", "漢字"])
    klump.write_chain(chain, "chain.npz")
    result = klump_cli("aggregate chain.npz -k 2 -o picture.png")
    messages = result.stderr.splitlines()
    assert (
        messages[-1] == "klump: no installed font has some characters of the names: they are drawn as boxes"
    )
    assert len([line for line in messages if "font" in line]) == 1


def test_models_that_are_not_irreducible(klump_cli, tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    monkeypatch.chdir(tmp_path)
    matrix = np.kron(np.eye(2), np.full((2, 2), 0.5))
    klump.write_chain(klump.MarkovChain(matrix), "chain.npz")
    klump_cli("aggregate chain.npz --method exact -o picture.svg")
    assert (tmp_path / "picture.svg").exists()
