"""``klump convert``: the same chain in another file."""

from __future__ import annotations

from pathlib import Path

import click

from klump.cli.commands import ChainCommand
from klump.cli.inputs import ChainInput, file_record
from klump.cli.options import chain_options, printing_options
from klump.errors import FileFormatError


@click.command("convert", cls=ChainCommand)
@chain_options
@click.argument("output", metavar="OUT", type=click.Path())
@click.option("--mmap", is_flag=True, help="Write OUT as a mapped folder, whatever its name.")
@click.option(
    "--stationary",
    is_flag=True,
    help="Solve for the stationary distribution and keep it in OUT, a mapped folder.",
)
@printing_options
def command(
    source: ChainInput, output: str, mmap: bool, stationary: bool, as_json: bool, quiet: bool
) -> None:
    """Write the chain in FILE to OUT, whose suffix says what it becomes.

    A mapped folder (OUT.mapped, or --mmap) is used where it lies by all other commands: such a chain need not fit in
    memory. It is made piece by piece from an .npz that is sparse and not compressed, and from a mapped folder.
    """
    to_folder = _check_output(output, mmap=mmap, stationary=stationary)
    from klump.cli import progress, records, tables
    from klump.files.conversion import convert_chain

    replaced = Path(output).exists()
    # Before OUT is written: it may be FILE itself.
    before = file_record(source.path) if as_json and Path(source.path).exists() else {}
    with progress.compilation_announced(progress.SearchProgress(quiet=quiet)):
        chain = convert_chain(
            source.path,
            output,
            normalize=source.normalize,
            restrict=source.restrict,
            restart=source.restart,
            initial=source.initial,
            mmap=mmap,
            stationary=stationary,
        )
    if as_json:
        document = records.document(
            "conversion",
            source,
            chain,
            output={**file_record(output), "mapped": to_folder, "replaced": replaced},
            stationary=stationary,
        )
        document["input"] |= before
        click.echo(records.written(document))
    else:
        click.echo("\n".join(tables.heading(source.path, chain)))
    if not quiet:
        click.echo(f"klump: saved {output}{', in place of what was there' if replaced else ''}", err=True)


def _check_output(output: str, *, mmap: bool, stationary: bool) -> bool:
    """Whether OUT becomes a mapped folder; what cannot be written is refused before anything is read."""
    from klump.files.registry import MODULES, format_of

    path = Path(output)
    if not path.parent.is_dir():
        raise click.UsageError(f"OUT: there is no folder {str(path.parent)!r}")
    try:
        suffix = next((known for known in MODULES if path.name.lower().endswith(known)), None)
        if not mmap:
            format_of(path)
    except FileFormatError as error:
        raise click.UsageError(f"OUT: {error}") from error
    if mmap and suffix not in (None, ".mapped"):
        raise click.UsageError(f"--mmap writes a folder, but OUT ends in {suffix}; leave out one of them")
    to_folder = mmap or suffix in (None, ".mapped")
    if stationary and not to_folder:
        raise click.UsageError("--stationary is for mapped folders; name OUT .mapped, or pass --mmap")
    return to_folder
