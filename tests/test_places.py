"""The same answers wherever klump runs: in threads, forked processes, event loops, and where nothing can be written."""

import asyncio
import io
import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numba
import pytest

import klump
from klump.sources.random_chains import random_chain

compiled = pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="nothing is compiled")
posix = pytest.mark.skipif(sys.platform == "win32", reason="has no such processes")


def ask(seed):
    """Labels and cost of a chain of its own."""
    chain = random_chain(15 + seed, "sparse" if seed % 2 else "dense", seed=seed)
    found = klump.aggregate(chain, 3, method="annealing", n_init=3, random_state=seed)
    return found.labels.tolist(), found.cost


SEEDS = range(8)


@pytest.fixture(scope="module")
def serial():
    return [ask(seed) for seed in SEEDS]


def test_thread_pool(serial):
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(ask, SEEDS)) == serial


def test_one_chain_in_many_threads():
    """Its lazy properties are computed by whoever comes first."""
    for seed in SEEDS:
        ask_again = partial(klump.aggregate, random_chain(60, "sparse", seed=seed), 3, method="sequential")
        with ThreadPoolExecutor(4) as pool:
            found = [answer.cost for answer in pool.map(ask_again, [0.5] * 4)]
        expected = klump.aggregate(random_chain(60, "sparse", seed=seed), 3, 0.5, "sequential").cost
        assert found == [expected] * 4


def test_event_loop(serial):
    async def ask_all():
        return await asyncio.gather(*(asyncio.to_thread(ask, seed) for seed in SEEDS))

    assert asyncio.run(ask_all()) == serial


FORKED = """
import json, multiprocessing, sys
import klump
from klump.sources.random_chains import random_chain

def ask(seed):
    found = klump.aggregate(random_chain(20, seed=seed), 3, n_jobs=2, random_state=seed)
    return found.labels.tolist(), found.cost

if __name__ == "__main__":
    here = [ask(seed) for seed in range(3)]
    with multiprocessing.get_context("fork").Pool(2) as pool:
        there = pool.map(ask, range(3))
    print(json.dumps([here, there]))
"""


@posix
def test_forked_processes():
    """After klump was used in the parent process: its locks, threads and compiled kernels are there."""
    done = subprocess.run([sys.executable, "-c", FORKED], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    here, there = json.loads(done.stdout)
    assert here == there


class Screen(io.TextIOBase):
    """Standard output of a notebook: no file descriptor, no encoding, and not writable by bytes."""

    encoding = None

    def __init__(self):
        self.text = ""

    def write(self, text):
        self.text += text
        return len(text)

    def fileno(self):
        raise io.UnsupportedOperation("fileno")


def test_notebook(serial, monkeypatch, tmp_path):
    """A cell runs in the main thread, within a running event loop, with output that is no file."""
    screen = Screen()
    monkeypatch.setattr(sys, "stdout", screen)
    monkeypatch.setattr(sys, "stderr", Screen())
    klump.write_chain(random_chain(6, seed=1), tmp_path / "chain.npz")

    async def cell():
        assert ask(0) == serial[0]
        print(klump.aggregate(random_chain(6, seed=1), 2))
        from klump.cli import main

        main(["aggregate", str(tmp_path / "chain.npz"), "-k", "2"], standalone_mode=False)

    asyncio.run(cell())
    assert "6 states in 2 groups" in screen.text
    assert "2 groups at beta 0.5" in screen.text


def test_notebook_kernel(tmp_path):
    """The same in a real one, where it is installed."""
    nbclient, nbformat = pytest.importorskip("nbclient"), pytest.importorskip("nbformat")
    pytest.importorskip("ipykernel")
    code = "import klump; print(klump.aggregate([[0.9, 0.1], [0.3, 0.7]], 2).n_states)"
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(code)])
    nbclient.NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(tmp_path)}}).execute()
    assert notebook.cells[0].outputs[0].text == "2\n"


def run_info(folder, **environment):
    command = [sys.executable, "-m", "klump", "info", "chain.npz", "--json"]
    variables = {name: value for name, value in os.environ.items() if name != "NUMBA_CACHE_DIR"}
    return subprocess.Popen(
        command,
        cwd=folder,
        env=variables | environment,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


@compiled
def test_processes_that_fill_an_empty_cache(tmp_path):
    klump.write_chain(random_chain(150, seed=1), tmp_path / "chain.npz")
    cache = {"NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    processes = [run_info(tmp_path, **cache) for _ in range(3)]
    ended = [process.communicate(timeout=300) for process in processes]
    assert [process.returncode for process in processes] == [0, 0, 0], ended
    assert len({out for out, _ in ended}) == 1
    files = [path for path in (tmp_path / "cache").rglob("*") if path.is_file()]
    assert files
    assert not [path for path in files if path.name.startswith(".")]


@posix
@compiled
def test_home_that_cannot_be_written(tmp_path):
    """A read-only one, as a folder of /dev/null is: permissions do not bind root."""
    klump.write_chain(random_chain(150, seed=1), tmp_path / "chain.npz")
    (tmp_path / "temporary").mkdir()
    places = {"HOME": "/dev/null/home", "XDG_CACHE_HOME": "", "TMPDIR": str(tmp_path / "temporary")}
    process = run_info(tmp_path, **places)
    out, err = process.communicate(timeout=300)
    assert (process.returncode, json.loads(out)["n_states"]) == (0, 150)
    assert "compiled kernels are kept in the temporary folder" in err
    assert "Traceback" not in err
