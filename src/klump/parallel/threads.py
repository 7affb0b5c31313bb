"""Limit of the BLAS thread pool."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from threading import Lock
from typing import Any

_lock = Lock()
_depth = 0  # contexts that are open in this process
_limit: Any = None


@contextmanager
def one_thread() -> Iterator[None]:
    """Limit BLAS to one thread.

    Small matrix products spend more time on synchronisation than on arithmetic, and their rounding depends on the
    number of threads. The limit is global to the process, so the context is reentrant and thread-safe: the first to
    enter sets the limit, the last to leave restores it.

    >>> with one_thread():
    ...     pass
    """
    global _depth, _limit
    with _lock:
        if _depth == 0:
            threads: Any = import_module("threadpoolctl")
            _limit = threads.threadpool_limits(limits=1, user_api="blas")
        _depth += 1
    try:
        yield
    finally:
        with _lock:
            _depth -= 1
            if _depth == 0:
                _limit.restore_original_limits()
