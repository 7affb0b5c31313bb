"""Progress bars and messages on standard error."""

from __future__ import annotations

import logging
import math
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, Self

import click

from klump import signals
from klump.chain.wording import format_count

if TYPE_CHECKING:
    from klump.arguments import Progress

# Delay before the bars appear, and shortest run time that is reported without them, in seconds.
_DELAY = 1.0


class Bars:
    """Progress bars on a terminal, one per named part of the work, shown after a delay of one second.

    A subclass sets the columns of a bar, and the message at the end where standard error is not a terminal.
    """

    compiled = False
    """Whether a kernel was compiled."""

    def __init__(self, *, quiet: bool, delay: float = _DELAY, console: Any = None) -> None:
        self._quiet = quiet
        self._delay = delay
        self._console = console
        self._bars: Any = None
        self._tasks: dict[str, Any] = {}
        self._states: dict[str, dict[str, Any]] = {}
        self._lock = threading.Lock()
        # A timer thread, because the first progress report may come long after the delay.
        self._timer = threading.Timer(delay, self._show)
        self._timer.daemon = True

    def __enter__(self) -> Self:
        self._begin = time.perf_counter()
        if not self._quiet and self._is_terminal():
            self._timer.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._timer.cancel()
        if self._timer.ident is not None:
            self._timer.join()
        if self._bars is not None:
            self._bars.stop()
        elif exception[0] is None:
            self._conclude(time.perf_counter() - self._begin)

    def say(self, message: str) -> None:
        """Print a line on standard error, above the bars if they are shown."""
        if self._quiet:
            return
        with self._lock:
            if self._bars is not None:
                self._bars.console.print(message)
            else:
                click.echo(message, err=True)

    def update(self, name: str, done: int, total: int | None, best_cost: float = math.nan) -> None:
        """Set the progress of a part: ``done`` of ``total`` steps, and the lowest cost so far, NaN if there is none."""
        best = "..." if math.isnan(best_cost) else f"{max(best_cost, 0.0):.6f}"
        self._advance(name, completed=done, total=total, best=best)

    def callback(self, name: str) -> Progress:
        """Return the progress callback of one part: :meth:`update` without the name."""
        return partial(self.update, name)

    def interruptible_callback(self, name: str) -> Progress:
        """Return the progress callback of one part, which raises Interrupted after a signal."""

        def update(done: int, total: int, best_cost: float) -> None:
            self.update(name, done, total, best_cost)
            signals.check()

        return update

    def _columns(self) -> tuple[Any, ...]:
        """Return the columns of a bar, as rich takes them; ``task.fields`` has the arguments of :meth:`_advance`."""
        raise NotImplementedError

    def _conclude(self, seconds: float) -> None:
        """Print the message at the end, where no bars were shown."""

    def _advance(self, name: str, **state: Any) -> None:
        with self._lock:
            self._states[name] = state
            if self._bars is not None:
                self._draw(name)

    def _draw(self, name: str) -> None:
        state = self._states[name]
        if name in self._tasks:
            self._bars.update(self._tasks[name], **state)
        else:
            self._tasks[name] = self._bars.add_task(name, **state)

    def _is_terminal(self) -> bool:
        if self._console is not None:
            return bool(self._console.is_terminal)
        return sys.stderr.isatty()

    def _show(self) -> None:
        from rich.console import Console
        from rich.progress import Progress

        console = self._console or Console(stderr=True, markup=False, highlight=False)
        # transient: the bars are erased before the result is printed. No redirection: at the end rich would restore
        # the present sys.stdout and sys.stderr, and undo redirections that were made since.
        bars = Progress(
            *self._columns(), console=console, transient=True, redirect_stdout=False, redirect_stderr=False
        )
        with self._lock:
            self._bars = bars
            for name in self._states:
                self._draw(name)
            bars.start()


class SearchProgress(Bars):
    """A progress bar with the best cost so far.

    Where standard error is not a terminal, one line at the end reports the run time.
    """

    def __init__(self, *, quiet: bool, delay: float = _DELAY, console: Any = None) -> None:
        super().__init__(quiet=quiet, delay=delay, console=console)
        # A bar of unknown length until the first progress report.
        self._advance("searching", completed=0, total=None, best="...")

    def _columns(self) -> tuple[Any, ...]:
        from rich.progress import TextColumn, TimeElapsedColumn

        return (*_bar(), TimeElapsedColumn(), TextColumn("best cost {task.fields[best]}"))

    def _conclude(self, seconds: float) -> None:
        if seconds >= self._delay:
            state = self._states["searching"]
            compiling = " (with compilation)" * self.compiled
            steps = format_count(state["completed"], "step")
            self.say(f"klump: searched for {seconds:.1f} s{compiling}, {steps}, best cost {state['best']}")


