"""What klump promises beside its peers, and whether a run kept it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.measure import Verdict
from benchmarks.workloads import SPARSE_SIZES

# Costs may differ by rounding.
RELATIVE = 1e-6
MEBIBYTES_OF_3_GB = 3e9 / 2**20


@dataclass(frozen=True)
class Table:
    """Scores by workload and contestant; what is missing makes a promise one that was not measured."""

    scores: dict[tuple[str, str], Any]
    limit: float

    def seconds(self, workload: str, contestant: str) -> float | None:
        """Median; the limit for a peer that did not end within it, infinity for a klump that failed."""
        score = self.scores.get((workload, contestant))
        if score is None:
            return None
        if score.error is not None and contestant.startswith("klump"):
            return math.inf
        if score.timed_out:
            return self.limit
        return score.median("seconds")

    def of_klump(self, workload: str, what: str, *, smallest: bool = False) -> float | None:
        """The worst of all rounds."""
        score = self.scores.get((workload, "klump"))
        if score is None:
            return None
        values = [found[what] for found in score.rounds]
        if score.error is not None or not values:
            return -math.inf if smallest else math.inf
        return min(values) if smallest else max(values)

    def ratio(self, first: tuple[str, str], second: tuple[str, str]) -> float | None:
        ours, theirs = self.seconds(*first), self.seconds(*second)
        return None if ours is None or theirs is None else ours / theirs

    def excess(self, workload: str) -> float | None:
        """How much more klump's groups cost than the planted ones, relatively."""
        ours, reference = self.of_klump(workload, "cost"), self.scores.get((workload, "planted"))
        if ours is None or reference is None:
            return None
        planted = reference.rounds[0]["cost"]
        return (ours - planted) / planted

    def growth(self, family: str) -> tuple[float | None, str]:
        """The steepest exponent of klump's time in transitions: of all sizes, and of each decade.

        Small chains get a longer search than large ones, which alone would make the fit look good.
        """
        names = [f"{family}-{n}" for n in SPARSE_SIZES]
        seconds = [self.seconds(name, "klump") for name in names]
        if None in seconds or math.inf in seconds:
            return None, ""
        x = np.log([self.scores[name, "klump"].n_transitions for name in names])
        y = np.log(seconds)
        fitted, slopes = np.polyfit(x, y, 1)[0], np.diff(y) / np.diff(x)
        decades = ", ".join(f"{slope:.2f}" for slope in slopes)
        return float(max(fitted, slopes.max())), f"fitted {fitted:.2f}, by decade {decades}"

    def both(self, workload: str, ours: str, theirs: str) -> str:
        a, b = self.seconds(workload, ours), self.seconds(workload, theirs)
        return "" if a is None or b is None else f"{a:.3g} s beside {b:.3g} s"


def _promises(table: Table) -> list[tuple[str, float | None, float, bool, str]]:
    """What, measured (None: not in this run), promised, whether at most, detail."""
    first, klump = "metastable-100000", "klump"
    large = "metastable-1000000"
    exponent, decades = table.growth("metastable")
    return [
        ("1e5 metastable, cost over planted", table.excess(first), RELATIVE, True, ""),
        (
            "1e5 metastable, time over igraph's Leiden",
            table.ratio((first, klump), (first, "igraph-leiden")),
            1,
            True,
            table.both(first, klump, "igraph-leiden"),
        ),
        (
            "1e5 metastable, time over one start of sib",
            table.ratio((first, klump), (first, "sib")),
            1 / 8,
            True,
            table.both(first, klump, "sib"),
        ),
        ("1e5 cyclic, ARI", table.of_klump("cyclic-100000", "ari", smallest=True), 0.99, False, ""),
        (
            "1e5 cyclic, time over metastable",
            table.ratio(("cyclic-100000", klump), (first, klump)),
            2,
            True,
            "",
        ),
        ("1e5 noisy, cost over planted", table.excess("noisy-100000"), RELATIVE, True, ""),
        (
            "1e5 noisy, time over metastable",
            table.ratio(("noisy-100000", klump), (first, klump)),
            4,
            True,
            "",
        ),
        (
            "1e6 metastable, time over igraph's Leiden",
            table.ratio((large, klump), (large, "igraph-leiden")),
            1,
            True,
            table.both(large, klump, "igraph-leiden"),
        ),
        ("1e6 metastable, seconds", table.seconds(large, klump), 180, True, "stationary law included"),
        ("1e6 metastable, peak in MiB", table.of_klump(large, "peak"), MEBIBYTES_OF_3_GB, True, ""),
        (
            "metastable, exponent of time in transitions, 1e5 to 1e7",
            exponent,
            1.15,
            True,
            decades,
        ),
        ("1e5 with 1000 groups, seconds", table.seconds("many-groups-100000", klump), 60, True, ""),
        (
            "4000 dense, time of a beta path over one pyGPCCA call",
            table.ratio(("blocks-4000", "klump-path"), ("blocks-4000", "pygpcca")),
            1,
            True,
            table.both("blocks-4000", "klump-path", "pygpcca"),
        ),
    ]


def verdicts(scores, limit) -> list[Verdict]:
    """Promises for which everything was measured."""
    table = Table({(score.workload.name, score.contestant): score for score in scores}, limit)
    return [
        Verdict(what, measured, promise, at_most, detail)
        for what, measured, promise, at_most, detail in _promises(table)
        if measured is not None
    ]


def not_measured(found: list[Verdict]) -> list[str]:
    """Promises about which a run says nothing."""
    known = {verdict.what for verdict in found}
    return [what for what, *_ in _promises(Table({}, 0.0)) if what not in known]
