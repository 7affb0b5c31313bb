"""GraphML: files of other tools, everything that klump writes, and what XML must not do."""

import igraph
import networkx as nx
import numpy as np
import pytest
from scipy import sparse

import klump
from klump.errors import FileFormatError
from klump.files import losses

TOP = '<graphml xmlns="http://graphml.graphdrawing.org/xmlns">'


def chain_from(tmp_path, text, **options):
    (tmp_path / "g.graphml").write_text(text)
    return klump.read_chain(tmp_path / "g.graphml", **options)


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("names", [["a", "b", "<&>"], [0, 1, 2], [5, -1, 3]])
def test_networkx(tmp_path, directed, names):
    graph = nx.DiGraph() if directed else nx.Graph()
    graph.add_nodes_from(names)
    graph.add_weighted_edges_from(
        [
            (names[0], names[1], 1.5),
            (names[1], names[2], 0.5),
            (names[2], names[0], 2.0),
            (names[1],) * 2 + (1.0,),
        ]
    )
    nx.write_graphml(graph, tmp_path / "g.graphml")
    chain = klump.read_chain(tmp_path / "g.graphml", normalize=True)
    expected = sparse.csr_array(klump.MarkovChain.from_graph(graph).transition_matrix).toarray()
    assert chain.states == tuple(names)
    np.testing.assert_allclose(chain.transition_matrix.toarray(), expected)


def test_igraph(tmp_path):
    graph = igraph.Graph.Ring(4, directed=True)
    graph.vs["name"] = ["sun", "rain", "fog", "snow"]
    graph.vs["wet"] = [False, True, True, True]
    graph.es["weight"] = [1, 2, 3, 4]
    graph.write_graphml(str(tmp_path / "g.graphml"))
    chain = klump.read_chain(tmp_path / "g.graphml", normalize=True)
    assert chain.states == ("sun", "rain", "fog", "snow")
    assert chain.labels["wet"].tolist() == [1, 2, 3]
    assert np.array_equal(chain.transition_matrix.toarray(), np.roll(np.eye(4), 1, axis=1))


def test_everything_is_kept_and_networkx_reads_it(tmp_path):
    matrix = np.array([[0.5, 0.5, 0], [1 / 3, 0, 2 / 3], [0, 1e-300, 1]])
    rewards = {"cost": [1.5, 0, -2], "jumps": np.array([[0, 3.0, 0], [0, 0, 1 / 3], [0, 0, 0]])}
    chain = klump.MarkovChain(
        matrix, ["a", "b", "c"], labels={"goal": ["c"], "none": []}, initial=[0.25, 0.75, 0], rewards=rewards
    )
    assert losses(chain, "g.graphml") == []
    klump.write_chain(chain, tmp_path / "g.graphml")
    back = klump.read_chain(tmp_path / "g.graphml")
    assert np.array_equal(back.transition_matrix.toarray(), matrix)
    assert (back.states, back.initial.tolist()) == (("a", "b", "c"), [0.25, 0.75, 0])
    assert {label: states.tolist() for label, states in back.labels.items()} == {"goal": [2], "none": []}
    assert back.rewards["cost"].tolist() == rewards["cost"]
    assert np.array_equal(back.rewards["jumps"].toarray(), rewards["jumps"])
    graph = nx.read_graphml(tmp_path / "g.graphml")
    assert np.array_equal(nx.to_numpy_array(graph), matrix)
    assert [graph.nodes[node]["name"] for node in graph] == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("<a/>", "line 1: the document is 'a', not graphml"),
        (f"{TOP}</graphml>", "there is no element graph"),
        (f"{TOP}<graph/></graphml>", "the graph has no edge"),
        (f"{TOP}<graph>", "line 1: not well-formed XML: no element found"),
        (f'{TOP}<graph><node id="a"/><node id="a"/></graph></graphml>', "the node 'a' is given twice"),
        (f"{TOP}<graph><node/></graph></graphml>", "the element node has no id"),
        (
            f'{TOP}<graph><node id="a"/><edge source="a" target="b"/></graph></graphml>',
            "there is no node 'b'",
        ),
        (f"{TOP}<graph><hyperedge/></graph></graphml>", "the element hyperedge is not read"),
        (f'{TOP}<graph><node id="a"><graph/></node></graph></graphml>', "there is a second graph"),
        (
            f'{TOP}<graph><node id="a"/><edge source="a" target="a" directed="false"/></graph></graphml>',
            "mixed",
        ),
        (TOP + "<x>" * 100, "elements are nested more than 64 deep"),
        ('<!DOCTYPE graphml [<!ENTITY a "b">]><graphml/>', "it declares a document type or an entity"),
        ('<!DOCTYPE graphml SYSTEM "http://localhost/x.dtd"><graphml/>', "it declares a document type"),
        (f"{TOP}<graph>&a;</graph></graphml>", "undefined entity"),
        (
            f'{TOP}<key id="w" for="edge" attr.name="weight"/><graph><node id="a"/>'
            '<edge source="a" target="a"><data key="w">much</data></edge></graph></graphml>',
            "the attribute 'weight' of edge 0 is 'much', not a number",
        ),
    ],
)
def test_errors(tmp_path, text, message):
    with pytest.raises(FileFormatError, match=f"g.graphml: .*{message}") as error:
        chain_from(tmp_path, text)
    assert str(error.value).isprintable()


def test_parallel_edges(tmp_path):
    text = TOP + '<graph><node id="a"/>' + 2 * '<edge source="a" target="a"/>' + "</graph></graphml>"
    with pytest.raises(
        FileFormatError, match="there are two edges from 'a' to 'a'; remove one, or pass normalize"
    ):
        chain_from(tmp_path, text)
    assert chain_from(tmp_path, text, normalize=True).n_states == 1


def test_billion_laughs(tmp_path):
    names = ["ha", *(f"&e{i};" * 10 for i in range(11))]
    entities = "".join(f'<!ENTITY e{i} "{text}">' for i, text in enumerate(names))
    with pytest.raises(FileFormatError, match="it declares a document type or an entity, which is not read"):
        chain_from(tmp_path, f"<!DOCTYPE graphml [{entities}]>{TOP}<graph>&e11;</graph></graphml>")
