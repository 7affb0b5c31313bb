"""Cells of a grid and samples of a bootstrap are tasks on a cluster, without nested parallelism."""

import os

import joblib
import numpy as np
import pytest

import klump
from klump.aggregation import many
from klump.search.method import Task
from klump.sources.random_chains import block_chain

pytest.importorskip("distributed")

OPTIONS = {"method": "annealing", "n_init": 3}


@pytest.fixture(scope="module")
def chain():
    return block_chain((6, 8, 10), alpha=0.9, eps=0.1, random_state=3)[0]


def test_same_grid_as_serial(client, chain):
    plain = klump.grid(chain, [2, 3, 4], [0.5, 1.0], **OPTIONS)
    with joblib.parallel_config(backend="dask", client=client):
        spread = klump.grid(chain, [2, 3, 4], [0.5, 1.0], **OPTIONS)
    # The last digit of a sum depends on the alignment of the arrays in memory.
    np.testing.assert_allclose(spread.costs, plain.costs, rtol=1e-13)
    for one, other in zip(spread, plain, strict=True):
        np.testing.assert_array_equal(one.labels, other.labels)
        assert one.original is chain


def test_same_bootstrap_as_serial(client, chain):
    counts = np.round(200 * chain.transition_matrix) + 1
    plain = klump.bootstrap(counts, 3, n_samples=6, **OPTIONS)
    with joblib.parallel_config(backend="dask", client=client):
        spread = klump.bootstrap(counts, 3, n_samples=6, **OPTIONS)
    np.testing.assert_array_equal(spread.labels, plain.labels)
    # The last digit of a sum depends on the alignment of the arrays in memory.
    np.testing.assert_allclose(spread.costs, plain.costs, rtol=1e-13)
    matrices = spread.posterior.transition_matrices, plain.posterior.transition_matrices
    np.testing.assert_allclose(*matrices, rtol=1e-13)


def where_starts_run(task, method):
    """Stub of a search: the processes that its starts run in."""
    return {os.getpid(), *task.run_all(os.getpid, [()] * 8)}


def test_a_cell_stays_on_its_worker(client, chain, monkeypatch):
    monkeypatch.setattr(many, "run_method", where_starts_run)
    task = Task(chain, 3, 0.5, n_init=3, n_jobs=2)
    with joblib.parallel_config(backend="dask", client=client):
        assert many.run_on_one_worker(task, "annealing") == {os.getpid()}
