"""Timescales of the original and the small chains side by side, and against the lag."""

from __future__ import annotations

from contextlib import suppress
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from klump.aggregation import Aggregation
from klump.arguments import check_count
from klump.dynamics import LagScan
from klump.errors import ConvergenceError, InvalidArgumentError, ReducibleChainError
from klump.plots.arguments import check_result
from klump.plots.figure import FAILED, GRID, KLUMP, TEXT, panel, tidy
from klump.plots.lines import CHAIN_COLOURS, CHAINS, set_logarithmic_ticks
from klump.plots.text import legend_above

if TYPE_CHECKING:
    from os import PathLike

    from matplotlib.axes import Axes

Floats = NDArray[np.float64]

# Timescales shorter than this, in steps, are not drawn: their eigenvalues, below 1e-11, are rounding errors of zero.
_MIN_TIMESCALE = 0.04
# Timescales of a small chain longer than this, in steps, are rounding errors of infinity if that of the original is
# infinite: the eigenvalue differs from 1 by rounding.
_ROUNDED_INFINITY = 1e12
# Times from this number of steps are written with an exponent.
_EXPONENT_FROM = 1e5
# Largest number of timescales with values beside the dots.
_MAX_VALUES = 6
# Largest number of timescales with a tick each.
_MAX_TICKS = 20
# Most timescales with lines against the lag.
_MAX_CURVES = 8
# Lower edge and centre of the band of infinite timescales, as shares of the height of the axes.
_BAND = (0.9, 0.95)
# Line style of timescales against the lag: widths and marker sizes in points.
_LAG_LINE: Any = {"linewidth": 1.4, "markersize": 4.5, "zorder": 3}


def timescales(
    answer: Aggregation,
    path: str | PathLike[str] | None = None,
    *,
    ax: Axes | None = None,
    n: int | None = None,
) -> Axes:
    """Draw the slowest timescales of the original, the aggregated and the long-time chain side by side.

    Infinite timescales, of periodic chains and of several closed classes, are in a band at the top.

    Parameters
    ----------
    answer
        The answer.
    path
        File to save the figure to; its suffix (.png, .svg, .pdf) sets the format.
    ax
        Axes to draw on; new ones if left out.
    n
        Number of timescales; two more than the number of groups, at most 10, if left out.

    Examples
    --------
    >>> import klump
    >>> P = [[0.6, 0.4, 0, 0], [0.4, 0.5, 0.1, 0], [0, 0.1, 0.5, 0.4], [0, 0, 0.4, 0.6]]
    >>> ax = klump.plots.timescales(klump.Aggregation.from_labels(P, [0, 0, 1, 1]))
    >>> [line.get_ydata().round(2).tolist() for line in ax.lines[:3]]
    [[10.9, 0.62, 0.41], [9.49], [10.74]]
    """
    check_result("answer", answer, Aggregation, "pass what klump.aggregate(...) returns")
    n = min(answer.n_states + 2, 10) if n is None else check_count("n", n)
    found = {"original": answer.original.timescales(n), "aggregated": answer.chain.timescales(n)}
    # Soft maps whose groups are linearly dependent, and reducible chains, have no long-time chain.
    with suppress(InvalidArgumentError, ConvergenceError, ReducibleChainError):
        found["long_time"] = answer.long_time_chain.timescales(n)
    return draw_timescales(found, path, ax=ax)


