"""Ask for an aggregation: check the arguments, run a method, build the answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from importlib import metadata
from typing import Any

import numpy as np
from scipy import sparse

from klump import __version__
from klump.aggregation.aggregation import Aggregation
from klump.aggregation.constraints import (
    NO_CONSTRAINTS,
    GroupConstraints,
    check_constraints,
    number_fixed_groups,
)
from klump.aggregation.expectation import announce_search
from klump.aggregation.lagged import aggregate_at_lag
from klump.aggregation.mapping import Mapping, as_mapping, from_labels
from klump.aggregation.numbering import number_along_path, rank_by_mass
from klump.aggregation.options import TOLERANCE, Options, check_method
from klump.aggregation.path import AggregationPath
from klump.arguments import (
    DEFAULT_SEED,
    Progress,
    check_beta,
    check_betas,
    check_count,
    check_step,
)
from klump.chain import ChainLike, as_chain
from klump.checkpoints import Checkpoint
from klump.compilation import need
from klump.errors import UNSET, InvalidArgumentError, Setting
from klump.parallel import one_thread
from klump.search.annealing import annealing_path, schedule
from klump.search.checkpointing import checkpointed
from klump.search.deadline import TimeLimitReached, run_until
from klump.search.descent import descend_once
from klump.search.method import Found, Task
from klump.search.problem import SMALL, to_search_format
from klump.search.registry import DEFAULT_EFFORT, METHODS, names_of


def aggregate(
    chain: ChainLike,
    n_states: int | None = None,
    beta: float = 0.5,
    method: str = "auto",
    n_init: int = 20,
    random_state: Any = DEFAULT_SEED,
    n_jobs: int | None = None,
    *,
    seed: Any = UNSET,
    gamma: float = 0.0,
    lag: int = 1,
    initial: Any = None,
    step: float = 0.1,
    max_sweeps: int = 100,
    allow_empty: bool = False,
    tolerance: float | None = None,
    effort: str = DEFAULT_EFFORT,
    time_limit: float | None = None,
    respect_labels: bool | Sequence[str] = False,
    fixed: Any = None,
    must_link: Any = None,
    cannot_link: Any = None,
    min_mass: float | None = None,
    progress: Progress | None = None,
    checkpoint: Checkpoint | None = None,
    resume: bool = False,
) -> Aggregation:
    """Aggregate a chain to exactly ``n_states`` groups.

    Parameters
    ----------
    chain
        A MarkovChain, a transition matrix (dense or sparse), or an object with one.
    n_states
        The number of groups wanted; left out for a method that finds it itself.
    beta
        The cost to minimise: 0 lumpability (a Markov aggregate), 1/2 predictability, 1 the information bottleneck.
    method
        ``"auto"`` (a portfolio of searches, the best answer), ``"sequential"`` (Algorithm 1), ``"annealing"``
        (Algorithm 2), ``"spectral"`` (groups cut in two along eigenvectors), ``"spectral-sign"`` (the same, only at the
        sign of the eigenvector), ``"agglomerative"`` (groups merged two by two, by the cost),
        ``"agglomerative-relaxed"`` (by a bound of the cost of lumpability),
        ``"deterministic-annealing"`` (groups that split while a temperature falls), ``"stochastic"`` (a state may be
        split between groups) or ``"exact"`` (the coarsest exact lumping; see the notes).
    n_init
        Restarts of the sequential and annealing methods, also within ``"auto"``; starts of ``"stochastic"``.
    random_state
        Seed. The same seed gives the same answer, whatever ``n_jobs`` and the joblib backend are.
    n_jobs
        Parallel starts, as in joblib; threads unless ``joblib.parallel_config`` selects another backend.
    seed
        Another name of ``random_state``, as on the command line; pass one of them.
    gamma
        Weight of the loss of generated information, C_G = H(X2|X1) - H(Y2|X1), 0 or more: the search minimises
        C_beta + gamma C_G. Only for methods that minimise the cost: not for ``"agglomerative-relaxed"``,
        ``"deterministic-annealing"`` and ``"exact"``.
    lag
        Groups of the chain P^lag of every ``lag``-th state, instead of one step; the answer's ``original`` is that
        chain. See the notes for large sparse chains.
    initial
        A map to start from (labels for each state, ``n_states`` groups, or fewer with ``allow_empty``); for the
        agglomerative methods ``n_states`` groups or more, which are merged; for ``"exact"`` any number of groups,
        which are only ever split.
    step
        Step of beta in annealing.
    max_sweeps
        Largest number of sweeps per descent of Algorithm 1.
    allow_empty
        Allow groups to become empty, and initial maps with empty groups, as the paper's algorithms do; the answer may
        then have fewer groups than requested. Only for ``"sequential"`` and ``"annealing"``.
    tolerance
        Largest difference between transition probabilities to a group that ``"exact"`` takes as equal; 1e-10 if left
        out, at least 1e-11. Only for ``"exact"``.
    effort
        ``"quick"``, ``"balanced"`` or ``"thorough"``: how long ``"auto"`` searches. An effort is a number of steps, so
        that the same seed gives the same answer on any machine. Only for ``"auto"``; other methods have ``n_init``.
    time_limit
        Seconds after which the search ends with the best answer so far, marked ``interrupted`` and with the limit in
        ``interrupted_after``; what is found by then depends on the machine. The clock is read between sweeps and
        between starts, and the time that kernels take to compile counts. A search does not end without an answer: it
        completes its first start, which for most methods is one descent from random labels, and methods that have no
        answer before their end are replaced by such a descent. Not for ``"exact"``.
    respect_labels
        Keep states with different sets of labels (:attr:`MarkovChain.labels`) in different groups; a list respects
        only the labels in it. True leaves out a label ``init`` of the initial states. For ``"auto"`` and ``"exact"``.
    fixed
        Dict from states to groups: the number that the group is to have, or a name that its states have in common.
        States, here and below, are given by name, or by index where that is no name. This and the following three are
        for ``"auto"``; constraints that contradict each other are refused.
    must_link
        Pairs of states to keep in the same group.
    cannot_link
        Pairs of states to keep in different groups.
    min_mass
        Least stationary mass of a group.
    progress
        Called with ``(done, total, best_cost)``: the number of finished and of planned steps, and the lowest cost so
        far in bits, NaN while there is none. On the largest chains ``total`` may grow during the search, and the last
        call may have done < total.
    checkpoint
        Name of a file in which each finished part of the search is stored: a restart, a start, a cycle. It must
        not exist, unless ``resume`` is set, and is left there at the end.
    resume
        Continue the run that wrote ``checkpoint``, which may have been killed; begin it if there is no such file.
        The answer is the same, bit for bit, as without an interruption. A checkpoint of another question or
        version, or a damaged one, is an error.

    Returns
    -------
    Aggregation
        On Ctrl-C or after the time limit the best one found before, marked ``interrupted``.

    Notes
    -----
    ``"auto"`` enumerates all partitions if there are at most 100,000 (12 states in 3 groups, say). Otherwise it first
    runs other methods with the same seed, and is never costlier than those. With ``effort="balanced"`` these are, up to
    300 states, all that give a deterministic map; ``"thorough"`` runs them on larger chains too, except the
    agglomerative ones above 1,200 states; ``"quick"`` runs annealing alone, up to 300 states. Deterministic annealing
    is left out where transitions times groups exceed 2.5e6, and all of them where a sweep takes more than 3e7
    logarithms (3,000 dense states in 50 groups, say). Above 300 states ``"auto"`` begins with a multilevel search.

    ``"stochastic"`` is never costlier than ``"auto"``, and its answer is deterministic if no stochastic map is cheaper,
    as always at beta = 1. The nearer beta is to 0, the less information its groups keep: at beta = 0 groups drawn
    independently of the state have cost 0.

    ``"exact"`` takes no ``n_states``. It splits the groups of ``initial`` until all states of a group lead to each
    group with the same probability, and no further: the groups are then a Markov chain of their own, and no other
    such partition has fewer (:func:`klump.is_lumpable`). As rows sum to 1, one group of all states is always an
    exact lumping; so without ``initial`` that is the answer, and a note says so. Pass labels that must stay apart:
    the observation or the reward of each state, whether it is a goal. The chain need not be irreducible; if it is
    not, there are no stationary masses and no costs, and groups are numbered by their first states.

    ``lag``: P^lag is formed if the chain has at most 5,000 states or P^lag at most 20,000,000 transitions. Otherwise
    the chain is first aggregated to microstates, four per group but 200 to 1,000, with ``effort="quick"``, and the
    exact lag-step chain of the microstates is searched. The answer then has ``microstates``, and ``original``, costs
    and chain are those of one step, as a note says: I(X1;X_1+lag) is not known.

    Examples
    --------
    >>> P = [[0.5, 0.4, 0.1, 0.0], [0.4, 0.5, 0.0, 0.1], [0.1, 0.0, 0.4, 0.5], [0.0, 0.1, 0.5, 0.4]]
    >>> aggregate(P, 2, beta=0.8).groups
    [(0, 1), (2, 3)]
    >>> P = [[1, 0, 0, 0, 0], [0.5, 0, 0.5, 0, 0], [0, 0.5, 0, 0.5, 0], [0, 0, 0.5, 0, 0.5], [0, 0, 0, 0, 1]]
    >>> aggregate(P, method="exact", initial=["end", "way", "way", "way", "end"]).groups
    [(0, 4), (1, 3), (2,)]
    """
    chain = as_chain(chain)
    lag = check_count("lag", lag, most=2**60)
    if lag != 1:
        return aggregate_at_lag(aggregate, locals())
    traits = METHODS[check_method(method)]
    if allow_empty and not traits.may_empty:
        raise InvalidArgumentError(
            ("is not for ", Setting("method", method)),
            argument="allow_empty",
            value=True,
            remedy=f"choose one of the paper's algorithms: {', '.join(names_of(lambda method: method.may_empty))}",
        )
    if tolerance is None:
        tolerance = TOLERANCE
    elif not traits.takes_tolerance:
        raise InvalidArgumentError(
            ("is not for ", Setting("method", method)),
            argument="tolerance",
            value=tolerance,
            remedy=f"leave it out, or choose {', '.join(names_of(lambda method: method.takes_tolerance))}",
        )
    options = Options(
        n_init,
        random_state,
        n_jobs,
        initial,
        step,
        max_sweeps,
        allow_empty,
        progress,
        tolerance,
        gamma,
        seed,
        effort,
        time_limit,
        check_constraints(
            chain,
            respect_labels=respect_labels,
            fixed=fixed,
            must_link=must_link,
            cannot_link=cannot_link,
            min_mass=min_mass,
        ),
    )
    task = options.task(chain, n_states, check_beta(beta), method)
    with checkpointed(task, checkpoint, resume=resume, function="aggregate", method=method) as task:
        announce_search([task], method)
        return build_answer(task, run_method(task, method), method, options.constraints)


def run_method(task: Task, method: str) -> Found:
    """Run a method on a task, with BLAS on one thread, until the deadline of the task."""
    task = replace(task, chain=to_search_format(task.chain)) if task.chain.is_irreducible else task
    kind = "sparse" if task.chain.is_sparse else "dense"
    size = ", small" if task.chain.n_states <= SMALL else ""
    constrained = "" if task.constraints is None else ", constraints"
    with one_thread(), need(f"{method}{constrained}, {kind}{size}"):
        try:
            with run_until(task.deadline):
                return task.run_nested(method, METHODS[method].run)
        except TimeLimitReached as reason:
            # The method has no answer before its end.
            return descend_once(task).interrupt(reason)


def build_answer(
    task: Task, found: Found, method: str, constraints: GroupConstraints = NO_CONSTRAINTS
) -> Aggregation:
    """Build the answer from the map that a method found: groups in order of decreasing mass, without empty ones.

    Groups with a fixed number, or a fixed name, have that.
    """
    mapping = _found_mapping(task, found)
    numbers = rank_by_mass(task.chain, mapping)
    if mapping.labels is None:
        order = np.argsort(numbers)
        mapping = Mapping(sparse.csr_array(mapping.weights[:, order]), None)
    else:
        labels = numbers[mapping.labels]
        n_groups = int(labels.max()) + 1
        mapping = from_labels(number_fixed_groups(labels, constraints, n_groups), n_groups)
    answer = _build_aggregation(task, found, method, task.beta, mapping, constraints)
    names: dict[int | str, str] = {
        int(answer.labels[state]): key for state, key in constraints.fixed if isinstance(key, str)
    }
    return answer.with_names(names) if names else answer


def beta_path(
    chain: ChainLike,
    n_states: int,
    betas: Sequence[float] | None = None,
    n_init: int = 20,
    random_state: Any = DEFAULT_SEED,
    n_jobs: int | None = None,
    *,
    seed: Any = UNSET,
    gamma: float = 0.0,
    initial: Any = None,
    step: float = 0.1,
    max_sweeps: int = 100,
    allow_empty: bool = False,
    time_limit: float | None = None,
    progress: Progress | None = None,
    checkpoint: Checkpoint | None = None,
    resume: bool = False,
) -> AggregationPath:
    """Anneal once (Algorithm 2) and keep the aggregation at each beta.

    The parameters are those of :func:`aggregate`; ``betas`` are sorted downwards and default to the schedule of
    Algorithm 2: 1, 1 - ``step``, 1 - 2 ``step``, ..., 0. Between betas that are given the run also stops at these. If
    all betas are among them, each answer is the one that ``method="annealing"`` finds for that beta. Groups keep their
    numbers along the path; with ``allow_empty``, groups that become empty have the highest ones. The best cost that
    ``progress`` gets is the one at the smallest beta, NaN before the last step. The time limit ends the restarts at
    beta = 1; the best of them is still annealed.

    Examples
    --------
    >>> P = [[0.5, 0.4, 0.1, 0.0], [0.4, 0.5, 0.0, 0.1], [0.1, 0.0, 0.4, 0.5], [0.0, 0.1, 0.5, 0.4]]
    >>> [answer.groups for answer in beta_path(P, 2, betas=[1, 0.5])]
    [[(0, 1), (2, 3)], [(0, 1), (2, 3)]]
    """
    chain = as_chain(chain)
    wanted = schedule([0.0], check_step(step)) if betas is None else check_betas(betas)
    wanted = sorted({round(float(beta), 12) for beta in wanted}, reverse=True)
    options = Options(
        n_init,
        random_state,
        n_jobs,
        initial,
        step,
        max_sweeps,
        allow_empty,
        progress,
        gamma=gamma,
        seed=seed,
        time_limit=time_limit,
    )
    task = options.task(chain, n_states, wanted[-1], "annealing")
    engine = need(f"annealing, {'sparse' if chain.is_sparse else 'dense'}")
    journal = checkpointed(task, checkpoint, resume=resume, function="beta_path", betas=tuple(wanted))
    with journal as task, one_thread(), engine, run_until(task.deadline):
        announce_search([task], "annealing")
        path = annealing_path(task, wanted)
    rank = rank_by_mass(chain, _found_mapping(task, path[0]))
    numbered = number_along_path([found.labels for found in path], rank)
    return AggregationPath(
        tuple(
            _build_aggregation(task, found, "annealing", beta, from_labels(labels, int(labels.max()) + 1))
            for beta, found, labels in zip(wanted, path, numbered, strict=True)
        )
    )


def _found_mapping(task: Task, found: Found) -> Mapping:
    """The map that was found, its groups numbered as by the method."""
    if found.weights is not None:
        return as_mapping(found.weights, task.chain.n_states)
    return from_labels(found.labels, max(task.n_groups, int(found.labels.max()) + 1))


def _build_aggregation(
    task: Task,
    found: Found,
    method: str,
    beta: float,
    mapping: Mapping,
    constraints: GroupConstraints = NO_CONSTRAINTS,
) -> Aggregation:
    return Aggregation(
        task.chain,
        mapping,
        beta=beta,
        method=method,
        random_state=task.seed,
        trace=found.trace,
        interrupted=found.interrupted,
        made_with=versions(),
        record=found.record,
        gamma=task.gamma,
        n_asked=task.n_groups if task.allow_empty else None,
        effort=task.effort if METHODS[method].takes_effort else None,
        interrupted_after=found.interrupted_after,
        constraints=constraints,
    )


@cache
def versions() -> tuple[tuple[str, str], ...]:
    """Versions of klump and of the packages that its results depend on."""
    others = tuple((name, metadata.version(name)) for name in ("numpy", "scipy", "numba"))
    return (("klump", __version__), *others)
