"""What parallel work needs when joblib is set to a Dask cluster: ``joblib.parallel_config(backend="dask")``.

Left alone, joblib copies a large argument to one worker, from where others fetch it; if that worker dies, the calls
that need it are lost. Here the value that calls have in common is the result of a task, which the scheduler can do
again: it travels once, and nothing is lost as long as the scheduler lives.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from uuid import uuid4

from klump.parallel.threads import one_thread

# So many values are kept on the cluster between calls; older ones are forgotten once no call needs them.
_KEPT = 4


def active_client() -> Any | None:
    """Client of the Dask cluster that joblib is set to; None for every other engine."""
    from joblib.parallel import get_active_backend

    backend, _ = get_active_backend()
    return backend.client if type(backend).__module__ == "joblib._dask" else None


class Held:
    """Values that a cluster has been given, so that they are not sent again; a copy elsewhere begins empty."""

    def __init__(self) -> None:
        # By identity, with the value itself: as long as that is alive, nothing else has its identity.
        self._futures: dict[tuple[int, int], tuple[Any, Any, Any]] = {}

    def __reduce__(self) -> tuple[type[Held], tuple[()]]:
        return Held, ()

    def future(self, client: Any, value: Any) -> Any:
        """The value as a future of the client."""
        key = id(client), id(value)
        if key not in self._futures:
            self._futures[key] = client, value, hold(client, value)
            while len(self._futures) > _KEPT:
                self._futures.pop(next(iter(self._futures)))
        return self._futures[key][2]


def hold(client: Any, value: Any) -> Any:
    """Give a cluster a value for as long as the future lives."""
    with unwarned():
        # By a new name each time: to ask again for what is just being forgotten confuses workers.
        return client.submit(Value.of, Packed(value), key=f"klump-value-{uuid4().hex}")


class Packed:
    """A value on its way, as bytes.

    Kernels are compiled anew for arrays that can be written to or are not aligned, so what comes out has to be as
    what went in; Dask itself cuts arrays out of what it receives, wherever they begin. (And neither Dask nor joblib
    looks into this for something to copy to some worker.)
    """

    __slots__ = ("_parts", "_pickled")

    def __init__(self, value: Any) -> None:
        self._pickled, raw = _taken_apart(value)
        self._parts = [bytes(part) if part.readonly else bytearray(part) for part in raw]

    def __len__(self) -> int:
        return len(self._pickled) + sum(len(part) for part in self._parts)

    def unpacked(self) -> Any:
        """The value; each time another one, as far as it can be written to."""
        parts = [bytearray(part) if isinstance(part, bytearray) else part for part in self._parts]
        return pickle.loads(self._pickled, buffers=parts)


def _taken_apart(value: Any) -> tuple[bytes, list[memoryview]]:
    """A value as bytes, without its arrays, and these, not copied."""
    buffers: list[pickle.PickleBuffer] = []
    pickled = pickle.dumps(value, protocol=5, buffer_callback=buffers.append)
    return pickled, [buffer.raw() for buffer in buffers]


class Value:
    """A value that a worker has, and packs when another worker asks for it."""

    def __init__(self, value: Any) -> None:
        self.value = value

    @classmethod
    def of(cls, packed: Packed) -> Value:
        """Unpack it."""
        return cls(packed.unpacked())

    def __sizeof__(self) -> int:
        # Dask asks for it: work goes to where most of what it needs is.
        pickled, arrays = _taken_apart(self.value)
        return len(pickled) + sum(array.nbytes for array in arrays)

    def __reduce__(self) -> tuple[Any, tuple[Packed]]:
        return Value.of, (Packed(self.value),)


@contextmanager
def unwarned() -> Iterator[None]:
    """Let Dask send large values without the advice to send none."""
    import dask

    with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1000 TiB"}):
        yield


def alone(function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function; on a worker of a cluster all of it there, not spread over the cluster once more."""
    import joblib

    if active_client() is None:
        return function(*arguments)
    with joblib.parallel_config(backend="sequential"), one_thread():
        return function(*arguments)


def call_together(function: Callable[..., Any], shared: Any, others: Packed) -> Any:
    """Call a function on a worker with the value that all calls have in common, and its own other arguments."""
    # On a cluster with a single thread joblib stays at home, where nobody puts the value in the future's place.
    held: Value = shared if isinstance(shared, Value) else shared.result()
    return alone(function, held.value, *others.unpacked())
