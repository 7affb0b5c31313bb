"""What a user sees on stderr while klump works."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any, Self

import click

from klump.chain.wording import counted

# Work that is over sooner than this needs no progress bar.
_PATIENCE = 1.0

_COMPILING = "klump: compiling kernels, once; this takes about half a minute"


class Bars:
    """Progress bars, one for each named piece of work, shown on a terminal once it takes over a second.

    A subclass says what stands in a line, and what is said at the end where stderr is not a terminal.
    """

    compiled = False

    def __init__(self, *, quiet: bool, patience: float = _PATIENCE, console: Any = None) -> None:
        self._quiet = quiet
        self._patience = patience
        self._console = console
        self._bars: Any = None
        self._tasks: dict[str, Any] = {}
        self._states: dict[str, dict[str, Any]] = {}
        self._lock = threading.Lock()
        # A thread of its own, because the first start alone may take longer than anybody's patience.
        self._timer = threading.Timer(patience, self._show)
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
        """Print a line on stderr, above the bars if there are any."""
        if self._quiet:
            return
        with self._lock:
            if self._bars is not None:
                self._bars.console.print(message)
            else:
                click.echo(message, err=True)

    def _columns(self) -> tuple[Any, ...]:
        """What stands in a line, as columns of rich; ``task.fields`` has what :meth:`_advance` was given."""
        raise NotImplementedError

    def _conclude(self, seconds: float) -> None:
        """Say how it went, where no bars were shown."""

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
        # Transient: the bars are gone when the result stands on the screen.
        # What others do to sys.stdout in the meantime is not to be undone when the bars are gone.
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

    Where stderr is not a terminal, one line at the end says how long the search took.
    """

    def __init__(self, *, quiet: bool, patience: float = _PATIENCE, console: Any = None) -> None:
        super().__init__(quiet=quiet, patience=patience, console=console)
        self._advance("searching", completed=0, total=None, best="...")

    def update(self, done: int, total: int, best_cost: float) -> None:
        """Take the state of the search: what ``klump.aggregate`` calls back with."""
        self._advance("searching", completed=done, total=total, best=f"{max(best_cost, 0.0):.6f}")

    def _columns(self) -> tuple[Any, ...]:
        from rich.progress import TextColumn, TimeElapsedColumn

        return (*_bar(), TimeElapsedColumn(), TextColumn("best cost {task.fields[best]}"))

    def _conclude(self, seconds: float) -> None:
        if seconds >= self._patience:
            state = self._states["searching"]
            compiling = " (with compilation)" * self.compiled
            steps = counted(state["completed"], "step")
            self.say(f"klump: searched for {seconds:.1f} s{compiling}, {steps}, best cost {state['best']}")


class ExperimentProgress(Bars):
    """A progress bar for each experiment.

    Where stderr is not a terminal, a line at the end of each says how long it took.
    """

    @contextmanager
    def running(self, name: str) -> Iterator[None]:
        """Show one experiment while it runs."""
        begin = time.perf_counter()
        self._advance(name, completed=0, total=None)
        yield
        total = self._states[name]["total"] or 1
        self._advance(name, completed=total, total=total)
        if not self._is_terminal():
            self.say(f"klump: {name}: done in {time.perf_counter() - begin:.1f} s")

    def update(self, name: str, done: int, total: int) -> None:
        """Take the state of an experiment: what ``klump.experiments`` calls back with."""
        self._advance(name, completed=done, total=total)

    def _columns(self) -> tuple[Any, ...]:
        from rich.progress import MofNCompleteColumn, TimeElapsedColumn

        return (*_bar(), MofNCompleteColumn(), TimeElapsedColumn())


class ComparisonProgress(Bars):
    """A progress bar that names the method that is running.

    Where stderr is not a terminal, a line for each method that took its time says how long.
    """

    _running: tuple[str, float] | None = None

    def update(self, name: str, done: int, total: int) -> None:
        """Take the state of the comparison: what ``klump.compare`` calls back with."""
        self._close()
        self._running = name, time.perf_counter()
        self._advance("comparing", completed=done, total=total, method=name)

    def _columns(self) -> tuple[Any, ...]:
        from rich.progress import MofNCompleteColumn, TextColumn, TimeElapsedColumn

        return (*_bar(), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("{task.fields[method]}"))

    def _conclude(self, seconds: float) -> None:
        self._close()

    def _close(self) -> None:
        if self._running is None or self._is_terminal():
            return
        name, begin = self._running
        seconds = time.perf_counter() - begin
        if seconds >= self._patience:
            self.say(f"klump: {name}: done in {seconds:.1f} s")


class GuaranteeProgress(Bars):
    """A progress bar for the bounds and one for the simulation.

    Where stderr is not a terminal, one line at the end says how long they took.
    """

    def update(self, name: str, done: int, total: int) -> None:
        """Take how far one of them is."""
        self._advance(name, completed=done, total=total)

    def _columns(self) -> tuple[Any, ...]:
        from rich.progress import TimeElapsedColumn

        return (*_bar(), TimeElapsedColumn())

    def _conclude(self, seconds: float) -> None:
        if seconds >= self._patience:
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
    """Show progress, and announce when kernels have to be compiled first."""
    with SearchProgress(quiet=quiet) as progress, compilation_announced(progress):
        yield progress


@contextmanager
def comparison_progress(*, quiet: bool) -> Iterator[ComparisonProgress]:
    """Show progress on what is stderr now: it is redirected while other people's tools run."""
    from rich.console import Console

    console = Console(file=sys.stderr, markup=False, highlight=False)
    with ComparisonProgress(quiet=quiet, console=console) as progress, compilation_announced(progress):
        yield progress


@contextmanager
def compilation_announced(progress: Bars) -> Iterator[None]:
    """Say so when kernels are compiled; nothing happens when they come from numba's cache."""
    events: Any = import_module("numba.core.event")

    class Announcer(events.Listener):  # type: ignore[misc]
        announced = False

        def on_start(self, event: Any) -> None:
            if not self.announced:
                self.announced = progress.compiled = True
                progress.say(_COMPILING)

        def on_end(self, event: Any) -> None:
            pass

    announcer = Announcer()
    events.register("numba:compile", announcer)
    try:
        yield
    finally:
        events.unregister("numba:compile", announcer)
