"""``klump report``: an interactive page of one aggregation per number of groups and beta."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from klump import signals
from klump.cli.checkpoints import check_checkpoint, checkpoint_options
from klump.cli.commands import ChainCommand
from klump.cli.grid import grid_document, grid_lines, search_grid
from klump.cli.inputs import ChainInput
from klump.cli.numbers import numbers_option
from klump.cli.options import (
    chain_options,
    effort_option,
    gamma_option,
    jobs_option,
    method_option,
    output_option,
    printing_options,
    seed_option,
    time_limit_option,
)
from klump.cli.results import REPORT, check_picture, deliver
from klump.search.registry import names_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from klump.chain import MarkovChain
    from klump.cli.progress import Bars
    from klump.comparison import Comparison

# Default values of beta.
_BETAS = (0.2, 0.5, 0.8, 1.0)
# Default numbers of groups.
_NUMBERS = range(2, 8)
# Beta at which other methods are asked for their partitions.
_COMPARED_BETA = 0.5
# Methods of klump that a report compares, besides the one that found its answers.
_METHODS = ("sequential", "annealing", "agglomerative", "spectral")
# Largest chain, in states, whose report compares methods unless asked: outside tools take minutes beyond it.
_MAX_COMPARED = 300


@click.command("report", cls=ChainCommand)
@chain_options
@numbers_option("2..7")
@click.option(
    "--beta",
    "betas",
    type=click.FloatRange(0.0, 1.0),
    multiple=True,
    default=_BETAS,
    show_default=True,
    metavar="B",
    help="Weight in the cost, from 0 (lumpability) to 1 (information bottleneck); may be repeated.",
)
@gamma_option
@method_option(
    names_of(lambda method: not method.finds_number), "Search method, as for aggregate, except exact."
)
@click.option(
    "--n-init", metavar="N", type=click.IntRange(1), default=20, show_default=True, help="Number of restarts."
)
@seed_option
@jobs_option(-1)
@effort_option
@time_limit_option
@click.option(
    "--compare/--no-compare",
    default=None,
    help=f"Compare with other methods and outside tools.  [default: up to {_MAX_COMPARED:,} states]",
)
@click.option("--title", metavar="TEXT", help="Heading of the page.  [default: the name of FILE]")
@output_option("Write the page to OUT, an .html file that needs no network.", (REPORT,), required=True)
@checkpoint_options
@printing_options
def command(
    source: ChainInput,
    compare: bool | None,
    title: str | None,
    output: str,
    as_json: bool,
    quiet: bool,
    **search: Any,
) -> None:
    """Write an interactive page about the chain in FILE: every number of groups, every beta.

    The answers are those of klump grid with the same options. The page has controls for the number of groups and beta,
    the ordered matrix, the small chain as a graph, certificates, dynamics, a table of all states and how to get all of
    it again, in one file that works without a network.
    """
    check_picture(output)
    from klump.cli import progress

    signals.keep_answers()
    check_checkpoint(search["checkpoint"], resume=search["resume"])
    chain = source.read()
    if search["n_states"] is None:
        search["n_states"] = [number for number in _NUMBERS if number <= chain.n_states] or [1]
    with progress.GuaranteeProgress(quiet=quiet) as bars, progress.announce_compilation(bars):
        grid = search_grid(chain, bars.callback("search"), **search)
        compared: dict[int, Comparison] = {}
        if compare is not False and (compare or chain.n_states <= _MAX_COMPARED) and not grid.interrupted:
            compared = _compare(chain, grid.n_states, search, bars)
        document = grid_document("report", source, grid, search, output=output)
        lines = None if as_json else grid_lines(source, grid)
        page: dict[str, Any] = {"comparisons": compared, "progress": bars.callback("report")}
        if title is not None:
            page["title"] = title
        deliver(grid, document, lines, (), output, quiet=quiet, page=page)


def _compare(
    chain: MarkovChain, numbers: Sequence[int], search: Mapping[str, Any], bars: Bars
) -> dict[int, Comparison]:
    """Compare methods per number of groups; after a signal, those that were compared."""
    from klump.comparison import compare

    found: dict[int, Comparison] = {}
    for number in numbers:
        bars.update("comparison", len(found), len(numbers))
        if signals.is_recorded():
            break
        options = {name: search[name] for name in ("n_init", "gamma", "seed")}
        found[number] = compare(chain, number, _COMPARED_BETA, _METHODS, **options)
    bars.update("comparison", len(numbers), len(numbers))
    return found
