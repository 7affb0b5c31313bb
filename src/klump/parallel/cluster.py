"""Transport of arguments to a Dask cluster: ``joblib.parallel_config(backend="dask")``.

By default joblib scatters a large argument to one worker, from which the others fetch it; if that worker dies, the
calls that depend on it fail. Here the argument that all calls share is the result of a task, which the scheduler can
run again: it is sent once, and no data is lost while the scheduler is alive.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from uuid import uuid4

from klump.parallel.threads import one_thread

# Futures per cache. Alternating searches share at most a few values; older futures are released, and Dask frees their
# values when no pending task depends on them.
_MAX_FUTURES = 4


def active_client() -> Any | None:
    """Client of the Dask cluster that is joblib's active backend; None for any other backend."""
    from joblib.parallel import get_active_backend

    backend, _ = get_active_backend()
    return backend.client if type(backend).__module__ == "joblib._dask" else None


class FutureCache:
    """Futures of values that were sent to a cluster, so that each is sent once. A pickled copy is empty."""

    def __init__(self) -> None:
        # Keyed by id; the entry keeps the value alive, so that its id is not reused.
        self._futures: dict[tuple[int, int], tuple[Any, Any, Any]] = {}

    def __reduce__(self) -> tuple[type[FutureCache], tuple[()]]:
        return FutureCache, ()

    def get(self, client: Any, value: Any) -> Any:
        """Future of the value; submits it on the first call."""
        key = id(client), id(value)
        if key not in self._futures:
            self._futures[key] = client, value, submit_value(client, value)
            while len(self._futures) > _MAX_FUTURES:
                self._futures.pop(next(iter(self._futures)))
        return self._futures[key][2]


def submit_value(client: Any, value: Any) -> Any:
    """Future of a task whose result is the value; the cluster keeps it as long as the future is alive."""
    with suppress_size_warning():
        # A unique key each time: a key that is being released must not be requested again.
        return client.submit(Value.from_payload, Payload(value), key=f"klump-value-{uuid4().hex}")


class Payload:
    """A serialised value.

    numba compiles a kernel once per array type, and writeability and alignment are part of the type, so arrays must
    keep both. Dask's own deserialisation returns views into the received frames, at any alignment. A payload is also
    opaque to Dask and joblib, which would scatter the arrays inside.
    """

    __slots__ = ("_buffers", "_pickled")

    def __init__(self, value: Any) -> None:
        self._pickled, raw = _serialise(value)
        self._buffers = [bytes(buffer) if buffer.readonly else bytearray(buffer) for buffer in raw]

    def __len__(self) -> int:
        return len(self._pickled) + sum(len(buffer) for buffer in self._buffers)

    def deserialise(self) -> Any:
        """A new value; its writeable arrays are copies, its read-only ones share the payload's memory."""
        buffers = [bytearray(buffer) if isinstance(buffer, bytearray) else buffer for buffer in self._buffers]
        return pickle.loads(self._pickled, buffers=buffers)


def _serialise(value: Any) -> tuple[bytes, list[memoryview]]:
    """Pickle (protocol 5) with out-of-band buffers, which are not copied."""
    buffers: list[pickle.PickleBuffer] = []
    pickled = pickle.dumps(value, protocol=5, buffer_callback=buffers.append)
    return pickled, [buffer.raw() for buffer in buffers]


class Value:
    """A deserialised value in a worker's memory, serialised as a payload when another worker fetches it."""

    def __init__(self, value: Any) -> None:
        self.value = value

    @classmethod
    def from_payload(cls, payload: Payload) -> Value:
        """Deserialise a payload."""
        return cls(payload.deserialise())

    def __sizeof__(self) -> int:
        # The scheduler runs a task on the worker that holds most bytes of its dependencies.
        pickled, buffers = _serialise(self.value)
        return len(pickled) + sum(buffer.nbytes for buffer in buffers)

    def __reduce__(self) -> tuple[Any, tuple[Payload]]:
        return Value.from_payload, (Payload(self.value),)


@contextmanager
def suppress_size_warning() -> Iterator[None]:
    """Suppress Dask's warning about large task graphs: payloads are large and sent once."""
    import dask

    with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1000 TiB"}):
        yield


def run_serially(function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function; on a Dask worker, without nested parallelism and with one BLAS thread."""
    import joblib

    if active_client() is None:
        return function(*arguments)
    with joblib.parallel_config(backend="sequential"), one_thread():
        return function(*arguments)


def call_with_shared(function: Callable[..., Any], shared: Any, others: Payload) -> Any:
    """Call a function on a worker with the argument that all calls share, and this call's other arguments."""
    # On a cluster with a single thread joblib runs the call in this process, where the future is not resolved.
    value: Value = shared if isinstance(shared, Value) else shared.result()
    return run_serially(function, value.value, *others.deserialise())
