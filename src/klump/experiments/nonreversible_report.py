"""The three-state chain: verdicts, text, tables and pictures."""

from __future__ import annotations

from typing import Any

import numpy as np

from klump.aggregation.costs import Costs
from klump.chain import MarkovChain
from klump.experiments import nonreversible_pictures as pictures
from klump.experiments.nonreversible import (
    BETA_STEP,
    BETAS,
    EQUAL,
    MAPS,
    NAME,
    PAPER_LUMPABILITY,
    PAPER_PREDICTABILITY,
    ROUNDING,
    Choice,
    Findings,
    compute,
    cost_curve,
    cost_differences,
    format_map,
)
from klump.experiments.result import Outcome, Picture, Result, Table, Verdict
from klump.experiments.trials import Settings


def run(settings: Settings) -> Result:
    """Run the experiment and compose its result."""
    findings = compute(settings)
    costs, control, choices = findings.costs, findings.control, findings.choices
    return Result(
        name=NAME,
        title="A chain that is not reversible",
        text=_text(costs, control, choices),
        verdicts=(*published_verdicts(costs, control), default_verdict(choices)),
        tables=(_cost_table(costs, control), _choice_table(choices)),
        pictures=_pictures(costs, control, choices),
        data=_data(findings),
    )


def _data(findings: Findings) -> dict[str, Any]:
    choices = findings.choices
    return {
        "betas": list(BETAS),
        "chain": _record(findings.chain, findings.costs),
        "reversible": _record(findings.reversible, findings.control),
        "choices": [
            {"beta": choice.beta, "groups": format_map(choice.labels), "cost": choice.cost}
            for choice in choices
        ],
        "costs_of_maps": {
            format_map(labels): [choice.every[which] for choice in choices]
            for which, labels in enumerate(MAPS)
        },
    }


def published_verdicts(costs: Costs, control: Costs) -> tuple[Verdict, ...]:
    """Judge both costs, and the direction of C_beta on either chain."""
    # C_beta = C_L + beta (C_P - 2 C_L) is linear in beta; the rounding errors of C_P and 2 C_L add up to 3 ROUNDING.
    slope = PAPER_PREDICTABILITY - 2 * PAPER_LUMPABILITY
    step, band = slope * BETA_STEP, 3 * ROUNDING * BETA_STEP
    largest, smallest = max(cost_differences(costs)), min(cost_differences(control))
    falls = largest < 0 and abs(largest - step) <= band
    return (
        _printed_verdict("C_L", PAPER_LUMPABILITY, costs.lumpability),
        _printed_verdict("C_P", PAPER_PREDICTABILITY, costs.predictability),
        Verdict(
            "C_beta falls strictly: its largest change over 0.1 of beta",
            "as published",
            step,
            largest,
            band,
            "agrees" if falls else "differs",
            "must be below 0; the paper's value is 0.1 (C_P - 2 C_L) from its printed digits, the band their "
            "rounding error",
        ),
        Verdict(
            "made reversible, C_beta does not fall: its smallest change over 0.1 of beta",
            "as published",
            None,
            smallest,
            0.0,
            "agrees" if smallest >= 0 else "differs",
            "must not be below 0: C_P >= 2 C_L for every reversible chain",
        ),
    )


def _printed_verdict(what: str, paper: float, found: float) -> Verdict:
    outcome: Outcome = "agrees" if abs(found - paper) <= ROUNDING else "differs"
    return Verdict(
        what, "as published", paper, found, ROUNDING, outcome, "half a unit of the last digit printed"
    )


def default_verdict(choices: tuple[Choice, ...]) -> Verdict:
    """Judge the largest distance from the optimum."""
    excess = max(choice.excess for choice in choices)
    return Verdict(
        "largest cost above the optimum, over all beta",
        "default",
        0.0,
        excess,
        EQUAL,
        "agrees" if excess <= EQUAL else "differs",
        "the optimum over all three maps is known; the band is rounding error",
    )


def _record(chain: MarkovChain, costs: Costs) -> dict[str, Any]:
    return {
        "transition_matrix": np.asarray(chain.transition_matrix).tolist(),
        "lumpability": costs.lumpability,
        "predictability": costs.predictability,
        "costs": cost_curve(costs),
    }


def _text(costs: Costs, control: Costs, choices: tuple[Choice, ...]) -> tuple[str, ...]:
    found = sum(choice.excess <= EQUAL for choice in choices)
    other = sorted({format_map(choice.labels) for choice in choices if choice.labels != MAPS[0]})
    where = ", ".join(f"{choice.beta:g}" for choice in choices if choice.labels != MAPS[0])
    except_there = f" except at beta = {where}, where {' or '.join(other)} is cheaper" if other else ""
    return (
        "For a reversible chain the cost C_beta of a map never falls as beta grows, because C_P is at least 2 C_L. "
        "The paper's three-state chain shows that this needs reversibility: with the groups "
        "{1} and {2,3}, its chain has C_P below 2 C_L.",
        f"klump computes C_L = {costs.lumpability:.6f} and C_P = {costs.predictability:.6f} bits, which round to the "
        f"paper's digits. The cost falls from {costs.at(0):.6f} at beta = 0 to {costs.at(1):.6f} at beta = 1. As a "
        "control, the same chain is made reversible: at each step it runs forwards or backwards with probability 1/2, "
        f"which leaves its stationary distribution as it is. There C_L = {control.lumpability:.6f} and C_P = "
        f"{control.predictability:.6f}, and the cost of the same groups rises from {control.at(0):.6f} to "
        f"{control.at(1):.6f}.",
        "Three states can be put into two groups in only three ways, so the optimum is known at every beta. "
        f"By default klump finds it at {found} of {len(choices)} values of beta: it is the paper's "
        f"map{except_there}.",
    )


def _cost_table(costs: Costs, control: Costs) -> Table:
    rows = (
        ("C_L = C_0", f"{PAPER_LUMPABILITY:.4f}", costs.lumpability, control.lumpability),
        ("C_P = 2 C_0.5", f"{PAPER_PREDICTABILITY:.4f}", costs.predictability, control.predictability),
        ("C_P - C_L = C_1", "-", costs.bottleneck, control.bottleneck),
        ("C_P - 2 C_L", "below 0", costs.at(1) - costs.at(0), control.at(1) - control.at(0)),
    )
    return Table(
        "Costs of the groups {1} and {2,3}, in bits",
        ("cost", "paper", "found", "found, made reversible"),
        tuple((name, paper, f"{found:.6f}", f"{other:.6f}") for name, paper, found, other in rows),
    )


def _choice_table(choices: tuple[Choice, ...]) -> Table:
    return Table(
        "The default's choice and the cost of every map",
        ("beta", *map(format_map, MAPS), "chosen", "its cost"),
        tuple(
            (
                f"{choice.beta:.1f}",
                *(f"{cost:.6f}" for cost in choice.every),
                format_map(choice.labels),
                f"{choice.cost:.6f}",
            )
            for choice in choices
        ),
    )


def _pictures(costs: Costs, control: Costs, choices: tuple[Choice, ...]) -> tuple[Picture, ...]:
    return (
        Picture(
            "cost-over-beta",
            "Cost of the groups {1} and {2,3} against beta: it falls for the paper's chain (left) and rises once that "
            "chain is made reversible (right). Circles are computed from the two numbers that the paper prints.",
            lambda: pictures.draw_costs(costs, control),
        ),
        Picture(
            "choices",
            "Cost of all three maps of the paper's chain, and the default's choice at each beta.",
            lambda: pictures.draw_choices(choices),
        ),
    )
