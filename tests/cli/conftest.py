"""A small chain with names that are awkward, in a file of its own folder."""

import numpy as np
import pytest
from click.testing import CliRunner

import klump
from klump.cli import main

NAMES = ("a", " ", ",", '"', "[b]", "long name", "x", "y")


@pytest.fixture
def chain_file(tmp_path, monkeypatch):
    """Two loosely coupled blocks of four states, written as counts."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    counts = rng.integers(1, 20, (8, 8)) + 200 * np.kron(np.eye(2, dtype=int), np.ones((4, 4), dtype=int))
    lines = [
        ",".join(('"' + name.replace('"', '""') + '"' if name in ',"' else name) for name in (u, v))
        + f",{count}"
        for u, row in zip(NAMES, counts, strict=True)
        for v, count in zip(NAMES, row, strict=True)
    ]
    (tmp_path / "chain.csv").write_text("from,to,count\n" + "\n".join(lines) + "\n")
    return "chain.csv"


@pytest.fixture
def chain(chain_file):
    return klump.read_chain(chain_file, normalize=True)


@pytest.fixture
def klump_cli():
    """Run the program in this process: arguments in one string, expected exit status."""

    def run(arguments, status=0):
        result = CliRunner().invoke(main, arguments.split())
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        assert result.exit_code == status, result.output
        return result

    return run
