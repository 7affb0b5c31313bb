"""Algorithm 1 from given labels, for a sequence of objectives: the step that all methods share."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from klump import information
from klump.chain import MarkovChain
from klump.search.kernels.tables import Problem
from klump.search.method import Found, Labels, Record, Task
from klump.search.objective import Objective
from klump.search.problem import make_table, make_work

# A move must lower the cost by more than the rounding of the sums it is computed from.
TOLERANCE = 1e-13
# Tables for more groups than this would need more memory than they save time.
_MANY_GROUPS = 1_000


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
    """Sweep until nothing moves for each objective in turn; the labels and the trace (up to a constant) of each."""
    from klump.search.kernels import descent as kernels

    table, work = make_table(problem, labels, n_groups), make_work(n_groups)
    found, traces = [], []
    for objective in objectives:
        trace = np.zeros(max_sweeps + 1)
        done = kernels.descend(
            problem, table, work, objective.weights, order, TOLERANCE, allow_empty, exchange, trace
        )
        found.append(table.labels.copy())
        traces.append(trace[: done + 1])
    return found, traces


def cost_of(task: Task, labels: Labels) -> float:
    """Cost of labels, in any number of groups, by the task's objective."""
    from klump.search.kernels import descent as kernels

    k = int(labels.max()) + 1
    if k > _MANY_GROUPS:
        return _cost_by_definition(task.chain, labels, task.objective)
    table = make_table(task.problem, labels, k)
    return combined(kernels.build(task.problem, table), task.objective) + task.offset(task.objective)


def _cost_by_definition(chain: MarkovChain, labels: Labels, objective: Objective) -> float:
    n = chain.n_states
    weights = sparse.csr_array((np.ones(n), (np.arange(n), labels)))
    joint = chain.joint @ weights
    kept = information.mutual_information(weights.T @ joint)
    from_states = information.mutual_information(joint)  # I(X1;Y2)
    entropy = information.entropy(chain.stationary_distribution @ weights)
    beta, gamma = objective.beta, objective.gamma
    cost = (1.0 - 2.0 * beta) * (from_states - kept) + beta * (chain.redundancy_rate - kept)
    return cost + (gamma * (chain.entropy_rate - entropy + from_states) if gamma > 0.0 else 0.0)


def scored(task: Task, labels: Labels, record: Record | None = None) -> Found:
    """What a method found that does not know its cost by the task's objective."""
    cost = cost_of(task, labels)
    return Found(labels, cost, (cost,), record=record)


def combined(sums: tuple[float, float, float], objective: Objective) -> float:
    """Cost, up to a constant, from sum f(A), sum f(B) and sum f(nu)."""
    into, flow, nu = sums
    weights = objective.weights
    return float(weights.into * into - weights.flow * flow + nu)


def random_labels(n_states: int, n_groups: int, rng: np.random.Generator, *, allow_empty: bool) -> Labels:
    """Draw a random map; unless groups may be empty, each gets a member."""
    labels = rng.integers(0, n_groups, n_states).astype(np.int32)
    if not allow_empty:
        labels[rng.permutation(n_states)[:n_groups]] = np.arange(n_groups)
    return labels


def without_empty_groups(labels: Labels, n_groups: int) -> Labels:
    """Give each empty group one state of the group that is largest then."""
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
