"""Costs and timescales of one map at several lags."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from klump import information
from klump.chain import MarkovChain
from klump.chain.quantities import read_only
from klump.dynamics.chapman_kolmogorov import check_steps, distributions_within, propagate
from klump.dynamics.timescales import all_timescales, first_timescales
from klump.errors import KlumpError

if TYPE_CHECKING:
    from os import PathLike

    from matplotlib.axes import Axes

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class LagScan:
    """Costs in bits and timescales in steps of one map, for the chains P^r of every r-th state.

    Examples
    --------
    >>> import klump
    >>> P = [[0.9, 0.1, 0.0], [0.5, 0.0, 0.5], [0.0, 0.1, 0.9]]
    >>> scan = klump.Aggregation.from_labels(P, [0, 0, 1]).lag_scan([1, 4, 16])
    >>> scan.timescales.round(2).tolist()
    [[4.94], [7.87], [9.03]]
    >>> scan.kept.round(2)
    array([0.67, 0.81, 0.84])
    """

    lags: NDArray[np.int64]
    """Lags r, increasing."""
    lumpability: Floats
    """C_L = H(Y_{1+r}|Y_1) - H(Y_{1+r}|X_1)."""
    predictability: Floats
    """C_P = I(X_1;X_{1+r}) - I(Y_1;Y_{1+r}); NaN where P^r is too large."""
    redundancy_rate: Floats
    """I(X_1;X_{1+r}); NaN where P^r is too large."""
    group_information: Floats
    """I(Y_1;Y_{1+r})."""
    timescales: Floats
    """Per lag the timescales ``-r / ln|lambda|`` of U P^r W, slowest first."""

    @property
    def kept(self) -> Floats:
        """Share I(Y_1;Y_{1+r}) / I(X_1;X_{1+r}) that the groups keep; NaN where P^r is too large."""
        return np.divide(
            self.group_information,
            self.redundancy_rate,
            out=np.ones_like(self.redundancy_rate),
            where=~(self.redundancy_rate <= 1e-14),
        )

    def at(self, beta: float) -> Floats:
        """C_beta = (1 - 2 beta) C_L + beta C_P per lag."""
        return np.asarray((1.0 - 2.0 * beta) * self.lumpability + beta * self.predictability)

    def plot(self, path: str | PathLike[str] | None = None, *, ax: Axes | None = None) -> Axes:
        """Draw the timescales against the lag; needs matplotlib (the extra ``klump[plots]``).

        The parameters are those of :func:`klump.plots.lag_scan`.
        """
        from klump import plots

        return plots.lag_scan(self, path, ax=ax)

    def __str__(self) -> str:
        lines = ["     lag  lumpability  predictability    kept  slowest timescale"]
        slowest = self.timescales[:, 0] if self.timescales.shape[1] else np.zeros(len(self.lags))
        rows = zip(self.lags, self.lumpability, self.predictability, self.kept, slowest, strict=True)
        for lag, lumpability, predictability, kept, time in rows:
            known = f"{predictability:14.6f}  {kept:6.1%}"
            if np.isnan(predictability):
                known = f"{'-':>14}  {'-':>6}"
            lines.append(f"{lag:8,}  {lumpability:11.6f}  {known}  {time:17.4g}")
        return "\n".join(lines)


def scan(chain: MarkovChain, weights: sparse.csr_array, *, is_partition: bool, lags: Any) -> LagScan:
    """Costs and timescales at several lags; see :meth:`klump.Aggregation.lag_scan`.

    P^r is formed only for I(X_1;X_{1+r}), where its fill-in is affordable; everything else follows from P^r W.
    """
    times = check_steps(lags, chain.n_states, "lags")
    within, mu = distributions_within(chain, weights), chain.stationary_distribution
    nu = mu @ weights
    costs, scales = [], []
    for lag, state_to_group in propagate(chain, weights, times):
        matrix = np.asarray(within @ state_to_group)
        kept = information.mutual_information(matrix * nu[:, None])
        weight = np.broadcast_to(mu[:, None], state_to_group.shape)
        if is_partition:
            lumpability = information.divergence(state_to_group, matrix[weights.indices], weight)
        else:
            after = np.broadcast_to(nu, state_to_group.shape)
            lumpability = max(0.0, information.divergence(state_to_group, after, weight) - kept)
        redundancy = _redundancy(chain, lag)
        # np.maximum keeps NaN, and max does not.
        predictability = float(np.maximum(lumpability, redundancy - kept))
        costs.append((lumpability, predictability, redundancy, kept))
        scales.append(lag * first_timescales(all_timescales(MarkovChain(matrix, normalize=True)), None))
    columns = [read_only(np.array(column)) for column in zip(*costs, strict=True)]
    lumpability, predictability, redundancy, kept = columns
    return LagScan(
        read_only(np.array(times, dtype=np.int64)),
        lumpability,
        predictability,
        redundancy,
        kept,
        read_only(np.array(scales)),
    )


def _redundancy(chain: MarkovChain, lag: int) -> float:
    """I(X_1;X_{1+lag}), NaN if P^lag is too large."""
    try:
        return chain.power(lag).redundancy_rate
    except KlumpError:
        return float("nan")
