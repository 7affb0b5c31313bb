"""``klump score``: what any partition costs, whichever tool it comes from."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from klump.cli.commands import ChainCommand
from klump.cli.inputs import ChainInput, file_record
from klump.cli.options import chain_options, gamma_option, printing_options, seed_option
from klump.errors import InvalidArgumentError

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
    help="Report the cost at this beta; may be given several times.",
)
@gamma_option
@click.option("--guarantees", is_flag=True, help="Also bracket what is lost over all times: takes seconds.")
@click.option(
    "--horizon",
    metavar="T",
    type=click.IntRange(0, 2**63 - 1),
    help="Bound the total variation between the laws of T + 1 successive groups of the original and the aggregated "
    "chain: from any start, and with --guarantees for stationary chains.",
)
@seed_option
@printing_options
def command(
    source: ChainInput,
    labels: str,
    betas: tuple[float, ...],
    gamma: float,
    guarantees: bool,
    horizon: int | None,
    seed: int,
    as_json: bool,
    quiet: bool,
) -> None:
    """Score the partition in LABELS of the chain in FILE.

    LABELS is a .csv with the columns state,group, a .json list (or klump's own --json), a .npy array, an
    aggregation that klump saved as .npz, or a text file with a label in each line.
    """
    _check_seed(guarantees=guarantees)
    from klump.cli import progress, records
    from klump.cli.labels import read_labels

    chain = source.read()
    given = read_labels(labels, chain)
    with progress.compilation_announced(progress.SearchProgress(quiet=quiet)):
        from klump.aggregation import Aggregation

        agg = Aggregation.from_labels(chain, given, beta=betas[0], gamma=gamma)
        lumpable = _lumpable(agg)
        if horizon is not None and lumpable is None and not guarantees:
            raise InvalidArgumentError(
                f"{labels}: a soft map has no bound from any start for --horizon {horizon}; pass --guarantees for the "
                "stationary bound"
            )
        document = records.document(
            "score",
            source,
            chain,
            labels_input=file_record(labels),
            lumpable=lumpable,
            at=[
                {"beta": beta, "cost": agg.costs.at(beta, gamma) if chain.is_irreducible else None}
                for beta in betas
            ],
            states=[records.name(state) for state in chain.states],
            **records.aggregation(agg),
        )
    over_time = _over_time(agg, seed, quiet=quiet) if guarantees else None
    if horizon is not None:
        document["horizon"] = records.horizon(agg, horizon, None if over_time is None else over_time[0])
    if over_time is not None:
        document["guarantees"] = records.guarantees(*over_time, betas, seed)
    if as_json:
        click.echo(records.written(document))
        return
    click.echo("\n".join(_lines(source, labels, agg, betas, horizon, lumpable, over_time)))


def _check_seed(*, guarantees: bool) -> None:
    given = click.get_current_context().get_parameter_source("seed") is ParameterSource.COMMANDLINE
    if given and not guarantees:
        raise click.UsageError("--seed is for the simulation of --guarantees; pass them together")


def _lumpable(agg: Aggregation) -> bool | None:
    """Whether the groups are an exact lumping; nobody knows of a soft map."""
    from klump.aggregation import is_lumpable

    return None if agg.map.labels is None else is_lumpable(agg.original, agg.map.labels)


def _over_time(agg: Aggregation, seed: int, *, quiet: bool) -> tuple[Guarantees, MonteCarlo]:
    from klump.cli.progress import GuaranteeProgress

    with GuaranteeProgress(quiet=quiet) as shown:
        found = agg.guarantees_within(progress=partial(shown.update, "bounds"))
        return found, agg.monte_carlo(random_state=seed, progress=partial(shown.update, "simulation"))


def _lines(
    source: ChainInput,
    labels: str,
    agg: Aggregation,
    betas: tuple[float, ...],
    horizon: int | None,
    lumpable: bool | None,
    over_time: tuple[Guarantees, MonteCarlo] | None,
) -> list[str]:
    from klump.chain.wording import counted
    from klump.cli import tables

    width = tables.terminal_width()
    found = None if over_time is None else over_time[0]
    return tables.blocks(
        [*tables.heading(source.path, agg.original), f"{labels}: {counted(agg.n_states, 'group')}"],
        tables.costs(agg.costs, betas, width, agg.gamma) if agg.original.is_irreducible else [],
        tables.certificate(agg, width, lumpable),
        [] if horizon is None else tables.horizon(agg, horizon, found, width),
        [] if over_time is None else tables.guarantees(*over_time, betas, width),
        tables.notes(agg, width),
    )
