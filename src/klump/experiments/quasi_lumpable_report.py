"""Planted groups under noise: text, tables and pictures."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from klump.experiments import quasi_lumpable_pictures as pictures
from klump.experiments.quasi_lumpable import (
    BETAS,
    NAME,
    SIZES,
    TRIALS,
    Comparison,
    Curve,
    best,
    compare,
    read_curves,
    run_trials,
)
from klump.experiments.quasi_lumpable_verdicts import (
    cost_verdict,
    default_verdicts,
    demanded_verdict,
    distance,
    published_verdicts,
    recovery_verdicts,
)
from klump.experiments.result import (
    EQUAL,
    MIN_DRAWS,
    STANDARD_ERRORS,
    Picture,
    Result,
    Sample,
    Table,
    Verdict,
    too_few,
)
from klump.experiments.trials import Settings


def run(settings: Settings) -> Result:
    """Run the experiment and compose its result."""
    runs = run_trials(settings)
    curves, comparisons = read_curves(runs), compare(runs)
    published = published_verdicts(curves)
    return Result(
        name=NAME,
        title="Planted groups under noise",
        text=paragraphs(curves, comparisons, published),
        verdicts=(
            *published,
            *default_verdicts(curves),
            *recovery_verdicts(curves),
            demanded_verdict(curves),
            *(cost_verdict(comparison) for comparison in comparisons),
        ),
        tables=tables(curves, comparisons, published),
        pictures=_pictures(curves, comparisons, settings.seed),
        data=_data(curves, comparisons),
    )


def paragraphs(
    curves: tuple[Curve, ...], comparisons: tuple[Comparison, ...], published: tuple[Verdict, ...]
) -> tuple[str, ...]:
    """Write the paper's question and the findings; statistics of too few chains are left out."""
    trials, default = (samples[0].size for samples in (curves[0].published, curves[0].default))
    return (
        _question(trials, default),
        _published_text(curves, published)
        if trials >= MIN_DRAWS
        else f"As published, {too_few(trials, 'chain')}. Curves and tables need {MIN_DRAWS}.",
        *(
            (_default_text(curves, comparisons), _lesson(comparisons))
            if default >= MIN_DRAWS
            else (f"klump's default, {too_few(default, 'chain')}. Curves and tables need {MIN_DRAWS}.",)
        ),
    )


def tables(
    curves: tuple[Curve, ...], comparisons: tuple[Comparison, ...], published: tuple[Verdict, ...]
) -> tuple[Table, ...]:
    """Return the tables with enough chains; the default never has more than the published algorithm."""
    trials, default = (samples[0].size for samples in (curves[0].published, curves[0].default))
    return (
        *((_agreement_table(curves, published), _recovery_table(curves)) if trials >= MIN_DRAWS else ()),
        *((_cost_table(comparisons),) if default >= MIN_DRAWS else ()),
    )


def _question(trials: int, default: int) -> str:
    return (
        f"Random chains of {sum(SIZES)} states are lumpable for planted groups of {SIZES[0]}, {SIZES[1]} and "
        f"{SIZES[2]} states, up to noise. A larger alpha keeps a chain longer within its groups; eps is the share "
        f"of noise. Does a search that knows only the number of groups find them, and for which beta? The adjusted "
        f"Rand index (ARI) is 1 if it finds them, and 0 on average for a random partition. There are {trials} chains "
        f"per alpha and eps here, {TRIALS} in the paper. klump's default takes longer and runs on the first {default} "
        f"of them."
    )


