"""Run the trials of an experiment in parallel, and keep what is finished so that a later run goes on from there."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from klump import __version__
from klump.parallel import run_serially

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True)
class Settings:
    """How an experiment is run."""

    trials: int | None = None
    """Trials (random chains, draws of points) instead of the paper's number."""
    seed: int = 0
    n_jobs: int | None = None
    directory: Path | None = None
    """Where finished pieces are kept; None keeps nothing."""
    progress: Progress | None = None
    """Called with the name of the experiment and its finished and planned pieces."""

    def trials_or(self, published: int) -> int:
        """Return the number of trials: what was asked for, else the paper's."""
        return published if self.trials is None else self.trials

    def seed_of(self, *key: int) -> int:
        """Seed of one trial: it depends on the seed and the key alone."""
        return int(np.random.SeedSequence([self.seed, *key]).generate_state(1)[0])


def run_pieces(
    name: str, function: Callable[..., Any], calls: Sequence[tuple[Any, ...]], settings: Settings
) -> list[Any]:
    """Call the function with each tuple of arguments; the results in order.

    Arguments and results must be what JSON can hold. Pieces run in parallel, by joblib in processes unless
    ``joblib.parallel_config`` says otherwise. Each finished one is written down at once; those that an
    earlier, interrupted run has written (same version of klump, same arguments) are not run again.
    """
    import joblib

    keys = [_key(name, function, call) for call in calls]
    record = None if settings.directory is None else settings.directory / f"{name}.jsonl"
    finished = _read(record)
    missing = [j for j, key in enumerate(keys) if key not in finished]
    done = len(keys) - len(missing)
    _report(settings, name, done, len(keys))
    # As they come, so that a slow piece does not hold back the others.
    engine = joblib.Parallel(
        n_jobs=settings.n_jobs, prefer="processes", return_as="generator_unordered", batch_size=1
    )
    for j, result in engine(joblib.delayed(_numbered)(j, function, calls[j]) for j in missing):
        # JSON and back, so that a result is the same whether it was written down or not.
        line = json.dumps({"key": keys[j], "result": result})
        finished[keys[j]] = json.loads(line)["result"]
        if record is not None:
            _append(record, line)
        done += 1
        _report(settings, name, done, len(keys))
    return [finished[key] for key in keys]


def _numbered(number: int, function: Callable[..., Any], call: tuple[Any, ...]) -> tuple[int, Any]:
    return number, run_serially(function, *call)


def _append(record: Path, line: str) -> None:
    """Write a line at the end, on a line of its own even after one that was cut off."""
    record.parent.mkdir(parents=True, exist_ok=True)
    with record.open("a+b") as file:
        if file.tell() > 0:
            file.seek(-1, 2)
            line = line if file.read(1) == b"\n" else "\n" + line
        file.write(line.encode() + b"\n")


def _key(name: str, function: Callable[..., Any], call: tuple[Any, ...]) -> str:
    text = json.dumps([__version__, name, function.__name__, call])
    return hashlib.sha256(text.encode()).hexdigest()[:24]


def _read(record: Path | None) -> dict[str, Any]:
    """Finished pieces; a line that an interruption cut off is left out."""
    finished: dict[str, Any] = {}
    if record is None or not record.exists():
        return finished
    for line in record.read_text(encoding="utf-8").splitlines():
        try:
            entry = json.loads(line)
            finished[entry["key"]] = entry["result"]
        except (ValueError, KeyError, TypeError):
            continue
    return finished


def _report(settings: Settings, name: str, done: int, total: int) -> None:
    if settings.progress is not None:
        settings.progress(name, done, total)
