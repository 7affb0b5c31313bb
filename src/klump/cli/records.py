"""Results as JSON documents: strictly valid JSON, with all that a rerun needs."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from klump import __version__
from klump.documents import name as name
from klump.documents import plain as plain
from klump.documents import versions as versions

if TYPE_CHECKING:
    from klump.aggregation import Aggregation
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


def aggregation(agg: Aggregation) -> dict[str, Any]:
    """Describe one aggregation, without the names of all states."""
    from klump.aggregation.export import describe

    return describe(agg)


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
