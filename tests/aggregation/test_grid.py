"""A cell of a grid equals the answer of aggregate with the same options."""

import json
import threading

import joblib
import numpy as np
import pytest
from scipy import sparse

import klump
from klump.errors import FileFormatError, InvalidArgumentError, ReducibleChainError
from klump.search.method import Found
from klump.search.registry import METHODS, Method
from klump.sources.random_chains import block_chain, random_chain

OPTIONS = {"n_init": 3, "random_state": 7}


@pytest.fixture(scope="module")
def chain():
    return block_chain((6, 8, 10), alpha=0.9, eps=0.1, random_state=3)[0]


@pytest.fixture(scope="module")
def found(chain):
    return klump.grid(chain, [2, 3, 4], [0.5, 1.0], method="annealing", **OPTIONS)


def assert_same_cells(one, other):
    assert (one.n_states, one.betas, len(one)) == (other.n_states, other.betas, len(other))
    for a, b in zip(one, other, strict=True):
        np.testing.assert_array_equal(a.mapping, b.mapping)
        assert (a.beta, a.method, a.random_state, a.trace) == (b.beta, b.method, b.random_state, b.trace)


@pytest.mark.parametrize("method", ["auto", "sequential", "annealing", "agglomerative", "stochastic"])
@pytest.mark.parametrize("stored", [np.asarray, sparse.csr_array])
def test_every_cell_is_what_aggregate_finds(method, stored):
    chain = klump.MarkovChain(stored(random_chain(20, random_state=1).transition_matrix), states=range(5, 25))
    grid = klump.grid(chain, (2, 3), (0.4, 1.0), method, **OPTIONS)
    for k in (2, 3):
        for beta in (0.4, 1.0):
            cell, alone = grid[k, beta], klump.aggregate(chain, k, beta, method, **OPTIONS)
            np.testing.assert_array_equal(cell.mapping, alone.mapping)
            assert cell.original is chain
            assert (cell.cost, cell.trace, cell.method) == (alone.cost, alone.trace, alone.method)
            assert cell.made_with == alone.made_with
            assert (cell.record is None) == (alone.record is None)


@pytest.mark.parametrize(("backend", "n_jobs"), [(None, 2), ("threading", 3), ("loky", 2)])
def test_engines_do_not_change_the_answer(chain, found, backend, n_jobs):
    if backend is None:
        again = klump.grid(chain, [2, 3, 4], [0.5, 1.0], "annealing", **OPTIONS, n_jobs=n_jobs)
    else:
        with joblib.parallel_config(backend=backend, n_jobs=n_jobs):
            again = klump.grid(chain, [2, 3, 4], [0.5, 1.0], "annealing", **OPTIONS)
    assert_same_cells(found, again)
    assert all(answer.original is chain for answer in again)


def test_cells_do_not_ask_for_more_workers(chain, monkeypatch):
    """The starts of a search run on the worker of its cell, even if joblib is set to many workers."""
    strayed = []

    def spread(task):
        here = threading.get_ident()
        strayed.extend(there != here for there in task.run_all(threading.get_ident, [()] * 8))
        return Found(np.arange(task.chain.n_states, dtype=np.int32) % task.n_groups, 0.0)

    monkeypatch.setitem(METHODS, "spread", Method("spread", spread, "for a test"))
    with joblib.parallel_config(backend="threading", n_jobs=4):
        klump.grid(chain, [2, 3, 4], method="spread")
    klump.grid(chain, [2, 3, 4], method="spread", n_jobs=4)
    assert strayed == [False] * 48


def test_tables_follow_the_cells(found):
    assert found.n_states == (2, 3, 4)
    assert found.betas == (0.5, 1.0)
    for i, k in enumerate(found.n_states):
        for j, beta in enumerate(found.betas):
            cell = found[k, beta]
            assert (cell.n_states, cell.beta) == (k, beta)
            assert (found.costs[i, j], found.kept[i, j]) == (cell.cost, cell.kept)
    assert [(cell.n_states, cell.beta) for cell in found] == [
        (k, beta) for k in (2, 3, 4) for beta in (0.5, 1)
    ]
    assert not found.costs.flags.writeable
    assert found.not_run == ()
    assert not found.interrupted