class ExperimentProgress(Bars):
    """One progress bar per experiment.

    Where standard error is not a terminal, one line at the end of each experiment reports its run time.
    """

    @contextmanager
    def show_experiment(self, name: str) -> Iterator[None]:
        """Show the bar of one experiment while the block runs."""
        begin = time.perf_counter()
        self.update(name, 0, None)
        yield
        total = self._states[name]["total"] or 1
        self.update(name, total, total)
        if not self._is_terminal():
            self.say(f"klump: {name}: done in {time.perf_counter() - begin:.1f} s")

    def _columns(self) -> tuple[Any, ...]:
        from rich.progress import MofNCompleteColumn, TimeElapsedColumn

        return (*_bar(), MofNCompleteColumn(), TimeElapsedColumn())


class ComparisonProgress(Bars):
    """A progress bar with the name of the running method; ``names`` has all methods in the order of running.

    Where standard error is not a terminal, one line per method reports its run time, if that exceeds the delay.
    """

    # Name and start time of the running method.
    _running: tuple[str, float] | None = None

    def __init__(
        self, names: Sequence[str], *, quiet: bool, delay: float = _DELAY, console: Any = None
    ) -> None:
        super().__init__(quiet=quiet, delay=delay, console=console)
        self._names = names

    def update(self, name: str, done: int, total: int | None, best_cost: float = math.nan) -> None:
        """Report the run time of the previous method, and show the next one, number ``done``."""
        self._report_run_time()
        method = self._names[done] if done < len(self._names) else None
        self._running = None if method is None else (method, time.perf_counter())
        self._advance(name, completed=done, total=total, method=method or "")

    def _columns(self) -> tuple[Any, ...]:
        from rich.progress import MofNCompleteColumn, TextColumn, TimeElapsedColumn

        return (*_bar(), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("{task.fields[method]}"))

    def _conclude(self, seconds: float) -> None:
        self._report_run_time()

    def _report_run_time(self) -> None:
        if self._running is None or self._is_terminal():
            return
        name, begin = self._running
        seconds = time.perf_counter() - begin
        if seconds >= self._delay:
            self.say(f"klump: {name}: done in {seconds:.1f} s")


class GuaranteeProgress(Bars):
    """One progress bar per named part: the bounds and the simulation, or the cells of a grid.

    Where standard error is not a terminal, one line at the end reports the run time.
    """

    def _columns(self) -> tuple[Any, ...]:
        from rich.progress import TimeElapsedColumn

        return (*_bar(), TimeElapsedColumn())

    def _conclude(self, seconds: float) -> None:
        if seconds >= self._delay:
            self.say(f"klump: {' and '.join(self._states)} took {seconds:.1f} s")


def _bar() -> tuple[Any, ...]:
    from rich.progress import BarColumn, TextColumn

    return (
        TextColumn("{task.description}"),
        BarColumn(bar_width=24),
        TextColumn("{task.percentage:>3.0f} %"),
    )


@contextmanager
def search_progress(*, quiet: bool) -> Iterator[SearchProgress]:
    """Show the progress of a search, and announce the compilation of kernels."""
    with SearchProgress(quiet=quiet) as progress, announce_compilation(progress):
        yield progress


@contextmanager
def comparison_progress(names: Sequence[str], *, quiet: bool) -> Iterator[ComparisonProgress]:
    """Show the progress of a comparison on the present sys.stderr, which is redirected while outside tools run."""
    from rich.console import Console

    console = Console(file=sys.stderr, markup=False, highlight=False)
    bars = ComparisonProgress(names, quiet=quiet, console=console)
    with bars as progress, announce_compilation(progress):
        yield progress


@contextmanager
def announce_compilation(progress: Bars) -> Iterator[None]:
    """Print the library's messages, such as the announcement of compilation, with ``progress``."""
    from klump.compilation import compilations

    class Handler(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            progress.say(f"klump: {record.getMessage()}")

    logger, handler, before = logging.getLogger("klump"), Handler(), len(compilations())
    level = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        yield
    finally:
        logger.setLevel(level)
        logger.removeHandler(handler)
        progress.compiled = any(used.seconds is not None for used in compilations()[before:])
