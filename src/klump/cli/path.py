"""``klump path``: one aggregation per beta, from one annealing run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import click

from klump import signals
from klump.cli.checkpoints import check_checkpoint, checkpoint_options
from klump.cli.commands import ChainCommand
from klump.cli.inputs import ChainInput
from klump.cli.options import (
    chain_options,
    gamma_option,
    n_states_option,
    output_option,
    printing_options,
    published_options,
    search_options,
    time_limit_option,
)
from klump.cli.results import PICTURES, REPORT, check_picture, deliver

if TYPE_CHECKING:
    from klump.aggregation import AggregationPath


def _parse_betas(ctx: click.Context, param: click.Parameter, value: str | None) -> list[float] | None:
    if value is None:
        return None
    try:
        betas = [float(part) for part in value.split(",")]
    except ValueError:
        raise click.BadParameter(f"{value!r} is not a list of numbers like 1,0.8,0.5") from None
    invalid = [beta for beta in betas if not 0.0 <= beta <= 1.0]
    if invalid:
        raise click.BadParameter(f"{invalid[0]:g} is not between 0 and 1")
    return betas


@click.command("path", cls=ChainCommand)
@chain_options
@n_states_option()
@click.option(
    "--betas",
    metavar="B,B,...",
    callback=_parse_betas,
    help="Values of beta, in descending order.  [default: 1, 1 - D, 1 - 2 D, ..., 0 with the step D]",
)
@gamma_option
@published_options
@search_options
@time_limit_option
@output_option(
    "Save to OUT: .npz (complete), .csv (state and its group per beta), .json (as --json), a picture (.png, .svg, "
    ".pdf) or a report (.html).",
    (".npz", ".csv", ".json", *PICTURES, REPORT),
)
@checkpoint_options
@printing_options
def command(
    source: ChainInput,
    n_states: int,
    betas: list[float] | None,
    gamma: float,
    step: float,
    max_sweeps: int,
    allow_empty: bool,
    n_init: int,
    seed: int,
    jobs: int | None,
    time_limit: float | None,
    output: str | None,
    checkpoint: str | None,
    resume: bool,
    as_json: bool,
    quiet: bool,
) -> None:
    """Partition the states of the chain in FILE at every beta from 1 down to 0, by annealing (Algorithm 2)."""
    check_picture(output)
    from klump.cli import progress, records

    signals.keep_answers()
    check_checkpoint(checkpoint, resume=resume)
    chain = source.read()
    with progress.search_progress(quiet=quiet) as bars:
        from klump import aggregation

        path = aggregation.beta_path(
            chain,
            n_states,
            betas=betas,
            n_init=n_init,
            random_state=seed,
            n_jobs=jobs,
            gamma=gamma,
            step=step,
            max_sweeps=max_sweeps,
            allow_empty=allow_empty,
            time_limit=time_limit,
            checkpoint=checkpoint,
            resume=resume,
            progress=bars.callback("searching"),
        )
        document = records.document(
            "path",
            source,
            chain,
            seed=seed,
            n_init=n_init,
            step=step,
            max_sweeps=max_sweeps,
            allow_empty=allow_empty,
            time_limit=time_limit,
            gamma=gamma,
            n_groups=n_states,
            n_states=n_states,  # the old name of n_groups, kept for one version
            betas=list(path.betas),
            states=[records.name(state) for state in chain.states],
            aggregations=[records.aggregation(agg) for agg in path],
        )
    lines = None if as_json else _lines(source, path, seed)
    deliver(path, document, lines, _label_rows(path), output, quiet=quiet)


def _label_rows(path: AggregationPath) -> Iterator[Sequence[Any]]:
    """Yield each state and its group per beta."""
    yield ("state", *(f"{agg.beta:g}" for agg in path))
    yield from zip(path[0].original.states, *(agg.labels.tolist() for agg in path), strict=True)


def _lines(source: ChainInput, path: AggregationPath, seed: int) -> list[str]:
    from klump.aggregation import layout
    from klump.chain.wording import format_count
    from klump.cli import tables

    first, sizes = path[0], {agg.n_states for agg in path}
    n_groups = f"{min(sizes)} to " * (len(sizes) > 1) + format_count(max(sizes), "group")
    columns, rows = layout.path_table(path)
    # One note for all betas: one run found them, and an interruption ends it as a whole.
    interrupted = {note: None for agg in path for note in agg.notes if note.kind == "interrupted"}
    return tables.blocks(
        [
            *tables.heading(source.path, first.original),
            f"{n_groups} per beta{tables.gamma_suffix(first.gamma)} (seed {seed}); costs in bits",
        ],
        tables.table(columns, rows),
        tables.notes(interrupted, tables.terminal_width()),
    )
