"""Independent calls by joblib: threads on this machine, or the engine that the user has set."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import nullcontext
from typing import Any

from klump.parallel.cluster import Held, Packed, active_client, call_together, unwarned


def run_all(
    function: Callable[..., Any], calls: Iterable[tuple[Any, ...]], n_jobs: int | None, held: Held
) -> Iterator[Any]:
    """Run independent calls and yield their results in order: threads, or the engine joblib is set to.

    The first argument should be what all calls have in common: it is sent to a cluster only once, and ``held``
    remembers that it was.
    """
    import joblib

    engine = joblib.Parallel(n_jobs=n_jobs, prefer="threads", return_as="generator")
    client = active_client()
    with nullcontext() if client is None else unwarned():
        if client is None:
            results = engine(joblib.delayed(function)(*call) for call in calls)
        else:
            results = engine(
                joblib.delayed(call_together)(function, held.future(client, shared), Packed(others))
                for shared, *others in calls
            )
        try:
            for result in results:  # noqa: UP028 (`yield from` would close them where the warning is heard)
                yield result
        finally:
            # Who stops listening, by Ctrl-C, need not be told that some results were not used.
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                results.close()
