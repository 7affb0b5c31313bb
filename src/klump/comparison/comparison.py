"""What came out of a comparison: a row for each method, the cheapest first."""

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
    """One method: what it found and how long that took, or why it failed."""

    name: str
    """Name of the method, or of the outside tool."""
    kind: Literal["klump", "outside"]
    """Whose method it is."""
    package: str
    """The package that it comes from, by its name on PyPI."""
    version: str | None
    """Version of that package."""
    wanted: int
    """The number of groups that was asked for."""
    aggregation: Aggregation | None
    """What was found, to go on with; None if the method failed."""
    seconds: float
    """How long it took, without importing or compiling anything."""
    error: str | None = None
    """Why it failed, in one line; None if it did not."""

    @property
    def n_states(self) -> int | None:
        """The number of groups that came out."""
        return None if self.aggregation is None else self.aggregation.n_states

    @property
    def as_asked(self) -> bool:
        """Whether that is exactly the number that was asked for."""
        return self.n_states == self.wanted

    @property
    def soft(self) -> bool:
        """Whether the map is truly stochastic, so that states belong to several groups."""
        return self.aggregation is not None and self.aggregation.map.labels is None

    @property
    def labels(self) -> NDArray[np.int32] | None:
        """The group of each state; for a soft map, its most probable group."""
        return None if self.aggregation is None else self.aggregation.labels

    @property
    def costs(self) -> Costs | None:
        """All costs of the map, in bits."""
        return None if self.aggregation is None else self.aggregation.costs

    @property
    def gamma(self) -> float:
        """The weight of generated information in the cost."""
        return 0.0 if self.aggregation is None else self.aggregation.gamma

    @property
    def cost(self) -> float | None:
        """The cost at the comparison's beta and gamma, in bits."""
        return None if self.aggregation is None else self.aggregation.cost

    @property
    def epsilon(self) -> float | None:
        """How far a state's next group is off at most; soft maps have no such certificate."""
        if self.aggregation is None or self.soft:
            return None
        return self.aggregation.bisimulation.epsilon

    @property
    def interrupted(self) -> bool:
        """Whether Ctrl-C stopped the method, so that this is the best it had found until then."""
        return self.aggregation is not None and self.aggregation.interrupted

    def to_dict(self) -> dict[str, Any]:
        """Who found what, and how good it is, ready for JSON; what is not there is None.

        Keys mean what they do in ``klump aggregate --json``. The groups by name, the coarse chain and the way of the
        search are left out, as every row would have them: :attr:`aggregation` has.
        """
        agg = self.aggregation
        return {
            "name": self.name,
            "kind": self.kind,
            "package": self.package,
            "version": self.version,
            "n_states": self.n_states,
            "as_asked": self.as_asked,
            "soft": self.soft,
            "labels": None if agg is None else agg.labels.tolist(),
            "mapping": agg.mapping.tolist() if agg is not None and self.soft else None,
            "costs": None if agg is None else _costs(agg),
            "cost": self.cost,
            "bisimulation": None if agg is None or self.soft else _bisimulation(agg),
            "notes": None if agg is None else list(agg.notes),
            "seconds": self.seconds,
            "interrupted": self.interrupted,
            "error": self.error,
        }

    def to_record(self) -> dict[str, Any]:
        """One line of a table: what :meth:`to_dict` says in single numbers and words."""
        found = self.to_dict()
        values = {**found, **(found["costs"] or {}), **(found["bisimulation"] or {})}
        return {name: values.get(name) for name in _COLUMNS}


_COSTS = ("cost", "lumpability", "predictability", "bottleneck", "generated", "kept")
_COLUMNS = (
    *("name", "kind", "package", "version", "n_states", "as_asked", "soft"),
    *_COSTS,
    *("epsilon", "seconds", "interrupted", "error"),
)


def _costs(agg: Aggregation) -> dict[str, float]:
    return {name: getattr(agg if name == "cost" else agg.costs, name) for name in _COSTS}


def _bisimulation(agg: Aggregation) -> dict[str, float | None]:
    """The bound of a chain with a vanishing mass is infinite, which JSON does not know."""
    return {name: value if np.isfinite(value) else None for name, value in asdict(agg.bisimulation).items()}


@dataclass(frozen=True, eq=False)
class Comparison(Sequence[Row]):
    """Every method on one chain, as :func:`klump.compare` found it.

    The partitions into exactly the number of groups that was asked for come first, the cheapest at the top; then soft
    maps with that number; then those with another number of groups; then those that failed.

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
    """The chain that was aggregated."""
    n_states: int
    """The number of groups that was asked for."""
    beta: float
    """The beta at which all are compared."""
    random_state: int
    """The seed that every method was given."""
    n_init: int
    """The number of restarts that every method was given."""
    rows: tuple[Row, ...] = field(repr=False)
    """The methods, the cheapest first."""
    not_installed: tuple[str, ...] = ()
    """Outside tools that are not there."""
    not_run: tuple[str, ...] = ()
    """Methods that Ctrl-C left no time for."""
    gamma: float = 0.0
    """The weight of generated information in the costs."""

    @property
    def best(self) -> Row | None:
        """The cheapest partition into exactly the number of groups asked for; without one, the cheapest soft map."""
        return self.rows[0] if self.rows and self.rows[0].as_asked else None

    @property
    def failures(self) -> tuple[Row, ...]:
        """The rows of the methods that failed."""
        return tuple(row for row in self.rows if row.error is not None)

    @property
    def interrupted(self) -> bool:
        """Whether Ctrl-C stopped the comparison."""
        return bool(self.not_run) or any(row.interrupted for row in self.rows)

    def named(self, name: str) -> Row:
        """Find the row of one method."""
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
        """Everything but the chain, ready for JSON: the question, and :meth:`Row.to_dict` for each row."""
        return {
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
        }

    def to_frame(self) -> Any:
        """Return the table as a pandas DataFrame, one row for each method."""
        try:
            import pandas
        except ImportError as error:
            raise MissingPackageError("to_frame() needs pandas", remedy="pip install pandas") from error
        return pandas.DataFrame([row.to_record() for row in self.rows])

    def plot(self, path: str | PathLike[str] | None = None) -> Figure:
        """Draw the costs of all methods, and save the picture if a path (.png, .svg, .pdf) is given."""
        from klump import plots

        figure = plots.comparison(self)
        if path is not None:
            plots.save(figure, path)
        return figure

    def __getitem__(self, index: Any) -> Any:
        return self.rows[index]

    def __len__(self) -> int:
        return len(self.rows)

    def __str__(self) -> str:
        return "\n".join(lines(self))
