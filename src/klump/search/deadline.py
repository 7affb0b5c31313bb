"""Time limits: a deadline that the searches of a call check between sweeps and with every progress report.

A search that has passed its deadline ends as on Ctrl-C, with its incumbent; it never ends before it has one. Without a
limit no clock is read, so that the answer is a function of the seed alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from time import monotonic
from typing import Any


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
# Per search in progress, the outermost first: whether it has an incumbent.
_searches: ContextVar[tuple[Callable[[], bool], ...]] = ContextVar("searches", default=())


@contextmanager
def run_until(deadline: Deadline | None) -> Iterator[None]:
    """Let the searches of this block check a deadline, and no other one."""
    tokens = _deadline.set(deadline), _searches.set(())
    try:
        yield
    finally:
        _deadline.reset(tokens[0])
        _searches.reset(tokens[1])


@contextmanager
def search_in_progress(has_incumbent: Callable[[], bool]) -> Iterator[None]:
    """Hold back the deadline until this search, or one around it, has an incumbent."""
    token = _searches.set((*_searches.get(), has_incumbent))
    try:
        yield
    finally:
        _searches.reset(token)


def check_deadline() -> None:
    """Raise TimeLimitReached if the deadline has passed and a search in progress has an incumbent, or there is none."""
    deadline = _deadline.get()
    searches = _searches.get()
    if deadline is not None and (not searches or any(has_incumbent() for has_incumbent in searches)):
        deadline.check()
