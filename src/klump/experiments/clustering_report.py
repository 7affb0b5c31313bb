"""Points as a random walk: text, tables and pictures."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from klump.experiments import clustering_pictures as pictures
from klump.experiments.clustering import (
    BETAS,
    NAME,
    PAPER_RIGHT,
    RIGHT,
    SEARCHES,
    Draws,
    Runs,
    Search,
    compute,
)
from klump.experiments.clustering_verdicts import joint_recovery, verdicts
from klump.experiments.points import N_GROUPS, SIZES, Array, points_seed
from klump.experiments.result import MIN_DRAWS, MODES, STANDARD_ERRORS, Picture, Result, Table, too_few
from klump.experiments.shares import Share
from klump.experiments.trials import Settings

_BETAS = ", ".join(f"{beta:g}" for beta in BETAS)


def run(settings: Settings) -> Result:
    """Run the experiment and compose its result."""
    runs, neighbors = compute(settings)
    # Shares and means of fewer than MIN_DRAWS draws are not shown.
    is_shown = len(runs["clouds", 15].truth) >= MIN_DRAWS
    return Result(
        name=NAME,
        title="Points as a random walk",
        text=paragraphs(runs) if is_shown else paragraphs_on_too_few(runs),
        verdicts=verdicts(runs),
        tables=tables(runs, neighbors) if is_shown else (),
        pictures=_pictures(runs, neighbors, settings, is_shown),
        data=_data(runs, neighbors),
    )


def paragraphs(runs: Runs) -> tuple[str, ...]:
    """Write the paper's question and the findings."""
    return _question(runs), _text_on_clouds(runs), _text_on_few(runs), _text_on_many(runs)


def paragraphs_on_too_few(runs: Runs) -> tuple[str, ...]:
    """Write the paper's question; there are too few draws to answer it."""
    few = too_few(len(runs["clouds", 15].truth))
    return (
        _question(runs),
        f"{few}. Shares, mean costs, and the tables and pictures of them need {MIN_DRAWS} draws and are left out; "
        "the pictures here show the first draw.",
    )


def _question(runs: Runs) -> str:
    return (
        "A random walk on points steps to near points more often than to far ones. Its scale is the mean squared "
        "distance to the k nearest neighbours. The paper sets k to 15 or to the number of points, so a point "
        "counts among its own neighbours. Groups of points are groups of states. The paper draws three clouds and "
        "three concentric circles once each. It reports that the clouds are found for every k and beta, and the "
        f"circles only for k = 15. Here each is drawn {len(runs['circles', 15].truth)} times. A draw comes out right "
        f"if the adjusted Rand index with the true groups is at least {RIGHT:g}: a few points may lie nearer to "
        "another cloud than to their own."
    )


def _text_on_clouds(runs: Runs) -> str:
    clouds = [draws for setting, draws in runs.items() if setting[0] == "clouds"]
    published, default = (np.mean([draws.ari[mode] for draws in clouds]) for mode in MODES)
    wrong = np.vstack([draws.ari["default"] < 1.0 for draws in clouds])
    costlier = np.vstack([draws.truth_is_costlier() for draws in clouds])
    return (
        f"Clouds: as published {_shares(clouds, 'as published')} of the draws come out right, by default "
        f"{_shares(clouds, 'default')}, over both k and all beta (mean adjusted Rand index {published:.3f} and "
        f"{default:.3f}). The default's groups are not exactly the true ones in {Share.true(wrong)} runs; in "
        f"{np.count_nonzero(wrong & costlier)} of these the true groups cost more."
    )


def _text_on_few(runs: Runs) -> str:
    draws = runs["circles", 15]
    joint = joint_recovery(runs, [("circles", 15)])
    alternative = (draws.alternative >= RIGHT).mean(axis=0)
    return (
        f"Circles, k = 15: as published {_shares([draws], 'as published')} of the draws come out right, and {joint} "
        "at every beta with and without annealing, as the paper's draw does. By default "
        f"{_shares([draws], 'default')} come out right; the true circles cost more than the groups found in "
        f"{_counts(draws.truth_is_costlier())} of {len(draws.truth)} draws at beta = {_BETAS}. A step "
        f"leaves its circle with probability {draws.leaving.mean():.2f}, "
        "and the scale matters: if a point does not count among its own neighbours, 15 other points instead of 14 "
        f"set the scale, and the published search is right in {_span(alternative)} of the draws."
    )


def _text_on_many(runs: Runs) -> str:
    draws = runs["circles", 120]
    return (
        f"Circles, k = 120: of {len(draws.truth)} draws, as published {_counts(draws.right('as published'))} come out "
        f"right at beta = {_BETAS}, and {_counts(draws.right('default'))} by default. The true circles cost more than "
        f"the groups found in {_counts(draws.truth_is_costlier())}. There the search does not fail: with a scale "
        "that spans all points, the cost prefers other groups to the circles, and a better search cannot help."
    )


def _shares(parts: Sequence[Draws], search: Search) -> str:
    return _span(np.concatenate([draws.right(search).mean(axis=0) for draws in parts]))


