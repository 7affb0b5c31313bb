"""The command line: parses, calls, prints.

Nothing heavy is imported before a command really runs, so that ``klump --help`` answers at once.
"""

from __future__ import annotations

import click

from klump import __version__
from klump.cli.commands import LazyGroup

__all__ = ["main"]


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="klump", message="%(prog)s %(version)s")
def main() -> None:
    """Coarse-grain Markov chains, and say in bits, with guarantees, what was lost.

    A chain is read from a file: .npz (an array, or a sparse matrix of SciPy), .npy, .mtx, .csv or .tsv (a matrix,
    or transitions under the header from,to,weight), .mapped (a folder whose chain need not fit in memory; see
    convert). Results go to stdout, progress to stderr.
    """
