"""The contestants: klump, and what users would pick instead, each asked in its own words.

Peers get the joint law of two steps for nothing, whereas klump starts from the transition matrix: checking it and
solving for its stationary law are on klump's clock.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np
from scipy import sparse

import klump
from klump.comparison.outside import OUTSIDE
from klump.search.method import Task

# What works on dense matrices needs gigabytes and hours beyond this size; METIS wants whole numbers as weights.
MOST_STATES_DENSE = 4_000
MOST_STATES_RESTARTED = 10_000
LARGEST_WEIGHT = 1_000_000
# Where PyDTMC keeps who is in which group.
PYDTMC_FUNCTION, PYDTMC_VARIABLE = "mc_aggregate_spectral_bottom_up", "phi"


@dataclass(frozen=True)
class Contestant:
    """A way to find groups, the modules that it needs, and the largest chain on which it is tried."""

    find: Callable[[Task], Any]
    """Labels for the question."""
    modules: tuple[str, ...] = ()
    most_states: int | None = None
    reason: str = ""
    """Why no more than so many."""
    own: bool = False
    """Whether it is klump's, and so gets a chain of which nothing is known yet."""
    families: tuple[str, ...] = ()
    """On which families of chains it runs; on all if there are none."""

    @property
    def missing(self) -> str | None:
        """A module that is not installed."""
        return next((name for name in self.modules if find_spec(name.partition(".")[0]) is None), None)

    def takes_part(self, family: str) -> bool:
        return not self.families or family in self.families

    def refusal(self, n_states: int) -> str | None:
        """Why it is not even tried on so many states."""
        if self.missing:
            return f"{self.missing} is not installed"
        if self.most_states is not None and n_states > self.most_states:
            return f"not tried: {self.reason}"
        return None


def _auto(task):
    return klump.aggregate(task.chain, task.n_groups, task.beta, random_state=task.seed).labels


def _path(task):
    """Eleven answers, of which the one at the workload's beta is scored."""
    path = klump.beta_path(task.chain, task.n_groups, random_state=task.seed)
    return next(answer for answer in path if np.isclose(answer.beta, task.beta)).labels


def _from_outside(name, n_init=1):
    tool = OUTSIDE[name]

    def find(task):
        asked = Task(task.chain, task.n_groups, task.beta, n_init=n_init, seed=task.seed, n_jobs=1)
        return tool.labels(import_module(tool.module), asked)

    return find


def _edges(task):
    """The upper half of J + J^T: an undirected graph with the flow between two states as weight."""
    joint = task.chain.joint
    return sparse.triu(joint + joint.T, format="coo")


def _leiden(task):
    """As its manual has it, two iterations; the one of ``klump compare`` goes on until nothing changes."""
    import random

    import igraph

    flow = _edges(task)
    igraph.set_random_number_generator(random.Random(task.seed))
    graph = igraph.Graph(n=task.chain.n_states, edges=np.column_stack((flow.row, flow.col)))
    return graph.community_leiden("modularity", weights=flow.data.tolist()).membership


def _networkit_graph(task):
    import networkit

    flow = _edges(task)
    networkit.setSeed(task.seed, False)
    # It takes indices of any other type for ones of this type, and crashes.
    row, col = flow.row.astype(np.uint64), flow.col.astype(np.uint64)
    return networkit.GraphFromCoo((flow.data, (row, col)), n=task.chain.n_states, weighted=True)


def _networkit_leiden(task):
    import networkit

    return _partition(networkit.community.ParallelLeiden(_networkit_graph(task)))


def _networkit_louvain(task):
    import networkit

    return _partition(networkit.community.PLM(_networkit_graph(task), refine=True))


def _partition(search):
    return np.unique(search.run().getPartition().getVector(), return_inverse=True)[1]


def _metis(task):
    import pymetis

    joint = task.chain.joint
    flow = sparse.csr_array(joint + joint.T)
    flow.setdiag(0.0)
    flow.eliminate_zeros()
    weights = np.maximum(1, np.rint(flow.data / flow.data.max() * LARGEST_WEIGHT)).astype(np.int64)
    options = pymetis.Options(seed=task.seed)
    _, labels = pymetis.part_graph(
        task.n_groups, xadj=flow.indptr, adjncy=flow.indices, eweights=weights, options=options
    )
    return labels


