"""Run the trials of an experiment in parallel, and store finished pieces so that a later run resumes."""

from __future__ import annotations

import hashlib
import json
import math
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from klump import __version__
from klump.arguments import Progress
from klump.files.gate import guard_reading
from klump.parallel import run_serially


@dataclass(frozen=True)
class Settings:
    """Options of a run."""

    trials: int | None = None
    """Number of trials (random chains, draws of points); None for the paper's number."""
    seed: int = 0
    n_jobs: int | None = None
    directory: Path | None = None
    """Directory of the files of finished pieces; None stores nothing."""
    bar: Callable[[str], Progress] | None = None
    """Open the progress bar of a named experiment; its callback gets the finished and the planned pieces, and NaN."""

    def trials_or(self, published: int) -> int:
        """Return the number of trials: the requested one, else the paper's."""
        return published if self.trials is None else self.trials

    def seed_of(self, *key: int) -> int:
        """Return the seed of one trial, a function of the seed and the key alone."""
        return int(np.random.SeedSequence([self.seed, *key]).generate_state(1)[0])


def run_pieces(
    name: str, function: Callable[..., Any], calls: Sequence[tuple[Any, ...]], settings: Settings
) -> list[Any]:
    """Call the function with each tuple of arguments, and return the results in order.

    Arguments and results must be JSON values. A piece is one call. Pieces run in parallel: joblib starts processes
    unless ``joblib.parallel_config`` selects another backend. Each result is appended to a file when its piece
    finishes; pieces that an earlier run has stored (same version of klump, same arguments) are not run again.
    """
    import joblib

    keys = [_key(name, function, call) for call in calls]
    record = None if settings.directory is None else settings.directory / f"{name}.jsonl"
    finished = _read(record)
    missing = [j for j, key in enumerate(keys) if key not in finished]
    done = len(keys) - len(missing)
    report = None if settings.bar is None else settings.bar(name)
    if report is not None:
        report(done, len(keys), math.nan)
    # Unordered, so that a slow piece does not delay storing the others.
    engine = joblib.Parallel(
        n_jobs=settings.n_jobs, prefer="processes", return_as="generator_unordered", batch_size=1
    )
    for j, result in engine(joblib.delayed(_run_numbered)(j, function, calls[j]) for j in missing):
        # A JSON round trip, so that a result is the same whether it is computed or read from the file.
        line = json.dumps({"key": keys[j], "result": result, "crc": _checksum(keys[j], result)})
        finished[keys[j]] = json.loads(line)["result"]
        if record is not None:
            _append(record, line)
        done += 1
        if report is not None:
            report(done, len(keys), math.nan)
    return [finished[key] for key in keys]


def _run_numbered(number: int, function: Callable[..., Any], call: tuple[Any, ...]) -> tuple[int, Any]:
    return number, run_serially(function, *call)


def _append(record: Path, line: str) -> None:
    """Append a line; a truncated last line is terminated first."""
    record.parent.mkdir(parents=True, exist_ok=True)
    # Unbuffered: one system call, which a signal cannot cut in two.
    with record.open("a+b", buffering=0) as file:
        if file.tell() > 0:
            file.seek(-1, 2)
            line = line if file.read(1) == b"\n" else "\n" + line
        file.write(line.encode() + b"\n")


def _key(name: str, function: Callable[..., Any], call: tuple[Any, ...]) -> str:
    text = json.dumps([__version__, name, function.__name__, call])
    return hashlib.sha256(text.encode()).hexdigest()[:24]


def _read(record: Path | None) -> dict[str, Any]:
    """Read finished pieces by key; truncated and damaged lines are skipped, so that their pieces run again."""
    finished: dict[str, Any] = {}
    if record is None or not record.exists():
        return finished
    with guard_reading(record, "remove it, to run its pieces again"):
        lines = record.read_bytes().splitlines()
    for line in lines:
        try:
            entry = json.loads(line)
            if entry["crc"] == _checksum(entry["key"], entry["result"]):
                finished[entry["key"]] = entry["result"]
        except (ValueError, KeyError, TypeError, RecursionError):
            continue
    return finished


def _checksum(key: str, result: Any) -> int:
    """CRC-32 of a piece: a flipped digit would be taken for a result."""
    return zlib.crc32(json.dumps([key, result]).encode())
