"""What a user sees on stderr while a search runs."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

import click

# Work that is over sooner than this needs no progress bar.
_PATIENCE = 1.0

_COMPILING = "klump: compiling kernels, once; this takes about half a minute"


class SearchProgress:
    """A progress bar with the best cost so far, shown on a terminal once a search takes over a second.

    Where stderr is not a terminal, one line at the end says how long the search took.
    """

    def __init__(self, *, quiet: bool, patience: float = _PATIENCE, console: Any = None) -> None:
        self._quiet = quiet
        self._patience = patience
        self._console = console
        self._bar: Any = None
        self._task: Any = None
        self._state: dict[str, Any] = {"completed": 0, "total": None, "best": "..."}
        self._lock = threading.Lock()
        # A thread of its own, because the first start alone may take longer than anybody's patience.
        self._timer = threading.Timer(patience, self._show)
        self._timer.daemon = True

    def __enter__(self) -> SearchProgress:
        self._begin = time.perf_counter()
        if not self._quiet and self._is_terminal():
            self._timer.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._timer.cancel()
        if self._timer.ident is not None:
            self._timer.join()
        seconds = time.perf_counter() - self._begin
        if self._bar is not None:
            self._bar.stop()
        elif seconds >= self._patience and not self._quiet and exception[0] is None:
            done, best = self._state["completed"], self._state["best"]
            click.echo(f"klump: searched for {seconds:.1f} s, {done} steps, best cost {best}", err=True)

    def update(self, done: int, total: int, best_cost: float) -> None:
        """Take the state of the search: what ``klump.aggregate`` calls back with."""
        with self._lock:
            self._state = {"completed": done, "total": total, "best": f"{max(best_cost, 0.0):.6f}"}
            if self._bar is not None:
                self._bar.update(self._task, **self._state)

    def say(self, message: str) -> None:
        """Print a line on stderr, above the bar if there is one."""
        if self._quiet:
            return
        with self._lock:
            if self._bar is not None:
                self._bar.console.print(message)
            else:
                click.echo(message, err=True)

    def _is_terminal(self) -> bool:
        if self._console is not None:
            return bool(self._console.is_terminal)
        return sys.stderr.isatty()

    def _show(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

        console = self._console or Console(stderr=True, markup=False, highlight=False)
        columns = (
            TextColumn("searching"),
            BarColumn(bar_width=24),
            TextColumn("{task.percentage:>3.0f} %"),
            TimeElapsedColumn(),
            TextColumn("best cost {task.fields[best]}"),
        )
        # Transient: the bar is gone when the result stands on the screen.
        bar = Progress(*columns, console=console, transient=True)
        with self._lock:
            self._task = bar.add_task("", **self._state)
            bar.start()
            self._bar = bar


@contextmanager
def search_progress(*, quiet: bool) -> Iterator[SearchProgress]:
    """Show progress, and announce when kernels have to be compiled first."""
    with SearchProgress(quiet=quiet) as progress, compilation_announced(progress):
        yield progress


@contextmanager
def compilation_announced(progress: SearchProgress) -> Iterator[None]:
    """Say so when kernels are compiled; nothing happens when they come from numba's cache."""
    events: Any = import_module("numba.core.event")

    class Announcer(events.Listener):  # type: ignore[misc]
        announced = False

        def on_start(self, event: Any) -> None:
            if not self.announced:
                self.announced = True
                progress.say(_COMPILING)

        def on_end(self, event: Any) -> None:
            pass

    announcer = Announcer()
    events.register("numba:compile", announcer)
    try:
        yield
    finally:
        events.unregister("numba:compile", announcer)
