"""Weighted adjacency matrices of networkx and igraph graphs, recognised without importing either package."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np
from scipy import sparse

from klump.errors import InvalidArgumentError, Setting


def weighted_adjacency(
    G: Any, weight: str | None = "weight"
) -> tuple[sparse.csr_array, tuple[Hashable, ...]]:
    """Weighted adjacency matrix of a graph, whose normalised rows are its random walk.

    Parameters
    ----------
    G
        A graph of networkx or igraph, directed or not; parallel edges add up.
    weight
        Name of the edge attribute that holds the weights; edges without it weigh 1. ``None`` gives every
        edge the weight 1. A name other than ``"weight"`` that no edge has is an error.

    Returns
    -------
    adjacency : csr_array
        Weight of the edge from node ``i`` to node ``j``, both ways if the graph is undirected; a loop
        counts once.
    nodes : tuple
        The nodes of networkx; of igraph the vertex attribute ``"name"`` if there is one, else ``0 .. n-1``.

    Examples
    --------
    >>> import networkx
    >>> adjacency, nodes = weighted_adjacency(networkx.path_graph(["a", "b", "c"]))
    >>> nodes
    ('a', 'b', 'c')
    >>> adjacency.toarray()
    array([[0., 1., 0.],
           [1., 0., 1.],
           [0., 1., 0.]])
    """
    library = _library(G)
    nodes, source, target, values = (
        _networkx_edges(G, weight) if library == "networkx" else _igraph_edges(G, weight)
    )
    if not nodes:
        raise InvalidArgumentError(
            "has no nodes: a chain needs at least one state", argument="G", remedy="add a node"
        )
    if weight not in (None, "weight") and values and all(value is None for value in values):
        raise InvalidArgumentError(
            "is not an attribute of any edge of the graph",
            argument="weight",
            value=weight,
            remedy=("name one, or pass ", Setting("weight", None), " to give every edge the weight 1"),
        )
    weights = _to_weights(values, weight)
    if not G.is_directed():
        # A loop is its own reverse edge.
        back = source != target
        source, target = np.concatenate([source, target[back]]), np.concatenate([target, source[back]])
        weights = np.concatenate([weights, weights[back]])
    n = len(nodes)
    adjacency = sparse.csr_array(sparse.coo_array((weights, (source, target)), shape=(n, n)))
    adjacency.eliminate_zeros()
    return adjacency, nodes


def _library(G: Any) -> str:
    """Library of the graph, by the modules in the MRO of its class, so that subclasses are recognised."""
    for kind in type(G).__mro__:
        library = kind.__module__.partition(".")[0]
        if library in ("networkx", "igraph"):
            return library
    raise InvalidArgumentError(
        f"must be a graph of networkx or igraph, not {type(G).__module__}.{type(G).__qualname__}",
        argument="G",
        remedy="pass an adjacency matrix to MarkovChain.from_counts",
    )


Edges = tuple[tuple[Hashable, ...], Any, Any, list[Any]]


def _networkx_edges(G: Any, weight: str | None) -> Edges:
    nodes = tuple(G)
    number = {node: i for i, node in enumerate(nodes)}
    edges = list(G.edges(data=weight)) if weight is not None else [(u, v, None) for u, v in G.edges()]
    source = np.fromiter((number[u] for u, _, _ in edges), dtype=np.intp, count=len(edges))
    target = np.fromiter((number[v] for _, v, _ in edges), dtype=np.intp, count=len(edges))
    return nodes, source, target, [value for _, _, value in edges]


def _igraph_edges(G: Any, weight: str | None) -> Edges:
    named = "name" in G.vs.attributes()
    nodes = tuple(G.vs["name"]) if named else tuple(range(G.vcount()))
    ends = np.array(G.get_edgelist(), dtype=np.intp).reshape(-1, 2)
    known = weight is not None and weight in G.es.attributes()
    values = list(G.es[weight]) if known else [None] * len(ends)
    return nodes, ends[:, 0], ends[:, 1], values


def _to_weights(values: list[Any], weight: str | None) -> Any:
    """Edge weights as float64, 1 where the attribute is missing."""
    try:
        return np.array([1.0 if value is None else float(value) for value in values], dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidArgumentError(
            f"must hold numbers ({error})",
            argument="weight",
            value=weight,
            remedy="name an edge attribute that does",
        ) from error
