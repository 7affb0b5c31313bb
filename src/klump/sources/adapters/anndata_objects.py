"""AnnData: transition matrices between cells in ``obsp``."""

from __future__ import annotations

from typing import Any

from klump.errors import InvalidArgumentError
from klump.sources.adapters.adapted import Adapted, DeadEnds, refuse

# Where CellRank writes the transition matrix of a kernel; the second is that of a walk backwards in time.
TRANSITIONS = "T_fwd"
_STOCHASTIC = (TRANSITIONS, "T_bwd")
_CELLS = DeadEnds("cell {} has no neighbour", "remove it")


def adapt(given: Any) -> Adapted | None:
    """Transition matrix that a CellRank kernel has written."""
    return matrix_between_cells(given) if hasattr(given, "obsp") and hasattr(given, "obs_names") else None


def matrix_between_cells(adata: Any, key: str = TRANSITIONS) -> Adapted:
    """Matrix ``obsp[key]``, with the names of the cells; matrices other than CellRank's hold weights."""
    if not hasattr(adata, "obsp") or not hasattr(adata, "obs_names"):
        raise refuse(adata, "has no obsp", "pass an AnnData")
    keys = sorted(adata.obsp.keys())
    if key not in keys:
        raise _missing(adata, key, keys)
    weights = key not in _STOCHASTIC
    return Adapted(
        adata.obsp[key],
        tuple(adata.obs_names),
        normalize=weights,
        dead_ends=_CELLS if weights else None,
    )


def _missing(given: Any, key: str, keys: list[str]) -> Exception:
    found = ", ".join(map(repr, keys)) if keys else "no matrix"
    if key != TRANSITIONS:
        return InvalidArgumentError(
            f"is not in obsp, which has {found}", argument="key", value=key, remedy="name one of these"
        )
    remedy = "write that of a CellRank kernel with kernel.write_to_adata()"
    if keys:
        remedy += f", or pass MarkovChain.from_anndata(adata, key={keys[0]!r}), which is taken as weights"
    return refuse(given, f"has no transition matrix obsp[{key!r}]; obsp has {found}", remedy)
