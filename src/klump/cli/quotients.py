"""Files of an answer beside ``.npz``, ``.csv`` and ``.json``: its quotient for model checkers, and a Parquet table."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from klump.errors import FileFormatError, MissingPackageError

if TYPE_CHECKING:
    from klump.aggregation import Aggregation

# Suffixes of files that get the quotient; .storm.tra is one of .tra.
QUOTIENTS = (".tra", ".drn", ".umb", ".graphml")
# Suffix of the table of the states.
TABLE = ".parquet"


def map_file(output: str) -> Path:
    """Return the file with the state map beside a quotient.

    >>> map_file("answers/die.storm.tra").name, map_file("die.drn").name
    ('die.map.csv', 'die.map.csv')
    """
    from klump.files.registry import suffix_of

    path = Path(output)
    return path.with_name(f"{path.name[: -len(suffix_of(path) or '')]}.map.csv")


def check_output(output: str | None, source: str) -> None:
    """Raise before the search if the answer cannot be written: a package is missing, or it would replace the model."""
    suffix = "" if output is None else Path(output).suffix.lower()
    if suffix == TABLE:
        for package in ("pandas", "pyarrow"):
            try:
                import_module(package)
            except ImportError as error:
                raise MissingPackageError(
                    f"Parquet files of answers need {package}", remedy=f"pip install {package}"
                ) from error
    if output is None or suffix not in QUOTIENTS:
        return
    if Path(output).exists() and Path(source).exists() and Path(output).samefile(source):
        raise click.UsageError(f"-o {output} would replace FILE, the model; choose another name")
    from klump.files.atomic import check_writable

    try:
        check_writable(map_file(output))
    except FileFormatError as error:
        raise click.UsageError(str(error)) from error


def write_quotient(agg: Aggregation, output: str) -> list[str]:
    """Write the quotient and the state map; return messages: files, and what they lack."""
    from klump.files import atomic, losses, write_chain
    from klump.files.writing import holds_rates

    quotient, states = agg.quotient, map_file(output)
    ctmc = quotient.uniformization_rate is not None and holds_rates(output)
    write_chain(quotient, output, ctmc=ctmc)
    with atomic.replacing(states) as part, part.open("w", encoding="utf-8", newline="") as stream:
        csv.writer(stream, lineterminator="\n").writerows(_map_rows(agg))
    messages = [f"saved {output}, with {', '.join([*_siblings(output), states.name])}"]
    messages += [f"the quotient is {change}" for change in quotient.applied]
    if quotient.uniformization_rate is not None:
        time = "continuous time, with rates" if ctmc else "discrete time, uniformised"
        messages.append(f"the quotient is in {time}")
    if lost := losses(quotient, output):
        messages.append(f"{output} cannot hold, and lacks: {', '.join(lost)}")
    return messages


def _siblings(output: str) -> list[str]:
    from klump.cli.inputs import parts_of

    return [part.name for part in parts_of(Path(output))[1:]]


def _map_rows(agg: Aggregation) -> Iterator[tuple[Any, ...]]:
    """Yield the state of the quotient, by its number there, of each state; for a soft map its share in each of them."""
    groups = agg.quotient.original_index
    number = dict(zip(groups.tolist(), range(len(groups)), strict=True))
    shares = agg.mapping[:, groups].T.tolist() if agg.map.labels is None else []
    yield ("state", "group", *(f"share_{label}" for label in range(len(shares))))
    restart = agg.original._attributes.restart
    added = set() if restart is None else set(restart.added.tolist())
    rows = zip(agg.original.states, agg.labels.tolist(), *shares, strict=True)
    for index, (state, group, *share) in enumerate(rows):
        if index not in added:  # the state (restart), which the model does not have
            yield (state, number[group], *share)


def write_table(agg: Aggregation, output: str) -> list[str]:
    """Write the table of the states of ``to_frame()``: state, group, mass, membership; return messages."""
    from klump.files import atomic

    frame = agg.to_frame()
    states = agg.original.states
    if not all(type(name) is str for name in states) and not all(type(name) is int for name in states):
        frame["state"] = [str(name) for name in states]
    with atomic.replacing(output) as part:
        frame.to_parquet(part, index=False)
    return [f"saved {output}"]
