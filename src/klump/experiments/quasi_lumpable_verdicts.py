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
    """Every point of the paper's curves beside the one found the paper's way."""
    return tuple(
        judge(
            f"{curve.title}, alpha = {curve.alpha:g}, beta = {beta:g}",
            "as published",
            paper,
            found,
            limits=LIMITS[curve.quantity],
            reason=f"{simple_distance(paper, found):.3g} apart if each sample goes by its own deviation",
        )
        for curve in curves
        for beta, paper, found in zip(BETAS, curve.paper, curve.published, strict=True)
    )


def default_verdicts(curves: tuple[Curve, ...]) -> tuple[Verdict, ...]:
    """Every point of the paper's curves beside the default's: a lower cost, and a higher ARI, are better."""
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
    """How far apart the two means are, in the standard errors they were judged by."""
    assert verdict.paper is not None
    return STANDARD_ERRORS * abs(verdict.found - verdict.paper) / verdict.band


def simple_distance(paper: Sample, found: Sample) -> float:
    """The same by standard errors that each come from one sample alone."""
    error = math.hypot(paper.error, found.error)
    return abs(found.mean - paper.mean) / max(error, EQUAL / STANDARD_ERRORS)


def recovery_verdicts(curves: tuple[Curve, ...]) -> tuple[Verdict, ...]:
    """How well the default finds the planted groups at its best beta, against the paper at its best."""
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
    """Whether the default finds the planted groups nearly always where the paper sometimes misses them."""
    alpha, eps, demanded = DEMANDED
    curve = next(curve for curve in curves if curve.panel == "ARI4" and curve.alpha == alpha)
    (_, paper), (beta, found) = best(curve.paper), best(curve.default)
    reason = f"the band is what the paper's best lacks to {demanded:g}; found at beta = {beta:g}"
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
    """Whether the default's mean cost is above the published algorithm's at any beta."""
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
