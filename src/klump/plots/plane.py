"""The plane of lumpability C_L against predictability C_P: of several maps, or with the beta path through it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from klump.aggregation import AggregationPath
from klump.plots.arguments import check_result
from klump.plots.figure import FAILED, KLUMP, TEXT, panel, root_figure, tidy
from klump.plots.labels import write_beside_dots
from klump.search.method import EQUAL

if TYPE_CHECKING:
    from os import PathLike

    from matplotlib.axes import Axes

Floats = NDArray[np.float64]

# Font size of the name of the line C_P = I(X1;X2), in points.
_SMALL = 8.0
# The line C_P = I(X1;X2) is drawn if some C_P is above this share of it.
_REDUNDANCY_LINE_SHARE = 0.8
# Either axis of the plane spans at least this share of I(X1;X2).
_MIN_SPAN_OF_REDUNDANCY = 0.05
# Either axis of the plane spans at least this share of the largest cost on it.
_MIN_SPAN_OF_COST = 0.25
# Line style of maps of equal cost.
ISOCOST: Any = {"color": TEXT, "linewidth": 0.9, "linestyle": (0, (4, 3)), "zorder": 1}


def plane(
    answers: AggregationPath, path: str | PathLike[str] | None = None, *, ax: Axes | None = None
) -> Axes:
    """Draw predictability against lumpability with a beta path through it, the betas beside the dots.

    Betas with the same costs share a dot.

    Parameters
    ----------
    answers
        The beta path.
    path
        File to save the figure to; its suffix (.png, .svg, .pdf) sets the format.
    ax
        Axes to draw on; new ones if left out.

    Examples
    --------
    >>> import klump
    >>> P = [[0.5, 0.4, 0.1, 0.0], [0.4, 0.5, 0.0, 0.1], [0.1, 0.0, 0.4, 0.5], [0.0, 0.1, 0.5, 0.4]]
    >>> ax = klump.plots.plane(klump.beta_path(P, 2, betas=[1, 0.5]))
    >>> ax.get_xlabel()
    'lumpability $C_L$ (bits)'
    """
    check_result("answers", answers, AggregationPath, "pass what klump.beta_path(...) returns")
    points, words = _runs(answers)
    with panel(ax, path, 6.0, 4.6) as axes:
        axes.plot(*points.T, color=KLUMP, linewidth=1.2, alpha=0.45, zorder=2, gid="path")
        axes.plot(*points.T, linestyle="", marker="o", markersize=6.5, color=KLUMP, zorder=3, gid="betas")
        draw_plane(axes, points, answers[0].costs.redundancy_rate)
        axes.set_title(r"$\beta$ beside the dots", color=FAILED, fontsize=9, loc="left")
        # Label placement needs the final size of the axes.
        root_figure(axes).draw_without_rendering()
        write_beside_dots(axes, points, words, [TEXT] * len(words))
    return axes


def _runs(answers: AggregationPath) -> tuple[Floats, list[str]]:
    """Points of the path without repetitions, and the betas of each, like ``0.5`` or ``1 to 0.6``."""
    points: list[tuple[float, float]] = []
    betas: list[list[float]] = []
    for answer in answers:
        point = answer.costs.lumpability, answer.costs.predictability
        if points and np.abs(np.subtract(point, points[-1])).max() < EQUAL:
            betas[-1].append(answer.beta)
        else:
            points.append(point)
            betas.append([answer.beta])
    words = [f"{run[0]:g}" if len(run) == 1 else f"{run[0]:g} to {run[-1]:g}" for run in betas]
    return np.array(points), words


def draw_plane(axes: Axes, points: Floats, redundancy: float) -> tuple[float, float]:
    """Set extent and labels of the plane, and draw the line C_P = I(X1;X2) if points are near; return its x limits."""
    low, high = _extent(points, redundancy)
    axes.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]))
    if low[1] < redundancy < high[1]:
        axes.axhline(redundancy, color=FAILED, linewidth=0.9, zorder=1)
        # To the right of the axes, where there are no dots and no numbers.
        words: Any = {
            "xycoords": axes.get_yaxis_transform(),
            "va": "center",
            "color": FAILED,
            "fontsize": _SMALL,
        }
        axes.annotate("nothing\nis kept", (1.0, redundancy), (4, 0), textcoords="offset points", **words)
    axes.set_xlabel(r"lumpability $C_L$ (bits)")
    axes.set_ylabel(r"predictability $C_P$ (bits)")
    axes.locator_params(nbins=7)
    tidy(axes, grid="both")
    return float(low[0]), float(high[0])


def _extent(points: Floats, redundancy: float) -> tuple[Floats, Floats]:
    """Lower left and upper right corner of the plane; the span is positive also if all costs are equal."""
    low, high = points.min(axis=0), points.max(axis=0)
    if high[1] > _REDUNDANCY_LINE_SHARE * redundancy:
        high[1] = max(high[1], redundancy)
    least = np.maximum(_MIN_SPAN_OF_REDUNDANCY * redundancy, _MIN_SPAN_OF_COST * high)
    least[least < EQUAL] = 1.0
    missing = np.maximum(least - (high - low), 0.0)
    low, high = np.maximum(low - missing / 2.0, 0.0), high + missing / 2.0
    span = high - low
    return np.maximum(low - 0.08 * span, -0.04 * span), high + 0.12 * span


def draw_isocost(axes: Axes, cost: float, beta: float, ends: tuple[float, float]) -> None:
    """Draw the line (1 - 2 beta) C_L + beta C_P = cost."""
    if beta == 0.0:
        axes.axvline(cost, **ISOCOST)
        return
    x = np.array(ends)
    axes.plot(x, (cost - (1.0 - 2.0 * beta) * x) / beta, **ISOCOST)
