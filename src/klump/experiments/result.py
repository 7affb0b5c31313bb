"""Result of an experiment: verdicts on the paper's numbers, text, tables and pictures.

The tolerance band of a number, ``Verdict.band``, is the largest difference from the paper's number that counts as
agreement. It is computed from standard errors or from the digits that the paper prints, never adjusted.
"""

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
    """A number of the paper, the number found, and the outcome of comparing them."""

    what: str
    mode: Mode
    paper: float | None
    """The paper's number; where the paper prints none, the published algorithm's; None without either."""
    found: float
    band: float
    """Half-width of the tolerance band: the largest difference that counts as agreement."""
    outcome: Outcome
    reason: str = ""
    """Origin of the tolerance band, and why a number differs or is undecided."""
    draws: int | None = None
    """Number of independent draws behind ``found``; None if ``found`` is not random."""

    @property
    def is_shown(self) -> bool:
        """Whether the page shows the numbers: not if they are undecided for lack of draws."""
        return self.outcome != "undecided" or self.draws is None or self.draws >= MIN_DRAWS

    @property
    def obstacle(self) -> str:
        """First clause of the reason: in an undecided verdict, why it is undecided."""
        return self.reason.split("; ")[0]


def too_few(draws: int, noun: str = "draw") -> str:
    """Phrase for a statistic of fewer than :data:`MIN_DRAWS` draws, which is not shown.

    Examples
    --------
    >>> too_few(3), too_few(1, "chain")
    ('3 draws: too few to show', '1 chain: too few to show')
    """
    return f"{draws} {noun}{'s' * (draws != 1)}: too few to show"


def weigh(verdict: Verdict, *, obstacle: str = "") -> Verdict:
    """Replace an outcome that the sample cannot support by ``"undecided"``; ``"differs"`` always stays.

    * Fewer than :data:`MIN_DRAWS` draws: ``"agrees"`` and ``"better"`` become ``"undecided"``.
    * A non-empty ``obstacle``: no result of the paper's trials could have been outside the tolerance band, so
      ``"agrees"`` carries no information. It becomes ``"undecided"``, and the reason starts with the obstacle.

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

    The half-width of the tolerance band is ``STANDARD_ERRORS * std * sqrt(1 / paper.size + 1 / found.size)``, at least
    :data:`EQUAL`. Under the hypothesis that both samples have one distribution, ``std`` is the larger of the two
    standard deviations: a small sample without failures underestimates it.

    ``better`` is the direction of an improvement; without it every difference beyond the tolerance band is a
    disagreement.

    ``limits`` are the smallest and the largest mean that the paper could have found. If ``found.mean`` is within the
    band of both, no result of the paper could have disagreed, and the verdict is ``"undecided"``; also with fewer than
    :data:`MIN_DRAWS` trials, see :func:`weigh`.

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
    origin = (
        f"{STANDARD_ERRORS:g} combined standard errors of {paper.size} and {found.size} trials, "
        f"by the larger standard deviation"
    )
    origin = f"{origin}; {reason}" if reason else origin
    verdict = Verdict(what, mode, paper.mean, found.mean, band, outcome, origin, found.size)
    low, high = limits
    is_spanned = band >= max(found.mean - low, high - found.mean)
    return weigh(
        verdict, obstacle=f"the band spans all values from {low:g} to {high:g}" if is_spanned else ""
    )


@dataclass(frozen=True)
class Table:
    """Table of text cells; a cell may mark the characters that differ from the paper's (:class:`Marked`)."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str | Marked, ...], ...]
    note: str = ""


@dataclass(frozen=True)
class Marked:
    """Text in pieces, some of them marked: in colour on the page, in brackets in plain text."""

    pieces: tuple[tuple[str, bool], ...]

    def __str__(self) -> str:
        return "".join(f"[{text}]" if marked else text for text, marked in self.pieces)


@dataclass(frozen=True)
class Picture:
    """Picture with a caption; ``draw()`` returns a matplotlib figure."""

    name: str
    caption: str
    draw: Callable[[], Any] = field(repr=False, compare=False)


@dataclass(frozen=True)
class Result:
    """All output of an experiment."""

    name: str
    title: str
    text: tuple[str, ...]
    """Paragraphs: the paper's question, the findings, and their interpretation."""
    verdicts: tuple[Verdict, ...]
    tables: tuple[Table, ...] = ()
    pictures: tuple[Picture, ...] = ()
    data: dict[str, Any] = field(default_factory=dict)
    """All numbers as JSON values, determined by the seed."""
