"""Seconds and cost of ``"auto"`` beside 20 starts of annealing: no size, k or beta at which the default gets slow.

Each measurement runs in a process of its own (``benchmarks.cliff_trial``), on one core. ``docs/benchmarks.md`` says how
to read the table.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
import signal
import statistics
import sys
import tempfile
from dataclasses import asdict, dataclass
from itertools import combinations, groupby, product
from pathlib import Path

from benchmarks import cliff_report, degenerate
from benchmarks.measure import Verdict
from benchmarks.process import ROOT, ask
from benchmarks.workloads import attachment_matrix
from klump.search.registry import METHODS
from klump.sources.random_chains import block_chain, sparse_block_chain

# The module that a process runs for one measurement.
TRIAL = "benchmarks.cliff_trial"
# Wall seconds that a process may take beside its measurement: imports, the chain, the rehearsal. A process that waits
# for a core gets more wall time than CPU time.
PREPARATION = 600.0
WALL_PER_CPU = 5.0
PLANTED = "planted"
DEGREE = 10
# States and links that are drawn so that 58,000 states and 549,000 transitions are strongly connected.
ATTACHMENT_STATES = 58_000
DRAWN_PER_STATE = 69_800 / ATTACHMENT_STATES
ATTACHMENT_LINKS = 8.25
# What is promised: seconds of "auto" over those of annealing where "auto" takes longer than so many seconds, and the
# cost above planted, relative.
MAX_RATIO = 5.0
MIN_SECONDS = 0.5
MAX_EXCESS = 1e-9
# The number of states times so many, at which a chain must not take less time.
STATES_FACTOR = 3


@dataclass(frozen=True)
class Row:
    """A chain and a question."""

    kind: str
    n_states: int
    n_groups: int
    beta: float
    before: str = ""
    """Seconds of ``"auto"`` before the search was reworked, on another day."""
    ratio_before: str = ""
    """The same over those of annealing."""

    @property
    def name(self) -> str:
        return f"{self.kind}-{self.n_states}-k{self.n_groups}-beta{self.beta:g}"

    @property
    def family(self) -> tuple[str, int, float]:
        """What rows that differ in size only have in common."""
        return self.kind, self.n_groups, self.beta

    @property
    def is_planted(self) -> bool:
        return self.kind != "attachment" and self.kind not in degenerate.CHAINS

    @property
    def methods(self) -> tuple[str, ...]:
        """What is measured; on attachment graphs the multilevel search by itself too, where memory is short "auto"."""
        if self.n_groups > degenerate.MAX_TABLE_GROUPS:
            return ("auto",)
        others = [name for name in ("multilevel",) if self.kind == "attachment" and name in METHODS]
        return ("auto", "annealing", *others)

    def make(self):
        """The transition matrix, and the planted groups if there are any."""
        n, k = self.n_states, self.n_groups
        if self.kind == "attachment":
            return attachment_matrix(round(DRAWN_PER_STATE * n), ATTACHMENT_LINKS), None
        if self.kind in degenerate.CHAINS:
            return degenerate.CHAINS[self.kind](n), None
        if self.kind == "dense":
            chain, planted = block_chain((n // k,) * k, alpha=0.5, eps=0.4, random_state=0)
        else:
            chain, planted = sparse_block_chain(n, k, DEGREE, self.kind, random_state=0)
        return chain.transition_matrix, planted


# The chains on which the default was slow, and one on which it was not.
TABLE = (
    Row("dense", 1_000, 10, 0.5, "6.8", "5"),
    Row("dense", 4_000, 10, 0.5, "42"),
    Row("noisy", 1_000, 5, 0.3, "17", "32"),
    Row("noisy", 1_000, 50, 1.0, "20", "137"),
    Row("noisy", 3_000, 5, 0.3, "29", "32"),
    Row("noisy", 3_000, 5, 1.0, "28", "32"),
    Row("noisy", 10_000, 5, 0.5, "23", "7"),
    Row("metastable", 30_000, 5, 0.5, "21", "8"),
    Row("noisy", 30_000, 20, 0.3, "> 100"),
    Row("noisy", 100_000, 5, 0.3, "> 100"),
    Row("noisy", 100_000, 50, 0.5, "2"),
    *(Row("attachment", ATTACHMENT_STATES, k, beta) for k in (20, 50) for beta in (0.5, 1.0)),
)
DEGENERATE = tuple(Row(kind, n, k, beta) for kind, n, k in degenerate.QUESTIONS for beta in degenerate.BETAS)
_SIZES = (300, 1_000, 3_000, 10_000, 30_000, 100_000)
_LISTED = {row.name for row in TABLE}
ROWS = (
    *TABLE,
    *DEGENERATE,
    *(
        row
        for kind, k, beta, n in product(("noisy", "metastable"), (5, 20, 50), (0.3, 0.5, 1.0), _SIZES)
        if (row := Row(kind, n, k, beta)).name not in _LISTED
    ),
)


@dataclass(frozen=True)
class Settings:
    """What is run, and how long each measurement may take."""

    rows: str = "table"
    """``"table"``, ``"degenerate"``, ``"all"``, or a regular expression that names match from their beginning."""
    rounds: int = 1
    limit: float = 300.0
    """CPU seconds."""
    resume: bool = False
    """Whether the measurements of an interrupted run of the same code are kept."""
    name: str = "cliffs"

    def chosen(self) -> list[Row]:
        if self.rows == "table":
            return list(TABLE)
        if self.rows == "degenerate":
            return list(DEGENERATE)
        chosen = [row for row in ROWS if self.rows == "all" or re.match(self.rows, row.name)]
        return sorted(chosen, key=lambda row: (row.family, row.n_states))


@dataclass(frozen=True)
class Cell:
    """One measurement."""

    row: str
    method: str
    seed: int
    transitions: int | None = None
    seconds: float | None = None
    """CPU seconds from the transition matrix to the answer."""
    stationary: float | None = None
    """Those of them that went into the stationary distribution, and the checks before."""
    wall: float | None = None
    runs: int | None = None
    """Runs of which the seconds are the mean."""
    compiled: float | None = None
    """CPU seconds of compilation, which are not in ``seconds``."""
    cost: float | None = None
    error: str | None = None
    limit: float | None = None
    """The limit that was exceeded."""


@dataclass(frozen=True)
class Figures:
    """All measurements of one row."""

    row: Row
    cells: tuple[Cell, ...]

    def of(self, method: str) -> list[Cell]:
        return [cell for cell in self.cells if cell.method == method]

    def median(self, method: str, what: str = "seconds") -> float | None:
        """Median of the rounds; None without an answer."""
        values = [value for cell in self.of(method) if (value := getattr(cell, what)) is not None]
        return statistics.median(values) if values else None

    def limit(self, method: str) -> float | None:
        """The limit that a method exceeded."""
        return next((cell.limit for cell in self.of(method) if cell.limit is not None), None)

    def at_least(self, method: str) -> float | None:
        """Lower bound of the seconds of a method: infinite if it failed."""
        if any(cell.error for cell in self.of(method)):
            return math.inf
        return self.limit(method) or self.median(method)

    @property
    def transitions(self) -> int | None:
        return next((cell.transitions for cell in self.cells if cell.transitions), None)

    @property
    def ratio(self) -> float | None:
        """Seconds of ``"auto"`` over those of annealing, at least; None if that says nothing about the promise."""
        ours, theirs = self.at_least("auto"), self.median("annealing")
        if ours is None or theirs is None or self.limit("annealing"):
            return None
        return None if self.limit("auto") and ours <= MAX_RATIO * theirs else ours / theirs

    @property
    def excess(self) -> float | None:
        """Cost of ``"auto"`` above planted, relative, the worst of the rounds."""
        planted = self.median(PLANTED, "cost")
        costs = [cell.cost for cell in self.of("auto") if cell.cost is not None]
        return None if planted is None or not costs else (max(costs) - planted) / planted


def run(settings: Settings) -> list[Verdict]:
    """Every chosen row; results are written after each measurement, so that an interrupted run is not lost."""
    # Leave as on Ctrl-C: the measurement that runs is ended.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    rows = settings.chosen()
    cells = kept_cells(settings) if settings.resume else {}
    with tempfile.TemporaryDirectory() as folder:
        for row in rows:
            fill(row, cells, settings, Path(folder) / "answer.json")
    figures = figures_of(rows, cells)
    found, missing = judge(figures)
    cliff_report.show(figures)
    if figures:
        cliff_report.draw(settings.name, figures)
    print("\n".join([*map(str, found), *(f"not measured: {what}" for what in missing)]))
    return found


def fill(row: Row, cells: dict[tuple, Cell], settings: Settings, answer: Path) -> None:
    """Measure a row: size and planted cost, then rounds in which every method is measured once, until it fails."""
    turns = product(range(settings.rounds), row.methods)
    todo = [(PLANTED, 0), *((method, seed) for seed, method in turns)]
    for method, seed in todo:
        given_up = any(
            cell.error or cell.limit for key, cell in cells.items() if key[:2] == (row.name, method)
        )
        if (row.name, method, seed) not in cells and not given_up:
            cliff_report.progress(f"{row.name}, round {seed + 1}: {method}")
            cells[row.name, method, seed] = measure(row, method, seed, settings.limit, answer)
            write(settings, cells)


def measure(row: Row, method: str, seed: int, limit: float, answer: Path) -> Cell:
    question = (row.kind, row.n_states, row.n_groups, row.beta, method, seed, limit)
    outcome = ask(TRIAL, question, answer, timeout=WALL_PER_CPU * limit + PREPARATION)
    if outcome.found is not None:
        return Cell(row.name, method, seed, **outcome.found)
    return Cell(row.name, method, seed, error=outcome.error, limit=limit if outcome.timed_out else None)


def figures_of(rows: list[Row], cells: dict[tuple, Cell]) -> list[Figures]:
    """The measurements by row; rows without any are left out."""
    found = [Figures(row, tuple(cell for key, cell in cells.items() if key[0] == row.name)) for row in rows]
    return [figures for figures in found if figures.cells]


def judge(figures: list[Figures]) -> tuple[list[Verdict], list[str]]:
    """Promises for which something was measured, and what was not measured."""
    found, missing = [], []
    promises = (
        (f'"auto" over 20 starts of annealing, above {MIN_SECONDS:g} s', MAX_RATIO, ratios(figures)),
        ('cost of "auto" above planted, relative', MAX_EXCESS, excesses(figures)),
        (f'"auto" over the same with {STATES_FACTOR} times the states or more', 1.0, slowdowns(figures)),
    )
    for what, promise, (measured, unknown) in promises:
        if measured:
            worst = max(measured, key=measured.__getitem__)
            broken = [f"{name} {value:.3g}" for name, value in measured.items() if value > promise]
            detail = f"{len(measured)} measured; " + (", ".join(broken) if broken else f"largest: {worst}")
            found.append(Verdict(what, measured[worst], promise, True, detail))
        if unknown or not measured:
            missing.append(f"{what}: {', '.join(unknown) or 'all'}")
    return found, missing


def ratios(figures: list[Figures]) -> tuple[dict[str, float], list[str]]:
    slow = [each for each in figures if (each.at_least("auto") or 0.0) > MIN_SECONDS]
    known = {each.row.name: ratio for each in slow if (ratio := each.ratio) is not None}
    return known, [each.row.name for each in slow if each.row.name not in known]


def excesses(figures: list[Figures]) -> tuple[dict[str, float], list[str]]:
    planted = [each for each in figures if each.row.is_planted]
    known = {each.row.name: excess for each in planted if (excess := each.excess) is not None}
    known |= {each.row.name: math.inf for each in planted if each.at_least("auto") == math.inf}
    return known, [each.row.name for each in planted if each.row.name not in known]


def slowdowns(figures: list[Figures]) -> tuple[dict[str, float], list[str]]:
    """Seconds of a chain over those of every larger one, if that says something about the promise."""
    known, unknown = {}, []
    timed = [each for each in figures if each.at_least("auto") is not None]
    for _, family in groupby(sorted(timed, key=lambda each: each.row.family), lambda each: each.row.family):
        by_size = sorted(family, key=lambda each: each.row.n_states)
        for small, large in combinations(by_size, 2):
            if large.row.n_states < STATES_FACTOR * small.row.n_states:
                continue
            name = f"{small.row.name} over {large.row.n_states}"
            ours, theirs = small.at_least("auto"), large.at_least("auto")
            if theirs == math.inf or (large.limit("auto") and ours >= theirs):
                unknown.append(name)
            else:
                known[name] = ours / theirs
    return known, unknown


def source_digest() -> str:
    """Digest of all code that is measured: of klump, and of this benchmark."""
    files = [
        *(ROOT / "src" / "klump").rglob("*.py"),
        *(
            ROOT / "benchmarks" / name
            for name in ("cliffs.py", "cliff_trial.py", "workloads.py", "degenerate.py")
        ),
    ]
    digest = hashlib.sha256()
    for path in sorted(files):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def write(settings: Settings, cells: dict[tuple, Cell]) -> None:
    """Keep every figure."""
    found, missing = judge(figures_of(list(ROWS), cells))
    record = {
        "settings": asdict(settings),
        "source": source_digest(),
        "rows": [asdict(row) | {"name": row.name} for row in settings.chosen()],
        "cells": [asdict(cell) for cell in cells.values()],
        "verdicts": [{**asdict(verdict), "kept": verdict.kept} for verdict in found],
        "not measured": missing,
    }
    cliff_report.write(settings.name, record)


def kept_cells(settings: Settings) -> dict[tuple, Cell]:
    """Measurements of an earlier run of the same code, without failures and limits that have been raised."""
    path = cliff_report.RESULTS / f"{settings.name}.json"
    if not path.exists():
        return {}
    record = json.loads(path.read_text())
    if record["source"] != source_digest():
        cliff_report.progress(f"{path.name} is of other code: all is measured anew")
        return {}
    cells = [Cell(**cell) for cell in record["cells"]]
    return {
        (cell.row, cell.method, cell.seed): cell
        for cell in cells
        if cell.error is None and (cell.limit is None or cell.limit >= settings.limit)
    }
