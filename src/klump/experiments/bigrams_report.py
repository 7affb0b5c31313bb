"""The characters of a novel: text, tables and pictures."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

from klump import information
from klump.experiments import bigrams_pictures as pictures
from klump.experiments.bigrams import (
    GROUPS,
    NAME,
    NEARLY_INDEPENDENT,
    PRINTED_BETAS,
    QUICK_GROUPS,
    REFERENCE,
    RESTARTS,
    ROUNDING,
    SEEDS,
    TOLERATED,
    Findings,
    Partition,
    compute,
    evaluate,
)
from klump.experiments.bigrams_verdicts import verdicts
from klump.experiments.partitions import format_groups, mismatches, parse_groups
from klump.experiments.result import EQUAL, MIN_DRAWS, MODES, Marked, Picture, Result, Table, too_few
from klump.experiments.trials import Settings


def run(settings: Settings) -> Result:
    """Run the experiment and compose its result."""
    findings = compute(settings)
    return Result(
        name=NAME,
        title="The characters of a novel",
        text=_text(findings),
        verdicts=verdicts(findings),
        tables=_tables(findings),
        pictures=_pictures(findings),
        data=_data(findings),
    )


def _text(findings: Findings) -> tuple[str, ...]:
    chain = findings.chain
    return (
        f"The novel is The Great Gatsby. The states are its {chain.n_states} characters. The transition probabilities "
        f"are counted from the text; one character tells {chain.redundancy_rate:.3f} bits about the next. The paper "
        "puts the characters into k groups. It compares them, by the adjusted Rand index (ARI), with a plausible "
        "reference: the blank, punctuation, digits, and the vowels and consonants of either case.",
        _text_on_published(findings),
        _text_on_seeds(findings),
        _text_on_default(findings),
        _text_on_trivial_answers(findings),
        *_text_on_size(findings),
    )


def _text_on_published(findings: Findings) -> str:
    every = findings.comparisons
    far = [each for each in every if each.moved.sum() > TOLERATED]
    beyond = "".join(
        f" For {each.name} it is {int(each.moved.sum())} ({findings.join_symbols(each.moved)})."
        for each in far
    )
    same = sum(each.n_left == 0 for each in every)
    wrong = [each for each in every if abs(each.paper.ari - each.printed_ari) > ROUNDING + EQUAL]
    exceptions = "; ".join(
        f"{each.paper.ari:.3f} and {each.printed_ari:.2f} for {each.name}" for each in wrong
    )
    return (
        f"As published, {len(every) - len(far)} of the {len(every)} printed partitions come out with at most "
        f"{TOLERATED} of the {findings.chain.n_states} characters in another group.{beyond} The paper does not say "
        "which edition of the book it uses. A test tells differences in the text from failures of the search: "
        f"started from the paper's partition, on our text, Algorithm 1 ends exactly at the partition found here in "
        f"{same} of {len(every)} cases. Where it leaves the paper's partition, no run of the algorithm on our text can "
        "end there. The ARI of the printed partitions themselves, computed here, has the printed digits in "
        f"{len(every) - len(wrong)} of {len(every)} cases"
        + (f" (exceptions: {exceptions})." if wrong else ".")
    )


def _text_on_seeds(findings: Findings) -> str:
    if findings.seeds < MIN_DRAWS:
        return f"Dependence on the seed, {too_few(findings.seeds, 'seed')}; shares need {MIN_DRAWS}."
    ends = [each.share_of_seeds(each.adapted, 0) for each in findings.comparisons]
    best = ", ".join(f"{share:.2f} for k = {k}" for k, share in findings.share_of_best.items())
    return (
        f"With {RESTARTS} restarts the seed matters little. Of {findings.seeds} seeds, the share that reaches the "
        f"lowest C_1 of all is {best}. The share that ends exactly where Algorithm 1 takes the printed partitions is "
        f"{min(ends):.2f} for the worst of them."
    )


def _text_on_default(findings: Findings) -> str:
    pairs = [pair for k in findings.sizes for pair in findings.pairs(k)]
    lower = sum(default.cost < published.cost - EQUAL for published, default in pairs)
    higher = sum(default.cost > published.cost + EQUAL for published, default in pairs)
    large, middle = (
        next(each for each in findings.at(max(QUICK_GROUPS)) if each.beta == beta) for beta in (0.8, 0.5)
    )
    return (
        f"By default klump is cheaper than the published algorithm in {lower} of {len(pairs)} cases and costlier in "
        f"{higher}. For {large.name} the cost goes from {large.published.cost:.4f} to {large.default.cost:.4f} bits, "
        f"and the groups keep {large.default.kept} of the information instead of {large.published.kept}; for "
        f"{middle.name} it goes from {middle.published.cost:.4f} to {middle.default.cost:.4f}. The ARI is not "
        "the objective: cheaper groups may be farther from the reference."
    )


def _text_on_trivial_answers(findings: Findings) -> str:
    each = next(each for each in findings.at(4) if each.beta == 0.0)
    labels = each.default.labels
    mass = np.bincount(labels, weights=findings.chain.stationary_distribution).astype(float)
    collapsed = {
        k: [answer.beta for _, answer in findings.pairs(k) if answer.costs.kept < NEARLY_INDEPENDENT]
        for k in findings.sizes
    }
    limits = ", ".join(f"{max(betas):g} for k = {k}" for k, betas in collapsed.items() if betas)
    return (
        f"At small beta a cheaper partition need not be more informative. For {each.name} the default costs "
        f"{each.default.cost:.5f} bits and the published algorithm {each.published.cost:.4f}. But the cheap "
        "partition is one group with "
        f"{100 * mass.max():.3f} % of the text and {len(mass) - 1} groups for the rare "
        f"{findings.join_symbols(labels != mass.argmax())}. C_0 requires only that the "
        "groups form a Markov chain. A sequence that is nearly constant is one: C_0 is at most the entropy of the "
        f"groups, here {information.entropy(mass):.5f} bits. The partition keeps {100 * each.default.costs.kept:.3f} "
        f"% of the information. The published one keeps {each.published.kept} because annealing stops in a local "
        f"optimum, not because C_0 requires it. Groups that keep less than {100 * NEARLY_INDEPENDENT:g} % are nearly "
        f"independent of each other; the default's are up to beta = {limits or 'none'}. The remedy is a larger beta."
    )


def _text_on_size(findings: Findings) -> tuple[str, ...]:
    if findings.sizes == GROUPS:
        return ()
    sizes = ", ".join(map(str, findings.sizes))
    return (f"This was a quick run: only k = {sizes}, and {findings.seeds} seeds instead of {SEEDS}.",)


def _tables(findings: Findings) -> tuple[Table, ...]:
    note = (
        "Marked characters are in another group than in the paper. Cost (in bits) and kept information of the "
        "paper's partitions are computed on our text; their ARI is the printed one."
    )
    missing = "The paper does not print q for k = 7, beta = 0; here it is in its cheapest group."
    return (
        _groups_table("Table I: 4 groups", (4,), findings, note),
        _groups_table("Table II: 2 and 7 groups", (2, 7), findings, f"{note} {missing}"),
        _numbers_table(findings),
        *((_seeds_table(findings),) if findings.seeds >= MIN_DRAWS else ()),
    )


def _groups_table(title: str, sizes: tuple[int, ...], findings: Findings, note: str) -> Table:
    reference = evaluate(findings.chain, parse_groups(REFERENCE, findings.symbols), 0.0)
    groups = format_groups(reference.labels, reference.labels, findings.symbols)
    rows: list[tuple[str | Marked, ...]] = [("-", "-", "reference", "-", "-", reference.kept, "-", groups)]
    for beta, k in product(PRINTED_BETAS, sizes):
        each = next(each for each in findings.at(k) if each.beta == beta)
        whose = (("paper", each.paper), ("as published", each.published), ("default", each.default))
        for name, found in whose:
            ari = _digits(each.printed_ari if found is each.paper else found.ari, 2)
            count = int(mismatches(found.labels, each.paper.labels).sum())
            groups = format_groups(found.labels, each.paper.labels, findings.symbols)
            rows.append((f"{beta:g}", str(k), name, ari, f"{found.cost:.5f}", found.kept, str(count), groups))
    columns = ("beta", "k", "whose", "ARI", "cost", "kept", "differing", "groups")
    return Table(title, columns, tuple(rows), note)


def _numbers_table(findings: Findings) -> Table:
    rows = []
    for k in findings.sizes:
        for pair in findings.pairs(k):
            costs = (f"{answer.cost:.5f}" for answer in pair)
            kept = (answer.kept for answer in pair)
            rows.append(
                (str(k), f"{pair[0].beta:g}", *costs, *kept, *(_digits(answer.ari, 3) for answer in pair))
            )
    names = (f"{what}, {mode}" for what in ("cost", "kept", "ARI") for mode in MODES)
    return Table("Cost in bits, kept information and ARI in both modes", ("k", "beta", *names), tuple(rows))


def _seeds_table(findings: Findings) -> Table:
    ordered = sorted(findings.comparisons, key=lambda each: (each.n_groups, -each.beta))
    rows = (
        (
            str(each.n_groups),
            f"{each.beta:g}",
            f"{each.share_of_seeds(each.paper.labels, TOLERATED):.2f}",
            f"{each.share_of_seeds(each.adapted, 0):.2f}",
        )
        for each in ordered
    )
    return Table(
        f"Dependence of the published algorithm on its seed: shares of {findings.seeds} seeds",
        (
            "k",
            "beta",
            f"within {TOLERATED} characters of the paper's partition",
            "at Algorithm 1's, from the paper's",
        ),
        tuple(rows),
    )


def _digits(value: float, digits: int) -> str:
    """Format a number with fixed decimals, without a negative zero.

    >>> _digits(-0.004, 2), _digits(-0.006, 2)
    ('0.00', '-0.01')
    """
    return f"{round(value, digits) + 0.0:.{digits}f}"


def _pictures(findings: Findings) -> tuple[Picture, ...]:
    return (
        Picture(
            "ari",
            "Adjusted Rand index with the reference partition against beta. Circles are the values that the paper "
            "prints.",
            lambda: pictures.draw_ari(findings),
        ),
        Picture(
            "cost",
            "Cost against beta for 4 groups. Circles are the paper's partitions, scored on our text.",
            lambda: pictures.draw_cost(findings, 4),
        ),
        Picture(
            "kept",
            "Share of the information that the groups keep. Where the default drops to the bottom, the cheapest groups "
            "are nearly independent. The published algorithm mostly stops in a local optimum before that.",
            lambda: pictures.draw_kept(findings, NEARLY_INDEPENDENT),
        ),
    )


def _data(findings: Findings) -> dict[str, Any]:
    return {
        "symbols": "".join(findings.symbols),
        "redundancy_rate": findings.chain.redundancy_rate,
        "reference": REFERENCE.split(),
        "found": [
            {"mode": mode, "n_states": k, **_record(answer, findings)}
            for (mode, k, _), answer in findings.found.items()
        ],
        "paper": [
            {
                "n_states": each.n_groups,
                "printed_ari": each.printed_ari,
                **_record(each.paper, findings),
                "differing": findings.join_symbols(each.moved),
                "differing_after_algorithm_1": each.n_left,
                "share_of_seeds_near": each.share_of_seeds(each.paper.labels, TOLERATED),
                "share_of_seeds_at_algorithm_1": each.share_of_seeds(each.adapted, 0),
            }
            for each in findings.comparisons
        ],
        "seeds": findings.seeds,
        "share_of_seeds_at_lowest": {str(k): share for k, share in findings.share_of_best.items()},
    }


def _record(answer: Partition, findings: Findings) -> dict[str, Any]:
    return {
        "beta": answer.beta,
        "cost": answer.cost,
        "lumpability": answer.costs.lumpability,
        "predictability": answer.costs.predictability,
        "kept": answer.costs.kept,
        "ari": answer.ari,
        "groups": [findings.join_symbols(answer.labels == group) for group in np.unique(answer.labels)],
    }
