"""What all pictures share: colours, an empty figure, a file in the end."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from klump.errors import FileFormatError, InvalidArgumentError, MissingPackageError

if TYPE_CHECKING:
    from os import PathLike

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Distinguishable for colour-blind eyes, too; the same as in the pictures of the experiments.
KLUMP, OUTSIDE, FAILED = "#0b6fa4", "#d9822b", "#8a8f98"
TEXT, GRID = "#222222", "#dcdfe2"


def new_figure(width: float, height: float) -> Figure:
    """Make an empty figure, or say what is needed for one."""
    try:
        figure: type[Figure] = import_module("matplotlib.figure").Figure
    except ImportError as error:
        raise MissingPackageError("pictures need matplotlib: pip install 'klump[plots]'") from error
    return figure(figsize=(width, height), layout="constrained")


def save(figure: Figure, path: str | PathLike[str]) -> None:
    """Write a picture; the suffix of the path says in which format."""
    try:
        figure.savefig(path, dpi=160, facecolor="white")
    except ValueError as error:
        raise InvalidArgumentError(f"path={str(path)!r} must end in .png, .svg or .pdf") from error
    except OSError as error:
        raise FileFormatError(f"{path}: cannot be written: {error.strerror or error}") from error


def tidy(axes: Axes) -> None:
    """Take away what distracts."""
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    for side in ("left", "bottom"):
        axes.spines[side].set_color(GRID)
