"""``klump path``: one aggregation for each beta, from one annealing run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

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
)

if TYPE_CHECKING:
    from klump.aggregation import AggregationPath


def _numbers(ctx: click.Context, param: click.Parameter, value: str | None) -> list[float] | None:
    if value is None:
        return None
    try:
        betas = [float(part) for part in value.split(",")]
    except ValueError:
        raise click.BadParameter(f"{value!r} is not a list of numbers like 1,0.8,0.5") from None
    wrong = [beta for beta in betas if not 0.0 <= beta <= 1.0]
    if wrong:
        raise click.BadParameter(f"{wrong[0]:g} is not between 0 and 1")
    return betas


@click.command("path", cls=ChainCommand)
@chain_options
@n_states_option()
@click.option(
    "--betas",
    metavar="B,B,...",
    callback=_numbers,
    help="Values of beta, falling.  [default: 1, 1 - D, 1 - 2 D, ..., 0 with the step D]",
)
@gamma_option
@published_options
@search_options
@output_option("Save to OUT: .npz keeps all, .csv has the labels, .json as --json.")
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
    output: str | None,
    as_json: bool,
    quiet: bool,
) -> None:
    """Group the states for every beta from 1 down to 0, by annealing (Algorithm 2)."""
    from klump.cli import progress, records
    from klump.cli.results import deliver

    chain = source.read()
    with progress.search_progress(quiet=quiet) as shown:
        from klump import aggregation

        found = aggregation.beta_path(
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
            progress=shown.update,
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
            gamma=gamma,
            n_states=n_states,
            betas=list(found.betas),
            states=[records.name(state) for state in chain.states],
            aggregations=[records.aggregation(agg) for agg in found],
        )
    lines = None if as_json else _lines(source, found, seed)
    deliver(found, document, lines, output, quiet=quiet)


def _lines(source: ChainInput, path: AggregationPath, seed: int) -> list[str]:
    from klump.chain.wording import counted
    from klump.cli import tables

    first, numbers = path[0], {agg.n_states for agg in path}
    groups, gamma = counted(max(numbers), "group"), f", gamma {first.gamma:g}" * (first.gamma > 0)
    rows = [
        (
            f"{agg.beta:g}",
            *([str(agg.n_states)] if len(numbers) > 1 else []),
            tables.number(agg.cost),
            tables.number(agg.costs.lumpability),
            tables.number(agg.costs.predictability),
            tables.percent(agg.costs.kept),
            tables.number(agg.bisimulation.epsilon),
        )
        for agg in path
    ]
    number = ["groups"] if len(numbers) > 1 else []
    columns = ("beta", *number, "cost", "lumpability", "predictability", "kept", "epsilon")
    return [
        *tables.heading(source.path, first.original),
        f"{f'{min(numbers)} to ' * (len(numbers) > 1)}{groups} for each beta{gamma} (seed {seed}); costs in bits",
        "",
        *tables.table(columns, rows),
    ]
