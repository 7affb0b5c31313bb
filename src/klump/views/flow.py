"""Membership flow: the groups of successive answers as stacked bars, and ribbons of the states that they share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from klump.aggregation.identities import shared_masses
from klump.views.colours import track_groups

if TYPE_CHECKING:
    from klump.aggregation import Aggregation

Floats = NDArray[np.float64]

# Space between the bars of one answer, as a share of the height of all.
_SPACE = 0.025
# Half of the width of a bar; answers are one unit apart.
_HALF_WIDTH = 0.06
# Points along an edge of a ribbon.
_POINTS = 24
# Ribbons below this share of the mass are not drawn.
_LEAST_MASS = 1e-9


@dataclass(frozen=True, eq=False)
class Bar:
    """A group of one answer."""

    answer: int
    """Number of the answer: the bar stands at this x."""
    group: int
    identity: int
    """Identity of the group, which selects its colour; see :func:`klump.views.track_groups`."""
    bottom: float
    top: float
    """Height top - bottom is the mass."""


@dataclass(frozen=True, eq=False)
class Ribbon:
    """The states that one group shares with a group of the next answer."""

    answer: int
    source: int
    target: int
    identity: int
    """Identity of the source."""
    mass: float
    outline: Floats
    """Corners, a polygon, as rows (x, y)."""


@dataclass(frozen=True, eq=False)
class Flow:
    """Bars from bottom to top per answer, and the ribbons between neighbouring answers."""

    bars: tuple[Bar, ...]
    ribbons: tuple[Ribbon, ...]
    half_width: float = _HALF_WIDTH


def flow(answers: Sequence[Aggregation], identities: Sequence[Sequence[int]] | None = None) -> Flow:
    """Stack the groups of each answer by identity, and link what neighbouring answers share.

    Parameters
    ----------
    answers
        Answers of one chain.
    identities
        Identities of the groups of each answer; if left out, groups are matched along the answers.

    Examples
    --------
    >>> from klump import Aggregation
    >>> P = [[0.5, 0.4, 0.1], [0.4, 0.5, 0.1], [0.1, 0.1, 0.8]]
    >>> found = flow([Aggregation.from_labels(P, labels) for labels in ([0, 0, 1], [0, 1, 1])])
    >>> [(ribbon.source, ribbon.target, round(ribbon.mass, 3)) for ribbon in found.ribbons]
    [(0, 0, 0.333), (0, 1, 0.333), (1, 1, 0.333)]
    """
    tracked = track_groups(answers) if identities is None else identities
    stacks = [
        _stack(number, answer, known)
        for number, (answer, known) in enumerate(zip(answers, tracked, strict=True))
    ]
    ribbons = [
        ribbon
        for before, after, lower, upper in zip(answers, answers[1:], stacks, stacks[1:], strict=False)
        for ribbon in _ribbons(before, after, lower, upper)
    ]
    return Flow(tuple(bar for stack in stacks for bar in stack.values()), tuple(ribbons))


def _stack(number: int, answer: Aggregation, identities: Sequence[int]) -> dict[int, Bar]:
    """Bars of one answer by group, the lowest identity at the top."""
    masses = answer.state_weights @ answer.map.weights
    order = sorted(range(answer.n_states), key=lambda group: identities[group])
    space = _SPACE if len(order) < 0.5 / _SPACE else 0.5 / len(order) ** 1.5
    stack, top = {}, 1.0 + space * (len(order) - 1) / 2.0
    for group in order:
        bottom = top - float(masses[group])
        stack[group] = Bar(number, group, identities[group], bottom, top)
        top = bottom - space
    return stack


def _ribbons(
    before: Aggregation, after: Aggregation, lower: dict[int, Bar], upper: dict[int, Bar]
) -> list[Ribbon]:
    """Ribbons between two answers; at both ends they are stacked in the order of the groups at the other end."""
    shared = shared_masses(before, after)
    starts = {group: bar.top for group, bar in lower.items()}
    ends = {group: bar.top for group, bar in upper.items()}
    found = []
    for source in lower:
        for target in upper:
            mass = float(shared[source, target])
            if mass > _LEAST_MASS:
                bar = lower[source]
                outline = _outline(bar.answer, starts[source], ends[target], mass)
                found.append(Ribbon(bar.answer, source, target, bar.identity, mass, outline))
                starts[source] -= mass
                ends[target] -= mass
    return found


def _outline(number: int, start: float, end: float, mass: float) -> Floats:
    """S-shaped band from height ``start`` to height ``end``, both those of its upper edge."""
    t = np.linspace(0.0, 1.0, _POINTS)
    x = number + _HALF_WIDTH + t * (1.0 - 2.0 * _HALF_WIDTH)
    upper = start + (end - start) * t**2 * (3.0 - 2.0 * t)
    return np.concatenate([np.column_stack([x, upper]), np.column_stack([x, upper - mass])[::-1]])
