"""A chain of three states that runs differently backwards: there the cost falls with growing beta."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from klump.aggregation.costs import Costs, score
from klump.aggregation.question import aggregate
from klump.chain import MarkovChain
from klump.experiments.result import Outcome, Picture, Result, Table, Verdict
from klump.experiments.trials import Settings
from klump.sources.datasets import three_state_example

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BETAS = tuple(round(0.1 * step, 1) for step in range(11))
# All ways to put three states into two groups; the first is the paper's.
MAPS = ((0, 1, 1), (0, 1, 0), (0, 0, 1))

PAPER_LUMPABILITY = 0.0086
PAPER_PREDICTABILITY = 0.0135
# What a number that is printed with four digits after the point may be off.
ROUNDING = 0.00005
# Costs that differ by less are equal.
EQUAL = 1e-10

# Distinguishable for colour-blind eyes, too.
_FOUND, _PAPER, _OTHERS = "#0072b2", "#222222", ("#d55e00", "#8a8f98")


@dataclass(frozen=True)
class Choice:
    """What the default chose at one beta, and what every map costs there."""

    beta: float
    labels: tuple[int, ...]
    cost: float
    """As the answer says it."""
    every: tuple[float, ...]
    """Cost of each of :data:`MAPS`, scored by itself."""

    @property
    def excess(self) -> float:
        """How far the answer is from the optimum."""
        return abs(self.cost - min(self.every))


def run(settings: Settings) -> Result:
    """Compute both costs, follow C_beta over beta, and compare with a reversible chain."""
    chain, labels = three_state_example()
    reversible = reversibilised(chain)
    costs, control = score(chain, labels), score(reversible, labels)
    choices = tuple(choose(chain, beta, settings.seed) for beta in BETAS)
    return Result(
        name="nonreversible",
        title="A chain that is not reversible",
        text=_text(costs, control, choices),
        verdicts=(*_published(costs, control), _default(choices)),
        tables=(_numbers(costs, control), _optima(choices)),
        pictures=_pictures(costs, control, choices),
        data={
            "betas": list(BETAS),
            "chain": _record(chain, costs),
            "reversible": _record(reversible, control),
            "choices": [
                {"beta": choice.beta, "groups": _name(choice.labels), "cost": choice.cost}
                for choice in choices
            ],
            "costs_of_maps": {
                _name(each): [choice.every[which] for choice in choices] for which, each in enumerate(MAPS)
            },
        },
    )


def reversibilised(chain: MarkovChain) -> MarkovChain:
    """Return the chain that runs forwards or backwards in time with probability 1/2 each.

    It has the same stationary distribution and is reversible.

    Examples
    --------
    >>> chain, _ = three_state_example()
    >>> chain.is_reversible, reversibilised(chain).is_reversible
    (False, True)
    """
    joint = np.asarray(chain.joint)
    both = (joint + joint.T) / 2
    return MarkovChain(both / both.sum(axis=1, keepdims=True), states=chain.states)


def choose(chain: MarkovChain, beta: float, seed: int) -> Choice:
    """Ask the default for two groups, and score all three maps there are."""
    answer = aggregate(chain, 2, beta=beta, random_state=seed)
    labels = tuple(int(group != answer.labels[0]) for group in answer.labels)
    return Choice(beta, labels, answer.cost, tuple(score(chain, each).at(beta) for each in MAPS))


def curve(costs: Costs) -> list[float]:
    """C_beta at each beta."""
    return [costs.at(beta) for beta in BETAS]


def steps(costs: Costs) -> list[float]:
    """By how much C_beta changes from each beta to the next."""
    return [after - before for before, after in pairwise(curve(costs))]


def _published(costs: Costs, control: Costs) -> tuple[Verdict, ...]:
    # C_beta is a line with the slope C_P - 2 C_L.
    slope = PAPER_PREDICTABILITY - 2 * PAPER_LUMPABILITY
    step, band = slope * 0.1, 3 * ROUNDING * 0.1
    largest, smallest = max(steps(costs)), min(steps(control))
    falls = largest < 0 and abs(largest - step) <= band
    return (
        _rounded("C_L", PAPER_LUMPABILITY, costs.lumpability),
        _rounded("C_P", PAPER_PREDICTABILITY, costs.predictability),
        Verdict(
            "C_beta falls strictly: its largest change over 0.1 of beta",
            "as published",
            step,
            largest,
            band,
            "agrees" if falls else "differs",
            "must be below 0; the paper's value is 0.1 (C_P - 2 C_L) of its digits, the band what they round away",
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


def _rounded(what: str, paper: float, found: float) -> Verdict:
    outcome: Outcome = "agrees" if abs(found - paper) <= ROUNDING else "differs"
    return Verdict(
        what, "as published", paper, found, ROUNDING, outcome, "half a unit of the last digit printed"
    )


def _default(choices: tuple[Choice, ...]) -> Verdict:
    excess = max(choice.excess for choice in choices)
    return Verdict(
        "largest cost above the optimum, over all beta",
        "default",
        0.0,
        excess,
        EQUAL,
        "agrees" if excess <= EQUAL else "differs",
        "the optimum is known: there are three maps; the band is rounding",
    )


def _name(labels: tuple[int, ...]) -> str:
    """Write a map as its groups.

    >>> _name((0, 1, 0))
    '{1,3} {2}'
    """
    groups = ([str(state + 1) for state in range(3) if labels[state] == group] for group in (0, 1))
    return " ".join("{" + ",".join(group) + "}" for group in groups)


def _record(chain: MarkovChain, costs: Costs) -> dict[str, Any]:
    return {
        "transition_matrix": np.asarray(chain.transition_matrix).tolist(),
        "lumpability": costs.lumpability,
        "predictability": costs.predictability,
        "costs": curve(costs),
    }


def _text(costs: Costs, control: Costs, choices: tuple[Choice, ...]) -> tuple[str, ...]:
    found = sum(choice.excess <= EQUAL for choice in choices)
    other = sorted({_name(choice.labels) for choice in choices if choice.labels != MAPS[0]})
    where = ", ".join(f"{choice.beta:g}" for choice in choices if choice.labels != MAPS[0])
    except_there = f" except at beta = {where}, where {' or '.join(other)} is cheaper" if other else ""
    return (
        "For a reversible chain the cost C_beta of a map never falls when beta grows, because there "
        "C_P is at least 2 C_L. The paper shows by three states that this needs reversibility: with the groups "
        "{1} and {2,3} its chain has C_P below 2 C_L.",
        f"klump computes C_L = {costs.lumpability:.6f} and C_P = {costs.predictability:.6f} bits, the digits of the "
        f"paper. The cost falls from {costs.at(0):.6f} at beta = 0 to {costs.at(1):.6f} at beta = 1. As a control, "
        "the same chain is made reversible: at each step it runs forwards or backwards with probability 1/2, "
        f"which leaves its stationary distribution as it is. There C_L = {control.lumpability:.6f} and C_P = "
        f"{control.predictability:.6f}, and the cost of the same groups rises from {control.at(0):.6f} to "
        f"{control.at(1):.6f}.",
        "Three states can be put into two groups in only three ways, so the optimum is known at every beta. "
        f"By default klump finds it at {found} of {len(choices)} values of beta: it is the paper's "
        f"map{except_there}.",
    )


def _numbers(costs: Costs, control: Costs) -> Table:
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


def _optima(choices: tuple[Choice, ...]) -> Table:
    return Table(
        "What the default chooses, and what every map costs",
        ("beta", *map(_name, MAPS), "chosen", "its cost"),
        tuple(
            (
                f"{choice.beta:.1f}",
                *(f"{cost:.6f}" for cost in choice.every),
                _name(choice.labels),
                f"{choice.cost:.6f}",
            )
            for choice in choices
        ),
    )


def _pictures(costs: Costs, control: Costs, choices: tuple[Choice, ...]) -> tuple[Picture, ...]:
    return (
        Picture(
            "cost-over-beta",
            "Cost of the groups {1} and {2,3} over beta: it falls for the paper's chain (left) and rises once that "
            "chain is made reversible (right). Circles are computed from the two numbers the paper prints.",
            lambda: _draw_costs(costs, control),
        ),
        Picture(
            "choices",
            "Cost of all three maps of the paper's chain, and what the default chooses: the lowest at every beta.",
            lambda: _draw_choices(choices),
        ),
    )


def _draw_costs(costs: Costs, control: Costs) -> Figure:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8.6, 3.4), layout="constrained")
    left, right = figure.subplots(1, 2, sharey=True)
    _draw_curve(left, costs, "the paper's chain: falls")
    _draw_curve(right, control, "made reversible: does not fall")
    paper = Costs(PAPER_LUMPABILITY, PAPER_PREDICTABILITY, costs.redundancy_rate)
    marked = (0.0, 0.5, 1.0)
    left.plot(marked, [paper.at(beta) for beta in marked], "o", ms=9, mfc="none", mec=_PAPER, label="paper")
    left.set_ylabel(r"cost $C_\beta$ (bits)")
    left.set_ylim(0.0, 0.0105)
    left.legend(loc="lower left", frameon=False)
    return figure


def _draw_curve(axes: Axes, costs: Costs, title: str) -> None:
    axes.plot(BETAS, curve(costs), ".-", color=_FOUND, label="found")
    # Notes stand on the side that the line turns away from.
    side = 1 if costs.at(1) < costs.at(0) else -1
    notes = (
        (0.0, f"$C_L$ = {costs.lumpability:.4f}", side, "left"),
        (0.5, f"$C_P$ / 2 = {costs.predictability / 2:.4f}", side, "left"),
        (1.0, f"$C_P - C_L$ = {costs.bottleneck:.4f}", -side, "right"),
    )
    for beta, note, above, align in notes:
        shift = (4 if align == "left" else -4, 14 * above)
        axes.annotate(note, (beta, costs.at(beta)), shift, textcoords="offset points", ha=align, va="center")
    axes.set_title(title, fontsize=11)
    axes.set_xlabel(r"$\beta$")
    axes.spines[["top", "right"]].set_visible(False)


def _draw_choices(choices: tuple[Choice, ...]) -> Figure:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.0, 3.4), layout="constrained")
    axes = figure.subplots()
    for which, colour in enumerate((_FOUND, *_OTHERS)):
        costs = [choice.every[which] for choice in choices]
        axes.plot(BETAS, costs, color=colour, label=_name(MAPS[which]))
    axes.plot(
        BETAS,
        [choice.cost for choice in choices],
        "D",
        ms=6,
        mfc="none",
        mec=_PAPER,
        label="chosen by default",
    )
    axes.set_xlabel(r"$\beta$")
    axes.set_ylabel(r"cost $C_\beta$ (bits)")
    axes.set_ylim(0.0)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(loc="upper left", frameon=False)
    return figure
