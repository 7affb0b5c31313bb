"""State names and their order in lists of transitions."""

from __future__ import annotations

import re
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

# Canonical decimal integers: no leading zeros or plus sign, so that str(int(name)) == name. Python converts up to 4300
# digits; longer names stay text.
_INTEGER = re.compile(r"0|-?[1-9][0-9]{0,3999}")


def parse_integers(names: Sequence[str]) -> list[int] | None:
    """Names as integers if all of them are canonical decimal integers, else None."""
    return [int(name) for name in names] if all(map(_INTEGER.fullmatch, names)) else None


def order_states(
    names: list[str], rows: NDArray[Any], *, keeps_order: bool
) -> tuple[Sequence[Hashable], NDArray[np.intp]]:
    """State names in the order of the chain, and the rank of each name of ``names`` in it."""
    values = parse_integers(names)
    order, rank = rank_states(len(names), rows, None if keeps_order else values)
    chosen: Sequence[Hashable] = names if values is None else values
    return [chosen[i] for i in order.tolist()], rank


def rank_states(
    n_states: int, rows: NDArray[Any], values: Sequence[int] | None
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Order of states by their values, else by their first occurrence as source, and the rank of each in it."""
    if values is not None:
        order = np.array(sorted(range(n_states), key=values.__getitem__))
    else:
        sources, first = np.unique(rows, return_index=True)
        sources = sources[np.argsort(first)]
        order = np.concatenate([sources, np.setdiff1d(np.arange(n_states), sources)])
    rank = np.empty(n_states, dtype=np.intp)
    rank[order] = np.arange(n_states)
    return order, rank


def drop_default_names(names: Sequence[Hashable]) -> Sequence[Hashable] | None:
    """None for the default names 0, 1, 2, ..., else the names."""
    return None if list(names) == list(range(len(names))) else names
