"""Options of a FILE that is a table: which columns it has."""

from __future__ import annotations

from typing import Any

import click

from klump.cli.inputs import STANDARD_INPUT, TableColumns


def table_columns(
    events: dict[str, str | None],
    transitions: dict[str, str | None],
    memory_limit: str | None,
) -> TableColumns | None:
    """Columns of a table of events or of transitions; None if no column is named."""
    named = [
        {name: column for name, column in part.items() if column is not None}
        for part in (events, transitions)
    ]
    if not any(named):
        if memory_limit is not None:
            raise click.UsageError("--memory-limit is for tables; name their columns, or leave it out")
        return None
    if all(named):
        raise click.UsageError(
            "--state, --session and --time are for tables of events, --source, --target and --weight for tables of "
            "transitions; leave out one of the two"
        )
    given, needed = (named[0], ["state"]) if named[0] else (named[1], ["source", "target"])
    missing = [name for name in needed if name not in given]
    if missing:
        raise click.UsageError(
            f"--{next(iter(given))} needs --{missing[0]} as well, the column of {_WHAT[missing[0]]}"
        )
    return TableColumns(given, memory_limit)


_WHAT = {"state": "states", "source": "source states", "target": "target states"}


def check_table(file: str, **options: Any) -> None:
    """Refuse options that are for files of chains, and standard input, whose name has no suffix to go by."""
    reasons = {
        "normalize": "the weights of tables are always normalized",
        "format": "that of a table is told by its suffix",
        "ctmc": "tables hold counts, not rates",
    }
    for name, reason in reasons.items():
        if options[name]:
            raise click.UsageError(f"--{name} is for files of chains: {reason}")
    if file == STANDARD_INPUT:
        raise click.UsageError("tables are not read from standard input; pass the name of a file")
