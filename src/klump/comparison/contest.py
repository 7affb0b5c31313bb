"""Run every method on the same task; the failure of one method does not stop the others."""

from __future__ import annotations

import io
import math
import time
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, replace
from functools import cache, partial
from importlib import import_module
from typing import Any

from scipy.sparse import csr_array

from klump import __version__, signals
from klump.aggregation import Aggregation
from klump.aggregation.mapping import from_labels
from klump.aggregation.numbering import rank_by_mass
from klump.aggregation.options import Options
from klump.aggregation.question import build_answer, run_method, versions
from klump.arguments import DEFAULT_SEED, Progress, check_beta, check_choice, check_progress
from klump.chain import ChainLike, MarkovChain, as_chain
from klump.comparison.comparison import Comparison, Row
from klump.comparison.outside import OUTSIDE, Tool
from klump.errors import UNSET, InvalidArgumentError, KlumpError, Setting
from klump.search.deadline import limit_of
from klump.search.method import Task
from klump.search.registry import DEFAULT_EFFORT, EFFORT_NAMES, METHODS, names_of
from klump.sources.random_chains import block_chain


def compare(
    chain: ChainLike,
    n_states: int,
    beta: float = 0.5,
    methods: Iterable[str] | None = None,
    outside: bool | Iterable[str] = True,
    n_init: int = 20,
    random_state: Any = DEFAULT_SEED,
    n_jobs: int | None = None,
    progress: Progress | None = None,
    *,
    gamma: float = 0.0,
    seed: Any = UNSET,
    effort: str | Iterable[str] = DEFAULT_EFFORT,
    time_limit: float | None = None,
) -> Comparison:
    """Run every method on the same chain and compare the maps by the same costs.

    Parameters
    ----------
    chain
        A MarkovChain, a transition matrix (dense or sparse), or an object with one.
    n_states
        Requested number of groups. Some outside tools choose the number of groups themselves, or return fewer;
        their rows follow those with the requested number.
    beta
        Beta of the cost that ranks the rows, and that klump's methods minimise.
    methods
        Names of klump's methods. Default: all methods that take a number of groups. A method that finds the number
        itself runs only if it is named.
    outside
        True: run every outside tool that is installed; False: run none; or a list of names:
        ``"deeptime-pcca"``, ``"pygpcca"``, ``"sib"``, ``"igraph-leiden"``, ``"infomap"``, ``"sklearn-spectral"``.
    n_init
        Number of restarts, for every method that has restarts.
    random_state
        Seed, for every method that takes one. The same seed gives the same rows, except for ``seconds``.
    n_jobs
        Number of parallel workers, as in joblib, for every method that has restarts.
    progress
        Called with ``(done, total, best_cost)`` before the first method and after each: the number of finished methods,
        the number of all methods, and the lowest cost of a map with ``n_states`` groups so far, in bits, NaN while
        there is none. ``klump.comparison.contestant_names()`` lists the methods in the order in which they run.
    gamma
        Weight of generated information in the cost, as in :func:`klump.aggregate`. Methods that do not minimise the
        cost run without gamma; the cost that ranks the rows includes it.
    seed
        Another name of ``random_state``, as on the command line; pass one of them.
    effort
        Effort of ``"auto"``, as in :func:`klump.aggregate`, or several of them: one row each, named ``"auto (quick)"``,
        ``"auto"`` (balanced) and ``"auto (thorough)"``.
    time_limit
        Seconds for the whole comparison. The method that is running then gets the best map so far, and the others are
        not run; an outside tool is completed.

    Returns
    -------
    Comparison
        One row per method, the lowest cost first. The row of a failed method has the reason in ``error``. After
        Ctrl-C or the time limit, the rows of the finished methods; ``not_run`` names the others.

    Examples
    --------
    >>> P = [[0.5, 0.4, 0.1, 0.0], [0.4, 0.5, 0.0, 0.1], [0.1, 0.0, 0.4, 0.5], [0.0, 0.1, 0.5, 0.4]]
    >>> compared = compare(P, 2, methods=["auto"], outside=["sklearn-spectral"])
    >>> [row.kind for row in compared], compared.best.as_asked
    (['klump', 'outside'], True)
    """
    chain = as_chain(chain)
    options = Options(n_init, random_state, n_jobs, gamma=gamma, seed=seed, time_limit=time_limit)
    task = options.task(chain, n_states, check_beta(beta), "auto")
    report = check_progress(progress)
    own, installed, not_installed = _select_contestants(methods, outside, effort)
    contestants = [
        *(_own(name, *question) for name, question in own.items()),
        *(_outside(name, OUTSIDE[name]) for name in installed),
    ]
    # Computed before the first method runs, so that its run time does not include them.
    _ = chain.stationary_distribution, chain.joint, chain.redundancy_rate
    rows, limit = _run(contestants, task, report)
    return Comparison(
        chain,
        task.n_groups,
        task.beta,
        task.seed,
        task.n_init,
        tuple(sorted(rows, key=_rank)),
        tuple(not_installed),
        tuple(contestant.name for contestant in contestants[len(rows) :]),
        task.gamma,
        limit,
    )


