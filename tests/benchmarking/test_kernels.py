"""Benchmarks of single kernels, on chains so small that only their answers matter."""

import numpy as np
import pytest
from benchmarks import settling, sweeps

from klump.search.descent import random_labels
from klump.search.problem import make_problem
from klump.sources.random_chains import block_chain, sparse_block_chain


@pytest.mark.parametrize("beta", [0.3, 0.5, 1.0])
@pytest.mark.parametrize("dense", [False, True])
def test_sweeps_lower_the_cost(beta, dense):
    chain, _ = block_chain((20, 20, 20), eps=0.2) if dense else sparse_block_chain(60, 3, 5)
    labels = random_labels(60, 3, np.random.default_rng(0), allow_empty=False)
    sweeper = sweeps.Sweeper(make_problem(chain), labels, 3, beta)
    before = sweeper.search.cost
    for _ in range(3):
        sweeper()
    sweeper.search.build()
    assert sweeper.search.cost < before - 1e-3


def test_a_search_settles_with_and_without_a_queue():
    chain, planted = sparse_block_chain(200, 4, kind="noisy", random_state=0)
    wrong = random_labels(200, 4, np.random.default_rng(0), allow_empty=False)
    labels = np.where(np.arange(200) % 10 == 0, wrong, planted).astype(np.int32)
    problem = make_problem(chain)
    with_queue, without = (settling.settled(problem, labels, 4, queue=queue) for queue in (True, False))
    assert with_queue.cost == pytest.approx(without.cost, abs=1e-2)
    # Two sweeps over all states: one that moves states, one that moves none.
    assert without.visits >= 400 and without.visits % 200 == 0
    # In between, the queue holds some of the states only.
    assert with_queue.visits > 400 and with_queue.visits % 200 != 0


def test_visits_of_a_whole_search_are_counted():
    chain, _ = sparse_block_chain(400, 3, random_state=0)
    found = settling.count_visits("metastable", chain, 3)
    assert found.startswith("metastable, a whole search: ") and found.endswith(" sweeps")
    assert float(found.split()[4]) >= 2
