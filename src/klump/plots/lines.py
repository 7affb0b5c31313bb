"""Shared by pictures of curves: lines against the number of groups, styles of chains, logarithmic ticks."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from klump.plots.figure import KLUMP, OUTSIDE, TEXT, tidy
from klump.search.method import EQUAL
from klump.views import colour_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Line style: widths and marker sizes in points.
_LINE: Any = {"linewidth": 1.4, "markersize": 4.5, "clip_on": False, "zorder": 3}
# Markers of the lines, and of groups that share a colour.
MARKERS = "os^Dv<>P"
# Lines of the chains: label, line style, marker.
CHAINS: dict[str, tuple[str, Any, str]] = {
    "original": ("original", "-", "o"),
    "aggregated": ("aggregated", (0, (4, 2)), ""),
    "long_time": ("long-time", (0, (1, 1.4)), ""),
}
# Colours of the chains, where colours do not stand for groups.
CHAIN_COLOURS = {"original": TEXT, "aggregated": KLUMP, "long_time": OUTSIDE}
# A logarithmic axis of a smaller ratio has ticks at 1, 2, 5, 10, and one of a larger ratio at powers of ten.
_FEW_DECADES = 300.0


def draw_lines(axes: Axes, curves: Iterable[tuple[str, Any, Any]]) -> list[Any]:
    """Draw curves, each a label, numbers of groups and values, from zero up; return the lines."""
    lines: list[Any] = []
    for number, (label, groups, values) in enumerate(curves):
        style: Any = {"color": colour_of(number), "marker": MARKERS[number % len(MARKERS)], **_LINE}
        lines += axes.plot(groups, values, label=label, **style)
    drawn = np.concatenate([line.get_ydata() for line in lines])
    low, top = min(0.0, float(np.nanmin(drawn))), float(np.nanmax(drawn))
    axes.set_ylim(1.08 * low, 1.08 * top if top > EQUAL else 1.0)
    numbers = np.concatenate([line.get_xdata() for line in lines])
    # A margin on both sides, also for a single number of groups.
    axes.set_xlim(numbers.min() - 0.5, numbers.max() + 0.5)
    axes.xaxis.set_major_locator(import_module("matplotlib.ticker").MaxNLocator(integer=True))
    axes.set_xlabel("groups")
    tidy(axes, grid="both")
    return lines


def set_logarithmic_ticks(axis: Any, low: float, high: float) -> None:
    """Write the numbers of a logarithmic axis at 1, 2, 5, 10, or at powers of ten if they span more."""
    ticker = import_module("matplotlib.ticker")
    subs = (1.0, 2.0, 5.0) if high < _FEW_DECADES * low else (1.0,)
    axis.set_major_locator(ticker.LogLocator(subs=subs))
    axis.set_major_formatter(ticker.FuncFormatter(lambda value, _: _format_tick(value)))
    axis.set_minor_formatter(ticker.NullFormatter())


def _format_tick(value: float) -> str:
    """Format a tick with as many digits as it has.

    >>> [_format_tick(value) for value in (2000.0, 1e9, 1.25e9, 2e-5)]
    ['2,000', '1e+09', '1.25e+09', '2e-05']
    """
    # Ten digits hide rounding errors of a tick like 0.3.
    return (
        f"{value:,.10g}"
        if 1e-3 <= value < 1e6
        else np.format_float_scientific(float(f"{value:.10g}"), trim="-", exp_digits=2)
    )
