"""The answer: a map to a few groups, the aggregated chain, and its costs."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from collections.abc import Mapping as MappingOf
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from klump.aggregation.constraints import NO_CONSTRAINTS, GroupConstraints
from klump.aggregation.costs import (
    Costs,
    aggregated_matrix,
    compute_costs,
    group_masses,
    next_group_distributions,
)
from klump.aggregation.dynamics import AggregationDynamics
from klump.aggregation.export import Exports
from klump.aggregation.layout import answer_lines
from klump.aggregation.lifting import Liftings
from klump.aggregation.lumpable import is_lumpable
from klump.aggregation.mapping import Mapping, as_mapping, from_labels
from klump.aggregation.names import default_names, names_of_labels, rename
from klump.aggregation.notes import Note, notes_on
from klump.aggregation.pictures import Pictures
from klump.aggregation.verification import Verification
from klump.arguments import DEFAULT_SEED, Progress, check_beta, check_gamma
from klump.chain import ChainLike, MarkovChain, as_chain
from klump.errors import UNSET, InvalidArgumentError
from klump.guarantees import (
    Bisimulation,
    Guarantees,
    MonteCarlo,
    certify,
    compute_guarantees,
    estimate_entropy_rate,
)
from klump.guarantees.brackets import BUDGET, TOLERANCE
from klump.search.deterministic_annealing import Split
from klump.search.method import Record
from klump.search.registry import METHODS
from klump.search.soft import harden

if TYPE_CHECKING:
    from os import PathLike

    from klump.aggregation.tree import AggregationTree


@dataclass(frozen=True, eq=False)
class Aggregation(AggregationDynamics, Liftings, Verification, Exports, Pictures):
    """A chain, a map from its states to groups, and everything that can be computed from them.

    Usually made by :func:`klump.aggregate`; :meth:`from_labels` takes a map from elsewhere.

    Examples
    --------
    >>> P = [[0.5, 0.4, 0.1], [0.4, 0.5, 0.1], [0.1, 0.1, 0.8]]
    >>> answer = Aggregation.from_labels(P, [0, 0, 1])
    >>> answer.chain.transition_matrix.round(12)
    array([[0.9, 0.1], [0.2, 0.8]])
    >>> answer.costs.lumpability, answer.bisimulation.epsilon < 1e-15
    (0.0, True)
    """

    original: MarkovChain
    """The chain that was aggregated."""
    map: Mapping = field(repr=False)
    """The validated map."""
    beta: float = 0.5
    """The beta of :attr:`cost`."""
    method: str = "given"
    """Name of the method that found the map."""
    random_state: int | None = None
    """The seed that the method was given."""
    trace: tuple[float, ...] = field(default=(), repr=False)
    """Cost of the best start after each sweep of its last descent; never increases."""
    interrupted: bool = False
    """Whether Ctrl-C or the time limit stopped the search: the map is the best one found before."""
    made_with: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    """Versions of klump, numpy, scipy and numba."""
    record: Record | None = field(default=None, repr=False)
    """Merges or splits that the method recorded, if it records any."""
    gamma: float = 0.0
    """The weight of generated information in :attr:`cost`."""
    n_asked: int | None = None
    """The number of groups requested, if groups were allowed to become empty."""
    effort: str | None = None
    """The effort of ``"auto"``; None for other methods."""
    interrupted_after: float | None = None
    """The time limit in seconds, if that stopped the search; None if Ctrl-C did, or nothing."""
    constraints: GroupConstraints = field(default=NO_CONSTRAINTS, repr=False)
    """Constraints that the groups satisfy because the question asked for it; false if there are none."""
    lag: int = 1
    """The lag at which the groups were searched; :attr:`original` is then P^lag, unless there are microstates."""
    microstates: int | None = None
    """Number of microstates whose lag-step chain was searched, as P^lag was too large; None if it was not."""
    group_names: tuple[str, ...] | None = field(default=None, repr=False)
    """Names that were given to the groups; None if there are none. :attr:`names` always has names."""
    group_identities: tuple[int, ...] | None = field(default=None, repr=False)
    """Identities that a grid gave to the groups; None if there are none. :attr:`identities` always has them."""

    @classmethod
    def from_labels(
        cls, chain: ChainLike, labels_or_mapping: Any, beta: float = 0.5, gamma: float = 0.0
    ) -> Aggregation:
        """Aggregation by a given map: labels, or an n x k stochastic matrix. Labels that are texts name the groups.

        Examples
        --------
        >>> import klump
        >>> P = [[0.9, 0.1, 0.0], [0.5, 0.0, 0.5], [0.0, 0.1, 0.9]]
        >>> answer = klump.Aggregation.from_labels(P, ["left", "left", "right"])
        >>> answer.names, answer.groups
        (('left', 'right'), [(0, 1), (2,)])
        """
        chain = as_chain(chain)
        mapping = as_mapping(labels_or_mapping, chain.n_states)
        names = names_of_labels(labels_or_mapping, mapping.n_groups)
        return cls(chain, mapping, check_beta(beta), gamma=check_gamma(gamma), group_names=names)

    @property
    def seed(self) -> int | None:
        """Another name of :attr:`random_state`."""
        return self.random_state

    @property
    def n_states(self) -> int:
        """Number of groups."""
        return self.map.n_groups

    @cached_property
    def labels(self) -> NDArray[np.int32]:
        """The group of each state; for a stochastic map, its most probable group."""
        if self.map.labels is not None:
            return self.map.labels
        return _read_only(np.argmax(self.mapping, axis=1).astype(np.int32))

    @cached_property
    def mapping(self) -> NDArray[np.float64]:
        """The map W as a dense n x k stochastic matrix."""
        return _read_only(self.map.weights.toarray())

    @cached_property
    def state_weights(self) -> NDArray[np.float64]:
        """Weight of each state within its group in Q: the stationary distribution.

        Q of a lumpable map does not depend on the weights: they are uniform if the chain is not irreducible.
        """
        if not self.original.is_irreducible and self._is_lumpable:
            return np.full(self.original.n_states, 1.0 / self.original.n_states)
        return self.original.stationary_distribution

    @cached_property
    def _is_lumpable(self) -> bool:
        if self.map.labels is None:
            return False
        found_as_lumping = self.method in METHODS and METHODS[self.method].lumps
        return found_as_lumping or is_lumpable(self.original, self.map)

    @cached_property
    def chain(self) -> MarkovChain:
        """The aggregated chain Q = U P W on the groups (Corollary 1).

        Its matrix is dense, unless a sparse chain has more than 2,000 groups. A lumpable map has such a chain even if
        the original is not irreducible.
        """
        return MarkovChain(aggregated_matrix(self.state_weights, self.map, self.original.transition_matrix))

    @cached_property
    def masses(self) -> NDArray[np.float64]:
        """Stationary mass of each group."""
        return _read_only(group_masses(self.original, self.map))

    @cached_property
    def costs(self) -> Costs:
        """All costs of the map, in bits."""
        return compute_costs(self.original, self.map)

    @property
    def cost(self) -> float:
        """The cost at this aggregation's own beta and gamma."""
        return self.costs.at(self.beta, self.gamma)

    @property
    def kept(self) -> float:
        """Share of the chain's redundancy that the groups keep, I(Y1;Y2) / I(X1;X2)."""
        return self.costs.kept

    @property
    def groups(self) -> list[tuple[Hashable, ...]]:
        """Names of the members of each group, heaviest first (in their own order if none is heavier)."""
        return list(self._groups)

    @cached_property
    def _groups(self) -> tuple[tuple[Hashable, ...], ...]:
        # float32 hides the rounding differences between equal masses: such states keep their order.
        mass = self.state_weights.astype(np.float32)
        order = np.argsort(-mass, kind="stable")
        order = order[np.argsort(self.labels[order], kind="stable")]
        ends = np.cumsum(np.bincount(self.labels, minlength=self.n_states))
        names = self.original.states
        return tuple(tuple(names[i] for i in part.tolist()) for part in np.split(order, ends[:-1]))

    @cached_property
    def names(self) -> tuple[str, ...]:
        """A name per group, all different: those given, else the heaviest members, like ``"e a o"``."""
        return default_names(self._groups) if self.group_names is None else self.group_names

    @property
    def identities(self) -> tuple[int, ...]:
        """A number per group that selects its colour: matching groups of the answers of a grid share it."""
        return tuple(range(self.n_states)) if self.group_identities is None else self.group_identities

    def with_names(self, names: Sequence[str] | MappingOf[int | str, str]) -> Aggregation:
        """Return this answer with other names of groups: a list of all, or a dict from numbers or names to new names.

        Examples
        --------
        >>> answer = Aggregation.from_labels([[0.5, 0.4, 0.1], [0.4, 0.5, 0.1], [0.1, 0.1, 0.8]], [0, 0, 1])
        >>> answer.names, answer.with_names({1: "stay"}).names
        (('0 1', '2'), ('0 1', 'stay'))
        """
        return rename(self, names)

    @cached_property
    def bisimulation(self) -> Bisimulation:
        """Approximate bisimulation between the original and the aggregated chain; for deterministic maps only."""
        if self.map.labels is None:
            raise InvalidArgumentError(
                "a bisimulation needs a deterministic map, but this one is stochastic",
                remedy="use guarantees, or harden()",
            )
        return certify(
            self.original,
            self.map.labels,
            next_group_distributions(self.original.transition_matrix, self.map),
            self.chain.transition_matrix,
            self.costs.lumpability if self.original.is_irreducible else None,
        )

    @cached_property
    def guarantees(self) -> Guarantees:
        """Brackets of the rates that the aggregation loses; :meth:`guarantees_within` makes them tighter.

        Examples
        --------
        >>> P = [[0.4, 0.3, 0.3], [0.25, 0.3, 0.45], [0.15, 0.425, 0.425]]
        >>> found = Aggregation.from_labels(P, [0, 1, 1]).guarantees
        >>> found.divergence.upper < found.delta(0.3).lower, found.delta(0.3).gap < 1e-6
        (True, True)
        """
        return self.guarantees_within()

    def guarantees_within(
        self,
        tolerance: float = TOLERANCE,
        budget: float = BUDGET,
        progress: Progress | None = None,
    ) -> Guarantees:
        """Bracket D(Y||Y~), H(Y), R(Y) and delta_beta up to a tolerance or a budget.

        Parameters
        ----------
        tolerance
            Gap of the bracket of D(Y||Y~) at which to stop, in bits per step.
        budget
            Largest number of operations: logarithms and multiplications, about 1e8 per second.
        progress
            Called with ``(done, total, best_cost)``: the operations done, the budget and NaN, as there is no cost; the
            last call may have done < total, as the tolerance may be met before, or a longer block exceed the budget.
        """
        costs = self.costs
        return compute_guarantees(
            self.original,
            self.map.weights,
            costs.lumpability,
            costs.predictability,
            tolerance,
            budget,
            progress,
        )

    def monte_carlo(
        self,
        n_replicas: int | None = None,
        n_steps: int | None = None,
        burn_in: int | None = None,
        random_state: Any = DEFAULT_SEED,
        progress: Progress | None = None,
        *,
        seed: Any = UNSET,
    ) -> MonteCarlo:
        """Estimate the entropy rate of the groups by simulation, where :attr:`guarantees` leaves a gap.

        Parameters
        ----------
        n_replicas
            Independent replicas, at least 2; if left out 64, or fewer for very large chains.
        n_steps
            Steps per replica that are averaged; if left out 1000, or fewer for large chains.
        burn_in
            Steps per replica before these; if left out ``n_steps // 4``, but at least 10.
        random_state
            Seed.
        progress
            Called with ``(done, total, best_cost)``: the number of finished and of planned steps, and NaN, as there is
            no cost.
        seed
            Another name of ``random_state``, as on the command line; pass one of them.
        """
        return estimate_entropy_rate(
            self.original,
            self.map.weights,
            n_replicas,
            n_steps,
            burn_in,
            random_state,
            progress,
            seed=seed,
        )

    @property
    def notes(self) -> tuple[Note, ...]:
        """Caveats of this answer: sentences, each with a ``kind``."""
        return tuple(notes_on(self))

    def harden(self) -> Aggregation:
        """Assign each state to its most probable group; a deterministic aggregation is returned unchanged.

        A group that would be empty gets the state with the largest probability of it. Groups keep their numbers.

        Examples
        --------
        >>> P = [[0.5, 0.4, 0.1], [0.4, 0.5, 0.1], [0.1, 0.1, 0.8]]
        >>> soft = Aggregation.from_labels(P, [[0.9, 0.1], [0.8, 0.2], [0.3, 0.7]])
        >>> soft.harden().groups
        [(0, 1), (2,)]
        """
        if self.map.labels is not None:
            return self
        mapping = from_labels(harden(self.map.weights), self.n_states)
        return replace(self, map=mapping, method=f"{self.method}, hardened", trace=(), record=None)

    @property
    def splits(self) -> tuple[Split, ...]:
        """Critical temperatures at which groups split, decreasing, if deterministic annealing found this answer.

        Examples
        --------
        >>> from klump import aggregate
        >>> P = [[0.5, 0.4, 0.1, 0.0], [0.4, 0.5, 0.0, 0.1], [0.1, 0.0, 0.4, 0.5], [0.0, 0.1, 0.5, 0.4]]
        >>> [split.n_states for split in aggregate(P, 2, method="deterministic-annealing").splits]
        [2]
        """
        if self.record is None or self.record.kind != "splits":
            return ()
        columns = self.record.columns
        pairs = zip(columns["temperature"].tolist(), columns["groups"].tolist(), strict=True)
        return tuple(Split(temperature, groups) for temperature, groups in pairs)

    @property
    def tree(self) -> AggregationTree | None:
        """The dendrogram, if an agglomerative method found this answer."""
        from klump.aggregation.tree import AggregationTree

        if self.record is None or not self.record.kind.endswith("merges"):
            return None
        return AggregationTree(self.original, self.beta, self.record, self.gamma)

    def save(self, path: str | PathLike[str]) -> None:
        """Save to a file that :func:`klump.load` reads."""
        from klump.aggregation.storage import save

        save(self, path)

    def _repr_html_(self) -> str:
        """HTML for notebooks."""
        from klump import notebooks

        return notebooks.aggregation_html(self)

    def __str__(self) -> str:
        return "\n".join(answer_lines(self))


def _read_only(array: NDArray[Any]) -> NDArray[Any]:
    array.flags.writeable = False
    return array
