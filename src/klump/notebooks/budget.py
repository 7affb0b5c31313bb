"""Quantities that a notebook may compute just to show a result: a look must not take long.

What was computed before is always shown.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from klump.errors import KlumpError

if TYPE_CHECKING:
    from klump.aggregation import Aggregation
    from klump.chain import MarkovChain

# Most stored entries of all transition matrices that a result is computed from: one pass takes some 20 ms per million.
MAX_ENTRIES = 2_000_000
# Most states of a chain whose stationary distribution is computed: dense elimination takes less than 0.1 s.
_MAX_SOLVED = 1000
# Most entries of a transition matrix whose slowest timescale is estimated, for a note.
_MAX_TIMESCALE = 20_000
# Most entries of the dense map of a stochastic aggregation.
_MAX_MAP = 5_000_000


def count_entries(chain: MarkovChain) -> int:
    """Number of stored entries of the transition matrix."""
    return chain.n_transitions if chain.is_sparse else chain.n_states**2


def is_small(chain: MarkovChain, times: int = 1) -> bool:
    """Whether the transitions may be read that many times."""
    return count_entries(chain) * times <= MAX_ENTRIES


def is_small_answer(answer: Aggregation, times: int = 1) -> bool:
    """Whether transitions between groups may be summed that many times: a state of a soft map has several groups."""
    memberships = -(-answer.map.weights.nnz // answer.original.n_states)
    return is_small(answer.original, times * memberships) and knows_labels(answer)


def knows_classes(chain: MarkovChain) -> bool:
    """Whether the communicating classes are known, or cheap."""
    return "classes" in chain.__dict__ or is_small(chain)


def knows_masses(chain: MarkovChain) -> bool:
    """Whether the stationary distribution is known, or exists and is cheap."""
    if chain._known_stationary is not None:
        return not knows_classes(chain) or chain.is_irreducible
    if chain.n_states > _MAX_SOLVED or not chain.is_irreducible:
        return False
    try:
        return len(chain.stationary_distribution) > 0
    except KlumpError:
        return False


def why_no_masses(chain: MarkovChain) -> str:
    """Reason why what needs the stationary distribution is not shown."""
    if knows_classes(chain) and not chain.is_irreducible:
        return "without stationary masses, as the chain is not irreducible"
    if chain.n_states <= _MAX_SOLVED and is_small(chain) and chain._known_stationary is None:
        return "without stationary masses, as their computation does not converge"
    return "not computed for a chain of this size"


def knows_weights(answer: Aggregation) -> bool:
    """Whether :attr:`Aggregation.state_weights` is known or cheap, and the transitions may be read."""
    chain = answer.original
    if not is_small_answer(answer):
        return False
    if "state_weights" in answer.__dict__:
        return True
    if chain.is_irreducible:
        return knows_masses(chain)
    try:
        return len(answer.state_weights) > 0
    except KlumpError:
        return False


def knows_labels(answer: Aggregation) -> bool:
    """Whether the labels are known or cheap: those of a stochastic map need its dense matrix."""
    known = answer.map.labels is not None or "labels" in answer.__dict__
    return known or answer.original.n_states * answer.n_states <= _MAX_MAP


def knows_timescales(answer: Aggregation) -> bool:
    """Whether the slowest timescales, on which there may be a note, are known or cheap."""
    known, entries = "_slowest_timescales" in answer.__dict__, count_entries(answer.original)
    return known or max(entries, answer.n_states**2) <= _MAX_TIMESCALE


def can_compare(answers: list[Aggregation]) -> bool:
    """Whether costs and epsilons of several answers of one chain are cheap."""
    small = all(is_small_answer(answer, len(answers)) for answer in answers)
    return bool(answers) and small and knows_masses(answers[0].original)
