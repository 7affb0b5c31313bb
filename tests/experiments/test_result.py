"""Verdicts: the tolerance band is computed, and the outcome follows from it."""

import math

import numpy as np
import pytest

from klump.experiments.result import (
    MIN_DRAWS,
    STANDARD_ERRORS,
    Marked,
    Sample,
    Verdict,
    judge,
    too_few,
    weigh,
)


def verdict(difference, *, better=None, std=0.2, sizes=(250, 50)):
    paper, found = Sample(0.5, std, sizes[0]), Sample(0.5 + difference, std, sizes[1])
    return judge("ARI", "as published", paper, found, better=better)


def test_band_is_four_combined_standard_errors():
    band = verdict(0.0).band
    assert band == pytest.approx(4 * math.hypot(0.2 / math.sqrt(250), 0.2 / math.sqrt(50)))
    assert verdict(0.99 * band).outcome == verdict(-0.99 * band).outcome == "agrees"
    assert verdict(1.01 * band).outcome == verdict(-1.01 * band).outcome == "differs"


@pytest.mark.parametrize(
    ("better", "above", "below"),
    [("higher", "better", "differs"), ("lower", "differs", "better"), (None, "differs", "differs")],
)
def test_direction(better, above, below):
    assert verdict(0.3, better=better).outcome == above
    assert verdict(-0.3, better=better).outcome == below
    assert verdict(0.01, better=better).outcome == "agrees"


def test_band_narrows_with_the_number_of_trials():
    bands = [verdict(0.0, sizes=(250, size)).band for size in (2, 20, 250)]
    assert bands == sorted(bands, reverse=True)


def test_trials_that_all_succeed_do_not_make_the_band_narrow():
    few = judge("ARI", "as published", Sample(0.95, 0.1, 250), Sample(1.0, 0.0, 10))
    assert few.band == pytest.approx(4 * 0.1 * math.sqrt(1 / 250 + 1 / 10))
    assert few.outcome == "agrees"


@pytest.mark.parametrize(
    "mean, std, size, outcome",
    [
        # 4 * 0.5 * sqrt(1 / 250 + 1 / 12) = 0.591
        (0.5, 0.5, 12, "undecided"),
        (0.42, 0.5, 12, "undecided"),
        (0.40, 0.5, 12, "agrees"),
        (0.60, 0.5, 12, "agrees"),
        (0.5, 0.3, 12, "agrees"),
        (0.5, 0.5, 250, "agrees"),
    ],
)
def test_a_band_that_spans_all_values_is_undecided(mean, std, size, outcome):
    paper, found = Sample(0.5, std, 250), Sample(mean, std, size)
    verdict = judge("ARI", "as published", paper, found, limits=(0.0, 1.0))
    assert verdict.outcome == outcome
    values = np.linspace(0.0, 1.0, 101)
    assert (np.abs(values - mean) <= verdict.band).all() == (outcome == "undecided")
    assert ("from 0 to 1" in verdict.obstacle) == (outcome == "undecided")
    # A value without a largest one can always be contradicted.
    assert judge("cost", "as published", paper, found, limits=(0.0, math.inf)).outcome == "agrees"


@pytest.mark.parametrize("before", ["agrees", "better", "differs"])
@pytest.mark.parametrize("draws", [None, 1, 9, 10, 250])
@pytest.mark.parametrize("obstacle", ["", "the band spans everything"])
def test_verdicts_only_become_undecided_and_what_differs_stays(before, draws, obstacle):
    verdict = Verdict("ARI", "default", 0.5, 0.9, 0.1, before, "because", draws)
    after = weigh(verdict, obstacle=obstacle)
    is_few = draws is not None and draws < MIN_DRAWS
    is_withdrawn = (before != "differs" and is_few) or (before == "agrees" and obstacle)
    expected = "undecided" if is_withdrawn else before
    assert after.outcome == expected
    assert (after.what, after.paper, after.found, after.band) == ("ARI", 0.5, 0.9, 0.1)
    # Numbers of too few draws are hidden unless they differ.
    assert after.is_shown == (not is_few or before == "differs")
    if expected == before:
        assert after.reason.startswith("because")
    else:
        assert after.obstacle == (too_few(draws) if is_few else obstacle)


def test_constants_agree_up_to_rounding():
    paper = Sample(1.0, 0.0, 250)
    assert judge("ARI", "default", paper, Sample(1.0 - 1e-12, 0.0, 250)).outcome == "agrees"
    assert judge("ARI", "default", paper, Sample(1.0 - 1e-6, 0.0, 250)).outcome == "differs"


def test_reason_says_where_the_band_comes_from():
    paper, found = Sample(0.5, 0.1, 250), Sample(0.9, 0.1, 20)
    plain = judge("cost", "default", paper, found)
    assert plain.reason.startswith(f"{STANDARD_ERRORS:g} combined standard errors of 250 and 20 trials")
    explained = judge("cost", "default", paper, found, reason="a better optimum")
    assert explained.reason == f"{plain.reason}; a better optimum"
    assert (explained.what, explained.mode, explained.paper, explained.found) == ("cost", "default", 0.5, 0.9)


def test_samples_of_one_law_agree_and_of_two_laws_do_not(rng):
    def drawn(mean):
        values = rng.normal(mean, 1.0, 250)
        return Sample(float(np.mean(values)), float(np.std(values)), 250)

    same = [judge("x", "as published", drawn(0.0), drawn(0.0)).outcome for _ in range(500)]
    assert set(same) == {"agrees"}
    shifted = [judge("x", "as published", drawn(0.0), drawn(0.8)).outcome for _ in range(500)]
    assert set(shifted) == {"differs"}


def test_standard_error():
    assert Sample(3.0, 2.0, 16).error == 0.5


def test_marked_text_without_colours():
    assert str(Marked((("ae", False), ("u", True), ("io", False)))) == "ae[u]io"
