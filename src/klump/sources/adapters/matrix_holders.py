"""Any object with a ``transition_matrix``, such as a kernel of CellRank; cells are named if it has an ``adata``."""

from __future__ import annotations

from typing import Any

from klump.errors import InvalidChainError
from klump.sources.adapters.adapted import Adapted, refuse


def adapt(given: Any) -> Adapted | None:
    """Transition matrix of an object, with the names of the cells of its ``adata``, if it has one."""
    if isinstance(given, type):
        if hasattr(given, "transition_matrix"):
            raise InvalidChainError(
                f"{given.__name__} is a class, not a chain", remedy="pass an instance of it"
            )
        return None
    matrix = getattr(given, "transition_matrix", _NOTHING)
    if matrix is _NOTHING:
        return None
    if matrix is None:
        raise refuse(given, "has no transition matrix yet", "call its compute_transition_matrix() first")
    names = getattr(getattr(given, "adata", None), "obs_names", None)
    return Adapted(matrix, None if names is None else tuple(names))


_NOTHING = object()
