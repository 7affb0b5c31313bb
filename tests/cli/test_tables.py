"""How names and numbers are shown."""

from dataclasses import replace

import numpy as np
import pytest
from click import unstyle
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

import klump
from klump.cli import tables


@given(st.lists(st.text(max_size=6), max_size=12), st.integers(20, 60))
def test_listed_names_fit(names, width):
    line = tables.listed(names, width)
    # A single name that is too long for the line is shown anyway.
    assert cell_len(line) <= max(width, max((cell_len(tables.shown(name)) for name in names), default=0) + 9)
    assert "\n" not in line
    if " ... +" not in line:
        assert line == " ".join(map(tables.shown, names))


@pytest.mark.parametrize(
    ("width", "line"), [(80, "a b c d"), (7, "a b c d"), (6, "a ... +3"), (1, "a ... +3")]
)
def test_listed_counts_what_is_left_out(width, line):
    assert tables.listed("abcd", width) == line


def test_names_that_would_be_misread_are_quoted():
    assert tables.listed([" ", "", "a b", "\n", '"', ",", "x"], 80) == """' ' '' 'a b' '\\n' " , x"""


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0.0000"),
        (0.5, "0.5000"),
        (0.0005, "0.0005"),
        (0.00049, "4.9e-04"),
        (12.3, "12.3000"),
        (3851.2392, "3851.2"),
        (1e6, "1.0e+06"),
    ],
)
def test_numbers(value, text):
    assert tables.number(value) == text


def test_matrix_is_shown_only_if_small():
    assert len(tables.matrix(klump.MarkovChain(np.eye(12)), 80)) == 13
    assert max(len(unstyle(line)) for line in tables.matrix(klump.MarkovChain(np.eye(12)), 80)) <= 80
    assert tables.matrix(klump.MarkovChain(np.eye(13)), 200) == []


def test_notes_are_wrapped_and_say_nothing_twice():
    chain = klump.MarkovChain(np.eye(2) / 2 + 0.25, restart=0.5)
    agg = klump.Aggregation.from_labels(chain, [0, 0])
    assert tables.notes(replace(agg, interrupted=True), 20) == [
        "note: interrupted:",
        "      this is the",
        "      best found",
        "      until then",
    ]
