"""The result of a comparison: one row per method, the lowest cost first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from klump.aggregation import Aggregation, Costs
from klump.chain import MarkovChain
from klump.comparison.table import lines
from klump.errors import InvalidArgumentError, MissingPackageError

if TYPE_CHECKING:
    from os import PathLike

    from matplotlib.figure import Figure


@dataclass(frozen=True, eq=False)
class Row:
    """One method: the aggregation that it found and its run time, or why it failed.

    Examples
    --------
    >>> import klump
    >>> P = [[0.5, 0.4, 0.1, 0.0], [0.4, 0.5, 0.0, 0.1], [0.1, 0.0, 0.4, 0.5], [0.0, 0.1, 0.5, 0.4]]
    >>> row = klump.compare(P, 2, methods=["sequential"], outside=False)[0]
    >>> row.name, row.kind, row.n_states, row.error
    ('sequential', 'klump', 2, None)
    >>> round(row.cost, 4), row.aggregation.groups
    (0.054, [(0, 1), (2, 3)])
    """

    name: str
    """Name of the method, or of the outside tool."""
    kind: Literal["klump", "outside"]
    """``"klump"`` for a method of klump, ``"outside"`` for a tool of others."""
    package: str
    """Name of the method's package on PyPI."""
    version: str | None
    """Version of the package; None if it is not known."""
    wanted: int
    """Requested number of groups."""
    aggregation: Aggregation | None
    """The aggregation found; None if the method failed."""
    seconds: float
    """Wall-clock time in seconds, without imports and compilation."""
    error: str | None = None
    """Reason for the failure, on one line; None if the method did not fail."""

    @property
    def n_states(self) -> int | None:
        """Number of groups found; None if the method failed."""
        return None if self.aggregation is None else self.aggregation.n_states

    @property
    def as_asked(self) -> bool:
        """Whether the number of groups found equals the requested one."""
        return self.n_states == self.wanted

    @property
    def soft(self) -> bool:
        """Whether the map is stochastic, so that a state may belong to several groups."""
        return self.aggregation is not None and self.aggregation.map.labels is None

    @property
    def labels(self) -> NDArray[np.int32] | None:
        """Group of each state; for a soft map, its most probable group."""
        return None if self.aggregation is None else self.aggregation.labels

    @property
    def costs(self) -> Costs | None:
        """Costs of the map, in bits."""
        return None if self.aggregation is None else self.aggregation.costs

    @property
    def gamma(self) -> float:
        """Weight of generated information in the cost."""
        return 0.0 if self.aggregation is None else self.aggregation.gamma

    @property
    def cost(self) -> float | None:
        """Cost at the comparison's beta and gamma, in bits."""
        return None if self.aggregation is None else self.aggregation.cost

    @property
    def epsilon(self) -> float | None:
        """Largest total variation between a state's and its group's next-group distribution; None for soft maps."""
        if self.aggregation is None or self.soft:
            return None
        return self.aggregation.bisimulation.epsilon

    @property
    def interrupted(self) -> bool:
        """Whether Ctrl-C or the time limit stopped the method; the aggregation is the best found until that moment."""
        return self.aggregation is not None and self.aggregation.interrupted

    @property
    def interrupted_after(self) -> float | None:
        """The time limit in seconds, if that stopped the method."""
        return None if self.aggregation is None else self.aggregation.interrupted_after

    def to_dict(self) -> dict[str, Any]:
        """The method, its map, costs, certificate and run time, ready for JSON; None where there is no value.

        Keys mean the same as in ``klump aggregate --json``. Group members by name, the aggregated chain and the cost
        trace are left out, to keep the document small: :attr:`aggregation` has them. ``n_states`` is the old name of
        ``n_groups``, kept for one version.
        """
        agg = self.aggregation
        return {
            "name": self.name,
            "kind": self.kind,
            "package": self.package,
            "version": self.version,
            "effort": None if agg is None else agg.effort,
            "n_groups": self.n_states,
            "n_states": self.n_states,
            "as_asked": self.as_asked,
            "soft": self.soft,
            "labels": None if agg is None else agg.labels.tolist(),
            "mapping": agg.mapping.tolist() if agg is not None and self.soft else None,
            "costs": None if agg is None else agg.costs.to_dict(agg.beta, agg.gamma),
            "cost": self.cost,
            "bisimulation": None if agg is None or self.soft else _bisimulation(agg),
            "notes": None if agg is None else list(agg.notes),
            "seconds": self.seconds,
            "interrupted": self.interrupted,
            "interrupted_after": self.interrupted_after,
            "error": self.error,
        }

    def to_record(self) -> dict[str, Any]:
        """One row of a table: the scalar values of :meth:`to_dict`."""
        found = self.to_dict()
        values = {**found, **(found["costs"] or {}), **(found["bisimulation"] or {})}
        return {name: values.get(name) for name in _COLUMNS}


# Columns of the CSV file and of the DataFrame.
_COLUMNS = (
    *("name", "kind", "package", "version", "n_states", "as_asked", "soft"),
    *("cost", "lumpability", "predictability", "bottleneck", "generated", "kept"),
    *("epsilon", "seconds", "interrupted", "error"),
)


