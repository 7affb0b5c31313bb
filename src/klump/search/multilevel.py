"""Search on large sparse chains: two starts, then cycles of splitting every group and merging back.

Used by ``"auto"`` where a sweep is too dear for dozens of starts. Searches at beta = 1/2 first (below it, poor
starts collapse to a trivial answer) and at the target in the end.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from klump.search.agglomerative import Merging, groups_after
from klump.search.descent import TOLERANCE, combined, random_labels, scored, without_empty_groups
from klump.search.kernels.tables import Table
from klump.search.method import EQUAL, Found, Labels, Task, best_until_interrupted, better
from klump.search.problem import make_table, make_work

_KEY = 6
_CYCLES = 4
_SPLIT_SWEEPS = 3
_SETTLED = 0.002
_SAMPLE = 20_000
_POWERS = 12
_MOST_GROUPS = 300


def multilevel(task: Task) -> Found:
    """Find labels for a large chain; Ctrl-C keeps the best so far."""
    return best_until_interrupted(_Search(task))


class _Search:
    """State of one run; ``best`` is judged by the target's cost."""

    def __init__(self, task: Task) -> None:
        self.task = task
        self.k = task.n_groups
        self.order = np.arange(task.chain.n_states)
        self.best: Found | None = None
        self.middle = 0.5
        self.steps = 0

    def run(self) -> None:
        """Two starts, split-merge cycles on the better one, then the target."""
        task, rng = self.task, self.task.rng(_KEY)
        starts: list[Callable[[], Labels]] = [lambda: embedded(task, rng), lambda: self._random(rng)]
        current: Found | None = None
        if task.initial is not None:
            current = self._settle(task.initial, self.middle)
        for make in starts:
            current = better(current, self._settle(make(), self.middle))
            self._keep(current)
        assert current is not None
        for _ in range(_CYCLES if self._can_split() else 0):
            other = self._settle(self._split_and_merge(current.labels, rng), self.middle)
            if other.cost >= current.cost - EQUAL:
                break
            current = other
            self._keep(current)
        settled = self._settle(current.labels, task.beta, to_the_end=True)
        assert self.best is not None
        if settled.cost <= self.best.cost + EQUAL:
            self.best = settled
        self._report()

    def _can_split(self) -> bool:
        """Whether groups are large enough to be split, and few enough to be merged (cubic in their number)."""
        return self.k <= _MOST_GROUPS and 4 * self.k <= self.task.chain.n_states

    def _random(self, rng: np.random.Generator) -> Labels:
        labels = random_labels(self.task.chain.n_states, self.k, rng, allow_empty=False)
        return self._settle(labels, 1.0, sweeps=4).labels

    def _settle(self, labels: Labels, beta: float, *, sweeps: int = 0, to_the_end: bool = False) -> Found:
        """Sweep until few states move (or none, or for a number of sweeps)."""
        from klump.search.kernels import descent as kernels

        task = self.task
        k = int(labels.max()) + 1
        table = make_table(task.problem, labels, k)
        sums = kernels.build(task.problem, table)
        trace = [combined(sums, beta) + task.offset(beta)]
        for _ in range(sweeps or task.max_sweeps):
            moves = self._sweep(table, beta)
            sums = kernels.build(task.problem, table)
            trace.append(combined(sums, beta) + task.offset(beta))
            if moves == 0 or (not to_the_end and moves < _SETTLED * len(labels)):
                break
        return Found(table.labels.copy(), trace[-1], tuple(trace))

    def _sweep(self, table: Table, beta: float, *, in_pairs: bool = False) -> int:
        from klump.search.kernels import descent as kernels

        work = make_work(table.size.size)
        moves, _ = kernels.sweep(self.task.problem, table, work, beta, self.order, TOLERANCE, False, in_pairs)
        return int(moves)

    def _split_and_merge(self, labels: Labels, rng: np.random.Generator) -> Labels:
        """Split every group in two as the bottleneck likes it, let states move freely, merge greedily to k."""
        from klump.search.kernels import descent as kernels

        problem, k = self.task.problem, self.k
        halves = (2 * labels + rng.integers(0, 2, labels.size)).astype(np.int32)
        table = make_table(problem, without_empty_groups(halves, 2 * k), 2 * k)
        kernels.build(problem, table)
        for _ in range(_SPLIT_SWEEPS):
            self._sweep(table, 1.0, in_pairs=True)
        kernels.build(problem, table)
        for _ in range(2):
            self._sweep(table, self.middle)
        kernels.build(problem, table)
        flow, nu = table.flow.mass[2 * k : 4 * k, : 2 * k], table.nu[0, : 2 * k]
        merging = Merging(flow, nu, np.arange(2 * k, dtype=np.int32), self.middle)
        merging.run(k)
        return groups_after(merging.pairs, k)[table.labels]

    def _keep(self, found: Found) -> None:
        """Remember the best by the target's cost."""
        self.best = better(self.best, scored(self.task, found.labels))
        self._report()

    def _report(self) -> None:
        assert self.best is not None
        self.steps += 1
        self.task.report(min(self.steps, _CYCLES + 3), _CYCLES + 3, self.best.cost)


def embedded(task: Task, rng: np.random.Generator) -> Labels:
    """Apply P to random vectors again and again, so that slow and lumpable directions remain; then k-means."""
    matrix, mu = task.chain.transition_matrix, task.chain.stationary_distribution
    n, k = task.chain.n_states, task.n_groups
    width = min(k + 10, 24, n)
    vectors = rng.standard_normal((n, width), dtype=np.float32)
    single = matrix.astype(np.float32)
    for power in range(_POWERS):
        vectors = np.asarray(single @ vectors)
        vectors -= (mu @ vectors).astype(np.float32)
        if power % 3 == 2:
            vectors = _orthonormal(vectors, mu)
    coordinates = vectors.astype(np.float64)
    sample = np.sort(rng.permutation(n)[:_SAMPLE])
    centres = _centres(coordinates[sample], mu[sample], rng.random(k))
    distance = (centres**2).sum(axis=1)[None, :] - 2.0 * coordinates @ centres.T
    return without_empty_groups(np.argmin(distance, axis=1).astype(np.int32), k)


def _orthonormal(vectors: NDArray[np.float32], mu: NDArray[np.float64]) -> NDArray[np.float32]:
    """Orthonormalise in the inner product of mu, by the Gram matrix: cheap for tall, thin arrays."""
    gram = (vectors * mu[:, None]).T.astype(np.float64) @ vectors
    values, rotation = np.linalg.eigh(gram)
    good = values > values[-1] * 1e-10
    return np.asarray((vectors @ (rotation[:, good] / np.sqrt(values[good]))).astype(np.float32))


def _centres(
    points: NDArray[np.float64], weight: NDArray[np.float64], draws: NDArray[np.float64]
) -> NDArray[np.float64]:
    from klump.search.kernels.kmeans import weighted_kmeans

    labels = np.zeros(len(points), dtype=np.int32)
    weighted_kmeans(points, weight, draws, 10, labels)
    k = draws.size
    mass = np.bincount(labels, weights=weight, minlength=k)
    sums = np.stack(
        [np.bincount(labels, weights=weight * column, minlength=k) for column in points.T], axis=1
    )
    return np.asarray((sums / np.maximum(mass, 1e-300)[:, None])[mass > 0])
