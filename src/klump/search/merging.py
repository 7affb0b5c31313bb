"""Greedy merging in resumable steps: with compiled kernels, and in NumPy for few states."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from klump.information import xlog2x
from klump.search.kernels.tables import Groups, Weights
from klump.search.method import Labels

Floats = NDArray[np.float64]

# Pairs per kernel call that computes the initial lower bounds; Ctrl-C is handled between calls.
_PAIRS_PER_CALL = 100_000
# Bound of the price of groups that must not be merged, in bits: above any price, and finite, since bounds are lowered.
_NEVER = np.float32(1e30)


class Merging:
    """Greedy merging with lower bounds of the prices; ``pairs`` and ``prices`` hold the merger and its price per step.

    ``kernels/merging.py`` explains the bounds. ``apart`` (k x k) marks pairs of groups that must not be merged.
    """

    def __init__(
        self, joint: Any, mu: Floats, leaf: Labels, weights: Weights, apart: NDArray[np.bool_] | None = None
    ) -> None:
        count = int(leaf.max()) + 1
        self.apart = apart
        self.weight_into, self.weight_flow = weights.into, -weights.flow
        self.pairs = np.zeros((count - 1, 2), dtype=np.int64)
        self.prices = np.zeros(count - 1)
        self.priced = 0
        into, back, nu = _sum_by_group(joint, mu, leaf, weights)
        flow = back.T.copy()
        self.groups = Groups(
            into=into,
            flow=flow,
            back=back,
            rough_into=into.astype(np.float32),
            rough_flow=flow.astype(np.float32),
            rough_back=back.astype(np.float32),
            nu=nu,
            bound=np.zeros((count, count), dtype=np.float32),
            least=np.zeros(count, dtype=np.float32),
            sums=np.zeros((3, count)),
            work=np.zeros((6, count), dtype=np.float32),
            shared=np.zeros(count),
            name=np.arange(count),
            alive=np.array([count]),
        )
        self._bound_prices(single_states=count == len(leaf) and weights.flow > 0.0)

    def _bound_prices(self, *, single_states: bool) -> None:
        """Lower bounds of all prices, ``_PAIRS_PER_CALL`` per kernel call."""
        from klump.search.kernels.merging import TILE, bound_rows, sum_rows

        sum_rows(self.groups)
        count = len(self.groups.nu)
        rows = TILE * max(1, _PAIRS_PER_CALL // (TILE * count))
        for first in range(0, count, rows):
            end = min(first + rows, count)
            bound_rows(self.groups, self.weight_into, self.weight_flow, single_states, first, end)

    def run(self, until: int) -> bool:
        """Merge until ``until`` groups remain; False if all pairs that remain must not be merged."""
        from klump.search.kernels.merging import cheapest_pair, merge_pair

        groups, weights, count = self.groups, (self.weight_into, self.weight_flow), len(self.groups.nu)
        for step in range(count - int(groups.alive[0]), count - until):
            if not self._exclude_pairs():
                return False
            a, b, self.prices[step], exact = cheapest_pair(groups, *weights)
            self.pairs[step] = sorted((groups.name[a], groups.name[b]))
            merge_pair(groups, *weights, a, b)
            if self.apart is not None:
                self.apart = _merge_apart(self.apart, a, b, with_last=True)
            groups.name[a] = count + step
            self.priced += exact
        return True

    def _exclude_pairs(self) -> bool:
        """Set the bounds of pairs that must not be merged; False if no pair may be."""
        if self.apart is None:
            return True
        k = len(self.apart)
        bound = self.groups.bound[:k, :k]
        bound[self.apart] = _NEVER
        upper = np.triu(np.ones((k, k), dtype=bool), 1)
        self.groups.least[:k] = np.where(upper, bound, np.float32(np.inf)).min(axis=1)
        return not self.apart[upper].all()


class NumpyMerging:
    """The same mergers and prices as :class:`Merging`, in NumPy: every price is exact and updated at each merger.

    With ``g(x, y) = f(x + y) - f(x) - f(y)``, the price of merging groups a and b is::

        sum_z weight[z] g(rows[a, z], rows[b, z])
        + weight_flow (sum_z g(B[a, z], B[b, z]) + sum_z g(B[z, a], B[z, b]) + overlap[a, b])

    where ``rows`` are nu and A, of which a merger of other groups changes nothing, and ``overlap`` corrects the terms
    z = a and z = b. ``gain`` is the price without the overlap. ``apart`` (k x k) marks pairs of groups that must not be
    merged.
    """

    def __init__(
        self, joint: Any, mu: Floats, leaf: Labels, weights: Weights, apart: NDArray[np.bool_] | None = None
    ) -> None:
        self.apart = apart
        into, back, nu = _sum_by_group(joint, mu, leaf, weights)
        count = nu.size
        self.pairs = np.zeros((count - 1, 2), dtype=np.int64)
        self.prices = np.zeros(count - 1)
        self.names = np.arange(count)
        self.rows = np.column_stack([nu, into])
        self.row_weights = np.append(1.0, np.full(into.shape[1], weights.into))
        self.flow, self.weight_flow = back.T, -weights.flow
        self.gain = self._gains(range(count))

    def _gains(self, groups: Iterable[int]) -> Floats:
        """The rows of ``gain`` of some groups."""
        table, weights = self.rows, self.row_weights
        if self.flow.size:
            table = np.hstack([self.rows, self.flow, self.flow.T])
            weights = np.append(weights, np.full(2 * len(self.flow), self.weight_flow))
        alone = xlog2x(table) @ weights
        return np.array([xlog2x(table[a] + table) @ weights - alone[a] - alone for a in groups])

    def run(self, until: int) -> bool:
        """Merge until ``until`` groups remain; False if all pairs that remain must not be merged."""
        count = len(self.pairs) + 1
        for step in range(count - self.names.size, count - until):
            price = self.gain + (self.weight_flow * _overlap(self.flow) if self.flow.size else 0.0)
            price[np.tril_indices(len(price))] = np.inf
            if self.apart is not None:
                price[self.apart] = np.inf
            if price.min() == np.inf:
                return False
            a, b = divmod(int(np.argmin(price)), len(price))
            self.prices[step] = price[a, b]
            self.pairs[step] = sorted(self.names[[a, b]])
            self._merge(a, b)
            self.names[a] = count + step
        return True

    def _merge(self, a: int, b: int) -> None:
        """Add group b to group a and delete it."""
        if self.flow.size:
            # Columns a and b of B become one, and so do the rows.
            for table in (self.flow, self.flow.T):
                for column, sign in ((table[:, a] + table[:, b], 1), (table[:, a], -1), (table[:, b], -1)):
                    self.gain += sign * self.weight_flow * _g(column[:, None], column)
            self.flow = _merge_rows(_merge_rows(self.flow, a, b).T, a, b).T
        self.rows = _merge_rows(self.rows, a, b)
        if self.apart is not None:
            self.apart = _merge_apart(self.apart, a, b, with_last=False)
        self.gain = np.delete(np.delete(self.gain, b, axis=0), b, axis=1)
        self.names = np.delete(self.names, b)
        self.gain[a] = self.gain[:, a] = self._gains([a])[0]


def _merge_rows(table: Floats, a: int, b: int) -> Floats:
    """Add row b > a to row a and delete it."""
    merged = np.delete(table, b, axis=0)
    merged[a] += table[b]
    return merged


def _merge_apart(apart: NDArray[np.bool_], a: int, b: int, *, with_last: bool) -> NDArray[np.bool_]:
    """Mark the pairs of a + b; the last group takes the place of b, or all groups after b move up."""
    apart = apart.copy()
    apart[a] |= apart[b]
    apart[:, a] = apart[a]
    if with_last:
        apart[b], apart[:, b] = apart[-1], apart[:, -1]
        apart[b, b] = False
        return apart[:-1, :-1]
    return np.delete(np.delete(apart, b, axis=0), b, axis=1)


def _g(x: Floats, y: Floats) -> Floats:
    return xlog2x(x + y) - xlog2x(x) - xlog2x(y)


def _overlap(flow: Floats) -> Floats:
    """Terms of the four entries of B between each two groups, which become one, beyond those of rows and columns.

    ``f(B[a, a] + B[a, b] + B[b, a] + B[b, b]) + sum of f(entry) - sum of f(sums of two entries in a row or column)``
    """
    own = np.diagonal(flow)[:, None]
    half = xlog2x(own) + xlog2x(flow) - xlog2x(own + flow) - xlog2x(own + flow.T)
    return xlog2x(own + own.T + flow + flow.T) + half + half.T


def _sum_by_group(joint: Any, mu: Floats, leaf: Labels, weights: Weights) -> tuple[Floats, Floats, Floats]:
    """A transposed, B transposed and nu; A and B without entries if their weight is zero."""
    count = int(leaf.max()) + 1
    to_groups = _sum_columns(joint, leaf, count)
    into = np.zeros((count, 0)) if weights.into == 0.0 else _dense(to_groups.T)
    back = np.zeros((0, 0)) if weights.flow == 0.0 else _dense(_sum_columns(to_groups.T, leaf, count))
    return into, back, np.asarray(np.bincount(leaf, weights=mu, minlength=count), dtype=np.float64)


def _sum_columns(matrix: Any, leaf: Labels, count: int) -> Any:
    """Sum of the columns per group."""
    n = len(leaf)
    if count == n:
        return matrix[:, np.argsort(leaf)]
    return matrix @ sparse.csr_array((np.ones(n), leaf, np.arange(n + 1)), shape=(n, count))


def _dense(matrix: Any) -> Floats:
    """C-contiguous copy; merging overwrites it."""
    return np.array(matrix.toarray() if sparse.issparse(matrix) else matrix, dtype=np.float64, order="C")
