"""Bootstraps in notebooks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from klump.chain.wording import format_count, format_percent
from klump.notebooks.budget import knows_weights
from klump.notebooks.graphs import graph_picture
from klump.notebooks.markup import cell, chip, never_raises, table, text

if TYPE_CHECKING:
    from klump.resampling import Bootstrap

# Groups that the table lists.
_MAX_ROWS = 12


@never_raises
def bootstrap_html(found: Bootstrap) -> str:
    """HTML of a bootstrap: the estimated groups, how stable they are, and intervals of costs."""
    answer = found.estimate
    title = (
        f"{format_count(answer.original.n_states, 'state')} in {format_count(answer.n_states, 'group')}, "
        f"{format_count(found.n_samples, 'sample')}"
    )
    intervals = table(("", "value", "95 % between"), found._rows(), (0,))
    notes = found._remarks()
    if answer.n_states > _MAX_ROWS:
        notes.append(f"{answer.n_states - _MAX_ROWS} of {answer.n_states} groups are not listed")
    picture = graph_picture(answer) if knows_weights(answer) else ""
    return cell(title, [picture, _groups(found), intervals], notes)


def _groups(found: Bootstrap) -> str:
    """Table of groups with the mean share of samples in which their states stay in them."""
    labels, stays = found.estimate.labels, found.stability
    rows = []
    for group, name in enumerate(found.estimate.names[:_MAX_ROWS]):
        members = labels == group
        mean = format_percent(float(np.mean(stays[members]))) if members.any() else "-"
        rows.append((chip(group), str(group), text(name, 24), str(int(members.sum())), mean))
    return table(("", "group", "name", "states", "stability"), rows, (2,))
