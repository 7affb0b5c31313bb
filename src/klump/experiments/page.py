"""Summary page: the paper's numbers beside the numbers found, in an HTML file with pictures."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from importlib import resources
from pathlib import Path

from klump.experiments.result import (
    MIN_DRAWS,
    MODES,
    OUTCOMES,
    Marked,
    Outcome,
    Picture,
    Result,
    Table,
    Verdict,
)
from klump.files.atomic import write_text
from klump.plots.figure import save

# Folder of the pictures, beside the page.
_PICTURES = "figures"
# Image pixels per CSS pixel, for high-density screens.
_PIXEL_RATIO = 2
# CSS pixels per inch, fixed by the CSS standard.
_PIXELS_PER_INCH = 96
# Columns with a longer text, in characters, get a minimum width.
_LONG = 40

# Singular and plural.
_VERBS = {
    "agrees": ("agrees", "agree"),
    "better": ("is better", "are better"),
    "differs": ("differs", "differ"),
    "undecided": ("is undecided", "are undecided"),
}

_PAPER = "A Generalized Framework for Kullback-Leibler Markov Aggregation"
_AUTHORS = "R. A. Amjad, C. Blöchl and B. C. Geiger"
_INTRODUCTION = f"""
<p>This page reproduces every experiment of <cite>{_PAPER}</cite> ({_AUTHORS}) with klump. Each number of the paper
stands beside the number found here, with a verdict. There are two modes:</p>
<dl class="modes">
<dt>as published</dt><dd>The paper's algorithm and nothing else. It should agree with the paper.</dd>
<dt>default</dt><dd><code>klump.aggregate</code> with its default options. It should agree with the paper or be better.
Where the paper prints no number, it is compared with the published algorithm, run here.</dd>
</dl>
<p>The <dfn>tolerance band</dfn>, or band, of a number is the largest difference from the paper's number that counts as
agreement. It is four combined standard errors of the two numbers, or the rounding error of the printed digits. The
reason beside each number says which. There are four outcomes:</p>
<dl class="modes">
<dt><span class="agrees">agrees</span></dt><dd>The number is within its tolerance band.</dd>
<dt><span class="better">better</span></dt><dd>It is outside the band, in the direction of an improvement.</dd>
<dt><span class="differs">differs</span></dt><dd>It is outside the band otherwise. The reason is given.</dd>
<dt><span class="undecided">undecided</span></dt><dd>It is within its band, but no outcome of the paper's trials could
have been outside: agreement carries no information. An example is a single draw of the paper, unless nearly all draws
here have the same outcome.</dd>
</dl>
<p>Shares, means and curves of fewer than {MIN_DRAWS} draws are not shown. They are undecided unless they differ.</p>
"""


def write(directory: Path, results: Sequence[Result], facts: Mapping[str, str]) -> Path:
    """Draw the pictures, write the page into the directory, and return its path.

    ``facts`` are names and values of the run (seed, versions, ...) that the page lists.
    """
    (directory / _PICTURES).mkdir(parents=True, exist_ok=True)
    sizes = {}
    for result in results:
        for picture in result.pictures:
            figure = picture.draw()
            save(figure, directory / source(result, picture), dpi=_PIXEL_RATIO * _PIXELS_PER_INCH)
            width, height = figure.get_size_inches() * _PIXELS_PER_INCH
            sizes[source(result, picture)] = (round(width), round(height))
    path = directory / "index.html"
    write_text(path, page(results, facts, sizes))
    return path


def source(result: Result, picture: Picture) -> str:
    """Path of a picture, relative to the page."""
    stem = re.sub(r"[^\w-]+", "-", picture.name)
    prefix = "" if stem.startswith(result.name) else f"{result.name}-"
    return f"{_PICTURES}/{prefix}{stem}.png"


def page(
    results: Sequence[Result],
    facts: Mapping[str, str],
    sizes: Mapping[str, tuple[int, int]] | None = None,
) -> str:
    """Return the page as HTML; ``sizes`` are width and height by picture, in CSS pixels."""
    style = resources.files("klump").joinpath("data", "reproduction.css").read_text(encoding="utf-8")
    return "\n".join(
        (
            '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>The paper, reproduced by klump</title>\n<style>\n{style}</style>\n</head>\n<body>",
            _header(results, facts),
            "<main>",
            *(_section(result, sizes or {}) for result in results),
            "</main>\n<footer><p>All numbers of this page: <a href=summary.json>summary.json</a>; all verdicts in "
            "Markdown: <a href=summary.md>summary.md</a>.</p></footer>",
            "</body>\n</html>\n",
        )
    )


def _header(results: Sequence[Result], facts: Mapping[str, str]) -> str:
    verdicts = [verdict for result in results for verdict in result.verdicts]
    rows = "".join(f"<dt>{escape(name)}</dt><dd>{_text(value)}</dd>" for name, value in facts.items())
    return (
        f"<header>\n<h1>The paper, reproduced</h1>\n{_score(verdicts, OUTCOMES)}\n{_INTRODUCTION}"
        f"{_overview(results)}\n<dl class=facts>{rows}</dl>\n</header>"
    )


def _score(verdicts: Iterable[Verdict], outcomes: Sequence[Outcome] = ()) -> str:
    """Count the numbers by outcome; zero counts only for the given outcomes."""
    counts = Counter(verdict.outcome for verdict in verdicts)
    cells = (
        f"<li class={outcome}><strong>{counts[outcome]}</strong> {_VERBS[outcome][counts[outcome] != 1]}</li>"
        for outcome in OUTCOMES
        if counts[outcome] or outcome in outcomes
    )
    return f"<ul class=score>{''.join(cells)}</ul>"


def _overview(results: Sequence[Result]) -> str:
    """Count the verdicts of each experiment, by mode and outcome."""
    modes = "".join(f"<th colspan={len(OUTCOMES)} scope=colgroup>{mode}</th>" for mode in MODES)
    outcomes = "".join(f"<th scope=col>{outcome}</th>" for outcome in OUTCOMES) * len(MODES)
    rows = [
        _overview_row(f'<a href="#{escape(result.name)}">{escape(result.title)}</a>', result.verdicts)
        for result in results
    ]
    everything = [verdict for result in results for verdict in result.verdicts]
    return (
        "<div class=wide><table class=overview><thead>"
        f"<tr><th rowspan=2 scope=col>experiment</th>{modes}<th rowspan=2></th></tr><tr>{outcomes}</tr></thead>"
        f"<tbody>{''.join(rows)}</tbody><tfoot>{_overview_row('all', everything)}</tfoot></table></div>"
    )


def _overview_row(name: str, verdicts: Sequence[Verdict]) -> str:
    counts = Counter((verdict.mode, verdict.outcome) for verdict in verdicts)
    cells = "".join(
        f"<td class={outcome if counts[mode, outcome] else 'none'}>{counts[mode, outcome]}</td>"
        for mode in MODES
        for outcome in OUTCOMES
    )
    totals = Counter(verdict.outcome for verdict in verdicts)
    bar = "".join(f'<i class={o} style="flex-grow:{totals[o]}"></i>' for o in OUTCOMES if totals[o])
    return f"<tr><th scope=row>{name}</th>{cells}<td><span class=bar aria-hidden=true>{bar}</span></td></tr>"


def _section(result: Result, sizes: Mapping[str, tuple[int, int]]) -> str:
    return "\n".join(
        (
            f'<section id="{escape(result.name)}">\n<h2>{escape(result.title)}</h2>',
            _score(result.verdicts),
            *(f"<p>{_text(paragraph)}</p>" for paragraph in result.text),
            *(_picture(source(result, picture), picture, sizes) for picture in result.pictures),
            *(_table(table) for table in result.tables),
            *_verdicts(result.verdicts),
            "</section>",
        )
    )


def _picture(address: str, picture: Picture, sizes: Mapping[str, tuple[int, int]]) -> str:
    size = "width={} height={} ".format(*sizes[address]) if address in sizes else ""
    return (
        f'<figure><img src="{escape(address)}" {size}alt="{escape(picture.caption)}">'
        f"<figcaption>{_text(picture.caption)}</figcaption></figure>"
    )


def _table(table: Table) -> str:
    columns = list(zip(*table.rows, strict=True)) or [()] * len(table.columns)
    kinds = [_kind([str(cell) for cell in column]) for column in columns]
    head = "".join(_cell("th", _text(name), kind) for name, kind in zip(table.columns, kinds, strict=True))
    rows = (
        "".join(_cell("td", _content(cell), kind) for cell, kind in zip(row, kinds, strict=True))
        for row in table.rows
    )
    note = f"<p class=note>{_text(table.note)}</p>" if table.note else ""
    return f"<h3>{_text(table.title)}</h3>\n{_grid(head, rows)}\n{note}"


def _kind(cells: Sequence[str]) -> str:
    """CSS class of a column: numbers are aligned right, long texts have a minimum width."""
    if all(re.fullmatch(r"[-+−–±\d.,e/%() ]*", cell) for cell in cells):
        return "number"
    return "long" if max(map(len, cells)) > _LONG else ""


def _verdicts(verdicts: Sequence[Verdict]) -> Iterable[str]:
    """Collapsible tables by outcome; the numbers that differ come first, expanded."""
    differing, undecided = (
        [verdict for verdict in verdicts if verdict.outcome == outcome]
        for outcome in ("differs", "undecided")
    )
    others = [verdict for verdict in verdicts if verdict.outcome in ("agrees", "better")]
    if differing:
        yield _details(f"{_numbers(differing)} outside the band, and why", differing, state=" open")
    if undecided:
        yield _details(f"{_numbers(undecided)} undecided, and why", undecided)
    if others:
        yield _details(f"{_numbers(others)} that agree or are better, one by one", others)


def _numbers(verdicts: Sequence[Verdict]) -> str:
    return f"{len(verdicts)} number{'s' * (len(verdicts) != 1)}"


def _details(summary: str, verdicts: Sequence[Verdict], state: str = "") -> str:
    numbers = dict.fromkeys(("paper", "found", "difference", "band"), "number")
    names = {"what": "", "mode": "", **numbers, "outcome": ""}
    head = "".join(_cell("th", name, kind) for name, kind in names.items())
    grid = _grid(head, (_verdict_cells(verdict) for verdict in verdicts))
    return f"<details{state}><summary>{summary}</summary>\n{grid}\n</details>"


def _verdict_cells(verdict: Verdict) -> str:
    difference = None if verdict.paper is None else verdict.found - verdict.paper
    numbers: tuple[float | None, ...] = (verdict.paper, verdict.found, difference, verdict.band)
    numbers = numbers if verdict.is_shown else (None,) * len(numbers)
    outcome = f"<span class={verdict.outcome}>{verdict.outcome}</span> <small>{_text(verdict.reason)}</small>"
    return (
        f"{_cell('td', _text(verdict.what))}{_cell('td', verdict.mode)}"
        f"{''.join(_cell('td', number(value), 'number') for value in numbers)}{_cell('td', outcome)}"
    )


def _grid(head: str, rows: Iterable[str]) -> str:
    body = "\n".join(f"<tr>{row}</tr>" for row in rows)
    return f"<div class=wide><table><thead><tr>{head}</tr></thead>\n<tbody>{body}</tbody></table></div>"


def _cell(tag: str, content: str, kind: str = "") -> str:
    return f"<{tag}{f' class={kind}' if kind else ''}>{content}</{tag}>"


def _content(cell: str | Marked) -> str:
    if isinstance(cell, str):
        return _text(cell)
    pieces = ((escape(text), marked) for text, marked in cell.pieces)
    return "".join(f"<mark>{text}</mark>" if marked else text for text, marked in pieces)


def _text(text: str) -> str:
    """Escape a text; `backquotes` become code elements."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text))


def number(value: float | None) -> str:
    """Format a number with four significant digits.

    >>> number(0.78923), number(-0.00000123), number(None)
    ('0.7892', '−1.23e-06', '–')
    """
    return "–" if value is None else f"{value:.4g}".replace("-", "−", 1 if value < 0 else 0)
