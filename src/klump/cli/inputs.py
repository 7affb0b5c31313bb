"""The chain that a command works on, and where it came from."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from klump.chain import MarkovChain


@dataclass(frozen=True)
class ChainInput:
    """A file, and what is done with it."""

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
        """Say what was read, for JSON."""
        return {
            **file_record(self.path),
            "n_states": chain.n_states,
            "n_transitions": chain.n_transitions,
            "normalize": self.normalize,
            "applied": list(chain.applied),
        }


def file_record(path: str) -> dict[str, str]:
    """Say which file it was, for JSON: where it is, and the hash of what is in it.

    The hash of a folder is that of the files that say what the chain is, one after the other.
    """
    digest = hashlib.sha256()
    for part in _parts(Path(path)):
        with part.open("rb") as file:
            while piece := file.read(2**20):
                digest.update(piece)
    return {"path": path, "sha256": digest.hexdigest()}


def _parts(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    from klump.files.mapped import parts

    return parts(path)
