"""AnnData and CellRank: with the packages where they are installed, and with stand-ins of the same attributes."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse

import klump
from cells import CELLS, StandIn, T, make_anndata
from klump.errors import InvalidArgumentError, InvalidChainError
from klump.sources.adapters import anndata_objects


@pytest.fixture(params=[StandIn, make_anndata], ids=["stand-in", "anndata"])
def make(request):
    return request.param


def test_the_one_liner(make):
    answer = klump.aggregate(make(T_fwd=T), 2)
    assert sorted(map(sorted, answer.groups)) == [["AAC", "AAG"], ["AAT", "ACC"]]


def test_the_neighbourhood_graph_is_a_random_walk_if_it_is_asked_for(make):
    adata = make(connectivities=4 * T, distances=T)
    chain = klump.MarkovChain.from_anndata(adata, "connectivities")
    np.testing.assert_allclose(chain.transition_matrix.toarray(), T)
    with pytest.raises(InvalidChainError) as found:
        klump.aggregate(adata, 2)
    message = str(found.value)
    assert "has no transition matrix obsp['T_fwd']; obsp has 'connectivities', 'distances'" in message
    assert "MarkovChain.from_anndata(adata, key='connectivities')" in message


def test_a_key_that_is_not_there(make):
    with pytest.raises(InvalidArgumentError, match=r"key='T' is not in obsp, which has 'T_bwd'; name one"):
        klump.MarkovChain.from_anndata(make(T_bwd=T), key="T")
    with pytest.raises(InvalidChainError, match="obsp has no matrix"):
        klump.aggregate(make(), 2)


def test_transition_matrices_of_cellrank_are_not_normalised(make):
    with pytest.raises(InvalidChainError, match="sums to 2 instead of 1"):
        klump.MarkovChain.from_anndata(make(T_bwd=2 * T), "T_bwd")


def test_a_cell_without_neighbours(make):
    alone = T.copy()
    alone[2] = 0
    with pytest.raises(InvalidArgumentError, match="cell 'AAT' has no neighbour"):
        klump.MarkovChain.from_anndata(make(connectivities=alone), "connectivities")


def test_not_an_anndata():
    with pytest.raises(InvalidChainError, match="list has no obsp; pass an AnnData"):
        klump.MarkovChain.from_anndata([1])
    assert anndata_objects.adapt(SimpleNamespace()) is None


def test_kernels_name_the_cells():
    kernel = SimpleNamespace(transition_matrix=sparse.csr_matrix(T), adata=StandIn())
    assert klump.MarkovChain(kernel).states == CELLS
    kernel = SimpleNamespace(transition_matrix=None, adata=StandIn())
    with pytest.raises(
        InvalidChainError, match=r"has no transition matrix yet; call its compute_transition_matrix"
    ):
        klump.MarkovChain(kernel)


@pytest.mark.filterwarnings("ignore")
def test_scanpy_and_cellrank(rng):
    scanpy = pytest.importorskip("scanpy", reason="pip install 'klump[interop]'")
    cellrank = pytest.importorskip("cellrank", reason="pip install 'klump[interop]'")
    points = np.repeat([0.0, 4.0], 30)[:, None] + rng.normal(size=(60, 2))
    adata = scanpy.AnnData(points.astype(np.float32))
    scanpy.pp.neighbors(adata, n_neighbors=40, use_rep="X")
    kernel = cellrank.kernels.ConnectivityKernel(adata)
    with pytest.raises(InvalidChainError, match="has no transition matrix yet"):
        klump.aggregate(kernel, 2)
    kernel.compute_transition_matrix()
    answer = klump.aggregate(kernel, 2)
    assert answer.original.states == tuple(adata.obs_names)
    kernel.write_to_adata()
    again = klump.aggregate(adata, 2)
    np.testing.assert_array_equal(again.labels, answer.labels)
    again.to_anndata(adata)
    assert adata.obs["klump"].value_counts().to_list() == [30, 30]