def test_the_order_given_is_kept_and_nothing_is_run_twice(chain):
    grid = klump.grid(chain, [4, 2, np.int64(4)], [1, 0.5, 1.0], "sequential", n_init=1)
    assert grid.n_states == (4, 2)
    assert grid.betas == (1.0, 0.5)
    assert [(cell.n_states, cell.beta) for cell in grid] == [(4, 1.0), (4, 0.5), (2, 1.0), (2, 0.5)]


def test_usual_numbers_of_groups(chain):
    assert klump.grid(chain, method="sequential", n_init=1).n_states == tuple(range(2, 11))
    small = klump.MarkovChain([[0.9, 0.1, 0.0], [0.1, 0.8, 0.1], [0.0, 0.1, 0.9]])
    assert klump.grid(small).n_states == (2, 3)
    assert klump.grid([[1.0]]).n_states == (1,)


def test_words(found):
    assert repr(found) == "AggregationGrid(24 states, n_states=2..4, betas=0.5, 1)"
    header, columns, *rows = str(found).splitlines()
    assert header == "24 states, annealing, seed 7; costs in bits"
    assert columns.split() == ["groups", "beta", "cost", "kept", "epsilon"]
    assert rows[0].split() == [
        *("2", "0.5", f"{found[2, 0.5].cost:.6f}", f"{found[2, 0.5].kept:.1%}"),
        f"{found[2, 0.5].bisimulation.epsilon:.6f}",
    ]
    assert len(rows) == 6


def test_as_json(found):
    written = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert (written["n_states"], written["betas"]) == ([2, 3, 4], [0.5, 1.0])
    assert (written["method"], written["seed"]) == ("annealing", 7)
    for cell, answer in zip(written["cells"], found, strict=True):
        assert cell["labels"] == answer.labels.tolist()
        assert cell["cost"] == answer.cost
        assert cell["epsilon"] == answer.bisimulation.epsilon
        assert cell["mapping"] is None


def test_soft_maps(tmp_path):
    P = [[0.4638, 0.4871, 0.0491], [0.3018, 0.1419, 0.5563], [0.0173, 0.3155, 0.6672]]
    soft = klump.grid(P, [2], method="stochastic")
    assert soft[2, 0.5].map.labels is None
    assert str(soft).splitlines()[-1].split()[-1] == "soft"
    (cell,) = soft.to_dict()["cells"]
    assert cell["epsilon"] is None
    np.testing.assert_array_equal(cell["mapping"], soft[2, 0.5].mapping)
    soft.save(tmp_path / "soft.npz")
    assert_same_cells(soft, klump.load(tmp_path / "soft.npz"))


# Files


def test_saved_grids_come_back(found, tmp_path):
    found.save(tmp_path / "grid.npz")
    again = klump.load(tmp_path / "grid.npz")
    assert isinstance(again, klump.AggregationGrid)
    assert_same_cells(found, again)
    np.testing.assert_array_equal(again.costs, found.costs)
    assert str(again) == str(found)


def test_a_grid_that_was_tampered_with(found, tmp_path):
    found.save(tmp_path / "grid.npz")
    arrays = dict(np.load(tmp_path / "grid.npz"))
    metadata = json.loads(arrays["metadata"].item())
    for spans in ({"n_states": [2, 3], "betas": [0.5, 1.0]}, {"n_states": [2, 3, 4]}, None):
        arrays["metadata"] = np.array(json.dumps(metadata | {"grid": spans}).encode())
        np.savez(tmp_path / "wrong.npz", **arrays)
        with pytest.raises(FileFormatError, match="damaged"):
            klump.load(tmp_path / "wrong.npz")


# Ctrl-C


