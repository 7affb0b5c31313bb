"""The data of a report: plain values that the page switches between without computing anything."""

from __future__ import annotations

import base64
import math
from collections.abc import Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from klump.arguments import Progress
from klump.documents import name, plain
from klump.report.cells import Cells
from klump.report.dynamics import Dynamics, dynamics_of, original_timescales
from klump.report.sentences import certificate, over_time
from klump.views import PALETTE, Graph, flow, graph, ordered_matrix

if TYPE_CHECKING:
    from klump.aggregation import Aggregation
    from klump.chain import MarkovChain
    from klump.comparison import Comparison

# Bins per side of the ordered matrix: 14 kB per partition.
_BINS = 120
# Largest number of groups whose transition matrix, graph and flow are shown.
_MAX_GROUPS = 60
# Largest number of groups whose labels take two bytes each.
_MAX_UINT16 = 2**16
# Largest number of groups whose curves over time are shown.
_MAX_CURVES = 12
# Decimals of coordinates, of which 1 is about 100 pixels.
_DECIMALS = 4


def contents(
    cells: Cells, comparisons: Mapping[int, Comparison], progress: Progress | None = None
) -> dict[str, Any]:
    """Collect what the page shows: the chain, every distinct partition, and which cell has which partition."""
    chain, identities = cells.original, cells.identities()
    keys = {cell: _key(answer) for cell, answer in cells.answers.items()}
    # Cells with the same partition share its data: a path often has few of them.
    distinct: dict[Hashable, tuple[int, float]] = {}
    for cell, key in keys.items():
        distinct.setdefault(key, cell)
    numbers = {key: number for number, key in enumerate(distinct)}
    slowest, missing = original_timescales(chain)
    partitions = []
    for done, cell in enumerate(distinct.values(), start=1):
        over = dynamics_of(cells.answers[cell], slowest, missing, len(distinct))
        partitions.append(_partition(cells.answers[cell], identities[cell], over))
        if progress is not None:
            progress(done, len(distinct), math.nan)
    first = cells.first()
    return plain(
        {
            "chain": _chain(chain),
            "numbers": cells.numbers,
            "betas": cells.betas,
            "gamma": cells.answers[first].gamma,
            "limits": {"groups": _MAX_GROUPS, "curves": _MAX_CURVES, "bins": _BINS},
            "first": [cells.numbers.index(first[0]), cells.betas.index(first[1])],
            "cells": [
                [numbers[keys[k, beta]] if (k, beta) in keys else None for beta in cells.betas]
                for k in cells.numbers
            ],
            "partitions": partitions,
            "flows": _flows(cells, identities),
            "comparisons": {str(k): _comparison(found) for k, found in comparisons.items()},
            "palette": PALETTE,
        }
    )


def _key(answer: Aggregation) -> Hashable:
    """Equal for answers whose data and notes are the same."""
    mapping = answer.mapping if answer.map.labels is None else answer.map.labels
    search = answer.method, answer.interrupted, answer.lag, answer.constraints.describe()
    return answer.n_states, mapping.tobytes(), answer.group_names, search


def _chain(chain: MarkovChain) -> dict[str, Any]:
    known = chain.is_irreducible
    return {
        "states": [str(name(state)) for state in chain.states],
        "mass": encode(chain.stationary_distribution.astype("<f4")) if known else None,
        "n_transitions": chain.n_transitions,
        "is_irreducible": known,
        "is_reversible": chain.is_reversible if known else None,
        "redundancy_rate": chain.redundancy_rate if known else None,
        "entropy_rate": chain.entropy_rate if known else None,
        "applied": [str(change) for change in chain.applied],
    }


def encode(array: NDArray[Any]) -> str:
    """Bytes of an array as base64.

    >>> encode(np.array([1, 2], dtype=np.uint8))
    'AQI='
    """
    return base64.b64encode(np.ascontiguousarray(array).tobytes()).decode("ascii")


def _partition(answer: Aggregation, identities: Sequence[int], over: Dynamics) -> dict[str, Any]:
    known, soft = answer.original.is_irreducible, answer.map.labels is None
    costs = answer.costs if known else None
    return {
        "k": answer.n_states,
        "names": answer.names,
        "identities": identities,
        "sizes": np.bincount(answer.labels, minlength=answer.n_states),
        "masses": answer.masses if known else None,
        "labels": encode(answer.labels.astype("<u4" if answer.n_states > _MAX_UINT16 else "<u2")),
        "shares": encode(answer.mapping.max(axis=1).astype("<f4")) if soft else None,
        "lumpability": costs.lumpability if costs else None,
        "predictability": costs.predictability if costs else None,
        "generated": costs.generated if costs else None,
        "kept": costs.kept if costs else None,
        "epsilon": None if soft else answer.bisimulation.epsilon,
        "transition_matrix": _small_matrix(answer),
        "matrix": _matrix(answer),
        "graph": _graph(graph(answer)) if answer.n_states <= _MAX_GROUPS else None,
        "dynamics": _dynamics(over),
        "certificate": list(certificate(answer)),
        "over_time": list(over_time(answer, over)),
        "notes": [str(note) for note in answer.notes],
    }


