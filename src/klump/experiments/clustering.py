"""Points as a random walk: the paper's three clouds and three circles.

The paper shows one draw of each; here many are drawn. As published: annealing from the best of 50 starts at
beta = 1, groups may run empty; also Algorithm 1 alone with 50 starts. By default: ``aggregate`` at each beta. A point
counts among its own k nearest neighbours, see :func:`klump.experiments.points.chain_of`; the other reading of the paper
is shown beside it, as published.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from klump.aggregation.aggregation import Aggregation
from klump.aggregation.agreement import adjusted_rand_index
from klump.aggregation.costs import score
from klump.aggregation.question import aggregate, beta_path
from klump.chain import MarkovChain
from klump.experiments.points import (
    ALTERNATIVE,
    N_GROUPS,
    PUBLISHED,
    SIZES,
    Array,
    Labels,
    Reading,
    chain_of,
    draw_points,
    points_seed,
)
from klump.experiments.result import EQUAL
from klump.experiments.trials import Settings, run_pieces

NAME = "clustering"
PAPER_DRAWS = 50
N_INIT = 50
BETAS = (0.2, 0.5, 0.8)
# The paper ran Algorithm 1 alone for betas beyond 0.5.
ALONE = 0.8
# What the paper reports of its one draw, whatever beta: did the groups come out right? By data set and k.
PAPER_RIGHT = {("clouds", 15): 1, ("clouds", 100): 1, ("circles", 15): 1, ("circles", 120): 0}
# A picture looks right even if a stray point has gone to a nearer cloud; one of 100 points costs about 0.03.
RIGHT = 0.95
# Other k for the circles.
OTHERS = (5, 8, 10, 12, 20, 30, 60)

Setting = tuple[str, int]
Search = Literal["as published", "default", "Algorithm 1"]
SEARCHES: tuple[Search, ...] = ("as published", "default", "Algorithm 1")
Calls = Sequence[tuple[str, Reading, int, int]]


@dataclass(frozen=True)
class Draws:
    """What was found for one data set and k: a row for each draw, a column for each beta."""

    ari: dict[Search, Array]
    cost: dict[Search, Array]
    truth: Array
    """Cost of the true groups."""
    alternative: Array
    """ARI as published if a point does not count among its own neighbours."""
    leaving: Array
    """Probability that a step leaves its true group, for each draw."""
    labels: dict[Search, list[str]]
    """The groups of the first draw, a digit for each point."""

    def right(self, search: Search) -> NDArray[np.bool_]:
        """Where the groups found look like the true ones."""
        return self.ari[search] >= RIGHT

    def truth_is_costlier(self) -> NDArray[np.bool_]:
        """Where a search that is perfect at this cost would miss the true groups too."""
        return self.truth > np.minimum(self.cost["as published"], self.cost["default"]) + EQUAL


Runs = dict[Setting, Draws]


def count_draws(settings: Settings) -> int:
    """Return the number of draws of points: one for every five trials, as 50 stand beside 250 at full size."""
    return PAPER_DRAWS if settings.trials is None else min(PAPER_DRAWS, -(-settings.trials // 5))


def compute(settings: Settings) -> tuple[Runs, dict[int, Array]]:
    """Run all searches on all draws; also the ARI of the circles by number of neighbours."""
    calls = [
        (name, reading, points_seed(settings, name, draw), settings.seed_of(number, draw, 1))
        for number, name in enumerate(SIZES)
        for draw in range(count_draws(settings))
        for reading in (PUBLISHED, ALTERNATIVE)
    ]
    pieces = run_pieces(NAME, run_draw, calls, settings)
    runs = {setting: _collect(pieces, calls, setting) for setting in PAPER_RIGHT}
    return runs, _by_neighbors(pieces, calls, runs)


def run_draw(data_set: str, reading: Reading, points_seed: int, seed: int) -> dict[str, Any]:
    """Run all searches on one draw; with the alternative reading the published one only."""
    points, truth = draw_points(data_set, points_seed)
    chains = {k: chain_of(points, k, reading) for name, k in PAPER_RIGHT if name == data_set}
    if reading == ALTERNATIVE:
        return {str(k): _published_ari(chain, truth, seed) for k, chain in chains.items()}
    found: dict[str, Any] = {str(k): _search_all(chain, truth, seed) for k, chain in chains.items()}
    if data_set == "circles":
        found["others"] = {str(k): _published_ari(chain_of(points, k, reading), truth, seed) for k in OTHERS}
    return found


def _search_all(chain: MarkovChain, truth: Labels, seed: int) -> dict[str, Any]:
    alone = aggregate(chain, N_GROUPS, ALONE, "sequential", N_INIT, random_state=seed, allow_empty=True)
    answers: dict[Search, list[Aggregation]] = {
        "as published": _as_published(chain, seed),
        "default": [aggregate(chain, N_GROUPS, beta=beta, random_state=seed) for beta in BETAS],
        "Algorithm 1": [alone],
    }
    of_truth = score(chain, truth)
    within = np.asarray(chain.joint)[truth[:, None] == truth].sum()
    return {
        "found": {search: [_record(answer, truth) for answer in answers[search]] for search in SEARCHES},
        "truth": [round(of_truth.at(beta), 12) for beta in BETAS],
        "leaving": round(1.0 - float(within), 12),
    }


def _as_published(chain: MarkovChain, seed: int) -> list[Aggregation]:
    path = beta_path(chain, N_GROUPS, n_init=N_INIT, random_state=seed, allow_empty=True)
    return [path.at(beta) for beta in BETAS]


def _published_ari(chain: MarkovChain, truth: Labels, seed: int) -> list[float]:
    return [adjusted_rand_index(truth, answer.labels) for answer in _as_published(chain, seed)]


def _record(answer: Aggregation, truth: Labels) -> dict[str, Any]:
    return {
        "ari": adjusted_rand_index(truth, answer.labels),
        "cost": round(answer.cost, 12),
        "labels": "".join(map(str, answer.labels)),
    }


def _collect(pieces: Sequence[Any], calls: Calls, setting: Setting) -> Draws:
    data_set, k = setting
    rows, others = (
        [piece[str(k)] for piece, call in zip(pieces, calls, strict=True) if call[:2] == (data_set, reading)]
        for reading in (PUBLISHED, ALTERNATIVE)
    )

    def table(search: Search, key: str) -> Array:
        return np.array([[answer[key] for answer in row["found"][search]] for row in rows])

    return Draws(
        ari={search: table(search, "ari") for search in SEARCHES},
        cost={search: table(search, "cost") for search in SEARCHES},
        truth=np.array([row["truth"] for row in rows]),
        alternative=np.array(others),
        leaving=np.array([row["leaving"] for row in rows]),
        labels={search: [answer["labels"] for answer in rows[0]["found"][search]] for search in SEARCHES},
    )


def _by_neighbors(pieces: Sequence[Any], calls: Calls, runs: Runs) -> dict[int, Array]:
    """ARI of the circles as published for each k: a row for each draw, a column for each beta."""
    is_used = [call[:2] == ("circles", PUBLISHED) for call in calls]
    rows = [piece["others"] for piece, used in zip(pieces, is_used, strict=True) if used]
    found = {k: np.array([row[str(k)] for row in rows]) for k in OTHERS}
    found |= {k: draws.ari["as published"] for (name, k), draws in runs.items() if name == "circles"}
    return dict(sorted(found.items()))
