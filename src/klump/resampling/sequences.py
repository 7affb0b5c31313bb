"""Transition counts per sequence or block, for the bootstrap of sequences."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import InitVar, dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from klump.arguments import check_count
from klump.chain.wording import format_count
from klump.errors import InvalidArgumentError, Setting
from klump.sources.sequences import transitions

# States up to which the count matrix is dense: 8 MB, and faster.
_MAX_DENSE_STATES = 1000


@dataclass(frozen=True, eq=False, repr=False)
class SequenceCounts:
    """Transition counts of sequences, for :func:`klump.posterior` and :func:`klump.bootstrap`.

    A count matrix treats transitions as independent observations. If those of a sequence are dependent - because
    sequences differ, because the process is no Markov chain, or because windows overlap at ``lag`` > 1 - its intervals
    are too narrow. These counts resample whole sequences, with independent standard exponential weights: the Bayesian
    bootstrap of sequences. Every observed transition keeps a positive weight.

    Parameters
    ----------
    sequences, lag
        As in :meth:`klump.MarkovChain.from_sequences`.
    block_length
        Resample blocks of this many successive transitions instead of sequences (block bootstrap): for few long
        sequences. It should exceed the correlation time of the process, and leave at least dozens of blocks.
    ends
        As in :meth:`klump.MarkovChain.from_sequences`.

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
    """Only read; ``by_piece`` has what is kept of them."""
    lag: int = 1
    """Distance in time of the two states of a transition."""
    block_length: int | None = None
    """Number of transitions of a block; None if whole sequences are resampled."""
    ends: Literal["join"] | None = None
    """``"join"`` if a state stands between the end of a sequence and the start of another one."""
    states: tuple[Hashable, ...] = field(init=False)
    """Names of the states."""
    count_matrix: Any = field(init=False)
    """Number of observations of each transition: an array up to 1000 states, sparse beyond."""
    by_piece: sparse.csr_array = field(init=False)
    """Counts per piece (row) and transition (column), in the order of a CSR matrix of the counts."""
    initial: NDArray[np.float64] | None = field(init=False)
    """Distribution of the first symbols, or the state between sequences; where a restart leads by default."""

    def __post_init__(self, sequences: Any) -> None:
        observed = transitions(sequences, self.lag, self.ends)
        length = None if self.block_length is None else check_count("block_length", self.block_length)
        block = np.zeros_like(observed.place) if length is None else observed.place // length
        n_blocks = int(block.max()) + 1
        pieces, piece = np.unique(observed.sequence * n_blocks + block, return_inverse=True)
        if pieces.size < 2:
            raise InvalidArgumentError(
                f"make {format_count(pieces.size, 'piece')}, but a bootstrap needs several",
                argument="sequences",
                remedy=(
                    "pass ",
                    Setting("block_length"),
                    " to cut sequences, or the bare counts if transitions are independent",
                ),
            )
        # Symbols that occur only in sequences too short for the lag have no transition.
        used, ends = np.unique(np.concatenate([observed.source, observed.target]), return_inverse=True)
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
        first = np.bincount(observed.first, minlength=len(observed.symbols))[used]
        values = {
            "states": tuple(observed.symbols[i] for i in used.tolist()),
            "count_matrix": counts.toarray() if n <= _MAX_DENSE_STATES else counts,
            "by_piece": by_piece,
            "initial": first / first.sum() if first.any() else None,
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def __repr__(self) -> str:
        pieces = format_count(self.by_piece.shape[0], "piece")
        size = f"{format_count(len(self.states), 'state')}, {format_count(int(self.by_piece.sum()), 'transition')}"
        return f"SequenceCounts({size} in {pieces})"
