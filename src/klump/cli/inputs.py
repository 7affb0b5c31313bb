"""The input file of a command, its options, and their record for JSON documents."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from klump.choices import Restriction
from klump.errors import FileFormatError, InvalidArgumentError

if TYPE_CHECKING:
    from klump.chain import MarkovChain

T = TypeVar("T")

# Name of standard input.
STANDARD_INPUT = "-"
# Block size for hashing, in bytes.
_BLOCK = 2**20
# Attempts to read a file that changes meanwhile.
_ATTEMPTS = 3


@dataclass(frozen=True)
class TableColumns:
    """Columns of a file that is a table of events, or one of transitions."""

    names: dict[str, str]
    """Column by the argument of ``MarkovChain.from_events`` or ``MarkovChain.from_table``."""
    memory_limit: str | None = None
    """Memory of DuckDB; None for the default."""

    @property
    def are_events(self) -> bool:
        """Whether a row of the table is an event; else it is a transition."""
        return "state" in self.names

    def read(self, path: str, **options: Any) -> MarkovChain:
        """Count the table, and build the chain."""
        from klump.chain import MarkovChain
        from klump.files.reading import prefix_errors

        build = MarkovChain.from_events if self.are_events else MarkovChain.from_table
        if self.memory_limit is not None:
            options["memory_limit"] = self.memory_limit
        with prefix_errors(path):
            return build(path, **self.names, **options)


@dataclass(frozen=True)
class ChainInput:
    """A file with a chain, and the options for reading it."""

    path: str
    normalize: bool
    restrict: Restriction | None
    restart: float | None
    initial: str | None
    format: str | None = None
    ctmc: bool = False
    columns: TableColumns | None = None
    """Columns of a table; None if the file has a chain."""
    with_digest: bool = True
    """Whether the digest of the file is wanted, which takes a second per gigabyte."""
    file: dict[str, str | None] = field(default_factory=dict, compare=False)
    """Path and digest of the file as it was read."""

    def read(self) -> MarkovChain:
        """Read the chain, and record the digest of what was read."""
        from klump.files import read_chain

        def read(path: str) -> MarkovChain:
            if self.columns is not None:
                return self._read_table(self.columns)
            return read_chain(path, **self.options)

        with self.open() as path:
            if not self.with_digest:
                self.file.update(path=self.path, sha256=None)
                return read(path)
            chain, record = read_recorded(path, lambda: read(path))
        self.file.update({**record, "path": self.path})
        return chain

    @property
    def options(self) -> dict[str, Any]:
        """Options of :func:`klump.read_chain`."""
        return {
            "normalize": self.normalize,
            "restrict": self.restrict,
            "restart": self.restart,
            "initial": self.initial,
            "format": self.format,
            "ctmc": self.ctmc,
        }

    @contextmanager
    def open(self) -> Iterator[str]:
        """File to read: standard input, for ``-``, is copied to a temporary one, which is removed afterwards."""
        if self.path != STANDARD_INPUT:
            yield self.path
            return
        from klump.cli.standard_input import copy_standard_input

        with copy_standard_input() as path:
            yield path

    def _read_table(self, columns: TableColumns) -> MarkovChain:
        """Read a table; its initial state may be given as text even if states are integers, as for files of chains."""
        options: dict[str, Any] = {"restrict": self.restrict, "restart": self.restart}
        if self.initial is None:
            return columns.read(self.path, **options)
        try:
            return columns.read(self.path, **options, initial=self.initial)
        except InvalidArgumentError as error:
            if error.argument != "initial" or not self.initial.lstrip("-").isdecimal():
                raise
            return columns.read(self.path, **options, initial=int(self.initial))

    def record(self, chain: MarkovChain) -> dict[str, Any]:
        """Return the file, the size of the chain and what was applied to it, for JSON documents."""
        return {
            **self.file,
            "n_states": chain.n_states,
            "n_transitions": chain.n_transitions,
            "normalize": self.normalize,
            "ctmc": self.ctmc,
            "columns": None if self.columns is None else self.columns.names,
            "applied": list(chain.applied),
        }


def read_recorded(path: str, read: Callable[[], T]) -> tuple[T, dict[str, str | None]]:
    """Read a file, and return its record too; raise FileFormatError if the file keeps changing meanwhile.

    The digest is that of the bytes that were read, whatever happens to the file afterwards.
    """
    for _ in range(_ATTEMPTS):
        before = _stamps(path)
        content = read()
        try:
            record = file_record(path)
        except OSError:  # the file is gone
            record = {"path": path, "sha256": None}
        if _stamps(path) == before:
            return content, record
    raise FileFormatError("the file changes while it is read", remedy="wait until it is complete", file=path)


def file_record(path: str) -> dict[str, str | None]:
    """Return path and SHA-256 digest of a file, for JSON documents.

    The digest of a mapped folder, or of a ``.tra`` with sibling files, is that of the files that define the chain,
    concatenated; a device or FIFO, which can be read only once, has none.
    """
    if not Path(path).is_dir() and not stat.S_ISREG(os.stat(path).st_mode):
        return {"path": path, "sha256": None}
    digest = hashlib.sha256()
    for part in parts_of(Path(path)):
        with part.open("rb") as file:
            while block := file.read(_BLOCK):
                digest.update(block)
    return {"path": path, "sha256": digest.hexdigest()}


def _stamps(path: str) -> list[tuple[int, int, int]]:
    """Identity, size and modification time of the files; empty for what is no regular file."""
    stamps = []
    for part in parts_of(Path(path)):
        try:
            found = part.stat()
        except OSError:
            continue
        if stat.S_ISREG(found.st_mode):
            stamps.append((found.st_ino, found.st_size, found.st_mtime_ns))
    return stamps


def parts_of(path: Path) -> list[Path]:
    """Files that make up a chain: those of a mapped folder, or a ``.tra`` and its siblings."""
    if path.is_dir():
        from klump.files.mapped import parts

        return parts(path)
    if ".tra" not in path.name.lower():
        return [path]
    from klump.files.explicit_siblings import existing

    return [path, *existing(path)]
