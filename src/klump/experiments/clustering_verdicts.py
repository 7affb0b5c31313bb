"""Clustered points: verdicts."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from klump.experiments.clustering import ALONE, BETAS, PAPER_RIGHT, SEARCHES, Draws, Runs, Setting
from klump.experiments.points import SIZES
from klump.experiments.result import EQUAL, MODES, STANDARD_ERRORS, Outcome, Verdict, weigh
from klump.experiments.shares import Share, judge_shares


def verdicts(runs: Runs) -> tuple[Verdict, ...]:
    """Judge recovery and cost in both modes."""
    return (
        *(verdict for setting in runs for verdict in _recovery_verdicts(setting, runs[setting])),
        *_joint_recovery_verdicts(runs),
        *(verdict for setting in runs for verdict in _cost_verdicts(setting, runs[setting])),
        *_truth_verdicts(runs["circles", 120]),
    )


def _name(setting: Setting) -> str:
    return f"{setting[0]}, k = {setting[1]}"


def _recovery_verdicts(setting: Setting, draws: Draws) -> list[Verdict]:
    """Judge the share of draws that come out right: as published against the paper's draw, by default against that."""
    right = PAPER_RIGHT[setting]
    verdicts = []
    for j, beta in enumerate(BETAS):
        what = f"{_name(setting)}, beta = {beta:g}: share of draws that come out right"
        published, default = (Share.true(draws.right(mode)[:, j]) for mode in MODES)
        verdicts.append(_one_draw_verdict(what, right, published))
        reason = f"published algorithm on the same draws: {published}; {_format_interval(default)}"
        verdicts.append(judge_shares(what, "default", published, default, better="higher", reason=reason))
    what = f"{_name(setting)}, Algorithm 1 alone at beta = {ALONE:g}: share of draws that come out right"
    return [*verdicts, _one_draw_verdict(what, right, Share.true(draws.right("Algorithm 1")))]


def _joint_recovery_verdicts(runs: Runs) -> list[Verdict]:
    """Judge the share of draws that are right in all settings jointly, as the paper's draw does."""
    verdicts = []
    for data_set in SIZES:
        settings = [setting for setting in runs if setting[0] == data_set and PAPER_RIGHT[setting]]
        where = " and ".join(str(k) for _, k in settings)
        what = f"{data_set}, k = {where}: share of draws right at every beta, with and without annealing"
        verdicts.append(_one_draw_verdict(what, 1, joint_recovery(runs, settings)))
    return verdicts


def joint_recovery(runs: Runs, settings: Sequence[Setting]) -> Share:
    """Share of draws that come out right in all settings, at every beta, with and without annealing."""
    right = [
        runs[setting].right(search).all(axis=1)
        for setting in settings
        for search in SEARCHES
        if search != "default"
    ]
    return Share.true(np.logical_and.reduce(right))


def _one_draw_verdict(what: str, right: int, found: Share) -> Verdict:
    like = found if right else Share(found.of - found.count, found.of)
    lucky = like.value < 0.5
    reason = (
        f"the paper's one draw comes out {'right' if right else 'wrong'}, as {like} do here"
        f"{', so it was a lucky one' if lucky else ''}; {_format_interval(found)}"
    )
    return judge_shares(what, "as published", Share(right, 1), found, reason=reason)


def _format_interval(share: Share) -> str:
    low, high = share.interval
    return f"the share is {share.value:.2f}, between {low:.2f} and {high:.2f}"


def _cost_verdicts(setting: Setting, draws: Draws) -> list[Verdict]:
    """Judge the default's mean cost by the paired differences from the published algorithm's."""
    verdicts = []
    for j, beta in enumerate(BETAS):
        published, default = (draws.cost[mode][:, j] for mode in MODES)
        change = default - published
        spread = float(change.std(ddof=1)) if change.size > 1 else 0.0
        band = max(STANDARD_ERRORS * spread / math.sqrt(change.size), EQUAL)
        mean = float(change.mean())
        outcome: Outcome = "agrees" if abs(mean) <= band else "better" if mean < 0 else "differs"
        reason = (
            f"published algorithm on the same draws, {STANDARD_ERRORS:g} standard errors of the difference; "
            f"by default cheaper in {np.count_nonzero(change < -EQUAL)}, costlier in "
            f"{np.count_nonzero(change > EQUAL)} of {change.size} draws"
        )
        what = f"{_name(setting)}, beta = {beta:g}: mean cost in bits"
        paper, found = round(float(published.mean()), 12), round(float(default.mean()), 12)
        verdicts.append(weigh(Verdict(what, "default", paper, found, band, outcome, reason, change.size)))
    return verdicts


def _truth_verdicts(draws: Draws) -> list[Verdict]:
    """Judge whether the true circles cost more than the groups found, which is why they are missed at k = 120."""
    verdicts = []
    for j, beta in enumerate(BETAS):
        costlier = draws.truth_is_costlier()[:, j]
        share = Share.true(costlier)
        found = np.count_nonzero(draws.right("default")[~costlier, j])
        outcome: Outcome = "agrees" if share.count == share.of else "differs"
        others = f", and in {found} of the {share.of - share.count} others the default finds them"
        what = f"circles, k = 120, beta = {beta:g}: share of draws whose true circles cost more than the groups found"
        reason = (
            "it has to be all for the cost alone, and not the search, to be why the paper misses the circles; "
            f"it is {share}{others if found else ''}"
        )
        verdicts.append(weigh(Verdict(what, "default", None, share.value, 0.0, outcome, reason, share.of)))
    return verdicts
