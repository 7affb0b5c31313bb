"""Planted groups under noise: verdicts."""

from __future__ import annotations

import math

from klump.experiments.quasi_lumpable import BETAS, DEMANDED, LIMITS, Comparison, Curve, best
from klump.experiments.result import EQUAL, STANDARD_ERRORS, Sample, Verdict, judge, weigh

_ELSEWHERE = (
    "where it is lower, the cheapest groups at this beta are not the planted ones: see the verdicts on the cost "
    "against the published algorithm's, on the same chains"
)


def published_verdicts(curves: tuple[Curve, ...]) -> tuple[Verdict, ...]:
    """Judge the published algorithm at every point of the paper's curves."""
    return tuple(
        judge(
            f"{curve.title}, alpha = {curve.alpha:g}, beta = {beta:g}",
            "as published",
            paper,
            found,
            limits=LIMITS[curve.quantity],
            reason=f"{unpooled_distance(paper, found):.3g} apart if each sample has its own standard deviation",
        )
        for curve in curves
        for beta, paper, found in zip(BETAS, curve.paper, curve.published, strict=True)
    )


def default_verdicts(curves: tuple[Curve, ...]) -> tuple[Verdict, ...]:
    """Judge the default at every point of the paper's curves: a lower cost or a higher ARI is better."""
    verdicts = []
    for curve in curves:
        for beta, paper, found in zip(BETAS, curve.paper, curve.default, strict=True):
            verdicts.append(
                judge(
                    f"{curve.title}, alpha = {curve.alpha:g}, beta = {beta:g}",
                    "default",
                    paper,
                    found,
                    better="lower" if curve.quantity == "cost" else "higher",
                    limits=LIMITS[curve.quantity],
                    reason=_ELSEWHERE if curve.quantity == "ari" and found.mean < paper.mean else "",
                )
            )
    return tuple(verdicts)


def distance(verdict: Verdict) -> float:
    """Distance between the two means, in standard errors of the verdict."""
    assert verdict.paper is not None
    return STANDARD_ERRORS * abs(verdict.found - verdict.paper) / verdict.band


def unpooled_distance(paper: Sample, found: Sample) -> float:
    """Distance between the two means, in standard errors from each sample's own standard deviation."""
    error = math.hypot(paper.error, found.error)
    return abs(found.mean - paper.mean) / max(error, EQUAL / STANDARD_ERRORS)


def recovery_verdicts(curves: tuple[Curve, ...]) -> tuple[Verdict, ...]:
    """Judge the default's ARI at its best beta against the paper's at its best beta."""
    verdicts = []
    for curve in curves:
        if curve.quantity == "ari":
            (paper_beta, paper), (beta, found) = best(curve.paper), best(curve.default)
            how = "at least the paper's" if found.mean >= paper.mean - EQUAL else "below the paper's"
            reason = f"{how}; best at beta = {beta:g}, the paper's at {paper_beta:g}"
            what = f"{curve.title}, alpha = {curve.alpha:g}, best beta"
            limits = LIMITS[curve.quantity]
            verdicts.append(
                judge(what, "default", paper, found, better="higher", limits=limits, reason=reason)
            )
    return tuple(verdicts)


def demanded_verdict(curves: tuple[Curve, ...]) -> Verdict:
    """Judge whether the default reaches the demanded ARI, where the paper's best is below it."""
    alpha, eps, demanded = DEMANDED
    curve = next(curve for curve in curves if curve.panel == "ARI4" and curve.alpha == alpha)
    (_, paper), (beta, found) = best(curve.paper), best(curve.default)
    reason = f"the band is {demanded:g} less the paper's best; found at beta = {beta:g}"
    if found.mean < demanded:
        missing = f"{demanded - found.mean:.4f} short of it, standard error {found.error:.4f}"
        reason += f"; {missing} of {found.size} trials"
    return weigh(
        Verdict(
            f"ARI of at least {demanded:g} for some beta, eps = {eps:g}, alpha = {alpha:g}",
            "default",
            paper.mean,
            found.mean,
            demanded - paper.mean,
            "better" if found.mean >= demanded else "differs",
            reason,
            found.size,
        )
    )


def cost_verdict(comparison: Comparison) -> Verdict:
    """Judge whether the default's mean cost exceeds the published algorithm's at any beta."""
    change = comparison.change.cost.mean(axis=0)
    lower, higher = int((change < -EQUAL).sum()), int((change > EQUAL).sum())
    reason = (
        f"means over all betas; on the same {len(comparison.default.cost)} chains the default's mean is lower at "
        f"{lower} betas, higher at {higher} and equal (to {EQUAL:g}) at {len(BETAS) - lower - higher}"
    )
    if higher:
        reason += "; the published algorithm may leave groups empty, which can be cheaper"
    return weigh(
        Verdict(
            f"Cost against the published algorithm {comparison.title}, alpha = {comparison.alpha:g}",
            "default",
            float(comparison.published.cost.mean()),
            float(comparison.default.cost.mean()),
            EQUAL,
            "differs" if higher else "better" if lower else "agrees",
            reason,
            len(comparison.default.cost),
        )
    )
