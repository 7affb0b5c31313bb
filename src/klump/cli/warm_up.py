"""``klump warm-up``: compile all kernels in advance."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from klump.cli.commands import PlainCommand
from klump.cli.options import printing_options

if TYPE_CHECKING:
    from klump.warm_up import WarmUp


@click.command("warm-up", cls=PlainCommand)
@printing_options
def command(as_json: bool, quiet: bool) -> None:
    """Compile all kernels in advance, for containers and clusters; takes a minute or two.

    Compiled kernels are kept in NUMBA_CACHE_DIR, if that is set, else in the user's cache folder. They are compiled
    for the processor of this machine; on another kind of processor klump compiles again.
    """
    from klump.cli.progress import ComparisonProgress, announce_compilation
    from klump.cli.results import print_document, print_lines
    from klump.compilation import announce_all
    from klump.warm_up import QUESTIONS, warm_up

    with ComparisonProgress(list(QUESTIONS), quiet=quiet) as bars, announce_compilation(bars):
        announce_all()
        result = warm_up(bars.callback("compiling"))
    if as_json:
        print_document(_document(result))
    else:
        print_lines(_lines(result))


def _document(result: WarmUp) -> dict[str, Any]:
    from klump import __version__
    from klump.cli.records import versions

    return {
        "schema": "klump/warm-up/1",
        "klump": __version__,
        "versions": versions("numpy", "scipy", "numba"),
        "folder": str(result.folder),
        "files": result.n_files,
        "bytes": result.n_bytes,
        "compiled": result.n_compiled,
        "seconds": result.seconds,
    }


def _lines(result: WarmUp) -> list[str]:
    from klump.chain.wording import format_count
    from klump.cli import tables

    compiled = "none, all were there"
    if result.n_compiled:
        compiled = f"{format_count(result.n_compiled, 'kernel')} in {result.seconds:.1f} s"
    files = f"{format_count(result.n_files, 'file')}, {result.n_bytes / 1e6:.1f} MB"
    return tables.facts([("compiled", compiled), ("cache", files), ("folder", str(result.folder))])
