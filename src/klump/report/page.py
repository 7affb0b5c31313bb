"""The page of a report: template, data and scripts in one HTML file."""

from __future__ import annotations

import html
import json
import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from klump import __version__
from klump.arguments import Progress
from klump.chain.wording import format_count
from klump.documents import versions
from klump.errors import InvalidArgumentError
from klump.files.atomic import write_text
from klump.report.cells import Cells
from klump.report.contents import contents
from klump.report.figures import bokeh_script, figures
from klump.search.registry import DEFAULT_EFFORT

if TYPE_CHECKING:
    from os import PathLike

    from klump.aggregation import Aggregation
    from klump.comparison import Comparison

# Scripts of the page, in the order in which they run: each uses names of those before it.
_SCRIPTS = ("values", "elements", "figures", "tables", "theme", "page")


def write_report(
    answers: Iterable[Aggregation],
    path: str | PathLike[str],
    *,
    title: str | None = None,
    comparisons: Mapping[int, Comparison] | None = None,
    command: Sequence[str] | None = None,
    input_file: Mapping[str, Any] | None = None,
    progress: Progress | None = None,
) -> None:
    """Write the report of some answers to an HTML file that needs no network.

    Parameters
    ----------
    answers
        Answers of one chain with different pairs of a number of groups and a beta: a path, a grid, or a list.
    path
        File to write; it must end in .html.
    title
        Heading of the page.
    comparisons
        Comparison of methods by number of groups.
    command
        Words of the command that makes the report, if it was made by one.
    input_file
        Path and SHA-256 digest of the file with the chain.
    progress
        Called with ``(done, total, best_cost)``: the number of finished and of all partitions, and NaN.
    """
    check_report_path(path)
    cells = Cells.from_answers(answers)
    heading = title or f"{format_count(cells.original.n_states, 'state')} aggregated"
    values = {
        "title": html.escape(heading),
        "generator": f"klump {__version__}",
        "style": _read("page.css"),
        "reproduction": _reproduction(cells, command, input_file or {}),
        "data": embed_json(contents(cells, comparisons or {}, progress)),
        "figures": embed_json(figures()),
        "bokeh": bokeh_script(),
        "script": _script(),
    }
    write_text(path, _fill(_read("page.html"), values))


def check_report_path(path: str | PathLike[str]) -> None:
    """Raise InvalidArgumentError unless a file name ends in .html."""
    if not str(path).lower().endswith(".html"):
        raise InvalidArgumentError("must end in .html", argument="path", value=str(path))


def embed_json(value: Any) -> str:
    r"""JSON that cannot end the script element in which it stands.

    >>> embed_json({"name": "</script>"})
    '{"name":"\\u003c/script>"}'
    """
    text = json.dumps(value, separators=(",", ":"), allow_nan=False, ensure_ascii=False)
    escaped = {"<": "\\u003c", "\u2028": "\\u2028", "\u2029": "\\u2029"}
    return (
        "".join(escaped.get(letter, letter) for letter in text) if any(c in text for c in escaped) else text
    )


def _fill(template: str, values: Mapping[str, str]) -> str:
    """Replace each {name} by its value, in one pass: values may have braces.

    >>> _fill("{a} {b} {a}", {"a": "{b}", "b": "1"})
    '{b} 1 {b}'
    """
    return re.sub(r"\{(\w+)\}", lambda match: values[match[1]], template)


def _script() -> str:
    """The scripts of the page in one function, so that they share their names, and leave none behind."""
    parts = (_read(f"script/{name}.js") for name in _SCRIPTS)
    return "\n".join(['"use strict";', "(async () => {", *parts, "})();"])


def _read(name: str) -> str:
    return (files("klump.report") / name).read_text(encoding="utf-8")


def _reproduction(cells: Cells, command: Sequence[str] | None, input_file: Mapping[str, Any]) -> str:
    """Command or Python call, seed, versions and digest of the input, as HTML."""
    first = cells.answers[cells.first()]
    lines = shlex.join(command) if command is not None else _python(cells)
    facts: dict[str, Any] = {
        "method": first.method + (f", effort {first.effort}" if first.effort else ""),
        "seed": first.random_state,
        "gamma": first.gamma if first.gamma > 0.0 else None,
        "lag": first.lag if first.lag > 1 else None,
        "input": input_file.get("path"),
        "SHA-256 of the input": input_file.get("sha256"),
        "klump": __version__,
        **versions("numpy", "scipy", "numba", "bokeh"),
    }
    rows = "".join(
        f"<dt>{html.escape(name)}</dt><dd>{html.escape(str(value))}</dd>"
        for name, value in facts.items()
        if value is not None
    )
    return f"<pre>{html.escape(lines)}</pre>\n<dl>{rows}</dl>"


def _python(cells: Cells) -> str:
    """Python call that found the answers, as far as they record it."""
    number, beta = cells.first()
    answer = cells.answers[number, beta]
    numbers, betas = list(cells.numbers), list(cells.betas)
    arguments: dict[str, dict[str, Any]] = {
        "aggregate": {"n_states": number, "beta": beta, "method": answer.method},
        "beta_path": {"n_states": number, "betas": betas[::-1]},
        "grid": {"n_states": numbers, "betas": betas, "method": answer.method},
    }
    if cells.function is None:
        methods = ", ".join(sorted({found.method for found in cells.answers.values()}))
        return f"# {format_count(len(cells.answers), 'answer')} of klump.Aggregation (method: {methods})"
    found = {
        **arguments[cells.function],
        "gamma": answer.gamma if answer.gamma > 0.0 else None,
        "lag": answer.lag if answer.lag > 1 else None,
        "effort": answer.effort if answer.effort != DEFAULT_EFFORT else None,
        "random_state": answer.random_state,
    }
    words = [f"{name}={value!r}" for name, value in found.items() if value is not None]
    call = f"klump.{cells.function}({', '.join(['chain', *words])})"
    return f"{call}\n# and the other options of that call, such as n_init, which answers do not record"
