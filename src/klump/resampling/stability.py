"""Bootstrap of the groups: their stability under resampling of the data."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from klump.aggregation import Aggregation, Costs
from klump.aggregation.agreement import adjusted_rand_index
from klump.aggregation.notes import format_interruption
from klump.chain.wording import format_count, format_state
from klump.errors import InvalidArgumentError
from klump.resampling.intervals import Interval, Posterior, interval
from klump.search.method import Labels

if TYPE_CHECKING:
    from os import PathLike

    from matplotlib.axes import Axes

# Number of unstable states that a summary names.
_N_LEAST_STABLE = 5


@dataclass(frozen=True, eq=False, repr=False)
class Bootstrap:
    """Aggregations of bootstrap samples of a chain; see :func:`klump.bootstrap`.

    Examples
    --------
    >>> import klump
    >>> counts = [[80, 15, 5], [20, 70, 10], [2, 3, 95]]
    >>> found = klump.bootstrap(counts, 2, n_samples=50)
    >>> found.estimate.groups
    [(2,), (0, 1)]
    >>> float(found.stability.min()), float(found.agreement.min()), found.together(0, 1)
    (1.0, 1.0, 1.0)
    >>> lower, upper = found.transition_matrix_interval(0.95)
    """

    posterior: Posterior
    """Posterior samples of the aggregated chain with the estimate's groups held fixed."""
    labels: NDArray[np.unsignedinteger]
    """The group of each state in each sample's own aggregation, (samples, states).

    Numbers of groups are those of a maximum-weight matching with the estimate's groups, weighted by the stationary mass
    that two groups share.
    """
    sampled_costs: tuple[Costs, ...]
    """Costs of each sample's own aggregation."""

    def __post_init__(self) -> None:
        self.labels.flags.writeable = False

    @property
    def estimate(self) -> Aggregation:
        """The aggregation of the estimated chain."""
        return self.posterior.estimate

    @property
    def n_samples(self) -> int:
        """Number of samples."""
        return self.posterior.n_samples

    @property
    def interrupted(self) -> bool:
        """Whether Ctrl-C or the time limit left fewer samples than requested."""
        return self.posterior.interrupted

    @property
    def interrupted_after(self) -> float | None:
        """The time limit in seconds, if that left fewer samples than requested."""
        return self.posterior.interrupted_after

    @cached_property
    def costs(self) -> NDArray[np.float64]:
        """Cost of each sample's own aggregation, in bits."""
        return np.array([costs.at(self.estimate.beta, self.estimate.gamma) for costs in self.sampled_costs])

    @cached_property
    def kept(self) -> NDArray[np.float64]:
        """Share I(Y1;Y2) / I(X1;X2) that each sample's own aggregation keeps."""
        return np.array([costs.kept for costs in self.sampled_costs])

    @cached_property
    def regret(self) -> NDArray[np.float64]:
        """Cost of the estimate's groups minus cost of the sample's own groups, per sample, in bits.

        If it is small although groups differ, several partitions are about equally good.
        """
        return self.posterior.costs - self.costs

    @cached_property
    def agreement(self) -> NDArray[np.float64]:
        """Adjusted Rand index of each sample's groups with those of the estimate, not weighted by mass."""
        return np.array([adjusted_rand_index(self.estimate.labels, labels) for labels in self.labels])

    @cached_property
    def membership(self) -> NDArray[np.float64]:
        """Share of the samples in which a state is in a group, (states, groups)."""
        groups = range(self.estimate.n_states)
        return np.stack([np.mean(self.labels == group, axis=0) for group in groups], axis=1)

    @property
    def stability(self) -> NDArray[np.float64]:
        """Share of the samples in which each state is in the same group as in the estimate."""
        return self.membership[np.arange(self.labels.shape[1]), self.estimate.labels]

    def together(self, state: Hashable, other: Hashable) -> float:
        """Share of the samples in which two states, given by name, are in the same group."""
        first, second = (self._index(name) for name in (state, other))
        return float(np.mean(self.labels[:, first] == self.labels[:, second]))

    def _index(self, state: Hashable) -> int:
        try:
            return self.estimate.original.states.index(state)
        except ValueError:
            raise InvalidArgumentError(
                "is not the name of a state of the chain", argument="state", value=state
            ) from None

    def transition_matrix_interval(self, level: float = 0.95) -> Interval:
        """Credible interval of each entry of the aggregated chain, for the estimate's groups."""
        return self.posterior.transition_matrix_interval(level)

    def masses_interval(self, level: float = 0.95) -> Interval:
        """Credible interval of the stationary mass of each of the estimate's groups."""
        return self.posterior.masses_interval(level)

    def cost_interval(self, level: float = 0.95) -> Interval:
        """Reflected interval of the cost of the estimate's groups; see :meth:`Posterior.cost_interval`."""
        return self.posterior.cost_interval(level)

    def kept_interval(self, level: float = 0.95) -> Interval:
        """Reflected interval of the share that the estimate's groups keep; see :meth:`Posterior.kept_interval`."""
        return self.posterior.kept_interval(level)

    def plot(
        self,
        path: str | PathLike[str] | None = None,
        kind: str = "stability",
        *,
        ax: Axes | None = None,
        **options: Any,
    ) -> Axes:
        """Draw the stability of the groups; needs matplotlib (the extra ``klump[plots]``).

        - ``"stability"``: in which groups each state is over the samples (:func:`klump.plots.stability`);
        - ``"agreement"``: adjusted Rand indices of the samples with the estimate (:func:`klump.plots.agreement`).

        Parameters
        ----------
        path
            File to save the figure to; its suffix (.png, .svg, .pdf) sets the format.
        kind
            What to draw.
        ax
            Axes to draw on; new ones if left out.
        options
            Options of that kind of picture.

        Returns
        -------
        matplotlib.axes.Axes
        """
        from klump.plots import kinds

        return kinds.draw(kinds.BOOTSTRAP, kind, self, path, ax, **options)

    def __repr__(self) -> str:
        return (
            f"Bootstrap({format_count(self.estimate.original.n_states, 'state')} in "
            f"{format_count(self.estimate.n_states, 'group')}, {format_count(self.n_samples, 'sample')}, "
            f"mean agreement {self.agreement.mean():.3f}" + ", interrupted" * self.interrupted + ")"
        )

    def _repr_html_(self) -> str:
        """HTML for notebooks."""
        from klump import notebooks

        return notebooks.bootstrap_html(self)

    def __str__(self) -> str:
        estimate = self.estimate
        title = (
            f"{format_count(estimate.original.n_states, 'state')} in {format_count(estimate.n_states, 'group')}, "
            f"beta = {estimate.beta:g}, {estimate.method}; {format_count(self.n_samples, 'sample')}; costs in bits"
        )
        lines = [title, f"{'':9}  {'value':>7}  95 % between"]
        lines += [f"{name:9}  {value:>7}  {between}" for name, value, between in self._rows()]
        return "\n".join([*lines, *self._remarks()])

    def _rows(self) -> list[tuple[str, str, str]]:
        """Name, value and 95 % interval of the cost, the kept share, the agreement and the regret."""
        rows = (
            ("cost", self.estimate.cost, self.cost_interval()),
            ("kept", self.estimate.kept, self.kept_interval()),
            ("agreement", self.agreement.mean(), interval(self.agreement, 0.95)),
            ("regret", self.regret.mean(), interval(self.regret, 0.95)),
        )
        return [
            (name, f"{value:.4f}", f"{lower:.4f} and {upper:.4f}") for name, value, (lower, upper) in rows
        ]

    def _remarks(self) -> list[str]:
        """The least stable states, and the interruption, if there was one."""
        stopped = f"{format_interruption(self)}: these are fewer samples than were asked for"
        return [*self._least_stable(), *([stopped] if self.interrupted else [])]

    def _least_stable(self) -> list[str]:
        """Name the states of the lowest stability, ties by decreasing mass."""
        stays, mass = self.stability, self.estimate.original.stationary_distribution
        order = np.lexsort((-mass, stays))[:_N_LEAST_STABLE]
        doubtful = [x for x in order.tolist() if stays[x] < 1.0]
        if not doubtful:
            return ["every state is in the same group in all samples"]
        names = self.estimate.original.states
        unstable = ", ".join(f"{format_state(names[x])} {stays[x]:.0%}" for x in doubtful)
        return [f"{float(mass @ stays):.1%} of the mass stays in its group; least sure: {unstable}"]


def match_labels(labels: Labels, reference: Labels, mass: NDArray[np.float64], n_groups: int) -> Labels:
    """Renumber groups by the assignment to reference groups that maximises the total shared mass.

    >>> match_labels(np.array([1, 1, 0]), np.array([0, 0, 1]), np.ones(3), 2)
    array([0, 0, 1])
    """
    from scipy.optimize import linear_sum_assignment

    pairs = labels.astype(np.intp) * n_groups + reference
    shared = np.bincount(pairs, weights=mass, minlength=n_groups * n_groups).reshape(n_groups, n_groups)
    _, numbers = linear_sum_assignment(shared, maximize=True)
    return np.asarray(numbers[labels])
