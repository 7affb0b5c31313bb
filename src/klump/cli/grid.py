"""``klump grid``: one aggregation per number of groups and beta."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
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
    n_states: list[int] | None,
    betas: tuple[float, ...],
    gamma: float,
    method: str,
    n_init: int,
    seed: int,
    jobs: int | None,
    effort: str,
    time_limit: float | None,
    output: str | None,
    checkpoint: str | None,
    resume: bool,
    as_json: bool,
    quiet: bool,
) -> None:
    """Partition the states of the chain in FILE into every number of groups, to choose one.

    Each cell, a number of groups and a beta, is an independent run of klump aggregate; --jobs sets the number of cells
    that run in parallel. (klump path has one number of groups, and one annealing run for all values of beta.)
    """
    check_picture(output)
    from klump.cli import progress, records

    signals.keep_answers()
    check_checkpoint(checkpoint, resume=resume)
    chain = source.read()
    with progress.GuaranteeProgress(quiet=quiet) as bars, progress.announce_compilation(bars):
        from klump import aggregation

        grid = aggregation.grid(
            chain,
            n_states,
            betas,
            method,
            n_init=n_init,
            random_state=seed,
            n_jobs=jobs,
            gamma=gamma,
            effort=effort,
            time_limit=time_limit,
            checkpoint=checkpoint,
            resume=resume,
            progress=bars.callback("grid"),
        )
    states = [records.name(state) for state in chain.states]
    document = records.document(
        "grid", source, chain, n_init=n_init, time_limit=time_limit, states=states, **grid.to_dict()
    )
    lines = None if as_json else grid_lines(source, grid)
    deliver(grid, document, lines, _cell_rows(document["cells"]), output, quiet=quiet)


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
