"""``klump select``: recommend a number of groups and a beta."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from klump import signals
from klump.cli.checkpoints import check_checkpoint, checkpoint_options
from klump.cli.commands import ChainCommand
from klump.cli.inputs import ChainInput
from klump.cli.numbers import numbers_option
from klump.cli.options import (
    chain_options,
    gamma_option,
    method_option,
    output_option,
    printing_options,
    search_options,
    time_limit_option,
)
from klump.cli.results import PICTURES, check_picture, deliver
from klump.errors import FileFormatError
from klump.search.registry import EFFORT_NAMES, names_of

if TYPE_CHECKING:
    from klump.chain import MarkovChain
    from klump.selection import Selection


@click.command("select", cls=ChainCommand)
@chain_options
@numbers_option()
@click.option(
    "--beta",
    "betas",
    type=click.FloatRange(0.0, 1.0),
    multiple=True,
    default=(0.5, 0.8, 1.0),
    show_default=True,
    metavar="B",
    help="Weight in the cost, from 0 (lumpability) to 1 (information bottleneck); may be repeated.",
)
@gamma_option
@method_option(
    names_of(lambda method: not (method.finds_number or method.soft)),
    "Search method, as for aggregate, except exact and stochastic.",
)
@search_options
@click.option(
    "--effort",
    type=click.Choice(EFFORT_NAMES),
    metavar="E",
    help=f"How long method auto searches, in steps: {', '.join(EFFORT_NAMES)}.  [default: quick]",
)
@click.option(
    "--restarts",
    "n_restarts",
    metavar="N",
    type=click.IntRange(0),
    default=2,
    show_default=True,
    help="Searches with other seeds per number of groups and beta.",
)
@click.option(
    "--shuffles",
    "n_shuffles",
    metavar="N",
    type=click.IntRange(1),
    default=9,
    show_default=True,
    help="Shuffled chains per test of a step.",
)
@click.option(
    "--resamples",
    "n_resamples",
    metavar="N",
    type=click.IntRange(0),
    help="Chains drawn given the counts.  [default: 5 for a chain of counts, else 0]",
)
@click.option(
    "--held-out",
    metavar="DATA",
    help="Held-out sequences: a table with the columns of FILE, if FILE is a table of events, else a text file with "
    "one sequence of state names per line, separated by white space.",
)
@time_limit_option
@output_option(
    "Save to OUT: .csv (table), .json (as --json), or a picture (.png, .svg, .pdf).",
    (".csv", ".json", *PICTURES),
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
    effort: str | None,
    n_restarts: int,
    n_shuffles: int,
    n_resamples: int | None,
    held_out: str | None,
    time_limit: float | None,
    output: str | None,
    checkpoint: str | None,
    resume: bool,
    as_json: bool,
    quiet: bool,
) -> None:
    """Recommend a number of groups and a beta for the chain in FILE, or say that there is no clear answer.

    Prints the evidence for every number of groups and beta, and the reason of the recommendation: the cost curve bends
    there, the groups are stable, and the step to them gains more than on shuffled chains.
    """
    check_picture(output)
    from klump.cli import progress, records

    signals.keep_answers()
    check_checkpoint(checkpoint, resume=resume)
    chain = source.read()
    sequences = None if held_out is None else _read_held_out(held_out, source, chain)
    with progress.GuaranteeProgress(quiet=quiet) as bars, progress.announce_compilation(bars):
        from klump.selection import select

        choice = select(
            chain,
            n_states,
            betas,
            method,
            n_init=n_init,
            random_state=seed,
            n_jobs=jobs,
            gamma=gamma,
            effort=effort,
            n_restarts=n_restarts,
            n_shuffles=n_shuffles,
            n_resamples=n_resamples,
            held_out=sequences,
            time_limit=time_limit,
            checkpoint=checkpoint,
            resume=resume,
            progress=bars.callback("selection"),
        )
    document = records.document(
        "selection",
        source,
        chain,
        n_init=n_init,
        n_restarts=n_restarts,
        n_shuffles=n_shuffles,
        time_limit=time_limit,
        states=[records.name(state) for state in chain.states],
        **choice.to_dict(),
    )
    lines = None if as_json else _lines(source, choice)
    deliver(choice, document, lines, _table_rows(document["rows"]), output, quiet=quiet)


def _read_held_out(path: str, source: ChainInput, chain: MarkovChain) -> Any:
    """Counts of a table of events, or sequences of the names of states; names that are no state stay text."""
    if source.columns is not None and source.columns.are_events:
        from klump.files.reading import prefix_errors
        from klump.sources.events import count_events

        with prefix_errors(path):
            return count_events(path, **source.columns.names)
    try:
        lines = Path(path).read_text(encoding="utf-8").splitlines()
    except UnicodeDecodeError as error:
        raise FileFormatError("is not a text file in UTF-8", file=path) from error
    names = {str(state): state for state in chain.states}
    sequences = [[names.get(word, word) for word in line.split()] for line in lines]
    if not any(len(sequence) > 1 for sequence in sequences):
        raise FileFormatError(
            "has no line with two states",
            file=path,
            remedy="write one sequence of state names per line, separated by white space",
        )
    return sequences


def _table_rows(rows: list[dict[str, Any]]) -> Iterator[Sequence[Any]]:
    """Yield the header and one row per number of groups and beta."""
    yield list(rows[0])
    yield from (list(row.values()) for row in rows)


def _lines(source: ChainInput, choice: Selection) -> list[str]:
    from klump.cli import tables

    method = choice.method + tables.effort_suffix(choice.effort)
    header, formatted = choice.table.cells()
    return tables.blocks(
        [
            *tables.heading(source.path, choice.original),
            f"method {method}, seed {choice.random_state}{tables.gamma_suffix(choice.gamma)}; costs in bits",
        ],
        tables.table(header, formatted),
        # The heading states what was applied to the chain.
        choice.lines(tables.terminal_width(), without=choice.original.applied),
    )
