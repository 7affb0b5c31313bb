"""Seconds and bytes of a step in blocks, on a cluster of two processes of this machine.

``python -m benchmarks.many_machines`` prints the figures of ``docs/many_machines.md``, and those of a serial sweep;
``python -m benchmarks many-machines`` does so too, with the defaults. It promises nothing.
"""

from __future__ import annotations

import argparse
import logging
import time
from importlib.util import find_spec
from typing import Any

import numpy as np

from benchmarks.measure import Verdict
from klump import MarkovChain
from klump.distributed import refine
from klump.distributed import refinement as within
from klump.distributed.engine import DaskEngine
from klump.parallel.cluster import Payload
from klump.search.descent import descend
from klump.search.objective import MIDDLE
from klump.search.problem import make_problem
from klump.sources.random_chains import sparse_block_chain


class Counting(DaskEngine):
    """A cluster that counts the bytes that it is sent and sends back."""

    sent, received = 0, 0

    def keep(self, value: Any) -> Any:
        Counting.sent += len(Payload(value))
        return super().keep(value)

    def results(self, kept: Any) -> list[Any]:
        found = super().results(kept)
        Counting.received += sum(len(Payload(each)) for each in found)
        return found


def seconds_of_steps(chain: MarkovChain, labels: Any, steps: int, **options: Any) -> tuple[float, float]:
    """Seconds until the first step is done, blocks and all, and the median of the others."""
    times = [time.perf_counter()]
    refine(chain, labels, max_steps=steps, progress=lambda *_: times.append(time.perf_counter()), **options)
    first, *others = np.diff(times).tolist()
    return first, float(np.median(others)) if others else first


def bytes_of_steps(chain: MarkovChain, labels: Any, steps: int, **options: Any) -> list[tuple[int, int]]:
    """Bytes that the client sends and receives before and in each step."""
    counts = []

    def count(*_: Any) -> None:
        counts.append((Counting.sent, Counting.received))
        Counting.sent = Counting.received = 0

    within.DaskEngine, Counting.sent, Counting.received = Counting, 0, 0  # type: ignore[misc]
    try:
        refine(chain, labels, max_steps=steps, progress=count, **options)
    finally:
        within.DaskEngine = DaskEngine  # type: ignore[misc]
    return counts


def seconds_of_sweep(chain: MarkovChain, labels: Any, n_groups: int, sweeps: int) -> float:
    """Seconds of a serial sweep, on average."""
    problem, order = make_problem(chain), np.arange(chain.n_states)
    begin = time.perf_counter()
    _, traces = descend(problem, labels, n_groups, [MIDDLE], order, max_sweeps=sweeps)
    return (time.perf_counter() - begin) / max(1, traces[0].size - 1)


def run(states: int = 100_000, groups: int = 50, steps: int = 8) -> list[Verdict]:
    if find_spec("distributed") is None:
        print("not measured: many machines, because dask is not installed")
        return []
    from dask.distributed import Client, LocalCluster

    chain, planted = sparse_block_chain(states, groups, random_state=0)
    rng = np.random.default_rng(0)
    drawn = rng.integers(groups, size=states)
    starts = {"random": drawn, "5 % wrong": np.where(rng.random(states) < 0.05, drawn, planted)}
    print(chain)
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0"}
    with LocalCluster(**options, silence_logs=logging.CRITICAL) as cluster, Client(cluster) as client:
        for name, labels in starts.items():
            ask = (chain, labels.astype(np.int32), steps)
            for each in (None, client):  # compile, or load what was compiled
                seconds_of_steps(*ask[:2], 1, client=each, n_blocks=2)
            descend(make_problem(chain), ask[1], groups, [MIDDLE], np.arange(0), max_sweeps=1)
            sweep = seconds_of_sweep(*ask[:2], groups, steps)
            print(f"{name}: a serial sweep takes {sweep:.3f} s")
            for place, each in (("here", None), ("cluster", client)):
                for n_blocks in (2, 8):
                    first, step = seconds_of_steps(*ask, client=each, n_blocks=n_blocks)
                    print(f"  {place}, {n_blocks} blocks: first {first:.3f} s, then {step:.3f} s a step")
            for step, (sent, received) in enumerate(bytes_of_steps(*ask, client=client, n_blocks=2), start=1):
                print(f"  step {step}: {sent / 1e6:.2f} MB sent, {received / 1e6:.2f} MB received")
    return []


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--states", type=int, default=100_000)
    parser.add_argument("--groups", type=int, default=50)
    parser.add_argument("--steps", type=int, default=8)
    run(**vars(parser.parse_args()))


if __name__ == "__main__":
    main()
