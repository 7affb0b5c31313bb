"""``klump grid``: one aggregation per number of groups and beta."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from klump import signals
from klump.cli.checkpoints import check_checkpoint, checkpoint_options
from klump.cli.commands import ChainCommand
from klump.cli.inputs import ChainInput
from klump.cli.numbers import numbers_option
from klump.cli.options import (
    beta_option,
    chain_options,
    effort_option,
    gamma_option,
    method_option,
    output_option,
    printing_options,
    search_options,
    time_limit_option,
)
from klump.cli.results import PICTURES, REPORT, check_picture, deliver
from klump.search.registry import names_of

if TYPE_CHECKING:
    from klump.aggregation import AggregationGrid
    from klump.arguments import Progress
    from klump.chain import MarkovChain

# Columns of the CSV file.
_COLUMNS = (
    *("n_states", "beta", "cost", "lumpability", "predictability", "generated", "kept"),
    *("epsilon", "interrupted"),
)


@click.command("grid", cls=ChainCommand)
@chain_options
@numbers_option()
@beta_option("betas", multiple=True)
@gamma_option
@method_option(
    names_of(lambda method: not method.finds_number), "Search method, as for aggregate, except exact."
)
@search_options
@effort_option
@time_limit_option
@output_option(
    "Save to OUT: .npz (complete), .csv (table), .json (as --json), a picture (.png, .svg, .pdf) or a report (.html).",
    (".npz", ".json", ".csv", *PICTURES, REPORT),
)
@checkpoint_options
@printing_options
def command(
    source: ChainInput,
    output: str | None,
    as_json: bool,
    quiet: bool,
    **search: Any,
) -> None:
    """Partition the states of the chain in FILE into every number of groups, to choose one.

    Each cell, a number of groups and a beta, is an independent run of klump aggregate; --jobs sets the number of cells
    that run in parallel. (klump path has one number of groups, and one annealing run for all values of beta.)
    """
    check_picture(output)
    from klump.cli import progress

    signals.keep_answers()
    check_checkpoint(search["checkpoint"], resume=search["resume"])
    chain = source.read()
    with progress.GuaranteeProgress(quiet=quiet) as bars, progress.announce_compilation(bars):
        grid = search_grid(chain, bars.callback("grid"), **search)
    document = grid_document("grid", source, grid, search)
    lines = None if as_json else grid_lines(source, grid)
    deliver(grid, document, lines, _cell_rows(document["cells"]), output, quiet=quiet)


def search_grid(
    chain: MarkovChain, progress: Progress, *, seed: int, jobs: int | None, **options: Any
) -> AggregationGrid:
    """Search all cells; options have the names of the command's, which are those of :func:`klump.grid`."""
    from klump import aggregation

    return aggregation.grid(chain, random_state=seed, n_jobs=jobs, progress=progress, **options)


def grid_document(
    schema: str, source: ChainInput, grid: AggregationGrid, search: Mapping[str, Any], **content: Any
) -> dict[str, Any]:
    """JSON document of a grid, given the options of the command."""
    from klump.cli import records

    states = [records.name(state) for state in grid.original.states]
    settings = {name: search[name] for name in ("n_init", "time_limit")}
    return records.document(
        schema, source, grid.original, **content, **settings, states=states, **grid.to_dict()
    )


def _cell_rows(cells: list[dict[str, Any]]) -> Iterator[Sequence[Any]]:
    """Yield the header and one row per cell."""
    yield _COLUMNS
    yield from ([cell[name] for name in _COLUMNS] for cell in cells)


def grid_lines(source: ChainInput, grid: AggregationGrid) -> list[str]:
    """Table of all cells, as text."""
    from klump.aggregation.notes import format_interruption
    from klump.chain.wording import format_count, format_number, format_percent
    from klump.cli import tables

    first = grid.aggregations[0]
    method = first.method + tables.effort_suffix(first.effort)
    rows = [
        (
            str(agg.n_states),
            f"{agg.beta:g}",
            format_number(agg.cost),
            format_percent(agg.kept),
            "soft" if agg.map.labels is None else format_number(agg.bisimulation.epsilon),
        )
        for agg in grid
    ]
    interrupted = f"{format_interruption(grid)}: {format_count(len(grid.not_run), 'cell')} not run"
    return tables.blocks(
        [
            *tables.heading(source.path, grid.original),
            f"method {method}, seed {first.random_state}{tables.gamma_suffix(grid.gamma)}; costs in bits",
        ],
        tables.table(("groups", "beta", "cost", "kept", "epsilon"), rows),
        [interrupted] * grid.interrupted,
    )
