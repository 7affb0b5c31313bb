"""Names that a shell completes. Nothing here imports NumPy: a shell waits for the answer.

Choices, commands and options are completed by click, names of files by the shell itself.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

import click
from click.shell_completion import CompletionItem

# The registries of these names import NumPy.
EXPERIMENTS = ("nonreversible", "quasi-lumpable", "bigrams", "clustering", "bisimulation")
FORMATS = ("npz", "npy", "mtx", "csv", "tsv", "tra", "drn", "umb", "graphml", "parquet")
OUTSIDE = ("deeptime-pcca", "pygpcca", "sib", "igraph-leiden", "infomap", "sklearn-spectral")

Complete = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]


def one_of(names: Collection[str]) -> Complete:
    """Complete one name."""

    def complete(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        return [CompletionItem(name) for name in names if name.startswith(incomplete)]

    return complete


def several_of(names: Collection[str]) -> Complete:
    """Complete the last of several names, separated by commas, with one that is not among the others.

    >>> [item.value for item in several_of(["auto", "exact"])(None, None, "auto,")]
    ['auto,exact']
    """

    def complete(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        before, comma, last = incomplete.rpartition(",")
        others = before.split(",")
        found = (name for name in names if name.startswith(last) and name not in others)
        return [CompletionItem(f"{before}{comma}{name}") for name in found]

    return complete
