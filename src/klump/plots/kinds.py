"""Kinds of pictures that the ``plot`` methods of results draw."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from klump.errors import InvalidArgumentError
from klump.plots.costs import costs
from klump.plots.dynamics import answer_chapman_kolmogorov, timescales
from klump.plots.flow import flow
from klump.plots.graph import graph
from klump.plots.matrix import matrix
from klump.plots.memberships import memberships
from klump.plots.plane import plane
from klump.plots.selection import gains, selection
from klump.plots.stability import agreement, stability

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Kinds = Mapping[str, Callable[..., "Axes"]]

ANSWER: Kinds = {
    "matrix": matrix,
    "graph": graph,
    "memberships": memberships,
    "chapman_kolmogorov": answer_chapman_kolmogorov,
    "timescales": timescales,
}
PATH: Kinds = {"costs": costs, "plane": plane, "flow": flow}
BOOTSTRAP: Kinds = {"stability": stability, "agreement": agreement}
SELECTION: Kinds = {"costs": selection, "gains": gains}


def draw(kinds: Kinds, kind: Any, result: Any, path: Any, ax: Axes | None, **options: Any) -> Axes:
    """Draw a kind of picture of a result; raise InvalidArgumentError if there is no such kind."""
    if not isinstance(kind, str) or kind not in kinds:
        choices = ", ".join(map(repr, kinds))
        raise InvalidArgumentError(
            "is no kind of picture of this result",
            argument="kind",
            value=kind,
            remedy=f"choose one of {choices}",
        )
    return kinds[kind](result, path, ax=ax, **options)
