"""Checks of what pictures are asked to draw, before a figure is made."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from os import PathLike
from pathlib import Path
from typing import Any

from klump.errors import InvalidArgumentError, MissingPackageError

# Suffixes of the file formats that pictures are saved in.
_FORMATS = (".png", ".svg", ".pdf")


def import_matplotlib(module: str = "matplotlib") -> Any:
    """Import a module of matplotlib; raise MissingPackageError if matplotlib is not installed."""
    try:
        return import_module(module)
    except ImportError as error:
        raise MissingPackageError("pictures need matplotlib", remedy="pip install 'klump[plots]'") from error


def check_result(argument: str, value: Any, kind: type | tuple[type, ...], remedy: str) -> None:
    """Raise InvalidArgumentError if a value is no result of a kind."""
    if not isinstance(value, kind):
        kinds = " or ".join(one.__name__ for one in (kind if isinstance(kind, tuple) else (kind,)))
        raise InvalidArgumentError(
            f"must be of type {kinds}, not {type(value).__name__}", argument=argument, remedy=remedy
        )


def check_path(path: Any) -> None:
    """Raise InvalidArgumentError if a path is neither None nor that of a file in a format of pictures."""
    if path is None:
        return
    if _is_axes(path):
        raise InvalidArgumentError("must be a file, not axes", argument="path", remedy="pass axes as ax=")
    if not isinstance(path, str | PathLike):
        raise InvalidArgumentError(
            "is no path of a file", argument="path", value=path, remedy='pass a path like "picture.png"'
        )
    if Path(path).suffix.lower() not in _FORMATS:
        raise InvalidArgumentError(
            "must end in .png, .svg or .pdf",
            argument="path",
            value=str(path),
            remedy=f'pass a path like "{Path(path).stem or "picture"}.png"',
        )


def check_axes(ax: Any) -> None:
    """Raise InvalidArgumentError if a value is no axes of matplotlib."""
    if not _is_axes(ax):
        raise InvalidArgumentError(
            f"must be matplotlib axes, not {type(ax).__name__}",
            argument="ax",
            remedy="pass one of the axes of plt.subplots(), or leave it out",
        )


def _is_axes(value: Any) -> bool:
    # Who has axes has imported matplotlib.
    return "matplotlib.axes" in sys.modules and isinstance(value, sys.modules["matplotlib.axes"].Axes)


def check_names(names: Any, k: int) -> list[str]:
    """Names of k groups as texts."""
    return [str(name) for name in _check_each("names", names, k, "name")]


def check_colours(colours: Any, k: int) -> list[Any]:
    """Colours of k groups that matplotlib knows."""
    found = _check_each("colours", colours, k, "colour")
    is_colour = import_matplotlib("matplotlib.colors").is_color_like
    for colour in found:
        if not is_colour(colour):
            raise InvalidArgumentError(
                f"has {colour!r}, which is no colour",
                argument="colours",
                remedy='pass names or codes of colours, like "red" or "#0b6fa4"',
            )
    return found


def _check_each(argument: str, values: Any, k: int, noun: str) -> list[Any]:
    remedy = f"pass a list of {k} {noun}{'s' * (k != 1)}, one per group"
    if isinstance(values, str) or (not isinstance(values, Sequence) and not hasattr(values, "__iter__")):
        raise InvalidArgumentError(f"is no list of {noun}s", argument=argument, value=values, remedy=remedy)
    found = list(values)
    if len(found) != k:
        raise InvalidArgumentError(
            f"has {len(found)} {noun}{'s' * (len(found) != 1)} for {k} group{'s' * (k != 1)}",
            argument=argument,
            remedy=remedy,
        )
    return found
