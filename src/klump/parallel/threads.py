"""How many threads small products of matrices use."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from threading import Lock
from typing import Any

_lock = Lock()
_inside = 0
_limit: Any = None


@contextmanager
def one_thread() -> Iterator[None]:
    """Let products of full matrices use one thread: small ones only wait for others, and round as these divide them.

    The limit holds for the whole process: whoever comes first sets it, and who leaves last lifts it.

    >>> with one_thread():
    ...     pass
    """
    global _inside, _limit
    with _lock:
        if _inside == 0:
            threads: Any = import_module("threadpoolctl")
            _limit = threads.threadpool_limits(limits=1, user_api="blas")
        _inside += 1
    try:
        yield
    finally:
        with _lock:
            _inside -= 1
            if _inside == 0:
                _limit.restore_original_limits()
