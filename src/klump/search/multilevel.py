"""Search on large chains: more groups than asked for, merged back to k, again and again.

Used by ``"auto"`` where a sweep is too dear for dozens of starts. Searches at beta = 1/2 without gamma first: below it,
poor starts collapse to a trivial answer, and sweeps there are the cheapest. The target objective comes last.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cached_property, reduce
from itertools import cycle

import numpy as np
from numpy.typing import NDArray

from klump.search.agglomerative import Merging, groups_after
from klump.search.descent import TOLERANCE, combined, random_labels, without_empty_groups
from klump.search.embedding import embedded, within_groups
from klump.search.kernels.tables import Problem, Table
from klump.search.method import EQUAL, Found, Labels, Task, best_until_interrupted, better
from klump.search.objective import MIDDLE, Objective
from klump.search.problem import make_problem, make_table, make_work

_KEY = 6
_PAIR_SWEEPS, _FREE_SWEEPS, _DRAWN_SWEEPS = 2, 2, 4
# After so many cycles in vain the search gives up: later where transitions times groups are fewer than these. And so
# many times as many cycles are run at most.
_LEAST_PATIENCE, _MOST_PATIENCE, _PATIENT, _CYCLES = 2, 10, 50_000_000, 4
# States times groups for which single states are split off one large group.
_SPLITTABLE = 5_000_000
# A cycle was worth it if the cost fell by more than this share; after a larger change the first start is not trusted.
_GAIN, _UNSURE = 1e-5, 1e-4
# A search has settled when less than this share of the states moves.
_SETTLED = 0.002
_MOST_GROUPS = 3000
# States are joined to so many parts for each group, at least and at most so many (merging them takes a third power).
_PARTS, _LEAST_PARTS, _MOST_PARTS, _ROUNDS = 6, 300, 1500, 64


def multilevel(task: Task) -> Found:
    """Find labels for a large chain; Ctrl-C keeps the best so far."""
    return explored(task)[0]


def explored(task: Task) -> tuple[Found, bool]:
    """Do the same, and say whether the groups are so plain that other starts hardly find better ones."""
    search = _Search(task)
    found = best_until_interrupted(search)
    return found, search.is_sure or found.interrupted


class _Search:
    """State of one run; ``best`` is judged by the target's cost.

    States are renumbered by what P shows of their groups, so that what is looked at together lies together. All
    labels are in that order, but those of ``best``.
    """

    def __init__(self, task: Task) -> None:
        self.task = task
        self.k = task.n_groups
        self.best: Found | None = None
        self.is_sure = False
        self.cycles = self.steps = 0
        work = task.chain.n_transitions * task.n_groups
        self.patience = int(
            np.clip(_LEAST_PATIENCE * np.sqrt(_PATIENT / work), _LEAST_PATIENCE, _MOST_PATIENCE)
        )

    @cached_property
    def _shown(self) -> Labels:
        """Groups, a few more than asked for, in the order of the chain."""
        return embedded(self.task, self._more(), self.task.rng(_KEY, 1))

    @cached_property
    def _order(self) -> NDArray[np.int64]:
        n = self._shown.size
        return np.argsort(self._shown, kind="stable") if self.task.chain.is_sparse else np.arange(n)

    @cached_property
    def _problem(self) -> Problem:
        return make_problem(self.task.chain, self._order) if self.task.chain.is_sparse else self.task.problem

    def run(self) -> None:
        """Starts, then cycles of splitting and merging until some in a row are in vain, then the target."""
        rng = self.task.rng(_KEY, 2)
        current, in_vain = self._started(rng)
        splits = cycle([self._split_by_links, self._split_by_vector])
        while self._can_split() and in_vain < self.patience and self.cycles < _CYCLES * self.patience:
            before = current.cost
            current = self._kept(better(current, self._cycled(current, next(splits), rng)))
            in_vain = 0 if before - current.cost > _GAIN * before + EQUAL else in_vain + 1
        for labels in [current.labels, *self._starts_at_target(rng)]:
            settled = self._settle(labels, self.task.objective, to_the_end=True)
            assert self.best is not None
            if settled.cost <= self.best.cost + EQUAL:
                self.best = self._in_order_of_chain(settled)
        self._report()

    def _started(self, rng: np.random.Generator) -> tuple[Found, int]:
        """The best of what is given, what P shows and, unless that is sure, of other starts.

        Also how many cycles were in vain.
        """
        given = [] if self.task.initial is None else [self.task.initial[self._order]]
        best = reduce(better, [self._start(labels) for labels in [*given, self._shown[self._order]]])
        if self._can_split():
            other = self._cycled(best, self._split_by_vector, rng)
            # Where groups are plain, the first cycle comes back to them; elsewhere it ends at other ones, or worse.
            self.is_sure = abs(other.cost - best.cost) <= _UNSURE * best.cost + EQUAL
            best = self._kept(better(best, other))
            if self.is_sure:
                return best, 1
        joined = self._joined()
        drawn = self._drawn(self._more(), rng)
        others = [self._start(drawn)] if joined is None else [self._start(joined, 0), self._start(drawn)]
        return reduce(better, others, best), 0

    def _start(self, labels: Labels, sweeps: int = _FREE_SWEEPS) -> Found:
        return self._kept(self._settle(self._merged(labels, sweeps)))

    def _drawn(self, n_groups: int, rng: np.random.Generator) -> Labels:
        """Random groups, swept a few times as the bottleneck likes it."""
        labels = random_labels(self.task.chain.n_states, n_groups, rng, allow_empty=False)
        return self._swept(labels, n_groups, Objective(1.0), sweeps=_DRAWN_SWEEPS)[0].labels

    def _starts_at_target(self, rng: np.random.Generator) -> Iterator[Labels]:
        """Starts for which beta = 1/2 would be a detour: what chance finds above, and next to nothing below."""
        from klump.search.kernels import descent as kernels

        n, k, weights = self.task.chain.n_states, self.k, self.task.objective.weights
        if weights.into < 0.0:
            yield self._drawn(k, rng)
        elif weights.into > 0.0 and n * k <= _SPLITTABLE:
            table = make_table(self._problem, np.zeros(n), k)
            kernels.build(self._problem, table)
            kernels.split_off(self._problem, table, make_work(k), weights)
            yield table.labels

    def _cycled(
        self, found: Found, split: Callable[[Labels, np.random.Generator], Labels], rng: np.random.Generator
    ) -> Found:
        """Split every group in two and merge back to k."""
        self.cycles += 1
        halves = without_empty_groups(split(found.labels, rng), 2 * self.k)
        return self._settle(self._merged(halves))

    def _more(self) -> int:
        """With how many groups to start."""
        return max(3 * self.k // 2, self.k + 4) if self._can_split() else self.k

    def _can_split(self) -> bool:
        """Whether groups are large enough to be split, and few enough to be merged (cubic in their number)."""
        return self.k <= _MOST_GROUPS and 4 * self.k + 4 <= self.task.chain.n_states

    def _split_by_vector(self, labels: Labels, rng: np.random.Generator) -> Labels:
        """Split groups by what P says of their members beyond their group."""
        beyond = within_groups(self._problem, labels, self.k, rng)
        return (2 * labels + (beyond > 0.0)).astype(np.int32)

    def _joined(self) -> Labels | None:
        """Join states along the largest flows, to several parts for each group; None if that fails."""
        from klump.chain.kernels.flows import groups

        problem, n = self._problem, self.task.chain.n_states
        parts = min(max(_PARTS * self.k, _LEAST_PARTS), max(_MOST_PARTS, 2 * self.k), n // 4)
        if problem.rows.size or not self._can_split():
            return None
        links = problem.out_indptr, problem.out_indices, problem.out_mass
        joined, count = groups(*links, np.ones(n), 0.0, _ROUNDS, max(2, 2 * n // parts))
        return joined if self.k < count <= 3 * parts else None

    def _split_by_links(self, labels: Labels, rng: np.random.Generator) -> Labels:
        """Split groups at random, then as the bottleneck likes it: by who leads to whom."""
        from klump.search.kernels import descent as kernels

        halves = (2 * labels + rng.integers(0, 2, labels.size)).astype(np.int32)
        table = make_table(self._problem, halves, 2 * self.k)
        kernels.build(self._problem, table)
        work, weights = make_work(2 * self.k), Objective(1.0).weights
        for _ in range(_PAIR_SWEEPS):
            kernels.sweep(self._problem, table, work, weights, table.everyone, TOLERANCE, True, True)
        return table.labels

    def _merged(self, labels: Labels, sweeps: int = _FREE_SWEEPS) -> Labels:
        """Let states move between more groups than asked for, then merge these greedily to k."""
        more = int(labels.max()) + 1
        if more <= self.k:
            return labels
        table = self._swept(labels, more, MIDDLE, sweeps=sweeps)[0]
        flow, nu = table.flow.mass[more : 2 * more, :more], table.nu[0, :more]
        merging = Merging(flow, nu, np.arange(more, dtype=np.int32), MIDDLE.weights)
        merging.run(self.k)
        return groups_after(merging.pairs, more - self.k)[table.labels]

    def _settle(self, labels: Labels, objective: Objective = MIDDLE, *, to_the_end: bool = False) -> Found:
        table, trace = self._swept(labels, self.k, objective, to_the_end=to_the_end)
        return Found(table.labels.copy(), trace[-1], tuple(trace))

    def _swept(
        self,
        labels: Labels,
        k: int,
        objective: Objective,
        *,
        sweeps: float = np.inf,
        to_the_end: bool = False,
    ) -> tuple[Table, list[float]]:
        """Sweep until few states move, or as often as said; or until a sweep over all states proves that none does.

        After the first sweep only those are looked at who have a neighbour that moved.
        """
        from klump.search.kernels import descent as kernels

        task, n, weights = self.task, labels.size, objective.weights
        queue, lists = not self._problem.columns.size, weights.into != 0.0
        table, work = make_table(self._problem, labels, k, lists=lists, queue=queue), make_work(k)
        everyone = order = table.everyone
        offset = task.offset(objective)
        cost = combined(kernels.build(self._problem, table), objective) + offset
        trace, stale, budget = [cost], 0, min(sweeps, task.max_sweeps) * n
        while 2 * budget > order.size:
            budget -= order.size
            table.waiting[:] = 0
            moves, change = kernels.sweep(self._problem, table, work, weights, order, TOLERANCE, False, False)
            stale += moves
            cost += change
            if stale >= n:  # so that rounding cannot pile up
                cost, stale = combined(kernels.build(self._problem, table), objective) + offset, 0
            trace.append(cost)
            proven = moves == 0 and order.size == n
            if proven or (moves < _SETTLED * n and not to_the_end):
                break
            if lists:
                kernels.call_siblings(self._problem, table)
            order = np.flatnonzero(table.waiting) if queue and moves else everyone
        if to_the_end:
            trace[-1] = combined(kernels.build(self._problem, table), objective) + offset
        return table, trace

    def _kept(self, found: Found) -> Found:
        """Remember the best by the target's cost."""
        from klump.search.kernels import descent as kernels

        objective, at_target = self.task.objective, found
        if objective != MIDDLE:
            table = make_table(self._problem, found.labels, self.k)
            cost = combined(kernels.build(self._problem, table), objective) + self.task.offset(objective)
            at_target = replace(found, cost=cost, trace=(cost,))
        if self.best is None or at_target.cost < self.best.cost - EQUAL:
            self.best = self._in_order_of_chain(at_target)
        self._report()
        return found

    def _in_order_of_chain(self, found: Found) -> Found:
        labels = np.empty_like(found.labels)
        labels[self._order] = found.labels
        return replace(found, labels=labels)

    def _report(self) -> None:
        assert self.best is not None
        self.steps += 1
        total = _CYCLES * self.patience + 4
        self.task.report(min(self.steps, total), total, self.best.cost)
