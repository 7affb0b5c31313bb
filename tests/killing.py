"""Ways for a worker of a cluster to die at a known moment. (Here, because workers must be able to import them.)"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any


def die_once(mark: Path) -> None:
    """Kill the process that calls this, as kill -9 does, unless one has died for this mark already."""
    try:
        os.close(os.open(mark, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return
    os.kill(os.getpid(), signal.SIGKILL)


class Deadly:
    """A function whose call number so-and-so in some process is the end of that process, but only once."""

    def __init__(self, function: Callable[..., Any], mark: Path, at_call: int) -> None:
        self.function, self.mark, self.at_call, self.calls = function, mark, at_call, 0

    def __call__(self, *arguments: Any) -> Any:
        self.calls += 1
        if self.calls >= self.at_call:
            die_once(self.mark)
        return self.function(*arguments)


def arm(module: str, name: str, mark: Path, at_call: int = 1) -> None:
    """Make a function of a module deadly in the process that calls this."""
    home = import_module(module)
    setattr(home, name, Deadly(getattr(home, name), mark, at_call))


def disarm(module: str, name: str) -> None:
    home = import_module(module)
    function = getattr(home, name)
    if isinstance(function, Deadly):
        setattr(home, name, function.function)


def deadly_square(number: int, mark: str) -> list[int]:
    """A trial of an experiment during which its process dies once."""
    if number == 3:
        die_once(Path(mark))
    return [number, number * number]


def die_while_writing(at_call: int) -> None:
    """Make this process die when it writes a record of a checkpoint for the nth time, half of which is then there."""
    from klump.checkpoints import journal

    write = journal._write
    calls = 0

    def write_half(descriptor: int, content: bytes, offset: int) -> None:
        nonlocal calls
        calls += 1
        if calls == at_call:
            write(descriptor, content[: len(content) // 2], offset)
            os.kill(os.getpid(), signal.SIGKILL)
        write(descriptor, content, offset)

    journal._write = write_half
