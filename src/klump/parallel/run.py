"""Independent calls through joblib: threads on this machine, or the backend that the user has set."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import nullcontext
from typing import Any

from klump.parallel.cluster import (
    FutureCache,
    Payload,
    active_client,
    call_with_shared,
    suppress_size_warning,
)


def run_all(
    function: Callable[..., Any], calls: Iterable[tuple[Any, ...]], n_jobs: int | None, futures: FutureCache
) -> Iterator[Any]:
    """Run independent calls on threads, or on joblib's active backend, and yield their results in order.

    The first argument should be the one that all calls share: a cluster receives it once, and ``futures`` keeps
    it there for later calls.
    """
    import joblib

    parallel = joblib.Parallel(n_jobs=n_jobs, prefer="threads", return_as="generator")
    client = active_client()
    with nullcontext() if client is None else suppress_size_warning():
        if client is None:
            results = parallel(joblib.delayed(function)(*call) for call in calls)
        else:
            results = parallel(
                joblib.delayed(call_with_shared)(function, futures.get(client, shared), Payload(others))
                for shared, *others in calls
            )
        try:
            for result in results:  # noqa: UP028 (`yield from` would close them outside catch_warnings)
                yield result
        finally:
            # After Ctrl-C, joblib warns about results that were never consumed.
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                results.close()
