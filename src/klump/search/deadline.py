"""Time limits and signals: what the searches of a call check between sweeps and with every progress report.

A search that has passed its deadline ends as on Ctrl-C, with its incumbent; it never ends before it has one. Without a
limit no clock is read, so that the answer is a function of the seed alone. On the command line a search ends in the
same way after a signal (:mod:`klump.signals`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from threading import current_thread, main_thread
from time import monotonic
from typing import Any

from klump import signals


class TimeLimitReached(KeyboardInterrupt):
    """The deadline has passed; a KeyboardInterrupt, because a search handles both alike."""

    def __init__(self, seconds: float) -> None:
        super().__init__(seconds)
        self.seconds = seconds


def limit_of(reason: KeyboardInterrupt) -> float | None:
    """Return the time limit that interrupted a search, in seconds; None if Ctrl-C did."""
    return reason.seconds if isinstance(reason, TimeLimitReached) else None


def interruption(limit: float | None) -> KeyboardInterrupt:
    """Return the exception of an interruption: by a time limit in seconds, or by Ctrl-C."""
    return KeyboardInterrupt() if limit is None else TimeLimitReached(limit)


class Deadline:
    """The end of a time limit, which starts when the deadline is made. A pickled copy is None: clocks are local."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._end = monotonic() + seconds

    def has_passed(self) -> bool:
        """Whether the time is up."""
        return monotonic() >= self._end

    def check(self) -> None:
        """Raise TimeLimitReached if the time is up."""
        if self.has_passed():
            raise TimeLimitReached(self.seconds)

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[()]]:
        return _no_deadline, ()


def _no_deadline() -> None:
    """The deadline in another process."""


# Context variables, because a worker thread must not raise: the thread that waits for its result checks.
_deadline: ContextVar[Deadline | None] = ContextVar("deadline", default=None)
_checks_signals: ContextVar[bool] = ContextVar("checks_signals", default=False)
# Per search in progress, the outermost first: whether it has an incumbent.
_searches: ContextVar[tuple[Callable[[], bool], ...]] = ContextVar("searches", default=())


@contextmanager
def run_until(deadline: Deadline | None) -> Iterator[None]:
    """Let the searches of this block check a deadline, and no other one, and signals."""
    tokens = _deadline.set(deadline), _searches.set(()), _checks_signals.set(True)
    try:
        yield
        signals.note_answer()
    finally:
        _deadline.reset(tokens[0])
        _searches.reset(tokens[1])
        _checks_signals.reset(tokens[2])


@contextmanager
def search_in_progress(has_incumbent: Callable[[], bool]) -> Iterator[None]:
    """Hold back the deadline until this search, or one around it, has an incumbent."""
    token = _searches.set((*_searches.get(), has_incumbent))
    try:
        with signals.watch(has_incumbent):
            yield
    finally:
        _searches.reset(token)


def check_deadline() -> None:
    """Raise TimeLimitReached if the deadline has passed and a search in progress has an incumbent, or there is none.

    Raise Interrupted after a signal, under the same condition; but where there is no search in progress only in the
    main thread, as a thread of a pool would end without a result.
    """
    deadline = _deadline.get()
    signalled = signals.is_recorded() and _checks_signals.get()
    if deadline is None and not signalled:
        return
    searches = _searches.get()
    if searches and not any(has_incumbent() for has_incumbent in searches):
        return
    if signalled and (searches or current_thread() is main_thread()):
        signals.check()
    if deadline is not None:
        deadline.check()
