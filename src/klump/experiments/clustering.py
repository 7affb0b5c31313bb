"""Points as a random walk: the paper's three clouds and three circles.

The paper shows one draw of each; here many are drawn. As published: annealing from the best of 50 starts at
beta = 1, groups may run empty; also Algorithm 1 alone with 50 starts. By default: ``aggregate`` at each beta. A point
counts among its own k nearest neighbours, see :func:`klump.experiments.points.chain_of`; the other reading of the paper
is shown beside it, as published.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
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
from klump.experiments.result import (
    MIN_DRAWS,
    STANDARD_ERRORS,
    Outcome,
    Picture,
    Result,
    Verdict,
    weigh,
)
from klump.experiments.shares import Share, judge_shares
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
# Costs that differ by less are equal.
EQUAL = 1e-9

Setting = tuple[str, int]
Mode = Literal["as published", "default"]
Search = Literal["as published", "default", "Algorithm 1"]
MODES: tuple[Mode, Mode] = ("as published", "default")
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


def draws(settings: Settings) -> int:
    """Return the number of draws of points: one for every five trials, as 50 stand beside 250 at full size."""
    return PAPER_DRAWS if settings.trials is None else min(PAPER_DRAWS, -(-settings.trials // 5))


def run(settings: Settings) -> Result:
    """Run the experiment; see the text of the result for what it asks."""
    from klump.experiments import clustering_report as report

    calls = [
        (name, reading, points_seed(settings, name, draw), settings.seed_of(number, draw, 1))
        for number, name in enumerate(SIZES)
        for draw in range(draws(settings))
        for reading in (PUBLISHED, ALTERNATIVE)
    ]
    pieces = run_pieces(NAME, run_draw, calls, settings)
    runs = {setting: _collect(pieces, calls, setting) for setting in PAPER_RIGHT}
    neighbors = _by_neighbors(pieces, calls, runs)
    # Shares and means of a few draws are no findings.
    is_shown = len(runs["clouds", 15].truth) >= MIN_DRAWS
    return Result(
        name=NAME,
        title="Points as a random walk",
        text=report.paragraphs(runs) if is_shown else report.paragraphs_on_too_few(runs),
        verdicts=(
            *(verdict for setting in runs for verdict in _recovery(setting, runs[setting])),
            *_at_once(runs),
            *(verdict for setting in runs for verdict in _cheaper(setting, runs[setting])),
            *_out_of_reach(runs["circles", 120]),
        ),
        tables=report.tables(runs, neighbors) if is_shown else (),
        pictures=_pictures(runs, neighbors, settings, is_shown),
        data=_data(runs, neighbors),
    )


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


def _name(setting: Setting) -> str:
    return f"{setting[0]}, k = {setting[1]}"


def _recovery(setting: Setting, draws: Draws) -> list[Verdict]:
    """How often the groups come out right: as published against the paper's one draw, by default against that."""
    right = PAPER_RIGHT[setting]
    verdicts = []
    for j, beta in enumerate(BETAS):
        what = f"{_name(setting)}, beta = {beta:g}: share of draws that come out right"
        published, default = (Share.true(draws.right(mode)[:, j]) for mode in MODES)
        verdicts.append(_against_one_draw(what, right, published))
        reason = f"published algorithm on the same draws: {published}; {_range(default)}"
        verdicts.append(judge_shares(what, "default", published, default, better="higher", reason=reason))
    what = f"{_name(setting)}, Algorithm 1 alone at beta = {ALONE:g}: share of draws that come out right"
    return [*verdicts, _against_one_draw(what, right, Share.true(draws.right("Algorithm 1")))]


def _at_once(runs: Runs) -> list[Verdict]:
    """The paper's draws came out right everywhere at once, so that is how often a draw should."""
    verdicts = []
    for data_set in SIZES:
        settings = [setting for setting in runs if setting[0] == data_set and PAPER_RIGHT[setting]]
        where = " and ".join(str(k) for _, k in settings)
        what = f"{data_set}, k = {where}: share of draws right at every beta, with and without annealing"
        verdicts.append(_against_one_draw(what, 1, right_at_once(runs, settings)))
    return verdicts


def right_at_once(runs: Runs, settings: Sequence[Setting]) -> Share:
    """Share of draws that come out right in all settings, at every beta, with and without annealing."""
    right = [
        runs[setting].right(search).all(axis=1)
        for setting in settings
        for search in SEARCHES
        if search != "default"
    ]
    return Share.true(np.logical_and.reduce(right))


