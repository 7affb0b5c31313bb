"""Aggregations as objects of other packages."""

import json
import sys

import numpy as np
import pytest
from scipy import sparse

import klump
from cells import CELLS, StandIn, T, make_anndata
from klump.aggregation import Aggregation
from klump.errors import InvalidArgumentError, MissingPackageError

P = [[0.5, 0.4, 0.1], [0.4, 0.5, 0.1], [0.1, 0.1, 0.8]]
SOFT = [[0.9, 0.1], [0.8, 0.2], [0.3, 0.7]]


@pytest.fixture
def hard():
    return Aggregation.from_labels(klump.MarkovChain(P, states=("a", "b", 3)), [0, 0, 1], beta=0.25)


@pytest.fixture
def soft():
    return Aggregation.from_labels(P, SOFT)


def test_frames_have_a_row_per_state(hard, soft):
    pytest.importorskip("pandas")
    frame = hard.to_frame()
    assert list(frame.columns) == ["state", "group", "mass", "membership", "name"]
    assert frame["state"].tolist() == ["a", "b", 3]
    assert frame["group"].tolist() == [0, 0, 1]
    assert frame["name"].tolist() == ["a b", "a b", "3"]
    np.testing.assert_allclose(frame["mass"], hard.original.stationary_distribution)
    assert frame.groupby("group")["mass"].sum().to_numpy() == pytest.approx(hard.masses)
    assert frame["membership"].tolist() == [1.0, 1.0, 1.0]
    assert soft.to_frame()["membership"].tolist() == [0.9, 0.8, 0.7]


def test_frames_of_chains_without_a_stationary_distribution():
    pytest.importorskip("pandas")
    answer = klump.aggregate([[0.5, 0.5], [0.0, 1.0]], method="exact", initial=[0, 1])
    assert answer.to_frame()["mass"].isna().all()


def test_dicts_are_plain(hard, soft):
    for answer in (hard, soft):
        found = answer.to_dict()
        assert json.loads(json.dumps(found, allow_nan=False)) == found
    assert found["mapping"] == SOFT
    assert hard.to_dict()["states"] == ["a", "b", 3]
    assert hard.to_dict()["costs"]["cost"] == hard.cost


def test_networkx_has_the_aggregated_chain(hard):
    networkx = pytest.importorskip("networkx")
    graph = hard.to_networkx()
    assert graph.nodes[0]["members"] == list(hard.groups[0])
    assert [graph.nodes[group]["mass"] for group in graph] == pytest.approx(hard.masses)
    matrix = networkx.to_numpy_array(graph, nodelist=range(2))
    np.testing.assert_array_equal(matrix, hard.chain.transition_matrix)
    again = klump.MarkovChain(graph)
    np.testing.assert_allclose(again.transition_matrix.toarray(), hard.chain.transition_matrix)
    assert graph.graph["cost"] == hard.cost


@pytest.mark.parametrize("make", [StandIn, make_anndata], ids=["stand-in", "anndata"])
def test_anndata_gets_groups_memberships_and_costs(make):
    adata = make(T_fwd=T)
    answer = klump.aggregate(adata, 2, seed=7)
    assert answer.to_anndata(adata, key="coarse") is None
    assert adata.obs["coarse"].tolist() == [str(label) for label in answer.labels]
    assert adata.obs["coarse"].dtype == "category"
    np.testing.assert_array_equal(adata.obsm["coarse_memberships"], answer.mapping)
    stored = adata.uns["coarse"]
    assert (stored["n_groups"], stored["beta"], stored["seed"]) == (2, 0.5, 7)
    assert stored["costs"] == answer.costs.to_dict(0.5)
    np.testing.assert_array_equal(stored["transition_matrix"], answer.chain.transition_matrix)


@pytest.mark.filterwarnings("ignore")
def test_what_anndata_gets_can_be_written_and_read(tmp_path):
    adata = make_anndata(T_fwd=T)
    import anndata

    Aggregation.from_labels(adata, [0, 0, 1, 1]).to_anndata(adata)
    adata.write_h5ad(tmp_path / "cells.h5ad")
    again = anndata.read_h5ad(tmp_path / "cells.h5ad")
    assert again.obs["klump"].tolist() == ["0", "0", "1", "1"]
    assert again.uns["klump"]["costs"]["lumpability"] == pytest.approx(0.0, abs=1e-12)


def test_cells_are_matched_by_name(rng):
    """The chain lacks a cell after a restriction, and the AnnData is in another order."""
    reducible = np.eye(4)
    reducible[:3, :3] = 0.2 + 0.4 * np.eye(3)
    chain = klump.MarkovChain(StandIn(T_fwd=reducible), restrict="largest")
    answer = Aggregation.from_labels(chain, [0, 0, 1])
    adata = StandIn()
    adata.obs_names = adata.obs_names[::-1]
    adata.obs = adata.obs.iloc[::-1].copy()
    answer.to_anndata(adata)
    assert adata.obs["klump"].cat.codes.tolist() == [-1, 1, 0, 0]
    assert np.isnan(adata.obsm["klump_memberships"][0]).all()


def test_the_state_of_restarts_is_no_cell():
    """Restarts at many cells go through one more state."""
    cells = [f"cell {i}" for i in range(150)]
    ring = sparse.csr_array((np.ones(150), (np.arange(150), np.roll(np.arange(150), -1))), shape=(150, 150))
    chain = klump.MarkovChain(ring, states=cells, restart=0.05)
    assert chain.states[-1] == "(restart)"
    answer = Aggregation.from_labels(chain, np.arange(151) // 60)
    adata = StandIn()
    adata.obs_names = cells[::-1]
    adata.obs = adata.obs.reindex(cells[::-1])
    answer.to_anndata(adata)
    assert adata.obs["klump"].cat.codes.tolist() == (np.arange(150) // 60).tolist()[::-1]
    assert adata.obsm["klump_memberships"].shape == (150, 3)


def test_another_anndata():
    answer = Aggregation.from_labels(klump.MarkovChain(P, states=("x", "y", "z")), [0, 0, 1])
    with pytest.raises(
        InvalidArgumentError, match=f"adata has {len(CELLS)} cells, but the chain has 3 states"
    ):
        answer.to_anndata(StandIn())
    with pytest.raises(InvalidArgumentError, match="adata is a list, which has no obs; pass an AnnData"):
        answer.to_anndata([])


@pytest.mark.parametrize(("package", "method"), [("pandas", "to_frame"), ("networkx", "to_networkx")])
def test_a_package_that_is_not_installed(hard, monkeypatch, package, method):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingPackageError, match=f"{method}\\(\\) needs {package}; pip install {package}"):
        getattr(hard, method)()


def test_integers_of_numpy_are_integers_in_documents():
    names = [np.int64(4), np.int32(7), np.str_("a"), True]
    chain = klump.MarkovChain(np.full((4, 4), 0.25), names)
    document = klump.Aggregation.from_labels(chain, [0, 0, 1, 1]).to_dict()
    assert document["states"] == [4, 7, "a", "True"]
    assert [type(name) for name in document["states"]] == [int, int, str, str]
    json.dumps(document, allow_nan=False)
