"""Counts of sequences that remember where each transition was seen."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import InitVar, dataclass, field
from typing import Any

import numpy as np
from scipy import sparse

from klump.arguments import check_count
from klump.chain.wording import counted
from klump.errors import InvalidArgumentError, Setting
from klump.sources.sequences import transitions

# Up to here a dense table is small and faster, as for chains that are counted without remembering.
_MOST_DENSE_STATES = 1000


@dataclass(frozen=True, eq=False, repr=False)
class SequenceCounts:
    """Transition counts of sequences, for :func:`klump.posterior` and :func:`klump.bootstrap`.

    Counts alone look as if every transition were an observation of its own. If those of a sequence belong together -
    because sequences differ, because the process is no Markov chain, or because windows overlap at ``lag`` > 1 - that
    is too sure. With these counts a sample weighs whole sequences anew, by independent exponential weights: the
    Bayesian bootstrap of sequences. Every transition that was seen keeps a positive weight.

    Parameters
    ----------
    sequences, lag
        As in :meth:`klump.MarkovChain.from_sequences`.
    block_length
        Take this many successive transitions as a piece that is weighed as a whole, instead of a sequence: for few
        long sequences. It should be longer than what the process remembers, and leave at least dozens of pieces.

    Examples
    --------
    >>> import klump
    >>> walks = ["aabba", "abccb", "bcca", "aaabc", "cabba"]
    >>> counts = klump.SequenceCounts(walks)
    >>> counts
    SequenceCounts(3 states, 19 transitions in 5 pieces)
    >>> klump.bootstrap(counts, 2, n_samples=10).estimate.original.states
    ('a', 'b', 'c')
    """

    sequences: InitVar[Any]
    lag: int = 1
    block_length: int | None = None
    states: tuple[Hashable, ...] = field(init=False)
    """Names of the states."""
    count_matrix: Any = field(init=False)
    """How often each transition was seen: an array up to 1000 states, sparse beyond."""
    by_piece: sparse.csr_array = field(init=False)
    """How often each piece has each transition, in the order of a CSR matrix of the counts."""

    def __post_init__(self, sequences: Any) -> None:
        seen = transitions(sequences, self.lag)
        length = None if self.block_length is None else check_count("block_length", self.block_length)
        block = np.zeros_like(seen.place) if length is None else seen.place // length
        widest = int(block.max()) + 1
        pieces, piece = np.unique(seen.sequence * widest + block, return_inverse=True)
        if pieces.size < 2:
            raise InvalidArgumentError(
                f"make {counted(pieces.size, 'piece')}, but weights say something only of several",
                argument="sequences",
                remedy=(
                    "pass ",
                    Setting("block_length"),
                    " to cut sequences, or the bare counts if transitions are independent",
                ),
            )
        # Symbols of sequences that are too short for the lag are in no transition.
        used, ends = np.unique(np.concatenate([seen.source, seen.target]), return_inverse=True)
        source, target = np.split(ends, 2)
        n = used.size
        entries, entry = np.unique(source * n + target, return_inverse=True)
        ones = np.ones(entry.size)
        by_piece = sparse.csr_array(
            sparse.coo_array((ones, (piece, entry)), shape=(pieces.size, entries.size))
        )
        counts = sparse.csr_array(
            (np.bincount(entry).astype(float), (entries // n, entries % n)), shape=(n, n)
        )
        values = {
            "states": tuple(seen.symbols[i] for i in used.tolist()),
            "count_matrix": counts.toarray() if n <= _MOST_DENSE_STATES else counts,
            "by_piece": by_piece,
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def __repr__(self) -> str:
        pieces = counted(self.by_piece.shape[0], "piece")
        size = f"{counted(len(self.states), 'state')}, {counted(int(self.by_piece.sum()), 'transition')}"
        return f"SequenceCounts({size} in {pieces})"
