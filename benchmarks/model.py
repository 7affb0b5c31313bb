"""What a sweep costs: counts times prices, fitted on chains of one size and foretold for others.

The counts come from ``benchmarks.counting``; the prices are fitted to sweeps over chains of ``FITTED`` sizes.
``docs/benchmarks.md`` explains the terms. Seconds are those of the thread, the least of several runs, so that what
else runs on the machine disturbs little.
"""

from __future__ import annotations

import statistics
import time
from dataclasses import dataclass

import numpy as np
from numba import njit
from scipy.optimize import nnls

from benchmarks.counting import TERMS, counts
from benchmarks.measure import Verdict
from klump.search.descent import TOLERANCE, random_labels
from klump.search.kernels import descent as kernels
from klump.search.kernels.tables import Problem, Table
from klump.search.objective import Objective
from klump.search.problem import make_problem, make_table, make_work
from klump.sources.random_chains import block_chain, sparse_block_chain

BETAS = (0.5, 1.0, 0.3)
STAGES = ("settled", "first")
KINDS = ("metastable", "noisy")
# States, groups and successors of a state.
FITTED = [(30_000, 20, 10), (30_000, 20, 30), (30_000, 100, 10), (30_000, 160, 10)]
FORETOLD = [
    *((n, k, 10) for n in (10_000, 100_000) for k in (10, 50, 200)),
    (60_000, 80, 15),
    (100_000, 50, 20),
    (300_000, 50, 10),
    (10_000, 1000, 10),
]
DENSE = "dense"
DENSE_FITTED = [(500, k, 500) for k in (5, 20)]
DENSE_FORETOLD = [(1000, 10, 1000), (1000, 40, 1000), (2000, 10, 2000)]
SPARSE_TERMS = tuple(term for term in TERMS if "masses" not in term)
DENSE_TERMS = ("states", "close cells", "masses", "priced masses", "moved masses", "renewed masses")
# In bytes: what fits into the fastest cache, and from there on.
MEMORY = [2**power for power in range(14, 28)]
ACCESSES = 1_000_000
# Seconds for the runs of one sweep, and how many are enough even if they took less.
ENOUGH, RUNS = 1.0, 30
# Foretold over measured or the reverse: for the median of the sweeps, and for each.
MEDIAN_PROMISE, WORST_PROMISE = 1.25, 2.0


@dataclass(frozen=True)
class Sweep:
    """One sweep: over what, what it did, and how long it took."""

    n_states: int
    n_groups: int
    degree: int
    kind: str
    beta: float
    stage: str
    done: dict[str, int]
    waits: float
    seconds: float


@dataclass(frozen=True)
class Prices:
    """Seconds for one of each term; waiting for memory is added as measured."""

    seconds: dict[str, float]

    def of(self, sweep: Sweep) -> float:
        """What a sweep should take."""
        return sweep.waits + sum(sweep.done[term] * price for term, price in self.seconds.items())


def fitted(sweeps: list[Sweep], terms: tuple[str, ...]) -> Prices:
    """Prices, none of them negative, whose relative errors are least in squares."""
    work = np.array([[sweep.done[term] / sweep.seconds for term in terms] for sweep in sweeps])
    scale = np.maximum(work.max(axis=0), 1e-300)
    found, _ = nnls(work / scale, np.array([1 - sweep.waits / sweep.seconds for sweep in sweeps]))
    return Prices(dict(zip(terms, (found / scale).tolist(), strict=True)))


def off(foretold: float, measured: float) -> float:
    """How many times too long or too short."""
    return max(foretold / measured, measured / foretold)


@njit(cache=True)
def gathered(values, places):
    """Sum of values that lie anywhere: the yardstick of memory."""
    total = 0.0
    for place in places:
        total += values[place]
    return total


def least_seconds(run) -> float:
    """Least time of the thread in several runs; ``run`` returns what one took."""
    times: list[float] = []
    while len(times) < RUNS and sum(times) < ENOUGH:
        times.append(run())
    return min(times)


def thread_seconds(function) -> float:
    start = time.thread_time()
    function()
    return time.thread_time() - start


