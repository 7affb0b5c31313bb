"""Pictures of what is guaranteed and what is observed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from klump.experiments.bisimulation import FAMILIES, ROUNDING, Certificate

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BOUND, EXACT, OBSERVED, PATHS = "#8a8f98", "#222222", "#0b6fa4", "#d9822b"
FAMILY_COLOURS = dict(zip(FAMILIES, ("#222222", "#0b6fa4", "#d9822b", "#4b9b5f", "#a5486a"), strict=True))
SHADE = "#f0f1f2"


def errors(certificates: list[Certificate]) -> Figure:
    """Observed error over t beside 1 - (1 - epsilon)^t and t times the bound of Proposition 1."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 6.6), layout="constrained")
    panels: Any = figure.subplots(2, 2, sharex=True)
    for axes, c in zip(panels.ravel(), certificates, strict=True):
        steps = np.arange(1, len(c.marginal) + 1)
        axes.plot(steps, steps * c.proposition, "--", color=BOUND, label="t times Proposition 1")
        bound = [c.guaranteed(int(t)) for t in steps]
        axes.plot(steps, bound, "-", color=EXACT, label="1 - (1 - epsilon)^t")
        axes.plot(steps[: len(c.paths)], c.paths, "s-", color=PATHS, ms=4, label="first t steps, observed")
        # Beyond rounding there is nothing to see.
        seen = np.maximum(c.marginal, 1e-16)
        axes.plot(steps, seen, "o-", color=OBSERVED, ms=3, label="group after t steps, observed")
        low = max(1e-6, 0.3 * float(seen.min()))
        high = max(2.0, 1.5 * float(steps[-1]) * c.proposition)
        axes.axhspan(1.0, high, color=SHADE, zorder=0, linewidth=0)
        axes.set(yscale="log", ylim=(low, high), title=_title(c), xticks=(1, 5, 10, 15, 20))
        _tidy(axes)
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


def bounds(certificates: list[Certificate]) -> Figure:
    """Proposition 1 against the exact epsilon."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.5, 5.6), layout="constrained")
    axes = figure.subplots()
    shown = [c for c in certificates if c.epsilon > ROUNDING]
    for family, colour in FAMILY_COLOURS.items():
        for mode, marker in (("as published", "o"), ("default", "x")):
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
    axes.plot([low, 1.0], [low, 1.0], color=EXACT, linewidth=1)
    middle = low**0.5
    axes.annotate("bound = epsilon", (middle, middle), (8, -10), textcoords="offset points", color=EXACT)
    axes.axhspan(1.0, high, color=SHADE, zorder=0, linewidth=0)
    axes.set(xscale="log", yscale="log", xlim=(low, 1.5), ylim=(low, high))
    axes.set(xlabel="exact epsilon", ylabel="Proposition 1")
    axes.legend(frameon=False, fontsize="small", loc="upper left", bbox_to_anchor=(1.0, 1.0))
    _tidy(axes)
    return figure


def _tidy(axes: Axes) -> None:
    axes.grid(color="#dcdfe2", linewidth=0.6)
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
