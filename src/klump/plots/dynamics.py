"""Pictures of dynamics: Chapman-Kolmogorov curves, timescales of the chains, and timescales against the lag."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from klump.arguments import check_count
from klump.errors import ConvergenceError, InvalidArgumentError
from klump.plots.figure import FAILED, GRID, KLUMP, OUTSIDE, TEXT, panel, tidy
from klump.plots.text import add_legend, cut_text, legend_above, plain
from klump.views import colour_of, group_colours

if TYPE_CHECKING:
    from os import PathLike

    from matplotlib.axes import Axes

    from klump.aggregation import Aggregation
    from klump.dynamics import ChapmanKolmogorov, LagScan

Floats = NDArray[np.float64]

# Most groups with curves of their own.
_MAX_CURVES = 8
# An axis is logarithmic if the largest value exceeds the smallest by this factor.
_LOGARITHMIC = 20.0
# A logarithmic axis of a smaller ratio has ticks at 1, 2, 5, 10, and one of a larger ratio at powers of ten.
_FEW_DECADES = 300.0
# Timescales shorter than this, in steps, are not drawn: their eigenvalues, below 1e-11, are rounding errors of zero.
_MIN_TIMESCALE = 0.04
# Times from this number of steps are written with an exponent.
_EXPONENT_FROM = 1e5
# Largest number of timescales with values beside the dots.
_MAX_VALUES = 6
# Largest default number of steps of the Chapman-Kolmogorov test: of chains whose powers are squared, and of others.
_MAX_STEPS_SMALL = 10_000
_MAX_STEPS_LARGE = 100
# Largest number of states of a chain whose powers are squared.
_SMALL_CHAIN = 2_000
# Number of default steps of the Chapman-Kolmogorov test.
_N_STEPS = 24
# Lines of the chains: label, line style, marker.
_CHAINS: dict[str, tuple[str, Any, str]] = {
    "original": ("original", "-", "o"),
    "aggregated": ("aggregated", (0, (4, 2)), ""),
    "long_time": ("long-time", (0, (1, 1.4)), ""),
}
# Colours of the chains, where colours do not stand for groups.
_COLOURS = {"original": TEXT, "aggregated": KLUMP, "long_time": OUTSIDE}

# Line style of timescales against the lag: widths and marker sizes in points.
_LAG_LINE: Any = {"linewidth": 1.4, "markersize": 4.5, "zorder": 3}


def chapman_kolmogorov(
    test: ChapmanKolmogorov,
    path: str | PathLike[str] | None = None,
    *,
    ax: Axes | None = None,
    start: int | None = None,
    names: Sequence[str] | None = None,
    colours: Sequence[str] | None = None,
) -> Axes:
    """Draw the Chapman-Kolmogorov test: probabilities of groups after t steps, of the original and the small chains.

    Solid lines with dots are the original chain, dashed ones the aggregated, dotted ones the long-time chain. Where
    they coincide, the small chain predicts the groups after t steps. Of more than 8 groups those with the largest
    difference are drawn.

    Parameters
    ----------
    test
        The test, of :meth:`klump.Aggregation.chapman_kolmogorov`.
    path
        File to save the figure to; its suffix (.png, .svg, .pdf) sets the format.
    ax
        Axes to draw on; new ones if left out.
    start
        Group of the start, for the probability of every group after t steps. If left out, the probability of each
        group after a start in that group.
    names, colours
        Name and colour of each group; its number, and the colour with that number, if left out.

    Examples
    --------
    >>> import klump
    >>> answer = klump.Aggregation.from_labels([[0.5, 0.4, 0.1], [0.4, 0.5, 0.1], [0.1, 0.1, 0.8]], [0, 0, 1])
    >>> ax = klump.plots.chapman_kolmogorov(answer.chapman_kolmogorov(3))
    >>> ax.lines[0].get_ydata().round(3)
    array([0.9  , 0.83 , 0.781])
    """
    k = test.original.shape[1]
    if start is not None and not 0 <= check_count("start", start, least=0) < k:
        raise InvalidArgumentError(
            f"is no group of this test, which has {k}",
            argument="start",
            value=start,
            remedy=f"pass 0 to {k - 1}",
        )
    curves = {name: _curves(getattr(test, name), start) for name in _CHAINS}
    shown = _largest_differences(curves)
    names = [str(group) for group in range(k)] if names is None else names
    colours = [colour_of(group) for group in range(k)] if colours is None else colours
    with panel(ax, path, 7.2, 4.2) as axes:
        for group in shown:
            for name, (_, style, marker) in _CHAINS.items():
                if np.isfinite(curves[name]).any():
                    _draw_curve(axes, test.steps, curves[name][:, group], colours[group], style, marker)
        _set_steps(axes, test.steps)
        start_name = "the same group" if start is None else f"group {cut_text(str(names[start]), 16)}"
        axes.set_ylabel("probability of the group\n" + f"after a start in {start_name}", **plain())
        values = np.concatenate([values[:, shown].ravel() for values in _finite(curves)])
        axes.set_ylim(1.05 * min(0.0, float(np.nanmin(values))), 1.08 * float(np.nanmax(values)))
        tidy(axes, grid="both")
        _explain(axes, curves, [names[group] for group in shown], [colours[group] for group in shown], k)
    return axes


def answer_chapman_kolmogorov(
    answer: Aggregation,
    path: str | PathLike[str] | None = None,
    *,
    ax: Axes | None = None,
    steps: Any = None,
    start: int | None = None,
    colours: Sequence[str] | None = None,
) -> Axes:
    """Run and draw the Chapman-Kolmogorov test of an answer, up to three times its slowest timescale."""
    test = answer.chapman_kolmogorov(default_steps(answer) if steps is None else steps)
    colours = group_colours([answer])[0] if colours is None else colours
    return chapman_kolmogorov(test, path, ax=ax, start=start, names=answer.names, colours=colours)


def default_steps(answer: Aggregation) -> list[int]:
    """Numbers of steps in about equal ratios, up to three times the slowest timescale of the small chain."""
    slowest = answer.chain.timescales(1)
    last = 3.0 * float(slowest[0]) if len(slowest) and np.isfinite(slowest[0]) else 10.0
    most = _MAX_STEPS_SMALL if answer.original.n_states <= _SMALL_CHAIN else _MAX_STEPS_LARGE
    end = int(np.clip(last, 10, most))
    return sorted({round(step) for step in np.geomspace(1, end, _N_STEPS).tolist()})


def _curves(matrices: Floats, start: int | None) -> Floats:
    """Probabilities, steps x groups: of the diagonal, or of a row."""
    return np.asarray(np.diagonal(matrices, axis1=1, axis2=2) if start is None else matrices[:, start, :])


def _finite(curves: dict[str, Floats]) -> list[Floats]:
    return [values for values in curves.values() if np.isfinite(values).any()]


def _largest_differences(curves: dict[str, Floats]) -> list[int]:
    """Groups to draw, in ascending order: of many those in which original and aggregated chain differ the most."""
    differences = np.abs(curves["aggregated"] - curves["original"]).max(axis=0)
    return sorted(np.argsort(-differences, kind="stable")[:_MAX_CURVES].tolist())


def _draw_curve(axes: Axes, steps: Any, values: Floats, colour: str, style: Any, marker: str) -> None:
    line: Any = {"linewidth": 1.4, "markersize": 4.0, "zorder": 3, "clip_on": False}
    # Entries of a long-time chain may leave [0, 1].
    axes.plot(steps, values, color=colour, linestyle=style, marker=marker, **line)


def _set_steps(axes: Axes, steps: NDArray[np.int64], label: str = "steps t") -> None:
    """Scale the axis of steps: logarithmic for large ratios."""
    first, last = int(steps[0]), int(steps[-1])
    if last > _LOGARITHMIC * first:
        axes.set_xscale("log")
        axes.set_xlim(0.9 * first, 1.1 * last)
        _set_logarithmic_ticks(axes.xaxis, first, last)
    else:
        margin = max(0.5, 0.03 * (last - first))
        axes.set_xlim(first - margin, last + margin)
        axes.xaxis.set_major_locator(import_module("matplotlib.ticker").MaxNLocator(integer=True))
    axes.set_xlabel(label)


def _set_logarithmic_ticks(axis: Any, low: float, high: float) -> None:
    """Write the numbers of a logarithmic axis as 1, 2, 5, 10, or as powers of ten if they span more."""
    ticker = import_module("matplotlib.ticker")
    subs = (1.0, 2.0, 5.0) if high < _FEW_DECADES * low else (1.0,)
    axis.set_major_locator(ticker.LogLocator(subs=subs))
    axis.set_major_formatter(
        ticker.FuncFormatter(lambda value, _: f"{value:,g}" if 1e-3 <= value < 1e6 else f"{value:.0e}")
    )
    axis.set_minor_formatter(ticker.NullFormatter())


def _explain(
    axes: Axes, curves: dict[str, Floats], names: Sequence[str], colours: Sequence[str], n_groups: int
) -> None:
    """Add a legend of the chains above the axes, and one of the groups beside them."""
    line = import_module("matplotlib.lines").Line2D
    chains = [name for name in _CHAINS if np.isfinite(curves[name]).any()]
    handles = [
        line([], [], color=TEXT, linestyle=_CHAINS[name][1], marker=_CHAINS[name][2], markersize=4.0)
        for name in chains
    ]
    above = legend_above(axes, handles, [_CHAINS[name][0] for name in chains])
    axes.add_artist(above)
    # What is clipped has no room in the layout.
    above.set_clip_on(False)
    patches = [line([], [], color=colour, linewidth=4.0) for colour in colours]
    left_out = n_groups - len(names)
    title = "group" if not left_out else f"group ({len(names)} of {n_groups},\nlargest difference)"
    place: Any = {"loc": "upper left", "bbox_to_anchor": (1.01, 1.0), "borderaxespad": 0.0, "fontsize": 8.5}
    style: Any = {"title": title, "title_fontsize": 8.5, "alignment": "left", "handlelength": 1.2}
    add_legend(axes, patches, [cut_text(str(name), 18) for name in names], **place, **style)


def timescales(
    answer: Aggregation,
    path: str | PathLike[str] | None = None,
    *,
    ax: Axes | None = None,
    n: int | None = None,
) -> Axes:
    """Draw the slowest timescales of the original, the aggregated and the long-time chain side by side.

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
    n = min(answer.n_states + 2, 10) if n is None else check_count("n", n)
    found = {"original": answer.original.timescales(n), "aggregated": answer.chain.timescales(n)}
    # A soft map whose groups are linearly dependent has no long-time chain.
    with suppress(InvalidArgumentError, ConvergenceError):
        found["long_time"] = answer.long_time_chain.timescales(n)
    return draw_timescales(found, path, ax=ax)


