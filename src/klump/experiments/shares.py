"""Shares of successful trials: Wilson intervals, and a test whether two shares differ."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from klump.experiments.result import EQUAL, STANDARD_ERRORS, Mode, Outcome, Verdict, weigh


@dataclass(frozen=True)
class Share:
    """A number of successes among a number of trials."""

    count: int
    of: int

    @classmethod
    def true(cls, values: NDArray[np.bool_]) -> Share:
        """Count the true values."""
        return cls(int(np.count_nonzero(values)), values.size)

    @property
    def value(self) -> float:
        """Sample proportion ``count / of``."""
        return self.count / self.of

    @property
    def interval(self) -> tuple[float, float]:
        """Wilson interval at :data:`STANDARD_ERRORS` standard errors.

        Examples
        --------
        >>> low, high = Share(15, 50).interval
        >>> round(low, 3), round(high, 3)
        (0.118, 0.579)
        """
        z = STANDARD_ERRORS
        middle = self.value + z * z / (2 * self.of)
        half = z * math.sqrt(self.value * (1 - self.value) / self.of + (z / (2 * self.of)) ** 2)
        scale = 1 + z * z / self.of
        # The interval contains the share; rounding errors may put an end on the wrong side of it.
        low, high = (middle - half) / scale, (middle + half) / scale
        return max(0.0, min(low, self.value)), min(1.0, max(high, self.value))

    def __str__(self) -> str:
        return f"{self.count} of {self.of}"


def judge_shares(
    what: str,
    mode: Mode,
    paper: Share,
    found: Share,
    *,
    better: Literal["higher", None] = None,
    reason: str = "",
) -> Verdict:
    """Compare two shares by the pooled standard error of their difference.

    The half-width of the tolerance band is ``STANDARD_ERRORS * sqrt(p * (1 - p) * (1 / paper.of + 1 / found.of))`` with
    the pooled share ``p = (paper.count + found.count) / (paper.of + found.of)``. It is 0 only if all trials of both
    samples have the same outcome.

    The verdict is ``"undecided"`` if no outcome of the paper's n trials could have disagreed with ``found``: for every
    count c from 0 to n, ``abs(found.value - c / n)`` is within the tolerance band of ``Share(c, n)`` and ``found``. A
    single successful trial of the paper agrees with 48 of 50 (a failed one would differ) and is undecided against 30 of
    50. The verdict is also ``"undecided"`` for fewer than ``MIN_DRAWS`` trials, see
    :func:`klump.experiments.result.weigh`.

    Examples
    --------
    >>> judge_shares("right", "as published", Share(1, 1), Share(49, 50)).outcome
    'agrees'
    >>> judge_shares("right", "as published", Share(1, 1), Share(15, 50)).outcome
    'undecided'
    >>> judge_shares("right", "as published", Share(1, 1), Share(2, 50)).outcome
    'differs'
    >>> judge_shares("right", "default", Share(15, 50), Share(45, 50), better="higher").outcome
    'better'
    """
    band = _tolerance(paper, found)
    difference = found.value - paper.value
    outcome: Outcome = "agrees"
    if abs(difference) > band:
        outcome = "better" if better == "higher" and difference > 0 else "differs"
    origin = (
        f"{STANDARD_ERRORS:g} standard errors of the difference between shares of {paper.of} and {found.of}"
    )
    origin = f"{origin}; {reason}" if reason else origin
    verdict = Verdict(what, mode, paper.value, found.value, band, outcome, origin, found.of)
    return weigh(verdict, obstacle="" if _can_differ(paper.of, found) else _obstacle(paper.of))


def _tolerance(paper: Share, found: Share) -> float:
    common = (paper.count + found.count) / (paper.of + found.of)
    error = math.sqrt(common * (1 - common) * (1 / paper.of + 1 / found.of))
    # Two shares differ by at most 1.
    return min(max(STANDARD_ERRORS * error, EQUAL), 1.0)


def _can_differ(n: int, found: Share) -> bool:
    """Whether some count of n trials would be outside the tolerance band of the share found."""
    shares = (Share(count, n) for count in range(n + 1))
    return any(abs(found.value - share.value) > _tolerance(share, found) for share in shares)


def _obstacle(n: int) -> str:
    if n == 1:
        return "a single draw cannot contradict this share: neither right nor wrong would be outside the band"
    return f"{n} draws cannot contradict this share: no count of them would be outside the band"
