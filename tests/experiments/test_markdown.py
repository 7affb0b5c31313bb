"""The page of Markdown, made of results that no experiment found."""

import dataclasses
import re
from pathlib import Path

import pytest

from klump.experiments.markdown import escape, summarize
from klump.experiments.result import MODES, Result, Verdict

FACTS = {"seed": "7", "run it again": "`klump reproduce --seed 7`"}


def verdict(what, outcome, mode="as published", reason="4 standard errors", **values):
    numbers = {"paper": 0.77, "found": 0.781234567, "band": 0.05, **values}
    return Verdict(what, mode, outcome=outcome, reason=reason, **numbers)


@pytest.fixture
def results():
    return [
        Result(
            "letters",
            "Letters | groups",
            ("Text is left out.",),
            (
                verdict("ARI of a|b", "agrees"),
                verdict("cost", "differs", reason="Z | U: another edition; the band is rounding"),
                verdict("cost", "better", "default", paper=None, found=-0.25),
                verdict("one", "undecided", reason="one draw says little; 4 standard errors"),
                verdict("two", "undecided", reason="one draw says little; 3 standard errors"),
                verdict("few", "undecided", "default", reason="3 draws: too few to show", draws=3),
            ),
        ),
        Result("empty", "Nothing but a title", (), ()),
        Result("points", "Points", (), (verdict("share", "agrees", "default"),)),
    ]


def rows(text):
    """Cells of all table rows, separated where a pipe is not escaped."""
    lines = (line for line in text.splitlines() if line.startswith("|"))
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines]


def test_counts_by_experiment_and_mode(results):
    table = rows(summarize(results, FACTS))
    assert table[0] == ["experiment", "mode", "agrees", "better", "differs", "undecided"]
    assert table[2:7] == [
        ["letters", "as published", "1", "0", "1", "2"],
        ["letters", "default", "0", "1", "0", "1"],
        ["points", "default", "1", "0", "0", "0"],
        ["**all**", "**as published**", "**1**", "**0**", "**1**", "**2**"],
        ["**all**", "**default**", "**1**", "**1**", "**0**", "**1**"],
    ]


def test_every_verdict_is_a_row(results):
    table = [row for row in rows(summarize(results, FACTS)) if row[1] in ("as published", "default")][3:]
    assert table == [
        [r"ARI of a\|b", "as published", "0.77", "0.7812", "0.05", "agrees"],
        ["cost", "as published", "0.77", "0.7812", "0.05", "differs (1)"],
        ["cost", "default", "–", "−0.25", "0.05", "better"],
        ["one", "as published", "0.77", "0.7812", "0.05", "undecided (2)"],
        ["two", "as published", "0.77", "0.7812", "0.05", "undecided (2)"],
        ["few", "default", "–", "–", "–", "undecided (3)"],
        ["share", "default", "0.77", "0.7812", "0.05", "agrees"],
    ]


def test_every_row_of_a_table_has_as_many_cells(results):
    text = summarize(results, FACTS)
    for block in text.split("\n\n"):
        if block.startswith("|"):
            assert len({len(row) for row in rows(block)}) == 1


def test_reasons_stand_once_and_only_where_they_are_needed(results):
    text = summarize(results, FACTS)
    assert re.findall(r"^\d\. .*$", text, re.MULTILINE) == [
        r"1. Z \| U: another edition; the band is rounding",
        "2. one draw says little",
        "3. 3 draws: too few to show",
    ]
    assert "4 standard errors" not in text


def test_long_reasons_are_cut_between_words(results):
    long = verdict("cost", "differs", reason="word " * 200)
    text = summarize([dataclasses.replace(results[0], verdicts=(long,))], FACTS)
    (reason,) = re.findall(r"^1\. (.*)$", text, re.MULTILINE)
    assert reason.endswith("word ...")
    assert len(reason) <= 300


def test_facts_stand_at_the_top_and_empty_experiments_are_left_out(results):
    text = summarize(results, FACTS)
    assert text.startswith(
        "# The paper, reproduced: all verdicts\n\n- seed: 7\n- run it again: `klump reproduce"
    )
    assert re.findall(r"^## (.*)$", text, re.MULTILINE) == [r"Letters \| groups", "Points"]
    assert text.endswith("|\n")
    assert text == summarize(results, FACTS)


@pytest.mark.parametrize(
    ("text", "escaped"),
    [("a|b", r"a\|b"), ("C_L *", r"C\_L \*"), ("[x](y)", r"\[x\](y)"), ("a\n b", "a b"), ("\\|", r"\\\|")],
)
def test_markup_is_escaped(text, escaped):
    assert escape(text) == escaped


def test_the_page_in_the_documentation_is_whole():
    """Its counts are those of its rows, and all 198 points of the paper's figure are among them."""
    text = (Path(__file__).parents[2] / "docs" / "reproduction_results.md").read_text(encoding="utf-8")
    head, *sections = text.split("\n## ")
    counted, listed = {}, {}
    for line in head.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) == 6 and cells[0] not in ("experiment", "**all**") and cells[1] in MODES:
            for outcome, number in zip(("agrees", "better", "differs", "undecided"), cells[2:], strict=True):
                counted[cells[1], outcome] = counted.get((cells[1], outcome), 0) + int(number)
    for line in "\n".join(sections).splitlines():
        cells = line.split(" | ")
        if len(cells) == 6 and cells[1] in MODES:
            key = cells[1], cells[5].split()[0].strip("|")
            listed[key] = listed.get(key, 0) + 1
    assert {key: number for key, number in counted.items() if number} == listed
    assert "| quasi-lumpable | as published | 198 | 0 | 0 | 0 |" in head
