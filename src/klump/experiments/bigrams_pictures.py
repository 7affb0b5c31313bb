"""Pictures of the experiment with the characters of a novel."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from klump.experiments.colours import DEFAULT, PAPER, PUBLISHED
from klump.experiments.result import MODES
from klump.plots.figure import new_figure, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from klump.experiments.bigrams import Findings

_COLOURS = {"as published": PUBLISHED, "default": DEFAULT}
# Region of nearly independent groups.
_WARNING = "#b03030"


def draw_ari(findings: Findings) -> Figure:
    """Draw the index against beta in both modes and in the paper, one panel per number of groups."""
    rows = -(-len(findings.sizes) // 3)
    figure = new_figure(8.6, 2.5 * rows + 0.5)
    panels = figure.subplots(rows, 3, sharex=True, sharey=True, squeeze=False)
    for axes, k in zip(panels.flat, findings.sizes, strict=False):
        _draw_modes(axes, findings, k, "ari")
        _draw_paper(axes, [(each.beta, each.printed_ari) for each in findings.at(k)])
        axes.set_title(f"k = {k}", fontsize=10)
    for axes in panels[-1]:
        axes.set_xlabel(r"$\beta$")
    for axes in panels[:, 0]:
        axes.set_ylabel("ARI")
    every = (axes.get_legend_handles_labels() for axes in figure.axes)
    legend = {
        label: handle for handles, labels in every for handle, label in zip(handles, labels, strict=True)
    }
    figure.legend(
        legend.values(), legend.keys(), loc="outside upper center", ncols=len(legend), frameon=False
    )
    return figure


def draw_cost(findings: Findings, n_groups: int) -> Figure:
    """Draw the cost against beta in both modes, and of the paper's partitions."""
    figure = new_figure(6.0, 3.6)
    axes = figure.subplots()
    _draw_modes(axes, findings, n_groups, "cost")
    _draw_paper(axes, [(each.beta, each.paper.cost) for each in findings.at(n_groups)])
    axes.set_xlabel(r"$\beta$")
    axes.set_ylabel(r"cost $C_\beta$ (bits)")
    axes.set_ylim(-0.01)
    axes.legend(loc="lower right", frameon=False)
    return figure


def draw_kept(findings: Findings, least: float) -> Figure:
    """Draw the kept share against beta, one panel per mode; below ``least`` groups are nearly independent."""
    from matplotlib import colormaps

    figure = new_figure(8.6, 3.4)
    shades = colormaps["viridis"](np.linspace(0.85, 0.05, len(findings.sizes)))
    panels = figure.subplots(1, 2, sharey=True)
    for which, (axes, mode) in enumerate(zip(panels, MODES, strict=True)):
        for k, shade in zip(findings.sizes, shades, strict=True):
            answers = [pair[which] for pair in findings.pairs(k)]
            kept = [answer.costs.kept for answer in answers]
            axes.plot([answer.beta for answer in answers], kept, ".-", color=shade, label=f"k = {k}")
        axes.axhspan(0.0, least, color=_WARNING, alpha=0.12, linewidth=0)
        axes.set_title(mode, fontsize=10)
        axes.set_xlabel(r"$\beta$")
        tidy(axes)
    panels[0].set_ylabel(r"kept share $I(Y_1;Y_2)\,/\,I(X_1;X_2)$")
    panels[0].set_ylim(0.0)
    panels[0].text(0.98, least / 2, "nearly independent", color=_WARNING, ha="right", va="center")
    figure.legend(handles=panels[0].lines[::-1], loc="outside right center", frameon=False)
    return figure


def _draw_modes(axes: Axes, findings: Findings, n_groups: int, quantity: str) -> None:
    both = zip(*findings.pairs(n_groups), strict=True)
    for mode, answers, style in zip(MODES, both, (".-", ".--"), strict=True):
        values = [getattr(answer, quantity) for answer in answers]
        axes.plot([answer.beta for answer in answers], values, style, color=_COLOURS[mode], label=mode)
    tidy(axes)


def _draw_paper(axes: Axes, points: Sequence[tuple[float, float]]) -> None:
    if points:
        axes.plot(*zip(*points, strict=True), "o", ms=8, mfc="none", mec=PAPER, label="paper")
