"""``klump warm-up``: all kernels are compiled once, and then never again."""

import json
import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import numba
import pytest

import klump
from klump import warm_up
from klump.compilation import announcement
from klump.compilation.sources import PACKAGE, kernel_files, kernel_name

compiled = pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="nothing is compiled")


@pytest.fixture
def small(monkeypatch, tmp_path):
    """One question, with a kernel that nothing else uses, and an empty cache."""
    from klump.compilation import kernel

    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(announcement, "_announced", set())
    monkeypatch.setattr(announcement, "announce_all", lambda: None)
    monkeypatch.setattr(warm_up, "QUESTIONS", {"a sum": lambda: kernel(_add)(1, 2)})
    return tmp_path


def _add(a, b):
    return a + b


@compiled
def test_says_what_was_compiled_and_where_it_is(klump_cli, small):
    facts = {line[:14].strip(): line[14:] for line in klump_cli("warm-up -q").stdout.splitlines()}
    assert facts["compiled"].startswith("1 kernel in ")
    assert facts["cache"].startswith("1 file, 0.0 MB")
    [folder] = (small / "klump").iterdir()
    assert facts["folder"] == str(folder)
    facts = {line[:14].strip(): line[14:] for line in klump_cli("warm-up -q").stdout.splitlines()}
    assert facts["compiled"] == "none, all were there"


@compiled
def test_json(klump_cli, small):
    result = klump_cli("warm-up --json --quiet")
    assert result.stderr == ""
    found = json.loads(result.stdout)
    [path] = (small / "klump").glob("*/*")
    assert found["schema"] == "klump/warm-up/1"
    assert found["klump"] == klump.__version__
    assert (found["folder"], found["files"]) == (str(path.parent), 1)
    assert found["bytes"] == path.stat().st_size
    assert found["compiled"] == 1
    assert found["seconds"] > 0.0


def test_cache_that_cannot_be_written_is_an_error(klump_cli, small, monkeypatch):
    monkeypatch.setattr(warm_up, "QUESTIONS", {})
    result = klump_cli("warm-up", status=1)
    assert result.stdout == ""
    assert "set NUMBA_CACHE_DIR to a folder of your own" in result.stderr


def run(arguments, cache):
    environment = os.environ | {"NUMBA_CACHE_DIR": str(cache)}
    environment.pop("NUMBA_DISABLE_JIT", None)
    done = subprocess.run([sys.executable, *arguments], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


# Kernels that only tests call.
ONLY_TESTED = {"search.kernels.logarithm.f_array"}

README = """
import json, klump, klump.compilation
chain = klump.datasets.letter_bigrams()
klump.aggregate(chain, n_states=4, beta=0.8).guarantees
klump.aggregate(chain, method="exact", initial=[0] * 38 + [1] * 38)
print(sum(used.seconds is not None for used in klump.compilation.compilations()))
"""


@compiled
@pytest.mark.long
def test_after_a_warm_up_nothing_is_compiled(tmp_path):
    first = json.loads(run(["-m", "klump", "warm-up", "--json"], tmp_path))
    assert first["compiled"] > 10
    files = {path.name.rpartition("-")[0].rpartition("-")[0] for path in Path(first["folder"]).iterdir()}
    assert files <= all_kernels()
    assert all_kernels() - files <= ONLY_TESTED
    second = json.loads(run(["-m", "klump", "warm-up", "--json"], tmp_path))
    assert (second["compiled"], second["files"]) == (0, first["files"])
    assert run(["-c", README], tmp_path).strip() == "0"


def all_kernels():
    """Names of all kernels of the package."""
    modules = [
        ".".join(("klump", *path.relative_to(PACKAGE).with_suffix("").parts)) for path in kernel_files()
    ]
    functions = {
        function
        for module in modules
        for function in vars(import_module(module)).values()
        if type(getattr(function, "_cache", None)).__name__ == "KernelCache"
    }
    return {kernel_name(function) for function in functions}


@compiled
def test_table_of_times_knows_only_kernels_that_exist():
    table = announcement._table()
    assert {key.rpartition("-")[0] for key in table["seconds"]} <= all_kernels()
    assert {key for keys in table["needs"].values() for key in keys} <= set(table["seconds"])
