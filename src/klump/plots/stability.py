"""Stability of groups under resampling."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

import numpy as np

from klump.chain.wording import format_count
from klump.plots.arguments import check_result
from klump.plots.figure import FAILED, KLUMP, TEXT, panel, tidy
from klump.plots.memberships import draw_shares
from klump.resampling import Bootstrap

if TYPE_CHECKING:
    from os import PathLike

    from matplotlib.axes import Axes


_REMEDY = "pass what klump.bootstrap(...) returns"


def stability(found: Bootstrap, path: str | PathLike[str] | None = None, *, ax: Axes | None = None) -> Axes:
    """Draw in which groups each state is over the bootstrap samples, as a stacked bar per state.

    A bar of one colour is a state that is in the same group in all samples; other colours are the groups in which it is
    in the other samples.

    Parameters
    ----------
    found
        The bootstrap.
    path
        File to save the figure to; its suffix (.png, .svg, .pdf) sets the format.
    ax
        Axes to draw on; new ones if left out.

    Examples
    --------
    >>> import klump
    >>> found = klump.bootstrap([[80, 15, 5], [20, 70, 10], [2, 3, 95]], 2, n_samples=50)
    >>> klump.plots.stability(found).get_ylabel()
    'share of 50 samples'
    """
    check_result("found", found, Bootstrap, _REMEDY)
    label = f"share of {format_count(found.n_samples, 'sample')}"
    return draw_shares(found.estimate, found.membership, label, path, ax=ax)


def agreement(found: Bootstrap, path: str | PathLike[str] | None = None, *, ax: Axes | None = None) -> Axes:
    """Draw the distribution of the agreement of samples with the estimate: their adjusted Rand indices.

    Parameters
    ----------
    found
        The bootstrap.
    path
        File to save the figure to; its suffix (.png, .svg, .pdf) sets the format.
    ax
        Axes to draw on; new ones if left out.

    Examples
    --------
    >>> import klump
    >>> found = klump.bootstrap([[80, 15, 5], [20, 70, 10], [2, 3, 95]], 2, n_samples=50)
    >>> klump.plots.agreement(found).get_title()
    'mean 1.00'
    """
    check_result("found", found, Bootstrap, _REMEDY)
    values = found.agreement
    low = min(0.0, float(np.floor(20.0 * values.min()) / 20.0))
    edges = np.linspace(low, 1.0, round((1.0 - low) / 0.05) + 1)
    mean = float(values.mean())
    with panel(ax, path, 5.4, 3.6) as axes:
        # An index that rounding puts above 1 belongs to the last bin.
        axes.hist(
            np.minimum(values, 1.0), edges.tolist(), color=KLUMP, edgecolor="white", linewidth=0.6, zorder=2
        )
        axes.axvline(mean, color=TEXT, linewidth=1.0, linestyle=(0, (4, 3)), zorder=3)
        axes.set_title(f"mean {mean:.2f}", color=TEXT, fontsize=9)
        axes.set_xlim(low, 1.005)
        axes.set_xlabel("adjusted Rand index with the groups of the estimate")
        axes.set_ylabel("samples")
        axes.yaxis.set_major_locator(import_module("matplotlib.ticker").MaxNLocator(integer=True))
        axes.tick_params(colors=TEXT)
        axes.axhline(0.0, color=FAILED, linewidth=0.6)
        tidy(axes, grid="y")
    return axes
