"""Ctrl-C for work that is done in pieces: a piece is finished, or it is not there at all."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager


class Stopped(BaseException):
    """Ctrl-C was pressed.

    No KeyboardInterrupt: a search answers that with the best it has found so far, and half a search would
    then be kept as if it were a whole one.
    """


@contextmanager
def stopped_by_ctrl_c() -> Iterator[None]:
    """Raise :class:`Stopped` on Ctrl-C."""
    if not _hears_signals():
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
    """Start joblib's processes, which later work uses again, so that they do not hear Ctrl-C.

    A terminal sends it to all of them. This program answers for them and then ends them.
    """
    import joblib

    workers = joblib.effective_n_jobs(n_jobs)
    if workers == 1 or not _hears_signals():
        return
    engine = joblib.Parallel(n_jobs=n_jobs, prefer="processes", return_as="generator")
    # What is ignored while a process is started is ignored by that process ever after.
    previous = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        answers = engine(joblib.delayed(int)() for _ in range(workers))
    finally:
        signal.signal(signal.SIGINT, previous)
    for _ in answers:
        pass


def _hears_signals() -> bool:
    return threading.current_thread() is threading.main_thread()
