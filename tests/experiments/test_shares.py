"""Shares of trials: Wilson intervals, and verdicts on two shares."""

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


def test_true_values_are_counted():
    assert Share.true(np.array([[True, False], [True, True]])) == Share(3, 4)
    assert str(Share(3, 4)) == "3 of 4"


@pytest.mark.parametrize(
    "paper, found, outcome",
    [
        (Share(1, 1), Share(50, 50), "agrees"),
        (Share(1, 1), Share(48, 50), "agrees"),
        # A wrong draw of the paper would have been within the band, too.
        (Share(1, 1), Share(47, 50), "undecided"),
        (Share(1, 1), Share(10, 50), "undecided"),
        (Share(1, 1), Share(1, 50), "differs"),
        (Share(0, 1), Share(0, 50), "agrees"),
        (Share(0, 1), Share(25, 50), "undecided"),
        (Share(0, 1), Share(49, 50), "differs"),
        (Share(1, 1), Share(12, 12), "undecided"),
        (Share(6, 12), Share(6, 12), "undecided"),
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
    assert verdict.draws == found.of
    assert verdict.reason.endswith("; because")
    assert ("cannot contradict" in verdict.obstacle) == (outcome == "undecided")


def is_outside(paper, found):
    """Whether two shares are further apart than four standard errors, were they draws from one share."""
    common = (paper.count + found.count) / (paper.of + found.of)
    variance = common * (1 - common) * (1 / paper.of + 1 / found.of)
    difference = paper.count / paper.of - found.count / found.of
    return abs(difference) > max(4 * variance**0.5, 1e-9)


@pytest.mark.parametrize("n", [1, 2, 5, 12])
@pytest.mark.parametrize("size", [10, 20, 50])
def test_undecided_if_no_outcome_of_the_papers_trials_would_differ(n, size):
    seen = set()
    for found in (Share(count, size) for count in range(size + 1)):
        every = [Share(count, n) for count in range(n + 1)]
        contradicting = {paper for paper in every if is_outside(paper, found)}
        for paper in every:
            outcome = judge_shares("right", "as published", paper, found).outcome
            within = "agrees" if contradicting else "undecided"
            assert outcome == ("differs" if paper in contradicting else within)
            seen.add(outcome)
    assert n > 1 or seen == ({"agrees", "undecided", "differs"} if size > 10 else {"undecided"})


@pytest.mark.parametrize("size", [1, 9])
def test_fewer_than_ten_draws_decide_nothing_in_favour(size):
    for found in (Share(0, size), Share(size, size)):
        for paper in (Share(0, 50), Share(50, 50), Share(1, 1)):
            verdict = judge_shares("right", "default", paper, found, better="higher", reason="because")
            if is_outside(paper, found) and found.count < size:
                assert verdict.outcome == "differs"
                assert verdict.reason.endswith(f"only {size} draws")
            else:
                assert verdict.outcome == "undecided"
                assert verdict.reason == f"{size} draw{'s' * (size > 1)}: too few to show"
                assert not verdict.is_shown
