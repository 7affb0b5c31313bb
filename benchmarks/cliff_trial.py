"""One measurement of ``benchmarks.cliffs`` in a process of its own.

Run as ``python -m benchmarks.cliff_trial kind states groups beta method seed limit answer``.

Imports, compilation and loading of compiled code come before the clock starts, which counts CPU seconds: with one
thread, those are the seconds of one core, whatever else the machine does. The answer is one line of JSON in the file
that is named last; a process that exceeds the limit is killed by SIGPROF and leaves none.
"""

from __future__ import annotations

import json
import signal
import sys
import time
import warnings
from pathlib import Path

import numpy as np
from scipy import sparse

import klump
from benchmarks.cliffs import PLANTED, Row
from klump.compilation import compilations
from klump.sources.random_chains import block_chain, sparse_block_chain

N_INIT = 20
# Large enough for the multilevel search to be part of "auto"; and for the stationary distribution of large chains.
REHEARSAL_STATES = 320
MANY_STATES = 2_100
# CPU seconds that are measured well: some systems count them in hundredths. Runs at most.
MEASURABLE = 0.5
MAX_RUNS = 50


def rehearse(row: Row, method: str, *, as_sparse: bool) -> None:
    """Answer a small question of the same kind, so that compilation, or loading, is not measured."""
    sizes = [REHEARSAL_STATES, *([MANY_STATES] if row.n_states >= MANY_STATES else [])]
    for n in sizes:
        chain = sparse_block_chain(n, 4, random_state=0)[0] if as_sparse else block_chain((n // 4,) * 4)[0]
        _ = chain.stationary_distribution
        if n == REHEARSAL_STATES:
            klump.aggregate(chain, 4, row.beta, method, n_init=2, n_jobs=1)


def compiled_seconds() -> float:
    return sum(used.seconds or 0.0 for used in compilations())


def ask(row: Row, matrix, method: str, seed: int) -> tuple[klump.MarkovChain, klump.Aggregation, float]:
    """The chain, the answer, and the CPU seconds that the stationary distribution, and the checks before, took."""
    compiled, begin = compiled_seconds(), time.process_time()
    chain = klump.MarkovChain(matrix)
    _ = chain.stationary_distribution
    stationary = time.process_time() - begin - (compiled_seconds() - compiled)
    answer = klump.aggregate(
        chain, row.n_groups, row.beta, method, n_init=N_INIT, random_state=seed, n_jobs=1
    )
    return chain, answer, stationary


def measure(row: Row, matrix, method: str, seed: int, limit: float) -> dict:
    """Mean of as many runs as the clock needs, mostly one; all give the same answer."""
    # No handler could interrupt compiled code: the signal ends the process.
    signal.setitimer(signal.ITIMER_PROF, limit)
    compiled, wall, begin = compiled_seconds(), time.perf_counter(), time.process_time()
    stationary, seconds = [], 0.0
    while not stationary or (seconds < MEASURABLE and len(stationary) < MAX_RUNS):
        chain, answer, of_stationary = ask(row, matrix, method, seed)
        stationary.append(of_stationary)
        seconds = time.process_time() - begin
    wall = time.perf_counter() - wall
    signal.setitimer(signal.ITIMER_PROF, 0)
    compiled, runs = compiled_seconds() - compiled, len(stationary)
    return {
        "seconds": (seconds - compiled) / runs,
        "stationary": sum(stationary) / runs,
        "wall": wall / runs,
        "runs": runs,
        "compiled": compiled,
        "cost": klump.score(chain, answer.labels).at(row.beta),
    }


def main(kind, n_states, n_groups, beta, method, seed, limit, answer) -> None:
    warnings.simplefilter("ignore")
    row = Row(kind, int(n_states), int(n_groups), float(beta))
    matrix, planted = row.make()
    as_sparse = sparse.issparse(matrix)
    if method == PLANTED:
        found = {} if planted is None else {"cost": klump.score(matrix, planted).at(row.beta)}
    else:
        rehearse(row, method, as_sparse=as_sparse)
        found = measure(row, matrix, method, int(seed), float(limit))
    found["transitions"] = int(np.count_nonzero(matrix.data if as_sparse else matrix))
    Path(answer).write_text(json.dumps(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
