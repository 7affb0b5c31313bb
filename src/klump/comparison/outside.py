"""Outside tools: adapters that run clustering tools of other packages on a chain.

An adapter is a function and an entry in ``OUTSIDE``. The function takes the tool's module and the task, and returns a
label per state. The caller of :meth:`Tool.labels` handles output, warnings and exceptions of the tool.
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

# Largest number of states for O(n^3) operations on dense n x n matrices: measured minutes here, hours beyond.
MAX_STATES_DENSE = 2_000
# Largest number of groups for the Nelder-Mead search over about k^2 entries in PCCA+: 2 minutes here, hours beyond.
MAX_GROUPS_ROTATED = 16
# Largest number of states for sparse LU of an irregular graph: its fill-in takes gigabytes beyond.
MAX_STATES_FACTORISED = 10_000


@dataclass(frozen=True)
class Tool:
    """An outside tool: its package, the adapter that calls it, and its size limits."""

    package: str
    """Name of the package on PyPI."""
    module: str
    """Module to import."""
    find: Callable[[Any, Task], Any]
    """Adapter: returns labels, given the module and the task."""
    most_states: int | None = None
    """Largest number of states; None for no limit."""
    reason: str = ""
    """Reason for that limit: the verb phrase of the message."""
    most_groups: int | None = None
    """Largest number of groups; None for no limit."""

    @property
    def installed(self) -> bool:
        """Whether the tool's module can be found."""
        return find_spec(self.module.partition(".")[0]) is not None

    @property
    def version(self) -> str | None:
        """Version of the package; None if it is not installed."""
        try:
            return metadata.version(self.package)
        except metadata.PackageNotFoundError:
            return None

    def load(self, task: Task) -> Any:
        """Import the tool; raise InvalidArgumentError if the task exceeds its limits."""
        n, k = task.chain.n_states, task.n_groups
        if self.most_groups is not None and k > self.most_groups:
            raise InvalidArgumentError(
                f"is refused: the tool takes hours for more than {self.most_groups} groups",
                argument="n_states",
                value=k,
                remedy="ask for fewer groups, or leave the tool out",
            )
        if self.most_states is not None and n > self.most_states:
            raise InvalidArgumentError(
                f"refused: the tool {self.reason} and gets at most {self.most_states:,} states, "
                f"and the chain has {n:,}",
                remedy="leave the tool out",
            )
        return import_module(self.module)

    def labels(self, module: Any, task: Task) -> NDArray[np.int64]:
        """Run the tool; return its labels, checked and renumbered from 0."""
        return _check_labels(self.find(module, task), task.chain.n_states)


def _check_labels(given: Any, n_states: int) -> NDArray[np.int64]:
    labels = np.asarray(given)
    if labels.shape != (n_states,):
        shape = f"an array of shape {labels.shape}" if labels.ndim != 1 else f"{len(labels)} labels"
        raise InvalidArgumentError(f"the tool returned {shape} for {n_states} states")
    if labels.dtype.kind not in "iuf":
        raise InvalidArgumentError(f"the tool returned labels of type {labels.dtype}")
    wrong = ~np.isfinite(labels) | (labels != np.floor(labels)) | (labels < 0)
    if wrong.any():
        raise InvalidArgumentError(f"the tool returned {labels[wrong][0]} as the label of a state")
    return np.unique(labels, return_inverse=True)[1]


def _symmetric_joint(task: Task) -> Any:
    """(J + J^T) / 2: joint distribution of the additive reversibilisation, with the same stationary distribution."""
    joint = task.chain.joint
    return 0.5 * (joint + joint.T)


def _pcca(deeptime: Any, task: Task) -> Any:
    """PCCA+ on the additive reversibilisation, as it needs a reversible chain; states in their most probable group."""
    flow = _symmetric_joint(task)
    flow = flow.toarray() if sparse.issparse(flow) else np.asarray(flow)
    mass = flow.sum(axis=1)
    return deeptime.pcca(flow / mass[:, None], task.n_groups, mass / mass.sum()).assignments


def _gpcca(pygpcca: Any, task: Task) -> Any:
    matrix: Any = task.chain.transition_matrix
    matrix = matrix.toarray() if sparse.issparse(matrix) else np.array(matrix)
    # method="brandts": the default Schur decomposition needs PETSc and SLEPc.
    model = pygpcca.GPCCA(matrix, eta=np.array(task.chain.stationary_distribution), method="brandts")
    model.optimize(task.n_groups)
    return model.macrostate_assignment


def _sib(sib: Any, task: Task) -> Any:
    """Sequential information bottleneck for C_1 = I(X1;X2|Y2): samples are the columns of J, features its rows."""
    columns = task.chain.joint.T
    # csr_matrix, because sib does not accept csr_array.
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
    """Best of n_init runs by modularity, on J + J^T: J has equal margins, so its directed modularity is the same."""
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
        igraph.set_random_number_generator(random)  # igraph's default
    return max(runs, key=lambda labels: float(graph.modularity(labels, weights=weights)))


def _infomap(infomap: Any, task: Task) -> Any:
    """Infomap with J as flow, without teleportation; the number of modules is a preference, not a constraint."""
    flow = sparse.coo_array(task.chain.joint)
    search = infomap.Infomap(
        silent=True,
        two_level=True,
        preferred_number_of_modules=task.n_groups,
        flow_model="rawdir",
        num_trials=task.n_init,
        seed=task.seed % (2**31 - 1) + 1,  # Infomap needs a positive seed
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
    "deeptime-pcca": Tool("deeptime", "deeptime.markov", _pcca, MAX_STATES_DENSE, _DENSE, MAX_GROUPS_ROTATED),
    "pygpcca": Tool("pygpcca", "pygpcca", _gpcca, MAX_STATES_DENSE, _DENSE, MAX_GROUPS_ROTATED),
    "sib": Tool("sib-clustering", "sib", _sib),
    "igraph-leiden": Tool("igraph", "igraph", _leiden),
    "infomap": Tool("infomap", "infomap", _infomap),
    "sklearn-spectral": Tool(
        "scikit-learn", "sklearn.cluster", _spectral, MAX_STATES_FACTORISED, "factorises a sparse matrix"
    ),
}