def draw_timescales(
    found: dict[str, Floats], path: str | PathLike[str] | None = None, *, ax: Axes | None = None
) -> Axes:
    """Draw timescales by chain: ``original``, ``aggregated``, ``long_time``, those that there are."""
    found = {name: _round_infinity(times, found.get("original")) for name, times in found.items()}
    count = max(map(len, found.values()))
    values = np.concatenate(list(found.values()))
    with panel(ax, path, 6.4, 4.0) as axes:
        _set_times(axes, values)
        lines = []
        for place, (name, times) in enumerate(found.items()):
            offset = 0.22 * (place - (len(found) - 1) / 2.0)
            where = np.arange(1, len(times) + 1) + offset
            style: Any = {"marker": "osD"[place], "markersize": 6.5, "linestyle": "", "zorder": 3}
            style["color"] = CHAIN_COLOURS[name]
            lines += axes.plot(where, _visible(times), gid=name, **style)
            _draw_infinite(axes, where, times, **style)
            if count <= _MAX_VALUES and len(found) > 1:
                _write_values(axes, where, _visible(times), CHAIN_COLOURS[name])
        if not (values >= _MIN_TIMESCALE).any():
            axes.text(0.5, 0.5, "no timescales", transform=axes.transAxes, ha="center", color=FAILED)
        _number(axes, count)
        axes.set_xlabel("timescale, slowest first" + _count_short(values))
        axes.set_ylabel("steps")
        tidy(axes, grid="y")
        marked = [name for name, times in found.items() if (times >= _MIN_TIMESCALE).any()]
        legend_above(
            axes, [line for line in lines if line.get_gid() in marked], [CHAINS[name][0] for name in marked]
        )
    return axes


def _round_infinity(times: Floats, original: Floats | None) -> Floats:
    """Timescales that are infinite but for rounding, as those of the original chain show, as infinity.

    >>> _round_infinity(np.array([3e15, 3e15]), np.array([np.inf, 7.0]))
    array([  inf, 3.e+15])
    """
    found = np.array(times, dtype=np.float64)
    if original is not None:
        shared = min(len(found), len(original))
        rounded = (found[:shared] > _ROUNDED_INFINITY) & np.isinf(original[:shared])
        found[:shared][rounded] = np.inf
    return found


def _visible(times: Floats) -> Floats:
    """Finite timescales that are no rounding errors, NaN for the others."""
    return np.where((times >= _MIN_TIMESCALE) & np.isfinite(times), times, np.nan)


def _set_times(axes: Axes, times: Floats, least: float = 0.0) -> None:
    """Set a logarithmic axis of timescales, with a band at the top if some are infinite."""
    axes.set_yscale("log")
    shown = _visible(times)
    shown = shown[np.isfinite(shown)]
    low, high = (shown.min(), max(shown.max(), least)) if len(shown) else (max(least, 1.0),) * 2
    bottom, top = low / 1.6, high * 2.0
    if np.isinf(times).any():
        top = bottom * (top / bottom) ** (1.0 / _BAND[0])
        band: Any = {"color": GRID, "alpha": 0.5, "linewidth": 0.0, "zorder": 0, "transform": axes.transAxes}
        rectangle = import_module("matplotlib.patches").Rectangle
        axes.add_patch(rectangle((0.0, _BAND[0]), 1.0, 1.0 - _BAND[0], **band))
        style: Any = {"ha": "right", "va": "center", "fontsize": 12, "color": TEXT, "gid": "infinity"}
        axes.annotate(
            "∞", (0.0, _BAND[1]), (-4, 0), xycoords="axes fraction", textcoords="offset points", **style
        )
    axes.set_ylim(bottom, top)
    if len(shown) or least:
        set_logarithmic_ticks(axes.yaxis, low, high)
        ticks = [tick for tick in axes.yaxis.get_majorticklocs() if bottom <= tick <= high * 2.0]
        axes.set_yticks(ticks)
        axes.minorticks_off()
    else:
        axes.set_yticks([])
        axes.minorticks_off()


def _draw_infinite(axes: Axes, where: Any, times: Floats, level: float = _BAND[1], **style: Any) -> None:
    """Draw the marks of infinite timescales in the band at the top."""
    infinite = np.isinf(times)
    if infinite.any():
        levels = np.full(np.count_nonzero(infinite), level)
        axes.plot(where[infinite], levels, transform=axes.get_xaxis_transform(), gid="infinite", **style)


def _number(axes: Axes, count: int) -> None:
    """Number timescales along the horizontal axis, with lines between them if they are few."""
    axes.set_xlim(0.5, max(count, 1) + 0.5)
    if count > _MAX_TICKS:
        axes.xaxis.set_major_locator(import_module("matplotlib.ticker").MaxNLocator(integer=True))
        return
    axes.set_xticks(range(1, count + 1))
    for edge in range(1, count):
        axes.axvline(edge + 0.5, color=GRID, linewidth=0.6, zorder=0)


