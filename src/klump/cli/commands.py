"""Loading of commands, and their errors: one line on standard error and an exit status."""

from __future__ import annotations

import re
import sys
from importlib import import_module
from typing import Any, cast

import click

from klump import signals
from klump.errors import UNSET, KlumpError, MissingPackageError, Symbol, spell_in_python

# Commands in the order of the help text; each is a module with a function `command`.
COMMANDS = (
    "info",
    "aggregate",
    "path",
    "grid",
    "select",
    "score",
    "dynamics",
    "compare",
    "report",
    "convert",
    "reproduce",
    "warm-up",
)

# Exit status after a KeyboardInterrupt that no signal handler of klump has seen: 128 + SIGINT, as shells report it.
_KEYBOARD_INTERRUPT = 130
# Key in the context's `meta`: the result is on standard output, which must not get a second JSON document.
RESULT_PRINTED = "klump.result_printed"
# Key in the context's `meta`: the words of the command line, which reports quote.
_WORDS = "klump.words"

# Options whose name is not the argument's.
_OPTIONS = {
    "n_states": "-k",
    "random_state": "--seed",
    "n_jobs": "--jobs",
    "n_resamples": "--resamples",
    "n_restarts": "--restarts",
    "n_shuffles": "--shuffles",
}
# Arguments that the command line reads from files: no option sets them.
_FROM_FILES = {"labels", "states", "table"}


def command_words() -> list[str]:
    """Words of the command line that is running, the program's name first."""
    return ["klump", *click.get_current_context().meta[_WORDS]]


def interrupted_status() -> int:
    """Exit status of an interrupted command: 128 + the number of the signal."""
    return signals.exit_status() or _KEYBOARD_INTERRUPT


class LazyGroup(click.Group):
    """A command group that imports a command when it is run."""

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        """Run as a program: with handlers of signals, and streams that cannot fail; exits."""
        if not options.get("standalone_mode", True):
            return super().__call__(*arguments, **options)
        signals.install()
        from klump.cli.streams import Streams

        streams, status = Streams(), 0
        try:
            self.main(*arguments, **options)
        except SystemExit as end:
            status = end.code if isinstance(end.code, int) else int(end.code is not None)
        sys.exit(streams.finish(status or signals.exit_status()))

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Keep the words of the command line, and parse them."""
        ctx.meta[_WORDS] = list(args)
        return super().parse_args(ctx, args)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the commands in the order of the help text."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import one command."""
        if cmd_name not in COMMANDS:
            return None
        return cast(click.Command, import_module(f"klump.cli.{cmd_name.replace('-', '_')}").command)

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command; if it is interrupted without a result, say so."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            click.echo("klump: interrupted", err=True)
            return ctx.exit(interrupted_status())


class PlainCommand(click.Command):
    """A command whose errors are one line on standard error."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; on a KlumpError, an error of the system or without memory, exit with status 1.

        With ``--json`` a KlumpError is printed on standard output as well, as a JSON document, unless the result
        was printed before (saving it failed): standard output has one document.
        """
        try:
            return super().invoke(ctx)
        except FAILURES as error:
            failure = as_klump_error(error)
            if not isinstance(error, OSError):
                self.set_file(failure, ctx)
        if ctx.params.get("as_json") and not ctx.meta.get(RESULT_PRINTED):
            from klump.cli.records import format_json

            click.echo(format_json(error_document(failure)))
        report_error(failure)
        return ctx.exit(1)

    def set_file(self, error: KlumpError, ctx: click.Context) -> None:
        """Set the file of an error that has none."""


# Exceptions that are one line on standard error.
FAILURES = (KlumpError, MemoryError, OSError)


def as_klump_error(error: BaseException) -> KlumpError:
    """Return an error for one of ``FAILURES``."""
    if isinstance(error, KlumpError):
        return error
    if isinstance(error, OSError):  # such as on a machine where no temporary file can be written
        return KlumpError(error.strerror or " ".join(str(error).split()), file=_name(error.filename))
    return KlumpError(
        "there is not enough memory for this chain", remedy="convert it to a mapped folder with klump convert"
    )


def report_error(failure: KlumpError) -> None:
    """Print an error on standard error, on one line."""
    click.echo(f"klump: error: {failure.render(spell_as_option)}", err=True)


class Refusal(click.ClickException):
    """A file that cannot be written, found before the work starts: one line, and the status of wrong usage."""

    exit_code = 2

    def __init__(self, failure: KlumpError) -> None:
        super().__init__(str(failure))
        self.failure = failure

    def show(self, file: Any = None) -> None:
        """Print the error on standard error, without the usage of the command."""
        report_error(self.failure)


def require_writable(path: str) -> str:
    """Return the name of a file that can be written; raise Refusal for another."""
    from klump.files.atomic import check_writable

    try:
        check_writable(path)
    except KlumpError as error:
        raise Refusal(error) from error
    return path


def error_document(failure: KlumpError) -> dict[str, Any]:
    """Return an error as a JSON document."""
    return {"schema": "klump/error/1", "error": failure.to_dict()}


def _name(file: object) -> str | None:
    """Name of the file that an error of the system is about; None if there is none."""
    return file if isinstance(file, str) else None


class ChainCommand(PlainCommand):
    """A command that reads a chain from a file, and whose errors name the file."""

    def set_file(self, error: KlumpError, ctx: click.Context) -> None:
        """Set the file with the chain, unless the error names a file or concerns none."""
        files = ctx.params.get("files", (ctx.params.get("file"),))
        if error.file is None and len(files) == 1 and not isinstance(error, MissingPackageError):
            error.file = files[0]


def spell_as_option(argument: str, value: Any) -> str:
    """Format an argument and its value as an option of the command line.

    >>> spell_as_option("n_states", 4), spell_as_option("allow_empty", True), spell_as_option("states", UNSET)
    ('-k 4', '--allow-empty', 'states')
    """
    if argument in _FROM_FILES:
        return spell_in_python(argument, value)
    option = _OPTIONS.get(argument, f"--{argument.replace('_', '-')}")
    if value is UNSET or value is True:
        return option
    if value == Symbol("p"):
        return f"{option} P"
    plain = value if isinstance(value, str) and re.fullmatch(r"[\w.-]+", value) else repr(value)
    return f"{option} {plain}"
