"""How names and numbers are shown."""

from dataclasses import replace

import numpy as np
import pytest
from click import unstyle
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

import klump
from klump.chain.wording import format_number, format_state, list_states
from klump.cli import tables


@given(st.lists(st.text(max_size=6), max_size=12), st.integers(20, 60))
def test_names_fit_the_width(names, width):
    line = list_states(names, width)
    # A single name that is too long for the line is shown anyway.
    assert cell_len(line) <= max(width, max((cell_len(format_state(name)) for name in names), default=0) + 9)
    assert "\n" not in line
    if " ... +" not in line:
        assert line == " ".join(map(format_state, names))


@pytest.mark.parametrize(
    ("width", "line"), [(80, "a b c d"), (7, "a b c d"), (6, "a ... +3"), (1, "a ... +3")]
)
def test_names_that_do_not_fit_are_counted(width, line):
    assert list_states("abcd", width) == line


def test_names_that_would_be_misread_are_quoted():
    assert list_states([" ", "", "a b", "\n", '"', ",", "x"], 80) == """' ' '' 'a b' '\\n' " , x"""


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0.0000"),
        (3.5e-17, "0.0000"),
        (-2.6e-16, "0.0000"),
        (1.1e-12, "1.1e-12"),
        (0.5, "0.5000"),
        (0.0005, "0.0005"),
        (0.00049, "4.9e-04"),
        (12.3, "12.3000"),
        (3851.2392, "3851.2"),
        (1e6, "1.0e+06"),
    ],
)
def test_numbers(value, text):
    assert format_number(value) == text


def test_matrix_is_shown_only_if_small():
    assert len(tables.matrix(klump.MarkovChain(np.eye(12)), 80)) == 13
    assert max(len(unstyle(line)) for line in tables.matrix(klump.MarkovChain(np.eye(12)), 80)) <= 80
    assert tables.matrix(klump.MarkovChain(np.eye(13)), 200) == []
    assert tables.matrix(klump.MarkovChain(np.eye(12)), 60) == []
    assert len(tables.matrix(klump.MarkovChain(np.eye(8)), 60)) == 9


def test_notes_are_wrapped_and_say_nothing_twice():
    chain = klump.MarkovChain(np.eye(2) / 2 + 0.25, restart=0.5)
    agg = klump.Aggregation.from_labels(chain, [0, 0])
    assert tables.notes(replace(agg, interrupted=True).notes, 20) == [
        "note: interrupted:",
        "      this is the",
        "      best found so",
        "      far",
    ]


@pytest.mark.parametrize("width", [42, 60, 72, 80])
def test_no_line_is_wider_than_the_terminal(width):
    rng = np.random.default_rng(0)
    agg = klump.Aggregation.from_labels(rng.dirichlet(np.ones(6), 6), [0, 0, 1, 1, 2, 2])
    lines = [
        *tables.costs(agg.costs, [0.1, 0.5], width),
        *tables.certificate(agg, width, lumpable=False),
        *tables.certificate(agg, width, lumpable=True),
        *tables.horizon(agg, 10**6, None, width),
        *tables.horizon(agg, 3, agg.guarantees, width),
    ]
    if width > 44:
        lines += tables.guarantees(agg.guarantees, agg.monte_carlo(4, 10), [0.5], width)
    assert max(len(unstyle(line)) for line in lines) <= width
    assert ("next" in "".join(lines)) == (width > 50)


def test_units_and_what_the_numbers_are():
    agg = klump.Aggregation.from_labels(np.random.default_rng(0).dirichlet(np.ones(4), 4), [0, 0, 1, 1])
    simulated = agg.monte_carlo(4, 10)
    lines = list(map(unstyle, tables.guarantees(agg.guarantees, simulated, [0.5], 80)))
    assert [line.split()[0] for line in lines if line.endswith("  bits per step")] == [
        "guarantees",
        "simulation",
    ]
    assert lines[-2].endswith("  from 4 runs of 10 steps")
    assert lines[-2].split()[3] == format_number(simulated.standard_error + simulated.bias)
    assert lines[-1] == "+- is the standard error plus the possible bias"
    first, *rest = map(unstyle, tables.certificate(agg, 200))
    assert first.endswith("total variation between a state's and its group's next-group distribution")
    assert [line.split()[0] for line in rest] == ["mean", "epsilon", "bound"]
    assert rest[0].endswith("mean over the stationary distribution")
    assert rest[1].endswith("largest over all states")
    assert "on epsilon, by Proposition 1" in rest[2]


def test_horizons_of_stationary_chains_come_before_those_from_any_start():
    agg = klump.Aggregation.from_labels(np.random.default_rng(0).dirichlet(np.ones(4), 4), [0, 0, 1, 1])
    found = agg.guarantees
    first, stationary, any_start = map(unstyle, tables.horizon(agg, 3, found, 120))
    assert first.endswith("distributions of 4 successive groups")
    assert stationary.split()[:2] == ["stationary", format_number(found.horizon(3))]
    assert any_start.split()[:3] == ["any", "start", format_number(agg.bisimulation.horizon(3))]
    assert "void" not in any_start
    _, stationary, any_start = map(unstyle, tables.horizon(agg, 10**6, None, 120))
    assert stationary.endswith("--guarantees adds this bound")
    assert any_start.split()[2] == "1.0000"
    assert any_start.endswith("; void, as it is 1")
    soft = klump.Aggregation.from_labels(agg.original, np.full((4, 2), 0.5))
    _, stationary = map(unstyle, tables.horizon(soft, 3, soft.guarantees, 120))
    assert stationary.split()[:2] == ["stationary", "0.0000"]


def test_one_thing_is_not_several():
    assert tables.heading("one.csv", klump.MarkovChain([[1.0]])) == ["one.csv: 1 state, 1 transition"]


def test_shares_and_what_was_done_to_the_chain_are_wrapped(monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    chain = klump.MarkovChain(np.full((2, 2), 0.5), restart=0.5)
    heading = tables.heading("chain.csv", chain)
    assert " ".join(heading[1:]).split() == " ".join(chain.applied).split()
    lines = tables.shares(klump.Aggregation.from_labels(chain, np.full((2, 6), 1 / 6)), 40)
    assert len(lines) == 5
    assert max(len(unstyle(line)) for line in (*heading, *lines)) <= 40
