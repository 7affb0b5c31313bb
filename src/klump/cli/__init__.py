"""The command line interface: parse options, call the library, print the result.

Modules import NumPy, numba and others inside functions, so that ``klump --help`` stays fast.
"""

from __future__ import annotations

import click

from klump import __version__
from klump.cli.commands import LazyGroup

__all__ = ["main"]


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="klump", message="%(prog)s %(version)s")
def main() -> None:
    """Coarse-grain Markov chains, and report the information lost in bits, with guarantees.

    Commands read a chain from a file, or from standard input if FILE is a hyphen: .npz (array or SciPy sparse matrix),
    .npy, .mtx, .csv or .tsv (matrix, or transitions under the header from,to,weight), .parquet, .graphml, .tra (PRISM
    or Storm, with .sta, .lab, .srew and .trew beside it), .drn, .umb, .mapped (memory-mapped folder, for chains larger
    than memory; see convert). Files may be compressed by gzip or xz. Results are saved, then printed on standard
    output; progress and messages go to standard error. Exit status: 0 success, 1 bad data or no space, 2 wrong usage,
    130 interrupted by Ctrl-C, 143 by SIGTERM (both with the best result so far, if there is one), 141 if the reader of
    standard output has closed the pipe.
    """
