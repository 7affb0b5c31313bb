"""Other people's tools, each asked in its own words for groups of the same chain.

A tool is a function and a line in ``OUTSIDE``. The function gets the tool's module and the question, and returns a
number for each state; what it prints, warns of or raises is dealt with by whoever calls :meth:`Tool.labels`.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module, metadata
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from klump.errors import InvalidArgumentError
from klump.search.method import Task

# Dense n x n matrices and O(n^3) operations: minutes at this size, hours and gigabytes beyond.
MOST_STATES_DENSE = 2_000
# They turn k vectors by some k^2 numbers, found by trial and error: two minutes at this number, hours beyond.
MOST_GROUPS_TURNED = 16
# Sparse elimination of a graph without order fills up: gigabytes beyond this size.
MOST_STATES_ELIMINATED = 10_000


@dataclass(frozen=True)
class Tool:
    """A tool: where it comes from, how it is asked, and up to which size that makes sense."""

    package: str
    """Its name on PyPI."""
    module: str
    """What is imported."""
    find: Callable[[Any, Task], Any]
    """Returns labels, given the module and the question."""
    most_states: int | None = None
    """Larger chains are refused."""
    reason: str = ""
    """Why they are."""
    most_groups: int | None = None
    """More groups are refused."""

    @property
    def installed(self) -> bool:
        """Whether the tool is there."""
        return find_spec(self.module.partition(".")[0]) is not None

    @property
    def version(self) -> str | None:
        """Version of the package."""
        try:
            return metadata.version(self.package)
        except metadata.PackageNotFoundError:
            return None

    def load(self, task: Task) -> Any:
        """Import the tool, unless the question is too large for it."""
        n, k = task.chain.n_states, task.n_groups
        if self.most_groups is not None and k > self.most_groups:
            raise InvalidArgumentError(
                f"refused: it takes hours for many groups, so klump does not ask it for more than "
                f"{self.most_groups}, and {k:,} are wanted"
            )
        if self.most_states is not None and n > self.most_states:
            raise InvalidArgumentError(
                f"refused: it {self.reason}, so klump does not run it on more than {self.most_states:,} states, "
                f"and there are {n:,}"
            )
        return import_module(self.module)

    def labels(self, module: Any, task: Task) -> NDArray[np.int64]:
        """Ask the tool; its groups are checked and numbered from 0."""
        return _checked(self.find(module, task), task.chain.n_states)


def _checked(given: Any, n_states: int) -> NDArray[np.int64]:
    labels = np.asarray(given)
    if labels.shape != (n_states,):
        shape = f"an array of shape {labels.shape}" if labels.ndim != 1 else f"{len(labels)} labels"
        raise InvalidArgumentError(f"it returned {shape} for {n_states} states")
    if labels.dtype.kind not in "iuf":
        raise InvalidArgumentError(f"it returned labels of type {labels.dtype}")
    wrong = ~np.isfinite(labels) | (labels != np.floor(labels)) | (labels < 0)
    if wrong.any():
        raise InvalidArgumentError(f"it returned {labels[wrong][0]} as the label of a state")
    return np.unique(labels, return_inverse=True)[1]


def _symmetric_joint(task: Task) -> Any:
    """(J + J^T) / 2, the law of a step of the additive reversibilisation: same masses, detailed balance."""
    joint = task.chain.joint
    return 0.5 * (joint + joint.T)


def _pcca(deeptime: Any, task: Task) -> Any:
    """PCCA+ needs a reversible chain, so it gets the additive reversibilisation; states go where they mostly belong."""
    flow = _symmetric_joint(task)
    flow = flow.toarray() if sparse.issparse(flow) else np.asarray(flow)
    law = flow.sum(axis=1)
    return deeptime.pcca(flow / law[:, None], task.n_groups, law / law.sum()).assignments


def _gpcca(pygpcca: Any, task: Task) -> Any:
    matrix: Any = task.chain.transition_matrix
    matrix = matrix.toarray() if sparse.issparse(matrix) else np.array(matrix)
    # The other Schur decomposition needs PETSc and SLEPc.
    model = pygpcca.GPCCA(matrix, eta=np.array(task.chain.stationary_distribution), method="brandts")
    model.optimize(task.n_groups)
    return model.macrostate_assignment


def _sib(sib: Any, task: Task) -> Any:
    """C_1 is what the group of X2 no longer tells of X1: samples are the columns of J, features its rows."""
    columns = task.chain.joint.T
    # The older class of sparse matrices is the one that it knows.
    samples = sparse.csr_matrix(columns) if sparse.issparse(columns) else np.ascontiguousarray(columns)
    model = sib.SIB(
        task.n_groups,
        n_init=task.n_init,
        n_jobs=task.n_jobs,
        random_state=task.seed % 2**32,
        uniform_prior=False,
    )
    return model.fit(samples).labels_


def _leiden(igraph: Any, task: Task) -> Any:
    """Best modularity of several runs. As both margins of J are equal, the directed graph has the same modularity."""
    flow = sparse.triu(task.chain.joint + task.chain.joint.T, format="coo")
    graph = igraph.Graph(n=task.chain.n_states, edges=np.column_stack((flow.row, flow.col)))
    weights = flow.data.tolist()
    igraph.set_random_number_generator(random.Random(task.seed))
    try:
        runs = [
            graph.community_leiden("modularity", weights=weights, n_iterations=-1).membership
            for _ in range(task.n_init)
        ]
    finally:
        igraph.set_random_number_generator(random)  # its default
    return max(runs, key=lambda labels: float(graph.modularity(labels, weights=weights)))


def _infomap(infomap: Any, task: Task) -> Any:
    """J is the flow itself: no teleportation is needed to find it. The number of modules is a preference, no limit."""
    flow = sparse.coo_array(task.chain.joint)
    search = infomap.Infomap(
        silent=True,
        two_level=True,
        preferred_number_of_modules=task.n_groups,
        flow_model="rawdir",
        num_trials=task.n_init,
        seed=task.seed % (2**31 - 1) + 1,  # which must be positive
    )
    search.add_links(list(zip(flow.row.tolist(), flow.col.tolist(), flow.data.tolist(), strict=True)))
    search.run()
    modules = search.get_modules()
    return [modules[state] for state in range(task.chain.n_states)]


def _spectral(cluster: Any, task: Task) -> Any:
    model = cluster.SpectralClustering(
        task.n_groups, affinity="precomputed", n_init=task.n_init, random_state=task.seed % 2**32
    )
    return model.fit(_symmetric_joint(task)).labels_


_DENSE = "works on dense matrices"

OUTSIDE: dict[str, Tool] = {
    "deeptime-pcca": Tool(
        "deeptime", "deeptime.markov", _pcca, MOST_STATES_DENSE, _DENSE, MOST_GROUPS_TURNED
    ),
    "pygpcca": Tool("pygpcca", "pygpcca", _gpcca, MOST_STATES_DENSE, _DENSE, MOST_GROUPS_TURNED),
    "sib": Tool("sib-clustering", "sib", _sib),
    "igraph-leiden": Tool("igraph", "igraph", _leiden),
    "infomap": Tool("infomap", "infomap", _infomap),
    "sklearn-spectral": Tool(
        "scikit-learn", "sklearn.cluster", _spectral, MOST_STATES_ELIMINATED, "factorises the matrix"
    ),
}
