"""Ask how sure an aggregation is: checks the question, draws the samples, wraps the answer."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from klump.aggregation import Aggregation, Costs
from klump.aggregation.many import check_method_with_number, run_on_one_worker
from klump.aggregation.mapping import Mapping, as_mapping
from klump.aggregation.question import Options, build_answer, run_method
from klump.arguments import check_beta, check_count, check_progress, check_seed
from klump.chain import MarkovChain
from klump.errors import InvalidArgumentError, Setting
from klump.parallel import one_thread
from klump.resampling.draws import Draws, estimate_chain
from klump.resampling.intervals import Posterior
from klump.resampling.stability import Bootstrap, match_labels
from klump.search.method import Labels, Task

# Numbers that the aggregated chains of all samples may take together.
_MOST_STORED = 100_000_000


def posterior(
    counts: Any,
    labels_or_mapping: Any,
    beta: float = 0.5,
    *,
    n_samples: int = 1000,
    prior: float = 0.0,
    states: Iterable[Hashable] | None = None,
    restrict: Literal["largest"] | None = None,
    random_state: Any = 0,
    n_jobs: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Posterior:
    """Say how sure the aggregated chain of given groups is, if it was estimated from counts.

    The rows of the large chain are drawn from Dirichlet laws with the counts as parameters, and each sample is
    aggregated by the same groups, stationary distribution included. Nothing is searched, so that it is cheap.

    Parameters
    ----------
    counts
        Square matrix of numbers of transitions, dense or sparse; a table; or an object with a ``count_matrix``.
        Every transition is taken as an observation of its own: divide counts of overlapping windows by their lag,
        or pass :class:`klump.SequenceCounts`, which weighs sequences or blocks as wholes.
    labels_or_mapping
        The group of each state, an n x k stochastic matrix, or an :class:`Aggregation`.
    beta
        The beta of the costs.
    n_samples
        How many chains are drawn.
    prior
        Added to the count of every transition that was seen. 0 is the Bayesian bootstrap, whose mean is the
        estimate from the counts; more pulls rows towards all seen transitions alike. What was never seen
        stays impossible: add something to the counts themselves if that is wrong.
    states
        Names of the states.
    restrict
        ``"largest"`` keeps only the largest closed class, if the counts do not hold together; labels are then
        those of its states.
    random_state
        Seed. The same seed gives the same samples, whatever ``n_jobs`` and the joblib backend are.
    n_jobs
        Samples that are computed at a time, as in joblib.
    progress
        Called with the number of finished and of all samples.

    Returns
    -------
    Posterior
        On Ctrl-C the samples that were ready, marked ``interrupted``.

    Examples
    --------
    >>> found = posterior([[80, 15, 5], [20, 70, 10], [2, 3, 95]], [0, 0, 1])
    >>> lower, upper = found.transition_matrix_interval(0.95)
    >>> bool((upper[0] - lower[0] < 0.1).all())
    True
    """
    seed = check_seed(random_state)
    chain, draws = estimate_chain(counts, states, prior, restrict, seed)
    mapping = as_mapping(labels_or_mapping, chain.n_states)
    estimate = Aggregation(chain, mapping, check_beta(beta), random_state=seed)
    task = Options(random_state=seed, n_jobs=n_jobs).task(chain, mapping.n_groups, estimate.beta, "auto")
    samples = _samples(task, _SamplePlan(draws, mapping, estimate.beta), n_samples, progress)
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
    restrict: Literal["largest"] | None = None,
    random_state: Any = 0,
    n_jobs: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Bootstrap:
    """Say how sure an aggregation is, groups and all, if its chain was estimated from counts.

    The chain that the counts suggest is aggregated; so is each of many chains that could have left the same
    counts behind, drawn as for :func:`posterior`. Where these agree, the data decide; where they do not, a few more
    data might have led to other groups.

    Parameters
    ----------
    counts, prior, states, restrict
        As in :func:`posterior`.
    n_states, beta, gamma
        What to aggregate to, as in :func:`klump.aggregate`.
    n_samples
        How many chains are drawn and aggregated. It takes as many times as long as a single aggregation.
    method, n_init
        How to search, as in :func:`klump.aggregate`, for the estimate and for every sample.
    random_state
        Seed, of the draws and of every search. The answer does not depend on ``n_jobs`` or the joblib backend.
    n_jobs
        Samples that are searched at a time, as in joblib: threads unless ``joblib.parallel_config`` says otherwise.
        Each takes one worker.
    progress
        Called with the number of finished and of all samples.

    Returns
    -------
    Bootstrap
        On Ctrl-C the samples that were ready, marked ``interrupted``.

    Examples
    --------
    >>> found = bootstrap([[80, 15, 5], [20, 70, 10], [2, 3, 95]], 2, n_samples=20)
    >>> found
    Bootstrap(3 states in 2 groups, 20 samples, mean agreement 1.000)
    """
    check_method_with_number(method)
    options = Options(n_init, check_seed(random_state), n_jobs, gamma=gamma)
    chain, draws = estimate_chain(counts, states, prior, restrict, options.random_state)
    task = options.task(chain, n_states, check_beta(beta), method)
    _check(n_samples, task.n_groups, progress)
    estimate = build_answer(task, run_method(task, method), method)
    if estimate.interrupted:  # by Ctrl-C, so that nobody waits for the samples
        raise KeyboardInterrupt
    search = _Search(options, method, estimate.labels, chain.stationary_distribution)
    samples = _samples(task, _SamplePlan(draws, estimate.map, task.beta, search), n_samples, progress)
    own = [sample.own for sample in samples if sample.own is not None]
    return Bootstrap(
        _posterior(estimate, samples, task.seed, n_samples),
        np.stack([labels for labels, _ in own]),
        tuple(costs for _, costs in own),
    )


@dataclass(frozen=True, eq=False)
class _Search:
    """How each sample is aggregated, and what its groups are matched with."""

    options: Options
    method: str
    labels: Labels
    masses: NDArray[np.float64]

    def of(self, chain: MarkovChain, n_states: int, beta: float) -> Aggregation:
        found = run_on_one_worker(chain, self.options, n_states, beta, self.method)
        return build_answer(self.options.task(chain, n_states, beta, self.method), found, self.method)


@dataclass(frozen=True, eq=False)
class _SamplePlan:
    """What all samples have in common, and nothing else: it may be sent to another process."""

    draws: Draws
    mapping: Mapping
    beta: float
    search: _Search | None = None


class _ChainSample(NamedTuple):
    """One drawn chain: the given groups on it and, if there was a search, its own labels and their costs."""

    matrix: NDArray[np.float64]
    masses: NDArray[np.float64]
    costs: Costs
    own: tuple[NDArray[Any], Costs] | None
    interrupted: bool


def _compute_sample(question: _SamplePlan, number: int) -> _ChainSample:
    with one_thread():
        chain = question.draws.chain(number)
        given = Aggregation(chain, question.mapping, question.beta)
        matrix: Any = given.chain.transition_matrix
        matrix = matrix.toarray() if given.chain.is_sparse else matrix
        if question.search is None:
            return _ChainSample(matrix, given.masses, given.costs, None, False)
        search, n_groups = question.search, question.mapping.n_groups
        own = search.of(chain, n_groups, question.beta)
        labels = match_labels(own.labels, search.labels, search.masses, n_groups)
        # Labels of many samples of a large chain take the room of the chain itself.
        small = labels.astype(np.min_scalar_type(n_groups - 1))
        return _ChainSample(matrix, given.masses, given.costs, (small, own.costs), own.interrupted)


def _samples(
    task: Task, question: _SamplePlan, n_samples: Any, progress: Callable[[int, int], None] | None
) -> list[_ChainSample]:
    """Draw one after the other; what is ready when Ctrl-C is pressed is kept, once there is something."""
    n_samples = _check(n_samples, task.n_groups, progress)
    ready: list[_ChainSample] = []
    calls = ((question, number) for number in range(n_samples))
    try:
        # Around all of them as well: setting the limit takes longer than a small sample.
        with one_thread():
            for sample in task.run_all(_compute_sample, calls):
                # Half a search would look like groups that are unsure.
                if sample.interrupted:
                    raise KeyboardInterrupt
                ready.append(sample)
                if progress is not None:
                    progress(len(ready), n_samples)
    except KeyboardInterrupt:
        if not ready:
            raise
    return ready


def _posterior(estimate: Aggregation, samples: list[_ChainSample], seed: int, n_samples: int) -> Posterior:
    return Posterior(
        estimate,
        np.stack([sample.matrix for sample in samples]),
        np.stack([sample.masses for sample in samples]),
        tuple(sample.costs for sample in samples),
        seed,
        interrupted=len(samples) < n_samples,
    )


def _check(n_samples: Any, n_groups: int, progress: Any) -> int:
    number = check_count("n_samples", n_samples)
    if number * n_groups**2 > _MOST_STORED:
        raise InvalidArgumentError(
            f"with {n_groups:,} groups would store {number * n_groups**2:,} numbers",
            argument="n_samples",
            value=number,
            remedy=(
                "pass ",
                Setting("n_samples", max(1, _MOST_STORED // n_groups**2)),
                " or less, or use fewer groups",
            ),
        )
    check_progress(progress, "done, total")
    return number
