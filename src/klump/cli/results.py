"""The end of a command: save the result, print it, report an interruption, set the exit status."""

from __future__ import annotations

import csv
import sys
import warnings
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, Protocol

import click

from klump import signals
from klump.cli.commands import RESULT_PRINTED, command_words, interrupted_status
from klump.cli.inputs import STANDARD_INPUT
from klump.cli.records import format_json
from klump.errors import KlumpError

# Suffixes of pictures, which need matplotlib.
PICTURES = (".png", ".svg", ".pdf")
# Suffix of reports, which need Bokeh.
REPORT = ".html"


class Result(Protocol):
    """A result that a search returned; one with ``save`` or ``plot`` can be written to files of that kind."""

    @property
    def interrupted(self) -> bool:
        """Whether Ctrl-C or the time limit stopped the search."""

    @property
    def interrupted_after(self) -> float | None:
        """The time limit in seconds, if that stopped the search."""


def check_picture(output: str | None) -> None:
    """Raise MissingPackageError before the search if the output is a picture or report, and its library is missing."""
    if output is not None and _suffix(output) in PICTURES:
        from klump.plots.figure import import_figure

        import_figure()
    if output is not None and _suffix(output) == REPORT:
        from klump.report import require_bokeh

        require_bokeh()


def print_lines(lines: Sequence[str]) -> None:
    """Print lines on standard output."""
    _print("\n".join(lines))


def print_document(document: dict[str, Any]) -> None:
    """Print a JSON document on standard output."""
    _print(format_json(document))
    click.get_current_context().meta[RESULT_PRINTED] = True


def _print(text: str) -> None:
    """Print with escape sequences for characters that the encoding lacks; click writes UTF-8 where it is ASCII."""
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    click.echo(text.encode(encoding, "backslashreplace").decode(encoding))


def deliver(
    result: Result,
    document: dict[str, Any],
    lines: Sequence[str] | None,
    rows: Iterable[Sequence[Any]],
    output: str | None,
    *,
    quiet: bool,
    page: Mapping[str, Any] | None = None,
) -> None:
    """Save the result; print lines, or the JSON document if there are none; exit with 130 if Ctrl-C interrupted it.

    It is saved first, because printing may be slow or impossible. If it cannot be saved, it is printed all the same.
    An interruption by the time limit is no failure, as the user asked for it: the exit status is 0. Lines state an
    interruption themselves; a JSON document has the key ``interrupted``, and standard error a message.

    Parameters
    ----------
    result
        What was found.
    document
        The result as a JSON document.
    lines
        The result as text; None prints the document.
    rows
        Header and rows of a CSV file, read only if the output is one.
    output
        File to save to, if any: the suffix selects the format.
    quiet
        Whether to leave out the message that names the saved file.
    page
        Options of :func:`klump.report.write_report`, if the output is a report.
    """
    signals.note_answer()
    failure, messages = (None, []) if output is None else save(result, document, rows, output, page or {})
    if lines is None:
        print_document(document)
    else:
        print_lines(lines)
    if failure is not None:
        raise failure
    for message in () if quiet else messages:
        click.echo(f"klump: {message}", err=True)
    if result.interrupted:
        if lines is None:
            from klump.aggregation.notes import format_interruption

            click.echo(f"klump: {format_interruption(result)}: this is what was found so far", err=True)
        if result.interrupted_after is None:
            click.get_current_context().exit(interrupted_status())


def save(
    result: Any,
    document: dict[str, Any],
    rows: Iterable[Sequence[Any]],
    output: str,
    page: Mapping[str, Any] = MappingProxyType({}),
) -> tuple[KlumpError | None, list[str]]:
    """Save the result; return the error if it cannot be saved, and messages about what was saved."""
    from klump.cli import quotients
    from klump.files import atomic

    suffix = _suffix(output)
    try:
        if suffix == ".csv":
            with atomic.replacing(output) as part, part.open("w", encoding="utf-8", newline="") as stream:
                csv.writer(stream, lineterminator="\n").writerows(rows)
        elif suffix == ".json":
            atomic.write_text(output, format_json(document) + "\n")
        elif suffix in PICTURES:
            return None, [f"saved {output}", *_draw(result, output)]
        elif suffix == REPORT:
            _write_report(result, document, output, page)
        elif suffix in quotients.QUOTIENTS:
            return None, quotients.write_quotient(result, output)
        elif suffix == quotients.TABLE:
            return None, quotients.write_table(result, output)
        else:
            result.save(output)
    except KlumpError as error:
        return error, []
    return None, [f"saved {output}"]


def _draw(result: Any, output: str) -> list[str]:
    """Save a picture; return a message if the fonts lack characters of names."""
    from klump.plots.overview import save_picture

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        save_picture(result, output)
    missing = [warning for warning in caught if "missing from font" in str(warning.message)]
    for warning in caught:
        if warning not in missing:
            warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)
    return ["no installed font has some characters of the names: they are drawn as boxes"] * bool(missing)


def _write_report(result: Any, document: dict[str, Any], output: str, page: Mapping[str, Any]) -> None:
    """Write the report of an answer, a path or a grid, with the command and the digest of the input."""
    from klump.aggregation import Aggregation
    from klump.report import write_report

    source = document["input"]
    answers = [result] if isinstance(result, Aggregation) else result
    title = "standard input" if source["path"] == STANDARD_INPUT else Path(source["path"]).name
    options = {"title": title, "command": command_words(), "input_file": source, **page}
    write_report(answers, output, **options)


def _suffix(output: str) -> str:
    return Path(output).suffix.lower()