def contestant_names(
    methods: Iterable[str] | None = None,
    outside: bool | Iterable[str] = True,
    *,
    effort: str | Iterable[str] = DEFAULT_EFFORT,
) -> list[str]:
    """List the methods and outside tools that :func:`compare` runs for these arguments, in the order of running.

    Examples
    --------
    >>> contestant_names(["auto", "spectral"], outside=False)
    ['auto', 'spectral']
    >>> contestant_names(["auto"], outside=False, effort=["quick", "balanced"])
    ['auto (quick)', 'auto']
    """
    own, installed, _ = _select_contestants(methods, outside, effort)
    return [*own, *installed]


def _select_contestants(
    methods: Any, outside: Any, effort: Any
) -> tuple[dict[str, tuple[str, str]], list[str], list[str]]:
    """Return klump's methods and efforts by name, the names of the outside tools, and of those not installed."""
    own = _select("methods", methods, METHODS, names_of(lambda method: not method.finds_number))
    tools = _select("outside", None if outside is True else outside or (), OUTSIDE, list(OUTSIDE))
    installed = [name for name in tools if OUTSIDE[name].installed]
    if not own and not installed:
        raise InvalidArgumentError(
            "methods and outside leave nothing to compare", remedy="name at least one method"
        )
    return _add_efforts(own, effort), installed, [name for name in tools if name not in installed]


def _add_efforts(methods: list[str], effort: Any) -> dict[str, tuple[str, str]]:
    """Return methods and efforts by name of the row; a method that takes an effort has a row per effort."""
    given = [effort] if isinstance(effort, str) or not isinstance(effort, Iterable) else list(effort)
    efforts = [check_choice("effort", each, EFFORT_NAMES) for each in given]
    if not efforts:
        raise InvalidArgumentError(
            "is empty", argument="effort", remedy=f"give at least one of {', '.join(EFFORT_NAMES)}"
        )
    if efforts != [DEFAULT_EFFORT] and not any(METHODS[name].takes_effort for name in methods):
        raise InvalidArgumentError(
            "is for no method that is compared",
            argument="effort",
            value=effort,
            remedy=("leave it out, or add 'auto' to ", Setting("methods")),
        )
    rows = {}
    for name in methods:
        for each in efforts if METHODS[name].takes_effort else [DEFAULT_EFFORT]:
            rows[name if each == DEFAULT_EFFORT else f"{name} ({each})"] = name, each
    return rows


def _select(argument: str, given: Any, known: Collection[str], default: list[str]) -> list[str]:
    if given is None:
        return default
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise InvalidArgumentError(
            f"must be a list of names: some of {', '.join(known)}", argument=argument, value=given
        )
    names = list(given)
    unknown = [name for name in names if not isinstance(name, str) or name not in known]
    if unknown:
        raise InvalidArgumentError(
            f"has {unknown[0]!r}", argument=argument, remedy=f"choose from {', '.join(known)}"
        )
    return list(dict.fromkeys(names))


def _rank(row: Row) -> tuple[bool, bool, bool, float]:
    """Sort key: failed last; then another number of groups; then soft maps; then cost, to 12 decimals.

    Rows of equal rank keep the order of the methods, as sorting is stable.
    """
    return row.cost is None, not row.as_asked, row.soft, round(row.cost or 0.0, 12)


@dataclass(frozen=True)
class Contestant:
    """A method of klump or an outside tool, with the function that runs it."""

    name: str
    kind: Any
    package: str
    version: str | None
    search: Callable[[Task, Stopwatch], Aggregation]

    def row(self, task: Task) -> Row:
        """Run the method; every exception but KeyboardInterrupt becomes the row's error."""
        found, error, watch = None, None, Stopwatch()
        try:
            found = self.search(task, watch)
            # Computed inside the try block: an invalid map counts as a failure of the method.
            _ = found.costs, found.labels
        except (Exception, SystemExit) as reason:
            found, error = None, _format_reason(reason)
        return Row(
            self.name, self.kind, self.package, self.version, task.n_groups, found, watch.seconds, error
        )