def _bisimulation(agg: Aggregation) -> dict[str, float | None]:
    """The certificate; None for the bound of a chain with a vanishing mass, which is infinite: JSON has no infinity."""
    return {name: value if np.isfinite(value) else None for name, value in asdict(agg.bisimulation).items()}


@dataclass(frozen=True, eq=False)
class Comparison(Sequence[Row]):
    """The rows of all methods on one chain, returned by :func:`klump.compare`.

    Order: partitions into the requested number of groups, by ascending cost; soft maps with that number of groups;
    maps with another number of groups; failed methods.

    Examples
    --------
    >>> import klump
    >>> P = [[0.5, 0.4, 0.1, 0.0], [0.4, 0.5, 0.0, 0.1], [0.1, 0.0, 0.4, 0.5], [0.0, 0.1, 0.5, 0.4]]
    >>> compared = klump.compare(P, n_states=2, methods=["auto", "sequential"], outside=False)
    >>> [(row.name, row.n_states, round(row.cost, 4)) for row in compared]
    [('auto', 2, 0.054), ('sequential', 2, 0.054)]
    >>> compared.best.aggregation.groups
    [(0, 1), (2, 3)]
    """

    original: MarkovChain
    """The chain that the methods aggregated."""
    n_states: int
    """Requested number of groups."""
    beta: float
    """Beta of the cost that ranks the rows."""
    random_state: int
    """Random seed of every method."""
    n_init: int
    """Number of restarts of every method."""
    rows: tuple[Row, ...] = field(repr=False)
    """One row per method, in the order above."""
    not_installed: tuple[str, ...] = ()
    """Outside tools that are not installed."""
    not_run: tuple[str, ...] = ()
    """Methods that Ctrl-C or the time limit kept from running."""
    gamma: float = 0.0
    """Weight of generated information in the cost."""
    interrupted_after: float | None = None
    """The time limit in seconds, if that stopped the comparison; None if Ctrl-C did, or nothing."""

    @property
    def seed(self) -> int:
        """Another name of :attr:`random_state`."""
        return self.random_state

    @property
    def best(self) -> Row | None:
        """Row of the lowest cost with the requested number of groups: a partition, or a soft map if there is none."""
        return self.rows[0] if self.rows and self.rows[0].as_asked else None

    @property
    def failures(self) -> tuple[Row, ...]:
        """Rows of the methods that failed."""
        return tuple(row for row in self.rows if row.error is not None)

    @property
    def interrupted(self) -> bool:
        """Whether Ctrl-C or the time limit stopped the comparison."""
        return bool(self.not_run) or any(row.interrupted for row in self.rows)

    def named(self, name: str) -> Row:
        """Return the row of one method.

        Examples
        --------
        >>> import klump
        >>> P = [[0.5, 0.4, 0.1, 0.0], [0.4, 0.5, 0.0, 0.1], [0.1, 0.0, 0.4, 0.5], [0.0, 0.1, 0.5, 0.4]]
        >>> compared = klump.compare(P, 2, methods=["auto", "sequential"], outside=False)
        >>> compared.named("sequential").n_states
        2
        """
        for row in self.rows:
            if row.name == name:
                return row
        raise InvalidArgumentError(
            "was not compared",
            argument="name",
            value=name,
            remedy=f"there are {', '.join(row.name for row in self.rows)}",
        )

    def to_dict(self) -> dict[str, Any]:
        """Everything but the chain, ready for JSON: the arguments, and :meth:`Row.to_dict` of each row.

        ``n_states`` is the old name of ``n_groups``, kept for one version.
        """
        return {
            "n_groups": self.n_states,
            "n_states": self.n_states,
            "beta": self.beta,
            "gamma": self.gamma,
            "seed": self.random_state,
            "n_init": self.n_init,
            "best": None if self.best is None else self.best.name,
            "rows": [row.to_dict() for row in self.rows],
            "not_installed": list(self.not_installed),
            "not_run": list(self.not_run),
            "interrupted": self.interrupted,
            "interrupted_after": self.interrupted_after,
        }

    def to_frame(self) -> Any:
        """Return the table as a pandas DataFrame, one row per method."""
        try:
            import pandas
        except ImportError as error:
            raise MissingPackageError("to_frame() needs pandas", remedy="pip install pandas") from error
        return pandas.DataFrame([row.to_record() for row in self.rows])

    def plot(self, path: str | PathLike[str] | None = None) -> Figure:
        """Draw the costs of all methods; with a path (.png, .svg, .pdf), save the picture as well."""
        from klump import plots

        return plots.comparison(self, path)

    def __getitem__(self, index: Any) -> Any:
        return self.rows[index]

    def __len__(self) -> int:
        return len(self.rows)

    def _repr_html_(self) -> str:
        """HTML for notebooks."""
        from klump import notebooks

        return notebooks.comparison_html(self)

    def __str__(self) -> str:
        return "\n".join(lines(self))