def _count_short(times: Floats) -> str:
    """Line of text with the number of timescales that are too short to draw, if there are any."""
    short = int(np.count_nonzero(times < _MIN_TIMESCALE))
    return (
        f"\n{short} below {_MIN_TIMESCALE} steps {'is' if short == 1 else 'are'} not drawn" if short else ""
    )


def _format_time(steps: float) -> str:
    """Format a time with three significant digits.

    >>> _format_time(9.3303), _format_time(1234567.0), _format_time(12345.6)
    ('9.33', '1.23e+06', '12,300')
    """
    return f"{float(f'{steps:.3g}'):,g}" if steps < _EXPONENT_FROM else f"{steps:.2e}"


def _write_values(axes: Axes, where: Any, values: Any, colour: str) -> None:
    for x, value in zip(where.tolist(), values.tolist(), strict=True):
        if np.isfinite(value):
            style: Any = {"ha": "center", "rotation": 90, "fontsize": 7.5, "color": colour}
            axes.annotate(_format_time(value), (x, value), (0, 7), textcoords="offset points", **style)


def lag_scan(scan: LagScan, path: str | PathLike[str] | None = None, *, ax: Axes | None = None) -> Axes:
    """Draw the timescales of the aggregated chain against the lag.

    Where the lines are level, the groups are Markov at that lag. In the grey area a timescale is shorter than the lag,
    and cannot be resolved. Infinite timescales are in a band at the top.

    Parameters
    ----------
    scan
        The scan, of :meth:`klump.Aggregation.lag_scan`.
    path
        File to save the figure to; its suffix (.png, .svg, .pdf) sets the format.
    ax
        Axes to draw on; new ones if left out.

    Examples
    --------
    >>> import klump
    >>> P = [[0.6, 0.4, 0, 0], [0.4, 0.5, 0.1, 0], [0, 0.1, 0.5, 0.4], [0, 0, 0.4, 0.6]]
    >>> ax = klump.plots.lag_scan(klump.Aggregation.from_labels(P, [0, 0, 1, 1]).lag_scan([1, 4, 16]))
    >>> ax.lines[0].get_ydata().round(2)
    array([ 9.49, 10.47, 10.79])
    """
    check_result("scan", scan, LagScan, "pass what answer.lag_scan(...) returns")
    lags, times = scan.lags.astype(float), scan.timescales[:, :_MAX_CURVES]
    with panel(ax, path, 6.4, 4.0) as axes:
        axes.set_xscale("log")
        _set_times(axes, times, least=lags[-1])
        lines = []
        for number, curve in enumerate(times.T):
            style: Any = {"alpha": 1.0 - 0.09 * number, "marker": "osD^vPX*"[number], **_LAG_LINE}
            lines += axes.plot(lags, _visible(curve), color=KLUMP, **style)
            # One below the other, so that all are visible.
            level = 1.0 - (1.0 - _BAND[0]) * (number + 0.5) / times.shape[1]
            _draw_infinite(axes, lags, curve, level, color=KLUMP, **(style | {"linestyle": ""}))
        axes.set_xlim(lags[0] / 1.1, lags[-1] * 1.1)
        ends = np.array(axes.get_xlim())
        axes.fill_between(ends, ends, axes.get_ylim()[0], color=FAILED, alpha=0.18, linewidth=0.0, zorder=0)
        set_logarithmic_ticks(axes.xaxis, *axes.get_xlim())
        axes.set_xlabel("lag (steps)" + _count_short(times))
        axes.set_ylabel("timescale (steps)")
        tidy(axes, grid="both")
        numbers = np.flatnonzero((times >= _MIN_TIMESCALE).any(axis=0)).tolist()
        legend_above(
            axes, [lines[number] for number in numbers], [f"timescale {number + 1}" for number in numbers]
        )
    return axes
