"""Results as JSON: strictly valid, with everything that is needed to repeat them."""

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
    from klump.aggregation import Aggregation, AggregationTree, Costs
    from klump.chain import MarkovChain
    from klump.cli.inputs import ChainInput
    from klump.guarantees import Guarantees, MonteCarlo


def document(schema: str, source: ChainInput, chain: MarkovChain, **content: Any) -> dict[str, Any]:
    """Put in front of a result what it is and where it came from."""
    return {
        "schema": f"klump/{schema}/1",
        "klump": __version__,
        "versions": versions("numpy", "scipy", "numba"),
        "input": source.record(chain),
        **content,
    }


def written(content: dict[str, Any]) -> str:
    """Write JSON with a line for each key: labels of a large chain should not take a line each."""
    lines = (
        f"  {json.dumps(key)}: {json.dumps(plain(value), allow_nan=False)}" for key, value in content.items()
    )
    return "{\n" + ",\n".join(lines) + "\n}"


def plain(value: Any) -> Any:
    """Turn arrays into lists, and numbers that JSON does not know into null.

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
    """Give a state's name as JSON has it: text and integers stay, the rest becomes text."""
    return state if isinstance(state, str | int) else str(state)


def aggregation(agg: Aggregation) -> dict[str, Any]:
    """Everything about one aggregation but the names of the states; null is what it does not have.

    That is the map of a partition, which labels describe; what needs a stationary distribution; the tree and the splits
    of methods that merge and split nothing.
    """
    stationary = agg.original.is_irreducible
    return {
        "beta": agg.beta,
        "gamma": agg.gamma,
        "n_states": agg.n_states,
        "labels": agg.labels,
        "mapping": agg.mapping if agg.map.labels is None else None,
        "groups": [[name(state) for state in group] for group in agg.groups],
        "costs": costs(agg.costs, agg.cost) if stationary else None,
        "cost": agg.cost if stationary else None,
        "transition_matrix": matrix(agg.chain),
        "stationary_distribution": agg.masses if stationary else None,
        "bisimulation": bisimulation(agg),
        "tree": tree(agg.tree),
        "splits": [split._asdict() for split in agg.splits] or None,
        "notes": agg.notes,
        "interrupted": agg.interrupted,
    }


def costs(found: Costs, cost: float) -> dict[str, float]:
    """List the costs of a map, in bits, and the share of the redundancy that it keeps."""
    return {
        "lumpability": found.lumpability,
        "predictability": found.predictability,
        "bottleneck": found.bottleneck,
        "generated": found.generated,
        "cost": cost,
        "kept": found.kept,
    }


def matrix(chain: MarkovChain) -> Any:
    """Give a matrix as rows; a sparse one, which would be too large so, as its entries."""
    if not chain.is_sparse:
        return chain.transition_matrix
    stored: Any = chain.transition_matrix
    entries = stored.tocoo()
    return {"row": entries.row, "column": entries.col, "probability": entries.data}


def bisimulation(agg: Aggregation) -> dict[str, float] | None:
    """List the certificate of an aggregation; a stochastic map has none."""
    if agg.map.labels is None:
        return None
    found = agg.bisimulation
    return {"mean": found.mean, "epsilon": found.epsilon, "bound": found.bound}


def horizon(agg: Aggregation, steps: int, found: Guarantees | None) -> dict[str, float | None]:
    """List the bounds on the laws of paths: of stationary chains, if there are guarantees, and from any start.

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
    """List the mergers of an agglomerative method; other methods have none."""
    if found is None:
        return None
    return {"leaves": found.leaves, "merges": found.merges, "merge_costs": found.merge_costs}


def guarantees(found: Guarantees, simulated: MonteCarlo, betas: Iterable[float], seed: int) -> dict[str, Any]:
    """List what is lost over all times, between bounds, and the entropy rate by simulation."""
    return {
        "entropy_rate": asdict(found.entropy_rate),
        "divergence": asdict(found.divergence),
        "redundancy_rate": asdict(found.redundancy_rate),
        "delta": [{"beta": beta, **asdict(found.delta(beta))} for beta in betas],
        "block_length": found.block_length,
        "monte_carlo": {**asdict(simulated), "seed": seed},
    }


def versions(*packages: str) -> dict[str, str | None]:
    """Versions of Python and of packages; None for one that is not installed."""
    found: dict[str, str | None] = {"python": platform.python_version()}
    for package in packages:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = None
    return found
