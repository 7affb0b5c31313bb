"""Announcement of compilation, with an estimate of its time.

The estimate is the sum of tabulated times: ``times.json`` has the CPU seconds that each kernel and signature took on
one machine, and the kernels that each need compiles. A need is a kind of question, such as a method on a sparse chain;
the code that answers it names it (:func:`need`), so that the first kernel can announce all that follow.
``tools/measure_compilation.py`` writes the table.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from klump.compilation.folders import cached_keys
from klump.compilation.sources import kernel_key

# Shortest compilation that is announced, in seconds.
_MIN_SECONDS = 1.0
# Shortest compilation that is announced after another one, as a share of its time.
_MIN_SHARE = 0.5
# Estimate for a kernel that is not in the table, in seconds.
_UNKNOWN_SECONDS = 1.0
# Tabulated time of the compiled kernels from which on they tell how fast this machine is, in seconds.
_MIN_MEASURED = 1.0

_logger = logging.getLogger("klump")


@dataclass(frozen=True)
class Compilation:
    """A kernel that was compiled, or loaded, for one signature in this process."""

    key: str
    need: str
    seconds: float | None
    """CPU time; None if the kernel was loaded."""
    nested: bool = False
    """Whether it was for another kernel that was being compiled, whose time includes it."""


_kernels: set[Callable[..., Any]] = set()
# In order of time; changed under numba's compiler lock only.
_used: list[Compilation] = []
_announced: set[str] = set()
_needs: list[str] = []
# CPU times at which compilations began that have not ended: a kernel compiles the kernels that it calls.
_begins: list[float] = []


def compilations() -> list[Compilation]:
    """Kernels that this process has compiled or loaded for calls from Python."""
    return [used for used in _used if not used.nested]


def nested_compilations() -> list[Compilation]:
    """Kernels that this process has compiled or loaded for other kernels."""
    return [used for used in _used if used.nested]


@contextmanager
def need(name: str) -> Iterator[None]:
    """Name the kind of question that is answered in the block, for the estimate."""
    _needs.append(name)
    try:
        yield
    finally:
        _needs.pop()


def note_load(key: str) -> None:
    """Record that a kernel was loaded."""
    _used.append(Compilation(key, _present_need(), None, nested=bool(_begins)))


def follow(function: Callable[..., Any]) -> None:
    """Announce and record the compilations of a kernel from now on."""
    _kernels.add(function)
    _install_listener()


@cache
def _install_listener() -> None:
    events: Any = import_module("numba.core.event")

    class Listener(events.Listener):  # type: ignore[misc]
        def on_start(self, event: Any) -> None:
            if not _begins and (key := _key(event)) is not None:
                _announce_need(key)
            _begins.append(time.thread_time())

        def on_end(self, event: Any) -> None:
            seconds = time.thread_time() - _begins.pop()
            key = _key(event)
            if key is not None:
                _used.append(Compilation(key, _present_need(), seconds, nested=bool(_begins)))

    events.register("numba:compile", Listener())


def _key(event: Any) -> str | None:
    """Key of the kernel that an event is about; None for functions that are no kernels."""
    function = event.data["dispatcher"].py_func
    if function not in _kernels:
        return None
    return kernel_key(function, tuple(event.data["args"]), event.data["return_type"])


def _present_need() -> str:
    # Another thread may end its question at any time.
    return next(iter(_needs[-1:]), "")


def announce_all() -> None:
    """Announce the compilation of all kernels of the table that are not compiled yet."""
    _announce(_not_compiled(_table()["seconds"]), "")


def _announce_need(key: str) -> None:
    """Announce the compilation of a kernel, which begins, and of all others of the same need."""
    _announce({key} | _not_compiled(_needed_keys(_present_need())), "; `klump warm-up` does it in advance")


def _needed_keys(name: str) -> list[str]:
    """Kernels of a need; with those of the same question about a small chain if its own do not include any of them.

    The table then has only the kernels that a large chain needs in addition.
    """
    needs: dict[str, list[str]] = _table()["needs"]
    own, small = needs.get(name, []), needs.get(f"{name}, small", [])
    return own if set(own) & set(small) else own + small


def _announce(keys: set[str], remedy: str) -> None:
    """Announce the compilation of kernels that were not announced before, unless they take little more time."""
    seconds = _speed() * sum(_tabulated(key) for key in keys - _announced)
    before = _speed() * sum(_tabulated(key) for key in _announced)
    _announced.update(keys)
    if seconds >= max(_MIN_SECONDS, _MIN_SHARE * before):
        _logger.warning(f"compiling kernels for this machine: about {seconds:.0f} s, once{remedy}")


def _not_compiled(keys: Iterable[str]) -> set[str]:
    """Keys that are not in the cache and were not compiled by this process."""
    return set(keys) - set(cached_keys()) - {used.key for used in _used}


@cache
def _table() -> dict[str, Any]:
    return json.loads((Path(__file__).parent / "times.json").read_text(encoding="utf-8"))


def _tabulated(key: str) -> float:
    """Seconds that a kernel takes on the machine of the table; for a new signature those of another one."""
    seconds: dict[str, float] = _table()["seconds"]
    if key in seconds:
        return seconds[key]
    name = key.rpartition("-")[0]
    others = [value for other, value in seconds.items() if other.rpartition("-")[0] == name]
    return max(others, default=_UNKNOWN_SECONDS)


def _speed() -> float:
    """Seconds of this machine per second of the table's, from the kernels that it has compiled; 1 before."""
    known = _table()["seconds"]
    compiled = [used for used in compilations() if used.seconds is not None and used.key in known]
    tabulated = sum(_tabulated(used.key) for used in compiled)
    return sum(used.seconds or 0.0 for used in compiled) / tabulated if tabulated >= _MIN_MEASURED else 1.0
