"""How numbers are judged: the band is computed, and the verdict follows from it."""

import math

import numpy as np
import pytest

from klump.experiments.result import STANDARD_ERRORS, Marked, Sample, judge


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
    few = judge("ARI", "as published", Sample(0.95, 0.1, 250), Sample(1.0, 0.0, 2))
    assert few.band == pytest.approx(4 * 0.1 * math.sqrt(1 / 250 + 1 / 2))
    assert few.outcome == "agrees"


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