def press_after(cells):
    def progress(done, total, best_cost):
        if done == cells:
            raise KeyboardInterrupt

    return progress


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_ctrl_c_keeps_the_finished_cells(chain, found, tmp_path, n_jobs):
    stopped = klump.grid(
        chain, [2, 3, 4], [0.5, 1.0], "annealing", **OPTIONS, n_jobs=n_jobs, progress=press_after(3)
    )
    assert stopped.interrupted
    assert len(stopped) == 3
    assert stopped.not_run == ((3, 1.0), (4, 0.5), (4, 1.0))
    np.testing.assert_array_equal(np.isnan(stopped.costs), [[False, False], [False, True], [True, True]])
    np.testing.assert_array_equal(stopped.costs[0], found.costs[0])
    assert str(stopped).splitlines()[-1] == "interrupted: 3 cells not run"
    assert repr(stopped).endswith(", interrupted)")
    with pytest.raises(InvalidArgumentError, match="n_states=4, beta=1 was not run before Ctrl-C"):
        stopped[4, 1.0]
    stopped.save(tmp_path / "stopped.npz")
    again = klump.load(tmp_path / "stopped.npz")
    assert again.not_run == stopped.not_run
    assert again.interrupted


def test_a_search_that_answers_ctrl_c_ends_the_grid(chain, monkeypatch):
    asked = []

    def cut_short(task):
        asked.append(task.n_groups)
        labels = np.arange(task.chain.n_states, dtype=np.int32) % task.n_groups
        return Found(labels, 0.0, interrupted=task.n_groups == 3)

    monkeypatch.setitem(METHODS, "cut short", Method("cut short", cut_short, "for a test"))
    stopped = klump.grid(chain, [2, 3, 4, 5], method="cut short")
    assert asked == [2, 3]
    assert [answer.interrupted for answer in stopped] == [False, True]
    assert stopped.interrupted


def test_ctrl_c_before_anything_is_ready(chain, monkeypatch):
    def press(task):
        raise KeyboardInterrupt

    monkeypatch.setitem(METHODS, "press", Method("press", press, "for a test"))
    with pytest.raises(KeyboardInterrupt):
        klump.grid(chain, [2, 3], method="press")


# Invalid arguments


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_states": 3}, r"n_states=3 must be several whole numbers, like range\(2, 11\)"),
        ({"n_states": "23"}, "n_states='23' must be several whole numbers"),
        ({"n_states": []}, "n_states is empty"),
        ({"n_states": [2, 25]}, "n_states=25 must lie between 1 and the 24 states of the chain"),
        ({"n_states": [2.0]}, "n_states=2.0 must be a whole number"),
        ({"n_states": [[2]]}, r"n_states=\[2\] must be a whole number"),
        ({"betas": 0.5}, "betas=0.5 must be a sequence of numbers"),
        ({"betas": []}, "betas is empty"),
        ({"betas": [0.5, 2]}, "beta=2 must lie between 0"),
        ({"method": "exact"}, "method='exact' finds the number of groups itself; choose one of auto, seq"),
        ({"method": "none"}, "method='none' is not known"),
        ({"n_init": 0}, "n_init=0"),
        ({"n_jobs": 0}, "n_jobs=0"),
        ({"random_state": -1}, "random_state=-1 is not a seed"),
        ({"progress": 1}, "progress=1 must be a function"),
    ],
)
def test_bad_questions(chain, options, message):
    with pytest.raises(InvalidArgumentError, match=message):
        klump.grid(chain, **options)


def test_cells_that_are_not_there(found):
    assert found[3, 0.5 + 1e-12] is found[3, 0.5]
    for cell in ((5, 0.5), (3, 0.7), ("3", 0.5)):
        with pytest.raises(
            InvalidArgumentError, match="is not on this grid; it has n_states 2, 3, 4 and beta"
        ):
            found[cell]
    for cell in (3, (3,), (3, 0.5, 1)):
        with pytest.raises(
            InvalidArgumentError, match=r"ask for grid\[n_states, beta\], like grid\[2, 0.5\]"
        ):
            found[cell]


def test_chains_that_fall_apart():
    with pytest.raises(ReducibleChainError):
        klump.grid(np.eye(3), [2])
