"""Many searches in parallel, one worker per search."""

from __future__ import annotations

from typing import Any

from klump.aggregation.options import check_method
from klump.aggregation.question import run_method
from klump.errors import InvalidArgumentError
from klump.search.method import Found, Task
from klump.search.registry import METHODS, names_of


def run_on_one_worker(task: Task, method: str) -> Found:
    """Run a method on a task, with all its starts on the worker that makes this call."""
    import joblib

    # Not n_jobs=1: joblib's Dask backend ignores it, so that each search would spread over the whole cluster.
    with joblib.parallel_config(backend="sequential"):
        return run_method(task, method)


def check_method_with_number(method: Any) -> str:
    """Return the name of a method that takes a number of groups."""
    if METHODS[check_method(method)].finds_number:
        others = ", ".join(names_of(lambda method: not method.finds_number))
        raise InvalidArgumentError(
            "finds the number of groups itself",
            argument="method",
            value=method,
            remedy=f"choose one of {others}",
        )
    return str(method)
