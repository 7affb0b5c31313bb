"""Graphs of networkx and igraph, against the libraries' own matrices."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from klump import MarkovChain
from klump.errors import InvalidArgumentError, InvalidChainError
from klump.sources.graphs import weighted_adjacency


def random_edges(seed=0, n=12, m=40):
    rng = np.random.default_rng(seed)
    return [
        (int(u), int(v), float(w))
        for u, v, w in zip(*rng.integers(n, size=(2, m)), rng.random(m), strict=True)
    ]


@pytest.mark.parametrize("kind", ["Graph", "DiGraph", "MultiGraph", "MultiDiGraph"])
@pytest.mark.parametrize("weight", ["weight", None])
def test_networkx_adjacency(kind, weight):
    networkx = pytest.importorskip("networkx")
    graph = getattr(networkx, kind)()
    graph.add_weighted_edges_from(random_edges())
    adjacency, nodes = weighted_adjacency(graph, weight)
    assert adjacency.format == "csr"
    assert nodes == tuple(graph.nodes)
    np.testing.assert_allclose(adjacency.toarray(), networkx.to_numpy_array(graph, weight=weight))


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("weight", ["weight", None])
def test_igraph_adjacency(directed, weight):
    igraph = pytest.importorskip("igraph")
    edges = random_edges()
    graph = igraph.Graph(n=12, edges=[edge[:2] for edge in edges], directed=directed)
    graph.es["weight"] = [edge[2] for edge in edges]
    adjacency, nodes = weighted_adjacency(graph, weight)
    assert nodes == tuple(range(12))
    np.testing.assert_allclose(adjacency.toarray(), graph.get_adjacency_sparse(weight).toarray())


def test_both_libraries_agree():
    networkx = pytest.importorskip("networkx")
    igraph = pytest.importorskip("igraph")
    graph = networkx.karate_club_graph()
    ours, _ = weighted_adjacency(graph)
    theirs, _ = weighted_adjacency(igraph.Graph.from_networkx(graph))
    np.testing.assert_array_equal(ours.toarray(), theirs.toarray())


def test_edges_without_the_attribute_weigh_one():
    networkx = pytest.importorskip("networkx")
    graph = networkx.Graph([("a", "b"), ("b", "c", {"weight": 3}), ("a", "c", {"weight": None})])
    adjacency, nodes = weighted_adjacency(graph)
    assert nodes == ("a", "b", "c")
    np.testing.assert_array_equal(adjacency.toarray(), [[0, 1, 1], [1, 0, 3], [1, 3, 0]])


def test_igraph_names_and_missing_weights():
    igraph = pytest.importorskip("igraph")
    graph = igraph.Graph(edges=[(0, 1), (1, 2)])
    graph.vs["name"] = ["x", "y", "z"]
    adjacency, nodes = weighted_adjacency(graph)
    assert nodes == ("x", "y", "z")
    np.testing.assert_array_equal(adjacency.toarray(), [[0, 1, 0], [1, 0, 1], [0, 1, 0]])
    graph.es[0]["weight"] = 5.0
    assert weighted_adjacency(graph)[0][0, 1] == 5.0
    assert weighted_adjacency(graph)[0][1, 2] == 1.0


def test_views_and_subclasses_count_as_graphs():
    networkx = pytest.importorskip("networkx")

    class Mine(networkx.DiGraph):
        pass

    graph = Mine([(0, 1), (1, 2), (2, 0)])
    assert weighted_adjacency(graph)[0].nnz == 3
    assert weighted_adjacency(graph.subgraph([0, 1]))[0].nnz == 1


def test_chain_is_the_random_walk():
    networkx = pytest.importorskip("networkx")
    graph = networkx.karate_club_graph()
    chain = MarkovChain.from_graph(graph)
    strength = np.array([degree for _, degree in graph.degree(weight="weight")], dtype=float)
    law = strength / strength.sum()
    np.testing.assert_allclose(law @ chain.transition_matrix, law, atol=1e-15)
    assert chain.is_sparse
    assert chain.states == tuple(graph.nodes)


def test_node_without_outgoing_edge_is_named_or_restarts():
    networkx = pytest.importorskip("networkx")
    graph = networkx.DiGraph([("a", "b"), ("b", "a"), ("a", "sink")])
    with pytest.raises(
        InvalidArgumentError,
        match=r"node 'sink' has no outgoing edge, .*add a loop, or pass restrict='connected' .* or restart=p",
    ):
        MarkovChain.from_graph(graph)
    chain = MarkovChain.from_graph(graph, restart=0.5, initial="b")
    np.testing.assert_allclose(chain.transition_matrix.toarray(), [[0, 0.75, 0.25], [0.5, 0.5, 0], [0, 1, 0]])
    part = MarkovChain.from_graph(graph, restrict="connected")
    assert part.states == ("a", "b")
    assert part.applied == (
        "restricted to the largest connected set, 2 of 3 states and 66.7 % of the counts; dropped 'sink'",
    )
    lonely = networkx.Graph([(0, 1)])
    lonely.add_node("alone")
    with pytest.raises(InvalidArgumentError, match="'alone'"):
        MarkovChain.from_graph(lonely)


def test_edges_of_weight_zero_are_no_edges():
    networkx = pytest.importorskip("networkx")
    graph = networkx.DiGraph([(0, 1, {"weight": 0.0}), (1, 0, {"weight": 1.0})])
    with pytest.raises(InvalidArgumentError, match="node 0"):
        MarkovChain.from_graph(graph)


def test_unusable_graphs_are_refused_by_name():
    networkx = pytest.importorskip("networkx")
    with pytest.raises(InvalidArgumentError, match=r"not numpy\.ndarray; .*from_counts"):
        weighted_adjacency(np.eye(2))
    with pytest.raises(InvalidArgumentError, match="no nodes"):
        weighted_adjacency(networkx.Graph())
    with pytest.raises(InvalidArgumentError, match="'rate' is not an attribute"):
        weighted_adjacency(networkx.path_graph(3), "rate")
    with pytest.raises(InvalidArgumentError, match="'weight' must hold numbers"):
        weighted_adjacency(networkx.Graph([(0, 1, {"weight": "heavy"})]))
    with pytest.raises(InvalidChainError, match="negative"):
        MarkovChain.from_graph(networkx.Graph([(0, 1, {"weight": -1})]))


def test_igraph_names_given_twice_are_refused():
    igraph = pytest.importorskip("igraph")
    graph = igraph.Graph(edges=[(0, 1), (1, 2)])
    graph.vs["name"] = ["x", "y", "x"]
    with pytest.raises(InvalidChainError, match="'x' is given twice"):
        MarkovChain.from_graph(graph)


def test_neither_library_is_imported_to_recognise_a_graph():
    script = (
        "import sys, klump.sources.graphs as g\n"
        "try: g.weighted_adjacency(3)\n"
        "except ValueError: pass\n"
        "assert not {'networkx', 'igraph'} & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True)
