"""The Chapman-Kolmogorov test: probabilities of groups after t steps, of the original and the small chains."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from klump.arguments import check_count
from klump.dynamics import ChapmanKolmogorov
from klump.errors import InvalidArgumentError
from klump.plots.arguments import check_colours, check_names, check_result
from klump.plots.figure import TEXT, panel, tidy
from klump.plots.lines import CHAINS, MARKERS, set_logarithmic_ticks
from klump.plots.text import add_legend, count_repeats, cut_all, cut_text, legend_above, plain
from klump.views import colour_of, group_colours

if TYPE_CHECKING:
    from os import PathLike

    from matplotlib.axes import Axes

    from klump.aggregation import Aggregation

Floats = NDArray[np.float64]

# Most groups with curves of their own.
_MAX_CURVES = 8
# An axis is logarithmic if the largest value exceeds the smallest by this factor.
_LOGARITHMIC = 20.0
# Largest default number of steps of the Chapman-Kolmogorov test: of chains whose powers are squared, and of others.
_MAX_STEPS_SMALL = 10_000
_MAX_STEPS_LARGE = 100
# Largest number of states of a chain whose powers are squared.
_SMALL_CHAIN = 2_000
# Number of default steps of the Chapman-Kolmogorov test.
_N_STEPS = 24
# Entries of a long-time chain may leave [0, 1], those of a nearly singular one by far: what is outside is not drawn.
_EXTENT = (-0.5, 1.5)
# Largest number of markers on a curve of a small chain.
_N_MARKERS = 6


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
    difference are drawn. Groups with the same colour have different markers.

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
    check_result("test", test, ChapmanKolmogorov, "pass what answer.chapman_kolmogorov(...) returns")
    k = test.original.shape[1]
    if start is not None and not 0 <= check_count("start", start, least=0) < k:
        raise InvalidArgumentError(
            f"is no group of this test, which has {k}",
            argument="start",
            value=start,
            remedy=f"pass 0 to {k - 1}",
        )
    names = check_names(range(k) if names is None else names, k)
    colours = check_colours(map(colour_of, range(k)) if colours is None else colours, k)
    curves = {name: _curves(getattr(test, name), start) for name in CHAINS}
    shown = _largest_differences(curves)
    markers = [MARKERS[number % len(MARKERS)] for number in count_repeats(colours)]
    with panel(ax, path, 7.2, 4.2) as axes:
        for group in shown:
            for name, (_, style, _) in CHAINS.items():
                if np.isfinite(curves[name]).any():
                    marker = markers[group] if name == "original" or markers[group] != MARKERS[0] else ""
                    hollow = name != "original"
                    _draw_curve(
                        axes, test.steps, curves[name][:, group], colours[group], style, marker, hollow=hollow
                    )
        _set_steps(axes, test.steps)
        start_name = "the same group" if start is None else f"group {cut_text(names[start], 16)}"
        axes.set_ylabel("probability of the group\n" + f"after a start in {start_name}", **plain())
        values = np.concatenate([values[:, shown].ravel() for values in _within(curves)])
        axes.set_ylim(1.05 * min(0.0, float(np.nanmin(values))), 1.08 * float(np.nanmax(values)))
        tidy(axes, grid="both")
        _explain_chains(axes, curves)
        cut = cut_all(names, 18)
        _explain_groups(axes, [(cut[group], colours[group], markers[group]) for group in shown], k)
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


def _within(curves: dict[str, Floats]) -> list[Floats]:
    """Curves that the axes show as a whole."""
    return [values for values in curves.values() if np.isfinite(values).any() and not _leaves(values)]


def _largest_differences(curves: dict[str, Floats]) -> list[int]:
    """Groups to draw, in ascending order: of many those in which original and aggregated chain differ the most."""
    differences = np.abs(curves["aggregated"] - curves["original"]).max(axis=0)
    return sorted(np.argsort(-differences, kind="stable")[:_MAX_CURVES].tolist())


def _draw_curve(
    axes: Axes, steps: Any, values: Floats, colour: str, style: Any, marker: str, *, hollow: bool
) -> None:
    line: Any = {"linewidth": 1.4, "markersize": 4.0, "zorder": 3, "clip_on": False}
    if hollow:
        line |= {"markerfacecolor": "white", "markevery": max(1, len(steps) // _N_MARKERS)}
    if _leaves(values):
        line["clip_on"] = True
    axes.plot(steps, values, color=colour, linestyle=style, marker=marker, **line)


def _leaves(values: Floats) -> bool:
    """Whether some values are too far outside [0, 1] to be drawn."""
    return bool((values < _EXTENT[0]).any() or (values > _EXTENT[1]).any())


def _set_steps(axes: Axes, steps: NDArray[np.int64], label: str = "steps t") -> None:
    """Scale the axis of steps: logarithmic for large ratios."""
    first, last = int(steps[0]), int(steps[-1])
    if last > _LOGARITHMIC * first:
        axes.set_xscale("log")
        axes.set_xlim(0.9 * first, 1.1 * last)
        set_logarithmic_ticks(axes.xaxis, first, last)
    else:
        margin = max(0.5, 0.03 * (last - first))
        axes.set_xlim(first - margin, last + margin)
        axes.xaxis.set_major_locator(import_module("matplotlib.ticker").MaxNLocator(integer=True))
    axes.set_xlabel(label)


def _explain_chains(axes: Axes, curves: dict[str, Floats]) -> None:
    """Add a legend of the chains above the axes."""
    line = import_module("matplotlib.lines").Line2D
    chains = [name for name in CHAINS if np.isfinite(curves[name]).any()]
    handles = [
        line([], [], color=TEXT, linestyle=CHAINS[name][1], marker=CHAINS[name][2], markersize=4.0)
        for name in chains
    ]
    names = [CHAINS[name][0] + " (leaves the axes)" * _leaves(curves[name]) for name in chains]
    above = legend_above(axes, handles, names)
    axes.add_artist(above)
    # What is clipped has no room in the layout.
    above.set_clip_on(False)


def _explain_groups(axes: Axes, groups: Sequence[tuple[str, str, str]], n_groups: int) -> None:
    """Add a legend of the groups, each a name, a colour and a marker, beside the axes."""
    line = import_module("matplotlib.lines").Line2D
    handles = [
        line([], [], color=colour, linewidth=4.0)
        if marker == MARKERS[0]
        else line([], [], color=colour, linewidth=1.4, marker=marker, markersize=6.0)
        for _, colour, marker in groups
    ]
    few = len(groups) == n_groups
    title = "group" if few else f"group ({len(groups)} of {n_groups},\nlargest difference)"
    place: Any = {"loc": "upper left", "bbox_to_anchor": (1.01, 1.0), "borderaxespad": 0.0, "fontsize": 8.5}
    style: Any = {"title": title, "title_fontsize": 8.5, "alignment": "left", "handlelength": 1.2}
    add_legend(axes, handles, [name for name, *_ in groups], **place, **style)
