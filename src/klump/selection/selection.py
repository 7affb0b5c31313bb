"""The result of a selection: a number of groups and a beta, or no clear answer, with the reason."""

from __future__ import annotations

import textwrap
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from klump.aggregation import Aggregation
from klump.aggregation.notes import format_interruption
from klump.chain import MarkovChain
from klump.chain.wording import format_count
from klump.selection.table import SelectionTable

if TYPE_CHECKING:
    from os import PathLike

    from matplotlib.axes import Axes

# Width of the printed reason and notes, in columns.
_WIDTH = 100


@dataclass(frozen=True, eq=False, repr=False)
class Selection:
    """A number of groups and a beta for a chain, as :func:`klump.select` recommends them.

    Examples
    --------
    >>> import klump
    >>> from klump.sources.random_chains import block_chain
    >>> chain, planted = block_chain((8, 10, 12), alpha=0.9, eps=0.2)
    >>> choice = klump.select(chain, n_states=[2, 3, 4], betas=[0.5])
    >>> choice.n_states, choice.beta
    (3, 0.5)
    >>> sorted(len(group) for group in choice.aggregation.groups), len(choice.table)
    ([8, 10, 12], 3)
    """

    original: MarkovChain
    """The chain."""
    aggregation: Aggregation | None
    """The recommended aggregation; None if there is no clear answer."""
    reason: str
    """Reason of the recommendation, or why there is no clear answer."""
    table: SelectionTable
    """The evidence: one row per number of groups and beta."""
    spectrum: NDArray[np.float64] = field(repr=False)
    """Moduli of the largest eigenvalues of the transition matrix, in decreasing order; NaN if not computed."""
    notes: tuple[str, ...] = ()
    """Further observations: other numbers of groups that stand out, changes of the chain."""
    method: str = "auto"
    """Name of the search method."""
    random_state: int = 0
    """The seed."""
    effort: str | None = None
    """Effort of the searches; None for a method without one."""
    gamma: float = 0.0
    """Weight of generated information in the costs."""
    interrupted: bool = False
    """Whether Ctrl-C or the time limit stopped the selection: then there is no recommendation."""
    interrupted_after: float | None = None
    """The time limit in seconds, if that stopped the selection; None if Ctrl-C did, or nothing."""

    @property
    def n_states(self) -> int | None:
        """The recommended number of groups; None if there is no clear answer."""
        return None if self.aggregation is None else self.aggregation.n_states

    @property
    def beta(self) -> float | None:
        """The beta of the recommended aggregation; None if there is no clear answer."""
        return None if self.aggregation is None else self.aggregation.beta

    @property
    def seed(self) -> int:
        """Another name of :attr:`random_state`."""
        return self.random_state

    def to_dict(self) -> dict[str, Any]:
        """Convert everything but the chain to types that JSON has."""
        return {
            "n_groups": self.n_states,
            "beta": self.beta,
            "reason": self.reason,
            "labels": None if self.aggregation is None else self.aggregation.labels.tolist(),
            "rows": self.table.to_dict(),
            "spectrum": self.spectrum.tolist(),
            "notes": list(self.notes),
            "gamma": self.gamma,
            "method": self.method,
            "effort": self.effort,
            "seed": self.random_state,
            "interrupted": self.interrupted,
            "interrupted_after": self.interrupted_after,
        }

    def lines(self, width: int = _WIDTH, without: Collection[str] = ()) -> list[str]:
        """Reason and notes, except those in ``without``, wrapped to a width."""
        texts = [self.reason, *(f"note: {note}" for note in self.notes if note not in without)]
        if self.interrupted:
            texts.append(f"{format_interruption(self)}: this is what was found so far")
        return [line for text in texts for line in textwrap.wrap(text, width, break_on_hyphens=False)]

    def plot(
        self,
        path: str | PathLike[str] | None = None,
        kind: str = "costs",
        *,
        ax: Axes | None = None,
        **options: Any,
    ) -> Axes:
        """Draw the evidence; needs matplotlib (the extra ``klump[plots]``).

        - ``"costs"``: cost against number of groups, with the recommended answer (:func:`klump.plots.selection`);
        - ``"gains"``: the decrease of the cost per added group (:func:`klump.plots.gains`).

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

        return kinds.draw(kinds.SELECTION, kind, self, path, ax, **options)

    def __repr__(self) -> str:
        found = (
            "no clear answer"
            if self.aggregation is None
            else f"{format_count(self.aggregation.n_states, 'group')}, beta={self.aggregation.beta:g}"
        )
        return f"Selection({format_count(self.original.n_states, 'state')}: {found})"

    def _repr_html_(self) -> str:
        """HTML for notebooks."""
        from klump import notebooks

        return notebooks.selection_html(self)

    def __str__(self) -> str:
        return "\n".join([str(self.table), "", *self.lines()])
