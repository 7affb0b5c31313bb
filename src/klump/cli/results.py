"""What becomes of a result: it is printed, saved, and says if it was interrupted."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from klump.cli.commands import INTERRUPTED
from klump.cli.records import written
from klump.errors import FileFormatError

if TYPE_CHECKING:
    from klump.aggregation import Aggregation, AggregationPath


def deliver(
    result: Aggregation | AggregationPath,
    document: dict[str, Any],
    lines: Sequence[str] | None,
    output: str | None,
    *,
    quiet: bool,
) -> None:
    """Print lines, or the document if there are none, and save the result; exit if it was interrupted."""
    click.echo(written(document) if lines is None else "\n".join(lines))
    if output is not None:
        _save(result, document, output)
        if not quiet:
            click.echo(f"klump: saved {output}", err=True)
    if result.interrupted:
        if not any("interrupted:" in line for line in lines or ()):
            click.echo("klump: interrupted: this is the best found so far", err=True)
        click.get_current_context().exit(INTERRUPTED)


def _save(result: Aggregation | AggregationPath, document: dict[str, Any], output: str) -> None:
    suffix = Path(output).suffix.lower()
    try:
        if suffix == ".csv":
            with open(output, "w", encoding="utf-8", newline="") as stream:
                csv.writer(stream, lineterminator="\n").writerows(_label_rows(result))
        elif suffix == ".json":
            Path(output).write_text(written(document) + "\n", encoding="utf-8")
        else:
            result.save(output)
    except OSError as error:
        raise FileFormatError(f"{output}: cannot be written: {error.strerror or error}") from error


def _label_rows(result: Aggregation | AggregationPath) -> Iterable[Sequence[Any]]:
    """State and group (and, for a soft map, its share in each), or the groups at every beta."""
    from klump.aggregation import Aggregation

    if not isinstance(result, Aggregation):
        yield ("state", *(f"{agg.beta:g}" for agg in result))
        yield from zip(result[0].original.states, *(agg.labels.tolist() for agg in result), strict=True)
        return
    shares = result.mapping.T.tolist() if result.map.labels is None else []
    yield ("state", "group", *(f"share_{label}" for label in range(len(shares))))
    yield from zip(result.original.states, result.labels.tolist(), *shares, strict=True)
