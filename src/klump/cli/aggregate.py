"""``klump aggregate``: find groups of states."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from klump.cli.commands import ChainCommand
from klump.cli.inputs import ChainInput
from klump.cli.options import (
    chain_options,
    n_states_option,
    output_option,
    printing_options,
    search_options,
)

if TYPE_CHECKING:
    from klump.aggregation import Aggregation


def _known_method(ctx: click.Context, param: click.Parameter, value: str) -> str:
    # Checked here and not by click.Choice: the registry imports numba, which help can do without.
    if value != "auto":
        from klump.search.registry import METHODS

        if value not in METHODS:
            raise click.BadParameter(f"{value!r} is not one of {', '.join(METHODS)}")
    return value


def _check_number(n_states: int | None, method: str) -> None:
    from klump.search.registry import FINDS_NUMBER

    if n_states is None and method not in FINDS_NUMBER:
        raise click.UsageError("Missing option '-k' / '--n-states': how many groups")
    if n_states is not None and method in FINDS_NUMBER:
        raise click.UsageError(f"-k is not for --method {method}, which finds the number of groups itself")


@click.command("aggregate", cls=ChainCommand)
@chain_options
@n_states_option(required=False)
@click.option(
    "--beta",
    type=click.FloatRange(0.0, 1.0),
    default=0.5,
    show_default=True,
    metavar="B",
    help="What to keep: from 0, groups that are Markov, to 1, groups that tell of the next state.",
)
@click.option(
    "--method",
    default="auto",
    show_default=True,
    metavar="M",
    callback=_known_method,
    help="How to search: auto, sequential, annealing, spectral, agglomerative, agglomerative-relaxed, "
    "deterministic-annealing, stochastic (soft groups) or exact (the coarsest exact lumping, without -k).",
)
@click.option(
    "--initial-labels",
    metavar="LABELS",
    type=click.Path(),
    help="A partition to start from, in a file as for score; exact keeps its groups apart.",
)
@click.option(
    "--tolerance",
    metavar="T",
    type=click.FloatRange(0.0, 1.0),
    default=1e-10,
    show_default=True,
    help="How far probabilities may differ that exact takes for equal.",
)
@search_options
@click.option("--full", is_flag=True, help="List all members of every group.")
@output_option("Save to OUT: .npz keeps all, .csv has state,group, .json as --json.")
@printing_options
def command(
    source: ChainInput,
    n_states: int | None,
    beta: float,
    method: str,
    initial_labels: str | None,
    tolerance: float,
    n_init: int,
    seed: int,
    jobs: int | None,
    full: bool,
    output: str | None,
    as_json: bool,
    quiet: bool,
) -> None:
    """Group the states of the chain in FILE, and say what is lost."""
    _check_number(n_states, method)
    from klump.cli import progress, records
    from klump.cli.labels import read_labels
    from klump.cli.results import deliver

    chain = source.read()
    initial = None if initial_labels is None else read_labels(initial_labels, chain)
    with progress.search_progress(quiet=quiet) as shown:
        from klump import aggregation

        agg = aggregation.aggregate(
            chain,
            n_states,
            beta=beta,
            method=method,
            n_init=n_init,
            random_state=seed,
            n_jobs=jobs,
            initial=initial,
            tolerance=tolerance,
            progress=shown.update,
        )
        document = records.document(
            "aggregation",
            source,
            chain,
            seed=seed,
            method=agg.method,
            states=[records.name(state) for state in chain.states],
            **records.aggregation(agg),
        )
    lines = None if as_json else _lines(source, agg, seed, full=full)
    deliver(agg, document, lines, output, quiet=quiet)


def _lines(source: ChainInput, agg: Aggregation, seed: int, *, full: bool) -> list[str]:
    from klump.cli import tables

    width = tables.terminal_width()
    k = agg.n_states
    return tables.blocks(
        [
            *tables.heading(source.path, agg.original),
            f"{k} group{'s' * (k > 1)} at beta {agg.beta:g} (method {agg.method}, seed {seed})",
        ],
        tables.groups(agg, width, full=full),
        tables.shares(agg, full=full),
        tables.costs(agg.costs, [agg.beta]) if agg.original.is_irreducible else [],
        tables.certificate(agg),
        tables.matrix(agg.chain, width),
        tables.notes(agg, width),
    )
