"""One measurement in a process of its own: a crash or a timeout of that process is an answer too."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
# Signals by which a process that exceeds its limit, of wall or of CPU time, ends itself.
TIME_SIGNALS = (signal.SIGALRM, signal.SIGPROF)


@dataclass(frozen=True)
class Outcome:
    """The JSON that a process left, or the reason why there is none."""

    found: dict | None = None
    error: str | None = None
    timed_out: bool = False


def ask(
    module: str, question: Sequence[object], answer: Path, *, timeout: float, threads: int = 1
) -> Outcome:
    """Run ``python -m module *question answer``; the process writes JSON to the file ``answer``."""
    answer.unlink(missing_ok=True)
    command = [sys.executable, "-m", module, *map(str, question), str(answer)]
    environment = os.environ | {name: str(threads) for name in THREADS}
    try:
        ended = subprocess.run(
            command,
            cwd=ROOT,
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            timeout=timeout,
        )
    except subprocess.TimeoutExpired:
        return Outcome(timed_out=True)
    code = ended.returncode
    if answer.exists():
        return Outcome(json.loads(answer.read_text()))
    if -code in TIME_SIGNALS:
        return Outcome(timed_out=True)
    if code < 0:
        return Outcome(error=f"killed by {signal.Signals(-code).name}")
    return Outcome(error=(ended.stderr.strip().splitlines() or [f"left with code {code}"])[-1])