def _span(shares: Array) -> str:
    low, high = f"{shares.min():.0%}", f"{shares.max():.0%}"
    return low if low == high else f"{low} to {high}"


def _counts(values: NDArray[np.bool_]) -> str:
    return ", ".join(str(count) for count in np.count_nonzero(values, axis=0))


def tables(runs: Runs, neighbors: dict[int, Array]) -> tuple[Table, ...]:
    """Return shares of draws and mean costs, which need :data:`MIN_DRAWS` draws."""
    return _recovery_table(runs), _readings_table(runs), _cost_table(runs), _neighbors_table(neighbors)


def _recovery_table(runs: Runs) -> Table:
    rows = []
    for setting, draws in runs.items():
        for j, beta in enumerate(BETAS):
            cells = []
            for mode in MODES:
                ari = draws.ari[mode][:, j]
                cells += [f"{np.mean(ari >= RIGHT):.2f}", f"{np.mean(ari == 1.0):.2f}", f"{ari.mean():.3f}"]
            paper = "right" if PAPER_RIGHT[setting] else "wrong"
            rows.append((setting[0], str(setting[1]), f"{beta:g}", paper, *cells))
    columns = [f"{mode}: {what}" for mode in MODES for what in ("right", "perfect", "mean ARI")]
    return Table(
        f"Shares of {len(draws.truth)} draws in which the {N_GROUPS} groups come out",
        ("points", "k", "beta", "paper's draw", *columns),
        tuple(rows),
        f"Right: an adjusted Rand index of at least {RIGHT:g}; perfect: every point in its own group.",
    )


def _cost_table(runs: Runs) -> Table:
    rows = []
    for setting, draws in runs.items():
        for j, beta in enumerate(BETAS):
            costs = (draws.truth, draws.cost["as published"], draws.cost["default"])
            means = (f"{cost[:, j].mean():.4f}" for cost in costs)
            costlier = Share.true(draws.truth_is_costlier()[:, j])
            leaving = f"{draws.leaving.mean():.3f}"
            rows.append((setting[0], str(setting[1]), leaving, f"{beta:g}", *means, str(costlier)))
    return Table(
        "Cost of the true groups",
        (
            "points",
            "k",
            "leaving",
            "beta",
            "true groups",
            "as published",
            "default",
            "true costlier than found",
        ),
        tuple(rows),
        "Mean costs in bits. Leaving: probability that a step leaves its true group, near 0 for a nearly completely "
        "decomposable chain. Where the true groups cost more than the groups found, no better search would find them.",
    )


def _readings_table(runs: Runs) -> Table:
    rows = []
    for setting, draws in runs.items():
        for j, beta in enumerate(BETAS):
            both = (draws.ari["as published"][:, j], draws.alternative[:, j])
            cells = (f"{np.mean(ari >= RIGHT):.2f}" for ari in both)
            paper = "right" if PAPER_RIGHT[setting] else "wrong"
            rows.append((setting[0], str(setting[1]), f"{beta:g}", paper, *cells))
    return Table(
        f"Two readings of k nearest neighbours: share of {len(draws.truth)} draws that come out right, as published",
        ("points", "k", "beta", "paper's draw", "the point and k - 1 others", "k others"),
        tuple(rows),
        "All other tables count a point among its own k nearest neighbours: otherwise k would be at "
        "most the number of points less 1, and the paper sets it to the number of points (the last column uses one "
        "less).",
    )


def _neighbors_table(neighbors: dict[int, Array]) -> Table:
    return Table(
        "The circles as published, by number of neighbours: share of draws that come out right",
        ("k", *(f"beta = {beta:g}" for beta in BETAS)),
        tuple(
            (str(k), *(f"{share:.2f}" for share in (ari >= RIGHT).mean(axis=0)))
            for k, ari in neighbors.items()
        ),
    )


def _pictures(
    runs: Runs, neighbors: dict[int, Array], settings: Settings, is_shown: bool
) -> tuple[Picture, ...]:
    found = [
        Picture(
            data_set,
            f"The first draw of the {data_set}. Left, the chain: darker cells are larger probabilities, points in the "
            "order of their true groups. Right, the groups found, in colour; rings mark points in a wrong group.",
            partial(pictures.draw_groups, data_set, runs, points_seed(settings, data_set, 0)),
        )
        for data_set in SIZES
    ]
    shares = [
        Picture(
            "recovery",
            f"Share of draws that come out right (adjusted Rand index at least {RIGHT:g}), with the Wilson interval at "
            f"{STANDARD_ERRORS:g} standard errors. The paper shows one draw: its mark is at 1 if the draw came out "
            "right, else at 0.",
            partial(pictures.draw_recovery, runs),
        ),
        Picture(
            "neighbours",
            "The circles as published, by the number k of neighbours that set the scale. The paper uses 15 and 120. "
            "Stars: a point does not count among its own neighbours.",
            partial(pictures.draw_by_neighbors, neighbors, runs),
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
