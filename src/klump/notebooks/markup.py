"""HTML elements with inline styles: text, tables, and the cell that holds them."""

from __future__ import annotations

import functools
import html
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any, TypeVar

import numpy as np

from klump.chain.wording import fit
from klump.views import colour_of

Result = TypeVar("Result")

# Longest text of a table cell, and of a sentence, in columns of a fixed-width font.
_CELL_WIDTH = 60
_SENTENCE_WIDTH = 600
# Longest text that is shown when a picture failed, in columns.
_FALLBACK_WIDTH = 2000

_CELL = "padding:1px 6px;vertical-align:top;border:0;background:none"
_HEAD = f"{_CELL};font-weight:normal;opacity:.65;white-space:nowrap"
_TABLE = "border-collapse:collapse;margin:0;table-layout:auto;width:auto;font-size:12px;border:0"
_OUTER = "font-size:12px;line-height:1.45;max-width:100%;overflow-x:auto"
_TITLE = "font-size:13px;font-weight:600;margin-bottom:6px"
_ROW = "display:flex;flex-wrap:wrap;gap:12px 24px;align-items:flex-start"
_NOTES = "margin-top:6px;max-width:60em;opacity:.8"


def text(value: Any, width: int = _CELL_WIDTH) -> str:
    """Escape and cut a text.

    >>> text("<b>"), text("consonants", 8)
    ('&lt;b&gt;', 'conso...')
    """
    return html.escape(fit(str(value), width))


def sentence(value: Any) -> str:
    """Escape and cut a sentence."""
    return text(value, _SENTENCE_WIDTH)


def element(tag: str, content: str = "", /, **attributes: Any) -> str:
    """Return an element with content that is HTML already; ``_`` in the name of an attribute is ``-``.

    >>> element("td", "1", style="opacity:.5")
    '<td style="opacity:.5">1</td>'
    """
    given = "".join(
        f' {name.replace("_", "-")}="{html.escape(str(value))}"'
        for name, value in attributes.items()
        if value is not None
    )
    return f"<{tag}{given}>{content}</{tag}>"


def chip(group: int) -> str:
    """Square in the colour of a group."""
    style = (
        f"display:inline-block;width:10px;height:10px;border-radius:2px;background:{colour_of(group)};"
        "outline:1px solid currentColor;outline-offset:-1px"
    )
    return element("span", "", style=style)


def table(
    header: Sequence[str],
    rows: Iterable[Sequence[str]],
    left: Collection[int] = (),
    bold: Collection[int] = (),
) -> str:
    """Table of cells that are HTML already, flush right except in the columns ``left``; rows ``bold`` stand out."""
    head = "".join(
        element("th", name, style=f"{_HEAD};{_side(number, left)}") for number, name in enumerate(header)
    )
    lines = [element("tr", head)] if any(header) else []
    body = []
    for number, row in enumerate(rows):
        weight = ";font-weight:600" if number in bold else ""
        cells = (
            element("td", cell, style=f"{_CELL};{_side(place, left)}{weight}")
            for place, cell in enumerate(row)
        )
        body.append(element("tr", "".join(cells)))
    start = element("thead", "".join(lines), style="border:0") if lines else ""
    return element("table", start + element("tbody", "".join(body)), style=_TABLE)


def _side(column: int, left: Collection[int]) -> str:
    return (
        "text-align:left;overflow-wrap:anywhere;white-space:pre-wrap"
        if column in left
        else "text-align:right;white-space:nowrap"
    )


def facts(rows: Iterable[tuple[str, str]]) -> str:
    """Table of names and values, both text."""
    lines = (
        element(
            "tr",
            element("th", text(name), scope="row", style=f"{_HEAD};text-align:left")
            + element("td", text(value, 2 * _CELL_WIDTH), style=f"{_CELL};{_side(0, (0,))}"),
        )
        for name, value in rows
    )
    return element("table", element("tbody", "".join(lines)), style=_TABLE)


def cell(title: str, parts: Iterable[str], notes: Iterable[str] = ()) -> str:
    """The whole HTML of a result: title, pictures and tables side by side, and notes; title and notes are text."""
    lines = "".join(element("div", sentence(note)) for note in notes)
    return element(
        "div",
        element("div", sentence(title), style=_TITLE)
        + element("div", "".join(element("div", part) for part in parts if part), style=_ROW)
        + (element("div", lines, style=_NOTES) if lines else ""),
        style=_OUTER,
    )


def stack(*parts: str) -> str:
    """Parts below each other."""
    style = "display:flex;flex-direction:column;gap:10px"
    return element("div", "".join(element("div", part) for part in parts if part), style=style)


def never_raises(build: Callable[[Result], str]) -> Callable[[Result], str]:
    """Show the plain text of a result if its HTML cannot be built: a notebook must not lose a result over a picture."""

    @functools.wraps(build)
    def guarded(result: Result) -> str:
        try:
            with np.errstate(all="ignore"):
                return build(result)
        except Exception as error:
            reason = f"no picture: {type(error).__name__}: {error}"
        try:
            plain = repr(result)
        except Exception:
            plain = type(result).__name__
        return element(
            "div",
            element("pre", text(plain, _FALLBACK_WIDTH)) + element("div", sentence(reason), style=_NOTES),
        )

    return guarded
