"""``klump compare``: klump's methods and outside tools on one chain."""

from __future__ import annotations

import textwrap
from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import click

from klump import signals
from klump.cli.commands import ChainCommand
from klump.cli.completion import OUTSIDE, several_of
from klump.cli.inputs import ChainInput
from klump.cli.options import (
    beta_option,
    chain_options,
    check_name,
    efforts_option,
    gamma_option,
    n_states_option,
    output_option,
    printing_options,
    search_options,
    time_limit_option,
)
from klump.cli.results import PICTURES, check_picture, deliver
from klump.errors import MissingPackageError
from klump.search.registry import METHODS

if TYPE_CHECKING:
    from klump.comparison import Comparison


def _parse_names(value: str, known: Collection[str]) -> list[str]:
    return [check_name(name.strip(), known) for name in value.split(",")]


def _parse_methods(ctx: click.Context, param: click.Parameter, value: str | None) -> list[str] | None:
    return None if value is None else _parse_names(value, METHODS)


def _parse_tools(ctx: click.Context, param: click.Parameter, value: str | None) -> list[str] | None:
    if value is None or ctx.resilient_parsing:
        return None
    # Imported here, as it imports NumPy and SciPy, which --help does not need.
    from klump.comparison.outside import OUTSIDE as TOOLS

    return _parse_names(value, TOOLS)


@click.command("compare", cls=ChainCommand)
@chain_options
@n_states_option()
@beta_option()
@gamma_option
@click.option(
    "--methods",
    metavar="M,M,...",
    callback=_parse_methods,
    shell_complete=several_of(METHODS),
    help="Names of klump's methods.  [default: all that take a number of groups]",
)
@click.option(
    "--outside",
    metavar="T,T,...",
    callback=_parse_tools,
    shell_complete=several_of(OUTSIDE),
    help="Names of outside tools: deeptime-pcca, pygpcca, sib, igraph-leiden, infomap, sklearn-spectral."
    "  [default: all that are installed]",
)
@click.option("--no-outside", is_flag=True, help="Run no outside tools.")
@search_options
@efforts_option
@time_limit_option
@output_option(
    "Save to OUT: .csv (table), .json (as --json), or a picture (.png, .svg, .pdf).",
    (".json", ".csv", *PICTURES),
)
@printing_options
def command(
    source: ChainInput,
    n_states: int,
    beta: float,
    gamma: float,
    methods: list[str] | None,
    outside: list[str] | None,
    no_outside: bool,
    n_init: int,
    seed: int,
    jobs: int | None,
    effort: list[str],
    time_limit: float | None,
    output: str | None,
    as_json: bool,
    quiet: bool,
) -> None:
    """Partition the states of the chain in FILE by every method, and compare the costs.

    Runs klump's methods and the outside tools that are installed (pip install 'klump[compare]'), and ranks their maps
    by the same cost. A method that fails gets a row with the reason; the others run on.
    """
    if no_outside and outside is not None:
        raise click.UsageError("--outside and --no-outside exclude each other; leave one of them out")
    _check_tools(outside or [])
    check_picture(output)
    from klump.cli import progress, records

    signals.keep_answers()
    chain = source.read()
    from klump.comparison import compare, contestant_names

    tools = False if no_outside else True if outside is None else outside
    with progress.comparison_progress(contestant_names(methods, tools, effort=effort), quiet=quiet) as bars:
        compared = compare(
            chain,
            n_states,
            beta,
            methods,
            tools,
            n_init=n_init,
            random_state=seed,
            n_jobs=jobs,
            progress=bars.callback("comparing"),
            gamma=gamma,
            effort=effort,
            time_limit=time_limit,
        )
    document = records.document(
        "comparison",
        source,
        chain,
        time_limit=time_limit,
        states=[records.name(state) for state in chain.states],
        **compared.to_dict(),
    )
    lines = None if as_json else _lines(source, compared)
    deliver(compared, document, lines, _table_rows(compared), output, quiet=quiet)
    if len(compared.failures) == len(compared):
        click.echo("klump: error: every method failed; the rows have the reasons", err=True)
        click.get_current_context().exit(1)


def _table_rows(compared: Comparison) -> Iterator[Sequence[Any]]:
    """Yield the header and one row per method."""
    records = [row.to_record() for row in compared]
    yield list(records[0])
    yield from (list(record.values()) for record in records)


def _check_tools(names: list[str]) -> None:
    """Raise MissingPackageError if a tool that --outside names is not installed."""
    if not names:
        return
    from klump.comparison.outside import OUTSIDE

    for name in names:
        if not OUTSIDE[name].installed:
            package = OUTSIDE[name].package
            raise MissingPackageError(
                f"needs {package}, which is not installed",
                argument="outside",
                value=name,
                remedy=f"pip install {package}",
            )


def _lines(source: ChainInput, compared: Comparison) -> list[str]:
    from klump.cli import tables
    from klump.comparison import table

    width = tables.terminal_width()
    header, *rows = table.table(compared, width)
    return tables.blocks(
        [*tables.heading(source.path, compared.original), *textwrap.wrap(table.title(compared), width)],
        [tables.title(header), *rows],
        table.footnotes(compared, width),
    )
