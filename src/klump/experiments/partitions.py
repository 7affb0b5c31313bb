"""Partitions of single characters: read from print, matched with each other, written with what differs marked."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from klump.experiments.result import Marked

Labels = NDArray[np.int64]


def parse_groups(groups: str, symbols: Sequence[str]) -> Labels:
    """Number the group of each character; -1 if it is in none.

    Examples
    --------
    >>> parse_groups("␣ac b", ["␣", "a", "b", "c", "d"])
    array([ 0,  0,  1,  0, -1])
    """
    number = {symbol: group for group, members in enumerate(groups.split()) for symbol in members}
    return np.array([number.get(symbol, -1) for symbol in symbols], dtype=np.int64)


def align(labels: Labels, target: Labels) -> Labels:
    """Give the groups the numbers of those in another partition with which they share most, one to one.

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
    """Tell which characters are left over when the groups are matched one to one.

    Examples
    --------
    >>> mismatches(np.array([0, 0, 1, 1, 1]), np.array([1, 1, 1, 0, 0]))
    array([False, False,  True, False, False])
    """
    return np.asarray(align(labels, target) != target)


def format_groups(labels: Labels, target: Labels, symbols: Sequence[str]) -> Marked:
    """Write the groups in the order of another partition; what is in another group there is marked.

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
