"""Credible intervals and bootstrap of an aggregation: check the arguments, compute the samples, build the answer."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from klump.aggregation import Aggregation, Costs
from klump.aggregation.expectation import announce_search
from klump.aggregation.many import check_method_with_number, run_on_one_worker
from klump.aggregation.mapping import Mapping, as_mapping
from klump.aggregation.options import Options
from klump.aggregation.question import build_answer, run_method
from klump.arguments import DEFAULT_SEED, Progress, check_beta, check_count, check_progress, check_seed
from klump.chain import MarkovChain
from klump.checkpoints import Checkpoint, storable
from klump.choices import Restriction
from klump.errors import UNSET, InvalidArgumentError, Setting
from klump.parallel import one_thread
from klump.resampling.draws import Draws, GivenChains, estimate_chain
from klump.resampling.intervals import Posterior
from klump.resampling.stability import Bootstrap, match_labels
from klump.search.checkpointing import checkpointed
from klump.search.deadline import TimeLimitReached, interruption, limit_of
from klump.search.method import Labels, Task
from klump.search.registry import DEFAULT_EFFORT

# Largest total size of the aggregated chains of all samples, in float64 entries: 800 MB.
_MAX_STORED_ENTRIES = 100_000_000


def posterior(
    counts: Any,
    labels_or_mapping: Any,
    beta: float = 0.5,
    *,
    n_samples: int = 1000,
    prior: float = 0.0,
    states: Iterable[Hashable] | None = None,
    restrict: Restriction | None = None,
    restart: float | None = None,
    initial: Any = None,
    random_state: Any = DEFAULT_SEED,
    n_jobs: int | None = None,
    seed: Any = UNSET,
    progress: Progress | None = None,
) -> Posterior:
    """Posterior distribution of the aggregated chain of given groups, if the chain was estimated from counts.

    The rows of the transition matrix are drawn from Dirichlet distributions with the counts as parameters, and each
    sample is aggregated by the same groups, with its own stationary distribution. There is no search, so it is cheap.

    Parameters
    ----------
    counts
        Square matrix of numbers of transitions, dense or sparse; a table; an object with a ``count_matrix``; or a
        Bayesian posterior of deeptime, whose own samples are then taken.
        Transitions are taken as independent observations: divide counts of overlapping windows by their lag, or pass
        :class:`klump.SequenceCounts`, which resamples whole sequences or blocks.
    labels_or_mapping
        The group of each state, an n x k stochastic matrix, or an :class:`Aggregation`.
    beta
        The beta of the costs.
    n_samples
        Number of chains to draw; of a posterior of deeptime, as many as it has if these are fewer.
    prior
        Added to the count of every transition that was observed. 0 is the Bayesian bootstrap, whose mean is the
        estimate from the counts; larger values shrink rows towards the uniform distribution on the observed
        transitions. Other transitions keep probability 0: add pseudocounts to the counts themselves if that is wrong.
    states
        Names of the states.
    restrict
        Part to keep if the counts are not irreducible, as in :class:`klump.MarkovChain`: ``"connected"`` or
        ``"closed"``. Labels are then those of its states.
    restart, initial
        Return to an initial distribution with a probability per step, as in :class:`klump.MarkovChain`: also from dead
        ends, which have no counts. It may add a state, ``"(restart)"``. The initial distribution is not resampled; for
        :class:`klump.SequenceCounts` it is that of the first symbols, if it is left out.
    random_state
        Seed. The same seed gives the same samples, whatever ``n_jobs`` and the joblib backend are.
    n_jobs
        Samples that are computed in parallel, as in joblib.
    seed
        Another name of ``random_state``, as on the command line; pass one of them.
    progress
        Called with ``(done, total, best_cost)``: the number of finished and of planned samples, and NaN, as the costs
        of different samples are not comparable.

    Returns
    -------
    Posterior
        On Ctrl-C the finished samples, marked ``interrupted``.

    Examples
    --------
    >>> found = posterior([[80, 15, 5], [20, 70, 10], [2, 3, 95]], [0, 0, 1])
    >>> lower, upper = found.transition_matrix_interval(0.95)
    >>> bool((upper[0] - lower[0] < 0.1).all())
    True
    """
    seed = check_seed(random_state, seed)
    chain, draws = estimate_chain(counts, states, prior, restrict, seed, restart=restart, initial=initial)
    n_samples = _limit_n_samples(n_samples, draws)
    mapping = as_mapping(labels_or_mapping, chain.n_states)
    estimate = Aggregation(chain, mapping, check_beta(beta), random_state=seed)
    task = Options(random_state=seed, n_jobs=n_jobs).task(chain, mapping.n_groups, estimate.beta, "auto")
    samples, _ = _compute_samples(task, _SamplePlan(draws, mapping, estimate.beta), n_samples, progress)
    return _posterior(estimate, samples, seed, n_samples)


def bootstrap(
    counts: Any,
    n_states: int,
    beta: float = 0.5,
    *,
    gamma: float = 0.0,
    n_samples: int = 100,
    method: str = "auto",
    n_init: int = 20,
    prior: float = 0.0,
    states: Iterable[Hashable] | None = None,
    restrict: Restriction | None = None,
    restart: float | None = None,
    initial: Any = None,
    random_state: Any = DEFAULT_SEED,
    n_jobs: int | None = None,
    seed: Any = UNSET,
    effort: str = DEFAULT_EFFORT,
    time_limit: float | None = None,
    progress: Progress | None = None,
    checkpoint: Checkpoint | None = None,
    resume: bool = False,
) -> Bootstrap:
    """Bayesian bootstrap of an aggregation, its groups included, if the chain was estimated from counts.

    The estimated chain is aggregated, and so is each bootstrap sample: a chain drawn from the posterior, as in
    :func:`posterior`. Where the samples agree, the data determine the groups; where they do not, a few more data might
    change them.

    Parameters
    ----------
    counts, prior, states, restrict, restart, initial
        As in :func:`posterior`.
    n_states, beta, gamma
        As in :func:`klump.aggregate`.
    n_samples
        Number of chains to draw and aggregate. The time is that of ``n_samples`` aggregations.
    method, n_init, effort
        As in :func:`klump.aggregate`, for the estimate and for every sample.
    time_limit
        Seconds for the estimate and all samples together; the samples that are complete by then are kept. If there
        are none, that is an error.
    random_state
        Seed, of the draws and of every search. The answer does not depend on ``n_jobs`` or the joblib backend.
    n_jobs
        Samples that are searched in parallel, as in joblib: threads unless ``joblib.parallel_config`` selects another
        backend. Each sample takes one worker.
    seed
        Another name of ``random_state``, as on the command line; pass one of them.
    progress
        Called with ``(done, total, best_cost)``: the number of finished and of planned samples, and NaN, as the costs
        of different samples are not comparable.
    checkpoint, resume
        As in :func:`klump.aggregate`: a file in which finished samples, and finished parts of others, are stored.

    Returns
    -------
    Bootstrap
        On Ctrl-C or after the time limit the finished samples, marked ``interrupted``.

    Examples
    --------
    >>> found = bootstrap([[80, 15, 5], [20, 70, 10], [2, 3, 95]], 2, n_samples=20)
    >>> found
    Bootstrap(3 states in 2 groups, 20 samples, mean agreement 1.000)
    """
    check_method_with_number(method)
    options = Options(
        n_init,
        check_seed(random_state, seed),
        n_jobs,
        gamma=gamma,
        effort=effort,
        time_limit=time_limit,
    )
    chain, draws = estimate_chain(
        counts, states, prior, restrict, options.random_state, restart=restart, initial=initial
    )
    n_samples = _limit_n_samples(n_samples, draws)
    task = options.task(chain, n_states, check_beta(beta), method)
    _check_n_samples(n_samples, task.n_groups)
    check_progress(progress)
    try:
        question: dict[str, Any] = {"method": method, "n_samples": n_samples}
        question["draws"] = draws.chains if isinstance(draws, GivenChains) else draws
        with checkpointed(task, checkpoint, resume=resume, function="bootstrap", **question) as task:
            what = f"k = {task.n_groups}, {n_samples} samples"
            announce_search([task], method, what, times=n_samples + 1, workers=n_jobs)
            found = run_method(task, method)
            found.raise_if_interrupted()  # the samples do not run
            estimate = build_answer(task, found, method)
            # A copy of the task has no cached tables, which would be pickled with it.
            search = _SampleSearch(replace(task), method, estimate.labels)
            plan = _SamplePlan(draws, estimate.map, task.beta, search)
            samples, limit = _compute_samples(task, plan, n_samples, progress)
    except TimeLimitReached as reason:
        raise InvalidArgumentError(
            "passed before the first sample was complete",
            argument="time_limit",
            value=reason.seconds,
            remedy="pass a longer one",
        ) from None
    own = [sample.own for sample in samples if sample.own is not None]
    return Bootstrap(
        _posterior(estimate, samples, task.seed, n_samples, limit),
        np.stack([labels for labels, _ in own]),
        tuple(costs for _, costs in own),
    )


@dataclass(frozen=True, eq=False)
class _SampleSearch:
    """Aggregates drawn chains, and matches their groups with those of the estimate."""

    task: Task
    """The task of the estimate."""
    method: str
    labels: Labels
    """Labels of the estimate."""

    def aggregate(self, chain: MarkovChain, number: int) -> Aggregation:
        journal = None if self.task.journal is None else self.task.journal.scope(f"sample {number}")
        task = replace(self.task, chain=chain, journal=journal)
        return build_answer(task, run_on_one_worker(task, self.method), self.method)

    def match(self, labels: Labels) -> Labels:
        mass = self.task.chain.stationary_distribution
        return match_labels(labels, self.labels, mass, self.task.n_groups)


@dataclass(frozen=True, eq=False)
class _SamplePlan:
    """The arguments that all samples share; pickled once for other processes."""

    draws: Draws | GivenChains
    mapping: Mapping
    beta: float
    search: _SampleSearch | None = None
    """None if the samples are only scored, not searched."""


@storable
class _ChainSample(NamedTuple):
    """The estimate's groups on one drawn chain and, after a search, the labels and costs of its own aggregation."""

    matrix: NDArray[np.float64]
    masses: NDArray[np.float64]
    costs: Costs
    own: tuple[NDArray[Any], Costs] | None
    interrupted: bool
    interrupted_after: float | None


