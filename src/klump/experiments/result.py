"""What an experiment gives back: numbers beside the paper's, a verdict on each, tables and pictures."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Literal, get_args

# Half-width of tolerance bands and of confidence intervals, in standard errors: a two-sided normal tail of 6e-5.
STANDARD_ERRORS = 4.0
# Fewest independent draws (chains, draws of points, seeds) behind a share, mean, median or curve that is shown as a
# finding. Chosen: with 10 draws the standard error of a share of 1/2 is 0.16.
MIN_DRAWS = 10
# Rounding error of computed costs (bits), shares and indices: smaller differences count as none.
EQUAL = 1e-9

Mode = Literal["as published", "default"]
Outcome = Literal["agrees", "better", "differs", "undecided"]
MODES: tuple[Mode, ...] = get_args(Mode)
OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)


@dataclass(frozen=True)
class Verdict:
    """One number of the paper beside the one found here."""

    what: str
    mode: Mode
    paper: float | None
    """What the paper says, or what the published algorithm found where the paper is silent."""
    found: float
    band: float
    """Largest difference that counts as agreement; computed, see :attr:`reason`."""
    outcome: Outcome
    reason: str = ""
    """Where the band comes from, and why a number differs or is undecided if it is."""
    draws: int | None = None
    """Independent draws behind ``found``; None where nothing is drawn at random."""

    @property
    def is_shown(self) -> bool:
        """Whether people see the numbers; not if they are undecided for lack of draws."""
        return self.outcome != "undecided" or self.draws is None or self.draws >= MIN_DRAWS

    @property
    def obstacle(self) -> str:
        """First clause of the reason: why an undecided number is undecided."""
        return self.reason.split("; ")[0]


def too_few(draws: int, noun: str = "draw") -> str:
    """Say that a figure is not shown because fewer than :data:`MIN_DRAWS` draws are behind it.

    Examples
    --------
    >>> too_few(3), too_few(1, "chain")
    ('3 draws: too few to show', '1 chain: too few to show')
    """
    return f"{draws} {noun}{'s' * (draws != 1)}: too few to show"


def weigh(verdict: Verdict, *, obstacle: str = "") -> Verdict:
    """Return the verdict, undecided if the numbers cannot carry its outcome; ``"differs"`` always stays.

    * Fewer than :data:`MIN_DRAWS` draws: ``"agrees"`` and ``"better"`` become ``"undecided"``.
    * An ``obstacle``: no outcome of the paper's trials would lie outside the band, given what was found, so that
      ``"agrees"`` says nothing. It becomes ``"undecided"``, and the obstacle goes in front of the reason.

    Examples
    --------
    >>> verdict = Verdict("ARI", "default", 0.9, 0.8, 0.2, "agrees", "rounding", draws=4)
    >>> weigh(verdict).outcome, weigh(verdict).reason
    ('undecided', '4 draws: too few to show')
    >>> weigh(replace(verdict, outcome="differs")).reason
    'rounding; only 4 draws'
    >>> weigh(replace(verdict, draws=50), obstacle="the band spans all values").reason
    'the band spans all values; rounding'
    """
    if verdict.draws is not None and verdict.draws < MIN_DRAWS:
        if verdict.outcome == "differs":
            return replace(verdict, reason=f"{verdict.reason}; only {verdict.draws} draws")
        return replace(verdict, outcome="undecided", reason=too_few(verdict.draws))
    if obstacle and verdict.outcome == "agrees":
        return replace(verdict, outcome="undecided", reason=f"{obstacle}; {verdict.reason}")
    return verdict


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
    mode: Mode,
    paper: Sample,
    found: Sample,
    *,
    better: Literal["lower", "higher", None] = None,
    limits: tuple[float, float] = (-math.inf, math.inf),
    reason: str = "",
) -> Verdict:
    """Compare two means by their combined standard error.

    If they agree, both samples are drawn from one law, so both standard errors come from the larger of the two
    standard deviations: a few trials that all succeed say little about how often others fail.

    ``better`` says in which direction a difference is an improvement; without it every difference beyond
    the band is a disagreement. A floor of 1e-9 keeps two constants that differ by rounding from disagreeing.

    ``limits`` are the least and the largest mean that the paper could have found. If ``found.mean`` is within the
    band of both, no result of the paper would have been a disagreement, and the verdict is ``"undecided"``; so it is
    with fewer than :data:`MIN_DRAWS` trials, see :func:`weigh`.

    Examples
    --------
    >>> judge("ARI", "as published", Sample(0.77, 0.26, 250), Sample(0.79, 0.25, 250)).outcome
    'agrees'
    >>> judge("ARI", "default", Sample(0.77, 0.26, 250), Sample(0.99, 0.02, 250), better="higher").outcome
    'better'
    >>> judge("ARI", "default", Sample(0.5, 0.5, 250), Sample(0.6, 0.5, 10), limits=(0.0, 1.0)).outcome
    'undecided'
    """
    spread = max(paper.std, found.std)
    error = spread * math.sqrt(1 / paper.size + 1 / found.size)
    band = max(STANDARD_ERRORS * error, EQUAL)
    difference = found.mean - paper.mean
    outcome: Outcome = "agrees"
    if abs(difference) > band:
        improved = difference < 0 if better == "lower" else difference > 0
        outcome = "better" if better is not None and improved else "differs"
    explained = (
        f"{STANDARD_ERRORS:g} combined standard errors of {paper.size} and {found.size} trials, "
        f"by the larger standard deviation"
    )
    explained = f"{explained}; {reason}" if reason else explained
    verdict = Verdict(what, mode, paper.mean, found.mean, band, outcome, explained, found.size)
    low, high = limits
    is_spanned = band >= max(found.mean - low, high - found.mean)
    return weigh(
        verdict, obstacle=f"the band spans all values from {low:g} to {high:g}" if is_spanned else ""
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
