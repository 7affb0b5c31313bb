"""Posterior distribution of the aggregated chain of given groups, and its credible intervals."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from klump.aggregation import Aggregation, Costs
from klump.chain.wording import format_count
from klump.errors import InvalidArgumentError


class Interval(NamedTuple):
    """Lower and upper bound of an interval: numbers, or arrays of one interval per entry."""

    lower: Any
    upper: Any


@dataclass(frozen=True, eq=False, repr=False)
class Posterior:
    """Posterior samples of the aggregated chain of given groups; see :func:`klump.posterior`.

    Examples
    --------
    >>> import klump
    >>> counts = [[80, 15, 5], [20, 70, 10], [2, 3, 95]]
    >>> found = klump.posterior(counts, [0, 0, 1])
    >>> lower, upper = found.transition_matrix_interval(0.9)
    >>> Q = found.estimate.chain.transition_matrix
    >>> bool((lower < Q).all() and (Q < upper).all())
    True
    >>> found
    Posterior(3 states in 2 groups, 1000 samples)
    """

    estimate: Aggregation
    """The groups on the estimated chain."""
    transition_matrices: NDArray[np.float64]
    """Transition matrix of the aggregated chain per sample, (samples, groups, groups)."""
    masses: NDArray[np.float64]
    """Stationary distribution of the groups per sample, (samples, groups)."""
    sampled_costs: tuple[Costs, ...]
    """Costs of the groups per sample."""
    random_state: int
    """The seed of the samples."""
    interrupted: bool = False
    """Whether Ctrl-C or the time limit left fewer samples than requested."""
    interrupted_after: float | None = None
    """The time limit in seconds, if that left fewer samples than requested; None if Ctrl-C did, or nothing."""

    def __post_init__(self) -> None:
        for array in (self.transition_matrices, self.masses):
            array.flags.writeable = False

    @property
    def seed(self) -> int:
        """Another name of :attr:`random_state`."""
        return self.random_state

    @property
    def n_samples(self) -> int:
        """Number of samples."""
        return len(self.sampled_costs)

    @cached_property
    def costs(self) -> NDArray[np.float64]:
        """Cost of the groups in each sample, at the estimate's beta and gamma, in bits."""
        return np.array([costs.at(self.estimate.beta, self.estimate.gamma) for costs in self.sampled_costs])

    @cached_property
    def kept(self) -> NDArray[np.float64]:
        """Share I(Y1;Y2) / I(X1;X2) that the groups keep in each sample."""
        return np.array([costs.kept for costs in self.sampled_costs])

    def transition_matrix_interval(self, level: float = 0.95) -> Interval:
        """Credible interval of each entry of the aggregated chain's transition matrix.

        The intervals are marginal, not simultaneous: each contains its entry with that posterior probability.

        Examples
        --------
        >>> import klump
        >>> counts = [[30, 9, 1], [12, 0, 8], [1, 10, 29]]
        >>> low, high = klump.posterior(counts, [0, 0, 1], n_samples=200, seed=0).transition_matrix_interval(0.9)
        >>> low.round(2).tolist(), high.round(2).tolist()
        ([[0.76, 0.06], [0.16, 0.6]], [[0.94, 0.24], [0.4, 0.84]])
        """
        return interval(self.transition_matrices, level)

    def masses_interval(self, level: float = 0.95) -> Interval:
        """Credible interval of the stationary mass of each group."""
        return interval(self.masses, level)

    def cost_interval(self, level: float = 0.95) -> Interval:
        """Reflected (basic bootstrap) interval of the cost of the groups, at the estimate's beta and gamma.

        Sampling noise biases costs upwards: the estimate lies above the true cost, and the samples lie above the
        estimate by about the same amount. Reflecting their quantiles at the estimate cancels both.

        Examples
        --------
        >>> import klump
        >>> counts = [[30, 9, 1], [12, 0, 8], [1, 10, 29]]
        >>> low, high = klump.posterior(counts, [0, 0, 1], n_samples=200, seed=0).cost_interval(0.9)
        >>> bool(low <= high)
        True
        """
        return reflected_interval(self.costs, self.estimate.cost, level, 0.0, np.inf)

    def kept_interval(self, level: float = 0.95) -> Interval:
        """Reflected (basic bootstrap) interval of the share that the groups keep, as :meth:`cost_interval`."""
        return reflected_interval(self.kept, self.estimate.kept, level, 0.0, 1.0)

    def __repr__(self) -> str:
        return (
            f"Posterior({format_count(self.estimate.original.n_states, 'state')} in "
            f"{format_count(self.estimate.n_states, 'group')}, {format_count(self.n_samples, 'sample')}"
            + ", interrupted" * self.interrupted
            + ")"
        )


def interval(samples: NDArray[np.float64], level: Any) -> Interval:
    """Equal-tailed interval between quantiles that contains one more sample with probability ``level``."""
    if not isinstance(level, int | float | np.floating) or not 0.0 < level < 1.0:
        raise InvalidArgumentError(
            "must lie between 0 and 1", argument="level", value=level, remedy="pass 0.95, for example"
        )
    ends = [0.5 - level / 2.0, 0.5 + level / 2.0]
    # Weibull: E[F(X_(i))] = i / (n + 1). Other definitions make intervals of few samples too short.
    lower, upper = np.quantile(samples, ends, axis=0, method="weibull")
    return Interval(lower, upper) if samples.ndim > 1 else Interval(float(lower), float(upper))


def reflected_interval(
    samples: NDArray[np.float64], estimate: float, level: Any, least: float, most: float
) -> Interval:
    """Reflected (basic bootstrap) interval, [2 e - upper, 2 e - lower] with e the estimate, clipped to a range.

    >>> reflected_interval(np.array([2.0, 2.0]), 1.5, 0.9, 0.0, 10.0)
    Interval(lower=1.0, upper=1.0)
    """
    lower, upper = interval(samples, level)
    ends = np.clip([2.0 * estimate - upper, 2.0 * estimate - lower], least, most)
    return Interval(*ends.tolist())