def access_seconds() -> np.ndarray:
    """What a random access takes beyond one to the fastest cache, for arrays as large as each of ``MEMORY``."""
    rng, found = np.random.default_rng(0), []
    for size in MEMORY:
        values = np.ones(size // 8)
        places = rng.integers(values.size, size=ACCESSES)
        gathered(values, places)
        found.append(min(thread_seconds(lambda: gathered(values, places)) for _ in range(5)) / ACCESSES)  # noqa: B023
    return np.maximum.accumulate(np.array(found) - found[0])


def log_seconds() -> float:
    """One vectorised logarithm, as ``sweeps`` measures it."""
    values = np.exp(np.random.default_rng(0).uniform(-20, 0, 10_000))
    out = np.empty_like(values)
    return min(thread_seconds(lambda: kernels.f_array(values, out)) for _ in range(200)) / values.size


def waits(problem: Problem, table: Table, done: dict[str, int], access: np.ndarray) -> float:
    """Seconds that random accesses to labels, lists and B take."""
    lists, flow = table.lists, table.flow
    arrays = {
        "labels": (table.labels.nbytes, done["ends"]),
        # A block is a line. Where a group is priced or a list changes, it is there already.
        "lists": (lists.bounds.nbytes + lists.mass.nbytes, done["blocks"]),
        "flow": (flow.mass.nbytes + flow.log.nbytes, done["pairs"] + done["priced"] + done["moved"]),
    }
    return sum(
        number * float(np.interp(np.log2(max(size, 1)), np.log2(MEMORY), access))
        for size, number in arrays.values()
    )


def measured(problem, labels, k, beta, stage, access) -> tuple[dict[str, int], float, float]:
    """What a sweep does, how long it waits for memory, and its seconds."""
    order, work, weights = np.arange(labels.size), make_work(k), Objective(beta).weights

    def table():
        made = make_table(problem, labels, k, lists=beta != 0.5)
        kernels.build(problem, made)
        if stage == "settled":
            sweep(made)
        return made

    def sweep(made):
        kernels.sweep(problem, made, work, weights, order, TOLERANCE, False, False)

    used = table()
    done = counts(problem, used, weights, order)
    if stage == "settled":
        used = table()
        seconds = least_seconds(lambda: thread_seconds(lambda: sweep(used)))
    else:
        seconds = least_seconds(lambda: _first(table(), sweep))
    return done, waits(problem, used, done, access), seconds


def _first(table, sweep):
    return thread_seconds(lambda: sweep(table))


def chain_of(kind, n, k, degree):
    if kind == DENSE:
        return block_chain((n // k,) * k, alpha=0.5, eps=0.4, random_state=0)
    return sparse_block_chain(n, k, degree, kind, random_state=0)


def sweeps_over(sizes, kinds, access) -> list[Sweep]:
    """All sweeps over chains of these sizes and kinds."""
    found = []
    for n, k, degree in sizes:
        for kind in kinds:
            chain, planted = chain_of(kind, n, k, degree)
            problem = make_problem(chain)
            drawn = random_labels(n, k, np.random.default_rng(1), allow_empty=False)
            for stage in STAGES:
                labels = planted if stage == "settled" else drawn
                for beta in BETAS:
                    answer = measured(problem, labels, k, beta, stage, access)
                    found.append(Sweep(n, k, degree, kind, beta, stage, *answer))
    return found


def table_of(sweeps: list[Sweep], prices: Prices) -> str:
    """Measured beside foretold."""
    lines = [
        f"{'chain':10} {'states':>8} {'degree':>6} {'groups':>6} {'beta':>4} {'sweep':7} "
        f"{'measured':>10} {'foretold':>10} {'ratio':>5} {'priced':>6}"
    ]
    for sweep in sweeps:
        foretold = prices.of(sweep)
        lines.append(
            f"{sweep.kind:10} {sweep.n_states:8,} {sweep.degree:6} {sweep.n_groups:6} {sweep.beta:4g} {sweep.stage:7} "
            f"{sweep.seconds * 1e3:7.1f} ms {foretold * 1e3:7.1f} ms {foretold / sweep.seconds:5.2f} "
            f"{sweep.done['prices'] / sweep.n_states:6.1f}"
        )
    return "\n".join(lines)


def prices_of(prices: Prices, log: float) -> str:
    return "\n".join(
        f"{price * 1e9:7.2f} ns {price / log:6.1f} logarithms: {TERMS[term]}"
        for term, price in prices.seconds.items()
    )


def verdicts(name, sweeps, prices) -> list[Verdict]:
    errors = [off(prices.of(sweep), sweep.seconds) for sweep in sweeps]
    worst = sweeps[int(np.argmax(errors))]
    where = (
        f"{worst.kind}, {worst.n_states:,} states, k = {worst.n_groups}, beta = {worst.beta:g}, {worst.stage}"
    )
    return [
        Verdict(f"model of a {name} sweep, median error", statistics.median(errors), MEDIAN_PROMISE, True),
        Verdict(f"model of a {name} sweep, largest error", max(errors), WORST_PROMISE, True, where),
    ]


def run():
    log, access = log_seconds(), access_seconds()
    print(
        f"a logarithm {log * 1e9:.2f} ns; a random access among "
        + ", ".join(
            f"{size >> 10} KiB {seconds * 1e9:.1f} ns"
            for size, seconds in zip(MEMORY[2::4], access[2::4], strict=True)
        )
    )
    found = []
    for name, kinds, terms, known, asked in (
        ("sparse", KINDS, SPARSE_TERMS, FITTED, FORETOLD),
        ("dense", (DENSE,), DENSE_TERMS, DENSE_FITTED, DENSE_FORETOLD),
    ):
        prices = fitted(sweeps_over(known, kinds, access), terms)
        sweeps = sweeps_over(asked, kinds, access)
        print(f"{prices_of(prices, log)}\n{table_of(sweeps, prices)}")
        found += verdicts(name, sweeps, prices)
    return found
