"""SIGINT handling for experiments, whose trials are either complete or discarded."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager


class Stopped(BaseException):
    """SIGINT arrived.

    Not a KeyboardInterrupt: a search catches that and returns the best map so far, and an experiment would store an
    interrupted search as a complete one.
    """


@contextmanager
def stop_on_ctrl_c() -> Iterator[None]:
    """Install a SIGINT handler that raises :class:`Stopped`, and restore the previous one at the end."""
    if not _in_main_thread():
        yield
        return

    def stop(*_: object) -> None:
        raise Stopped

    previous = signal.signal(signal.SIGINT, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, previous)


def start_workers(n_jobs: int | None) -> None:
    """Start joblib's worker processes, which later calls reuse, with SIGINT ignored.

    A terminal sends SIGINT to the whole process group. Only this process handles it, and then ends its workers.
    """
    import joblib

    workers = joblib.effective_n_jobs(n_jobs)
    if workers == 1 or not _in_main_thread():
        return
    engine = joblib.Parallel(n_jobs=n_jobs, prefer="processes", return_as="generator")
    # A child process inherits SIG_IGN from its parent.
    previous = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        answers = engine(joblib.delayed(int)() for _ in range(workers))
    finally:
        signal.signal(signal.SIGINT, previous)
    for _ in answers:
        pass


def _in_main_thread() -> bool:
    """Whether this is the main thread: Python allows signal handlers only there."""
    return threading.current_thread() is threading.main_thread()
