"""One measurement in a process of its own, started by ``benchmarks.contest``.

Run as ``python -m benchmarks.trial folder contestant groups beta seed limit answer``.

What the contestant imports and compiles is done before the clock starts. The answer is one line of JSON in the file
that is named last; a contestant that is killed, by the clock or by its own mistake, leaves none.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import sys
import time
import warnings
from pathlib import Path

import numpy as np
from scipy import sparse

import klump
from benchmarks import workloads
from benchmarks.peers import CONTESTANTS, Contestant
from klump.aggregation.agreement import adjusted_rand_index
from klump.aggregation.costs import score
from klump.chain import MarkovChain
from klump.search.method import Task
from klump.sources.random_chains import sparse_block_chain

REHEARSAL_STATES = 400


def rehearse(contestant: Contestant, *, as_sparse: bool) -> None:
    """Answer a small question, so that imports and compilation are not measured."""
    chain, _ = sparse_block_chain(REHEARSAL_STATES, 4, random_state=0)
    if not as_sparse:
        chain = MarkovChain(chain.transition_matrix.toarray())
    try:
        if contestant.own:
            # The search that large chains get is another one than that of small chains.
            compile_large()
        contestant.find(Task(chain, 4, 0.5))
    except Exception:  # the true question shows what is wrong
        return


def compile_large() -> None:
    from klump.search.multilevel import multilevel

    chain, _ = sparse_block_chain(REHEARSAL_STATES, 4, random_state=0)
    multilevel(Task(chain, 4, 0.5))


def limit_memory() -> None:
    """Fail before the machine does."""
    physical = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    resource.setrlimit(resource.RLIMIT_AS, (int(0.8 * physical),) * 2)


def forget_peak() -> None:
    """Start to measure the peak anew, so that neither the compiler nor what a peer gets for nothing counts."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:  # then the peak is that of the whole process
        return


def peak_mebibytes() -> float:
    """Peak memory; ``ru_maxrss`` is no less than that of the process that started this one, so it comes second."""
    try:
        status = Path("/proc/self/status").read_text()
        return next(int(line.split()[1]) / 1024 for line in status.splitlines() if line.startswith("VmHWM"))
    except (OSError, StopIteration):
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def watch_compiler():
    """Measure what the rehearsal left to compile."""
    from numba.core import event

    listener = event.TimingListener()
    event.register("numba:compile", listener)
    return listener


def measure(contestant: Contestant, matrix, n_groups: int, beta: float, seed: int, limit: float):
    """Labels, seconds and peak memory; the alarm kills this process, as no handler could interrupt compiled code."""
    if not contestant.own:
        chain = MarkovChain(matrix)
        _ = chain.joint
    forget_peak()
    signal.setitimer(signal.ITIMER_REAL, limit)
    compiling = watch_compiler() if contestant.own else None
    start = time.perf_counter()
    if contestant.own:
        chain = MarkovChain(matrix)
    labels = contestant.find(Task(chain, n_groups, beta, seed=seed))
    seconds = time.perf_counter() - start
    if compiling is not None and compiling.done:
        seconds -= compiling.duration
    signal.setitimer(signal.ITIMER_REAL, 0)
    return chain, np.asarray(labels), seconds, peak_mebibytes()


def quality(chain, labels, beta, planted):
    """Cost in bits, agreement with the planted groups, number of groups."""
    labels = np.unique(labels, return_inverse=True)[1]
    return {
        "cost": score(chain, labels).at(beta),
        "ari": None if planted is None else adjusted_rand_index(labels, planted),
        "groups": int(labels.max()) + 1,
    }


def main(folder, name, n_groups, beta, seed, limit, answer):
    warnings.simplefilter("ignore")
    limit_memory()
    matrix, planted = workloads.read(Path(folder))
    if name == "planted":
        found = {"seconds": None, "peak": None, **quality(MarkovChain(matrix), planted, float(beta), planted)}
    else:
        contestant = CONTESTANTS[name]
        rehearse(contestant, as_sparse=sparse.issparse(matrix))
        try:
            chain, labels, seconds, peak = measure(
                contestant, matrix, int(n_groups), float(beta), int(seed), float(limit)
            )
            found = {"seconds": seconds, "peak": peak, **quality(chain, labels, float(beta), planted)}
        except Exception as reason:
            text = " ".join(str(reason).split())
            found = {"error": f"{type(reason).__name__}: {text}"}
    Path(answer).write_text(json.dumps(found | {"klump": klump.__version__}))


if __name__ == "__main__":
    main(*sys.argv[1:])
