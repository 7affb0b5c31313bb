"""A comparison as plain text, for ``print`` and for the command line."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from klump.aggregation.notes import format_interruption, notes_on
from klump.chain.wording import format_count, format_number, format_percent, format_seconds

if TYPE_CHECKING:
    from klump.comparison.comparison import Comparison, Row

# Width of the printed table, in columns, where there is no terminal.
WIDTH = 100
# Narrowest column for the reason of a failure, in columns: on a narrower terminal its lines exceed the width.
_NARROWEST_REASON = 30
# Optional columns, in the order in which they are dropped until the table fits the width.
_OPTIONAL = ("bottl.", "generat.", "predict.", "lumpab.", "epsilon", "seconds")
# Footnotes: the mark behind a method's name, and its text.
_FOOTNOTES = {
    "*": "soft map: states may belong to several groups, so its cost can be below that of every partition; no epsilon",
    "!": "{interruption}: the best found until then",
}


def lines(compared: Comparison, width: int = WIDTH) -> list[str]:
    """Return title, table and footnotes, with an empty line between them."""
    parts = [textwrap.wrap(title(compared), width), table(compared, width), footnotes(compared, width)]
    return [line for part in parts if part for line in (*part, "")][:-1]


def title(compared: Comparison) -> str:
    """Return the arguments of the comparison on one line."""
    groups, states = (
        format_count(compared.n_states, "group"),
        format_count(compared.original.n_states, "state"),
    )
    gamma = f", gamma {compared.gamma:g}" * (compared.gamma > 0)
    return (
        f"{groups} of {states} at beta {compared.beta:g}{gamma}, seed {compared.random_state}, "
        f"{format_count(compared.n_init, 'restart')}; costs in bits"
    )


def sections(compared: Comparison) -> dict[str, list[Row]]:
    """Return the rows by section heading; partitions into the requested number of groups have an empty heading."""
    successes = [row for row in compared if row.error is None]
    return {
        "": [row for row in successes if row.as_asked and not row.soft],
        "soft maps:": [row for row in successes if row.as_asked and row.soft],
        "another number of groups:": [row for row in successes if not row.as_asked],
        "failed:": list(compared.failures),
    }


def table(compared: Comparison, width: int = WIDTH) -> list[str]:
    """Return the header, the rows, and the other sections under their headings."""
    name_width = max(len("method"), *(len(marked_name(row)) for row in compared))
    parts = sections(compared)
    successes = [row for rows in parts.values() for row in rows if row.error is None]
    header, *formatted = _format_rows(successes, name_width, width)
    printed, remaining = [header] if formatted else [], iter(formatted)
    for heading, rows in parts.items():
        printed += [heading] * bool(heading and rows)
        for row in rows:
            printed += [next(remaining)] if row.error is None else _format_failure(row, name_width, width)
    return printed


def _format_failure(row: Row, name_width: int, width: int) -> list[str]:
    start = f"{row.name:<{name_width}}  "
    return textwrap.wrap(
        start + str(row.error),
        max(width, name_width + _NARROWEST_REASON),
        subsequent_indent=" " * len(start),
        break_on_hyphens=False,
    )


def _format_rows(rows: list[Row], name_width: int, width: int) -> list[str]:
    """Return the header and the rows: names flush left, numbers flush right, without the columns that do not fit."""
    columns = number_columns(rows)
    widths = {name: max(map(len, (name, *column))) for name, column in columns.items()}
    for name in _OPTIONAL:
        if name in columns and name_width + sum(2 + w for w in widths.values()) > width:
            del columns[name], widths[name]
    start = [f"{name:<{name_width}}" for name in ("method", *map(marked_name, rows))]
    aligned = [[f"{cell:>{widths[name]}}" for cell in (name, *column)] for name, column in columns.items()]
    return ["  ".join(cells) for cells in zip(start, *aligned, strict=True)]


def number_columns(rows: list[Row]) -> dict[str, list[str]]:
    """Return the formatted numbers of rows that did not fail, by column."""
    numbers = [_cells(row) for row in rows]
    # The column of generated information is shown only if gamma > 0.
    header = [name for name in _HEADER if name != "generat." or any(row.gamma > 0.0 for row in rows)]
    return {name: [cells[name] for cells in numbers] for name in header}


def footnotes(compared: Comparison, width: int = WIDTH) -> list[str]:
    """Return the remarks, wrapped to a width."""
    wrapped = (
        textwrap.wrap(text, width, subsequent_indent="  ", break_on_hyphens=False)
        for text in remarks(compared)
    )
    return [line for part in wrapped for line in part]


def remarks(compared: Comparison, *, timescales: bool = True) -> list[str]:
    """Return the text of the marks, the notes on the best row, and packages used, not installed or not run.

    Without ``timescales`` the note that takes most time is left out.
    """
    marks = {mark for row in compared for mark in _mark(row)}
    interruption = format_interruption(compared)
    texts = [
        f"{mark} {text.format(interruption=interruption)}"
        for mark, text in _FOOTNOTES.items()
        if mark in marks
    ]
    best = None if compared.best is None else compared.best.aggregation
    if best is not None:
        # The heading states what was applied to the chain, the mark ! that the method was interrupted.
        stated = ("applied", "interrupted")
        notes = notes_on(best, timescales=timescales)
        texts += [f"{best.method}: {note}" for note in notes if note.kind not in stated]
    packages = dict.fromkeys((row.package, row.version) for row in compared if row.kind == "outside")
    if packages:
        texts.append(f"outside: {', '.join(f'{name} {version}' for name, version in packages)}")
    if compared.not_installed:
        texts.append(f"not installed: {', '.join(compared.not_installed)}; pip install 'klump[compare]'")
    if compared.not_run:
        texts.append(f"{format_interruption(compared)} before: {', '.join(compared.not_run)}")
    return texts


def marked_name(row: Row) -> str:
    """Return the name of a method with its marks."""
    return row.name + _mark(row)


def _mark(row: Row) -> str:
    return "*" * row.soft + "!" * row.interrupted


_HEADER = ("groups", "cost", "lumpab.", "predict.", "bottl.", "generat.", "kept", "epsilon", "seconds")


def _cells(row: Row) -> dict[str, str]:
    """Return the formatted numbers of a row by column."""
    agg = row.aggregation
    assert agg is not None
    costs = agg.costs
    bits = (agg.cost, costs.lumpability, costs.predictability, costs.bottleneck, costs.generated)
    cells = (
        str(row.n_states),
        *map(format_number, bits),
        format_percent(costs.kept),
        "-" if row.epsilon is None else format_number(row.epsilon),
        format_seconds(row.seconds),
    )
    return dict(zip(_HEADER, cells, strict=True))