def draw_timescales(
    found: dict[str, Floats], path: str | PathLike[str] | None = None, *, ax: Axes | None = None
) -> Axes:
    """Draw timescales by chain: ``original``, ``aggregated``, ``long_time``, those that there are."""
    count = max(map(len, found.values()))
    with panel(ax, path, 6.4, 4.0) as axes:
        lines = []
        for place, (name, times) in enumerate(found.items()):
            offset = 0.22 * (place - (len(found) - 1) / 2.0)
            where = np.arange(1, len(times) + 1) + offset
            style: Any = {"marker": "osD"[place], "markersize": 6.5, "linestyle": "", "zorder": 3}
            visible = np.where(times >= _MIN_TIMESCALE, times, np.nan)
            lines += axes.plot(where, visible, color=_COLOURS[name], gid=name, **style)
            if count <= _MAX_VALUES and len(found) > 1:
                _write_values(axes, where, visible, _COLOURS[name])
        shown = np.concatenate([times[times >= _MIN_TIMESCALE] for times in found.values()])
        shown = shown[np.isfinite(shown)]
        axes.set_yscale("log")
        if len(shown):
            axes.set_ylim(shown.min() / 1.6, shown.max() * 2.0)
            _set_logarithmic_ticks(axes.yaxis, shown.min(), shown.max())
        else:
            axes.set_yticks([])
            axes.text(0.5, 0.5, "no timescales", transform=axes.transAxes, ha="center", color=FAILED)
        axes.set_xticks(range(1, count + 1))
        axes.set_xlim(0.5, max(count, 1) + 0.5)
        axes.set_xlabel("timescale, slowest first")
        axes.set_ylabel("steps")
        for edge in range(1, count):
            axes.axvline(edge + 0.5, color=GRID, linewidth=0.6, zorder=0)
        tidy(axes, grid="y")
        legend_above(axes, lines, [_CHAINS[name][0] for name in found])
    return axes


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
    and cannot be resolved.

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
    lags = scan.lags.astype(float)
    with panel(ax, path, 6.4, 4.0) as axes:
        axes.set_xscale("log")
        axes.set_yscale("log")
        shown = np.where(scan.timescales >= _MIN_TIMESCALE, scan.timescales, np.nan)[:, :_MAX_CURVES]
        lines = [
            axes.plot(
                lags, times, color=KLUMP, alpha=1.0 - 0.09 * number, marker="osD^vPX*"[number], **_LAG_LINE
            )[0]
            for number, times in enumerate(shown.T)
        ]
        axes.set_xlim(lags[0] / 1.1, lags[-1] * 1.1)
        finite = shown[np.isfinite(shown)]
        low, high = (finite.min(), finite.max()) if len(finite) else (lags[0], lags[-1])
        axes.set_ylim(low / 1.6, max(high, lags[-1]) * 1.6)
        ends = np.array(axes.get_xlim())
        axes.fill_between(ends, ends, axes.get_ylim()[0], color=FAILED, alpha=0.18, linewidth=0.0, zorder=0)
        _set_logarithmic_ticks(axes.xaxis, *axes.get_xlim())
        _set_logarithmic_ticks(axes.yaxis, *axes.get_ylim())
        axes.set_xlabel("lag (steps)")
        axes.set_ylabel("timescale (steps)")
        tidy(axes, grid="both")
        legend_above(axes, lines, [f"timescale {number + 1}" for number in range(len(lines))])
    return axes
