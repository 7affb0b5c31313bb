"""Small pictures of curves, and bars in tables."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from klump.chain.wording import format_number
from klump.notebooks.markup import chip, element, text
from klump.views import colour_of

# Size of the plane of a picture, and its margins, in pixels.
_WIDTH, _HEIGHT = 200, 110
_LEFT, _TOP, _RIGHT, _BOTTOM = 44, 8, 12, 32
# Most points of a curve that have markers.
_MAX_MARKERS = 40
# Most points of a curve that are drawn; of more, equally spaced ones.
_MAX_POINTS = 200
# Most curves.
MAX_CURVES = 6
# Size of a bar in a table, in pixels.
_BAR_WIDTH, _BAR_HEIGHT = 80, 9


@dataclass(frozen=True)
class Curve:
    """Values of one quantity."""

    name: str
    x: Sequence[float]
    y: Sequence[float]
    colour: int
    """Number of the colour."""


def curves_picture(curves: Sequence[Curve], x_name: str, words: str, *, falling: bool = False) -> str:
    """Picture of curves in bits, with a legend below.

    Parameters
    ----------
    curves
        Curves; values that are not finite interrupt them.
    x_name
        Name of the horizontal axis.
    words
        Description for readers who cannot see it.
    falling
        Whether the horizontal axis goes from the largest value to the smallest.
    """
    points = [(x, y) for curve in curves for x, y in zip(curve.x, curve.y, strict=True) if math.isfinite(y)]
    if not points:
        return ""
    first, last = min(x for x, _ in points), max(x for x, _ in points)
    if falling:
        first, last = last, first
    low, high = min(0.0, *(y for _, y in points)), max(0.0, *(y for _, y in points))
    high = high if high > low else low + 1.0

    def place(x: float, y: float) -> tuple[float, float]:
        share = 0.5 if first == last else (x - first) / (last - first)
        return _LEFT + share * _WIDTH, _TOP + (high - y) / (high - low) * _HEIGHT

    drawn = "".join(_curve(curve, place) for curve in curves)
    legend = "".join(
        element("span", f"{chip(curve.colour)} {text(curve.name, 40)}", style="white-space:nowrap")
        for curve in curves
    )
    picture = element(
        "svg",
        element("title", text(words, 200)) + _axes(x_name, first, last, low, high) + drawn,
        width=_LEFT + _WIDTH + _RIGHT,
        height=_TOP + _HEIGHT + _BOTTOM,
        role="img",
        aria_label=words,
        style="display:block;max-width:100%",
    )
    style = (
        f"display:flex;flex-wrap:wrap;gap:0 12px;max-width:{_LEFT + _WIDTH + _RIGHT}px;padding-left:{_LEFT}px"
    )
    return picture + element("div", legend, style=style + ";box-sizing:border-box")


def _axes(x_name: str, first: float, last: float, low: float, high: float) -> str:
    bottom, end = _TOP + _HEIGHT, _LEFT + _WIDTH
    line = element(
        "path",
        d=f"M{_LEFT} {_TOP}V{bottom}H{end}",
        style="fill:none;stroke:currentColor;stroke-opacity:.4",
    )
    marks = [
        (_LEFT - 5, _TOP + 4, "end", format_number(high)),
        (_LEFT - 5, bottom + 3, "end", "0" if low == 0.0 else format_number(low)),
        (_LEFT - 5, (_TOP + bottom) / 2 + 4, "end", "bits"),
        (_LEFT + _WIDTH / 2, bottom + 26, "middle", x_name),
    ]
    if first == last:
        marks.append((_LEFT + _WIDTH / 2, bottom + 13, "middle", f"{first:g}"))
    else:
        marks += [
            (_LEFT, bottom + 13, "middle", f"{first:g}"),
            (end, bottom + 13, "middle", f"{last:g}"),
        ]
    texts = "".join(
        element("text", text(label), x=f"{x:g}", y=f"{y:g}", style=f"text-anchor:{anchor}")
        for x, y, anchor, label in marks
    )
    return line + element("g", texts, style="fill:currentColor;fill-opacity:.75;font-size:10px")


def _curve(curve: Curve, place: Callable[[float, float], tuple[float, float]]) -> str:
    """Lines through successive finite values, and markers if they are few."""
    values = list(zip(curve.x, curve.y, strict=True))
    every = -(-len(values) // _MAX_POINTS)
    parts: list[list[str]] = [[]]
    for x, y in values[::every]:
        if math.isfinite(y):
            parts[-1].append("{:.1f},{:.1f}".format(*place(x, y)))
        elif parts[-1]:
            parts.append([])
    colour = colour_of(curve.colour)
    style = f"fill:none;stroke:{colour};stroke-width:1.8;stroke-linejoin:round"
    drawn = [element("polyline", points=" ".join(part), style=style) for part in parts if len(part) > 1]
    if len(values) <= _MAX_MARKERS:
        centres = (point.split(",") for part in parts for point in part)
        drawn += [element("circle", cx=x, cy=y, r=2.4, fill=colour) for x, y in centres]
    return "".join(drawn)


def bar(value: float, highest: float, *, best: bool = False) -> str:
    """Bar in a table whose length is the share of the highest value."""
    share = value / highest if highest > 0.0 and math.isfinite(value) else 0.0
    width = f"{_BAR_WIDTH * min(max(share, 0.0), 1.0):.1f}"
    paint = {"fill": "currentColor", "fill_opacity": ".8" if best else ".35"}
    words = f"{100 * share:.0f} % of the highest cost"
    return element(
        "svg",
        element("title", words) + element("rect", width=width, height=_BAR_HEIGHT, rx=1.5, **paint),
        width=_BAR_WIDTH,
        height=_BAR_HEIGHT,
        role="img",
        aria_label=words,
        style="vertical-align:baseline",
    )
