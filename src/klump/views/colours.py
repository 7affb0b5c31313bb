"""Colours of groups, the same in every picture of one result."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from klump.aggregation import Aggregation

# Any two of the first eight are at least 17 apart in CIELAB for normal vision, protanopia, deuteranopia and tritanopia,
# any two of all at least 14; each has a contrast of at least 3 with white and with the dark background #16181c.
PALETTE = (
    *("#0b6fa4", "#e17800", "#1ea596", "#ff3c87", "#a578e1", "#87964b"),
    *("#965a4b", "#c32d1e", "#873cd2", "#786969", "#d200a5", "#b400ff"),
)


def colour_of(identity: int) -> str:
    """Colour of a group with an identity; colours repeat after twelve.

    >>> colour_of(1) == colour_of(13) == PALETTE[1]
    True
    """
    return PALETTE[identity % len(PALETTE)]


def group_colours(answers: Sequence[Aggregation]) -> list[tuple[str, ...]]:
    """Colours of the groups of each answer: a group keeps its colour from one answer to the next.

    Examples
    --------
    >>> from klump import Aggregation
    >>> P = [[0.5, 0.4, 0.1], [0.4, 0.5, 0.1], [0.1, 0.1, 0.8]]
    >>> first, second = (Aggregation.from_labels(P, labels) for labels in ([0, 0, 1], [0, 1, 2]))
    >>> [PALETTE.index(colour) for colour in group_colours([first, second])[1]]
    [0, 2, 1]
    """
    return [tuple(map(colour_of, identities)) for identities in track_groups(answers)]


def track_groups(answers: Sequence[Aggregation]) -> list[tuple[int, ...]]:
    """Identities of the groups of each answer: groups of successive answers with the same identity match.

    The groups of the first answer have their own numbers as identities.
    """
    found: list[tuple[int, ...]] = []
    for before, answer in zip([None, *answers], answers, strict=False):
        if before is None:
            found.append(tuple(range(answer.n_states)))
        else:
            found.append(match_groups(before, found[-1], answer))
    return found


def match_groups(reference: Aggregation, identities: Sequence[int], answer: Aggregation) -> tuple[int, ...]:
    """Identities of the groups of an answer, given those of the groups of another answer of the same chain.

    Groups are matched one to one so that the matched pairs share the largest total mass. A group without a match gets
    the lowest identity that no other group of the answer has.
    """
    from scipy.optimize import linear_sum_assignment

    shared = shared_masses(reference, answer)
    old, new = linear_sum_assignment(shared, maximize=True)
    matched = {
        int(group): identities[int(before)]
        for before, group in zip(old, new, strict=True)
        if shared[before, group] > 0.0
    }
    free = (number for number in range(len(identities) + answer.n_states) if number not in matched.values())
    return tuple(matched[group] if group in matched else next(free) for group in range(answer.n_states))


def shared_masses(first: Aggregation, second: Aggregation) -> NDArray[np.float64]:
    """Mass of the states that are in a group of the first and in a group of the second answer: W^T diag(mu) W'.

    A state of a soft map is in a group with its share W.
    """
    weighted = first.map.weights.multiply(first.state_weights[:, None])
    return np.asarray((weighted.T @ second.map.weights).toarray(), dtype=np.float64)