def _own(name: str, method: str, effort: str) -> Contestant:
    traits = METHODS[method]

    def ask(task: Task) -> Aggregation:
        own = replace(
            task,
            n_groups=1 if traits.finds_number else task.n_groups,
            gamma=task.gamma if traits.by_cost else 0.0,
            effort=effort,
        )
        return replace(build_answer(own, run_method(own, method), method), gamma=task.gamma)

    def search(task: Task, watch: Stopwatch) -> Aggregation:
        _warm_up(ask, task)
        with watch.measure():
            return ask(task)

    return Contestant(name, "klump", "klump", __version__, search)


def _outside(name: str, tool: Tool) -> Contestant:
    version = tool.version

    def search(task: Task, watch: Stopwatch) -> Aggregation:
        # Two blocks, because importing or running the tool may reset the warning filters.
        with _silence():
            module = tool.load(task)
            _warm_up(partial(tool.labels, module), task)
        with _silence(), watch.measure():
            labels = tool.labels(module, task)
        mapping = from_labels(labels, int(labels.max()) + 1)
        mapping = from_labels(rank_by_mass(task.chain, mapping)[labels], mapping.n_groups)
        made_with = (*versions(), (tool.package, str(version)))
        return Aggregation(
            task.chain,
            mapping,
            task.beta,
            name,
            random_state=task.seed,
            made_with=made_with,
            gamma=task.gamma,
        )

    return Contestant(name, "outside", tool.package, version, search)


def _warm_up(ask: Callable[[Task], Any], task: Task) -> None:
    """Run a method on a small chain, so that its run time includes no imports and no compilation."""
    small = replace(
        task, chain=_small_chain(sparse=task.chain.is_sparse), n_groups=3, n_init=2, deadline=None
    )
    try:
        answer = ask(small)
    except (Exception, SystemExit):  # the timed run reports the failure
        return
    if getattr(answer, "interrupted", False):  # the method caught Ctrl-C
        raise KeyboardInterrupt


@cache
def _small_chain(*, sparse: bool) -> MarkovChain:
    chain, _ = block_chain((6, 8, 10), alpha=0.97, eps=0.02, random_state=0)
    return MarkovChain(csr_array(chain.transition_matrix)) if sparse else chain


def _run(
    contestants: list[Contestant], task: Task, report: Progress | None
) -> tuple[list[Row], float | None]:
    """Return the rows in the order of the methods; after an interruption, the finished ones and the time limit."""
    rows: list[Row] = []
    try:
        if report is not None:
            report(0, len(contestants), math.nan)
        for contestant in contestants:
            rows.append(contestant.row(task))
            # The method was interrupted and returned its best map: the remaining methods do not run.
            if rows[-1].interrupted:
                return rows, rows[-1].interrupted_after
            if report is not None:
                report(len(rows), len(contestants), _lowest_cost(rows))
            if len(rows) < len(contestants):
                signals.check()
                if task.deadline is not None:
                    task.deadline.check()
    except KeyboardInterrupt as reason:
        if not rows:
            raise
        return rows, limit_of(reason)
    return rows, None


def _lowest_cost(rows: list[Row]) -> float:
    """Lowest cost of a map with the requested number of groups; NaN if there is none."""
    return min((row.cost for row in rows if row.cost is not None and row.as_asked), default=math.nan)


@contextmanager
def _silence() -> Iterator[None]:
    """Discard standard output, standard error and warnings."""
    with (
        warnings.catch_warnings(),
        redirect_stdout(io.StringIO()),
        redirect_stderr(io.StringIO()),
    ):
        warnings.simplefilter("ignore")
        yield


class Stopwatch:
    """Wall-clock time in seconds, minus numba's compilation time."""

    def __init__(self) -> None:
        self.seconds = 0.0

    @contextmanager
    def measure(self) -> Iterator[None]:
        """Measure the time of the block."""
        event: Any = import_module("numba.core.event")
        with event.install_listener("numba:compile", event.TimingListener()) as compiling:
            begin = time.perf_counter()
            try:
                yield
            finally:
                self.seconds = time.perf_counter() - begin
                if compiling.done:
                    self.seconds = max(0.0, self.seconds - compiling.duration)


def _format_reason(reason: BaseException) -> str:
    if isinstance(reason, KlumpError):
        # No remedy: it names arguments of `aggregate` that `compare` does not have.
        return " ".join(reason.render(with_remedy=False).split())
    message = " ".join(str(reason).split())
    if isinstance(reason, SystemExit):
        return f"the tool called sys.exit({message})"
    if isinstance(reason, MemoryError):
        return "not enough memory"
    return f"{type(reason).__name__}: {message}" if message else type(reason).__name__
