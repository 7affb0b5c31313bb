"""Results to files."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from klump.cli.records import written
from klump.errors import FileFormatError

if TYPE_CHECKING:
    from klump.aggregation import Aggregation, AggregationPath


def save_aggregation(agg: Aggregation, output: str, document: dict[str, Any]) -> None:
    """Save an aggregation; the suffix says how."""
    rows = zip(agg.original.states, agg.labels.tolist(), strict=True)
    _save(agg, output, document, ["state", "group"], rows)


def save_path(path: AggregationPath, output: str, document: dict[str, Any]) -> None:
    """Save a path of aggregations; a table has a column of labels for each beta."""
    aggregations = list(path)
    header = ["state", *(f"{agg.beta:g}" for agg in aggregations)]
    columns = (agg.labels.tolist() for agg in aggregations)
    _save(path, output, document, header, zip(aggregations[0].original.states, *columns, strict=True))


def _save(
    result: Any, output: str, document: dict[str, Any], header: Sequence[str], rows: Iterable[Sequence[Any]]
) -> None:
    suffix = Path(output).suffix.lower()
    try:
        if suffix == ".csv":
            with open(output, "w", encoding="utf-8", newline="") as stream:
                writer = csv.writer(stream, lineterminator="\n")
                writer.writerow(header)
                writer.writerows(rows)
        elif suffix == ".json":
            Path(output).write_text(written(document) + "\n", encoding="utf-8")
        else:
            result.save(output)
    except OSError as error:
        raise FileFormatError(f"{output}: cannot be written: {error.strerror or error}") from error
