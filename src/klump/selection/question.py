"""Choose a number of groups and a beta: check the arguments, collect the evidence, judge it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from scipy import sparse

from klump.aggregation.many import check_method_with_number
from klump.aggregation.options import Options
from klump.arguments import (
    DEFAULT_SEED,
    Progress,
    check_betas,
    check_count,
    check_groups,
    check_progress,
    check_seed,
)
from klump.chain import ChainLike, MarkovChain, as_chain
from klump.chain.wording import kind_of
from klump.checkpoints import Checkpoint
from klump.errors import UNSET, InvalidArgumentError
from klump.resampling import SequenceCounts
from klump.resampling.draws import Draws, GivenChains, estimate_chain
from klump.search.checkpointing import checkpointed
from klump.search.deadline import limit_of
from klump.search.registry import DEFAULT_EFFORT, METHODS, names_of
from klump.selection.evidence import N_LARGER, Evidence, Plan
from klump.selection.held_out import read_held_out
from klump.selection.judgement import Judgement, judge
from klump.selection.searches import Runner
from klump.selection.selection import Selection
from klump.selection.table import SelectionTable

# Default numbers of groups.
_DEFAULT_N_STATES = range(2, 11)
# Default betas: predictability, the information bottleneck, and between them.
DEFAULT_BETAS = (0.5, 0.8, 1.0)
# Default number of resamples of counts.
_DEFAULT_RESAMPLES = 5
# Effort of "auto" by default: a selection takes hundreds of searches.
_DEFAULT_EFFORT = "quick"
# Largest distance of a count from a whole number, relative to the count: rounding of P times the sum of the row.
_COUNT_TOLERANCE = 1e-6


def select(
    chain: ChainLike | SequenceCounts,
    n_states: Iterable[int] | None = None,
    betas: Iterable[float] = DEFAULT_BETAS,
    method: str = "auto",
    n_init: int = 20,
    random_state: Any = DEFAULT_SEED,
    n_jobs: int | None = None,
    *,
    seed: Any = UNSET,
    gamma: float = 0.0,
    effort: str | None = None,
    n_restarts: int = 2,
    n_shuffles: int = 9,
    n_resamples: int | None = None,
    held_out: Any = None,
    time_limit: float | None = None,
    progress: Progress | None = None,
    checkpoint: Checkpoint | None = None,
    resume: bool = False,
) -> Selection:
    """Recommend a number of groups and a beta for a chain, or say that there is no clear answer.

    Every number of groups is searched at every beta. A number is recommended if the cost curve bends there, its groups
    keep at least 5 % of the mutual information, searches with other seeds and of resampled counts find the same groups,
    and the step to them gains more than on shuffled chains, which have the groups before the step and no other
    structure. The curve bends if the step gains at least 3 times as much as every later one, or twice as much if the
    next step gains no more than on shuffled chains. If several numbers do, the one with the largest bend is
    recommended, and a note names the others.

    Parameters
    ----------
    chain
        A MarkovChain, a transition matrix (dense or sparse), an object with one, or :class:`klump.SequenceCounts`,
        whose sequences are then resampled as a whole.
    n_states
        The numbers of groups, 2 or more; 2 to 10 if left out, at most the number of states. The two numbers beyond the
        largest one are searched, too, as its step must be compared with later ones.
    betas
        The values of beta. Below 1/2 groups become trivial, and are never recommended then.
    method, n_init, random_state, seed, gamma
        As in :func:`klump.aggregate`, for every search. The method must return partitions.
    effort
        Effort of ``"auto"``; ``"quick"`` if left out.
    n_restarts
        Searches with other seeds per cell; 0 leaves the agreement between restarts out.
    n_shuffles
        Shuffled chains per test of a step, at least 1.
    n_resamples
        Chains drawn from the posterior given the counts, each searched for every cell: 5 if left out and the chain was
        estimated from counts, else none.
    held_out
        Sequences that the chain was not estimated from, as in :meth:`klump.MarkovChain.from_sequences`, or
        :class:`klump.SequenceCounts`, for another lag than 1: the table then has their bits per step.
    n_jobs
        Searches in parallel, as in joblib; each takes one worker. The answer does not depend on it.
    time_limit
        Seconds for everything together; what is found by then is returned without a recommendation.
    progress
        Called with ``(done, total, best_cost)``: the number of finished and of planned searches, the tests of steps
        counting as one, and NaN, as the costs of different searches are not comparable.
    checkpoint, resume
        As in :func:`klump.aggregate`; every search is a part.

    Returns
    -------
    Selection
        ``n_states`` and ``beta`` (None: no clear answer), ``reason``, ``table``, ``aggregation``. On Ctrl-C or after
        the time limit without a recommendation, marked ``interrupted``.

    Examples
    --------
    >>> from klump.sources.random_chains import block_chain, random_chain
    >>> chain, planted = block_chain((8, 10, 12), alpha=0.9, eps=0.2)
    >>> choice = select(chain, range(2, 5), betas=[0.5])
    >>> choice
    Selection(30 states: 3 groups, beta=0.5)
    >>> select(random_chain(30), range(2, 4), betas=[0.5]).n_states is None
    True
    """
    if METHODS[check_method_with_number(method)].soft:
        names = names_of(lambda method: not (method.soft or method.finds_number))
        raise InvalidArgumentError(
            "returns soft maps, whose groups cannot be compared",
            argument="method",
            value=method,
            remedy=f"choose one of {', '.join(names)}",
        )
    number_of_seed = check_seed(random_state, seed)
    chain, draws = _as_counted_chain(chain, number_of_seed)
    numbers = _check_numbers(n_states, chain.n_states)
    wanted = tuple(sorted(set(check_betas(betas))))
    if effort is None:
        effort = _DEFAULT_EFFORT if METHODS[method].takes_effort else DEFAULT_EFFORT
    options = Options(n_init, number_of_seed, n_jobs, gamma=gamma, effort=effort, time_limit=time_limit)
    task = options.task(chain, numbers[0], wanted[0], method)
    plan = Plan(
        numbers,
        tuple(k for k in range(numbers[-1] + 1, numbers[-1] + 1 + N_LARGER) if k <= chain.n_states),
        wanted,
        check_count("n_restarts", n_restarts, least=0),
        check_count("n_shuffles", n_shuffles),
        _check_resamples(n_resamples, draws),
        draws,
        None if held_out is None else read_held_out(held_out, chain),
    )
    # Properties that every search needs are computed once, and pickled with the chain.
    _ = chain.stationary_distribution, chain.redundancy_rate
    question: dict[str, Any] = {
        "method": method,
        "n_states": numbers,
        "beta": wanted,
        "n_restarts": plan.n_restarts,
        "n_shuffles": plan.n_shuffles,
        "n_resamples": plan.n_resamples,
        "draws": draws.chains if isinstance(draws, GivenChains) else draws,
    }
    with checkpointed(task, checkpoint, resume=resume, function="select", **question) as task:
        runner = Runner(task, method, plan.n_steps, check_progress(progress))
        return _decide(Evidence(plan, runner))


def _decide(evidence: Evidence) -> Selection:
    """Collect and judge; after an interruption, unless there is no answer of any cell, keep what is there."""
    task, method = evidence.runner.task, evidence.runner.method
    interrupted, limit = False, None
    try:
        evidence.collect()
        steps = evidence.steps()
        rows = evidence.rows(steps)
        judgement = judge(evidence, steps, rows)
        evidence.runner.advance()
    except KeyboardInterrupt as reason:
        if not evidence.answers:
            raise
        interrupted, limit = True, limit_of(reason)
        rows = evidence.rows(evidence.steps())
        judgement = Judgement(None, "no answer: interrupted before all searches were complete", ())
    return Selection(
        task.chain,
        judgement.aggregation,
        judgement.reason,
        SelectionTable(tuple(rows.values())),
        evidence.spectrum,
        judgement.notes,
        method,
        task.seed,
        task.effort if METHODS[method].takes_effort else None,
        task.gamma,
        interrupted,
        limit,
    )


def _as_counted_chain(given: Any, seed: int) -> tuple[MarkovChain, Draws | GivenChains | None]:
    """Return the chain, and its resamples if its counts are known."""
    if isinstance(given, SequenceCounts):
        return estimate_chain(given, None, 0.0, None, seed)
    chain = as_chain(given)
    counted = chain._counted
    if counted is None or any(kind_of(change) != "restricted" for change in chain.applied):
        return chain, None
    matrix = sparse.csr_array(chain.transition_matrix)
    data = matrix.data * np.repeat(counted, np.diff(matrix.indptr))
    whole = np.rint(data)
    if not (whole >= 1).all() or (np.abs(data - whole) > _COUNT_TOLERANCE * whole).any():
        return chain, None  # weights, not counts
    counts = sparse.csr_array((whole, matrix.indices, matrix.indptr), shape=matrix.shape)
    if (counts != counts.T).nnz == 0:
        return chain, None  # weights of an undirected graph
    return chain, Draws(counts, chain.is_sparse, seed)


def _check_numbers(n_states: Any, most: int) -> tuple[int, ...]:
    """Return the distinct numbers of groups in ascending order."""
    if most < 2:
        raise InvalidArgumentError("a chain of one state has no groups to choose", argument="chain")
    if n_states is None:
        return tuple(number for number in _DEFAULT_N_STATES if number <= most)
    if isinstance(n_states, str) or not isinstance(n_states, Iterable):
        raise InvalidArgumentError(
            "must be several whole numbers, like range(2, 11)", argument="n_states", value=n_states
        )
    numbers = sorted({check_groups(number, most, "states of the chain") for number in n_states})
    if not numbers:
        raise InvalidArgumentError(
            "is empty", argument="n_states", remedy="give at least one number of groups"
        )
    if numbers[0] == 1:
        raise InvalidArgumentError(
            "is a single group of all states, with which the first step is compared anyway",
            argument="n_states",
            value=1,
            remedy="leave it out",
        )
    return tuple(numbers)


def _check_resamples(n_resamples: Any, draws: Draws | GivenChains | None) -> int:
    if n_resamples is None:
        return _DEFAULT_RESAMPLES if draws is not None else 0
    number = check_count("n_resamples", n_resamples, least=0)
    if number and draws is None:
        raise InvalidArgumentError(
            "needs the numbers of observed transitions, which this chain does not have",
            argument="n_resamples",
            value=number,
            remedy="leave it out, or pass a chain that is estimated from counts",
        )
    return number
