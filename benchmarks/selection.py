"""How often klump.select recommends the planted number of groups, and none where there are no groups.

The limits of the rule were set on other chains of the same kinds: 60 and 150 states, seeds from 5000.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from scipy import sparse

import klump
from benchmarks.measure import Verdict
from klump.sources.random_chains import block_chain, random_chain, sparse_block_chain

# Planted numbers of groups, alphas and eps of the paper's block chains.
GROUPS = (2, 3, 4, 5, 6)
ALPHAS = (0.5, 0.95)
EPS = 0.4
# Chains per alpha and number of groups: two with equal groups, two with one group of twice the size.
SEEDS = range(4)
# Seeds of structureless chains: those with smaller seeds were looked at while the rule was made.
UNSEEN = range(10, 14)
# Chains of each of the other kinds.
FEW = range(2)
# States of a block chain, about.
N_STATES = 100
# Promised share of the block chains whose planted number is recommended.
RECOVERED = 0.9
# Promised share of the structureless chains without a recommendation.
REFUSED = 0.9


class Question(NamedTuple):
    """A chain and the numbers of groups that are right; none if it has no groups."""

    chain: klump.MarkovChain
    right: frozenset[int] = frozenset()


class Family(NamedTuple):
    """Chains of one kind."""

    name: str
    questions: Callable[[], Iterator[Question]]


def block_chains(alpha: float, eps: float = EPS, seeds=SEEDS) -> Iterator[Question]:
    """The paper's block chains, with 2 to 6 groups."""
    for k in GROUPS:
        for seed in seeds:
            shares = np.ones(k)
            shares[-1] += seed % 2
            sizes = np.rint(N_STATES * shares / shares.sum()).astype(int).tolist()
            chain, _ = block_chain(sizes, alpha, eps, random_state=seed)
            yield Question(chain, frozenset({k}))


def structureless() -> Iterator[Question]:
    """Independent random rows or weights, dense and sparse."""
    for seed in UNSEEN:
        yield Question(random_chain(N_STATES, random_state=seed))
        yield Question(random_chain(N_STATES, concentration=0.1, random_state=seed))
        yield Question(random_chain(N_STATES, "sparse", degree=5, random_state=seed))
        yield Question(random_chain(N_STATES, "sparse", degree=20, random_state=seed))
        yield Question(random_chain(N_STATES, "reversible", random_state=seed))


def regular() -> Iterator[Question]:
    """Lazy walks on a ring, a path and a grid: every number of groups is as good as the next."""
    for n in (60, 100):
        path = np.arange(n - 1)
        yield Question(_lazy_walk(n, np.append(path, n - 1), np.append(path + 1, 0)))
        yield Question(_lazy_walk(n, path, path + 1))
    cells = np.arange(100).reshape(10, 10)
    right, down = (cells[:, :-1], cells[:, 1:]), (cells[:-1], cells[1:])
    yield Question(
        _lazy_walk(100, *(np.concatenate([a.ravel(), b.ravel()]) for a, b in zip(right, down, strict=True)))
    )


def _lazy_walk(n: int, first, second) -> klump.MarkovChain:
    """Walk along edges that stays where it is with probability 1/2; no counts, but probabilities."""
    edges = sparse.coo_array((np.ones(len(first)), (first, second)), shape=(n, n)).toarray()
    walk = edges + edges.T
    return klump.MarkovChain(0.5 * np.eye(n) + 0.5 * walk / walk.sum(axis=1, keepdims=True))


def large(kind: str, n: int = 2_000, k: int = 5) -> Iterator[Question]:
    """Sparse chains with planted groups."""
    for seed in FEW:
        yield Question(sparse_block_chain(n, k, kind=kind, random_state=seed)[0], frozenset({k}))


def decomposable() -> Iterator[Question]:
    """Nearly completely decomposable chains."""
    for seed in FEW:
        for k in (2, 5):
            chain = random_chain(N_STATES, "decomposable", n_blocks=k, coupling=0.01, random_state=seed)
            yield Question(chain, frozenset({k}))


