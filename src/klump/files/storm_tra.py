"""``.storm.tra``: the dialect of ``.tra`` files that Storm reads, with a ``.storm.lab``; both are read alike."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from klump.files import explicit_siblings
from klump.files.prism_tra import KEEPS, known_siblings, read, write_transitions
from klump.files.rate_matrices import rates_of
from klump.files.streams import create_text

if TYPE_CHECKING:
    from klump.chain import MarkovChain

__all__ = ["KEEPS", "known_siblings", "read", "siblings", "write", "write_rates"]


def write(chain: MarkovChain, path: Path) -> None:
    """Write the transitions for Storm."""
    with create_text(path) as stream:
        stream.write("dtmc\n")
        write_transitions(chain.transition_matrix, stream)


def write_rates(chain: MarkovChain, path: Path) -> None:
    """Write the rates of a uniformised chain for Storm."""
    with create_text(path) as stream:
        stream.write("ctmc\n")
        write_transitions(rates_of(chain), stream)


def siblings(chain: MarkovChain, path: Path) -> dict[Path, Callable[[Path], None]]:
    """Return the sibling files that hold the rest of the chain, and their writers."""
    return explicit_siblings.writers(chain, path, explicit_siblings.write_storm_labels)
