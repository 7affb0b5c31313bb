"""How many threads small products of matrices use."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def one_thread() -> Any:
    """Context in which products of full matrices use one thread: small ones only wait for the others."""
    threads: Any = import_module("threadpoolctl")
    return threads.threadpool_limits(limits=1, user_api="blas")
