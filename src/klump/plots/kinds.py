"""Kinds of pictures that the ``plot`` methods of results draw."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from inspect import signature
from typing import TYPE_CHECKING, Any

from klump.errors import InvalidArgumentError
from klump.plots.arguments import check_axes, check_path
from klump.plots.chapman_kolmogorov import answer_chapman_kolmogorov
from klump.plots.costs import costs
from klump.plots.flow import flow
from klump.plots.graph import graph
from klump.plots.matrix import matrix
from klump.plots.memberships import memberships
from klump.plots.plane import plane
from klump.plots.selection import gains, selection
from klump.plots.stability import agreement, stability
from klump.plots.timescales import timescales

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
    known = [name for name, one in signature(kinds[kind]).parameters.items() if one.kind is one.KEYWORD_ONLY]
    known.remove("ax")
    for name, value in options.items():
        if name not in known:
            raise InvalidArgumentError(
                f"is no option of kind={kind!r}",
                argument=name,
                value=value,
                remedy=f"its options are {', '.join(known)}" if known else "it has no options",
            )
    check_path(path)
    if ax is not None:
        check_axes(ax)
    return kinds[kind](result, path, ax=ax, **options)
