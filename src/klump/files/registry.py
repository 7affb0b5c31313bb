"""Which module reads and writes which suffix.

A new format is a module with ``read(path, *, add_up)`` and ``write(chain, path)``, and a line here. ``read``
returns :class:`Contents` and leaves the checks that every chain needs to ``MarkovChain``; its errors name the
place inside the file, and the file's own name is put in front by the caller.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, cast

from klump.errors import FileFormatError

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
    """What a file holds: a matrix, dense or sparse and not yet checked, and the names of its states.

    Or a chain that the format has checked in its own way; it brings its names along.
    """

    matrix: Any
    states: Sequence[Hashable] | None = None


class Format(Protocol):
    """What a module for a file format offers."""

    def read(self, path: Path, *, add_up: bool) -> Contents:
        """Read a matrix; ``add_up`` says that weights of a transition given twice may be added."""

    def write(self, chain: MarkovChain, path: Path) -> None:
        """Write a chain."""


def format_of(path: Path) -> Format:
    """Find the module for a file by its suffix; a folder is known by what is in it.

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
    raise FileFormatError(f"the suffix {path.suffix!r} is not known; klump reads and writes {known}")