def _published_text(curves: tuple[Curve, ...], published: tuple[Verdict, ...]) -> str:
    distances = [distance(verdict) for verdict in published]
    farthest = published[int(np.argmax(distances))]
    agreeing = sum(verdict.outcome == "agrees" for verdict in published)
    close = sum(far <= STANDARD_ERRORS / 2 for far in distances)
    collapse = [curve for curve in curves if curve.panel == "ARIseq"]
    above, below = (
        np.mean([curve.published[BETAS.index(beta)].mean for curve in collapse]) for beta in (0.5, 0.3)
    )
    return (
        f"As published, {agreeing} of the {len(published)} points in the paper's six panels of curves agree: they "
        f"lie within {STANDARD_ERRORS:g} standard errors of the paper's means, {close} of them within "
        f"{STANDARD_ERRORS / 2:g}. The farthest is {max(distances):.1f} away ({farthest.what}). Without annealing "
        f"the search collapses below beta = 0.5, as in the paper: the mean ARI falls from {above:.2f} at 0.5 to "
        f"{below:.2f} at 0.3."
    )


def _default_text(curves: tuple[Curve, ...], comparisons: tuple[Comparison, ...]) -> str:
    hardest = [curve for curve in curves if curve.panel in ("ARI0", "ARI4", "ARI8") and curve.alpha == 0.0]
    beside = ", ".join(
        f"{best(curve.default)[1].mean:.3f} against {best(curve.paper)[1].mean:.3f} at eps = {curve.eps:g}"
        for curve in hardest
    )
    change = np.concatenate([comparison.change.cost for comparison in comparisons if comparison.annealing])
    return (
        f"klump's default, on the same chains, finds a cheaper map than the published algorithm with annealing in "
        f"{(change < -EQUAL).mean():.1%} of all chains and betas, and a costlier one in "
        f"{(change > EQUAL).mean():.1%}. At the best beta its mean ARI for alpha = 0, the hardest case, is {beside} "
        f"in the paper."
    )


def _lesson(comparisons: tuple[Comparison, ...]) -> str:
    annealed = [comparison for comparison in comparisons if comparison.annealing]
    mean_ari = np.mean([comparison.default.ari for comparison in annealed], axis=(0, 1))
    noisy = [comparison for comparison in annealed if comparison.eps > 0.0]
    default = np.mean([comparison.default.ari[:, -1] for comparison in noisy])
    published = np.mean([comparison.published.ari[:, -1] for comparison in noisy])
    return (
        "A cheaper map is not always closer to the planted groups. Over all chains the default's mean ARI is "
        f"highest at beta = {BETAS[int(np.argmax(mean_ari))]:g} ({mean_ari.max():.3f}). At beta = 0 and with noise "
        f"it is {default:.2f}, the published algorithm's {published:.2f}: there, nearly independent groups cost "
        f"nearly nothing. Annealing often stops before them, in a local optimum that is costlier and closer to the "
        f"planted groups. A thorough search finds what the cost prefers. With noise, beta should not be small."
    )


def _agreement_table(curves: tuple[Curve, ...], published: tuple[Verdict, ...]) -> Table:
    rows = []
    for which, curve in enumerate(curves):
        points = published[which * len(BETAS) : (which + 1) * len(BETAS)]
        distances = [distance(verdict) for verdict in points]
        farthest = int(np.argmax(distances))
        agreeing = sum(verdict.outcome == "agrees" for verdict in points)
        means = (f"{curve.paper[farthest].mean:.4f}", f"{curve.published[farthest].mean:.4f}")
        position = (f"{curve.alpha:g}", f"{BETAS[farthest]:g}")
        rows.append(
            (curve.title, *position, *means, f"{distances[farthest]:.1f}", f"{agreeing} of {len(points)}")
        )
    return Table(
        "As published: the farthest point of each curve from the paper's",
        ("curve", "alpha", "beta", "paper", "found", "standard errors apart", "points that agree"),
        tuple(rows),
    )


def _recovery_table(curves: tuple[Curve, ...]) -> Table:
    has_default = curves[0].default[0].size >= MIN_DRAWS
    rows = []
    for curve in curves:
        if curve.quantity == "ari":
            bests = [best(samples) for samples in (curve.paper, curve.published, curve.default)]
            gain = bests[2][1].mean - bests[1][1].mean
            cells = (*(f"{sample.mean:.4f} at {beta:g}" for beta, sample in bests), f"{gain:+.4f}")
            rows.append((curve.title, f"{curve.alpha:g}", *cells[: 4 if has_default else 2]))
    columns = ("curve", "alpha", "paper", "as published", "default", "default less as published")
    return Table(
        "Mean ARI at the best beta",
        columns if has_default else columns[:4],
        tuple(rows),
        note="The default has no variant without annealing: its numbers for eps = 0.4 appear twice."
        if has_default
        else f"klump's default, {too_few(curves[0].default[0].size, 'chain')}.",
    )


