"""Results as JSON documents: strictly valid JSON, with all that a rerun needs."""

from __future__ import annotations

import json
import math
import platform
from collections.abc import Hashable, Iterable
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

from klump import __version__

if TYPE_CHECKING:
    from klump.aggregation import Aggregation, AggregationTree
    from klump.chain import MarkovChain
    from klump.cli.inputs import ChainInput
    from klump.guarantees import Guarantees, MonteCarlo


def document(schema: str, source: ChainInput, chain: MarkovChain, **content: Any) -> dict[str, Any]:
    """Build a JSON document: schema version, package versions and input file, then the content."""
    return {
        "schema": f"klump/{schema}/1",
        "klump": __version__,
        "versions": versions("numpy", "scipy", "numba"),
        "input": source.record(chain),
        **content,
    }


def format_json(document: dict[str, Any]) -> str:
    """Format a document with one line per top-level key, so that arrays stay on one line."""
    lines = (
        f"  {json.dumps(key)}: {json.dumps(plain(value), allow_nan=False)}" for key, value in document.items()
    )
    return "{\n" + ",\n".join(lines) + "\n}"


def plain(value: Any) -> Any:
    """Convert arrays and tuples to lists, and NaN and infinity, which JSON does not have, to None.

    >>> plain({"kept": float("nan"), "labels": (1, 2)})
    {'kept': None, 'labels': [1, 2]}
    """
    if hasattr(value, "toarray"):
        value = value.toarray()
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def name(state: Hashable) -> str | int:
    """Return a state's name for JSON: strings and integers as they are, others as strings."""
    return state if isinstance(state, str | int) else str(state)


def aggregation(agg: Aggregation) -> dict[str, Any]:
    """Describe one aggregation, without the names of all states.

    None: ``mapping`` of a partition, which has ``labels``; costs and masses of a chain that is not irreducible;
    ``tree``, ``splits`` and ``effort`` of other methods; ``interrupted_after`` unless a time limit interrupted the
    search. ``n_states`` is the old name of ``n_groups``, kept for one version.
    """
    stationary = agg.original.is_irreducible
    return {
        "beta": agg.beta,
        "gamma": agg.gamma,
        "n_groups": agg.n_states,
        "n_states": agg.n_states,
        "labels": agg.labels,
        "mapping": agg.mapping if agg.map.labels is None else None,
        "groups": [[name(state) for state in group] for group in agg.groups],
        "costs": agg.costs.to_dict(agg.beta, agg.gamma) if stationary else None,
        "cost": agg.cost if stationary else None,
        "transition_matrix": matrix(agg.chain),
        "stationary_distribution": agg.masses if stationary else None,
        "bisimulation": bisimulation(agg),
        "tree": tree(agg.tree),
        "splits": [split._asdict() for split in agg.splits] or None,
        "notes": agg.notes,
        "effort": agg.effort,
        "interrupted": agg.interrupted,
        "interrupted_after": agg.interrupted_after,
    }


def matrix(chain: MarkovChain) -> Any:
    """Return a dense matrix as rows, and a sparse one as its non-zero entries in coordinate format."""
    if not chain.is_sparse:
        return chain.transition_matrix
    stored: Any = chain.transition_matrix
    entries = stored.tocoo()
    return {"row": entries.row, "column": entries.col, "probability": entries.data}


def bisimulation(agg: Aggregation) -> dict[str, float] | None:
    """Return the certificate of a partition; None for a stochastic map."""
    if agg.map.labels is None:
        return None
    found = agg.bisimulation
    return {"mean": found.mean, "epsilon": found.epsilon, "bound": found.bound}


def horizon(agg: Aggregation, steps: int, found: Guarantees | None) -> dict[str, float | None]:
    """Return the bounds on the total variation between path distributions, from stationary and from any start.

    ``total_variation`` is the old name of ``any_start``, kept for one version.
    """
    any_start = None if agg.map.labels is None else agg.bisimulation.horizon(steps)
    return {
        "steps": steps,
        "stationary": None if found is None else found.horizon(steps),
        "any_start": any_start,
        "total_variation": any_start,
    }


def tree(found: AggregationTree | None) -> dict[str, Any] | None:
    """Return the mergers of an agglomerative method; None for other methods."""
    if found is None:
        return None
    return {"leaves": found.leaves, "merges": found.merges, "merge_costs": found.merge_costs}


def guarantees(
    found: Guarantees, simulated: MonteCarlo | None, betas: Iterable[float], seed: int
) -> dict[str, Any]:
    """Return lower and upper bounds of the rates in bits per step, and the simulated entropy rate, if there is one."""
    return {
        "entropy_rate": asdict(found.entropy_rate),
        "divergence": asdict(found.divergence),
        "redundancy_rate": asdict(found.redundancy_rate),
        "delta": [{"beta": beta, **asdict(found.delta(beta))} for beta in betas],
        "block_length": found.block_length,
        "monte_carlo": None if simulated is None else {**asdict(simulated), "seed": seed},
    }


def versions(*packages: str) -> dict[str, str | None]:
    """Return the versions of Python and of packages; None for a package that is not installed."""
    found: dict[str, str | None] = {"python": platform.python_version()}
    for package in packages:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = None
    return found
