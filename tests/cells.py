"""Four cells with a transition matrix, as an AnnData and as a stand-in for one."""

import warnings

import numpy as np
import pytest
from scipy import sparse

pandas = pytest.importorskip("pandas")

CELLS = ("AAC", "AAG", "AAT", "ACC")
T = np.kron(np.array([[0.9, 0.1], [0.2, 0.8]]), np.full((2, 2), 0.5))


class StandIn:
    """The attributes of an AnnData that klump uses."""

    def __init__(self, **matrices):
        self.obs_names = pandas.Index(CELLS)
        self.obs = pandas.DataFrame(index=self.obs_names)
        self.obsp = {name: sparse.csr_matrix(matrix) for name, matrix in matrices.items()}
        self.obsm, self.uns = {}, {}


StandIn.__module__ = "anndata.stand_in"


def make_anndata(**matrices):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        anndata = pytest.importorskip("anndata")
        found = anndata.AnnData(np.zeros((4, 1), dtype=np.float32))
    found.obs_names = CELLS
    for name, matrix in matrices.items():
        found.obsp[name] = sparse.csr_matrix(matrix)
    return found
