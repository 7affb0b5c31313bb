"""Commands on several files: each result, one summary at the end, and errors that do not stop the others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from klump import __version__, signals
from klump.cli.commands import FAILURES, as_klump_error, error_document, interrupted_status, report_error
from klump.cli.inputs import STANDARD_INPUT, ChainInput
from klump.errors import KlumpError

# Stands for the name of each file in the name of an output.
NAME = "{}"
# Suffixes of compressed files, which precede that of the format.
_COMPRESSED = (".gz", ".xz")


@dataclass(frozen=True)
class Answer:
    """The result of a command on one file."""

    document: dict[str, Any]
    """The result as a JSON document."""
    lines: Sequence[str]
    """The result as text; empty if only the document is printed."""
    cells: tuple[str, ...]
    """Row of the summary, between the name of the file and the status."""
    status: str = "done"
    interrupted: bool = False
    """Whether Ctrl-C ended it: the other files are not run."""
    failure: KlumpError | None = None
    """Why the result could not be saved."""


def expand(pattern: str | None, source: ChainInput) -> str | None:
    """Replace {} by the name of a file, without its folder and suffix.

    >>> expand("out/{}.npz", ChainInput("data/model.tra.gz", False, None, None, None))
    'out/model.npz'
    """
    return None if pattern is None else pattern.replace(NAME, _stem(source.path))


def check_patterns(sources: Sequence[ChainInput], **patterns: str | None) -> None:
    """Raise UsageError if several files would be written to the same file; ``patterns`` are by option."""
    if len(sources) == 1:
        return
    if any(source.path == STANDARD_INPUT for source in sources):
        raise click.UsageError("standard input is read alone; leave out the other files")
    for option, pattern in patterns.items():
        if pattern is None:
            continue
        if NAME not in pattern:
            raise click.UsageError(
                f"{option} needs {NAME} for the name of each file, like "
                f"{option} '{Path(pattern).with_stem(NAME)}', as there are several"
            )
        seen: dict[str | None, str] = {}
        for source in sources:
            name = expand(pattern, source)
            if name in seen:
                raise click.UsageError(
                    f"{seen[name]} and {source.path} would both be written to {name}; rename one of them"
                )
            seen[name] = source.path


def run_each(
    sources: Sequence[ChainInput],
    run: Callable[[ChainInput], Answer],
    columns: tuple[str, ...],
    *,
    as_json: bool,
) -> None:
    """Run a command on each file, print the results and a summary; exit with 1 if one failed.

    With ``as_json`` one document with all of them is printed at the end.
    """
    from klump.cli import tables
    from klump.cli.results import print_document, print_lines

    rows: list[tuple[str, ...]] = []
    documents: list[dict[str, Any]] = []
    n_failed, stopped = 0, False
    empty = ("-",) * len(columns)
    for source in sources:
        if stopped or signals.is_recorded():
            rows.append((source.path, *empty, "not run"))
            stopped = True
            continue
        try:
            answer = run(source)
        except KeyboardInterrupt:
            rows.append((source.path, *empty, "interrupted"))
            stopped = True
            continue
        except FAILURES as error:
            answer = _failed(error, source, empty)
        if answer.failure is not None:
            report_error(answer.failure)
            n_failed += 1
        stopped = answer.interrupted
        documents.append(answer.document)
        rows.append((source.path, *answer.cells, answer.status))
        if answer.lines and not as_json:
            print_lines([*answer.lines, ""])
    if as_json:
        head = {"schema": "klump/files/1", "klump": __version__}
        counts = {"n_files": len(sources), "n_failed": n_failed, "n_not_run": len(sources) - len(documents)}
        print_document({**head, **counts, "documents": documents})
    else:
        print_lines([line.rstrip() for line in tables.table(*_align(("file", *columns, "status"), rows))])
    context = click.get_current_context()
    if stopped:
        context.exit(interrupted_status())
    if n_failed:
        context.exit(1)


def _failed(error: BaseException, source: ChainInput, cells: tuple[str, ...]) -> Answer:
    failure = as_klump_error(error)
    if failure.file is None:
        failure.file = source.path
    return Answer(error_document(failure), (), cells, "failed", failure=failure)


def _align(
    columns: tuple[str, ...], rows: Sequence[tuple[str, ...]]
) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Pad the first and the last column on the right: tables align on the right."""
    widths = [max(len(row[j]) for row in (columns, *rows)) for j in (0, -1)]
    header, *padded = (
        (f"{row[0]:<{widths[0]}}", *row[1:-1], f"{row[-1]:<{widths[1]}}") for row in (columns, *rows)
    )
    return header, padded


def _stem(path: str) -> str:
    name = Path(path)
    if name.suffix.lower() in _COMPRESSED:
        name = name.with_suffix("")
    return name.stem