def _against_one_draw(what: str, right: int, found: Share) -> Verdict:
    like = found if right else Share(found.of - found.count, found.of)
    lucky = like.value < 0.5
    reason = (
        f"the paper's one draw comes out {'right' if right else 'wrong'}, as {like} do here"
        f"{', so it was a lucky one' if lucky else ''}; {_range(found)}"
    )
    return judge_shares(what, "as published", Share(right, 1), found, reason=reason)


def _range(share: Share) -> str:
    low, high = share.interval
    return f"the share is {share.value:.2f}, between {low:.2f} and {high:.2f}"


def _cheaper(setting: Setting, draws: Draws) -> list[Verdict]:
    """The default's mean cost against the published algorithm's, draw by draw."""
    verdicts = []
    for j, beta in enumerate(BETAS):
        published, default = (draws.cost[mode][:, j] for mode in MODES)
        less = default - published
        spread = float(less.std(ddof=1)) if less.size > 1 else 0.0
        band = max(STANDARD_ERRORS * spread / math.sqrt(less.size), EQUAL)
        mean = float(less.mean())
        outcome: Outcome = "agrees" if abs(mean) <= band else "better" if mean < 0 else "differs"
        reason = (
            f"published algorithm on the same draws, {STANDARD_ERRORS:g} standard errors of the difference; "
            f"by default cheaper in {np.count_nonzero(less < -EQUAL)}, costlier in {np.count_nonzero(less > EQUAL)} "
            f"of {less.size} draws"
        )
        what = f"{_name(setting)}, beta = {beta:g}: mean cost in bits"
        paper, found = round(float(published.mean()), 12), round(float(default.mean()), 12)
        verdicts.append(weigh(Verdict(what, "default", paper, found, band, outcome, reason, less.size)))
    return verdicts


def _out_of_reach(draws: Draws) -> list[Verdict]:
    """Why the circles are missed at k = 120: they cost more than what is found."""
    verdicts = []
    for j, beta in enumerate(BETAS):
        costlier = draws.truth_is_costlier()[:, j]
        share = Share.true(costlier)
        found = np.count_nonzero(draws.right("default")[~costlier, j])
        outcome: Outcome = "agrees" if share.count == share.of else "differs"
        others = f", and in {found} of the {share.of - share.count} others the default finds them"
        what = f"circles, k = 120, beta = {beta:g}: share of draws whose true circles cost more than what is found"
        reason = (
            "it has to be all for the cost alone, and not the search, to be why the paper misses the circles; "
            f"it is {share}{others if found else ''}"
        )
        verdicts.append(weigh(Verdict(what, "default", None, share.value, 0.0, outcome, reason, share.of)))
    return verdicts


def _pictures(
    runs: Runs, neighbors: dict[int, Array], settings: Settings, is_shown: bool
) -> tuple[Picture, ...]:
    from klump.experiments import clustering_pictures as pictures

    found = [
        Picture(
            data_set,
            f"The first draw of the {data_set}. Left, the chain: darker is likelier, points in the order of their true "
            "groups. Right, the groups found, in their colours; points in a group that is not theirs are ringed.",
            partial(pictures.found, data_set, runs, points_seed(settings, data_set, 0)),
        )
        for data_set in SIZES
    ]
    shares = [
        Picture(
            "recovery",
            f"Share of draws that come out right (adjusted Rand index at least {RIGHT:g}), with Wilson's interval at "
            f"{STANDARD_ERRORS:g} standard errors. The paper shows one draw: it is at the top if that came out right, "
            "at the bottom if not.",
            partial(pictures.recovery, runs),
        ),
        Picture(
            "neighbours",
            "The circles as published, by the number of neighbours that set the scale. The paper uses 15 and 120. "
            "Stars: a point does not count among its own neighbours.",
            partial(pictures.by_neighbors, neighbors, runs),
        ),
    ]
    return (*found, *shares) if is_shown else tuple(found)


def _data(runs: Runs, neighbors: dict[int, Array]) -> dict[str, Any]:
    return {
        "betas": list(BETAS),
        "right": RIGHT,
        "settings": [
            {
                "points": setting[0],
                "n_neighbors": setting[1],
                "ari": {search: draws.ari[search].round(12).tolist() for search in SEARCHES},
                "cost": {search: draws.cost[search].tolist() for search in SEARCHES},
                "cost_of_truth": draws.truth.tolist(),
                "leaving": draws.leaving.tolist(),
                "ari_with_others_only": draws.alternative.round(12).tolist(),
            }
            for setting, draws in runs.items()
        ],
        "circles_by_neighbors": {str(k): ari.round(12).tolist() for k, ari in neighbors.items()},
    }
