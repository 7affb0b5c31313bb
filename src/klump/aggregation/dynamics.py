"""Dynamics of an answer: its chain for long times, the Chapman-Kolmogorov test, and costs at several lags."""

from __future__ import annotations

from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from klump.aggregation.mapping import Mapping
from klump.chain import MarkovChain
from klump.errors import ConvergenceError, InvalidArgumentError

if TYPE_CHECKING:
    from klump.dynamics import ChapmanKolmogorov, LagScan, LongTimeChain


class AggregationDynamics:
    """The part of a :class:`klump.Aggregation` that compares the original and the small chains over time."""

    original: MarkovChain
    map: Mapping
    chain: Any

    @cached_property
    def long_time_chain(self) -> LongTimeChain:
        """The Hummer-Szabo projection to the same groups: an aggregated chain for long times.

        :attr:`chain` is the best Markov chain for one step. This one keeps the mean first-passage times between groups
        exactly and slow timescales nearly; its entries are mostly, not always, non-negative. See
        :class:`klump.LongTimeChain` for what holds, also for soft maps.

        Examples
        --------
        >>> from klump import Aggregation
        >>> P = [[0.6, 0.4, 0, 0], [0.4, 0.5, 0.1, 0], [0, 0.1, 0.5, 0.4], [0, 0, 0.4, 0.6]]
        >>> answer = Aggregation.from_labels(P, [0, 0, 1, 1])
        >>> chains = answer.original, answer.chain, answer.long_time_chain
        >>> [chain.timescales(1).round(2).tolist() for chain in chains]
        [[10.9], [9.49], [10.74]]
        """
        from klump.dynamics.long_time import project

        return project(self.original, self.map.weights)

    @cached_property
    def _slowest_timescales(self) -> tuple[float, float] | None:
        """Slowest timescales of the original and the aggregated chain in steps; None if they take too much time."""
        if not self.original.is_irreducible or not 1 < self.chain.n_states < self.original.n_states:
            return None
        original, aggregated = self.original._slowest_timescale, self.chain._slowest_timescale
        return None if original is None or aggregated is None else (original, aggregated)

    def chapman_kolmogorov(self, steps: Any, *, long_time: bool = True) -> ChapmanKolmogorov:
        """Chapman-Kolmogorov test: U P^t W of the original chain beside Q^t and beside the long-time chain's power.

        All of them are exact; P^t is not formed. For a lumpable partition the first two are equal.

        Parameters
        ----------
        steps
            The largest t, for 1, 2, ..., t, or a list of numbers of steps.
        long_time
            Whether to include the long-time chain, which takes seconds for tens of thousands of states.

        Examples
        --------
        >>> from klump import Aggregation
        >>> answer = Aggregation.from_labels([[0.5, 0.4, 0.1], [0.4, 0.5, 0.1], [0.1, 0.1, 0.8]], [0, 0, 1])
        >>> answer.chapman_kolmogorov([1, 10, 100]).largest_difference < 1e-14
        True
        """
        from klump.dynamics.chapman_kolmogorov import compare

        matrix: Any = self.chain.transition_matrix
        matrix = matrix.toarray() if self.chain.is_sparse else matrix
        late = None
        # There is none if the groups of a soft map are linearly dependent, or the solver does not converge.
        with suppress(InvalidArgumentError, ConvergenceError):
            late = self.long_time_chain.transition_matrix if long_time else None
        return compare(self.original, self.map.weights, matrix, late, steps)

    def first_passage_times(self) -> NDArray[np.float64]:
        """Mean first-passage times of the original chain between groups as sets of states, k x k.

        From the stationary distribution in the group of the row until any state of the group of the column. Those of
        :attr:`long_time_chain` are until a single state of the column's group, drawn from its stationary distribution,
        less the same time from within that group. For a lumpable partition the first equal those of :attr:`chain`.

        Examples
        --------
        >>> from klump import Aggregation
        >>> answer = Aggregation.from_labels([[0.5, 0.4, 0.1], [0.4, 0.5, 0.1], [0.1, 0.1, 0.8]], [0, 0, 1])
        >>> answer.first_passage_times().round(10), answer.chain.first_passage_times().round(10)
        (array([[ 0., 10.], [ 5.,  0.]]), array([[ 0., 10.], [ 5.,  0.]]))
        """
        from klump.dynamics.chapman_kolmogorov import distributions_within
        from klump.dynamics.passage import hitting_times

        labels = self.map.labels
        if labels is None:
            raise InvalidArgumentError(
                "first-passage times to groups as sets need a deterministic map, but this one is stochastic",
                remedy="use long_time_chain.first_passage_times(), or harden()",
            )
        within = distributions_within(self.original, self.map.weights)
        matrix = self.original.transition_matrix
        columns = [
            within @ hitting_times(matrix, np.flatnonzero(labels == y)) for y in range(self.map.n_groups)
        ]
        return np.column_stack(columns)

    def lag_scan(self, lags: Any) -> LagScan:
        """Costs and timescales of this map at several lags: for the chain P^r of every r-th state.

        The timescales ``-r / ln|lambda|`` of U P^r W approach those of the original chain with the lag. I(X1;X1+r), and
        with it predictability and the kept share, is NaN where P^r has too many transitions
        (:meth:`klump.MarkovChain.power`) or is not irreducible.

        Parameters
        ----------
        lags
            The largest lag, for 1, 2, ..., or a list of lags.

        Examples
        --------
        >>> from klump import Aggregation
        >>> P = [[0.6, 0.4, 0, 0], [0.4, 0.5, 0.1, 0], [0, 0.1, 0.5, 0.4], [0, 0, 0.4, 0.6]]
        >>> scan = Aggregation.from_labels(P, [0, 0, 1, 1]).lag_scan([1, 4, 16])
        >>> scan.timescales[:, 0].round(2), scan.kept.round(2)
        (array([ 9.49, 10.47, 10.79]), array([0.86, 0.95, 0.97]))
        """
        from klump.dynamics.lag_scan import scan

        return scan(self.original, self.map.weights, is_partition=self.map.labels is not None, lags=lags)
