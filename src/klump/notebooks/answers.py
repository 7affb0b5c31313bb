"""Aggregations in notebooks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from klump.aggregation.layout import answer_title, group_rows
from klump.aggregation.notes import format_interruption, notes_on
from klump.chain.wording import format_count, format_number, format_percent, list_states
from klump.notebooks.budget import (
    is_small_answer,
    knows_labels,
    knows_masses,
    knows_timescales,
    knows_weights,
    why_no_masses,
)
from klump.notebooks.graphs import MAX_GROUPS, graph_picture
from klump.notebooks.markup import cell, chip, never_raises, stack, table, text
from klump.notebooks.matrices import answer_picture

if TYPE_CHECKING:
    from klump.aggregation import Aggregation

# Groups that the table lists.
_MAX_ROWS = 12
# Width of the list of members of a group, in columns.
_MEMBERS_WIDTH = 48
# Longest name of a group, in columns.
_NAME_WIDTH = 24


@never_raises
def aggregation_html(answer: Aggregation) -> str:
    """HTML of an answer: graph, ordered matrix, groups, costs and notes.

    Of chains with more than 2,000,000 transitions, and of those with more than 1,000 states whose stationary
    distribution was not computed before, only what is known is shown.

    Examples
    --------
    >>> from klump import Aggregation
    >>> answer = Aggregation.from_labels([[0.5, 0.4, 0.1], [0.4, 0.5, 0.1], [0.1, 0.1, 0.8]], [0, 0, 1])
    >>> aggregation_html(answer).count("<svg")
    2
    """
    if knows_weights(answer):
        notes: list[str] = list(notes_on(answer, timescales=knows_timescales(answer)))
        if answer.n_states > MAX_GROUPS:
            notes.append(f"no graph: more than {MAX_GROUPS} groups")
        pictures = [graph_picture(answer), answer_picture(answer)]
        return cell(answer_title(answer), [*pictures, stack(_groups(answer), _costs(answer))], notes)
    notes = [*answer.original.applied, f"{why_no_masses(answer.original)}: pictures, members, masses"]
    if answer.interrupted:
        notes.append(f"{format_interruption(answer)}: this is the best found so far")
    return cell(answer_title(answer), [stack(_sizes(answer), _costs(answer))], notes)


def _groups(answer: Aggregation) -> str:
    """Table of groups: colour, number, name if given, states, mass if there is one, and members."""
    rows = group_rows(answer, _MAX_ROWS)
    named, weighted = answer.group_names is not None, answer.original.is_irreducible
    header = ["", "group", *["name"] * named, "states", *["mass"] * weighted, "members"]
    header[-1] += ", heaviest first" if weighted else ""
    cells = [
        [
            chip(answer.identities[number]),
            str(number),
            *[text(name, _NAME_WIDTH)] * named,
            str(len(members)),
            *[mass] * weighted,
            text(list_states(members, _MEMBERS_WIDTH), _MEMBERS_WIDTH + 1) if members else "",
        ]
        for number, name, mass, members in rows
    ]
    left = {len(header) - 1, *([2] if named else [])}
    return table(header, [*cells, *_more(answer, len(header))], left)


def _sizes(answer: Aggregation) -> str:
    """Table of groups without masses and members."""
    if not knows_labels(answer):
        return ""
    # Default names need the masses of the states.
    names = answer.group_names
    sizes = np.bincount(answer.labels, minlength=answer.n_states)[:_MAX_ROWS].tolist()
    header = ["", "group", *(["name"] if names else []), "states"]
    cells = [
        [
            chip(answer.identities[number]),
            str(number),
            *([text(names[number], _NAME_WIDTH)] if names else []),
            str(size),
        ]
        for number, size in enumerate(sizes)
    ]
    return table(header, [*cells, *_more(answer, len(header))], (2,) if names else ())


def _more(answer: Aggregation, n_columns: int) -> Sequence[Sequence[str]]:
    """Row with the number of groups that are not listed."""
    left_out = answer.n_states - _MAX_ROWS
    return (
        [["", "...", *[""] * (n_columns - 3), f"+{format_count(left_out, 'group')}"]] if left_out > 0 else []
    )


def _costs(answer: Aggregation) -> str:
    """Table of costs, the kept share and epsilon, as far as they are known or cheap."""
    chain = answer.original
    cheap = is_small_answer(answer) and knows_masses(chain)
    if not cheap and "costs" not in answer.__dict__:
        return ""
    costs = answer.costs
    values = {
        "cost, bits": format_number(answer.cost),
        "kept": format_percent(costs.kept),
        "lumpability": format_number(costs.lumpability),
        "predictability": format_number(costs.predictability),
        "bottleneck": format_number(costs.bottleneck),
        "generated": format_number(costs.generated),
    }
    if answer.map.labels is not None and (cheap or "bisimulation" in answer.__dict__):
        values["epsilon"] = format_number(answer.bisimulation.epsilon)
    return table(list(values), [list(values.values())])
