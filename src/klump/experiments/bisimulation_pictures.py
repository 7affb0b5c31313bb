"""Pictures of guaranteed and observed errors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from klump.experiments.bisimulation import FAMILIES, ROUNDING, Certificate
from klump.experiments.colours import SECONDARY, SHADE, THIRD
from klump.experiments.result import MODES
from klump.plots.figure import KLUMP, OUTSIDE, TEXT, new_figure, tidy

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FAMILY_COLOURS = dict(zip(FAMILIES, (TEXT, KLUMP, OUTSIDE, THIRD, "#a5486a"), strict=True))
# Smallest error on the logarithmic axis, a rounding error.
MIN_ERROR = 1e-16


def draw_errors(certificates: list[Certificate]) -> Figure:
    """Draw the observed errors, 1 - (1 - epsilon)^t and t times the bound of Proposition 1 against t."""
    figure = new_figure(10, 6.6)
    panels: Any = figure.subplots(2, 2, sharex=True)
    for axes, c in zip(panels.ravel(), certificates, strict=True):
        steps = np.arange(1, len(c.marginal) + 1)
        axes.plot(steps, steps * c.proposition, "--", color=SECONDARY, label="t times Proposition 1")
        bound = [c.bound(int(t)) for t in steps]
        axes.plot(steps, bound, "-", color=TEXT, label="1 - (1 - epsilon)^t")
        axes.plot(steps[: len(c.paths)], c.paths, "s-", color=OUTSIDE, ms=4, label="first t steps, observed")
        seen = np.maximum(c.marginal, MIN_ERROR)
        axes.plot(steps, seen, "o-", color=KLUMP, ms=3, label="group after t steps, observed")
        low = max(1e-6, 0.3 * float(seen.min()))
        high = max(2.0, 1.5 * float(steps[-1]) * c.proposition)
        axes.axhspan(1.0, high, color=SHADE, zorder=0, linewidth=0)
        axes.set(yscale="log", ylim=(low, high), title=_title(c), xticks=(1, 5, 10, 15, 20))
        tidy(axes, grid="both")
    for axes in panels[-1]:
        axes.set_xlabel("steps t")
    for axes in panels[:, 0]:
        axes.set_ylabel("total variation")
    figure.legend(
        *panels[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=4, frameon=False
    )
    return figure


def _title(c: Certificate) -> str:
    words = {"planted": "planted groups", "true": "true groups", "the paper's": "the paper's groups"}
    return f"{c.chain}; {words.get(c.groups, c.groups)}"


def draw_bounds(certificates: list[Certificate]) -> Figure:
    """Draw the bound of Proposition 1 against the exact epsilon."""
    figure = new_figure(7.5, 5.6)
    axes = figure.subplots()
    shown = [c for c in certificates if c.epsilon > ROUNDING]
    for family, colour in FAMILY_COLOURS.items():
        for mode, marker in zip(MODES, "ox", strict=True):
            part = [c for c in shown if (c.family, c.mode) == (family, mode)]
            if part:
                axes.scatter(
                    [c.epsilon for c in part],
                    [c.proposition for c in part],
                    s=16,
                    marker=marker,
                    color=colour,
                    linewidths=0.8,
                    alpha=0.7,
                    label=f"{family}, {mode}",
                )
    low = 0.5 * min(c.epsilon for c in shown)
    high = 3.0 * max(1.0, *(c.proposition for c in shown))
    axes.plot([low, 1.0], [low, 1.0], color=TEXT, linewidth=1)
    middle = low**0.5
    axes.annotate("bound = epsilon", (middle, middle), (8, -10), textcoords="offset points", color=TEXT)
    axes.axhspan(1.0, high, color=SHADE, zorder=0, linewidth=0)
    axes.set(xscale="log", yscale="log", xlim=(low, 1.5), ylim=(low, high))
    axes.set(xlabel="exact epsilon", ylabel="Proposition 1")
    axes.legend(frameon=False, fontsize="small", loc="upper left", bbox_to_anchor=(1.0, 1.0))
    tidy(axes, grid="both")
    return figure
