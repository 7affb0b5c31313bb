"""The input file of a command, its options, and their record for JSON documents."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from klump.chain import MarkovChain

# Block size for hashing, in bytes.
_BLOCK = 2**20


@dataclass(frozen=True)
class ChainInput:
    """A file with a chain, and the options for reading it."""

    path: str
    normalize: bool
    restrict: Literal["largest"] | None
    restart: float | None
    initial: str | None

    def read(self) -> MarkovChain:
        """Read the chain."""
        from klump.files import read_chain

        return read_chain(
            self.path,
            normalize=self.normalize,
            restrict=self.restrict,
            restart=self.restart,
            initial=self.initial,
        )

    def record(self, chain: MarkovChain) -> dict[str, Any]:
        """Return the file, the size of the chain and what was applied to it, for JSON documents."""
        return {
            **file_record(self.path),
            "n_states": chain.n_states,
            "n_transitions": chain.n_transitions,
            "normalize": self.normalize,
            "applied": list(chain.applied),
        }


def file_record(path: str) -> dict[str, str]:
    """Return path and SHA-256 digest of a file, for JSON documents.

    The digest of a mapped folder is that of the files that define the chain, concatenated.
    """
    digest = hashlib.sha256()
    for part in _parts(Path(path)):
        with part.open("rb") as file:
            while block := file.read(_BLOCK):
                digest.update(block)
    return {"path": path, "sha256": digest.hexdigest()}


def _parts(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    from klump.files.mapped import parts

    return parts(path)
