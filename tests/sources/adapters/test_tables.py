"""Square tables, PyDTMC's chains and graphs: each community's one line."""

import numpy as np
import pytest

import klump
from klump.errors import InvalidArgumentError, InvalidChainError

P = np.array([[0.5, 0.4, 0.1, 0.0], [0.4, 0.5, 0.0, 0.1], [0.1, 0.0, 0.4, 0.5], [0.0, 0.1, 0.5, 0.4]])
NAMES = ("a", "b", "c", "d")


def pandas_table():
    return pytest.importorskip("pandas").DataFrame(P, index=NAMES, columns=NAMES)


def polars_table():
    return pytest.importorskip("polars").DataFrame(dict(zip(NAMES, P.T, strict=True)))


def pyarrow_table():
    return pytest.importorskip("pyarrow").table(dict(zip(NAMES, P.T, strict=True)))


def networkx_graph():
    networkx = pytest.importorskip("networkx")
    return networkx.relabel_nodes(networkx.from_numpy_array(P), dict(enumerate(NAMES)))


def igraph_graph():
    igraph = pytest.importorskip("igraph")
    graph = igraph.Graph.Weighted_Adjacency(P.tolist(), mode="directed", attr="weight")
    graph.vs["name"] = NAMES
    return graph


def pydtmc_chain():
    return pytest.importorskip("pydtmc", reason="pip install 'klump[interop]'").MarkovChain(P, list(NAMES))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "make", [pandas_table, polars_table, pyarrow_table, networkx_graph, igraph_graph, pydtmc_chain]
)
def test_the_one_liner(make):
    given = make()
    answer = klump.aggregate(given, 2)
    assert answer.groups == [("a", "b"), ("c", "d")]
    matrix = klump.MarkovChain(given).transition_matrix
    np.testing.assert_allclose(matrix.toarray() if hasattr(matrix, "toarray") else matrix, P)


def test_columns_without_names():
    polars = pytest.importorskip("polars")
    assert not klump.MarkovChain(polars.DataFrame(P)).has_names


@pytest.mark.parametrize("make", [polars_table, pyarrow_table])
def test_a_table_that_is_not_square(make):
    with pytest.raises(
        InvalidArgumentError, match=r"with 3 rows and 4 columns is not a square table.*from_events"
    ):
        klump.MarkovChain(make()[:3])


def test_a_list_of_events_is_not_a_matrix():
    pandas = pytest.importorskip("pandas")
    with pytest.raises(InvalidArgumentError, match=r"named differently.*MarkovChain.from_events"):
        klump.aggregate(pandas.DataFrame({"page": ["a", "b"], "time": [1, 2], "visit": [1, 1]}), 2)


def test_lazy_frames():
    with pytest.raises(
        InvalidChainError, match=r"polars.LazyFrame has no values yet; pass given.collect\(\)"
    ):
        klump.aggregate(polars_table().lazy(), 2)


def test_graphs_take_restarts_as_in_from_graph():
    networkx = pytest.importorskip("networkx")
    graph = networkx.DiGraph([("a", "b")])
    with pytest.raises(InvalidArgumentError, match="node 'b' has no outgoing edge"):
        klump.MarkovChain(graph)
    chain, same = klump.MarkovChain(graph, restart=0.5), klump.MarkovChain.from_graph(graph, restart=0.5)
    np.testing.assert_array_equal(chain.transition_matrix.toarray(), same.transition_matrix.toarray())


def test_a_graph_of_rates():
    networkx = pytest.importorskip("networkx")
    graph = networkx.DiGraph()
    graph.add_weighted_edges_from([("a", "b", 3.0), ("b", "a", 1.0)])
    chain = klump.MarkovChain.from_generator(graph)
    assert chain.states == ("a", "b")
    np.testing.assert_allclose(chain.stationary_distribution, [0.25, 0.75])
