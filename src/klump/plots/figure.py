"""Shared by all pictures: colours, figures and panels, axes without clutter, saving."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from klump.files.atomic import replacing
from klump.plots.arguments import check_axes, check_path, import_matplotlib

if TYPE_CHECKING:
    from os import PathLike

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Colours, chosen to be distinguishable under colour vision deficiency.
# klump's methods.
KLUMP = "#0b6fa4"
# Methods of other tools.
OUTSIDE = "#d9822b"
# Failed methods and secondary information.
FAILED = "#8a8f98"
# Text and reference lines.
TEXT = "#222222"
# Grid lines and spines.
GRID = "#dcdfe2"
# Margin around a figure and its panels, in inches.
_PAD = 0.08
# Resolution of pictures, in pixels per inch.
_DPI = 160.0
# Settings of matplotlib in figures that klump makes: its colours are chosen for white, whatever style is active.
_STYLE = {
    **dict.fromkeys(("text.color", "axes.labelcolor", "axes.titlecolor", "xtick.color", "ytick.color"), TEXT),
    **dict.fromkeys(("xtick.labelcolor", "ytick.labelcolor", "legend.labelcolor"), TEXT),
    **dict.fromkeys(("figure.facecolor", "axes.facecolor", "savefig.facecolor"), "white"),
    **dict.fromkeys(("axes.edgecolor", "grid.color", "hatch.color"), GRID),
    "axes.grid": False,
}


@contextmanager
def own_style() -> Iterator[None]:
    """Colours of klump for what is made within, independent of the styles and settings of the caller."""
    with import_matplotlib().rc_context(_STYLE):
        yield


def new_figure(width: float, height: float) -> Figure:
    """Create an empty figure of a size in inches; without matplotlib, raise MissingPackageError."""
    return _with_layout(import_figure()(figsize=(width, height)))


def _with_layout(figure: Figure) -> Figure:
    engine = import_matplotlib("matplotlib.layout_engine").ConstrainedLayoutEngine(w_pad=_PAD, h_pad=_PAD)
    figure.set_layout_engine(engine)
    return figure


@contextmanager
def panel(
    ax: Axes | None, path: str | PathLike[str] | None, width: float = 6.4, height: float = 4.0
) -> Iterator[Axes]:
    """Axes for a picture of one panel: those of the caller, or those of a new figure of a size in inches.

    The new figure is one of pyplot, which notebooks and ``plt.show()`` display; with a path it is none of pyplot, as
    the file displays it. With a path the figure is saved after the panel is drawn.
    """
    check_path(path)
    if ax is not None:
        check_axes(ax)
        yield ax
        if path is not None:
            # The background of the caller's figure.
            save(root_figure(ax), path, facecolor="auto")
        return
    with own_style():
        if path is not None:
            figure = new_figure(width, height)
        else:
            figure = _with_layout(import_matplotlib("matplotlib.pyplot").figure(figsize=(width, height)))
        try:
            axes = figure.subplots()
            yield axes
            if path is not None:
                save(figure, path)
            else:
                settle(figure)
        except BaseException:
            if path is None:
                # Else pyplot would display what there is of the picture.
                import_matplotlib("matplotlib.pyplot").close(figure)
            raise


def axes_size(axes: Axes) -> NDArray[np.float64]:
    """Width and height of axes before the layout of the figure, in points."""
    return np.asarray(axes.get_window_extent().size) * 72.0 / axes.figure.dpi


def root_figure(axes: Axes) -> Figure:
    """Figure of axes, also if they are in a subfigure."""
    return axes.figure.figure if axes.figure is not axes.figure.figure else axes.figure


def import_figure() -> type[Figure]:
    """Import matplotlib's ``Figure``; raise MissingPackageError if matplotlib is not installed."""
    figure: type[Figure] = import_matplotlib("matplotlib.figure").Figure
    return figure


def finish(figure: Figure, path: str | PathLike[str] | None) -> Figure:
    """Save a figure if a path is given, else compute its layout, in the style that is active now; return it."""
    if path is not None:
        save(figure, path)
    else:
        settle(figure)
    return figure


def save(
    figure: Figure, path: str | PathLike[str], dpi: float = _DPI, facecolor: str | None = "white"
) -> None:
    """Write a figure to a file; the suffix of the path selects the format."""
    check_path(path)
    settle(figure)
    with replacing(path) as part:
        figure.savefig(part, dpi=dpi, facecolor=facecolor)


def settle(figure: Figure) -> None:
    """Compute the layout; names beside square axes move with it, so that it is final after a few computations."""
    for _ in range(2):
        figure.draw_without_rendering()


def cost_symbol(beta: float | None, gamma: float) -> str:
    r"""Write the cost as a formula; ``beta=None`` keeps beta as a symbol.

    >>> cost_symbol(0.5, 0.0), cost_symbol(None, 0.2)
    ('$C_{0.5}$', '$C_{\\beta} + 0.2\\,C_G$')
    """
    name = r"\beta" if beta is None else f"{beta:g}"
    generated = rf" + {gamma:g}\,C_G" if gamma > 0.0 else ""
    return f"$C_{{{name}}}{generated}$"


def tidy(axes: Axes, grid: Literal["x", "y", "both"] | None = None) -> None:
    """Hide the top and right spines, lighten the others, and draw grid lines across the named axis."""
    if grid is not None:
        axes.grid(axis=grid, color=GRID, linewidth=0.6)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    for side in ("left", "bottom"):
        axes.spines[side].set_color(GRID)
