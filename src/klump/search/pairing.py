"""Greedy merging of pairs on a sparse chain: the search where there are nearly as many groups as states.

There B is as sparse as J, and dense tables of k^2 entries would not fit in memory. Pairs that share no predecessor and
no successor and have no transition between them cost ``g(nu[a], nu[b])``, which grows with both masses; so the
candidates are the pairs that do, and pairs of similar mass. Their prices are estimated from the terms of B that they
share; the lowest are computed exactly, and disjoint pairs are merged in batches, the cheapest first. If there are few
mergers, an assignment of the lighter states to others then replaces the greedy choice where it is cheaper.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from klump.information import xlog2x
from klump.search.descent import score
from klump.search.kernels.tables import Weights
from klump.search.method import Found, Labels, Task, better, report_result

Floats = NDArray[np.float64]
Numbers = NDArray[np.int64]

# Entries between two entries of a row up to which they are a candidate: rows of hubs have too many pairs.
_MAX_SHIFT = 32
# Candidates whose exact price is computed, per merger and at least. Empirical, as is the share below.
_CANDIDATES_PER_MERGER = 20
_MIN_CANDIDATES = 2_000
# Share of the mergers left that are made before prices are computed anew.
_BATCH_SHARE = 1 / 4
# Mergers up to which states are assigned to each other: that takes quadratic memory.
_MAX_ASSIGNED = 200
# Groups up to which the tables of local search are affordable: 48 k^2 bytes are 0.8 GB.
_MAX_TABLE_GROUPS = 4_000
# States that any state may be assigned to, per merger: the lightest ones.
_HOSTS_PER_MERGER = 3


class _Groups(NamedTuple):
    """A chain of groups: the sums that a price is computed from, by rows."""

    into: sparse.csr_array  # (k, n) A transposed
    flow: sparse.csr_array  # (k, k) B
    back: sparse.csr_array  # (k, k) B transposed
    nu: Floats  # (k,)


class _Pairs(NamedTuple):
    """Candidates for a merger: pairs of groups."""

    first: Numbers
    second: Numbers


def is_nearly_all_states(task: Task) -> bool:
    """Whether this search replaces others: on sparse chains with few mergers, or with too many groups for tables."""
    n, k = task.chain.n_states, task.n_groups
    return task.chain.is_sparse and 2 * k > n and (n - k <= _MAX_ASSIGNED or k > _MAX_TABLE_GROUPS)


def merge_pairs(task: Task) -> Found:
    """Merge single states to ``n_groups`` groups; an initial map is the answer if it is cheaper."""
    n, k, weights = task.chain.n_states, task.n_groups, task.objective.weights
    singles = _make_groups(task, np.arange(n), n)
    candidates = _find_candidates(singles, weights, n - k)
    found = score(task, _merge_greedily(task, singles, candidates))
    if n - k <= _MAX_ASSIGNED:
        for absorbed in _choose_absorbed(found.labels, singles.nu, n - k):
            found = better(found, score(task, _assign(singles, weights, candidates, absorbed)))
    if task.initial is not None:
        found = better(found, score(task, task.initial))
    return report_result(task, found)


def _merge_greedily(task: Task, groups: _Groups, pairs: _Pairs) -> Labels:
    """Merge disjoint pairs, the cheapest first, and price all pairs anew after each batch."""
    labels, count, weights = np.arange(task.chain.n_states), task.chain.n_states, task.objective.weights
    while count > task.n_groups:
        left = count - task.n_groups
        prices = _compute_prices(groups, weights, pairs)
        pairs = _lowest(pairs, prices, left)
        parent = _merge_disjoint(pairs, count, int(np.ceil(_BATCH_SHARE * left)))
        labels, pairs, count = parent[labels], _map_pairs(pairs, parent), int(parent.max()) + 1
        groups = _make_groups(task, labels, count)
        if pairs.first.size < left:
            pairs = _find_candidates(groups, weights, left)
    return labels.astype(np.int32)


def _choose_absorbed(labels: Labels, mu: Floats, mergers: int) -> tuple[Numbers, Numbers]:
    """States to assign to others: the lightest of those in pairs, or all but the heaviest state of every group."""
    members = np.flatnonzero(np.bincount(labels)[labels] > 1)
    members = members[np.argsort(mu[members], kind="stable")]
    _, heaviest = np.unique(labels[members][::-1], return_index=True)
    return members[:mergers], np.delete(members, members.size - 1 - heaviest)


def _assign(singles: _Groups, weights: Weights, candidates: _Pairs, absorbed: Numbers) -> Labels:
    """Assign each of ``absorbed`` to another state so that the prices of all pairs have the least sum."""
    from scipy.optimize import linear_sum_assignment

    is_absorbed = np.zeros(singles.nu.size, dtype=bool)
    is_absorbed[absorbed] = True
    order = np.argsort(singles.nu, kind="stable")
    light = order[~is_absorbed[order]][: _HOSTS_PER_MERGER * absorbed.size]
    first, second = candidates
    swapped = is_absorbed[second] & ~is_absorbed[first]
    first, second = np.where(swapped, second, first), np.where(swapped, first, second)
    mixed = is_absorbed[first] & ~is_absorbed[second]
    guests = np.concatenate([np.repeat(absorbed, light.size), first[mixed]])
    hosts = np.concatenate([np.tile(light, absorbed.size), second[mixed]])
    (rows, row), (columns, column) = (np.unique(ends, return_inverse=True) for ends in (guests, hosts))
    prices = np.full((rows.size, columns.size), np.inf)
    prices[row, column] = _compute_prices(singles, weights, _Pairs(guests, hosts))
    row, column = linear_sum_assignment(prices)
    labels = np.arange(singles.nu.size)
    labels[rows[row]] = columns[column]
    return np.unique(labels, return_inverse=True)[1].astype(np.int32)


def _make_groups(task: Task, labels: Numbers, count: int) -> _Groups:
    n, joint = labels.size, sparse.csr_array(task.chain.joint)
    members = sparse.csr_array((np.ones(n), labels, np.arange(n + 1)), shape=(n, count))
    into = sparse.csr_array(joint @ members)
    flow = sparse.csr_array(members.T @ into)
    nu = np.asarray(np.bincount(labels, task.chain.stationary_distribution, count), dtype=np.float64)
    return _Groups(sparse.csr_array(into.T), flow, sparse.csr_array(flow.T), nu)


def _find_candidates(groups: _Groups, weights: Weights, mergers: int) -> _Pairs:
    """Pairs with the lowest estimated prices: ``g(nu[a], nu[b])`` and the shared terms of B, A taken for B."""
    order, count = np.argsort(groups.nu, kind="stable"), groups.nu.size
    nu, flow = groups.nu[order], groups.flow[order][:, order]
    back = sparse.csr_array(flow.T)
    flow.sort_indices()
    shared = _shared_in_rows(flow, count) * (weights.into - weights.flow)
    shared = shared - (_shared_in_rows(back, count) + _shared_by_links(flow, back)) * weights.flow
    # Neighbours in the order of the masses, which need not share a term: stored zeros.
    similar = sparse.diags_array(np.full(count - 1, np.finfo(float).tiny), offsets=1, shape=(count, count))
    terms = sparse.coo_array(shared + similar)
    estimates = _g(nu[terms.row], nu[terms.col]) + terms.data
    return _lowest(_Pairs(order[terms.row], order[terms.col]), estimates, mergers)


def _lowest(pairs: _Pairs, prices: Floats, mergers: int) -> _Pairs:
    """The cheapest pairs, in order of their price: as many as are kept for so many mergers."""
    wanted = max(_MIN_CANDIDATES, _CANDIDATES_PER_MERGER * mergers)
    kept = np.argpartition(prices, wanted)[:wanted] if wanted < prices.size else np.arange(prices.size)
    kept = kept[np.argsort(prices[kept], kind="stable")]
    return _Pairs(pairs.first[kept], pairs.second[kept])


def _shared_in_rows(matrix: sparse.csr_array, count: int) -> sparse.csr_array:
    """Sum of ``g(M[z, a], M[z, b])`` over the rows z, for a < b at most ``_MAX_SHIFT`` entries apart."""
    total = sparse.csr_array((count, count))
    for first, second in _pairs_in_rows(matrix.indptr):
        values = _g(matrix.data[first], matrix.data[second])
        pairs = matrix.indices[first], matrix.indices[second]
        total = total + sparse.csr_array((values, pairs), shape=(count, count))
    return total


def _pairs_in_rows(indptr: NDArray[np.integer]) -> Iterator[tuple[Numbers, Numbers]]:
    """Positions of two entries of the same row, one shift after another."""
    lengths = np.diff(indptr)
    last, position = np.repeat(indptr[1:], lengths), np.arange(int(indptr[-1]))
    for shift in range(1, min(int(lengths.max()), _MAX_SHIFT + 1)):
        first = position[position + shift < last]
        yield first, first + shift


def _shared_by_links(flow: sparse.csr_array, back: sparse.csr_array) -> sparse.csr_array:
    """``g(B[a, b], B[b, a])`` for a < b."""
    return sparse.csr_array(sparse.triu(_apply_f(flow + back) - _apply_f(flow) - _apply_f(back), k=1))


def _apply_f(matrix: sparse.csr_array) -> sparse.csr_array:
    return sparse.csr_array((xlog2x(matrix.data), matrix.indices, matrix.indptr), shape=matrix.shape)


def _g(x: Floats, y: Floats) -> Floats:
    """``f(x + y) - f(x) - f(y)``."""
    return np.asarray(xlog2x(x + y) - xlog2x(x) - xlog2x(y))


def _compute_prices(groups: _Groups, weights: Weights, pairs: _Pairs) -> Floats:
    """Exact change of the cost by the merger of each pair."""
    a, b = pairs
    price = _g(groups.nu[a], groups.nu[b])
    if weights.into != 0.0:
        price += weights.into * _change_of_rows(groups.into, a, b)
    if weights.flow != 0.0:
        change = _change_of_rows(groups.flow, a, b) + _change_of_rows(groups.back, a, b)
        price -= weights.flow * (change + _overlap(groups.flow, a, b))
    return price


def _change_of_rows(matrix: sparse.csr_array, a: Numbers, b: Numbers) -> Floats:
    """Sum of f over ``M[a] + M[b]``, minus those over ``M[a]`` and ``M[b]``."""
    alone = _sum_f(matrix)
    return _sum_f(matrix[a] + matrix[b]) - alone[a] - alone[b]


def _sum_f(matrix: sparse.csr_array) -> Floats:
    return np.asarray(_apply_f(matrix).sum(axis=1)).ravel()


def _overlap(flow: sparse.csr_array, a: Numbers, b: Numbers) -> Floats:
    """The entries between a and b, which are in two merged rows and columns but become one entry."""
    aa, ab, ba, bb = (_entries(flow, i, j) for i in (a, b) for j in (a, b))
    entries = xlog2x(aa) + xlog2x(ab) + xlog2x(ba) + xlog2x(bb) + xlog2x((aa + ba) + (ab + bb))
    return np.asarray(
        entries - xlog2x(aa + ba) - xlog2x(ab + bb) - xlog2x(aa + ab) - xlog2x(ba + bb), dtype=np.float64
    )


def _entries(matrix: sparse.csr_array, i: Numbers, j: Numbers) -> Floats:
    """``M[i, j]`` for each pair i, j."""
    rows = matrix[i]
    number = np.repeat(np.arange(i.size), np.diff(rows.indptr))
    found = rows.indices == j[number]
    return np.bincount(number[found], weights=rows.data[found], minlength=i.size).astype(np.float64)


def _merge_disjoint(pairs: _Pairs, count: int, mergers: int) -> Numbers:
    """Merge disjoint pairs, the first ones first; the new number of each group."""
    parent, is_free = np.arange(count), np.ones(count, dtype=bool)
    for a, b in zip(*pairs, strict=True):
        if is_free[a] and is_free[b]:
            is_free[a] = is_free[b] = False
            parent[b] = a
            mergers -= 1
        if mergers == 0:
            break
    return np.unique(parent, return_inverse=True)[1].ravel()


def _map_pairs(pairs: _Pairs, parent: Numbers) -> _Pairs:
    """The same pairs after mergers, without duplicates and pairs that were merged."""
    ends = np.sort(np.stack([parent[pairs.first], parent[pairs.second]]), axis=0)
    first, second = np.unique(ends[:, ends[0] < ends[1]], axis=1)
    return _Pairs(first, second)
