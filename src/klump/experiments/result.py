"""What an experiment gives back: numbers beside the paper's, a verdict on each, tables and pictures."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

# Differences within this many standard errors are the luck of the draw.
STANDARD_ERRORS = 4.0

Outcome = Literal["agrees", "better", "differs"]


@dataclass(frozen=True)
class Verdict:
    """One number of the paper beside the one found here."""

    what: str
    mode: Literal["as published", "default"]
    paper: float | None
    """What the paper says, or what the published algorithm found where the paper is silent."""
    found: float
    band: float
    """Largest difference that counts as agreement; computed, see :attr:`reason`."""
    outcome: Outcome
    reason: str = ""
    """Where the band comes from, and why a number differs if it does."""


@dataclass(frozen=True)
class Sample:
    """Mean and standard deviation over a number of independent trials."""

    mean: float
    std: float
    size: int

    @property
    def error(self) -> float:
        """Standard error of the mean."""
        return self.std / math.sqrt(self.size)


def judge(
    what: str,
    mode: Literal["as published", "default"],
    paper: Sample,
    found: Sample,
    *,
    better: Literal["lower", "higher", None] = None,
    reason: str = "",
) -> Verdict:
    """Compare two means by their combined standard error.

    If they agree, both samples are drawn from one law, so both standard errors come from the larger of the two
    standard deviations: a few trials that all succeed say little about how often others fail.

    ``better`` says in which direction a difference is an improvement; without it every difference beyond
    the band is a disagreement. A floor of 1e-9 keeps two constants that differ by rounding from disagreeing.

    Examples
    --------
    >>> judge("ARI", "as published", Sample(0.77, 0.26, 250), Sample(0.79, 0.25, 250)).outcome
    'agrees'
    >>> judge("ARI", "default", Sample(0.77, 0.26, 250), Sample(0.99, 0.02, 250), better="higher").outcome
    'better'
    """
    spread = max(paper.std, found.std)
    error = spread * math.sqrt(1 / paper.size + 1 / found.size)
    band = max(STANDARD_ERRORS * error, 1e-9)
    difference = found.mean - paper.mean
    outcome: Outcome = "agrees"
    if abs(difference) > band:
        improved = difference < 0 if better == "lower" else difference > 0
        outcome = "better" if better is not None and improved else "differs"
    explained = (
        f"{STANDARD_ERRORS:g} combined standard errors of {paper.size} and {found.size} trials, "
        f"by the larger standard deviation"
    )
    return Verdict(
        what, mode, paper.mean, found.mean, band, outcome, f"{explained}; {reason}" if reason else explained
    )


@dataclass(frozen=True)
class Table:
    """Rows of text; a cell may mark single characters that differ from the paper's (see :class:`Marked`)."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str | Marked, ...], ...]
    note: str = ""


@dataclass(frozen=True)
class Marked:
    """Text in pieces, some of them marked; the page colours those, plain text puts them in brackets."""

    pieces: tuple[tuple[str, bool], ...]

    def __str__(self) -> str:
        return "".join(f"[{text}]" if marked else text for text, marked in self.pieces)


@dataclass(frozen=True)
class Picture:
    """A figure that is drawn when somebody wants to see it: ``draw()`` returns a matplotlib figure."""

    name: str
    caption: str
    draw: Callable[[], Any] = field(repr=False, compare=False)


@dataclass(frozen=True)
class Result:
    """Everything an experiment found."""

    name: str
    title: str
    text: tuple[str, ...]
    """Paragraphs: what the paper asks, what came out, and what to make of it."""
    verdicts: tuple[Verdict, ...]
    tables: tuple[Table, ...] = ()
    pictures: tuple[Picture, ...] = ()
    data: dict[str, Any] = field(default_factory=dict)
    """All numbers, as JSON can hold them; the same for the same seed."""
