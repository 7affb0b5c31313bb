"""``klump compare``: every method on one chain, klump's own and other people's."""

from __future__ import annotations

import csv
import textwrap
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
    n_states_option,
    output_option,
    printing_options,
    search_options,
)
from klump.errors import FileFormatError
from klump.search.registry import METHODS

if TYPE_CHECKING:
    from klump.comparison import Comparison

_PICTURES = (".png", ".svg", ".pdf")


def _names(value: str | None) -> list[str] | None:
    return None if value is None else [name.strip() for name in value.split(",")]


def _known(names: list[str] | None, known: Any) -> list[str] | None:
    unknown = [name for name in names or () if name not in known]
    if unknown:
        raise click.BadParameter(f"{unknown[0]!r} is not one of {', '.join(known)}")
    return names


def _known_methods(ctx: click.Context, param: click.Parameter, value: str | None) -> list[str] | None:
    # The registries import NumPy and numba, which help can do without.
    if value is None:
        return None
    return _known(_names(value), METHODS)


def _known_tools(ctx: click.Context, param: click.Parameter, value: str | None) -> list[str] | None:
    if value is None:
        return None
    from klump.comparison.outside import OUTSIDE

    return _known(_names(value), OUTSIDE)


@click.command("compare", cls=ChainCommand)
@chain_options
@n_states_option()
@beta_option()
@gamma_option
@click.option(
    "--methods",
    metavar="M,M,...",
    callback=_known_methods,
    help="Which of klump's methods.  [default: all that take a number of groups]",
)
@click.option(
    "--outside",
    metavar="T,T,...",
    callback=_known_tools,
    help="Which of other people's tools: deeptime-pcca, pygpcca, sib, igraph-leiden, infomap, sklearn-spectral."
    "  [default: all that are installed]",
)
@click.option("--no-outside", is_flag=True, help="None of them.")
@search_options
@output_option(
    "Save to OUT: .csv has the table, .json as --json, .png, .svg or .pdf are a picture.",
    (".json", ".csv", *_PICTURES),
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
    output: str | None,
    as_json: bool,
    quiet: bool,
) -> None:
    """Group the states of the chain in FILE by every method, and compare.

    Runs all methods of klump, and those of other people that are installed (pip install 'klump[compare]'), and scores
    what they find on the same costs. A method that fails says why and does not disturb the others.
    """
    if no_outside and outside is not None:
        raise click.UsageError("--outside names tools and --no-outside wants none; leave one of them out")
    _check_tools(outside or [])
    _check_picture(output)
    from klump.cli import progress, records

    chain = source.read()
    with progress.comparison_progress(quiet=quiet) as shown:
        from klump.comparison import compare

        compared = compare(
            chain,
            n_states,
            beta,
            methods,
            False if no_outside else True if outside is None else outside,
            n_init=n_init,
            random_state=seed,
            n_jobs=jobs,
            progress=shown.update,
            gamma=gamma,
        )
    document = records.document(
        "comparison",
        source,
        chain,
        states=[records.name(state) for state in chain.states],
        **compared.to_dict(),
    )
    click.echo(records.written(document) if as_json else "\n".join(_lines(source, compared)))
    if output is not None:
        _save(compared, document, output)
        if not quiet:
            click.echo(f"klump: saved {output}", err=True)
    if compared.interrupted:
        if as_json:  # the table says so itself
            click.echo("klump: interrupted: this is what was finished so far", err=True)
        click.get_current_context().exit(INTERRUPTED)
    if len(compared.failures) == len(compared):
        _fail("every method failed; the rows say why")


def _fail(message: str) -> None:
    click.echo(f"klump: error: {message}", err=True)
    click.get_current_context().exit(1)


def _check_tools(names: list[str]) -> None:
    """Insist on tools that were asked for by name; by default those that are not there are left out."""
    if not names:
        return
    from klump.comparison.outside import OUTSIDE

    for name in names:
        if not OUTSIDE[name].installed:
            package = OUTSIDE[name].package
            _fail(f"--outside {name} needs {package}, which is not installed: pip install {package}")


def _check_picture(output: str | None) -> None:
    """Say before the search, not after it, that there will be no picture."""
    if output is not None and Path(output).suffix.lower() in _PICTURES and find_spec("matplotlib") is None:
        _fail("pictures need matplotlib: pip install 'klump[plots]'")


def _lines(source: ChainInput, compared: Comparison) -> list[str]:
    from klump.cli import tables
    from klump.comparison import table

    width = tables.terminal_width()
    header, *rows = table.table(compared, width)
    return tables.blocks(
        [*tables.heading(source.path, compared.original), *textwrap.wrap(table.title(compared), width)],
        [tables.title(header), *rows],
        table.remarks(compared, width),
    )


def _save(compared: Comparison, document: dict[str, Any], output: str) -> None:
    from klump.cli.records import written

    suffix = Path(output).suffix.lower()
    try:
        if suffix == ".json":
            Path(output).write_text(written(document) + "\n", encoding="utf-8")
        elif suffix == ".csv":
            records = [row.to_record() for row in compared]
            with open(output, "w", encoding="utf-8", newline="") as stream:
                writer = csv.DictWriter(stream, list(records[0]), lineterminator="\n")
                writer.writeheader()
                writer.writerows(records)
        else:
            compared.plot(output)
    except OSError as error:
        raise FileFormatError(f"{output}: cannot be written: {error.strerror or error}") from error
