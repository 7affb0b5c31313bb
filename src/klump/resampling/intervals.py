"""How sure the aggregated chain is for given groups."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from klump.aggregation import Aggregation, Costs
from klump.chain.wording import counted
from klump.errors import InvalidArgumentError


class Interval(NamedTuple):
    """The ends of an interval: numbers, or arrays with a number for each entry."""

    lower: Any
    upper: Any


@dataclass(frozen=True, eq=False, repr=False)
class Posterior:
    """What given groups look like in chains that could have left the same counts behind; see :func:`klump.posterior`.

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
    """The groups on the chain that the counts suggest."""
    transition_matrices: NDArray[np.float64]
    """The aggregated chain of each sample, (samples, groups, groups)."""
    masses: NDArray[np.float64]
    """The stationary mass of each group in each sample, (samples, groups)."""
    sampled_costs: tuple[Costs, ...]
    """What the groups cost in each sample."""
    random_state: int
    """The seed of the samples."""
    interrupted: bool = False
    """Whether Ctrl-C left fewer samples than were asked for."""

    def __post_init__(self) -> None:
        for array in (self.transition_matrices, self.masses):
            array.flags.writeable = False

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

        Each entry lies in its interval with that probability, given the counts; all at once they do with less.
        """
        return interval(self.transition_matrices, level)

    def masses_interval(self, level: float = 0.95) -> Interval:
        """Credible interval of the stationary mass of each group."""
        return interval(self.masses, level)

    def cost_interval(self, level: float = 0.95) -> Interval:
        """Interval of the cost of the groups, at the estimate's beta and gamma.

        Noise looks like structure that the groups miss: the estimate lies above the truth, and the samples lie above
        the estimate by about as much. So the samples are reflected at the estimate.
        """
        return reflect_interval(self.costs, self.estimate.cost, level, 0.0, np.inf)

    def kept_interval(self, level: float = 0.95) -> Interval:
        """Interval of the share that the groups keep; reflected as in :meth:`cost_interval`."""
        return reflect_interval(self.kept, self.estimate.kept, level, 0.0, 1.0)

    def __repr__(self) -> str:
        return (
            f"Posterior({counted(self.estimate.original.n_states, 'state')} in "
            f"{counted(self.estimate.n_states, 'group')}, {counted(self.n_samples, 'sample')}"
            + ", interrupted" * self.interrupted
            + ")"
        )


def interval(samples: NDArray[np.float64], level: Any) -> Interval:
    """Cut off as many samples on both sides, so that one more sample would lie inside with that probability."""
    if not isinstance(level, int | float | np.floating) or not 0.0 < level < 1.0:
        raise InvalidArgumentError("must lie between 0 and 1, like 0.95", argument="level", value=level)
    ends = [0.5 - level / 2.0, 0.5 + level / 2.0]
    # This kind of quantile does not make intervals of few samples too short, as long as they are not too few.
    lower, upper = np.quantile(samples, ends, axis=0, method="weibull")
    return Interval(lower, upper) if samples.ndim > 1 else Interval(float(lower), float(upper))


def reflect_interval(
    samples: NDArray[np.float64], estimate: float, level: Any, least: float, most: float
) -> Interval:
    """Interval of what samples miss by as much, and on the same side, as the estimate misses the truth.

    >>> reflect_interval(np.array([2.0, 2.0]), 1.5, 0.9, 0.0, 10.0)
    Interval(lower=1.0, upper=1.0)
    """
    lower, upper = interval(samples, level)
    ends = np.clip([2.0 * estimate - upper, 2.0 * estimate - lower], least, most)
    return Interval(*ends.tolist())
