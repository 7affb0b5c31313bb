"""Planted groups under noise: the paper's quasi-lumpable and nearly completely decomposable chains.

As published: one random map for each chain, groups may run empty; with annealing from beta = 1 down to 0, and
without, where each beta has a random map of its own. By default: ``aggregate`` at each beta. All on the same chains.
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
TRIALS = 250
SIZES = (25, 25, 50)
ALPHAS = (0.0, 0.5, 0.95)
EPSILONS = (0.0, 0.4, 0.8)
BETAS = (1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1, 0.0)
# The default runs on one chain in so many, the first ones: it takes a hundred times as long as the published search.
DEFAULT_SHARE = 7
# The only noise for which the paper shows the search without annealing.
SEQUENTIAL_EPS = 0.4
# What the default must reach for some beta, where the paper's best is 0.95: alpha, eps, mean ARI.
DEMANDED = (0.0, 0.4, 0.99)
# Least and largest mean that the paper could have found: an ARI of 0 is that of guessing, a cost has no upper limit.
LIMITS = {"ari": (0.0, 1.0), "cost": (0.0, math.inf)}
# Trials in one piece of work: a second or so.
CHUNKS = {"annealing": 10, "sequential": 10, "default": 2}
# What a seed is for: every draw has its own.
PURPOSES = ("chain", "annealing", "sequential", "default")


Mode = Literal["annealing", "sequential", "default"]
Quantity = Literal["cost", "ari"]
Array = NDArray[np.float64]
SeedOf = Callable[..., int]


@dataclass(frozen=True)
class Trials:
    """Cost and adjusted Rand index (ARI): a row for each chain, a column for each beta."""

    cost: Array
    ari: Array

    def samples(self, quantity: Quantity) -> tuple[Sample, ...]:
        """Mean and standard deviation at each beta."""
        values: Array = getattr(self, quantity)
        spread = values.std(axis=0, ddof=1) if len(values) > 1 else np.zeros(values.shape[1])
        return tuple(
            Sample(float(mean), float(std), len(values))
            for mean, std in zip(values.mean(axis=0), spread, strict=True)
        )


Runs = dict[tuple[Mode, float, float], Trials]


@dataclass(frozen=True)
class Curve:
    """One of the paper's 18 curves, and what was found beside it; a sample for each beta."""

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
        """What the curve shows, in a few words."""
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
        """Which chains, and which of the published algorithms."""
        return f"{'with' if self.annealing else 'without'} annealing, eps = {self.eps:g}"

    @property
    def change(self) -> Trials:
        """Default less published, chain by chain."""
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
    """Run a few trials: for each, the cost and the ARI at each beta."""
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


def _annealing(chain: MarkovChain, seed_of: SeedOf) -> list[Aggregation]:
    seed = seed_of("annealing")
    return list(beta_path(chain, len(SIZES), BETAS, n_init=1, random_state=seed, allow_empty=True))


def _sequential(chain: MarkovChain, seed_of: SeedOf) -> list[Aggregation]:
    once = partial(aggregate, chain, len(SIZES), method="sequential", n_init=1, allow_empty=True)
    return [once(beta=beta, random_state=seed_of("sequential", which)) for which, beta in enumerate(BETAS)]


def _default(chain: MarkovChain, seed_of: SeedOf) -> list[Aggregation]:
    seed = seed_of("default")
    return [aggregate(chain, len(SIZES), beta=beta, random_state=seed) for beta in BETAS]


SEARCHES = {"annealing": _annealing, "sequential": _sequential, "default": _default}


def read_curves(runs: Runs) -> tuple[Curve, ...]:
    """Read the paper's curves and put what was found beside them."""
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
                    published=runs[_published(panel["annealing"]), alpha, eps].samples(quantity),
                    default=runs["default", alpha, eps].samples(quantity),
                    **panel,
                )
            )
    return tuple(curves)


def compare(runs: Runs) -> tuple[Comparison, ...]:
    """Pair each run of the published algorithm with the default's, on the chains that both have seen."""
    comparisons = []
    for (mode, alpha, eps), trials in runs.items():
        if mode != "default":
            default = runs["default", alpha, eps]
            both = Trials(trials.cost[: len(default.cost)], trials.ari[: len(default.ari)])
            comparisons.append(Comparison(mode == "annealing", alpha, eps, both, default))
    return tuple(comparisons)


def _published(annealing: bool) -> Mode:
    return "annealing" if annealing else "sequential"


def best(curve: tuple[Sample, ...]) -> tuple[float, Sample]:
    """Beta with the highest mean, and what is there."""
    which = int(np.argmax([sample.mean for sample in curve]))
    return BETAS[which], curve[which]
