"""Units of work, whose results a checkpoint stores, in nested scopes.

A unit is a call whose result follows from the question and from its arguments: a restart, a start, a child, a cycle, a
cell. It is named by its scope, its function and the number of earlier units of that name in the scope; the digest of
its arguments, and of the state of its random generator, is stored with it. A unit with another digest runs again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Protocol, TypeVar

import numpy as np

from klump.checkpoints.journal import Journal
from klump.checkpoints.values import digest

T = TypeVar("T")

# Runs independent calls, as klump.parallel.run_all with its other arguments set.
Run = Callable[[Callable[..., Any], Iterable[tuple[Any, ...]]], Iterator[Any]]


class Once(Protocol):
    """Type of :meth:`Scope.once`, for functions that run with or without a checkpoint."""

    def __call__(
        self,
        name: str,
        function: Callable[[], T],
        rng: np.random.Generator | None = None,
        given: tuple[Any, ...] = (),
    ) -> T:
        """Return the result of a unit."""
        ...


def always(
    name: str, function: Callable[[], T], rng: np.random.Generator | None = None, given: tuple[Any, ...] = ()
) -> T:
    """Run a unit: :meth:`Scope.once` without a checkpoint."""
    return function()


class Scope:
    """A part of a journal, for one search in one thread. A pickled copy is None: files are local."""

    def __init__(self, journal: Journal, path: str = "") -> None:
        self._journal = journal
        self._path = path
        self._used: Counter[str] = Counter()

    def __reduce__(self) -> tuple[Callable[[], None], tuple[()]]:
        return _no_scope, ()

    @property
    def is_new(self) -> bool:
        """Whether no result is stored yet."""
        return len(self._journal) == 0

    def scope(self, name: str) -> Scope:
        """Scope of a search within this one."""
        return Scope(self._journal, f"{self._path}{name}/")

    def once(
        self,
        name: str,
        function: Callable[[], T],
        rng: np.random.Generator | None = None,
        given: tuple[Any, ...] = (),
    ) -> T:
        """Return the stored result of a unit, or run it and store its result unless that is ``interrupted``.

        Parameters
        ----------
        name
            Name of the unit; units of the same name in a scope are numbered.
        function
            Runs the unit.
        rng
            Random generator of the unit. It ends in the same state, whether the unit runs or not.
        given
            All else that the result depends on, besides the question.
        """
        unit = self._number(name)
        key = digest((given, _state(rng)))
        found = self._journal.find(unit, key)
        if found is not None:
            value, after = found[0]
            if rng is not None:
                rng.bit_generator.state = after
            return value
        value = function()
        if not getattr(value, "interrupted", False):
            self._journal.append(unit, key, (value, _state(rng)))
        return value

    def run_all(
        self, function: Callable[..., Any], calls: Iterable[tuple[Any, ...]], run: Run
    ) -> Iterator[Any]:
        """Yield the results of independent calls in order; those that are stored are not run.

        The first argument of a call is the one that all share, and follows from the question. A call on a thread of
        this process stores its result as soon as it ends, one on another process when its turn comes.
        """
        name = self._number(function.__name__)
        units = list[tuple[str, str]]()
        stored = set[int]()

        def missing() -> Iterator[tuple[Any, ...]]:
            for number, (shared, *others) in enumerate(calls):
                unit = f"{name}, call {number}", digest(tuple(others))
                units.append(unit)
                if self._journal.has(*unit):
                    stored.add(number)
                else:
                    yield shared, *others, _Recorder(self, function, number, unit)

        results = run(_run_recorded, missing())
        try:
            number, result = 0, next(results, None)
            # All calls before that of `result` are known by now, and all calls once there are no more results.
            while result is not None or number in stored:
                if result is not None and result[0] == number:
                    yield self._record(units[number], result[1])
                    result = next(results, None)
                else:
                    yield self._journal.find(*units[number])[0]
                number += 1
        finally:
            close = getattr(results, "close", None)
            if close is not None:
                close()

    def _record(self, unit: tuple[str, str], value: Any) -> Any:
        if not getattr(value, "interrupted", False):
            self._journal.append(*unit, value)
        return value

    def _number(self, name: str) -> str:
        self._used[name] += 1
        return f"{self._path}{name} {self._used[name] - 1}"


class _Recorder:
    """A call, which stores its result in the thread that runs it, and its number."""

    def __init__(
        self, scope: Scope | None, function: Callable[..., Any], number: int, unit: tuple[str, str]
    ) -> None:
        self.scope, self.function, self.number, self.unit = scope, function, number, unit

    def __call__(self, *arguments: Any) -> tuple[int, Any]:
        value = self.function(*arguments)
        return self.number, value if self.scope is None else self.scope._record(self.unit, value)


def _run_recorded(*arguments: Any) -> tuple[int, Any]:
    *others, call = arguments
    found: tuple[int, Any] = call(*others)
    return found


def _no_scope() -> None:
    """The scope in another process."""


def _state(rng: np.random.Generator | None) -> Any:
    return None if rng is None else dict(rng.bit_generator.state)
