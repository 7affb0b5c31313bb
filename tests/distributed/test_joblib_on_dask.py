"""Everything that runs in parallel runs on a Dask cluster too: same answers, even if a worker dies on the way."""

import os
import pickle
import subprocess
import sys
from contextlib import contextmanager

import joblib
import numpy as np
import pytest
from scipy import sparse

import klump
from killing import arm, deadly_square, disarm
from klump.experiments.trials import Settings, run_pieces
from klump.parallel.cluster import FutureCache, Value, active_client, submit_value
from klump.search.method import Task
from klump.sources.random_chains import block_chain

# The methods with restarts.
RESTARTED = ("sequential", "annealing", "auto", "stochastic")


@pytest.fixture(scope="module")
def chain():
    return block_chain((8, 8, 16), eps=0.5, random_state=6)[0]


@contextmanager
def on(client):
    with joblib.parallel_config(backend="dask", client=client):
        yield


@contextmanager
def deadly(client, module, name, mark):
    """In this context the first worker that calls the function dies."""
    client.run(arm, module, name, mark)
    try:
        yield
        assert mark.exists(), "no worker has died"
    finally:
        # The dead worker cannot respond.
        client.run(disarm, module, name, on_error="ignore")


@pytest.mark.parametrize("method", RESTARTED)
def test_same_labels_as_serial(client, chain, method):
    for seed in (0, 11):
        for matrix in (chain.transition_matrix, sparse.csr_array(chain.transition_matrix)):
            ask = {"n_states": 3, "beta": 0.3, "method": method, "n_init": 6, "random_state": seed}
            expected = klump.aggregate(matrix, **ask)
            with on(client):
                found = klump.aggregate(matrix, **ask)
            assert np.array_equal(found.labels, expected.labels)
            assert found.cost == pytest.approx(expected.cost, abs=1e-12)
            assert found.trace == pytest.approx(expected.trace, abs=1e-12)


def test_paths_and_comparisons(client, chain):
    ask = {"n_states": 3, "n_init": 4, "random_state": 5}
    path = klump.beta_path(chain, **ask, betas=[1, 0.5, 0])
    table = klump.compare(chain, **ask, methods=["sequential", "annealing"], outside=[])
    with on(client):
        path_there = klump.beta_path(chain, **ask, betas=[1, 0.5, 0])
        table_there = klump.compare(chain, **ask, methods=["sequential", "annealing"], outside=[])
    assert [list(each.labels) for each in path_there] == [list(each.labels) for each in path]
    assert [row.name for row in table_there.rows] == [row.name for row in table.rows]
    costs = [row.cost for row in table.rows]
    assert [row.cost for row in table_there.rows] == pytest.approx(costs, abs=1e-12)


@pytest.mark.parametrize(
    ("method", "module", "name"),
    [
        ("annealing", "klump.search.sequential", "_run_descent"),
        ("auto", "klump.search.strategies", "run_start"),
    ],
)
def test_a_killed_worker_changes_nothing(client, chain, tmp_path, method, module, name):
    ask = {"n_states": 3, "beta": 0.3, "method": method, "n_init": 8, "random_state": 3}
    expected = klump.aggregate(chain, **ask)
    with deadly(client, module, name, tmp_path / "dead"), on(client):
        found = klump.aggregate(chain, **ask)
    assert np.array_equal(found.labels, expected.labels)
    assert found.trace == pytest.approx(expected.trace, abs=1e-12)


def test_large_arguments_outlive_the_worker_that_has_them(client, chain, tmp_path):
    # joblib alone would scatter arrays of this size to one worker, and fail if it dies.
    task, shared = Task(chain, 3, 0.5), np.arange(100_000.0)
    calls = [(shared, np.full(10_000, number)) for number in range(12)]
    expected = [float(np.dot(shared[:10_000], own)) for _, own in calls]
    with deadly(client, "klump.parallel.cluster", "run_serially", tmp_path / "dead"), on(client):
        found = list(task.run_all(first_product, calls))
    assert found == expected


def first_product(shared, own):
    return float(np.dot(shared[: own.size], own))


