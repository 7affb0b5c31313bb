"""All verdicts as a page of Markdown: counts, a table per experiment, and the reasons of open verdicts."""

from __future__ import annotations

import re
import textwrap
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from klump.experiments.page import number
from klump.experiments.result import MODES, OUTCOMES, Result, Verdict

# Longest reason, in characters: two lines of a wide page.
_MAX_REASON = 300
# Markdown for a column that is aligned left.
_LEFT = ":--"
# Markdown for a column that is aligned right.
_RIGHT = "--:"


_REFERENCE = (
    "The reference is the paper's number where it prints one. Where it prints none, it is computed here: for the\n"
    "default mode what the published algorithm finds, for costs of letters the cost of the paper's partition on our "
    "text."
)


def summarize(results: Sequence[Result], facts: Mapping[str, str]) -> str:
    r"""Return the page; ``facts`` are names and values of the run (seed, versions, ...).

    Examples
    --------
    >>> verdict = Verdict("C_L", "as published", 0.0086, 0.00856, 5e-05, "agrees", "half a unit of the last digit")
    >>> print(summarize([Result("three", "Three states", (), (verdict,))], {"seed": "0"}))
    # The paper, reproduced: all verdicts
    <BLANKLINE>
    - seed: 0
    <BLANKLINE>
    | experiment | mode | agrees | better | differs | undecided |
    |:--|:--|--:|--:|--:|--:|
    | three | as published | 1 | 0 | 0 | 0 |
    | **all** | **as published** | **1** | **0** | **0** | **0** |
    <BLANKLINE>
    The reference is the paper's number where it prints one. Where it prints none, it is computed here: for the
    default mode what the published algorithm finds, for costs of letters the cost of the paper's partition on our text.
    <BLANKLINE>
    ## Three states
    <BLANKLINE>
    | what | mode | reference | found | band | outcome |
    |:--|:--|--:|--:|--:|:--|
    | C\_L | as published | 0.0086 | 0.00856 | 5e-05 | agrees |
    <BLANKLINE>
    """
    blocks = (
        "# The paper, reproduced: all verdicts",
        "\n".join(f"- {escape(name)}: {escape(value)}" for name, value in facts.items()),
        _counts(results),
        _REFERENCE,
        *(block for result in results if result.verdicts for block in _experiment(result)),
    )
    return "\n\n".join(block for block in blocks if block) + "\n"


def escape(text: str) -> str:
    r"""Escape Markdown's special characters, and join lines.

    Examples
    --------
    >>> print(escape("a|b\n[c] C_L < 1"))
    a\|b \[c\] C\_L \< 1
    """
    return re.sub(r"([\\|*_<>\[\]#])", r"\\\1", " ".join(text.split()))


def _counts(results: Sequence[Result]) -> str:
    rows: list[Sequence[str]] = []
    for result in results:
        rows += _count_rows(escape(result.name), result.verdicts)
    everything = [verdict for result in results for verdict in result.verdicts]
    rows += [[f"**{cell}**" for cell in row] for row in _count_rows("all", everything)]
    return _table(("experiment", "mode", *OUTCOMES), (_LEFT, _LEFT, *(_RIGHT,) * len(OUTCOMES)), rows)


def _count_rows(name: str, verdicts: Iterable[Verdict]) -> list[list[str]]:
    counts = Counter((verdict.mode, verdict.outcome) for verdict in verdicts)
    return [
        [name, mode, *(str(counts[mode, outcome]) for outcome in OUTCOMES)]
        for mode in MODES
        if any(counts[mode, outcome] for outcome in OUTCOMES)
    ]


def _experiment(result: Result) -> Iterable[str]:
    reasons: dict[str, int] = {}
    rows = []
    for verdict in result.verdicts:
        outcome: str = verdict.outcome
        if verdict.outcome in ("differs", "undecided"):
            outcome += f" ({reasons.setdefault(_reason(verdict), len(reasons) + 1)})"
        numbers = (verdict.paper, verdict.found, verdict.band) if verdict.is_shown else (None,) * 3
        rows.append((escape(verdict.what), verdict.mode, *map(number, numbers), outcome))
    yield f"## {escape(result.title)}"
    columns = ("what", "mode", "reference", "found", "band", "outcome")
    yield _table(columns, (_LEFT, _LEFT, _RIGHT, _RIGHT, _RIGHT, _LEFT), rows)
    yield "\n".join(f"{which}. {escape(reason)}" for reason, which in reasons.items())


def _reason(verdict: Verdict) -> str:
    if verdict.outcome == "undecided":
        return verdict.obstacle
    return textwrap.shorten(verdict.reason, _MAX_REASON, placeholder=" ...")


def _table(columns: Sequence[str], alignment: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = (columns, *rows)
    head, *body = (f"| {' | '.join(line)} |" for line in lines)
    return "\n".join((head, f"|{'|'.join(alignment)}|", *body))
