"""Multilevel search on large chains: cycles of splitting every group in two and merging back to k.

Used by ``"auto"`` where a sweep is too expensive for dozens of starts. The search minimises the cost at beta = 1/2,
gamma = 0, where sweeps are cheapest and poor starts are not trapped; the target objective comes last, warm-started.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property, partial, reduce
from itertools import cycle

import numpy as np
from numpy.typing import NDArray

from klump.search.agglomerative import groups_after
from klump.search.constrained import make_search
from klump.search.descent import (
    TOLERANCE,
    LocalSearch,
    cost_from_sums,
    fill_empty_groups,
    random_labels,
    split_off_singletons,
)
from klump.search.effort import MAX_SWEEP, sweep_cost
from klump.search.embedding import cluster_embedding, splitting_vector
from klump.search.kernels.tables import DenseProblem, Problem, Table
from klump.search.merging import Merging
from klump.search.method import EQUAL, Found, Labels, Task, better, run_interruptible
from klump.search.objective import MIDDLE, Objective
from klump.search.problem import make_problem, make_table, make_work
from klump.search.repair import Repair, make_repair

_KEY = 6
# All values below are empirical.
# Sweeps of a state between the two halves of its group, after a random split.
_PAIR_SWEEPS = 2
# Sweeps over all groups before merging.
_FREE_SWEEPS = 2
# Sweeps of random labels at beta = 1.
_RANDOM_SWEEPS = 4
# Successive cycles without improvement that end the search: between these bounds, and
# _MIN_STALLED sqrt(_STALLED_SIZE / (transitions times groups)) in between, ...
_MIN_STALLED = 2
_MAX_STALLED = 10
_STALLED_SIZE = 50_000_000
# ... with at least this many groups: the time of a sweep falls no further.
_LEAST_GROUPS = 25
# Cycles at most, in multiples of the stalled cycles that end the search.
_CYCLES_PER_STALLED = 4
# Transitions times groups up to which single states are split off few large groups.
_MAX_SPLIT_OFF_SIZE = 50_000_000
# Relative decrease of the cost below which a cycle counts as stalled, times the stalled cycles that end the search;
# also the relative change of the cost by the first cycle up to which the first start counts as stable.
_GAIN = 2e-4
# Relative decrease of the cost by a sweep below which sweeps stop.
_SWEEP_GAIN = 1e-4
# Logarithms of a local search under the target objective, and its sweeps at least.
_TARGET_BUDGET = 500_000_000
_MIN_TARGET_SWEEPS = 6
# Groups up to which cycles are run: merging takes cubic time.
_MAX_GROUPS = 3000
# Parts per group when states are joined along flows, and bounds of their total: merging takes cubic time.
_PARTS_PER_GROUP = 6
_MIN_PARTS = 300
_MAX_PARTS = 1500
# Rounds of joining at most.
_JOIN_ROUNDS = 64


def multilevel(task: Task) -> Found:
    """Multilevel search; Ctrl-C returns the incumbent."""
    return run_interruptible(_MultilevelRun(task))


class _MultilevelRun:
    """State of one run; ``best`` is the incumbent under the target objective.

    States are renumbered by their group in the embedding, for locality of memory accesses. All labels but those of
    ``best`` refer to that order.
    """

    def __init__(self, task: Task) -> None:
        self.task = task
        self.k = task.n_groups
        self.best: Found | None = None
        self.is_stable = False
        self.cycles = self.steps = 0
        size = task.chain.n_transitions * max(task.n_groups, _LEAST_GROUPS)
        self.max_stalled = int(
            np.clip(_MIN_STALLED * np.sqrt(_STALLED_SIZE / size), _MIN_STALLED, _MAX_STALLED)
        )

    @cached_property
    def _embedding_labels(self) -> Labels:
        """k-means in the embedding, with ``_n_start_groups()`` groups, in the order of the chain."""
        n_groups = self._n_start_groups()
        cluster = partial(cluster_embedding, self.task, n_groups, self.task.rng(_KEY, 1))
        return self.task.once("embedding", cluster, given=(n_groups,))

    @cached_property
    def _order(self) -> NDArray[np.int64]:
        labels = self._embedding_labels
        return np.argsort(labels, kind="stable") if self.task.chain.is_sparse else np.arange(labels.size)

    @cached_property
    def _problem(self) -> Problem:
        return make_problem(self.task.chain, self._order) if self.task.chain.is_sparse else self.task.problem

    @cached_property
    def _repair(self) -> Repair | None:
        order = self._order if self.task.chain.is_sparse else None
        return make_repair(self.task.constraints, self._problem, self.k, order)

    def run(self) -> None:
        """Starts at beta = 1/2, cycles until ``max_stalled`` in a row stall, then the target objective."""
        rng = self.task.rng(_KEY, 2)
        current, stalled = self._run_starts(rng)
        splits = cycle([self._split_by_links, self._split_by_vector])
        max_cycles, least_gain = _CYCLES_PER_STALLED * self.max_stalled, _GAIN / self.max_stalled
        while self._can_split() and stalled < self.max_stalled and self.cycles < max_cycles:
            before = current.cost
            current = self._update(better(current, self._split_and_merge(current, next(splits), rng)))
            stalled = 0 if before - current.cost > least_gain * before + EQUAL else stalled + 1
        self._search_target(current.labels)
        weights = self.task.objective.weights
        if weights.into < 0.0 and sweep_cost(self.task) <= MAX_SWEEP:
            self._search_target(self._random_start(self.k, rng))
        elif weights.into > 0.0 and self.task.chain.n_transitions * self.k <= _MAX_SPLIT_OFF_SIZE:
            self._search_with_singletons(current.labels)
        self._report()

    def _search_target(self, labels: Labels) -> float:
        """Local search under the target objective; the cost reached."""
        affordable = _TARGET_BUDGET / sweep_cost(self.task)
        sweeps = max(_MIN_TARGET_SWEEPS, affordable)
        search = partial(self._local_search, labels, self.task.objective, sweeps)
        optimum = self.task.once("target", search, given=(labels,))
        assert self.best is not None
        if optimum.cost <= self.best.cost + EQUAL:
            self.best = self._to_chain_order(optimum)
        return optimum.cost

    def _search_with_singletons(self, labels: Labels) -> None:
        """Where 1 - 2 beta + gamma > 0: merge to m groups and split k - m single states off, m = 1, 2, 3, 4, 6, 9, ...

        Few large groups and many of one state are cheap there; the cost is nearly always unimodal in m.
        """
        before, m = np.inf, 1
        while m < self.k:
            merged = self._merge(labels, m) if m > 1 else np.zeros_like(labels)
            start = split_off_singletons(self._problem, self.k, self.task.objective, merged)
            cost = self._search_target(start)
            if m > 2 and cost > before:
                break
            before, m = cost, m + max(1, m // 2)

    def _run_starts(self, rng: np.random.Generator) -> tuple[Found, int]:
        """Best of the given labels, the embedding and, unless that is stable, two other starts; stalled cycles."""
        given = [] if self.task.initial is None else [self.task.initial[self._order]]
        initial = [*given, self._embedding_labels[self._order]]
        best = reduce(better, [self._run_start(labels) for labels in initial])
        if self._can_split():
            other = self._split_and_merge(best, self._split_by_vector, rng)
            self.is_stable = abs(other.cost - best.cost) <= _GAIN * best.cost + EQUAL
            best = self._update(better(best, other))
            if self.is_stable:
                return best, 1
        joined = self._join_along_flows()
        drawn = self._random_start(self._n_start_groups(), rng)
        starts = [(drawn, _FREE_SWEEPS)] if joined is None else [(joined, 0), (drawn, _FREE_SWEEPS)]
        return reduce(better, [self._run_start(*start) for start in starts], best), 0

    def _run_start(self, labels: Labels, sweeps: int = _FREE_SWEEPS) -> Found:
        search = partial(self._search_from, labels, sweeps)
        return self._update(self.task.once("start", search, given=(labels, sweeps)))

    def _search_from(self, labels: Labels, sweeps: int = _FREE_SWEEPS) -> Found:
        return self._local_search(self._sweep_and_merge(labels, sweeps))

    def _random_start(self, n_groups: int, rng: np.random.Generator) -> Labels:
        """Random labels after a few sweeps at beta = 1."""
        draw = partial(self._draw_start, n_groups, rng)
        return self.task.once("random start", draw, rng, (n_groups,))

    def _draw_start(self, n_groups: int, rng: np.random.Generator) -> Labels:
        if self._repair is None:
            labels = random_labels(self.task.chain.n_states, n_groups, rng, allow_empty=False)
        else:
            labels = self._repair.draw(n_groups, rng)
            n_groups = int(labels.max()) + 1
        return self._sweep(labels, n_groups, Objective(1.0), sweeps=_RANDOM_SWEEPS)[0].labels

    def _split_and_merge(
        self, found: Found, split: Callable[[Labels, np.random.Generator], Labels], rng: np.random.Generator
    ) -> Found:
        """One cycle: split every group in two, merge back to k, local search."""
        self.cycles += 1
        run = partial(self._run_cycle, found.labels, split, rng)
        return self.task.once("cycle", run, rng, (found.labels,))

    def _run_cycle(
        self, labels: Labels, split: Callable[[Labels, np.random.Generator], Labels], rng: np.random.Generator
    ) -> Found:
        return self._search_from(fill_empty_groups(split(labels, rng), 2 * self.k))

    def _n_start_groups(self) -> int:
        """Groups of a start before merging: max(3 k / 2, k + 4)."""
        return max(3 * self.k // 2, self.k + 4) if self._can_split() else self.k

    def _can_split(self) -> bool:
        """Whether groups are large enough to split and few enough to merge."""
        return self.k <= _MAX_GROUPS and 4 * self.k + 4 <= self.task.chain.n_states

    def _split_by_vector(self, labels: Labels, rng: np.random.Generator) -> Labels:
        """Split each group by the sign of a slow vector that has mean zero in every group."""
        vector = splitting_vector(self._problem, labels, self.k, rng)
        return (2 * labels + (vector > 0.0)).astype(np.int32)

    def _join_along_flows(self) -> Labels | None:
        """Join states along the largest flows to several parts per group; None if there are too few or too many."""
        from klump.chain.kernels.flows import groups

        problem, n = self._problem, self.task.chain.n_states
        parts = min(max(_PARTS_PER_GROUP * self.k, _MIN_PARTS), max(_MAX_PARTS, 2 * self.k), n // 4)
        if isinstance(problem, DenseProblem) or not self._can_split():
            return None
        links = problem.out_indptr, problem.out_indices, problem.out_mass
        joined, count = groups(*links, np.ones(n), 0.0, _JOIN_ROUNDS, max(2, 2 * n // parts))
        return joined if self.k < count <= 3 * parts else None

    def _split_by_links(self, labels: Labels, rng: np.random.Generator) -> Labels:
        """Split groups at random, then sweep at beta = 1 with each state restricted to the halves of its group."""
        from klump.search.kernels import descent as kernels

        halves = (2 * labels + rng.integers(0, 2, labels.size)).astype(np.int32)
        table = make_table(self._problem, halves, 2 * self.k)
        kernels.build(self._problem, table)
        work, weights = make_work(2 * self.k), Objective(1.0).weights
        for _ in range(_PAIR_SWEEPS):
            kernels.sweep_pairs(self._problem, table, work, weights, np.arange(halves.size), TOLERANCE)
        return table.labels

    def _sweep_and_merge(self, labels: Labels, sweeps: int = _FREE_SWEEPS) -> Labels:
        """Sweep with the given number of groups, or those that constraints split them to, then merge greedily to k."""
        labels = labels if self._repair is None else self._repair.refine(labels)
        count = int(labels.max()) + 1
        if count <= self.k:
            return labels
        table = self._sweep(labels, count, MIDDLE, sweeps=sweeps)[0]
        return _merge(table, self.k) if self._repair is None else self._repair(table.labels)

    def _merge(self, labels: Labels, n_groups: int) -> Labels:
        """Merge greedily to a number of groups, at beta = 1/2."""
        return _merge(LocalSearch(self._problem, labels, self.k, MIDDLE, np.arange(0)).table, n_groups)

    def _local_search(
        self, labels: Labels, objective: Objective = MIDDLE, sweeps_to_optimum: float | None = None
    ) -> Found:
        labels = labels if self._repair is None else self._repair(labels)
        sweeps = np.inf if sweeps_to_optimum is None else sweeps_to_optimum
        min_gain = _SWEEP_GAIN if sweeps_to_optimum is None else 0.0
        table, trace = self._sweep(labels, self.k, objective, sweeps=sweeps, min_gain=min_gain)
        return Found(table.labels.copy(), trace[-1], tuple(trace))

    def _sweep(
        self, labels: Labels, k: int, objective: Objective, *, sweeps: float, min_gain: float = _SWEEP_GAIN
    ) -> tuple[Table, list[float]]:
        """Sweep until a sweep gains less than ``min_gain``, relative, or ``sweeps`` times."""
        visits = np.arange(labels.size if self._repair is None else self._repair.n_units)
        search = make_search(self._problem, labels, k, objective, visits, self._repair)
        offset = self.task.offset(objective)
        bits = min_gain * (search.cost + offset)
        trace = search.descend(min(sweeps, self.task.max_sweeps), queue=True, min_gain=bits)
        return search.table, [cost + offset for cost in trace]

    def _update(self, found: Found) -> Found:
        """Update the incumbent under the target objective; the argument itself."""
        from klump.search.kernels import descent as kernels

        objective, at_target = self.task.objective, found
        if objective != MIDDLE:
            table = make_table(self._problem, found.labels, self.k)
            sums = kernels.build(self._problem, table)
            cost = cost_from_sums(sums, objective) + self.task.offset(objective)
            at_target = replace(found, cost=cost, trace=(cost,))
        if self.best is None or at_target.cost < self.best.cost - EQUAL:
            self.best = self._to_chain_order(at_target)
        self._report()
        return found

    def _to_chain_order(self, found: Found) -> Found:
        labels = np.empty_like(found.labels)
        labels[self._order] = found.labels
        return replace(found, labels=labels)

    def _report(self) -> None:
        assert self.best is not None
        self.steps += 1
        total = _CYCLES_PER_STALLED * self.max_stalled + 4
        self.task.report(min(self.steps, total), total, self.best.cost)


def _merge(table: Table, n_groups: int) -> Labels:
    """Merge the groups of a table greedily, at beta = 1/2."""
    count = table.size.size
    flow, nu = table.b.mass[count : 2 * count, :count], table.nu[:count]
    merging = Merging(flow, nu, np.arange(count, dtype=np.int32), MIDDLE.weights)
    merging.run(n_groups)
    return groups_after(merging.pairs, count - n_groups)[table.labels]
