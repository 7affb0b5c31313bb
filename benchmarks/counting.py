"""The kernel of a sweep, compiled once more with parts that count what they do."""

from __future__ import annotations

import types
from functools import cache

import numpy as np
from numba import njit

from klump.compilation import FASTMATH, inlined
from klump.search.descent import TOLERANCE
from klump.search.kernels import descent as kernels
from klump.search.problem import make_work

# What is counted, and what one of it is. "Linked" are the groups that the state leads to, and those that lead to it.
TERMS = {
    "states": "a state is visited",
    "ends": "the label of a neighbour is looked up",
    "links": "a linked group",
    "cells": "a linked group, times one that might be joined",
    "close cells": "the same, bounded with a logarithm",
    "slots": "a bound is written or compared",
    "pairs": "a linked group, times a linked group that might be joined",
    "blocks": "four entries of A, in the list of a state that leads here",
    "prices": "a group is priced exactly",
    "priced": "a linked group, when a group is priced exactly",
    "priced ends": "a list in which groups are looked for, when one is priced exactly",
    "moved": "a linked group, when the state moves",
    "moved ends": "a list that changes when the state moves",
    "masses": "an entry of a dense A, when a group is bounded",
    "priced masses": "an entry of a dense A, when a group is priced exactly",
    "moved masses": "an entry of a dense A, when the state moves",
    "renewed masses": "its logarithm, which is then renewed",
}


def counts(problem, table, weights, order) -> dict[str, int]:
    """What a sweep does; ``table`` is left as the sweep leaves it."""
    counted = table._replace(one=np.zeros(len(TERMS) + 1, dtype=np.int64))
    work = make_work(table.size.size)
    counting_visit()(problem, counted, work, weights, order, kernels.SETTLE, kernels._NOWHERE, TOLERANCE)
    return dict(zip(TERMS, counted.one.tolist(), strict=False))


@cache
def counting_visit():
    """``kernels.visit`` with parts that add what they do to ``table.one``; compiled anew, which takes a minute."""
    part = inlined(allocates=False)
    leave, bound, bound_links = kernels._leave, kernels._bound, kernels._bound_links
    leave_exactly, join, move = kernels._leave_exactly, kernels._join, kernels._move
    (
        states,
        ends,
        links,
        cells,
        close_cells,
        slots,
        pairs,
        blocks,
        prices,
        priced,
        priced_ends,
        moved,
        moved_ends,
        masses,
        priced_masses,
        moved_masses,
        renewed_masses,
    ) = range(len(TERMS))
    scans_all = len(TERMS)

    @part
    def counted_leave(problem, table, weights, x, only, work):
        price, n_out, n_in = leave(problem, table, weights, x, only, work)
        count = table.one
        count[states] += 1
        count[links] += n_out + n_in
        if problem.columns.size > 0:
            count[masses] += problem.mu.size * table.size.size if weights.into != 0.0 else 0
            return price, n_out, n_in
        first, last = problem.indptr[x], problem.indptr[x + 1]
        if weights.flow != 0.0:
            count[ends] += last - first
        if table.lists.bounds.shape[0] == 0:
            count[ends] += problem.out_indptr[x + 1] - problem.out_indptr[x]
        if weights.into != 0.0:
            for p in range(first, last):
                count[blocks] += (table.lists.bounds[problem.indices[p], 1] + 3) >> 2
        return price, n_out, n_in

    @part
    def counted_bound(problem, table, weights, x, care, work, n_out, n_in):
        width = work.gain.size
        table.one[slots] += 2 * width
        table.one[scans_all] = 1
        if weights.flow != 0.0 and care != kernels._AT_ONCE:
            table.one[close_cells if care == kernels._CLOSELY else cells] += (n_out + n_in + 1) * width
        elif weights.flow != 0.0:
            table.one[pairs] += (n_out + n_in) * (n_out + n_in)
        bound(problem, table, weights, x, care, work, n_out, n_in)

    @part
    def counted_bound_links(problem, table, weights, x, work, n_out, n_in):
        table.one[pairs] += (n_out + n_in) * (n_out + n_in)
        table.one[scans_all] = 0
        return bound_links(problem, table, weights, x, work, n_out, n_in)

    @part
    def count_ends(problem, table, weights, x):
        if weights.into != 0.0 and problem.columns.size == 0:
            table.one[priced_ends] += problem.indptr[x + 1] - problem.indptr[x]

    @part
    def counted_leave_exactly(problem, table, weights, x, y, work, n_out, n_in):
        table.one[priced] += n_out + n_in + 1
        table.one[priced_masses] += 2 * problem.columns.shape[0] if weights.into != 0.0 else 0
        count_ends(problem, table, weights, x)
        return leave_exactly(problem, table, weights, x, y, work, n_out, n_in)

    @part
    def counted_join(problem, table, weights, x, y, work, n_out, n_in):
        table.one[priced] += n_out + n_in + 1
        table.one[prices] += 1
        # The least bound is looked for again.
        table.one[slots] += work.gain.size if table.one[scans_all] else n_out + n_in
        # The first is prepared when the state leaves its group.
        if work.prepared[0] != y:
            table.one[priced_masses] += problem.columns.shape[0] if weights.into != 0.0 else 0
            count_ends(problem, table, weights, x)
        return join(problem, table, weights, x, y, work, n_out, n_in)

    @part
    def counted_move(problem, table, weights, x, y, work, n_out, n_in):
        if weights.flow != 0.0:
            table.one[moved] += n_out + n_in
        if table.lists.bounds.shape[0] > 0:
            table.one[moved_ends] += problem.indptr[x + 1] - problem.indptr[x]
        table.one[moved_masses] += problem.columns.shape[0]
        table.one[renewed_masses] += 2 * problem.columns.shape[0] if weights.into != 0.0 else 0
        move(problem, table, weights, x, y, work, n_out, n_in)

    counted = {
        "_leave": counted_leave,
        "_bound": counted_bound,
        "_bound_links": counted_bound_links,
        "_leave_exactly": counted_leave_exactly,
        "_join": counted_join,
        "_move": counted_move,
    }
    original = getattr(kernels.visit, "py_func", kernels.visit)
    missing = [name for name in counted if name not in original.__code__.co_names]
    if missing:
        raise RuntimeError(
            f"the kernel no longer calls {missing[0]}: benchmarks/counting.py counts what it does there"
        )
    # Not by ``kernel``: its cache would take this for the original.
    return njit(nogil=True, fastmath=set(FASTMATH), error_model="numpy", _nrt=False)(
        types.FunctionType(original.__code__, original.__globals__ | counted)
    )