def two_levels() -> Iterator[Question]:
    """Three groups of three groups each: 3 and 9 are right."""
    between = np.kron(np.eye(3), np.full((3, 3), 0.13)) + 0.02 + 0.5 * np.eye(9)
    labels = np.repeat(np.arange(9), 11)
    for seed in FEW:
        rng = np.random.default_rng(seed)
        blocks = between[np.ix_(labels, labels)] * rng.random((99, 99))
        noise = rng.random((99, 99))
        parts = (0.7, blocks), (0.3, noise)
        matrix = sum(weight * part / part.sum(axis=1, keepdims=True) for weight, part in parts)
        yield Question(klump.MarkovChain(matrix), frozenset({3, 9}))


def observed(n_steps: int) -> Iterator[Question]:
    """Block chains that are estimated from a walk."""
    for seed in FEW:
        for k in (3, 5):
            chain, _ = block_chain([60 // k] * k, 0.8, 0.2, random_state=seed)
            rng = np.random.default_rng(seed)
            rising, state = np.cumsum(chain.transition_matrix, axis=1), 0
            walk = [state := min(int(rising[state].searchsorted(u)), 59) for u in rng.random(n_steps)]
            yield Question(klump.MarkovChain.from_sequences([walk], restrict="connected"), frozenset({k}))


FAMILIES = (
    *(
        Family(f"blocks, alpha = {alpha:g}, eps = {EPS:g}", lambda a=alpha: block_chains(a))
        for alpha in ALPHAS
    ),
    Family("structureless", structureless),
    Family("blocks, alpha = 0, eps = 0.4", lambda: block_chains(0.0, seeds=FEW)),
    Family("blocks, alpha = 0.5, eps = 0.8", lambda: block_chains(0.5, 0.8, FEW)),
    Family("nearly decomposable", decomposable),
    Family("two levels, 3 and 9", two_levels),
    Family("ring, path, grid", regular),
    Family("60 states seen for 3,000 steps", lambda: observed(3_000)),
    Family("60 states seen for 30,000 steps", lambda: observed(30_000)),
    Family("sparse metastable, 2,000 states", lambda: large("metastable")),
    Family("sparse cyclic, 2,000 states", lambda: large("cyclic")),
    Family("sparse noisy, 2,000 states", lambda: large("noisy")),
)


class Tally(NamedTuple):
    """Outcomes of one family."""

    family: str
    recommended: list[int | None]
    right: int
    refused: int
    seconds: float
    """Mean CPU time."""

    @property
    def count(self) -> int:
        """Number of chains."""
        return len(self.recommended)

    def __str__(self) -> str:
        wrong = self.count - self.right - self.refused
        cells = (self.family, self.count, self.right, self.refused, wrong, f"{self.seconds:.1f}")
        return f"| {' | '.join(map(str, cells))} |"


def tally(family: Family, **options) -> Tally:
    """Ask for every chain of a family."""
    recommended, right, seconds = [], 0, []
    for question in family.questions():
        begin = time.process_time()
        choice = klump.select(question.chain, **options)
        seconds.append(time.process_time() - begin)
        recommended.append(choice.n_states)
        right += choice.n_states in question.right
    refused = sum(number is None for number in recommended)
    return Tally(family.name, recommended, right, refused, float(np.mean(seconds)))


def run(families=FAMILIES, **options) -> list[Verdict]:
    """Print a Markdown table, a row per family, and return the two promises."""
    klump.select(random_chain(30), range(2, 4))  # compile
    print(
        "| chains | number | planted number | no clear answer | another number | CPU s |\n|---|---|---|---|---|---|"
    )
    tallies = {}
    for family in families:
        tallies[family.name] = tally(family, **options)
        print(tallies[family.name], flush=True)
    blocks = [tallies[family.name] for family in families[: len(ALPHAS)]]
    none = tallies["structureless"]
    recovered = sum(part.right for part in blocks) / sum(part.count for part in blocks)
    return [
        Verdict("planted number recommended, block chains", recovered, RECOVERED, False),
        Verdict("no clear answer, structureless chains", none.refused / none.count, REFUSED, False),
    ]
