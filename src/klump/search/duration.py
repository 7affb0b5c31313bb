"""Expected time of a search, in seconds: counts of sweeps and mergers, times measured rates.

The rates are CPU times of one thread on one machine, and the counts are typical ones: chains differ by a factor of 2 to
3 in the sweeps that they need, and machines by as much in speed. An estimate is for a message, never for a decision.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from klump.search import multilevel, portfolio, stochastic
from klump.search.annealing import schedule
from klump.search.effort import MAX_SWEEP, sweep_cost
from klump.search.method import Task
from klump.search.objective import MIDDLE
from klump.search.registry import METHODS
from klump.search.sequential import n_restarts

# Seconds per logarithm of ``sweep_cost``, on dense and on sparse chains.
_DENSE_LOGARITHM = 2e-9
_SPARSE_LOGARITHM = 1e-9
# Groups of a sparse chain beyond which a sweep takes no more time.
_SPARSE_GROUPS = 20
# Sweeps of a descent from random labels, and of one from the optimum at the beta before.
_SWEEPS = 30
_WARM_SWEEPS = 10
# Sweeps at beta = 1/2 per start or cycle of multilevel search; its starts; cycles per stalled cycle that ends it.
_CYCLE_SWEEPS = 4.0
_MULTILEVEL_STARTS = 2
_CYCLES_PER_STALLED = 2
# Local searches from few large groups and single states.
_SINGLETON_SEARCHES = 7
# Seconds of multilevel search per cubed number of groups that are merged.
_MULTILEVEL_MERGER = 14e-9
# Seconds of greedy merging per squared state and successor.
_MERGER = 1.5e-9
# Successors of a group per successor of a state, while groups of a sparse chain are merged.
_SUCCESSORS = 17
# Seconds per transition and group of deterministic annealing, and per transition, group and gradient step.
_ANNEALED_TRANSITION = 1.2e-7
_GRADIENT = 2e-9
# Time of methods that are not listed here, in sweeps.
_OTHER_SWEEPS = 30
# Share of the budgets of perturbations and of tabu search that is spent before enough of them agree, by effort.
_PERTURBATION_SHARE = {"quick": 1.0, "balanced": 1.0, "thorough": 0.4}
_TABU_SHARE = 0.85
# Seconds per logarithm of tabu search.
_TABU_LOGARITHM = 1e-9


def expected_seconds(task: Task, method: str) -> float:
    """Expected CPU time of a method on an irreducible chain, compilation excluded; 0 where it is always short.

    It takes the chain as it is stored, which may not be the layout that is searched: converting it may take long.

    >>> from klump.sources.random_chains import random_chain
    >>> expected_seconds(Task(random_chain(20), 3, 0.5), "sequential") < 1.0
    True
    """
    if METHODS[method].lumps or not task.chain.is_irreducible:
        return 0.0
    if method == "auto":
        return _portfolio_seconds(task)
    if method == "stochastic":
        return _portfolio_seconds(task) + _gradient_seconds(task)
    return _component_seconds(task, method)


def _sweep_seconds(task: Task, beta: float | None = None) -> float:
    """Seconds per sweep, at the beta of the task unless another one is given."""
    task = task if beta is None else replace(task, beta=beta)
    if not task.chain.is_sparse:
        return _DENSE_LOGARITHM * sweep_cost(task)
    capped = replace(task, n_groups=min(task.n_groups, _SPARSE_GROUPS))
    return _SPARSE_LOGARITHM * sweep_cost(capped)


def _component_seconds(task: Task, method: str) -> float:
    """Expected time of one method other than the portfolio."""
    n, k, transitions = task.chain.n_states, task.n_groups, task.chain.n_transitions
    sweeps = min(_SWEEPS, task.max_sweeps)
    if method == "sequential":
        return n_restarts(task) * sweeps * _sweep_seconds(task)
    if method == "annealing":
        steps = len(schedule([task.beta], task.step)) - 1
        warm = min(_WARM_SWEEPS, task.max_sweeps) * steps * _sweep_seconds(task)
        return n_restarts(task) * sweeps * _sweep_seconds(task, 1.0) + warm
    if method.startswith("agglomerative"):
        leaves = n if task.initial is None else int(task.initial.max()) + 1
        return _MERGER * leaves**2 * min(leaves, _SUCCESSORS * transitions / n)
    if method == "deterministic-annealing":
        return _ANNEALED_TRANSITION * transitions * k
    if method == "multilevel":
        return _multilevel_seconds(task)
    return _OTHER_SWEEPS * _sweep_seconds(task)


def _multilevel_seconds(task: Task) -> float:
    run = multilevel._MultilevelRun(task)
    cycles = _MULTILEVEL_STARTS + _CYCLES_PER_STALLED * run.max_stalled
    merging = _MULTILEVEL_MERGER * (2.0 * task.n_groups) ** 3 if run._can_split() else 0.0
    seconds = cycles * (_CYCLE_SWEEPS * _sweep_seconds(task, MIDDLE.beta) + merging)
    if task.objective == MIDDLE:
        return seconds  # the last local search is from its own optimum
    sweeps = max(multilevel._MIN_TARGET_SWEEPS, multilevel._TARGET_BUDGET / sweep_cost(task))
    size = task.chain.n_transitions * task.n_groups
    splits_off = task.objective.traps_poor_starts and size <= multilevel._MAX_SPLIT_OFF_SIZE
    searches = _SINGLETON_SEARCHES if splits_off else 1
    return seconds + searches * min(sweeps, task.max_sweeps) * _sweep_seconds(task)


def _portfolio_seconds(task: Task) -> float:
    """Component methods, and the budgets of the effort."""
    n, k = task.chain.n_states, task.n_groups
    if k in (1, n) or portfolio._can_enumerate(n, k):
        return 0.0
    if sweep_cost(task) > MAX_SWEEP and not portfolio._merges_states(task):
        return _multilevel_seconds(task)
    plan = portfolio.make_plan(task)
    components = (method.__name__.replace("_", "-") for method in portfolio.component_methods(task))
    seconds = sum(_component_seconds(task, name) for name in components)
    if plan.steps > 0.0:
        return seconds + _TABU_SHARE * _TABU_LOGARITHM * portfolio.EFFORTS[task.effort].tabu_budget
    return seconds + _PERTURBATION_SHARE[task.effort] * plan.sweeps * _sweep_seconds(task)


def _gradient_seconds(task: Task) -> float:
    """Time of the starts of ``"stochastic"`` and of the best of them, which are continued."""
    run = stochastic._SoftRun(task)
    steps = run.n_starts * stochastic._STEPS + stochastic._N_CONTINUED * run.continued_steps
    return _GRADIENT * steps * task.chain.n_transitions * task.n_groups


def format_duration(seconds: float) -> str:
    """Format a duration with one significant digit, or two above 10.

    >>> format_duration(12.4), format_duration(57), format_duration(200), format_duration(9000), format_duration(4e5)
    ('12 s', '57 s', '3 min', '2.5 h', '110 h')
    """
    if seconds < 90.0:
        return f"{seconds:.0f} s"
    if seconds < 5400.0:
        return f"{seconds / 60.0:.0f} min"
    hours = seconds / 3600.0
    return f"{hours:.1f} h" if hours < 10.0 else f"{np.round(hours, -1):.0f} h"
