"""How long greedy merging takes, from single states to one group: 2,000 dense states in under 20 s on one core."""

from __future__ import annotations

import numpy as np

import klump
from benchmarks.measure import Verdict, timed
from klump.sources.random_chains import block_chain

STATES = 2_000
PROMISE = 20.0
BETAS = (0.0, 0.5, 0.8, 1.0)


def planted(n):
    """Planted groups under noise."""
    chain, _ = block_chain((n // 4, n // 4, n // 2), alpha=0.5, eps=0.3, random_state=0)
    return chain


def unstructured(n):
    """Rows drawn at random, most of their mass on a few states."""
    rows = np.random.default_rng(0).dirichlet(np.full(n, 0.1), size=n)
    return klump.MarkovChain(rows + 1e-9, normalize=True)


def measured(name, chain, beta, *, relaxed=False):
    seconds = timed(lambda: klump.aggregation_tree(chain, beta, relaxed=relaxed))
    cost = "relaxed cost" if relaxed else f"beta = {beta:g}"
    return Verdict(f"greedy merging of {STATES} states, {name}, {cost}, seconds", seconds, PROMISE, True)


def run():
    small = planted(100)
    for beta in BETAS:  # compile, with and without A and B
        klump.aggregation_tree(small, beta)
    verdicts = []
    for name, family in (("planted", planted), ("unstructured", unstructured)):
        chain = family(STATES)
        chain.redundancy_rate  # noqa: B018
        verdicts += [measured(name, chain, beta) for beta in BETAS]
        verdicts.append(measured(name, chain, 0.5, relaxed=True))
    return verdicts
