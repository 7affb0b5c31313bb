"""Partitions of characters: parse printed groups, align two partitions, format one with its mismatches marked."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from klump.experiments.result import Marked

Labels = NDArray[np.int64]


def parse_groups(groups: str, symbols: Sequence[str]) -> Labels:
    """Return the group number of each character; -1 for a character in no group.

    Examples
    --------
    >>> parse_groups("␣ac b", ["␣", "a", "b", "c", "d"])
    array([ 0,  0,  1,  0, -1])
    """
    number = {symbol: group for group, members in enumerate(groups.split()) for symbol in members}
    return np.array([number.get(symbol, -1) for symbol in symbols], dtype=np.int64)


def align(labels: Labels, target: Labels) -> Labels:
    """Renumber the groups one to one like those of another partition, with the largest overlap.

    Examples
    --------
    >>> align(np.array([0, 0, 1, 1, 1]), np.array([1, 1, 1, 0, 0]))
    array([1, 1, 0, 0, 0])
    """
    size = int(max(labels.max(), target.max())) + 1
    shared = np.zeros((size, size), dtype=np.int64)
    np.add.at(shared, (labels, target), 1)
    _, number = linear_sum_assignment(shared, maximize=True)
    return np.asarray(number[labels], dtype=np.int64)


def mismatches(labels: Labels, target: Labels) -> NDArray[np.bool_]:
    """Return a mask of the characters in different groups after :func:`align`.

    Examples
    --------
    >>> mismatches(np.array([0, 0, 1, 1, 1]), np.array([1, 1, 1, 0, 0]))
    array([False, False,  True, False, False])
    """
    return np.asarray(align(labels, target) != target)


def format_groups(labels: Labels, target: Labels, symbols: Sequence[str]) -> Marked:
    """Write the groups in the order of another partition, with the mismatches marked.

    Examples
    --------
    >>> print(format_groups(np.array([0, 0, 1, 1, 1]), np.array([1, 1, 1, 0, 0]), "abcde"))
    {[c]de} {ab}
    """
    numbers = align(labels, target)
    pieces: list[tuple[str, bool]] = []
    for group in np.unique(numbers):
        members = [
            (symbol, bool(number != wanted))
            for symbol, number, wanted in zip(symbols, numbers, target, strict=True)
            if number == group
        ]
        pieces.append((" {" if pieces else "{", False))
        pieces += [
            ("".join(symbol for symbol, _ in run), marked)
            for marked, run in groupby(members, key=lambda member: member[1])
        ]
        pieces.append(("}", False))
    return Marked(tuple(pieces))
