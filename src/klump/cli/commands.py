"""How commands are found, and how they fail: with one line and an exit status."""

from __future__ import annotations

import re
from importlib import import_module
from typing import Any, cast

import click

from klump.errors import UNSET, KlumpError, Symbol

# One module each, with a function `command`, in the order in which help lists them.
COMMANDS = ("info", "aggregate", "path", "grid", "score", "compare", "convert", "reproduce")

INTERRUPTED = 130  # what shells report for a program that Ctrl-C ended

# Options that are not called like the argument.
_OPTIONS = {"n_states": "-k", "random_state": "--seed", "n_jobs": "--jobs"}


class LazyGroup(click.Group):
    """A group that imports a command when it is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Name the commands in the order in which they are used."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import one command."""
        if cmd_name not in COMMANDS:
            return None
        return cast(click.Command, import_module(f"klump.cli.{cmd_name}").command)

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command; Ctrl-C has an exit status of its own."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            click.echo("klump: interrupted", err=True)
            return ctx.exit(INTERRUPTED)


class PlainCommand(click.Command):
    """A command whose errors are one line."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; bad data ends it with status 1."""
        try:
            return super().invoke(ctx)
        except KlumpError as error:
            failure = error
        except MemoryError:
            failure = KlumpError("there is not enough memory for this chain")
        self.name_file(failure, ctx)
        click.echo(f"klump: error: {failure.render(spell_as_option)}", err=True)
        return ctx.exit(1)

    def name_file(self, error: KlumpError, ctx: click.Context) -> None:
        """Name the file that an error is about, if the command has one."""


class ChainCommand(PlainCommand):
    """A command on a file, whose errors name the file."""

    def name_file(self, error: KlumpError, ctx: click.Context) -> None:
        """Name the file of the chain, unless the error names another one."""
        if error.file is None:
            error.file = ctx.params["file"]


def spell_as_option(argument: str, value: Any) -> str:
    """Write an argument and its value as an option of the command line.

    >>> spell_as_option("n_states", 4), spell_as_option("allow_empty", True), spell_as_option("restart", Symbol("p"))
    ('-k 4', '--allow-empty', '--restart P')
    """
    option = _OPTIONS.get(argument, f"--{argument.replace('_', '-')}")
    if value is UNSET or value is True:
        return option
    if value == Symbol("p"):
        return f"{option} P"
    plain = value if isinstance(value, str) and re.fullmatch(r"[\w.-]+", value) else repr(value)
    return f"{option} {plain}"
