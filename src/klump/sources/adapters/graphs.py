"""Graphs of networkx and igraph: the random walk along their edges."""

from __future__ import annotations

from typing import Any

from klump.sources.adapters.adapted import Adapted, DeadEnds
from klump.sources.graphs import weighted_adjacency

NODES = DeadEnds("node {} has no outgoing edge", "remove it, add a loop")


def adapt(given: Any) -> Adapted | None:
    """Random walk on a graph."""
    # Views of nodes and edges are no graphs.
    return random_walk(given) if hasattr(given, "is_directed") else None


def random_walk(graph: Any, weight: str | None = "weight") -> Adapted:
    """Random walk with probabilities in proportion to the weights of the edges."""
    adjacency, nodes = weighted_adjacency(graph, weight)
    return Adapted(adjacency, nodes, normalize=True, dead_ends=NODES)
