"""Refuse, before the search, an output that would replace an input."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from pathlib import Path
from typing import Any

import click

from klump.cli.inputs import STANDARD_INPUT, ChainInput, parts_of
from klump.cli.many_files import expand

# Arguments of commands that name input files beside FILE.
_OTHER_INPUTS = ("labels", "initial_labels", "fixed", "must_link", "cannot_link", "held_out")


def keep_inputs(function: Callable[..., Any]) -> Callable[..., Any]:
    """Check the output of a command that gets ``source`` or ``sources`` before it is called."""

    @wraps(function)
    def call_with_output(*, output: str | None, **options: Any) -> Any:
        _check_output(output, options.get("sources") or [options["source"]], options)
        return function(output=output, **options)

    return call_with_output


def _check_output(output: str | None, sources: Sequence[ChainInput], options: Mapping[str, Any]) -> None:
    """Raise UsageError if a file that -o writes is one of the inputs, or a sibling file of one.

    Parameters
    ----------
    output
        Name of the output; {} stands for the name of each file.
    sources
        Files of chains.
    options
        The other arguments of the command, some of which name files too.
    """
    if output is None:
        return
    inputs = [source.path for source in sources if source.path != STANDARD_INPUT]
    inputs += [options[name] for name in _OTHER_INPUTS if options.get(name) is not None]
    parts = [(name, part) for name in inputs for part in parts_of(Path(name))]
    for target in dict.fromkeys(str(expand(output, source)) for source in sources):
        for name, part in parts:
            if any(_is_same(file, part) for file in _written(Path(target), part)):
                what = f"{part}, an input" if Path(name) == part else f"{part}, a file of the input {name}"
                raise click.UsageError(f"-o {target} would replace {what}; choose another name")
        for name in inputs:
            if _shares_siblings(Path(target), Path(name)):
                raise click.UsageError(
                    f"-o {target} would have the same .lab, .sta and reward files as the input {name}; "
                    "choose another name"
                )


def _written(output: Path, part: Path) -> list[Path]:
    """Files that may be written; of the numbered reward files beside a .tra only that with the name of a part."""
    from klump.cli.quotients import QUOTIENTS, map_file

    suffix = output.suffix.lower()
    files = [output, map_file(str(output))] if suffix in QUOTIENTS else [output]
    if suffix == ".tra":
        from klump.files.explicit_siblings import stem_of

        stem = stem_of(output)
        if re.fullmatch(re.escape(stem) + r"(\.sta|\.lab|[0-9]*\.[st]rew)", part.name):
            files.append(output.with_name(part.name))
    return files


def _shares_siblings(output: Path, source: Path) -> bool:
    """Whether an output and an input are .tra files of the same name and folder, such as w.TRA and w.tra.gz."""
    if output.suffix.lower() != ".tra" or not source.exists():
        return False
    from klump.files.explicit_siblings import stem_of

    return stem_of(output) == stem_of(source) and _is_same(output.parent, source.parent)


def _is_same(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other)
    except (OSError, ValueError):  # one of them does not exist, or cannot
        return False