def _cost_table(comparisons: tuple[Comparison, ...]) -> Table:
    rows = []
    for comparison in comparisons:
        change = comparison.change.cost
        costs = (comparison.published.cost.mean(), comparison.default.cost.mean())
        shares = (f"{share.mean():.1%}" for share in (change < -EQUAL, change > EQUAL))
        means = (*(f"{cost:.6f}" for cost in costs), f"{change.mean():+.6f}")
        rows.append((comparison.title, f"{comparison.alpha:g}", *means, *shares))
    return Table(
        "Cost in bits on the same chains, mean over all betas",
        ("published algorithm", "alpha", "as published", "default", "difference", "cheaper", "costlier"),
        tuple(rows),
        note="Cheaper, costlier: share of all chains and betas in which the default's map is cheaper or costlier.",
    )


def _pictures(
    curves: tuple[Curve, ...], comparisons: tuple[Comparison, ...], seed: int
) -> tuple[Picture, ...]:
    published, default = (samples[0].size for samples in (curves[0].published, curves[0].default))
    dots = (
        "The dots (klump as published) should lie on the pale lines"
        if published >= MIN_DRAWS
        else f"klump as published, {too_few(published, 'chain')}"
    )
    dashes = (
        "the dashes (klump's default) show lower costs, and where the planted groups are found more often. Where the "
        "cost at small beta prefers other groups to the planted ones, the default finds those, and its ARI falls."
        if default >= MIN_DRAWS
        else f"klump's default, {too_few(default, 'chain')}."
    )
    every = (
        Picture(
            "curves",
            "The paper's six panels. Pale: the paper's mean, with a shaded range of one standard deviation. "
            f"{dots}; {dashes}",
            partial(pictures.draw_curves, curves, BETAS),
        ),
        Picture(
            "matrices",
            "Transition matrices, from exactly lumpable to noisy. The blocks are the planted groups. The last "
            "matrix is the one to its left with its states shuffled, as a search sees them.",
            partial(pictures.draw_matrices, SIZES, seed),
        ),
        Picture(
            "gain",
            "Gain of the default over the published algorithm with annealing, on the same chains; shaded: two standard "
            "errors. Above: cost saved, which should not be negative. Below: gain in ARI; a fall at small beta means "
            "that the cheapest groups are not the planted ones.",
            partial(
                pictures.draw_gain, [comparison for comparison in comparisons if comparison.annealing], BETAS
            ),
        ),
    )
    return every if default >= MIN_DRAWS else every[:2]


def _data(curves: tuple[Curve, ...], comparisons: tuple[Comparison, ...]) -> dict[str, Any]:
    return {
        "trials of the default": len(comparisons[0].default.cost),
        "betas": list(BETAS),
        "curves": [
            {
                "panel": curve.panel,
                "meaning": curve.meaning,
                "alpha": curve.alpha,
                "paper": _numbers(curve.paper),
                "as published": _numbers(curve.published),
                "default": _numbers(curve.default),
            }
            for curve in curves
        ],
        "default less as published": [
            {
                "annealing": comparison.annealing,
                "alpha": comparison.alpha,
                "eps": comparison.eps,
                "cost": _numbers(comparison.change.samples("cost")),
                "ari": _numbers(comparison.change.samples("ari")),
                "chains with a costlier default": (comparison.change.cost > EQUAL).sum(axis=0).tolist(),
            }
            for comparison in comparisons
        ],
    }


def _numbers(samples: tuple[Sample, ...]) -> dict[str, list[float]]:
    return {
        "mean": [round(sample.mean, 12) for sample in samples],
        "std": [round(sample.std, 12) for sample in samples],
    }
