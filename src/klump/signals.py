"""SIGINT and SIGTERM on the command line: a command ends at once, or with its best answer so far.

No exception is raised at an arbitrary instruction: Python code that is being imported, numba's compiler and destructors
swallow it or turn it into another one. The handler does one of two things:

- There is no answer yet: remove temporary files, end worker processes, print one line, exit.
- There is one: record the signal. Searches check it where they check their deadline, and return their incumbent;
  the command saves and prints it, and exits with :func:`exit_status`.

A second signal ends the process in any case. Handlers are installed by the command line alone: a Python program that
imports klump gets KeyboardInterrupt as ever. This module imports little, so that handlers are installed early.
"""

from __future__ import annotations

import atexit
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from time import monotonic

# Seconds within which further signals count as the first one: timeout(1) signals a process and its process group.
_REPEAT = 0.5
# Escape sequences that erase the line of a progress bar and show the cursor.
_RESET_TERMINAL = b"\r\x1b[K\x1b[?25h"
# Exit status of a process that a signal ended, as shells report it, less the number of the signal.
_STATUS = 128


class Interrupted(KeyboardInterrupt):
    """A signal was recorded; raised where the caller can keep what it has."""


class _State:
    """What the handler has seen, and what it must know. One per process."""

    signal = 0  # the first one that arrived; 0 before
    time = 0.0  # of its arrival
    keeps_answers = False  # whether the command can end with its best answer so far
    has_answer = False
    remedy = ""  # text behind "klump: interrupted"
    n_holds = 0  # blocks that must not be left in the middle


_state = _State()
# Per search in progress, in any thread: whether it has an incumbent.
_incumbents: list[Callable[[], bool]] = []
# Temporary files and folders.
_temporary: list[str] = []


def install() -> None:
    """Install the handlers, in the main thread; a signal that the parent process has set to be ignored stays so."""
    for number in (signal.SIGINT, signal.SIGTERM):
        if signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler):
            with suppress(ValueError):  # not the main thread
                signal.signal(number, _handle)


def leave(status: object) -> None:
    """Exit, after the functions that were registered for that, but without taking the interpreter apart.

    That would remove the handlers, so that a signal would end the process with another status; and takes 0.1 s. A
    process with workers exits as usual: they are ended by a thread that only the interpreter stops.
    """
    processes = sys.modules.get("multiprocessing")
    if processes is not None and processes.active_children():
        sys.exit(status)  # type: ignore[arg-type]
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status if isinstance(status, int) else int(status is not None))


def exit_status() -> int:
    """Exit status for the signal that was recorded, 128 + its number; 0 if there was none."""
    return _STATUS + _state.signal if _state.signal else 0


def keep_answers() -> None:
    """Declare that the command delivers its best answer so far, once there is one."""
    _state.keeps_answers = True


def note_answer() -> None:
    """Declare that there is an answer: from now on a signal is recorded."""
    _state.has_answer = True


def explain(remedy: str) -> None:
    """Set the text that follows ``klump: interrupted``."""
    _state.remedy = f": {remedy}"


def is_recorded() -> bool:
    """Whether a signal was recorded that a search should end for."""
    return _state.signal != 0


def check() -> None:
    """Raise Interrupted if a signal was recorded."""
    if _state.signal:
        raise Interrupted


@contextmanager
def watch(has_incumbent: Callable[[], bool]) -> Iterator[None]:
    """Record signals in this block while a search has an incumbent."""
    _incumbents.append(has_incumbent)
    try:
        yield
    finally:
        _state.has_answer = _state.has_answer or has_incumbent()
        _incumbents.remove(has_incumbent)


@contextmanager
def hold() -> Iterator[None]:
    """Complete this block before a signal takes effect."""
    _state.n_holds += 1
    try:
        yield
    finally:
        _state.n_holds -= 1
        if _state.signal and not _state.n_holds and not _can_answer():
            _end()


@contextmanager
def removing(path: str | os.PathLike[str]) -> Iterator[None]:
    """Remove a temporary file or folder if a signal ends the process in this block."""
    name = os.fspath(path)
    _temporary.append(name)
    try:
        yield
    finally:
        _temporary.remove(name)


def _handle(number: int, _: object) -> None:
    now = monotonic()
    if _state.signal:
        if now - _state.time >= _REPEAT:
            _end()
        return
    _state.signal, _state.time = number, now
    if _can_answer():
        _write_line("interrupted: ending with what was found so far; again to end without it")
    elif not _state.n_holds:
        _end()


def _can_answer() -> bool:
    known = _state.has_answer or any(has_incumbent() for has_incumbent in tuple(_incumbents))
    return _state.keeps_answers and known


def _end() -> None:
    """End the process without unwinding the stack, which may be in the middle of anything."""
    for path in _temporary:
        _remove(path)
    processes = sys.modules.get("multiprocessing")
    if processes is not None:
        with suppress(Exception):
            for worker in processes.active_children():
                os.kill(worker.pid, getattr(signal, "SIGKILL", signal.SIGTERM))
    _write_line(f"interrupted{_state.remedy}")
    os._exit(exit_status())


def _remove(path: str) -> None:
    with suppress(OSError):
        if not os.path.isdir(path) or os.path.islink(path):
            os.unlink(path)
            return
        for folder, folders, files in os.walk(path, topdown=False):
            for name in files:
                os.unlink(os.path.join(folder, name))
            for name in folders:
                os.rmdir(os.path.join(folder, name))
        os.rmdir(path)


def _write_line(text: str) -> None:
    """Write to standard error without its buffer, which the interrupted code may be using."""
    with suppress(OSError):
        terminal = _RESET_TERMINAL if os.isatty(2) else b""
        os.write(2, terminal + f"klump: {text}\n".encode("ascii", "backslashreplace"))
