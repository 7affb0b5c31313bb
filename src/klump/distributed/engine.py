"""Where blocks are kept and worked on: in this process, or on the workers of a Dask cluster.

Either way functions get and give plain values. On a cluster each result is a task that depends only on tasks, so
what a worker takes with it when it dies is computed again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol
from uuid import uuid4

from klump.parallel.cluster import Value, hold, unwarned


class Engine(Protocol):
    """Keeps values, and calls functions where these are."""

    def keep(self, value: Any) -> Any:
        """Give the engine a value; what is returned stands for it in calls."""
        ...

    def call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Call a function with values that the engine has; what is returned stands for the result."""
        ...

    def results(self, kept: Sequence[Any]) -> list[Any]:
        """The values themselves, in order."""
        ...


class Here:
    """Everything in this process, one after the other."""

    def keep(self, value: Any) -> Any:
        """The value itself."""
        return value

    def call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """The result itself."""
        return function(*arguments)

    def results(self, kept: Sequence[Any]) -> list[Any]:
        """The same values."""
        return list(kept)


class Cluster:
    """The workers that a Dask client knows."""

    def __init__(self, client: Any) -> None:
        self.client = client

    def keep(self, value: Any) -> Any:
        """A future."""
        return hold(self.client, value)

    def call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """A future; large values should be kept first."""
        with unwarned():
            key = f"klump-{function.__name__}-{uuid4().hex}"
            return self.client.submit(_called, function, *arguments, key=key)

    def results(self, kept: Sequence[Any]) -> list[Any]:
        """Wait for all of them."""
        return [value.value for value in self.client.gather(list(kept))]


def _called(function: Callable[..., Any], *arguments: Any) -> Value:
    return Value(function(*(each.value if isinstance(each, Value) else each for each in arguments)))
