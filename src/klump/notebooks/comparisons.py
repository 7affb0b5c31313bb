"""Comparisons of methods and selections of a number of groups in notebooks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from klump.aggregation.notes import format_interruption
from klump.chain.wording import format_count, format_seconds
from klump.comparison.table import marked_name, number_columns, remarks, sections, title
from klump.notebooks.budget import can_compare, knows_timescales, knows_weights, why_no_masses
from klump.notebooks.curves import bar
from klump.notebooks.graphs import graph_picture
from klump.notebooks.markup import cell, element, never_raises, table, text
from klump.notebooks.searches import cost_curves

if TYPE_CHECKING:
    from klump.comparison import Comparison, Row
    from klump.selection import Selection

# Most rows of the table of a selection.
_MAX_ROWS = 40
# Longest name of a method, and longest reason of a failure, in columns.
_NAME_WIDTH = 32
_REASON_WIDTH = 200


@never_raises
def comparison_html(compared: Comparison) -> str:
    """HTML of a comparison: a row per method with a bar for its cost, the best in bold, failures, and remarks.

    Examples
    --------
    >>> import klump
    >>> P = [[0.5, 0.4, 0.1, 0.0], [0.4, 0.5, 0.0, 0.1], [0.1, 0.0, 0.4, 0.5], [0.0, 0.1, 0.5, 0.4]]
    >>> compared = klump.compare(P, n_states=2, methods=["auto", "sequential"], outside=False)
    >>> comparison_html(compared).count("<svg")
    2
    """
    found = [row for rows in sections(compared).values() for row in rows if row.error is None]
    answers = [row.aggregation for row in found if row.aggregation is not None]
    cheap = can_compare(answers)
    notes = list(compared.original.applied)
    timescales = all(knows_timescales(answer) for answer in answers)
    notes += (
        remarks(compared, timescales=timescales) if cheap else [f"{why_no_masses(compared.original)}: costs"]
    )
    parts = [_methods(compared, found, cheap=cheap) if found else "", _failures(compared)]
    return cell(title(compared), parts, notes)


def _methods(compared: Comparison, found: list[Row], *, cheap: bool) -> str:
    """Table of the methods that did not fail, in sections."""
    if cheap:
        columns = {"": _bars(compared, found), **number_columns(found)}
    else:
        columns = {
            "groups": [str(row.n_states) for row in found],
            "seconds": [format_seconds(row.seconds) for row in found],
        }
    cells = {
        id(row): [text(marked_name(row), _NAME_WIDTH), *values]
        for row, *values in zip(found, *columns.values(), strict=True)
    }
    lines, bold = [], []
    for heading, rows in sections(compared).items():
        shown = [row for row in rows if row.error is None]
        if heading and shown:
            lines.append([element("em", text(heading)), *[""] * len(columns)])
        for row in shown:
            bold += [len(lines)] if row is compared.best else []
            lines.append(cells[id(row)])
    return table(["method", *columns], lines, (0, 1) if cheap else (0,), bold)


def _bars(compared: Comparison, rows: list[Row]) -> list[str]:
    costs = [0.0 if row.cost is None else row.cost for row in rows]
    return [bar(cost, max(costs), best=row is compared.best) for row, cost in zip(rows, costs, strict=True)]


def _failures(compared: Comparison) -> str:
    rows = [(text(row.name, _NAME_WIDTH), text(row.error, _REASON_WIDTH)) for row in compared.failures]
    return table(("failed", "reason"), rows, (0, 1)) if rows else ""


@never_raises
def selection_html(selection: Selection) -> str:
    """HTML of a selection: the recommendation and its reason, the evidence, costs, and the recommended groups."""
    answer = selection.aggregation
    found = (
        "no clear answer"
        if answer is None
        else f"{format_count(answer.n_states, 'group')} at beta = {answer.beta:g}"
    )
    rows = list(selection.table)
    header, cells = selection.table.cells() if rows else ([], [])
    chosen = [
        number
        for number, row in enumerate(rows)
        if answer is not None and (row.n_states, row.beta) == (answer.n_states, answer.beta)
    ]
    picture, left_out = _selection_curves(selection) if rows else ("", [])
    graph = graph_picture(answer) if answer is not None and knows_weights(answer) else ""
    notes = [selection.reason, *selection.notes, *left_out]
    if len(rows) > _MAX_ROWS:
        notes.append(f"{len(rows) - _MAX_ROWS} of {len(rows)} rows are not shown")
    if selection.interrupted:
        notes.append(f"{format_interruption(selection)}: this is what was found so far")
    shown = table(header, [[text(value) for value in line] for line in cells[:_MAX_ROWS]], bold=chosen)
    states = format_count(selection.original.n_states, "state")
    return cell(f"{states}: {found}", [picture, graph, shown if rows else ""], notes)


def _selection_curves(selection: Selection) -> tuple[str, list[str]]:
    rows = list(selection.table)
    numbers = tuple(sorted({row.n_states for row in rows}))
    betas = tuple(dict.fromkeys(row.beta for row in rows))
    costs = np.full((len(numbers), len(betas)), np.nan)
    for row in rows:
        costs[numbers.index(row.n_states), betas.index(row.beta)] = row.cost
    return cost_curves(numbers, betas, costs)
