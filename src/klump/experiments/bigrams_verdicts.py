"""The characters of a novel: verdicts."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from klump.aggregation.agreement import adjusted_rand_index
from klump.aggregation.costs import score
from klump.experiments.bigrams import (
    NEARLY_INDEPENDENT,
    QUICK_GROUPS,
    REFERENCE,
    ROUNDING,
    TOLERATED,
    Comparison,
    Findings,
)
from klump.experiments.partitions import parse_groups
from klump.experiments.result import EQUAL, Outcome, Verdict, weigh

# With at most TOLERATED characters in another group, the groups found are among those that the band is computed from.
_FOLLOWS = "it follows from the verdict on the characters, whose places set the band"


def verdicts(findings: Findings) -> tuple[Verdict, ...]:
    """Judge both modes."""
    comparisons = findings.comparisons
    return (
        *(_symbols_verdict(each, findings) for each in comparisons),
        *(_ari_verdict(each, findings) for each in comparisons),
        *(_cost_verdict(each, findings) for each in findings.at(4)),
        *(_best_beta_verdict(findings.at(k)) for k in QUICK_GROUPS),
        *(_default_verdict(each) for each in comparisons),
        *(_never_costlier_verdict(k, findings) for k in findings.sizes),
    )


def _within(difference: float, band: float) -> Outcome:
    """Outcome of a number without a better direction."""
    return "agrees" if abs(difference) <= band + EQUAL else "differs"


def _cheaper(found: float, published: float, band: float = 0.0) -> Outcome:
    """Outcome of a cost: lower is better."""
    return "better" if found < published - band - EQUAL else _within(found - published, band)


def _symbols_verdict(each: Comparison, findings: Findings) -> Verdict:
    count = int(each.moved.sum())
    reason = f"up to {TOLERATED} characters may differ because the edition of the book may"
    if count:
        share = 100 * float(findings.chain.stationary_distribution[each.moved].sum())
        end = "exactly at" if each.n_left == 0 else f"{each.n_left} characters from"
        reason += (
            f"; here {findings.join_symbols(each.moved)} ({share:.2g} % of the text). Started from the paper's "
            f"partition ({each.paper.cost:.5f} bits on our text), Algorithm 1 ends {end} the one found "
            f"({each.published.cost:.5f} bits)"
        )
    what = f"{each.name}: characters in another group"
    return Verdict(
        what, "as published", 0.0, float(count), float(TOLERATED), _within(count, TOLERATED), reason
    )


def _ari_verdict(each: Comparison, findings: Findings) -> Verdict:
    reference = parse_groups(REFERENCE, findings.symbols)
    placed = [adjusted_rand_index(reference, labels) for labels in each.placements()]
    change = max(abs(ari - each.paper.ari) for ari in placed)
    reason = "half a unit of the last digit"
    if change > 0:
        reason += f", and {change:.3f} that the differing characters can change"
    if each.moved.sum() > TOLERATED:
        reason += f"; more than {TOLERATED} characters differ, see there"
    reason += f"; the printed partition itself has {each.paper.ari:.3f}"
    found, band = each.published.ari, ROUNDING + change
    outcome = _within(found - each.printed_ari, band)
    what = f"{each.name}: ARI to the reference"
    verdict = Verdict(what, "as published", each.printed_ari, found, band, outcome, reason)
    return weigh(verdict, obstacle=_FOLLOWS if change > 0 else "")


def _cost_verdict(each: Comparison, findings: Findings) -> Verdict:
    """Compare with the cost of the paper's partition on our text: the paper prints no costs."""
    placed = [score(findings.chain, labels).at(each.beta) for labels in each.placements()]
    found, paper = each.published.cost, each.paper.cost
    band = max(abs(cost - paper) for cost in placed)
    reason = (
        "the paper prints no costs, so this is the cost of its partition on our text; the band is the largest change "
        "that the differing characters can make"
    )
    outcome = _cheaper(found, paper, band)
    verdict = Verdict(f"{each.name}: cost", "as published", paper, found, band, outcome, reason)
    return weigh(verdict, obstacle=_FOLLOWS if band > 0 else "")


def _best_beta_verdict(comparisons: Sequence[Comparison]) -> Verdict:
    """Judge the paper's conclusion that 0.8 is the most meaningful of its four betas."""
    paper = max(comparisons, key=lambda each: each.printed_ari)
    best = max(comparisons, key=lambda each: each.published.ari)
    reason = f"the largest of {len(comparisons)} indices"
    if best is not paper:
        reason += (
            f": here {best.published.ari:.3f}, where {int(best.moved.sum())} characters differ from the paper's "
            f"partition, against {paper.published.ari:.3f} at beta = {paper.beta:g}"
        )
    outcome = _within(best.beta - paper.beta, 0.0)
    what = f"k = {best.n_groups}: beta of the highest ARI"
    return Verdict(what, "as published", paper.beta, best.beta, 0.0, outcome, reason)


def _default_verdict(each: Comparison) -> Verdict:
    found, published = each.default.cost, each.published.cost
    reason = "against the published algorithm on the same text; the band is rounding error"
    if each.default.costs.kept < NEARLY_INDEPENDENT:
        reason += f". It keeps {each.default.kept} of the information: cheaper, but trivial (see the text)"
    return Verdict(
        f"{each.name}: cost", "default", published, found, EQUAL, _cheaper(found, published), reason
    )


def _never_costlier_verdict(n_groups: int, findings: Findings) -> Verdict:
    costs = np.array([[answer.cost for answer in pair] for pair in findings.pairs(n_groups)])
    excess = costs[:, 1] - costs[:, 0]
    lower, higher = int((excess < -EQUAL).sum()), int((excess > EQUAL).sum())
    published, default = costs.mean(axis=0).tolist()
    outcome = "differs" if higher else _cheaper(default, published)
    reason = f"against the published algorithm: lower at {lower} of {len(costs)} betas, higher at {higher}"
    what = f"k = {n_groups}: mean cost over all beta"
    return Verdict(what, "default", published, default, EQUAL, outcome, reason)
