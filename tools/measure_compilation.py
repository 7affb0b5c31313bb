"""Measure how long each kernel takes to compile: writes ``src/klump/compilation/times.json``.

    python tools/measure_compilation.py

Each question of the warm-up runs in a process of its own, all with one cache, which is empty at first. A process tells
which kernels it compiled, how long that took, and which kernels it found in the cache: all of them are what the need
that it names takes. Run it on an idle machine, after kernels have changed.
"""

from __future__ import annotations

import json
import logging
import os
import platform
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from klump.compilation import announcement, compilations
from klump.compilation.announcement import nested_compilations
from klump.warm_up import QUESTIONS


def measure(folder: str) -> Iterator[tuple[str | None, str, float | None]]:
    """Need, if Python calls it, key, and CPU seconds, if it was compiled, of each kernel of each question."""
    for name in QUESTIONS:
        print(name, file=sys.stderr)
        environment = os.environ | {"NUMBA_CACHE_DIR": folder}
        command = [sys.executable, __file__, name]
        done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True)
        yield from json.loads(done.stdout)


def write_table() -> None:
    """Measure all questions and write the table."""
    seconds: dict[str, float] = {}
    needs: dict[str, list[str]] = {}
    with TemporaryDirectory() as folder:
        for need, key, time in measure(folder):
            if time is not None:
                seconds[key] = round(time, 2)
            if need is not None and key not in needs.setdefault(need, []):
                needs[need].append(key)
    table = {
        "machine": f"{platform.machine()}, Python {platform.python_version()}",
        "seconds": dict(sorted(seconds.items())),
        "needs": {need: sorted(keys) for need, keys in sorted(needs.items()) if need},
    }
    path = Path(announcement.__file__).with_name("times.json")
    path.write_text(json.dumps(table, indent=1) + "\n", encoding="utf-8")
    print(f"{path}: {len(seconds)} kernels, {sum(seconds.values()):.0f} s", file=sys.stderr)


if __name__ == "__main__":
    if len(sys.argv) == 2:
        logging.getLogger("klump").setLevel(logging.ERROR)
        QUESTIONS[sys.argv[1]]()
        called = [(used.need, used.key, used.seconds) for used in compilations()]
        print(json.dumps(called + [(None, used.key, used.seconds) for used in nested_compilations()]))
    else:
        write_table()
