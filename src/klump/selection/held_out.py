"""Log-likelihood of sequences that were held out, under the chain that the groups stand for."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from klump.aggregation import Aggregation
from klump.chain import MarkovChain
from klump.errors import InvalidArgumentError
from klump.resampling import SequenceCounts
from klump.sources.adapters import Adapted
from klump.sources.sequences import transition_counts


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Transitions that were held out, between states of a chain."""

    source: NDArray[np.intp]
    target: NDArray[np.intp]
    count: NDArray[np.float64]
    """How often the transition from ``source`` to ``target`` occurs."""
    n_unknown: int
    """Transitions from or to states that the chain does not have; they are left out."""

    @property
    def n_transitions(self) -> int:
        """Transitions between states of the chain."""
        return round(float(self.count.sum()))

    def bits_per_step(self, answer: Aggregation) -> float:
        """Mean of -log2 Pr(x2 given x1), with Pr(x2 given x1) = Q[g(x1), g(x2)] mu[x2] / nu[g(x2)].

        This is the pi-lifting of the aggregated chain. If the chain was estimated from counts, each row of Q is
        estimated with one more observation, distributed as nu, so that no transition is impossible; otherwise a
        transition that Q excludes makes the result infinite.
        """
        chain, labels, nu = answer.original, answer.labels, answer.masses
        Q: Any = answer.chain.transition_matrix
        Q = Q.toarray() if sparse.issparse(Q) else np.asarray(Q)
        if chain._counted is not None:
            counts = np.bincount(labels, chain._counted, answer.n_states)[:, None]
            Q = (counts * Q + nu) / (counts + 1.0)
        g, h = labels[self.source], labels[self.target]
        probability = Q[g, h] * chain.stationary_distribution[self.target] / nu[h]
        with np.errstate(divide="ignore"):
            return float(-(self.count @ np.log2(probability)) / self.count.sum())


def read_held_out(given: Any, chain: MarkovChain) -> HeldOut:
    """Count the transitions of sequences, and match their symbols with the states of a chain.

    Examples
    --------
    >>> import klump
    >>> chain = klump.MarkovChain.from_sequences(["abacbabcab"])
    >>> found = read_held_out(["abba", "abz"], chain)
    >>> found.n_transitions, found.n_unknown
    (4, 1)
    """
    counts, states = _count(given)
    table = sparse.coo_array(counts)
    index = {state: number for number, state in enumerate(chain.states)}
    place = np.array([index.get(state, -1) for state in states], dtype=np.intp)
    source, target = (place[side] for side in table.coords)
    known = (source >= 0) & (target >= 0) & (table.data > 0)
    if not known.any():
        raise InvalidArgumentError(
            "has no transition between states of the chain",
            argument="held_out",
            remedy="pass sequences of the names of its states",
        )
    count = table.data.astype(float)
    return HeldOut(source[known], target[known], count[known], round(float(count[~known].sum())))


def _count(given: Any) -> tuple[Any, tuple[Hashable, ...]]:
    if isinstance(given, SequenceCounts):
        return given.count_matrix, given.states
    if isinstance(given, Adapted):
        states = range(given.matrix.shape[0]) if given.states is None else given.states
        return given.matrix, tuple(states)
    try:
        return transition_counts(given)
    except InvalidArgumentError as error:
        error.rename("sequences", "held_out")
        raise
