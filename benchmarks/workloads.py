"""The chains on which klump and its peers are measured: made once, kept on disk, loaded by every measurement."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy import sparse

from klump.sources.datasets import letter_bigrams
from klump.sources.random_chains import block_chain, sparse_block_chain

SPARSE_KINDS = {"metastable": "metastable", "cyclic": "cyclic", "noisy": "noisy", "many-groups": "metastable"}
SPARSE_SIZES = (10_000, 100_000, 1_000_000)
BLOCKS = {100: (25, 25, 50), 1000: (100,) * 10, 4000: (400,) * 10}

# Share of the links of a preferential-attachment graph that lead from an older state to a newer one.
REVERSED = 0.3


@dataclass(frozen=True)
class Workload:
    """A chain of some family and size, and the question that is asked about it."""

    family: str
    n_states: int
    n_groups: int
    beta: float = 0.5

    @property
    def name(self) -> str:
        return f"{self.family}-{self.n_states}"

    @property
    def is_sparse(self) -> bool:
        return self.family in SPARSE_KINDS

    def __str__(self) -> str:
        return f"{self.family}, {self.n_states:,} states, k = {self.n_groups}, beta = {self.beta:g}"

    def make(self):
        """The transition matrix, and the planted groups if there are any."""
        if self.is_sparse:
            chain, planted = sparse_block_chain(
                self.n_states, self.n_groups, kind=SPARSE_KINDS[self.family], random_state=0
            )
        elif self.family == "blocks":
            chain, planted = block_chain(BLOCKS[self.n_states], alpha=0.5, eps=0.4, random_state=0)
        else:
            chain, planted = letter_bigrams(), None
        return chain.transition_matrix, planted


def attachment_matrix(n_states: int, links: float, seed: int = 0) -> sparse.csr_array:
    """Random walk on the strongly connected part of a directed preferential-attachment graph.

    Each new state is linked with older ones, drawn in proportion to their links; a geometric number of them, ``links``
    on average. A link leads to the older state, or with probability ``REVERSED`` to the new one.
    """
    rng = np.random.default_rng(seed)
    counts = np.minimum(rng.geometric(1 / links, size=n_states), np.arange(n_states))
    draws = iter(rng.random(int(counts.sum())).tolist())
    ends, old = [0], []
    for new, count in enumerate(counts.tolist()):
        drawn = [ends[int(next(draws) * len(ends))] for _ in range(count)]
        old += drawn
        ends += [*drawn, *[new] * count]
    new, old = np.repeat(np.arange(n_states), counts), np.array(old)
    is_reversed = rng.random(old.size) < REVERSED
    source, target = np.where(is_reversed, old, new), np.where(is_reversed, new, old)
    graph = sparse.csr_array((np.ones(old.size), (source, target)), shape=(n_states, n_states))
    _, component = sparse.csgraph.connected_components(graph, connection="strong")
    kept = np.flatnonzero(component == np.bincount(component).argmax())
    graph = sparse.csr_array(graph[kept][:, kept])
    return sparse.csr_array(graph.multiply(1 / graph.sum(axis=1)[:, None]))


WORKLOADS = (
    Workload("bigrams", 76, 4),
    *(Workload("blocks", n, len(sizes)) for n, sizes in BLOCKS.items()),
    *(Workload(kind, n, 50) for n in SPARSE_SIZES for kind in ("metastable", "cyclic", "noisy")),
    Workload("many-groups", 100_000, 1000),
)


def write(workload: Workload, folder: Path) -> int:
    """Keep the chain as plain arrays, which load without a copy; the number of transitions."""
    folder.mkdir(parents=True)
    matrix, planted = workload.make()
    if sparse.issparse(matrix):
        arrays = {"data": matrix.data, "indices": matrix.indices, "indptr": matrix.indptr}
    else:
        arrays = {"dense": np.asarray(matrix)}
    if planted is not None:
        arrays["planted"] = planted
    for name, array in arrays.items():
        np.save(folder / f"{name}.npy", array)
    return int(np.count_nonzero(matrix.data if sparse.issparse(matrix) else matrix))


def read(folder: Path):
    """The transition matrix and the planted groups, or None."""
    arrays = {path.stem: np.load(path) for path in folder.glob("*.npy")}
    matrix = arrays.get("dense")
    if matrix is None:
        n = len(arrays["indptr"]) - 1
        matrix = sparse.csr_array((arrays["data"], arrays["indices"], arrays["indptr"]), shape=(n, n))
    return matrix, arrays.get("planted")
