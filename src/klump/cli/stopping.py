"""Worker processes that leave Ctrl-C to their parent."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager


def start_workers(n_jobs: int | None) -> None:
    """Start joblib's worker processes, which later calls reuse, with SIGINT ignored.

    A terminal sends SIGINT to the whole process group. Only this process handles it, and then ends its workers.
    """
    import joblib

    workers = joblib.effective_n_jobs(n_jobs)
    if workers == 1 or threading.current_thread() is not threading.main_thread():
        return
    engine = joblib.Parallel(n_jobs=n_jobs, prefer="processes", return_as="generator")
    with _ignore_ctrl_c(), _silence_tracker():
        answers = engine(joblib.delayed(int)() for _ in range(workers))
    for _ in answers:
        pass


@contextmanager
def _silence_tracker() -> Iterator[None]:
    """Let joblib's process that removes what workers leave behind do so without warnings, after a signal."""
    before = os.environ.get("PYTHONWARNINGS")
    os.environ["PYTHONWARNINGS"] = ",".join(filter(None, (before, "ignore:resource_tracker:UserWarning")))
    try:
        yield
    finally:
        if before is None:
            del os.environ["PYTHONWARNINGS"]
        else:
            os.environ["PYTHONWARNINGS"] = before


@contextmanager
def _ignore_ctrl_c() -> Iterator[None]:
    """Let child processes inherit SIG_IGN; a signal that this process gets meanwhile arrives after the block."""
    mask = getattr(signal, "pthread_sigmask", None)  # not on Windows
    before = None if mask is None else mask(signal.SIG_BLOCK, {signal.SIGINT})
    previous = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, previous)
        if mask is not None:
            mask(signal.SIG_SETMASK, before)