def _coclustering(task):
    from sklearn.cluster import SpectralCoclustering

    joint = task.chain.joint
    # The older class of sparse matrices is the one that it knows.
    joint = sparse.csr_matrix(joint) if sparse.issparse(joint) else np.array(joint)
    return SpectralCoclustering(task.n_groups, random_state=task.seed).fit(joint).row_labels_


def _singular_vectors(task):
    """k-means on the left singular vectors of diag(mu)^(1/2) P diag(mu)^(-1/2), each state scaled to length 1."""
    from sklearn.cluster import KMeans
    from sklearn.decomposition import TruncatedSVD

    root = np.sqrt(task.chain.stationary_distribution)
    joint = task.chain.joint
    scaled = (
        (sparse.diags_array(1 / root) @ joint @ sparse.diags_array(1 / root)).tocsr()
        if sparse.issparse(joint)
        else joint / np.outer(root, root)
    )
    rank = min(task.n_groups, task.chain.n_states - 1)
    vectors = TruncatedSVD(rank, random_state=task.seed).fit_transform(scaled)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return KMeans(task.n_groups, n_init=1, random_state=task.seed).fit(vectors).labels_


def _pydtmc(task):
    """It returns the coarse chain but not who is in which group: that is read from its frame as it returns."""
    import pydtmc

    matrix = task.chain.transition_matrix
    matrix = matrix.toarray() if sparse.issparse(matrix) else np.array(matrix)
    found = []

    def watch(frame, event, _):
        if event == "return" and frame.f_code.co_name == PYDTMC_FUNCTION:
            found.append(frame.f_locals.get(PYDTMC_VARIABLE))

    chain = pydtmc.MarkovChain(matrix)
    before = sys.getprofile()
    sys.setprofile(watch)
    try:
        chain.aggregate(task.n_groups, method="spectral-bottom-up")
    finally:
        sys.setprofile(before)
    return _from_membership(found, matrix.shape[0])


def _from_membership(found, n_states):
    """Labels from the 0-1 matrix that was read last; an error if it is not what it was when this was written."""
    membership = found[-1] if found else None
    if not isinstance(membership, np.ndarray) or membership.ndim != 2 or len(membership) != n_states:
        raise RuntimeError(
            f"the groups of PyDTMC cannot be read: this version has no matrix {PYDTMC_VARIABLE!r} with a row for "
            f"each state in {PYDTMC_FUNCTION}; change benchmarks/peers.py"
        )
    if not np.isin(membership, (0, 1)).all() or not (membership.sum(axis=1) == 1).all():
        raise RuntimeError(
            f"the groups of PyDTMC cannot be read: {PYDTMC_VARIABLE!r} in {PYDTMC_FUNCTION} does not put each state "
            "into one group; change benchmarks/peers.py"
        )
    return membership.argmax(axis=1)


_DENSE = (MOST_STATES_DENSE, "works on dense matrices")

CONTESTANTS: dict[str, Contestant] = {
    "klump": Contestant(_auto, own=True),
    "klump-path": Contestant(_path, own=True, families=("bigrams", "blocks")),
    "igraph-leiden": Contestant(_leiden, ("igraph",)),
    "igraph-leiden-settled": Contestant(_from_outside("igraph-leiden"), ("igraph",)),
    "networkit-leiden": Contestant(_networkit_leiden, ("networkit",)),
    "networkit-louvain": Contestant(_networkit_louvain, ("networkit",)),
    "metis": Contestant(_metis, ("pymetis",)),
    "sib": Contestant(_from_outside("sib"), ("sib",)),
    "sib-10": Contestant(
        _from_outside("sib", 10), ("sib",), MOST_STATES_RESTARTED, "ten times as long as one start"
    ),
    "infomap": Contestant(_from_outside("infomap"), ("infomap",)),
    "svd-kmeans": Contestant(_singular_vectors, ("sklearn",)),
    "coclustering": Contestant(_coclustering, ("sklearn",)),
    "sklearn-spectral": Contestant(
        _from_outside("sklearn-spectral"), ("sklearn",), 10_000, "factorises the matrix, which fills up"
    ),
    "pygpcca": Contestant(_from_outside("pygpcca"), ("pygpcca",), *_DENSE),
    "deeptime-pcca": Contestant(_from_outside("deeptime-pcca"), ("deeptime",), *_DENSE),
    "pydtmc": Contestant(_pydtmc, ("pydtmc",), *_DENSE),
}
