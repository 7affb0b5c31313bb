"""Timing that a noisy machine cannot fool easily: contestants take turns, and medians are compared."""

from __future__ import annotations

import json
import platform
import statistics
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

RESULTS = Path(__file__).parent / "results"


@dataclass(frozen=True)
class Verdict:
    """One promise and what was measured; ``at_least`` or ``at_most`` is the promise."""

    what: str
    measured: float
    promise: float
    at_most: bool
    detail: str = ""

    @property
    def kept(self) -> bool:
        """Whether the promise was kept in this run."""
        return self.measured <= self.promise if self.at_most else self.measured >= self.promise

    def __str__(self) -> str:
        sign = "<=" if self.at_most else ">="
        mark = "kept  " if self.kept else "BROKEN"
        return f"{mark} {self.what}: {self.measured:.3g} ({sign} {self.promise:g})  {self.detail}"


def interleaved(contestants: dict[str, Callable[[], float]], rounds: int) -> dict[str, float]:
    """Let each contestant measure itself once a round; the median of each, in seconds."""
    seconds: dict[str, list[float]] = {name: [] for name in contestants}
    for _ in range(rounds):
        for name, measure in contestants.items():
            seconds[name].append(measure())
    return {name: statistics.median(values) for name, values in seconds.items()}


def timed(function: Callable[[], object]) -> float:
    """Seconds that one call takes."""
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def write(name: str, verdicts: list[Verdict]) -> None:
    """Keep the figures beside the machine that made them."""
    RESULTS.mkdir(exist_ok=True)
    record = {
        "machine": platform.processor() or platform.machine(),
        "python": platform.python_version(),
        "verdicts": [{**asdict(verdict), "kept": verdict.kept} for verdict in verdicts],
    }
    (RESULTS / f"{name}.json").write_text(json.dumps(record, indent=2) + "\n")
