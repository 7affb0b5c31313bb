"""Local search (Algorithm 1) from given labels for a sequence of objectives, and costs of labels."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from klump import information
from klump.chain import MarkovChain
from klump.search.deadline import check_deadline
from klump.search.kernels.tables import DenseProblem, Problem
from klump.search.method import Found, Labels, Record, Task
from klump.search.objective import MIDDLE, Objective
from klump.search.problem import make_table, make_work

# Least decrease of the cost per move, in bits: above the rounding error of the sums that a price is computed from.
TOLERANCE = 1e-13
# Transitions times groups of one up to which the members of these groups are exchanged: 0.1 s per pass over them.
_MAX_EXCHANGED = 30_000_000
# Key of the random generator of a single descent.
_KEY_ONCE = 7
# Groups up to which a cost is computed from dense tables of k^2 entries (8 MB each at this k).
_MAX_TABLE_GROUPS = 1_000


def descend(
    problem: Problem,
    labels: Labels,
    n_groups: int,
    objectives: Sequence[Objective],
    order: NDArray[np.int64],
    *,
    max_sweeps: int,
    allow_empty: bool = False,
    exchange: bool = False,
) -> tuple[list[Labels], list[NDArray[np.float64]]]:
    """Sweep to a local optimum of each objective in turn, warm-started from the one before.

    Returns the labels and the trace (cost after each sweep, up to a constant) per objective.
    """
    found, traces = [], []
    for objective in objectives:
        search = LocalSearch(problem, labels, n_groups, objective, order)
        trace = search.descend(max_sweeps, allow_empty=allow_empty, exchange=exchange)
        labels = search.table.labels
        found.append(labels.copy())
        traces.append(np.array(trace))
    return found, traces


class LocalSearch:
    """Algorithm 1 on one objective: the table of the sums that the kernels keep, and the cost up to a constant."""

    def __init__(
        self,
        problem: Problem,
        labels: Labels,
        n_groups: int,
        objective: Objective,
        order: NDArray[np.int64],
    ) -> None:
        self.problem = problem
        self.objective = objective
        self.order = order
        self.table = make_table(problem, labels, n_groups, keep_a=objective.weights.into != 0.0)
        self.work = make_work(n_groups)
        # Sweeps so far; a sweep over some of the states counts by its share.
        self.sweeps = 0.0
        self.build()

    def build(self) -> None:
        """Recompute all sums from the labels."""
        from klump.search.kernels.descent import build

        self.cost = cost_from_sums(build(self.problem, self.table), self.objective)

    def sweep(self, order: NDArray[np.int64], tolerance: float, *, allow_empty: bool) -> tuple[int, float]:
        """One pass of Algorithm 1: number of moves and change of the cost."""
        from klump.search.kernels.descent import sweep

        weights = self.objective.weights
        return sweep(self.problem, self.table, self.work, weights, order, tolerance, allow_empty)

    def descend(
        self,
        max_sweeps: float,
        *,
        allow_empty: bool = False,
        exchange: bool = False,
        queue: bool = False,
        min_gain: float = 0.0,
    ) -> list[float]:
        """Sweep until no state moves, at most ``max_sweeps`` times; the cost before and after each sweep.

        The sums are rebuilt after as many moves as there are states, and at the end, so that rounding errors do not
        accumulate.

        Parameters
        ----------
        exchange
            Also exchange the members of groups of one.
        queue
            After the first sweep visit only states with a neighbour that moved, until none is left; then all again.
        min_gain
            Decrease of the cost, in bits: a sweep that gains less is the last.
        """
        n, trace, order, moves_since_build = self.order.size, [self.cost], self.order, 0
        visits_left = max_sweeps * n
        while 2 * visits_left > order.size:
            visits_left -= order.size
            self.sweeps += order.size / n
            self.table.waiting[:] = 0
            moves, change = self.sweep(order, TOLERANCE, allow_empty=allow_empty)
            if moves == 0 and exchange and order.size == n:
                moves, change = self._exchange_singletons()
            moves_since_build += moves
            self.cost += change
            if moves_since_build >= n:
                self.build()
                moves_since_build = 0
            trace.append(self.cost)
            if (moves == 0 and order.size == n) or -change < min_gain:
                break
            check_deadline()
            order = self._waiting() if queue and moves > 0 else self.order
        if moves_since_build > 0:
            self.build()
            trace[-1] = self.cost
        return trace

    def _waiting(self) -> NDArray[np.int64]:
        """States whose prices changed in the last sweep by more than B did."""
        from klump.search.kernels.queue import enqueue_siblings

        if isinstance(self.problem, DenseProblem):
            return self.order
        if self.objective.weights.into != 0.0:
            enqueue_siblings(self.problem, self.table.waiting)
        return self.order[self._waits()[self.order]]

    def _waits(self) -> NDArray[np.bool_]:
        """Whether each state is marked in the queue."""
        return self.table.waiting > 0

    def _exchange_singletons(self) -> tuple[int, float]:
        """Move the member of each group of one to its best other group and fill the group anew, where that pays."""
        from klump.search.kernels.descent import fill_group

        moves, change, singletons = 0, 0.0, np.flatnonzero(self.table.size == 1)
        transitions = (
            self.problem.rows if isinstance(self.problem, DenseProblem) else self.problem.mass
        ).size
        if self.table.size.size == 1 or singletons.size * transitions > _MAX_EXCHANGED:
            return moves, change
        for y in singletons:
            if self.table.size[y] != 1:
                continue
            member = int(np.flatnonzero(self.table.labels == y)[0])
            _, leave = self.sweep(np.array([member]), -np.inf, allow_empty=True)
            limit = -TOLERANCE - leave
            weights = self.objective.weights
            filler, join = fill_group(self.problem, self.table, self.work, weights, int(y), limit, member)
            if filler != member:
                moves += 1
                change += leave + join
        return moves, change


def descend_once(task: Task) -> Found:
    """One descent to the target objective, from the initial map if it has ``n_groups`` groups, else from random labels.

    The answer of a method that the deadline ended before it had one. Under constraints it is a partition that satisfies
    them.
    """
    if task.constraints is not None and task.constraints.feasible is not None:
        return score(task, task.constraints.feasible[task.constraints.unit].astype(np.int32))
    labels = random_labels(task.chain.n_states, task.n_groups, task.rng(_KEY_ONCE), allow_empty=False)
    if task.initial is not None and int(task.initial.max()) < task.n_groups:
        labels = task.initial
    order, objective = np.arange(task.chain.n_states), task.objective
    # Random labels would be trapped in a poor local optimum.
    objectives = [MIDDLE, objective] if objective.traps_poor_starts else [objective]
    found, traces = descend(
        task.problem,
        labels,
        task.n_groups,
        objectives,
        order,
        max_sweeps=task.max_sweeps,
        allow_empty=task.allow_empty,
    )
    trace = tuple((traces[-1] + task.offset(objective)).tolist())
    return Found(found[-1], trace[-1], trace)


def cost_of(task: Task, labels: Labels) -> float:
    """Cost of labels, with any number of groups, under the task's objective."""
    from klump.search.kernels import descent as kernels

    k = int(labels.max()) + 1
    if k > _MAX_TABLE_GROUPS:
        return cost_by_definition(task.chain, labels, task.objective)
    table = make_table(task.problem, labels, k)
    return cost_from_sums(kernels.build(task.problem, table), task.objective) + task.offset(task.objective)


