"""Shares of trials: their intervals, and when two of them differ."""

import numpy as np
import pytest

from klump.experiments.shares import Share, judge_shares


def test_the_interval_holds_the_shares_that_are_within_four_standard_errors():
    low, high = Share(15, 50).interval
    for end in (low, high):
        assert abs(end - 0.3) == pytest.approx(4 * np.sqrt(end * (1 - end) / 50))


@pytest.mark.parametrize("share", [Share(0, 1), Share(1, 1), Share(0, 50), Share(50, 50), Share(3, 7)])
def test_the_interval_holds_the_share_and_stays_within_0_and_1(share):
    low, high = share.interval
    assert 0.0 <= low <= share.value <= high <= 1.0
    assert low < high


def test_what_is_true_is_counted():
    assert Share.true(np.array([[True, False], [True, True]])) == Share(3, 4)
    assert str(Share(3, 4)) == "3 of 4"


@pytest.mark.parametrize(
    "paper, found, outcome",
    [
        (Share(1, 1), Share(50, 50), "agrees"),
        (Share(1, 1), Share(10, 50), "agrees"),
        (Share(1, 1), Share(1, 50), "differs"),
        (Share(0, 1), Share(0, 50), "agrees"),
        (Share(0, 1), Share(49, 50), "differs"),
        # Two draws say little.
        (Share(1, 1), Share(0, 2), "agrees"),
        (Share(0, 2), Share(2, 2), "agrees"),
        (Share(15, 50), Share(45, 50), "better"),
        (Share(45, 50), Share(15, 50), "differs"),
        (Share(24, 50), Share(26, 50), "agrees"),
    ],
)
def test_shares_are_judged_by_the_error_of_their_difference(paper, found, outcome):
    better = "higher" if paper.of > 1 else None
    verdict = judge_shares("right", "default", paper, found, better=better, reason="because")
    assert verdict.outcome == outcome
    assert verdict.band <= 1.0
    assert verdict.reason.endswith("; because")
