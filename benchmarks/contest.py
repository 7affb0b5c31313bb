"""klump and its peers on the same workloads, taking turns, each measurement in a fresh process."""

from __future__ import annotations

import math
import signal
import statistics
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from benchmarks import promises, report, workloads
from benchmarks.peers import CONTESTANTS
from benchmarks.process import ask
from benchmarks.workloads import WORKLOADS, Workload

# Whoever took so long in all takes part in no further round; preparation may take so long beside the measurement.
ENOUGH_SECONDS = 120.0
PREPARATION = 600.0
QUICK_STATES = 10_000
PLANTED = "planted"
# The module that a process runs for one measurement.
TRIAL = "benchmarks.trial"


@dataclass(frozen=True)
class Settings:
    """What is run, and how long each contestant may take."""

    sizes: tuple[int, ...] | None = None
    families: tuple[str, ...] | None = None
    only: tuple[str, ...] | None = None
    quick: bool = False
    rounds: int = 3
    limit: float = 600.0
    threads: int = 1
    name: str = "peers"

    def workloads(self):
        return [
            workload
            for workload in WORKLOADS
            if (self.sizes is None or workload.n_states in self.sizes)
            and (self.families is None or workload.family in self.families)
            and (not self.quick or workload.n_states <= QUICK_STATES)
        ]

    def contestants(self, family):
        return [
            name
            for name, contestant in CONTESTANTS.items()
            if contestant.takes_part(family)
            and (self.only is None or any(name == part or part in name.split("-") for part in self.only))
        ]


@dataclass
class Score:
    """What one contestant did on one workload: a value for each round, or why there is none."""

    workload: Workload
    contestant: str
    n_transitions: int
    rounds: list[dict] = field(default_factory=list)
    error: str | None = None
    timed_out: bool = False

    @property
    def total(self) -> float:
        return sum(found["seconds"] or 0.0 for found in self.rounds)

    def median(self, what: str) -> float | None:
        values = [found[what] for found in self.rounds if found.get(what) is not None]
        return statistics.median(values) if values else None

    def worst(self, what: str) -> float | None:
        return max((found[what] for found in self.rounds if found.get(what) is not None), default=None)

    def record(self) -> dict:
        """All of it, for the file of results."""
        return {
            "workload": self.workload.name,
            "family": self.workload.family,
            "states": self.workload.n_states,
            "transitions": self.n_transitions,
            "groups": self.workload.n_groups,
            "beta": self.workload.beta,
            "contestant": self.contestant,
            "rounds": self.rounds,
            "error": self.error,
        }


def run(settings: Settings):
    """Every chosen workload; results are written after each, so that an interrupted run is not lost."""
    # Leave as on Ctrl-C: the measurement that runs is ended, and the chains on disk are removed.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    scores: list[Score] = []
    verdicts = []
    with tempfile.TemporaryDirectory() as folder:
        for workload in settings.workloads():
            scores += contest(workload, settings, Path(folder))
            report.show(workload, [score for score in scores if score.workload == workload])
            verdicts = promises.verdicts(scores, settings.limit)
            report.write(settings, scores, growth(scores), verdicts)
    if scores:
        report.draw(settings, scores)
        report.show_growth(growth(scores))
    missing = promises.not_measured(verdicts)
    print("\n".join([*map(str, verdicts), *(f"not measured: {what}" for what in missing)]))


def contest(workload: Workload, settings: Settings, folder: Path) -> list[Score]:
    """Rounds in which every contestant is measured once, until it failed or took long enough."""
    place = folder / workload.name
    n_transitions = workloads.write(workload, place)
    names = settings.contestants(workload.family)
    scores = [Score(workload, name, n_transitions) for name in names]
    reference = Score(workload, PLANTED, n_transitions)
    if (place / "planted.npy").exists():
        trial(reference, place, 0, settings)
    for number in range(settings.rounds):
        for score in scores:
            if score.error is None and score.total < ENOUGH_SECONDS:
                report.progress(f"{workload.name}, round {number + 1}: {score.contestant}")
                trial(score, place, number, settings)
    for path in place.glob("*.npy"):
        path.unlink()
    return [*scores, reference] if reference.rounds else scores


def trial(score: Score, place: Path, seed: int, settings: Settings) -> None:
    """One measurement; a crash, a timeout or an exception is the answer of this contestant, not the end of the run."""
    workload = score.workload
    contestant = CONTESTANTS.get(score.contestant)
    if contestant is not None:
        score.error = contestant.refusal(workload.n_states)
        if score.error:
            return
    question = (place, score.contestant, workload.n_groups, workload.beta, seed, settings.limit)
    outcome = ask(
        TRIAL,
        question,
        place / "answer.json",
        timeout=settings.limit + PREPARATION,
        threads=settings.threads,
    )
    score.timed_out = outcome.timed_out
    if outcome.found is not None:
        score.error = outcome.found.get("error")
        if score.error is None:
            score.rounds.append(outcome.found)
    else:
        score.error = f"no answer within {settings.limit:g} s" if outcome.timed_out else outcome.error


def growth(scores: list[Score]) -> dict[str, dict[str, float]]:
    """Exponent of the time in the number of transitions, for each family and contestant with two sizes or more."""
    points: dict[tuple[str, str], list[tuple[float, float]]] = {}
    for score in scores:
        seconds = score.median("seconds")
        if score.workload.is_sparse and seconds:
            key = score.workload.family, score.contestant
            points.setdefault(key, []).append((math.log(score.n_transitions), math.log(seconds)))
    fitted: dict[str, dict[str, float]] = {}
    for (family, name), values in points.items():
        if len(values) > 1:
            fitted.setdefault(family, {})[name] = float(np.polyfit(*np.array(values).T, 1)[0])
    return fitted
