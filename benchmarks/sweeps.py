"""What a sweep of Algorithm 1 costs: against sib-clustering, plain NumPy, and the logarithms it cannot avoid."""

from __future__ import annotations

import tracemalloc

import numpy as np

from benchmarks import numpy_algorithm
from benchmarks.measure import Verdict, interleaved, timed
from klump.search.descent import TOLERANCE, LocalSearch, random_labels
from klump.search.kernels.logarithm import f_array
from klump.search.objective import Objective
from klump.search.problem import make_problem
from klump.sources.random_chains import block_chain, sparse_block_chain

# The first sweep from random labels is the dearest there is: every state leads to as many groups as it can.
STAGES = {"settled": "settled", "descent": "median of the first ten", "first": "first from random labels"}


class Sweeper:
    """Sweeps of klump, one at a time; sums are rebuilt as in a descent, after as many moves as there are states."""

    def __init__(self, problem, labels, k, beta):
        self.order = np.arange(len(labels))
        self.search = LocalSearch(problem, labels, k, Objective(beta), self.order)
        self.moves_since_build = 0

    def __call__(self):
        moves, _ = self.search.sweep(self.order, TOLERANCE, allow_empty=False)
        self.moves_since_build += moves
        if self.moves_since_build >= self.order.size:
            self.search.build()
            self.moves_since_build = 0


def descent(sweeper):
    """Median time of the first ten sweeps."""
    return float(np.median([timed(sweeper) for _ in range(10)]))


def sib_iterations(joint, k, count):
    """A function that times one iteration of sib-clustering on the same joint law (beta = 1) at each call."""
    from sib import SIB

    def run():
        seconds = []

        class Timed(SIB):
            def optimize(self, *arguments):
                seconds.append(timed(lambda: SIB.optimize(self, *arguments)))

        Timed(k, random_state=0, n_jobs=1, n_init=1, max_iter=count, tol=-1.0, uniform_prior=False).fit(
            joint.T
        )
        return float(np.median(seconds))

    return run


def dense(rounds=7):
    """N = 1000, k = 10: at least 5 times as fast as sib at beta = 1, 10 times as NumPy at beta = 0.3."""
    chain, _ = block_chain((100,) * 10, alpha=0.5, eps=0.4, random_state=0)
    joint, k = np.asarray(chain.joint), 10
    problem = make_problem(chain)
    labels = random_labels(1000, k, np.random.default_rng(0), allow_empty=False)

    def klump_sweeps(beta):
        def run():
            sweeper = Sweeper(problem, labels, k, beta)
            return float(np.median([timed(sweeper) for _ in range(5)]))

        return run

    def numpy_sweeps():
        mine = labels.copy()
        return float(np.median([timed(lambda: numpy_algorithm.sweep(joint, mine, k, 0.3)) for _ in range(5)]))

    klump_sweeps(0.3)()
    median = interleaved(
        {
            "klump, beta = 1": klump_sweeps(1.0),
            "sib": sib_iterations(joint, k, 5),
            "klump, beta = 0.3": klump_sweeps(0.3),
            "numpy": numpy_sweeps,
        },
        rounds,
    )
    detail = ", ".join(f"{name} {seconds * 1e3:.2f} ms" for name, seconds in median.items())
    return [
        Verdict(
            "dense sweep, times as fast as sib", median["sib"] / median["klump, beta = 1"], 5, False, detail
        ),
        Verdict(
            "dense sweep, times as fast as NumPy", median["numpy"] / median["klump, beta = 0.3"], 10, False
        ),
    ]


def sparse(n=100_000, k=50):
    """In logarithms a transition, of 1e6, at n = 1e5 and k = 50: at most 50 at beta = 1/2 and 1, 100 at beta = 0.3."""
    verdicts = []
    for kind in ("metastable", "noisy"):
        chain, planted = sparse_block_chain(n, k, kind=kind, random_state=0)
        for beta, promise in ((0.5, 50), (1.0, 50), (0.3, 100)):
            verdicts += in_logarithms(kind, chain, planted, k, beta, promise)
    return [*verdicts, memory(chain, planted, k)]


def in_logarithms(kind, chain, planted, k, beta, promise, rounds=5):
    problem, n = make_problem(chain), chain.n_states
    values = np.exp(np.random.default_rng(0).uniform(-20, 0, n))
    out = np.empty_like(values)
    random = random_labels(n, k, np.random.default_rng(1), allow_empty=False)
    settled = Sweeper(problem, planted, k, beta)
    settled()
    median = interleaved(
        {
            # The best of five, so that the array is in the cache: sweeps leave none of it there.
            "log": lambda: min(timed(lambda: f_array(values, out)) for _ in range(5)) / n,
            "settled": lambda: timed(settled),
            "descent": lambda: descent(Sweeper(problem, random, k, beta)),
            "first": lambda: timed(Sweeper(problem, random, k, beta)),
        },
        rounds,
    )
    return [
        Verdict(
            f"logarithms a transition, {kind}, beta = {beta:g}, {words}",
            median[stage] / chain.n_transitions / median["log"],
            promise,
            True,
            f"{median[stage] * 1e3:.0f} ms a sweep, log {median['log'] * 1e9:.2f} ns",
        )
        for stage, words in STAGES.items()
    ]


def memory(chain, labels, k):
    """Peak memory of a search beside what A and the chain need."""
    chain.stationary_distribution  # noqa: B018 - solved before the clock, and the tape, run
    matrix = chain.transition_matrix
    need = chain.n_states * k * 8 + matrix.data.nbytes + matrix.indices.nbytes + matrix.indptr.nbytes
    tracemalloc.start()
    problem = make_problem(chain)
    Sweeper(problem, labels, k, 0.3)()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return Verdict(
        "peak memory over what A and the chain need", peak / need, 3, True, f"{peak / 2**20:.0f} MiB"
    )


def run():
    return [*dense(), *sparse()]
