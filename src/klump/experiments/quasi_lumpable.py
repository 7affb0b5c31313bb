"""Planted groups under noise: the paper's quasi-lumpable and nearly completely decomposable chains.

As published: one random map per chain, with empty groups allowed; with annealing from beta = 1 down to 0, and without
annealing, from a new random map at each beta. By default: ``aggregate`` at each beta. All modes run on the same chains.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib import resources
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from klump.aggregation.aggregation import Aggregation
from klump.aggregation.agreement import adjusted_rand_index
from klump.aggregation.question import aggregate, beta_path
from klump.experiments.result import Sample
from klump.experiments.trials import Settings, run_pieces
from klump.sources.random_chains import block_chain

if TYPE_CHECKING:
    from klump.chain import MarkovChain

NAME = "quasi-lumpable"
# Chains per alpha and eps, as in the paper.
TRIALS = 250
# States per planted group, as in the paper.
SIZES = (25, 25, 50)
# The paper's extra weights of the diagonal blocks; at 0.95 a chain is nearly completely decomposable.
ALPHAS = (0.0, 0.5, 0.95)
# The paper's weights of the noise; at 0 a chain is exactly lumpable.
EPSILONS = (0.0, 0.4, 0.8)
# The paper's grid of beta, in the order of annealing.
BETAS = (1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1, 0.0)
# Published runs per run of the default, which takes about a hundred times as long and sees only the first chains.
DEFAULT_SHARE = 7
# The only eps for which the paper shows the search without annealing.
SEQUENTIAL_EPS = 0.4
# Alpha, eps, and the mean ARI that the default must reach for some beta; the paper's best there is 0.95.
DEMANDED = (0.0, 0.4, 0.99)
# Smallest and largest mean that the paper could have found. The expected ARI of a random partition is 0.
LIMITS = {"ari": (0.0, 1.0), "cost": (0.0, math.inf)}
# Trials per piece: about a second of work.
CHUNKS = {"annealing": 10, "sequential": 10, "default": 2}
# Purposes of seeds: every random choice has a seed of its own.
PURPOSES = ("chain", "annealing", "sequential", "default")


Mode = Literal["annealing", "sequential", "default"]
Quantity = Literal["cost", "ari"]
Array = NDArray[np.float64]
SeedOf = Callable[..., int]


@dataclass(frozen=True)
class Trials:
    """Cost and adjusted Rand index (ARI): one row per chain, one column per beta."""

    cost: Array
    ari: Array

    def samples(self, quantity: Quantity) -> tuple[Sample, ...]:
        """Return the sample at each beta."""
        values: Array = getattr(self, quantity)
        spread = values.std(axis=0, ddof=1) if len(values) > 1 else np.zeros(values.shape[1])
        return tuple(
            Sample(float(mean), float(std), len(values))
            for mean, std in zip(values.mean(axis=0), spread, strict=True)
        )


Runs = dict[tuple[Mode, float, float], Trials]


@dataclass(frozen=True)
class Curve:
    """One of the paper's 18 curves and both modes' curves; one sample per beta."""

    panel: str
    meaning: str
    quantity: Quantity
    annealing: bool
    eps: float
    alpha: float
    paper: tuple[Sample, ...]
    published: tuple[Sample, ...]
    default: tuple[Sample, ...]

    @property
    def title(self) -> str:
        """Quantity, algorithm and eps, as text."""
        what = "Cost" if self.quantity == "cost" else "ARI"
        how = "with" if self.annealing else "without"
        return f"{what} {how} annealing, eps = {self.eps:g}"


@dataclass(frozen=True)
class Comparison:
    """The published algorithm and the default on the same chains."""

    annealing: bool
    alpha: float
    eps: float
    published: Trials
    default: Trials

    @property
    def title(self) -> str:
        """Algorithm and eps, as text."""
        return f"{'with' if self.annealing else 'without'} annealing, eps = {self.eps:g}"

    @property
    def change(self) -> Trials:
        """Paired differences, default less published."""
        return Trials(self.default.cost - self.published.cost, self.default.ari - self.published.ari)


def run_trials(settings: Settings) -> Runs:
    """Run all searches on all chains."""
    trials = settings.trials_or(TRIALS)
    chains = {"annealing": trials, "sequential": trials, "default": -(-trials // DEFAULT_SHARE)}
    wanted: list[tuple[Mode, float, float]] = [
        *(("annealing", alpha, eps) for eps in EPSILONS for alpha in ALPHAS),
        *(("sequential", alpha, SEQUENTIAL_EPS) for alpha in ALPHAS),
        *(("default", alpha, eps) for eps in EPSILONS for alpha in ALPHAS),
    ]
    calls = [
        (mode, alpha, eps, first, min(first + CHUNKS[mode], chains[mode]), settings.seed)
        for mode, alpha, eps in wanted
        for first in range(0, chains[mode], CHUNKS[mode])
    ]
    rows: dict[tuple[Mode, float, float], list[Any]] = {key: [] for key in wanted}
    for call, piece in zip(calls, run_pieces(NAME, run_piece, calls, settings), strict=True):
        rows[call[:3]] += piece
    return {key: Trials(*np.moveaxis(np.array(values), 2, 0)) for key, values in rows.items()}


def run_piece(mode: Mode, alpha: float, eps: float, first: int, stop: int, seed: int) -> list[Any]:
    """Run the trials ``first`` to ``stop - 1``: per trial, the cost and the ARI at each beta."""
    piece = []
    for trial in range(first, stop):
        seed_of = partial(_seed, Settings(seed=seed), alpha, eps, trial)
        chain, planted = block_chain(SIZES, alpha, eps, random_state=seed_of("chain"))
        answers = SEARCHES[mode](chain, seed_of)
        agreement = (adjusted_rand_index(planted, answer.labels) for answer in answers)
        piece.append(
            [[round(answer.cost, 12), round(ari, 12)] for answer, ari in zip(answers, agreement, strict=True)]
        )
    return piece


def _seed(settings: Settings, alpha: float, eps: float, trial: int, purpose: str, which: int = 0) -> int:
    return settings.seed_of(PURPOSES.index(purpose), ALPHAS.index(alpha), EPSILONS.index(eps), trial, which)


def _search_by_annealing(chain: MarkovChain, seed_of: SeedOf) -> list[Aggregation]:
    seed = seed_of("annealing")
    return list(beta_path(chain, len(SIZES), BETAS, n_init=1, random_state=seed, allow_empty=True))


def _search_sequentially(chain: MarkovChain, seed_of: SeedOf) -> list[Aggregation]:
    once = partial(aggregate, chain, len(SIZES), method="sequential", n_init=1, allow_empty=True)
    return [once(beta=beta, random_state=seed_of("sequential", which)) for which, beta in enumerate(BETAS)]


def _search_by_default(chain: MarkovChain, seed_of: SeedOf) -> list[Aggregation]:
    seed = seed_of("default")
    return [aggregate(chain, len(SIZES), beta=beta, random_state=seed) for beta in BETAS]


SEARCHES = {
    "annealing": _search_by_annealing,
    "sequential": _search_sequentially,
    "default": _search_by_default,
}


def read_curves(runs: Runs) -> tuple[Curve, ...]:
    """Read the paper's curves, and pair each with the curves of both modes."""
    file = resources.files("klump").joinpath("data", "paper_curves.json")
    paper = json.loads(file.read_text(encoding="utf-8"))
    curves = []
    for name, panel in paper["panels"].items():
        for curve in panel.pop("curves"):
            alpha, eps, quantity = curve["alpha"], panel["eps"], panel["quantity"]
            points = zip(curve["mean"], curve["std"], strict=True)
            curves.append(
                Curve(
                    name,
                    alpha=alpha,
                    paper=tuple(Sample(mean, std, paper["trials"]) for mean, std in points),
                    published=runs[_published_mode(panel["annealing"]), alpha, eps].samples(quantity),
                    default=runs["default", alpha, eps].samples(quantity),
                    **panel,
                )
            )
    return tuple(curves)


def compare(runs: Runs) -> tuple[Comparison, ...]:
    """Pair the published algorithm with the default, on the chains of both."""
    comparisons = []
    for (mode, alpha, eps), trials in runs.items():
        if mode != "default":
            default = runs["default", alpha, eps]
            both = Trials(trials.cost[: len(default.cost)], trials.ari[: len(default.ari)])
            comparisons.append(Comparison(mode == "annealing", alpha, eps, both, default))
    return tuple(comparisons)


def _published_mode(annealing: bool) -> Mode:
    return "annealing" if annealing else "sequential"


def best(curve: tuple[Sample, ...]) -> tuple[float, Sample]:
    """Return the beta with the highest mean, and its sample."""
    which = int(np.argmax([sample.mean for sample in curve]))
    return BETAS[which], curve[which]