first_product.__module__ = "__main__"  # pickled by value: workers cannot import a test


def test_shared_arguments_are_sent_once(client, chain):
    futures, value = FutureCache(), (np.arange(1000.0), "text")
    first, second = futures.get(client, value), futures.get(client, value)
    assert first is second
    assert first.result().value[1] == "text"
    assert pickle.loads(pickle.dumps(futures)).get(client, value) is not first


def test_the_size_of_values_is_that_of_their_payload():
    from dask.sizeof import sizeof

    assert 80_000 <= sizeof(Value({"large": np.zeros(10_000)})) < 81_000


def test_arrays_keep_writeability_and_alignment(client):
    """Both are part of numba's array type: else kernels would be compiled again."""
    fixed = np.arange(11, dtype=np.int32)
    fixed.flags.writeable = False
    value = submit_value(client, [fixed, np.arange(3.0), np.zeros((2, 3), order="F")])
    for worker in client.scheduler_info(n_workers=-1)["workers"]:
        there = client.submit(_flags, value, workers=[worker], pure=False)
        assert there.result() == [(False, True), (True, True), (True, True)]


def _flags(remote):
    return [(array.flags.writeable, array.flags.aligned) for array in remote.value]


_flags.__module__ = "__main__"


def test_trials_of_experiments(client, tmp_path):
    mark = tmp_path / "dead"
    calls = [(number, str(mark)) for number in range(8)]
    with on(client):
        found = run_pieces("squares", deadly_square, calls, Settings(directory=tmp_path))
    assert mark.exists()
    assert found == [[number, number * number] for number in range(8)]
    assert len((tmp_path / "squares.jsonl").read_text().splitlines()) == 8


def test_trials_have_no_nested_parallelism(client):
    with on(client):
        found = run_pieces("engines", _engine_inside, [(0,), (1,)], Settings())
    assert found == ["SequentialBackend"] * 2


def _engine_inside(number):
    from joblib.parallel import get_active_backend

    return type(get_active_backend()[0]).__name__


_engine_inside.__module__ = "__main__"


def test_ctrl_c_keeps_the_best_so_far(client, chain):
    calls = []

    def impatient(done, total, best):
        calls.append(best)
        if len(calls) == 3:
            raise KeyboardInterrupt

    ask = {"n_states": 3, "method": "annealing", "n_init": 12}
    with on(client):
        answer = klump.aggregate(chain, **ask, progress=impatient)
        again = klump.aggregate(chain, **ask)
    assert answer.interrupted
    assert len(calls) == 3
    assert not again.interrupted
    assert np.array_equal(again.labels, klump.aggregate(chain, **ask).labels)


def test_a_cluster_of_one_thread(chain):
    # joblib then runs calls in this process.
    from dask.distributed import Client, LocalCluster

    ask = {"n_states": 3, "method": "sequential", "n_init": 3}
    expected = klump.aggregate(chain, **ask).labels
    options = {"n_workers": 1, "threads_per_worker": 1, "processes": False, "dashboard_address": ":0"}
    with LocalCluster(**options) as cluster, Client(cluster) as client, on(client):
        assert active_client() is client
        assert np.array_equal(klump.aggregate(chain, **ask).labels, expected)


@pytest.mark.parametrize(
    ("before", "message"),
    [
        ("", "first create a Dask Client"),
        ("import sys; sys.modules['dask'] = sys.modules['distributed'] = None\n", "install"),
    ],
    ids=["without a client", "without dask"],
)
def test_one_error_names_the_missing_part(before, message):
    program = (
        f"{before}import joblib, klump\n"
        "print(klump.aggregate([[0.5, 0.5], [0.4, 0.6]], 2).labels)\n"
        "try:\n"
        "    joblib.parallel_config(backend='dask')\n"
        "except (ValueError, ImportError) as error:\n"
        "    print(error)\n"
    )
    run = [sys.executable, "-c", program]
    done = subprocess.run(run, capture_output=True, text=True, env=os.environ, check=True)
    assert done.stdout.startswith("[1 0]\n")
    assert message in done.stdout
    assert "dask" in done.stdout.lower()
