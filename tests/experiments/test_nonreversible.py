"""The three-state chain: the paper's digits, a cost that falls, and the optimum at every beta."""

import dataclasses
import json

import numpy as np
import pytest

import reference
from klump.aggregation import Costs
from klump.experiments import Settings, nonreversible, nonreversible_report, run


@pytest.fixture(scope="module")
def result():
    return run("nonreversible", Settings())


def test_every_number_agrees(result):
    assert len(result.verdicts) == 5
    assert {verdict.outcome for verdict in result.verdicts} == {"agrees"}
    assert {verdict.mode for verdict in result.verdicts} == {"as published", "default"}


def test_costs_are_those_of_the_textbook(result):
    W = reference.indicator([0, 1, 1], 2)
    for name, reversible in (("chain", False), ("reversible", True)):
        record = result.data[name]
        P = record["transition_matrix"]
        mu = reference.stationary_law(P)
        assert reference.is_reversible(P, mu) == reversible
        assert record["lumpability"] == pytest.approx(reference.lumpability(P, mu, W), abs=1e-12)
        assert record["predictability"] == pytest.approx(reference.predictability(P, mu, W), abs=1e-12)


def test_cost_falls_only_without_reversibility(result):
    assert np.all(np.diff(result.data["chain"]["costs"]) < 0)
    assert np.all(np.diff(result.data["reversible"]["costs"]) >= 0)


def test_default_is_the_cheapest_of_all_maps(result):
    P = result.data["chain"]["transition_matrix"]
    mu = reference.stationary_law(P)
    for choice in result.data["choices"]:
        _, cost = reference.exhaustive(P, mu, 2, choice["beta"])
        assert choice["cost"] == pytest.approx(cost, abs=1e-12)


@pytest.mark.parametrize(
    ("costs", "wrong"),
    [
        (Costs(0.0087, 0.0135, 0.04), "C_L"),
        (Costs(0.0086, 0.0137, 0.04), "C_P"),
        (Costs(0.0060, 0.0135, 0.04), "falls strictly"),
    ],
)
def test_wrong_numbers_are_called_different(costs, wrong):
    control = Costs(0.001, 0.003, 0.04)
    differing = [
        v.what for v in nonreversible_report.published_verdicts(costs, control) if v.outcome == "differs"
    ]
    assert any(wrong in what for what in differing)


def test_a_falling_control_is_called_different():
    falling = Costs(0.0086, 0.0135, 0.04)
    assert nonreversible_report.published_verdicts(falling, falling)[-1].outcome == "differs"


def test_a_poor_choice_is_called_different():
    choice = nonreversible.Choice(0.5, (0, 1, 0), 0.0186, (0.0068, 0.0186, 0.0203))
    assert nonreversible_report.default_verdict((choice,)).outcome == "differs"


def test_same_seed_same_data_as_json(result):
    again = run("nonreversible", Settings())
    assert json.dumps(again.data) == json.dumps(result.data)
    assert [dataclasses.asdict(v) for v in again.verdicts] == [dataclasses.asdict(v) for v in result.verdicts]


def test_pictures_can_be_drawn(result, tmp_path):
    for picture in result.pictures:
        picture.draw().savefig(tmp_path / f"{picture.name}.png")
        assert (tmp_path / f"{picture.name}.png").stat().st_size > 5000
