"""Points as a random walk: the paper's three clouds and three circles.

The paper shows one draw of each data set; here there are many. As published: annealing from the best of 50 starts at
beta = 1, with empty groups allowed; also Algorithm 1 alone with 50 starts. By default: ``aggregate`` at each beta. A
point counts among its own k nearest neighbours, see :func:`klump.experiments.points.chain_of`; the other reading of the
paper is run as published, for comparison.
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
# Draws of points in a full-size run. Chosen; the paper shows one.
FULL_DRAWS = 50
# Trials per draw of points: 250 trials of the quasi-lumpable chains stand beside 50 draws.
TRIALS_PER_DRAW = 5
# Starts of the published algorithm, as in the paper.
N_INIT = 50
# The paper's betas.
BETAS = (0.2, 0.5, 0.8)
# Beta of Algorithm 1 without annealing; the paper runs it for beta > 0.5.
ALONE = 0.8
# Whether the paper's one draw comes out right, at every beta; by data set and k.
PAPER_RIGHT = {("clouds", 15): 1, ("clouds", 100): 1, ("circles", 15): 1, ("circles", 120): 0}
# Smallest adjusted Rand index of groups that come out right. Chosen: one misplaced point of 100 lowers it by 0.03.
RIGHT = 0.95
# Numbers of neighbours of the circles, besides the paper's. Chosen.
OTHERS = (5, 8, 10, 12, 20, 30, 60)

Setting = tuple[str, int]
Search = Literal["as published", "default", "Algorithm 1"]
SEARCHES: tuple[Search, ...] = ("as published", "default", "Algorithm 1")
Calls = Sequence[tuple[str, Reading, int, int]]


@dataclass(frozen=True)
class Draws:
    """Findings for one data set and k: one row per draw, one column per beta."""

    ari: dict[Search, Array]
    cost: dict[Search, Array]
    truth: Array
    """Cost of the true groups."""
    alternative: Array
    """ARI of the published algorithm if a point does not count among its own neighbours."""
    leaving: Array
    """Probability that a step leaves its true group, per draw."""
    labels: dict[Search, list[str]]
    """Labels of the first draw, one digit per point."""

    def right(self, search: Search) -> NDArray[np.bool_]:
        """Mask of the draws and betas whose groups come out right: ARI >= RIGHT."""
        return self.ari[search] >= RIGHT

    def truth_is_costlier(self) -> NDArray[np.bool_]:
        """Mask of the draws and betas in which the true groups cost more than the groups found."""
        return self.truth > np.minimum(self.cost["as published"], self.cost["default"]) + EQUAL


Runs = dict[Setting, Draws]


def count_draws(settings: Settings) -> int:
    """Return the number of draws of points: one per TRIALS_PER_DRAW trials, at most FULL_DRAWS."""
    return FULL_DRAWS if settings.trials is None else min(FULL_DRAWS, -(-settings.trials // TRIALS_PER_DRAW))


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
    """Run all searches on one draw; with the alternative reading only the published one."""
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
        "as published": _search_as_published(chain, seed),
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


def _search_as_published(chain: MarkovChain, seed: int) -> list[Aggregation]:
    path = beta_path(chain, N_GROUPS, n_init=N_INIT, random_state=seed, allow_empty=True)
    return [path.at(beta) for beta in BETAS]


def _published_ari(chain: MarkovChain, truth: Labels, seed: int) -> list[float]:
    return [adjusted_rand_index(truth, answer.labels) for answer in _search_as_published(chain, seed)]


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
    """ARI of the published algorithm on the circles by k: one row per draw, one column per beta."""
    is_used = [call[:2] == ("circles", PUBLISHED) for call in calls]
    rows = [piece["others"] for piece, used in zip(pieces, is_used, strict=True) if used]
    found = {k: np.array([row[str(k)] for row in rows]) for k in OTHERS}
    found |= {k: draws.ari["as published"] for (name, k), draws in runs.items() if name == "circles"}
    return dict(sorted(found.items()))
