"""Pictures of the three-state chain."""

from __future__ import annotations

from typing import TYPE_CHECKING

from klump.aggregation.costs import Costs
from klump.experiments.colours import DEFAULT, PAPER, PUBLISHED, SECONDARY
from klump.experiments.nonreversible import (
    BETAS,
    MAPS,
    PAPER_LUMPABILITY,
    PAPER_PREDICTABILITY,
    Choice,
    cost_curve,
    format_map,
)
from klump.plots.figure import new_figure, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Colours of the three maps; the first is the paper's.
_MAP_COLOURS = (DEFAULT, PUBLISHED, SECONDARY)


def draw_costs(costs: Costs, control: Costs) -> Figure:
    """Draw the cost against beta on the paper's chain and on the reversible one."""
    figure = new_figure(8.6, 3.4)
    left, right = figure.subplots(1, 2, sharey=True)
    _draw_curve(left, costs, "the paper's chain: falls")
    _draw_curve(right, control, "made reversible: does not fall")
    paper = Costs(PAPER_LUMPABILITY, PAPER_PREDICTABILITY, costs.redundancy_rate)
    marked = (0.0, 0.5, 1.0)
    left.plot(marked, [paper.at(beta) for beta in marked], "o", ms=9, mfc="none", mec=PAPER, label="paper")
    left.set_ylabel(r"cost $C_\beta$ (bits)")
    left.set_ylim(0.0, 0.0105)
    left.legend(loc="lower left", frameon=False)
    return figure


def _draw_curve(axes: Axes, costs: Costs, title: str) -> None:
    axes.plot(BETAS, cost_curve(costs), ".-", color=DEFAULT, label="found")
    # A falling curve has its first two notes above, a rising one below.
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
    tidy(axes)


def draw_choices(choices: tuple[Choice, ...]) -> Figure:
    """Draw the cost of every map against beta, and the default's choice."""
    figure = new_figure(6.0, 3.4)
    axes = figure.subplots()
    for which, colour in enumerate(_MAP_COLOURS):
        costs = [choice.every[which] for choice in choices]
        axes.plot(BETAS, costs, color=colour, label=format_map(MAPS[which]))
    axes.plot(
        BETAS,
        [choice.cost for choice in choices],
        "D",
        ms=6,
        mfc="none",
        mec=PAPER,
        label="chosen by default",
    )
    axes.set_xlabel(r"$\beta$")
    axes.set_ylabel(r"cost $C_\beta$ (bits)")
    axes.set_ylim(0.0)
    tidy(axes)
    axes.legend(loc="upper left", frameon=False)
    return figure
