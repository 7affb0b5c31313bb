"""Standard output and standard error that cannot fail in the middle of a command.

A full disk, a closed pipe or a closed descriptor must not lose a finished answer: what cannot be written is dropped,
and the exit status says so at the end. Characters that the encoding lacks are written as escape sequences.
"""

from __future__ import annotations

import errno
import io
import os
import select
import sys
from typing import Any

# Exit status after the reader of standard output has closed the pipe: 128 + SIGPIPE, as if that had ended the process.
PIPE_CLOSED = 141


class _Descriptor(io.FileIO):
    """A file descriptor that drops what it cannot write; ``failure`` is the first reason."""

    failure: OSError | None = None

    def write(self, data: Any) -> int:
        while self.failure is None:
            try:
                # FileIO returns None if the descriptor is non-blocking and its reader is slow.
                if (written := super().write(data)) is not None:
                    return written
                select.select([], [self], [])
            except OSError as error:
                self.failure = error
        return memoryview(data).nbytes


class Streams:
    """The streams of this process, replaced."""

    def __init__(self) -> None:
        closed = _open_missing_descriptors()
        self._stdout = _replace("stdout", 1)
        self._stderr = _replace("stderr", 2)
        for number, descriptor in ((1, self._stdout), (2, self._stderr)):
            if number in closed and descriptor is not None:
                descriptor.failure = OSError(errno.EBADF, os.strerror(errno.EBADF))

    def finish(self, status: int) -> int:
        """Flush standard output; report a failure on standard error, and return the exit status."""
        if self._stdout is None:
            return status
        sys.stdout.flush()
        failure = self._stdout.failure
        if failure is None:
            return status
        if failure.errno == errno.EPIPE:
            return status or PIPE_CLOSED
        reason = failure.strerror or str(failure)
        sys.stderr.write(f"klump: error: standard output cannot be written: {reason}\n")
        return status or 1


def _open_missing_descriptors() -> set[int]:
    """Open the null device in place of closed descriptors, or the next file that is opened would get their numbers."""
    closed = set()
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            closed.add(number)
            os.open(os.devnull, os.O_RDWR)
    return closed


def _replace(name: str, number: int) -> _Descriptor | None:
    """Replace ``sys.stdout`` or ``sys.stderr``; None if it is no plain file, such as a console of Windows."""
    present: Any = getattr(sys, name)
    buffer = getattr(present, "buffer", None)
    raw = getattr(buffer, "raw", buffer)  # without a buffer if PYTHONUNBUFFERED is set
    if present is not None and type(raw) is not io.FileIO:
        if hasattr(present, "reconfigure"):
            present.reconfigure(errors="backslashreplace")
        return None
    descriptor = _Descriptor(number, "w", closefd=False)
    stream = io.TextIOWrapper(
        io.BufferedWriter(descriptor),
        encoding="utf-8" if present is None else present.encoding,
        errors="backslashreplace",
        line_buffering=number == 2 or descriptor.isatty(),
    )
    setattr(sys, name, stream)
    return descriptor
