"""What all pictures share: colours, an empty figure, a file in the end."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from klump.errors import FileFormatError, InvalidArgumentError, MissingPackageError

if TYPE_CHECKING:
    from os import PathLike

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Distinguishable for colour-blind eyes, too; the same as in the pictures of the experiments.
KLUMP, OUTSIDE, FAILED = "#0b6fa4", "#d9822b", "#8a8f98"
TEXT, GRID = "#222222", "#dcdfe2"
# For groups: neighbours differ in lightness as well as in hue, and all are dark enough for text.
PALETTE = (
    *("#0b6fa4", "#d9822b", "#1f7a3d", "#c2185b", "#6b4fc8", "#8a7a00"),
    *("#00a39b", "#d32f2f", "#1b2f7f", "#6da32f", "#c46fd6", "#7a4522"),
)
_FORMATS = (".png", ".svg", ".pdf")


def new_figure(width: float, height: float) -> Figure:
    """Make an empty figure, or say what is needed for one."""
    return import_figure()(figsize=(width, height), layout="constrained")


def import_figure() -> type[Figure]:
    """Import matplotlib's ``Figure``; raise MissingPackageError if matplotlib is not installed."""
    try:
        figure: type[Figure] = import_module("matplotlib.figure").Figure
    except ImportError as error:
        raise MissingPackageError("pictures need matplotlib", remedy="pip install 'klump[plots]'") from error
    return figure


def finish(figure: Figure, path: str | PathLike[str] | None) -> Figure:
    """Save a figure if a path is given, and return it: the end of every ``plot`` method."""
    if path is not None:
        save(figure, path)
    return figure


def save(figure: Figure, path: str | PathLike[str]) -> None:
    """Write a picture; the suffix of the path says in which format."""
    if Path(path).suffix.lower() not in _FORMATS:
        raise InvalidArgumentError("must end in .png, .svg or .pdf", argument="path", value=str(path))
    try:
        figure.savefig(path, dpi=160, facecolor="white")
    except OSError as error:
        raise FileFormatError(f"cannot be written: {error.strerror or error}", file=str(path)) from error


def cost_symbol(beta: float | None, gamma: float) -> str:
    r"""Write the cost as a formula; without a beta, for beta in general.

    >>> cost_symbol(0.5, 0.0), cost_symbol(None, 0.2)
    ('$C_{0.5}$', '$C_{\\\\beta} + 0.2\\\\,C_G$')
    """
    name = r"\beta" if beta is None else f"{beta:g}"
    generated = rf" + {gamma:g}\,C_G" if gamma > 0.0 else ""
    return f"$C_{{{name}}}{generated}$"


def tidy(axes: Axes) -> None:
    """Take away what distracts."""
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    for side in ("left", "bottom"):
        axes.spines[side].set_color(GRID)
