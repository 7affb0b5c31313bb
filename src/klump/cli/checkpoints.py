"""``--checkpoint`` and ``--resume``."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import click

from klump import signals
from klump.cli.commands import require_writable
from klump.errors import FileFormatError, Setting


def _check(ctx: click.Context, param: click.Parameter, path: str | None) -> str | None:
    return None if path is None or ctx.resilient_parsing else require_writable(path)


_OPTIONS = (
    click.option(
        "--checkpoint",
        metavar="FILE",
        type=click.Path(),
        callback=_check,
        help="Store finished parts of the work in FILE, which must not exist, unless --resume is given.",
    ),
    click.option(
        "--resume",
        is_flag=True,
        help="Continue the run that wrote the checkpoint, or begin it if there is none; the result is the same.",
    ),
)


def checkpoint_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add --checkpoint and --resume."""
    for option in reversed(_OPTIONS):
        function = option(function)
    return function


def check_checkpoint(checkpoint: str | None, *, resume: bool) -> None:
    """Refuse a checkpoint that exists, before the chain is read, and say on an interruption how to continue."""
    if checkpoint is None:
        if resume:
            raise click.UsageError("--resume needs --checkpoint FILE, the file to resume from")
        return
    if not resume and os.path.lexists(checkpoint):
        raise FileFormatError(
            "this file exists",
            remedy=("pass ", Setting("resume", True), " to continue that run, or delete it"),
            file=checkpoint,
        )
    signals.explain(
        f"finished parts are kept in {checkpoint}; run the same command with --resume to continue"
    )
