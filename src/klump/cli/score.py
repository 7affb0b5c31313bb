"""``klump score``: the costs of a given partition, from any tool."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from klump import signals
from klump.cli.commands import ChainCommand
from klump.cli.inputs import ChainInput, read_recorded
from klump.cli.options import chain_options, gamma_option, output_option, printing_options, seed_option
from klump.cli.results import PICTURES, REPORT, check_picture, deliver
from klump.errors import InvalidArgumentError, Setting

if TYPE_CHECKING:
    from klump.aggregation import Aggregation
    from klump.guarantees import Guarantees, MonteCarlo


@click.command("score", cls=ChainCommand)
@chain_options
@click.argument("labels", type=click.Path())
@click.option(
    "--beta",
    "betas",
    metavar="B",
    type=click.FloatRange(0.0, 1.0),
    multiple=True,
    default=(0.5,),
    show_default="0.5",
    help="Beta of a cost to report; may be repeated.",
)
@gamma_option
@click.option(
    "--guarantees", is_flag=True, help="Also report lower and upper bounds over all times; takes seconds."
)
@click.option(
    "--horizon",
    metavar="T",
    type=click.IntRange(0, 2**63 - 1),
    help="Also report upper bounds on the total variation between the distributions of T + 1 successive groups in the "
    "original and the aggregated chain: from any start, and with --guarantees from a stationary start.",
)
@seed_option
@output_option(
    "Save to OUT: .json (as --json), a picture of matrix and groups (.png, .svg, .pdf) or a report (.html).",
    (".json", *PICTURES, REPORT),
)
@printing_options
def command(
    source: ChainInput,
    labels: str,
    betas: tuple[float, ...],
    gamma: float,
    guarantees: bool,
    horizon: int | None,
    seed: int,
    output: str | None,
    as_json: bool,
    quiet: bool,
) -> None:
    """Report the costs of the partition in LABELS of the chain in FILE.

    LABELS is a .csv file with the columns state,group, a .json list (or the output of --json), a .npy array, an .npz
    file that klump aggregate saved, or a text file with one label per line.
    """
    _check_seed(guarantees=guarantees)
    check_picture(output)
    from klump.cli import progress, records
    from klump.cli.labels import read_labels

    signals.keep_answers()
    chain = source.read()
    given, labels_input = read_recorded(labels, partial(read_labels, labels, chain))
    with progress.announce_compilation(progress.SearchProgress(quiet=quiet)):
        from klump.aggregation import Aggregation

        agg = Aggregation.from_labels(chain, given, beta=betas[0], gamma=gamma)
        lumpable = _is_lumpable(agg)
        if horizon is not None and lumpable is None and not guarantees:
            raise InvalidArgumentError(
                "needs a partition for the bound from any start, and the map is soft",
                argument="horizon",
                value=horizon,
                remedy=("pass ", Setting("guarantees"), " for the bound from a stationary start"),
                file=labels,
            )
        document = records.document(
            "score",
            source,
            chain,
            labels_input=labels_input,
            lumpable=lumpable,
            at=[
                {"beta": beta, "cost": agg.costs.at(beta, gamma) if chain.is_irreducible else None}
                for beta in betas
            ],
            states=[records.name(state) for state in chain.states],
            **records.aggregation(agg),
        )
    signals.note_answer()
    bounds = _compute_bounds(agg, seed, quiet=quiet) if guarantees else None
    document["interrupted"] = signals.is_recorded()
    if horizon is not None:
        document["horizon"] = records.horizon(agg, horizon, None if bounds is None else bounds[0])
    if bounds is not None:
        document["guarantees"] = records.guarantees(*bounds, betas, seed)
    lines = None if as_json else _lines(source, labels, agg, betas, horizon, lumpable, bounds)
    deliver(agg, document, lines, (), output, quiet=quiet)


def _check_seed(*, guarantees: bool) -> None:
    given = click.get_current_context().get_parameter_source("seed") is ParameterSource.COMMANDLINE
    if given and not guarantees:
        raise click.UsageError(
            "--seed applies to the simulation of --guarantees; pass --guarantees, or leave --seed out"
        )


def _is_lumpable(agg: Aggregation) -> bool | None:
    """Whether the partition is an exact lumping; None for a soft map."""
    from klump.aggregation import is_lumpable

    return None if agg.map.labels is None else is_lumpable(agg.original, agg.map.labels)


def _compute_bounds(agg: Aggregation, seed: int, *, quiet: bool) -> tuple[Guarantees, MonteCarlo | None]:
    """Compute bounds and simulation; after a signal, the bounds so far and no simulation."""
    from klump.cli.progress import GuaranteeProgress

    with GuaranteeProgress(quiet=quiet) as bars:
        found = agg.guarantees_within(progress=bars.interruptible_callback("bounds"))
        try:
            signals.check()
            simulated = agg.monte_carlo(random_state=seed, progress=bars.interruptible_callback("simulation"))
        except signals.Interrupted:
            return found, None
    return found, simulated


def _lines(
    source: ChainInput,
    labels: str,
    agg: Aggregation,
    betas: tuple[float, ...],
    horizon: int | None,
    lumpable: bool | None,
    bounds: tuple[Guarantees, MonteCarlo | None] | None,
) -> list[str]:
    from klump.chain.wording import format_count
    from klump.cli import tables

    width = tables.terminal_width()
    found = None if bounds is None else bounds[0]
    return tables.blocks(
        [*tables.heading(source.path, agg.original), f"{labels}: {format_count(agg.n_states, 'group')}"],
        tables.costs(agg.costs, betas, width, agg.gamma) if agg.original.is_irreducible else [],
        tables.certificate(agg, width, lumpable),
        [] if horizon is None else tables.horizon(agg, horizon, found, width),
        [] if bounds is None else tables.guarantees(*bounds, betas, width),
        tables.notes(agg.notes, width),
        ["interrupted: these are the bounds found so far"] * signals.is_recorded(),
    )
