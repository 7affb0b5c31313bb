"""Registry of file formats: the module that reads and writes each suffix.

A new format is a module with ``read(path, *, add_up)`` and ``write(chain, path)``, and a line here. ``read``
returns :class:`Contents` and leaves the validation of the chain to ``MarkovChain``; its errors name the
line or array inside the file. :func:`read_contents` prefixes the file name, and makes one such error of whatever else
a reader raises.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, cast

from klump.errors import FileFormatError
from klump.files.gate import guard_reading

if TYPE_CHECKING:
    from klump.chain import MarkovChain

MODULES = {
    ".npz": "klump.files.npz",
    ".npy": "klump.files.npy",
    ".mtx": "klump.files.matrix_market",
    ".mtx.gz": "klump.files.matrix_market",
    ".csv": "klump.files.csv_files",
    ".csv.gz": "klump.files.csv_files",
    ".tsv": "klump.files.csv_files",
    ".tsv.gz": "klump.files.csv_files",
    ".mapped": "klump.files.mapped",
}


class Contents(NamedTuple):
    """Contents of a file, unvalidated: a matrix, dense or sparse, and what the file says about its states.

    Or a validated MarkovChain, which has its own state names and attributes.
    """

    matrix: Any
    states: Sequence[Hashable] | None = None
    """Names of the states."""
    labels: Mapping[str, Any] | None = None
    """Indices of the states that have each label."""
    initial: Any = None
    """Distribution of the first state, as for :class:`klump.MarkovChain`; one that the caller gives comes first."""
    rewards: Mapping[str, Any] | None = None
    """Rewards by name: one number per state, or an n x n matrix."""


class Format(Protocol):
    """Interface of a module for a file format."""

    def read(self, path: Path, *, add_up: bool) -> Contents:
        """Read a matrix; ``add_up`` sums the weights of duplicate transitions, which are an error otherwise."""

    def write(self, chain: MarkovChain, path: Path) -> None:
        """Write a chain."""


def format_of(path: Path) -> Format:
    """Module for a file by its suffix; a mapped folder is recognised by its metadata file.

    >>> format_of(Path("model.csv.gz")).__name__
    'klump.files.csv_files'
    """
    name = path.name.lower()
    for suffix, module in MODULES.items():
        if name.endswith(suffix):
            return cast(Format, import_module(module))
    if (path / "chain.json").is_file():
        return cast(Format, import_module(MODULES[".mapped"]))
    known = ", ".join(MODULES)
    raise FileFormatError(f"the suffix {path.suffix!r} is not known", remedy=f"choose one of {known}")


def read_contents(path: Path, *, add_up: bool) -> Contents:
    """Read a file of any format through the gate."""
    with guard_reading(path):
        return format_of(path).read(path, add_up=add_up)