def _compute_sample(plan: _SamplePlan, number: int) -> _ChainSample:
    with one_thread():
        chain = plan.draws.chain(number)
        given = Aggregation(chain, plan.mapping, plan.beta)
        matrix: Any = given.chain.transition_matrix
        matrix = matrix.toarray() if given.chain.is_sparse else matrix
        if plan.search is None:
            return _ChainSample(matrix, given.masses, given.costs, None, False, None)
        own = plan.search.aggregate(chain, number)
        # The smallest unsigned type: int64 labels of many samples take as much memory as a large chain.
        labels = plan.search.match(own.labels).astype(np.min_scalar_type(plan.mapping.n_groups - 1))
        ended = own.interrupted, own.interrupted_after
        return _ChainSample(matrix, given.masses, given.costs, (labels, own.costs), *ended)


def _compute_samples(
    task: Task, plan: _SamplePlan, n_samples: Any, progress: Progress | None
) -> tuple[list[_ChainSample], float | None]:
    """Return all samples, or after an interruption the finished ones, unless there are none, and its time limit."""
    n_samples, report = _check_n_samples(n_samples, task.n_groups), check_progress(progress)
    ready: list[_ChainSample] = []
    calls = ((plan, number) for number in range(n_samples))
    try:
        # The outer limit makes the one of each sample free: setting it takes longer than a small sample.
        with one_thread():
            for sample in task.run_all(_compute_sample, calls):
                # The groups of an unfinished search would understate the agreement.
                if sample.interrupted:
                    raise interruption(sample.interrupted_after)
                ready.append(sample)
                if report is not None:
                    report(len(ready), n_samples, math.nan)
                if task.deadline is not None and len(ready) < n_samples:
                    task.deadline.check()
    except KeyboardInterrupt as reason:
        if not ready:
            raise
        return ready, limit_of(reason)
    return ready, None


def _posterior(
    estimate: Aggregation,
    samples: list[_ChainSample],
    seed: int,
    n_samples: int,
    limit: float | None = None,
) -> Posterior:
    return Posterior(
        estimate,
        np.stack([sample.matrix for sample in samples]),
        np.stack([sample.masses for sample in samples]),
        tuple(sample.costs for sample in samples),
        seed,
        interrupted=len(samples) < n_samples,
        interrupted_after=limit,
    )


def _limit_n_samples(n_samples: Any, draws: Draws | GivenChains) -> int:
    number = check_count("n_samples", n_samples)
    return min(number, len(draws.chains)) if isinstance(draws, GivenChains) else number


def _check_n_samples(n_samples: Any, n_groups: int) -> int:
    number = check_count("n_samples", n_samples)
    if number * n_groups**2 > _MAX_STORED_ENTRIES:
        raise InvalidArgumentError(
            f"with {n_groups:,} groups would store {number * n_groups**2:,} numbers",
            argument="n_samples",
            value=number,
            remedy=(
                "pass ",
                Setting("n_samples", max(1, _MAX_STORED_ENTRIES // n_groups**2)),
                " or less, or use fewer groups",
            ),
        )
    return number
