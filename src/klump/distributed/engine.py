"""Engines that store blocks and run functions on them: this process, or the workers of a Dask cluster.

With either engine, arguments and results of the functions are plain values. On a cluster each result is a task that
depends only on tasks, so the scheduler recomputes results that are lost with a worker.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol
from uuid import uuid4

from klump.parallel.cluster import Value, submit_value, suppress_size_warning


class Engine(Protocol):
    """Stores values and calls functions with them, by handles."""

    def keep(self, value: Any) -> Any:
        """Store a value; its handle, an argument for ``call``."""
        ...

    def call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Call a function with handles or values; the handle of the result."""
        ...

    def results(self, kept: Sequence[Any]) -> list[Any]:
        """The values behind handles, in order."""
        ...


class SerialEngine:
    """Calls in this process; a handle is the value itself."""

    def keep(self, value: Any) -> Any:
        """The value."""
        return value

    def call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """The result."""
        return function(*arguments)

    def results(self, kept: Sequence[Any]) -> list[Any]:
        """The values, as a list."""
        return list(kept)


class DaskEngine:
    """Tasks on the cluster of a Dask client; a handle is a future."""

    def __init__(self, client: Any) -> None:
        self.client = client

    def keep(self, value: Any) -> Any:
        """Future of the value."""
        return submit_value(self.client, value)

    def call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Future of the result; a large argument should be the future of ``keep``."""
        with suppress_size_warning():
            key = f"klump-{function.__name__}-{uuid4().hex}"
            return self.client.submit(_call, function, *arguments, key=key)

    def results(self, kept: Sequence[Any]) -> list[Any]:
        """Gather the results of all futures."""
        return [value.value for value in self.client.gather(list(kept))]


def _call(function: Callable[..., Any], *arguments: Any) -> Value:
    return Value(function(*(each.value if isinstance(each, Value) else each for each in arguments)))
