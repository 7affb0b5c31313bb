"""Aggregations of one chain along decreasing beta."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from klump.aggregation.aggregation import Aggregation
from klump.aggregation.layout import path_lines
from klump.aggregation.names import check_names
from klump.arguments import check_beta
from klump.errors import InvalidArgumentError

if TYPE_CHECKING:
    from os import PathLike

    from matplotlib.axes import Axes

# Two betas closer than this are equal: decimal fractions differ by rounding.
_BETA_TOLERANCE = 1e-9


@dataclass(frozen=True, eq=False, repr=False)
class AggregationPath(Sequence[Aggregation]):
    """Aggregations of one chain along decreasing beta, from one annealing run.

    Groups keep their number along the path: group 2 at one beta developed from group 2 at the previous beta. Default
    names follow the members at each beta; those of :meth:`with_names` stay.

    Examples
    --------
    >>> import klump
    >>> P = [[0.5, 0.4, 0.1, 0.0], [0.4, 0.5, 0.0, 0.1], [0.1, 0.0, 0.4, 0.5], [0.0, 0.1, 0.5, 0.4]]
    >>> print(klump.beta_path(P, 2, betas=[1, 0.5]))
    4 states in 2 groups, annealing; costs in bits
    beta    cost  lumpability  predictability    kept  epsilon  moved
       1  0.1080       0.0000          0.1080  83.1 %   0.0000      -
     0.5  0.0540       0.0000          0.1080  83.1 %   0.0000      0
    """

    aggregations: tuple[Aggregation, ...]
    """One answer for each beta, in the order of the path."""

    @property
    def betas(self) -> NDArray[np.float64]:
        """The beta of each step, decreasing."""
        return np.array([answer.beta for answer in self.aggregations])

    @property
    def costs(self) -> NDArray[np.float64]:
        """The cost of each step at its own beta."""
        return np.array([answer.cost for answer in self.aggregations])

    @property
    def interrupted(self) -> bool:
        """Whether the search was stopped by Ctrl-C or the time limit."""
        return any(answer.interrupted for answer in self.aggregations)

    @property
    def interrupted_after(self) -> float | None:
        """The time limit in seconds, if that stopped the search."""
        return next((answer.interrupted_after for answer in self.aggregations if answer.interrupted), None)

    def at(self, beta: float) -> Aggregation:
        """Find the aggregation for one of the betas.

        Examples
        --------
        >>> import klump
        >>> P = [[0.5, 0.4, 0.1, 0.0], [0.4, 0.5, 0.0, 0.1], [0.1, 0.0, 0.4, 0.5], [0.0, 0.1, 0.5, 0.4]]
        >>> klump.beta_path(P, 2, step=0.5).at(0.5).groups
        [(0, 1), (2, 3)]
        """
        wanted = check_beta(beta)
        for answer in self.aggregations:
            if abs(answer.beta - wanted) < _BETA_TOLERANCE:
                return answer
        raise InvalidArgumentError(
            "is not on this path",
            argument="beta",
            value=beta,
            remedy=f"it has {', '.join(map(str, self.betas))}",
        )

    def with_names(self, names: Sequence[str]) -> AggregationPath:
        """Return this path with the same names of groups at every beta; groups that are empty lose theirs.

        Examples
        --------
        >>> import klump
        >>> P = [[0.5, 0.4, 0.1, 0.0], [0.4, 0.5, 0.0, 0.1], [0.1, 0.0, 0.4, 0.5], [0.0, 0.1, 0.5, 0.4]]
        >>> path = klump.beta_path(P, 2, step=0.5).with_names(["front", "back"])
        >>> [answer.names for answer in path]
        [('front', 'back'), ('front', 'back'), ('front', 'back')]
        """
        most = max((answer.n_states for answer in self.aggregations), default=0)
        checked = check_names(names, most)
        return AggregationPath(
            tuple(answer.with_names(checked[: answer.n_states]) for answer in self.aggregations)
        )

    def report(self, path: str | PathLike[str], title: str | None = None) -> None:
        """Write an interactive report of the path, with a control for beta; needs Bokeh.

        It is one HTML file that needs no network. Parameters are those of :meth:`klump.Aggregation.report`.
        """
        from klump.report import write_report

        write_report(self, path, title=title)

    def save(self, path: str | PathLike[str]) -> None:
        """Save to a file that :func:`klump.load` reads."""
        from klump.aggregation.storage import save

        save(self, path)

    def plot(
        self,
        path: str | PathLike[str] | None = None,
        kind: str = "costs",
        *,
        ax: Axes | None = None,
        **options: Any,
    ) -> Axes:
        """Draw this path; needs matplotlib (the extra ``klump[plots]``).

        - ``"costs"``: cost, lumpability, predictability and kept share against beta (:func:`klump.plots.costs`);
        - ``"plane"``: the path in the plane of lumpability and predictability (:func:`klump.plots.plane`);
        - ``"flow"``: which mass the groups of neighbouring betas share (:func:`klump.plots.flow`).

        :func:`klump.plots.overview` draws all three.

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

        Examples
        --------
        >>> import klump
        >>> P = [[0.5, 0.4, 0.1, 0.0], [0.4, 0.5, 0.0, 0.1], [0.1, 0.0, 0.4, 0.5], [0.0, 0.1, 0.5, 0.4]]
        >>> ax = klump.beta_path(P, 2, betas=[1, 0.5]).plot(kind="flow")
        >>> [label.get_text() for label in ax.get_xticklabels()]
        ['0.5', '1']
        """
        from klump.plots import kinds

        return kinds.draw(kinds.PATH, kind, self, path, ax, **options)

    def __getitem__(self, index: Any) -> Any:
        return self.aggregations[index]

    def __len__(self) -> int:
        return len(self.aggregations)

    def __iter__(self) -> Iterator[Aggregation]:
        return iter(self.aggregations)

    def __repr__(self) -> str:
        betas = ", ".join(f"{beta:g}" for beta in self.betas)
        return f"AggregationPath(betas=[{betas}])"

    def _repr_html_(self) -> str:
        """HTML for notebooks."""
        from klump import notebooks

        return notebooks.path_html(self)

    def __str__(self) -> str:
        return "\n".join(path_lines(self))
