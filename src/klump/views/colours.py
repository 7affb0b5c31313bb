"""Colours of groups, the same in every picture of one result."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from klump.aggregation.identities import match_groups

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

    Answers of one grid have identities already. Other groups are matched with those of the answer before.
    """
    if all(answer.group_identities is not None for answer in answers):
        return [answer.identities for answer in answers]
    found: list[tuple[int, ...]] = []
    for answer in answers:
        if not found:
            found.append(answer.identities)
        else:
            found.append(match_groups(answers[len(found) - 1], found[-1], answer))
    return found
