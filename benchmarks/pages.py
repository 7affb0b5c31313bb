"""Time and size of ``klump report``: sparse chains, and a table of a million events."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from benchmarks.measure import Verdict, timed
from klump.files import write_chain
from klump.sources.random_chains import block_chain, sparse_block_chain

STATES, EVENTS, PAGES = 20_000, 1_000_000, 1_000
# Megabytes of a page, and seconds to make one.
SIZE, SECONDS, SECONDS_OF_EVENTS = 10.0, 60.0, 120.0


def run(n_states: int = STATES, n_events: int = EVENTS, n_pages: int = PAGES) -> list[Verdict]:
    """Reports of 2 to 7 groups and the default betas, in a process of their own, with compiled kernels."""
    verdicts = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for kind in ("metastable", "cyclic", "noisy"):
            chain, _ = sparse_block_chain(n_states, 5, kind=kind)
            write_chain(chain, folder / "chain.npz")
            what = f"report of {n_states:,} states, {kind}"
            verdicts += report(folder, ["chain.npz"], what, SECONDS)
        write_events(folder / "events.csv", n_events, n_pages)
        words = ["events.csv", "--session", "visit", "--time", "time", "--state", "page"]
        verdicts += report(folder, words, f"report of {n_events:,} events", SECONDS_OF_EVENTS)
    return verdicts


def report(folder: Path, words: list[str], what: str, seconds: float) -> list[Verdict]:
    """Make a report; the first run compiles kernels, the second is timed."""
    command = [sys.executable, "-m", "klump", "report", *words, "-k", "2..7", "-o", "report.html", "--quiet"]

    def make() -> None:
        subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)

    make()
    taken = timed(make)
    size = (folder / "report.html").stat().st_size / 1e6
    return [
        Verdict(f"seconds, {what}", taken, seconds, at_most=True),
        Verdict(f"megabytes, {what}", size, SIZE, at_most=True),
    ]


def write_events(path: Path, n_events: int, n_pages: int) -> None:
    """Write visits of 20 pages each of a site with five planted kinds of pages."""
    rng = np.random.default_rng(0)
    chain, _ = block_chain((n_pages // 5,) * 5, alpha=0.8, eps=0.3, random_state=0)
    cumulative = np.cumsum(chain.transition_matrix, axis=1)
    n_visits, length = n_events // 20, 20
    now = rng.integers(n_pages, size=n_visits)
    steps = [now]
    for _ in range(length - 1):
        chance = rng.random(n_visits)
        now = np.array(
            [
                min(np.searchsorted(cumulative[page], u), n_pages - 1)
                for page, u in zip(now, chance, strict=True)
            ]
        )
        steps.append(now)
    pages = np.array(steps).T
    with path.open("w", encoding="utf-8") as file:
        file.write("visit,time,page\n")
        for visit, row in enumerate(pages.tolist()):
            file.writelines(f"{visit},{time},page {page}\n" for time, page in enumerate(row))