def _small_matrix(answer: Aggregation) -> Any:
    if answer.n_states > _MAX_GROUPS:
        return None
    found: Any = answer.chain.transition_matrix
    return np.round(found.toarray() if answer.chain.is_sparse else found, 6)


def _matrix(answer: Aggregation) -> dict[str, Any]:
    """Borders, bins and densities; the density is 8 bits of its square root, as most probabilities are small."""
    view = ordered_matrix(answer, _BINS)
    largest = float(view.density.max())
    levels = np.sqrt(view.density / largest) * 255.0
    # A positive probability is visible.
    coded = np.maximum(np.round(levels), view.density > 0.0).astype(np.uint8)
    return {
        "borders": view.borders,
        "bins": view.bins,
        "largest": largest,
        "levels": encode(coded),
        "order": encode(view.order.astype("<u4")) if not view.is_binned else None,
    }


def _graph(view: Graph) -> dict[str, Any]:
    return {
        "positions": np.round(view.positions, _DECIMALS),
        "radii": np.round(view.radii, _DECIMALS),
        "outwards": np.round(view.outwards, _DECIMALS),
        "staying": view.staying,
        "n_left_out": view.n_left_out,
        "edges": [
            {
                "source": edge.source,
                "target": edge.target,
                "probability": edge.probability,
                "outline": np.round(edge.outline.T, _DECIMALS),
            }
            for edge in view.edges
        ],
    }


def _dynamics(found: Dynamics) -> dict[str, Any]:
    """Timescales, and the probability of being in the group of the start again, per group and number of steps."""
    test = found.test
    result: dict[str, Any] = {
        "original": found.original,
        "aggregated": found.aggregated,
        "long_time": found.long_time,
        "test": None,
    }
    if test is not None:
        shown = slice(0, _MAX_CURVES)
        result["test"] = {
            "steps": test.steps,
            **{
                kind: np.diagonal(getattr(test, kind), axis1=1, axis2=2).T[shown].round(6)
                for kind in ("original", "aggregated", "long_time")
            },
        }
    return result


def _flows(cells: Cells, identities: dict[tuple[int, float], tuple[int, ...]]) -> dict[str, Any]:
    """Membership flows along beta per number of groups, and along the number of groups per beta."""

    def between(chosen: list[tuple[int, float]]) -> dict[str, Any] | None:
        present = [cell for cell in chosen if cell in cells.answers and cell[0] <= _MAX_GROUPS]
        if len(present) < 2:
            return None
        found = flow([cells.answers[cell] for cell in present], [identities[cell] for cell in present])
        return {
            "cells": present,
            "bars": [
                [bar.answer, bar.group, bar.identity, round(bar.bottom, _DECIMALS), round(bar.top, _DECIMALS)]
                for bar in found.bars
            ],
            "ribbons": [
                {
                    "answer": ribbon.answer,
                    "source": ribbon.source,
                    "target": ribbon.target,
                    "identity": ribbon.identity,
                    "mass": ribbon.mass,
                    "outline": np.round(ribbon.outline.T, _DECIMALS),
                }
                for ribbon in found.ribbons
            ],
            "half_width": found.half_width,
        }

    return {
        "by_number": [between([(k, beta) for beta in cells.betas]) for k in cells.numbers],
        "by_beta": [between([(k, beta) for k in cells.numbers]) for beta in cells.betas],
    }


def _comparison(found: Comparison) -> dict[str, Any]:
    """Rows of a comparison; the page computes the cost at the beta that is selected."""
    return {
        "beta": found.beta,
        "not_installed": found.not_installed,
        "rows": [
            {
                "name": row.name,
                "k": row.n_states,
                "as_asked": row.as_asked,
                "soft": row.soft,
                "lumpability": None if row.costs is None else row.costs.lumpability,
                "predictability": None if row.costs is None else row.costs.predictability,
                "generated": None if row.costs is None else row.costs.generated,
                "kept": None if row.costs is None else row.costs.kept,
                "seconds": row.seconds if math.isfinite(row.seconds) else None,
                "error": row.error,
            }
            for row in found.rows
        ],
    }
