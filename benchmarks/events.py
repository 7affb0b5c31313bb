"""Counting ten million events: ``MarkovChain.from_events`` beside pandas, on the same Parquet and CSV files.

Each measurement is a process of its own, and the two take turns. ``python -m benchmarks.events READER FILE ANSWER`` is
one of them.
"""

from __future__ import annotations

import json
import resource
import statistics
import sys
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from benchmarks.measure import Verdict
from benchmarks.process import ask

ROWS, SESSIONS, PAGES = 10_000_000, 1_000_000, 1_000
ROUNDS = 3
# Seconds for one measurement.
LIMIT = 600.0
# Gigabytes.
MEMORY = 2.0
NEEDED = ("duckdb", "pandas", "pyarrow")


def run(
    rows: int = ROWS, sessions: int = SESSIONS, pages: int = PAGES, rounds: int = ROUNDS
) -> list[Verdict]:
    missing = [name for name in NEEDED if find_spec(name) is None]
    if missing:
        print(f"not measured: events, because {missing[0]} is not installed")
        return []
    with tempfile.TemporaryDirectory() as folder:
        files = write_events(Path(folder), rows, sessions, pages)
        return [verdict for file in files for verdict in measure(file, rounds, Path(folder) / "answer.json")]


def write_events(folder: Path, rows: int, sessions: int, pages: int) -> list[Path]:
    """Events in random order: session and time are integers, pages are text."""
    import pyarrow
    from pyarrow import csv, parquet

    rng = np.random.default_rng(0)
    names = pyarrow.array([f"page-{number:04}" for number in range(pages)])
    table = pyarrow.table(
        {
            "session": rng.integers(sessions, size=rows),
            "time": rng.integers(10**9, size=rows),
            "page": names.take(pyarrow.array(rng.integers(pages, size=rows))),
        }
    )
    files = [folder / "events.parquet", folder / "events.csv"]
    parquet.write_table(table, files[0])
    csv.write_csv(table, files[1])
    return files


def measure(file: Path, rounds: int, answer: Path) -> list[Verdict]:
    """Medians of several rounds in which klump and pandas take turns."""
    found: dict[str, list[dict]] = {name: [] for name in READERS}
    for _ in range(rounds):
        for name, measurements in found.items():
            outcome = ask("benchmarks.events", [name, file], answer, timeout=LIMIT, threads=2)
            if outcome.found is None:
                raise RuntimeError(f"{name} on {file.name}: {outcome.error or 'timed out'}")
            measurements.append(outcome.found)
    transitions = {tuple(m["counted"]) for measurements in found.values() for m in measurements}
    if len(transitions) > 1:
        raise RuntimeError(f"the counts of {file.name} differ: {transitions}")
    seconds, cpu, memory = (
        {name: statistics.median(m[key] for m in measurements) for name, measurements in found.items()}
        for key in ("seconds", "cpu_seconds", "gigabytes")
    )
    detail = f"klump {seconds['klump']:.1f} s, pandas {seconds['pandas']:.1f} s; "
    detail += f"CPU {cpu['klump']:.1f} s and {cpu['pandas']:.1f} s"
    peak = max(m["gigabytes"] for m in found["klump"])
    return [
        Verdict(
            f"{file.suffix[1:]}: time of pandas / time of klump",
            seconds["pandas"] / seconds["klump"],
            1.0,
            False,
            detail,
        ),
        Verdict(
            f"{file.suffix[1:]}: peak memory of klump in GB",
            peak,
            MEMORY,
            True,
            f"pandas {memory['pandas']:.2f} GB",
        ),
    ]


def count_with_klump(file: str) -> tuple[int, int]:
    """Number of transitions and of different ones."""
    from klump.sources.events import count_events

    counts = count_events(file, session="session", time="time", state="page").matrix
    return int(counts.sum()), int(np.count_nonzero(counts) if isinstance(counts, np.ndarray) else counts.nnz)


def count_with_pandas(file: str) -> tuple[int, int]:
    """The same, in the way that a user of pandas would count."""
    import pandas

    events = pandas.read_parquet(file) if file.endswith(".parquet") else pandas.read_csv(file)
    events = events.sort_values(["session", "time"], kind="stable")
    following = events.groupby("session")["page"].shift(-1)
    counts = events.assign(following=following).dropna().groupby(["page", "following"]).size()
    return int(counts.sum()), len(counts)


READERS = {"klump": count_with_klump, "pandas": count_with_pandas}


def main(name: str, file: str, answer: str) -> None:
    begin = time.perf_counter()
    counted = READERS[name](file)
    used = resource.getrusage(resource.RUSAGE_SELF)
    record = {
        "seconds": time.perf_counter() - begin,
        "cpu_seconds": used.ru_utime + used.ru_stime,
        "gigabytes": used.ru_maxrss * 1024 / 1e9,
        "counted": counted,
    }
    Path(answer).write_text(json.dumps(record))


if __name__ == "__main__":
    main(*sys.argv[1:])
