"""The model of a sweep: prices are found again, counts are right, and the queue leads to a local optimum too."""

import os
import subprocess
import sys

import pytest
from benchmarks import contest, model, settling
from benchmarks.counting import TERMS
from benchmarks.model import Prices, Sweep

from klump.search.descent import TOLERANCE
from klump.search.kernels import descent as kernels
from klump.search.objective import MIDDLE
from klump.search.problem import make_problem, make_table, make_work
from klump.sources.random_chains import sparse_block_chain

COUNTS = """
import numpy as np
from benchmarks.counting import counts
from klump.search.descent import TOLERANCE
from klump.search.kernels import descent as kernels
from klump.search.objective import Objective
from klump.search.problem import make_problem, make_table, make_work
from klump.sources.random_chains import sparse_block_chain

n, k = 60, 4
chain, planted = sparse_block_chain(n, k, degree=4, random_state=0)
problem, order = make_problem(chain), np.arange(n)
labels = np.random.default_rng(0).integers(k, size=n)
into = np.zeros((n, k))
for i, x in zip(*chain.transition_matrix.nonzero()):
    into[i, labels[x]] += 1
for beta in (0.5, 1.0, 0.3):
    table, plain = (make_table(problem, labels, k, lists=beta != 0.5) for _ in range(2))
    kernels.build(problem, table), kernels.build(problem, plain)
    weights = Objective(beta).weights
    found = counts(problem, table, weights, order)
    moves, _ = kernels.sweep(problem, plain, make_work(k), weights, order, TOLERANCE, False, False)
    assert (table.labels == plain.labels).all() and moves > 0
    assert found["states"] == n
    assert found["ends"] == {0.5: 2, 1.0: 0, 0.3: 1}[beta] * chain.n_transitions
    assert (found["blocks"] > 0) == (beta != 0.5)
    assert (found["links"] > 0) == (found["cells"] > 0) == (beta != 1.0)
    assert found["prices"] >= moves
    # Nobody moves any more, or hardly anybody: what is looked at follows from the labels.
    while kernels.sweep(problem, plain, make_work(k), weights, order, TOLERANCE, False, False)[0]:
        pass
    found = counts(problem, plain, weights, order)
    assert found["moved"] == found["moved ends"] == 0
    if beta != 0.5:
        matrix = chain.transition_matrix.toarray() > 0
        groups = [len(set(plain.labels[row])) for row in matrix]
        assert found["blocks"] == sum(-(-groups[i] // 4) for i, _ in zip(*matrix.nonzero()))
"""


def made(seconds, **done):
    return Sweep(1, 1, 1, "noisy", 0.5, "first", {**dict.fromkeys(TERMS, 0), **done}, 0.0, seconds)


def test_prices_are_found_again(rng):
    true = Prices({"states": 1e-7, "links": 3e-9, "moved": 0.0})
    sweeps = []
    for _ in range(8):
        done = dict(zip(true.seconds, rng.integers(1, 1000, size=3).tolist(), strict=True))
        waits = 1e-6 * rng.random()
        seconds = waits + sum(done[term] * price for term, price in true.seconds.items())
        sweeps.append(Sweep(1, 1, 1, "noisy", 0.5, "first", done, waits, seconds))
    found = model.fitted(sweeps, tuple(true.seconds))
    assert found.seconds == pytest.approx(true.seconds, rel=1e-9, abs=1e-16)
    assert [found.of(sweep) for sweep in sweeps] == pytest.approx([sweep.seconds for sweep in sweeps])


def test_no_price_is_negative():
    sweeps = [made(2.0, states=1, links=0), made(1.0, states=1, links=1)]
    assert min(model.fitted(sweeps, ("states", "links")).seconds.values()) == 0


def test_errors_are_times_too_long_or_too_short():
    prices = Prices({"states": 1.0})
    median, largest = model.verdicts(
        "made-up", [made(1.0, states=1), made(2.0, states=1), made(1.0, states=3)], prices
    )
    assert (median.measured, largest.measured) == (2, 3)
    assert (median.kept, largest.kept) == (False, False)


def test_every_term_has_a_price():
    assert set(model.SPARSE_TERMS) | set(model.DENSE_TERMS) == set(TERMS)


def test_counts_are_those_of_the_sweep_itself():
    """As plain Python: the counting kernel takes a minute to compile, and has a file that no cache knows."""
    environment = os.environ | {"NUMBA_DISABLE_JIT": "1", "PYTHONPATH": os.pathsep.join(("src", "."))}
    ended = subprocess.run(
        [sys.executable, "-c", COUNTS], cwd=contest.ROOT, env=environment, capture_output=True, text=True
    )
    assert ended.returncode == 0, ended.stderr


@pytest.mark.parametrize("queue", [True, False])
def test_settling_ends_where_no_state_moves(queue):
    chain, planted = sparse_block_chain(600, 4, random_state=0)
    problem = make_problem(chain)
    labels = planted.copy()
    labels[:60] = (labels[:60] + 1) % 4
    found = settling.settled(problem, labels, 4, queue=queue)
    table = make_table(problem, planted, 4, lists=False)
    kernels.build(problem, table)
    while kernels.sweep(
        problem, table, make_work(4), MIDDLE.weights, table.everyone, TOLERANCE, False, False
    )[0]:
        pass
    best = settling.settled(problem, table.labels, 4, queue=queue)
    assert best.visits == 600
    assert found.cost == pytest.approx(best.cost, abs=1e-9)
    assert found.visits % 600 == 0 or queue
    assert found.visits >= 1200


def test_the_queue_saves_visits_where_it_takes_many_sweeps(rng):
    chain, _ = sparse_block_chain(2000, 4, kind="noisy", random_state=0)
    problem, labels = make_problem(chain), rng.integers(4, size=2000)
    with_queue, without = (settling.settled(problem, labels, 4, queue=queue) for queue in (True, False))
    assert without.visits >= 10 * 2000
    assert with_queue.visits < 0.8 * without.visits
