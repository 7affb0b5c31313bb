"""What the queue saves when a search settles: visits and seconds, beside sweeps over all states.

The queue holds the states that have a neighbour that moved; in the end a sweep over all states proves that none moves.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from benchmarks.measure import Verdict
from klump.search.descent import TOLERANCE, cost_from_sums
from klump.search.kernels import descent as kernels
from klump.search.method import Task
from klump.search.multilevel import multilevel
from klump.search.objective import MIDDLE
from klump.search.problem import make_problem, make_table, make_work
from klump.sources.random_chains import sparse_block_chain

KINDS = ("metastable", "noisy")
# Shares of wrong labels to begin with: what a split and a merger leave, a poor start, and no start at all.
WRONG = (0.05, 0.3, 1.0)
# Visits with the queue over those without it: where there is little to settle it saves nothing, and may cost a sweep.
PROMISE = 1.25


@dataclass
class Settled:
    """How a search went: states that were looked at, seconds of its sweeps, and the cost up to a constant."""

    visits: int = 0
    seconds: float = 0.0
    cost: float = 0.0


def settled(problem, labels, k, *, queue: bool) -> Settled:
    """Sweep until a sweep over all states proves that none moves; with a queue as the multilevel search does."""
    table, work, found = make_table(problem, labels, k, keep_a=False), make_work(k), Settled()
    kernels.build(problem, table)
    everyone = order = np.arange(labels.size)
    # Compile, or load, before the clock runs.
    kernels.sweep(problem, table, work, MIDDLE.weights, order[:0], TOLERANCE, False)
    while True:
        table.waiting[:] = 0
        found.visits += order.size
        begin = time.thread_time()
        moves, _ = kernels.sweep(problem, table, work, MIDDLE.weights, order, TOLERANCE, False)
        found.seconds += time.thread_time() - begin
        if moves == 0 and order.size == labels.size:
            break
        order = np.flatnonzero(table.waiting) if queue and moves else everyone
    found.cost = cost_from_sums(kernels.build(problem, table), MIDDLE)
    return found


def compared(kind, n=100_000, k=50) -> list[Verdict]:
    chain, planted = sparse_block_chain(n, k, kind=kind, random_state=0)
    problem, rng, verdicts = make_problem(chain), np.random.default_rng(0), []
    for wrong in WRONG:
        labels = np.where(rng.random(n) < wrong, rng.integers(k, size=n), planted).astype(np.int32)
        with_queue, without = (settled(problem, labels, k, queue=queue) for queue in (True, False))
        verdicts.append(
            Verdict(
                f"visits with the queue over those of full sweeps, {kind}, {wrong:.0%} wrong",
                with_queue.visits / without.visits,
                PROMISE,
                True,
                f"{with_queue.visits / n:.1f} visits a state beside {without.visits / n:.1f}, "
                f"{with_queue.seconds:.2f} s beside {without.seconds:.2f} s, "
                f"cost {with_queue.cost - without.cost:+.1e} bits",
            )
        )
    print(count_visits(kind, chain, k))
    return verdicts


def count_visits(kind, chain, k) -> str:
    """Visits in all sweeps of a multilevel search: a figure that nothing is promised about."""
    sizes, sweep = [], kernels.sweep

    def counted(*arguments):
        sizes.append(arguments[4].size)
        return sweep(*arguments)

    kernels.sweep = counted
    try:
        multilevel(Task(chain, k, MIDDLE.beta))
    finally:
        kernels.sweep = sweep
    n = chain.n_states
    return f"{kind}, a whole search: {sum(sizes) / n:.1f} visits a state in {len(sizes)} sweeps"


def run():
    return [verdict for kind in KINDS for verdict in compared(kind)]
