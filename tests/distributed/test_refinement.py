"""Simultaneous moves in blocks, serial or on a cluster: the cost never increases and ends at a local optimum."""

import sys

import numpy as np
import pytest
from scipy import sparse

import klump
from chains import random_labels, random_matrix
from killing import arm, disarm
from klump.distributed import Refinement, refine
from klump.distributed import engine as engines
from klump.parallel.cluster import Payload
from klump.search.descent import descend
from klump.search.objective import MIDDLE
from klump.search.problem import make_problem
from klump.sources.random_chains import block_chain
from reference import cost_of_labels


def sparse_chain(n, seed, n_out=4):
    """A ring with shortcuts."""
    rng = np.random.default_rng(seed)
    rows = np.repeat(np.arange(n), n_out)
    columns = (rows + rng.integers(1, n // 3, rows.size)) % n
    columns[::n_out] = (rows[::n_out] + 1) % n
    weights = sparse.csr_array((rng.random(rows.size) + 0.1, (rows, columns)), shape=(n, n))
    return klump.MarkovChain.from_counts(weights)


def write_folder(chain, folder):
    """A mapped folder with the stationary distribution."""
    assert chain.stationary_distribution.all()
    klump.write_chain(chain, folder)
    return folder


@pytest.mark.parametrize("kind", ["dense", "skewed", "sparse", "decomposable", "nonreversible", "periodic"])
def test_ends_where_the_serial_sweep_finds_no_move(kind, rng):
    for _ in range(4):
        P = random_matrix(kind, 40, rng)
        start = random_labels(40, 4, rng)
        chain = klump.MarkovChain(P)
        found = refine(chain, start, n_blocks=3)
        assert found.settled
        assert sorted(set(found.labels.tolist())) == [0, 1, 2, 3]
        assert (np.diff(found.trace) < 0).all()
        assert len(found.trace) == len(found.moves) + 1
        mu = chain.stationary_distribution
        assert found.trace[0] == pytest.approx(cost_of_labels(P, mu, start, 4, 0.5), abs=1e-12)
        assert found.cost == pytest.approx(cost_of_labels(P, mu, found.labels, 4, 0.5), abs=1e-12)
        # The serial kernel makes no move that gains less than 1e-13 bits; a slightly larger gain may be rounding.
        swept, traces = descend(make_problem(chain), found.labels, 4, [MIDDLE], np.arange(40), max_sweeps=1)
        if not np.array_equal(swept[0], found.labels):
            assert traces[0][0] - traces[0][-1] < 1e-12


def test_a_settled_map_stays():
    chain, _ = block_chain((10, 10, 20), eps=0.3, random_state=2)
    first = refine(chain, np.arange(40) % 3)
    again = refine(chain, first.labels)
    assert again.moves == ()
    assert again.settled
    assert np.array_equal(again.labels, first.labels)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_blocks_do_not_change_the_answer(seed, rng):
    chain, start = sparse_chain(200, seed), random_labels(200, 6, rng)
    one = refine(chain, start, n_blocks=1, random_state=seed)
    for n_blocks in (2, 3, 7, 200):
        other = refine(chain, start, n_blocks=n_blocks, random_state=seed)
        assert np.array_equal(other.labels, one.labels)
        assert other.moves == one.moves
        assert other.trace == pytest.approx(one.trace, abs=1e-13)


def test_the_seed_matters_and_nothing_else(rng):
    chain, start = sparse_chain(300, 0), random_labels(300, 5, rng)
    answers = {refine(chain, start, random_state=seed).labels.tobytes() for seed in range(4)}
    assert len(answers) > 1
    assert refine(chain, start).labels.tobytes() == refine(chain, start).labels.tobytes()


def test_no_group_is_emptied():
    # Every state of groups 2 and 3 has an improving single move.
    chain, planted = block_chain((20, 20), eps=0.01, random_state=0)
    start = planted.copy()
    start[[0, 1, 20]] = 2
    start[[2, 21, 22]] = 3
    found = refine(chain, start)
    assert (np.bincount(found.labels, minlength=4) >= 1).all()
    assert found.settled


@pytest.mark.parametrize("k", [1, 6])
def test_one_group_and_groups_of_one_have_nothing_to_move(k):
    found = refine(np.full((6, 6), 1 / 6), np.arange(6) % k)
    assert found.settled
    assert found.moves == ()
    assert found.cost == pytest.approx(0.0, abs=1e-12)


def test_vanishing_weights():
    tiny = np.full((6, 6), 1e-300)
    np.fill_diagonal(tiny, 1.0)
    tiny[np.arange(6), (np.arange(6) + 1) % 6] = 1e-150
    found = refine(sparse.csr_array(tiny), [0, 0, 1, 1, 2, 2])
    assert found.settled
    assert np.isfinite(found.trace).all()


def test_steps_are_counted_and_limited(rng):
    chain, start = sparse_chain(200, 1), random_labels(200, 6, rng)
    seen = []
    found = refine(chain, start, max_steps=2, progress=lambda *told: seen.append(told))
    assert not found.settled
    assert len(found.moves) == 2
    assert seen == [(1, 2, found.trace[1]), (2, 2, found.trace[2])]


def test_ctrl_c_returns_the_labels_of_the_last_step(rng):
    chain, start = sparse_chain(200, 1), random_labels(200, 6, rng)

    def impatient(done, total, cost):
        if done == 2:
            raise KeyboardInterrupt

    found = refine(chain, start, progress=impatient)
    assert found.interrupted
    assert not found.settled
    assert np.array_equal(found.labels, refine(chain, start, max_steps=2).labels)


class Counted(engines.SerialEngine):
    """An engine that counts the bytes of stored values and of results."""

    def __init__(self):
        self.given, self.given_back = [], []

    def keep(self, value):
        self.given.append(len(Payload(value)))
        return value

    def results(self, kept):
        self.given_back.append(sum(len(Payload(each)) for each in kept))
        return super().results(kept)


def test_transferred_bytes_depend_on_moves_and_groups_not_on_states(monkeypatch):
    counted = Counted()
    monkeypatch.setattr("klump.distributed.refinement.SerialEngine", lambda: counted)
    n, k = 20_000, 4
    chain = sparse_chain(n, 0)
    settled = refine(chain, np.arange(n) * k // n).labels
    disturbed = settled.copy()
    disturbed[:5] = (disturbed[:5] + 1) % k
    counted.given, counted.given_back = [], []
    found = refine(chain, disturbed, n_blocks=2)
    assert 0 < sum(found.moves) < 200
    assert len(counted.given) > 5
    # The two blocks and all labels first; then less than one byte per state.
    assert max(counted.given[:3]) > 4 * n
    assert max(counted.given[3:]) < n / 4
    assert max(counted.given_back) < n / 4


def test_a_folder_gives_the_same_answer_as_a_chain(tmp_path, rng):
    chain, start = sparse_chain(150, 3), random_labels(150, 5, rng)
    folder = write_folder(chain, tmp_path / "ring.mapped")
    here, there = refine(chain, start, n_blocks=3), refine(folder, start, n_blocks=3)
    assert np.array_equal(there.labels, here.labels)
    assert there.trace == here.trace


def test_columns_are_found_in_chunks(tmp_path, rng, monkeypatch):
    chain, start = sparse_chain(150, 3), random_labels(150, 5, rng)
    whole = refine(chain, start)
    monkeypatch.setattr("klump.distributed.blocks._CHUNK", 7)
    assert refine(chain, start).trace == whole.trace


@pytest.mark.parametrize("seed", [0, 1])
def test_a_cluster_changes_nothing(client, tmp_path, rng, seed):
    chain, start = sparse_chain(150, seed), random_labels(150, 5, rng)
    folder = write_folder(chain, tmp_path / "ring.mapped")
    ask = {"n_blocks": 5, "random_state": seed}
    here = refine(chain, start, **ask)
    for given in (chain, folder):
        there = refine(given, start, **ask, client=client)
        assert np.array_equal(there.labels, here.labels)
        assert there.trace == here.trace


@pytest.mark.parametrize(("name", "at_call"), [("propose_moves", 5), ("sum_changes", 4), ("apply_moves", 9)])
def test_a_killed_worker_loses_nothing(client, tmp_path, rng, name, at_call):
    chain, start = sparse_chain(150, 5), random_labels(150, 5, rng)
    folder = write_folder(chain, tmp_path / "ring.mapped")
    expected = refine(chain, start, n_blocks=4)
    assert len(expected.moves) > 5
    mark = tmp_path / "dead"
    client.run(arm, "klump.distributed.steps", name, mark, at_call)
    try:
        found = refine(folder if at_call % 2 else chain, start, n_blocks=4, client=client)
    finally:
        client.run(disarm, "klump.distributed.steps", name, on_error="ignore")
    assert mark.exists(), "no worker has died"
    assert np.array_equal(found.labels, expected.labels)
    assert found.trace == expected.trace


def test_labels_are_broadcast_again(client, rng, monkeypatch):
    monkeypatch.setattr("klump.distributed.refinement._MAX_UPDATES", 2)
    chain, start = sparse_chain(150, 5), random_labels(150, 5, rng)
    assert refine(chain, start, client=client).trace == refine(chain, start).trace


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"beta": 0.8}, "beta=0.8 is not supported"),
        ({"beta": 2}, "beta=2"),
        ({"labels": [0, 1]}, "2 entries"),
        ({"labels": [[0.5, 0.5]] * 3}, "deterministic"),
        ({"n_blocks": 0}, "n_blocks=0"),
        ({"max_steps": 1.5}, "max_steps=1.5"),
        ({"random_state": -1}, "random_state=-1"),
        ({"client": "here"}, "client='here'"),
    ],
)
def test_bad_questions_get_one_clear_error(arguments, message):
    P = [[0.5, 0.3, 0.2], [0.2, 0.6, 0.2], [0.1, 0.1, 0.8]]
    with pytest.raises(klump.errors.InvalidArgumentError, match=message) as caught:
        refine(P, **{"labels": [0, 1, 1], **arguments})
    assert "\n" not in str(caught.value)


def test_folders_that_lack_something(tmp_path):
    with pytest.raises(klump.errors.FileFormatError, match="no chain can be memory-mapped"):
        refine(tmp_path, [0, 1])
    folder = write_folder(sparse_chain(10, 0), tmp_path / "ring.mapped")
    (folder / "stationary.npy").unlink()
    with pytest.raises(klump.errors.FileFormatError, match=r"stationary\.npy is missing"):
        refine(folder, [0, 1] * 5)


def test_dask_is_not_imported_without_a_client(monkeypatch):
    monkeypatch.setitem(sys.modules, "dask", None)
    monkeypatch.setitem(sys.modules, "distributed", None)
    found = klump.distributed.refine([[0.5, 0.5], [0.4, 0.6]], [0, 1])
    assert isinstance(found, Refinement)