def cost_by_definition(chain: MarkovChain, labels: Labels, objective: Objective) -> float:
    """Cost of labels by its definition, in NumPy."""
    n = chain.n_states
    weights = sparse.csr_array((np.ones(n), (np.arange(n), labels)))
    joint = chain.joint @ weights
    between_groups = information.mutual_information(weights.T @ joint)  # I(Y1;Y2)
    from_states = information.mutual_information(joint)  # I(X1;Y2)
    entropy = information.entropy(chain.stationary_distribution @ weights)
    beta, gamma = objective.beta, objective.gamma
    cost = (1.0 - 2.0 * beta) * (from_states - between_groups)
    cost += beta * (chain.redundancy_rate - between_groups)
    return cost + (gamma * (chain.entropy_rate - entropy + from_states) if gamma > 0.0 else 0.0)


def score(task: Task, labels: Labels, record: Record | None = None) -> Found:
    """Result of a method that does not track the cost under the task's objective."""
    cost = cost_of(task, labels)
    return Found(labels, cost, (cost,), record=record)


def cost_from_sums(sums: tuple[float, float, float], objective: Objective) -> float:
    """Cost up to a constant, ``into sum f(A) - flow sum f(B) + sum f(nu)``, from the three sums."""
    into, flow, nu = sums
    weights = objective.weights
    return float(weights.into * into - weights.flow * flow + nu)


def random_labels(n_states: int, n_groups: int, rng: np.random.Generator, *, allow_empty: bool) -> Labels:
    """Uniform random labels; unless ``allow_empty``, every group gets at least one member."""
    labels = rng.integers(0, n_groups, n_states).astype(np.int32)
    if not allow_empty:
        labels[rng.permutation(n_states)[:n_groups]] = np.arange(n_groups)
    return labels


def split_off_singletons(
    problem: Problem, n_groups: int, objective: Objective, labels: Labels | None = None
) -> Labels:
    """Split single states off the m groups of ``labels`` (by default one), greedily, until there are k groups.

    Cheap where little information need be kept.
    """
    from klump.search.kernels import descent as kernels

    labels = np.zeros(problem.mu.size, dtype=np.int32) if labels is None else labels
    table, work = make_table(problem, labels, n_groups), make_work(n_groups)
    kernels.build(problem, table)
    for y in range(int(labels.max()) + 1, n_groups):
        kernels.fill_group(problem, table, work, objective.weights, y, np.inf, 0)
    return table.labels


def fill_empty_groups(labels: Labels, n_groups: int) -> Labels:
    """Move the last state of the currently largest group to each empty group."""
    size = np.bincount(labels, minlength=n_groups)
    if size.min() > 0:
        return labels
    labels = labels.copy()
    for empty in np.flatnonzero(size == 0):
        donor = int(np.argmax(size))
        labels[np.flatnonzero(labels == donor)[-1]] = empty
        size[donor] -= 1
        size[empty] += 1
    return labels
