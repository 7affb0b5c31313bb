"""``klump convert``: write a chain to a file of another format."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from klump.cli.commands import ChainCommand, Refusal, require_writable
from klump.cli.inputs import ChainInput, file_record, parts_of
from klump.cli.options import chain_options, printing_options
from klump.errors import FileFormatError

if TYPE_CHECKING:
    from klump.chain import MarkovChain


@click.command("convert", cls=ChainCommand)
@chain_options
@click.argument("output", metavar="OUT", type=click.Path())
@click.option("--mmap", is_flag=True, help="Write OUT as a mapped folder, whatever its suffix.")
@click.option(
    "--stationary",
    is_flag=True,
    help="Compute the stationary distribution and store it in OUT, which must be a mapped folder.",
)
@printing_options
def command(
    source: ChainInput, output: str, mmap: bool, stationary: bool, as_json: bool, quiet: bool
) -> None:
    """Write the chain in FILE to OUT; the suffix of OUT selects the format.

    State names, labels, initial states and rewards are kept where the format can hold them; a message says what is
    lost. A .tra, for PRISM, or .storm.tra, for Storm, gets .sta, .lab, .srew and .trew files beside it.

    A mapped folder (OUT.mapped, or --mmap) is memory-mapped by all other commands, so that its chain may exceed memory.
    The conversion of an uncompressed sparse .npz file or of a mapped folder to a mapped folder works in blocks of rows.
    """
    to_folder = _check_output(output, mmap=mmap, stationary=stationary)
    from klump.cli import progress, records, tables
    from klump.cli.results import print_document, print_lines
    from klump.files import losses
    from klump.files.conversion import convert_chain

    replaced = Path(output).exists()
    with source.open() as path:
        # Hashed before OUT is written, as OUT may be FILE.
        if as_json and Path(path).exists():
            source.file.update({**file_record(path), "path": source.path})
        with progress.announce_compilation(progress.SearchProgress(quiet=quiet)):
            if source.columns is not None:
                chain = _convert_table(source, output, to_folder=to_folder, stationary=stationary)
            else:
                chain = convert_chain(path, output, **source.options, mmap=mmap, stationary=stationary)
    lost = [] if to_folder else losses(chain, output)
    if as_json:
        document = records.document(
            "conversion",
            source,
            chain,
            output={**file_record(output), "mapped": to_folder, "replaced": replaced},
            stationary=stationary,
            lost=lost,
        )
        print_document(document)
    else:
        print_lines(tables.heading(source.path, chain))
    if not quiet:
        click.echo(f"klump: {'replaced' if replaced else 'saved'} {output}{_siblings(output)}", err=True)
        if lost:
            click.echo(f"klump: {output} cannot hold, and lacks: {', '.join(lost)}", err=True)


def _siblings(output: str) -> str:
    """Sibling files of a .tra, for a message."""
    names = [str(part.name) for part in parts_of(Path(output))[1:]] if Path(output).is_file() else []
    return f", with {', '.join(names)}" if names else ""


def _convert_table(source: ChainInput, output: str, *, to_folder: bool, stationary: bool) -> MarkovChain:
    """Count a table, and write the chain."""
    from klump.files import mapped, write_chain
    from klump.files.atomic import translate_write_errors

    if to_folder:
        mapped.require_replaceable(Path(output))
    chain = source.read()
    if stationary:
        _ = chain.stationary_distribution
    if not to_folder:
        write_chain(chain, output)
        return chain
    with translate_write_errors(output), mapped.staging_folder(Path(output)) as folder:
        mapped.write(chain, folder)
    return chain


def _check_output(output: str, *, mmap: bool, stationary: bool) -> bool:
    """Return whether OUT becomes a mapped folder; raise a UsageError if it cannot be written."""
    from klump.files.registry import MODULES, format_of

    path = Path(output)
    if not path.parent.is_dir():
        missing = f"there is no folder {str(path.parent)!r}"
        raise Refusal(FileFormatError(missing, remedy="create it first", file=output))
    try:
        suffix = next((known for known in MODULES if path.name.lower().endswith(known)), None)
        if not mmap:
            format_of(path)
    except FileFormatError as error:
        raise click.UsageError(f"OUT: {error}") from error
    if mmap and suffix not in (None, ".mapped"):
        raise click.UsageError(
            f"--mmap writes a folder, but OUT ends in {suffix}; leave out --mmap, or name OUT .mapped"
        )
    to_folder = mmap or suffix in (None, ".mapped")
    if stationary and not to_folder:
        raise click.UsageError("--stationary needs a mapped folder; name OUT .mapped, or pass --mmap")
    if not to_folder:
        require_writable(output)
    return to_folder
