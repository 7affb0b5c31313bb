"""Estimated time of a sweep, as a count: budgets are in this unit, so that they are the same on any machine.

All values are empirical.
"""

from __future__ import annotations

from klump.search.method import Task

# Logarithms per sweep above which multilevel search is the only method, without its random start.
MAX_SWEEP = 30_000_000
# Entries of A that are bounded in the time of one logarithm, on dense chains.
_DENSE_BOUNDS = 8
# States up to which a sparse chain fits in the first-level cache.
_CACHED_STATES = 300
# Time per transition of a larger sparse chain, in logarithms: memory accesses.
_SPARSE_TRANSITION = 25
# The same per state.
_SPARSE_VISIT = 60


def sweep_cost(task: Task) -> float:
    """Estimated time of a sweep, in logarithms, about 2 ns each; too high on sparse chains with many groups."""
    n, k = task.chain.n_states, task.n_groups
    transitions = task.chain.n_transitions
    weights = task.objective.weights
    into = 0 if weights.into == 0.0 else transitions * k
    between = 0 if weights.flow == 0.0 else 3 * n * min(k, max(1, transitions // n)) * k
    if not task.chain.is_sparse:
        return into // _DENSE_BOUNDS + between + transitions
    if n <= _CACHED_STATES:
        return into + between + transitions
    return into + between + _SPARSE_TRANSITION * transitions + _SPARSE_VISIT * n
