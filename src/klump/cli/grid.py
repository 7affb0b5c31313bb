"""``klump grid``: an aggregation for each number of groups and each beta."""

from __future__ import annotations

import csv
import re
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from klump.cli.commands import INTERRUPTED, ChainCommand
from klump.cli.inputs import ChainInput
from klump.cli.options import (
    beta_option,
    chain_options,
    gamma_option,
    output_option,
    printing_options,
    search_options,
)
from klump.errors import FileFormatError
from klump.search.registry import names_of

if TYPE_CHECKING:
    from klump.aggregation import AggregationGrid

_PICTURES = (".png", ".svg", ".pdf")
_COLUMNS = (
    *("n_states", "beta", "cost", "lumpability", "predictability", "generated", "kept"),
    *("epsilon", "interrupted"),
)
# More groups than this are a typing error, and listing them would fill the memory.
_MOST = 1_000_000


def _numbers(ctx: click.Context, param: click.Parameter, value: str | None) -> list[int] | None:
    """Read numbers and ranges.

    >>> _numbers(None, None, "2..4,8")
    [2, 3, 4, 8]
    """
    if value is None:
        return None
    numbers: list[int] = []
    for part in value.split(","):
        ends = re.fullmatch(r"\s*(\d+)(?:\.\.(\d+))?\s*", part)
        if ends is None:
            raise click.BadParameter(f"{value!r} is not a list of numbers of groups like 2..10 or 2,4,8")
        first, last = int(ends[1]), int(ends[2] or ends[1])
        if not 1 <= first <= last <= _MOST:
            raise click.BadParameter(f"{part.strip()!r} must go up, from 1 or more to {_MOST:,} or less")
        numbers += range(first, last + 1)
    return numbers


def _known_method(ctx: click.Context, param: click.Parameter, value: str) -> str:
    # Checked here and not by click.Choice: the registry imports numba, which help can do without.
    if value == "auto":
        return value
    known = names_of(lambda method: not method.finds_number)
    if value not in known:
        raise click.BadParameter(f"{value!r} is not one of {', '.join(known)}")
    return value


@click.command("grid", cls=ChainCommand)
@chain_options
@click.option(
    "-k",
    "--n-states",
    metavar="K..K",
    default=None,
    callback=_numbers,
    help="Numbers of groups: a range, or a list like 2,4,8.  [default: 2..10, or as many as there are states]",
)
@beta_option("betas", multiple=True)
@gamma_option
@click.option(
    "--method",
    default="auto",
    show_default=True,
    metavar="M",
    callback=_known_method,
    help="How to search: as for aggregate, but not exact.",
)
@search_options
@output_option(
    "Save to OUT: .npz keeps all, .csv has the table, .json as --json, .png, .svg or .pdf are a picture.",
    (".npz", ".json", ".csv", *_PICTURES),
)
@printing_options
def command(
    source: ChainInput,
    n_states: list[int] | None,
    betas: tuple[float, ...],
    gamma: float,
    method: str,
    n_init: int,
    seed: int,
    jobs: int | None,
    output: str | None,
    as_json: bool,
    quiet: bool,
) -> None:
    """Group the states of the chain in FILE for every number of groups, to choose one.

    Each number of groups and each beta is searched by itself, as klump aggregate would; --jobs says how many at a time.
    (klump path has one number of groups, and follows one annealing run from beta to beta.)
    """
    if output is not None and Path(output).suffix.lower() in _PICTURES and find_spec("matplotlib") is None:
        raise click.UsageError("pictures need matplotlib: pip install 'klump[plots]'")
    from klump.cli import progress, records

    chain = source.read()
    with progress.GuaranteeProgress(quiet=quiet) as shown, progress.compilation_announced(shown):
        from klump import aggregation

        found = aggregation.grid(
            chain,
            n_states,
            betas,
            method,
            n_init=n_init,
            random_state=seed,
            n_jobs=jobs,
            gamma=gamma,
            progress=partial(shown.update, "grid"),
        )
    states = [records.name(state) for state in chain.states]
    document = records.document("grid", source, chain, n_init=n_init, states=states, **found.to_dict())
    click.echo(records.written(document) if as_json else "\n".join(_lines(source, found)))
    if output is not None:
        _save(found, document, output)
        if not quiet:
            click.echo(f"klump: saved {output}", err=True)
    if found.interrupted:
        if as_json:  # the table says so itself
            click.echo("klump: interrupted: this is what was finished so far", err=True)
        click.get_current_context().exit(INTERRUPTED)


def _lines(source: ChainInput, found: AggregationGrid) -> list[str]:
    from klump.chain.wording import counted
    from klump.cli import tables

    first = found.aggregations[0]
    rows = [
        (
            str(answer.n_states),
            f"{answer.beta:g}",
            tables.number(answer.cost),
            tables.percent(answer.kept),
            "soft" if answer.map.labels is None else tables.number(answer.bisimulation.epsilon),
        )
        for answer in found
    ]
    stopped = f"interrupted: {counted(len(found.not_run), 'cell')} not run"
    return tables.blocks(
        [
            *tables.heading(source.path, found.original),
            f"method {first.method}, seed {first.random_state}{f', gamma {found.gamma:g}' * (found.gamma > 0)}; "
            "costs in bits",
        ],
        tables.table(("groups", "beta", "cost", "kept", "epsilon"), rows),
        [stopped] * found.interrupted,
    )


def _save(found: AggregationGrid, document: dict[str, Any], output: str) -> None:
    from klump.cli.records import written

    suffix = Path(output).suffix.lower()
    try:
        if suffix == ".npz":
            found.save(output)
        elif suffix == ".json":
            Path(output).write_text(written(document) + "\n", encoding="utf-8")
        elif suffix == ".csv":
            with open(output, "w", encoding="utf-8", newline="") as stream:
                writer = csv.DictWriter(stream, _COLUMNS, extrasaction="ignore", lineterminator="\n")
                writer.writeheader()
                writer.writerows(document["cells"])
        else:
            found.plot(output)
    except OSError as error:
        raise FileFormatError(f"{output}: cannot be written: {error.strerror or error}") from error
