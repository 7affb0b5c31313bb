"""A comparison as plain text: the same lines for ``print`` and for the terminal."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from klump.chain.wording import counted

if TYPE_CHECKING:
    from klump.comparison.comparison import Comparison, Row

WIDTH = 100
# Smaller numbers are what rounding leaves of zero.
_ROUNDING = 1e-12
# Left out, in this order, where there is no room: the cost and what is kept say most.
_DISPENSABLE = ("bottl.", "generat.", "predict.", "lumpab.", "epsilon", "seconds")
_MARKS = {
    "*": "a soft map: states may belong to several groups, so it can be cheaper than every partition; no epsilon",
    "!": "interrupted: the best found until then",
}


def lines(compared: Comparison, width: int = WIDTH) -> list[str]:
    """Heading, table, and what a reader should know."""
    parts = [textwrap.wrap(title(compared), width), table(compared, width), remarks(compared, width)]
    return [line for part in parts if part for line in (*part, "")][:-1]


def title(compared: Comparison) -> str:
    """Say what was asked."""
    groups, states = counted(compared.n_states, "group"), counted(compared.original.n_states, "state")
    gamma = f", gamma {compared.gamma:g}" * (compared.gamma > 0)
    return (
        f"{groups} of {states} at beta {compared.beta:g}{gamma}, seed {compared.random_state}, "
        f"{counted(compared.n_init, 'restart')}; costs in bits"
    )


def sections(compared: Comparison) -> dict[str, list[Row]]:
    """Rows under what is special about them; those that did as asked have no heading."""
    found = [row for row in compared if row.error is None]
    return {
        "": [row for row in found if row.as_asked and not row.soft],
        "soft maps:": [row for row in found if row.as_asked and row.soft],
        "another number of groups:": [row for row in found if not row.as_asked],
        "failed:": list(compared.failures),
    }


def table(compared: Comparison, width: int = WIDTH) -> list[str]:
    """Print a header, the rows, and in sections of their own those that did not do as asked."""
    first = max(len("method"), *(len(row.name + _mark(row)) for row in compared))
    parts = sections(compared)
    rows_found = [row for rows in parts.values() for row in rows if row.error is None]
    header, *printed = _columns(rows_found, first, width)
    found, left = [header] if printed else [], iter(printed)
    for heading, rows in parts.items():
        found += [heading] * bool(heading and rows)
        for row in rows:
            found += [next(left)] if row.error is None else _reason(row, first, width)
    return found


def _reason(row: Row, first: int, width: int) -> list[str]:
    start, room = f"{row.name:<{first}}  ", max(width, first + 30)
    return textwrap.wrap(
        start + str(row.error), room, subsequent_indent=" " * len(start), break_on_hyphens=False
    )


def _columns(rows: list[Row], first: int, width: int) -> list[str]:
    """Align names to the left and numbers to the right, as many columns as fit."""
    numbers = [_cells(row) for row in rows]
    # Generated information is of interest where it has a weight.
    header = [name for name in _HEADER if name != "generat." or any(row.gamma > 0.0 for row in rows)]
    columns = {name: [cells[name] for cells in numbers] for name in header}
    widths = {name: max(map(len, (name, *column))) for name, column in columns.items()}
    for name in _DISPENSABLE:
        if name in columns and first + sum(2 + w for w in widths.values()) > width:
            del columns[name], widths[name]
    start = [f"{name:<{first}}" for name in ("method", *(row.name + _mark(row) for row in rows))]
    aligned = [[f"{cell:>{widths[name]}}" for cell in (name, *column)] for name, column in columns.items()]
    return ["  ".join(cells) for cells in zip(start, *aligned, strict=True)]


def remarks(compared: Comparison, width: int = WIDTH) -> list[str]:
    """Explain the marks, name the versions, and what is missing."""
    marks = {mark for row in compared for mark in _mark(row)}
    found = [f"{mark} {text}" for mark, text in _MARKS.items() if mark in marks]
    best = None if compared.best is None else compared.best.aggregation
    if best is not None:
        # What was done to the chain, and what a mark has said.
        known = ("applied", "interrupted")
        found += [f"{best.method}: {note}" for note in best.notes if note.kind not in known]
    packages = dict.fromkeys((row.package, row.version) for row in compared if row.kind == "outside")
    if packages:
        found.append(f"outside: {', '.join(f'{name} {version}' for name, version in packages)}")
    if compared.not_installed:
        found.append(f"not installed: {', '.join(compared.not_installed)}; pip install 'klump[compare]'")
    if compared.not_run:
        found.append(f"interrupted before: {', '.join(compared.not_run)}")
    wrapped = (textwrap.wrap(text, width, subsequent_indent="  ", break_on_hyphens=False) for text in found)
    return [line for part in wrapped for line in part]


def bits(value: float) -> str:
    """Write a number with four decimals, unless they would say nothing.

    >>> bits(0.41379), bits(0.0000123), bits(3.5e-17), bits(-3.5e-17)
    ('0.4138', '1.2e-05', '0.0000', '0.0000')
    """
    if abs(value) < _ROUNDING:
        value = 0.0
    return f"{value:.1e}" if 0.0 < value < 0.0005 else f"{value:.4f}"


def duration(seconds: float) -> str:
    """Write seconds with the digits that mean something.

    >>> duration(0.0123), duration(4.56), duration(1234.5)
    ('0.012', '4.56', '1234')
    """
    return f"{seconds:.3f}" if seconds < 1 else f"{seconds:.2f}" if seconds < 100 else f"{seconds:.0f}"


def _mark(row: Row) -> str:
    return "*" * row.soft + "!" * row.interrupted


_HEADER = ("groups", "cost", "lumpab.", "predict.", "bottl.", "generat.", "kept", "epsilon", "seconds")


def _cells(row: Row) -> dict[str, str]:
    agg = row.aggregation
    assert agg is not None
    costs = agg.costs
    epsilon = "-" if row.epsilon is None else bits(row.epsilon)
    shown = map(bits, (agg.cost, costs.lumpability, costs.predictability, costs.bottleneck, costs.generated))
    found = (str(row.n_states), *shown, f"{100 * costs.kept:.1f} %", epsilon, duration(row.seconds))
    return dict(zip(_HEADER, found, strict=True))
